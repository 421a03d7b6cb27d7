"""Bayes: a network of columns, each drawn given a few others; with or without epsilon."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import ColumnCodec
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.jobs.progress import Progress
from understudy.options import MOST, Above, AtLeast, Between, OneOf
from understudy.synthesizers.base import MethodCard, check_options
from understudy.synthesizers.bayes.conditionals import Conditional
from understudy.synthesizers.bayes.domain import bought_names, declared_domain
from understudy.synthesizers.bayes.noisy import Purchase
from understudy.synthesizers.bayes.plain import ShownTable, read_shown, spread_evenly
from understudy.synthesizers.budget import Budget, Step
from understudy.synthesizers.coded import CodedMethod
from understudy.synthesizers.columns.frame import listed
from understudy.synthesizers.model_file import Damaged, State, texts, whole

MOST_BINS = 200
ALONE = (
    "There are too few rows for an epsilon this small: every column was drawn alone, since the "
    "choice of parents would have been a lottery."
)


@dataclass(kw_only=True)
class Bayes(CodedMethod):
    """A network of columns; under ``epsilon`` everything it learns is bought with noise.

    Parameters
    ----------
    mode : {"correlated", "independent", "random"}
        Columns drawn given others, each alone, or evenly over its domain.
    k : int
        The most parents of a column.
    epsilon : float, optional
        The budget of differential privacy, one row added or removed; none: no noise.
    bins : int
        The most groups of a column in the table of a child and its parents.
    least : int
        Without epsilon, a value is shown if at least this many training rows hold it, or none.
    buy : list of names, or "bounds"
        Under epsilon, columns of numbers or dates whose bounds are bought with a tenth of the
        budget; "bounds": all that declare none.
    keep : list of names
        Columns that are kept as they are, in partial synthesis; not under epsilon.
    """

    mode: Annotated[str, OneOf("correlated", "independent", "random")] = "correlated"
    k: Annotated[int, AtLeast(1)] = 2
    epsilon: Annotated[float | None, Above(0)] = None
    bins: Annotated[int, Between(2, MOST_BINS)] = 24
    least: Annotated[int, AtLeast(1)] = 5
    buy: Sequence[str] | str = ()
    keep: Sequence[str] | str = ()
    codecs_: list[ColumnCodec] = field(init=False, repr=False, default_factory=list)
    order_: tuple[int, ...] = field(init=False, repr=False, default=())
    models_: list[Conditional | None] = field(init=False, repr=False, default_factory=list)
    spending_: tuple[Step, ...] = field(init=False, repr=False, default=())
    rows_: int = field(init=False, repr=False, default=0)
    notes_: list[str] = field(init=False, repr=False, default_factory=list)

    saved_as: ClassVar[str] = "shown"
    card: ClassVar[MethodCard] = MethodCard(
        name="bayes",
        title="Bayesian network",
        keeps="the distribution of each column and its relation to at most k others; under epsilon "
        "as much of it as the noise leaves",
        loses="relations beyond the parents of a column; without epsilon, values that fewer than "
        "`least` training rows hold; under epsilon, where numbers lie within a cell",
        claim="With epsilon: epsilon-differential privacy for one row added or removed, domain, "
        "structure and number of rows included, if the schema was declared without a look at the "
        "data. Without: no value is shown that fewer than `least` rows hold, but a number that a "
        "relation computes from values that are shown may be one; this bounds no attack.",
        file="shares over coded columns and the values that may be shown; with epsilon noisy "
        "shares and declared or bought domains only, and what was spent",
        holds="model",
        source="Zhang et al. 2017 (PrivBayes); Ping, Stoyanovich and Howe 2017 (DataSynthesizer)",
        coarser="fewer parents, such as -o bayes.k=1, or a smaller epsilon",
        finer="more parents, such as -o bayes.k=3, or a larger epsilon",
        abilities=("complete", "epsilon", "likelihood", "emitted"),
    )

    def __post_init__(self) -> None:
        check_options(self)
        self.keep, self.buy = listed(self.keep), listed(self.buy)
        if self.epsilon is not None:
            self.epsilon = float(self.epsilon)
        if self.epsilon is not None and self.keep:
            raise OptionError(
                "bayes: columns that are kept are shown as they are, and no epsilon covers them",
                hint="keep no column, or give no epsilon",
            )
        if self.epsilon is None and self.buy:
            raise OptionError(
                "bayes: buy, but there is no epsilon to pay with", hint="leave it out"
            )

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Learn from a table; under epsilon by purchases alone."""
        self._check_rules(table.schema)
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            if self.epsilon is None:
                self._fit_plain(table, progress, workers)
            else:
                self._fit_noisy(table, rng, progress, workers)
        return self

    def _fit_plain(self, table: Table, progress: Progress, workers: ThreadPoolExecutor) -> None:
        self._check_table(table, least=self.least)
        self.notes_ = []
        names = table.schema.modelled
        plain = ShownTable.of((self._coded(table, name, self.least) for name in names), self.bins)
        kept = tuple(names.index(name) for name in self.keep)
        if self.mode == "random":
            made = plain.random(kept)
        else:
            degree = self.k if self.mode == "correlated" else 0
            made = plain.network(kept, degree, progress, workers)
        self.codecs_, (self.order_, self.models_) = plain.codecs, made
        self.rows_, self.spending_ = table.height, ()

    def _fit_noisy(
        self,
        table: Table,
        rng: np.random.Generator,
        progress: Progress,
        workers: ThreadPoolExecutor,
    ) -> None:
        if self.epsilon is None:
            raise ValueError("there is no epsilon")
        bought = bought_names(self.buy, table.schema)
        declared_domain(table.schema, bought=bought)
        purchase = Purchase(table, Budget(self.epsilon, rng), self.bins, progress)
        purchase.buy_rows()
        columns = [table.schema[name] for name in table.schema.modelled]
        with_bounds = purchase.buy_bounds(bought)
        columns = [with_bounds.get(column.name, column) for column in columns]
        self.order_, self.notes_ = tuple(range(len(columns))), []
        if self.mode == "random":
            codecs = [ColumnCodec.declared(column, self.bins) for column in columns]
            self.codecs_, self.models_ = codecs, [spread_evenly(c, self.bins)[1] for c in codecs]
        elif self.mode == "independent" or purchase.is_lottery(len(columns), self.k):
            if self.mode == "correlated" and len(columns) > 1:
                self.notes_ = [ALONE]
            margins, models = purchase.independent(columns)
            self.codecs_, self.models_ = [margin.codec for margin in margins], [*models]
        else:
            margins, chosen, models = purchase.correlated(columns, self.k, workers)
            self.codecs_, self.models_ = [margin.codec for margin in margins], [*models]
            self.order_ = tuple(one.child for one in chosen)
        self.rows_, self.spending_ = purchase.rows, purchase.budget.steps

    def _column_models(self) -> Iterable[tuple[int, Conditional | None]]:
        return zip(self.order_, self.models_, strict=True)

    def knows_chances(self, schema: Schema) -> bool:
        """Whether rows have a known chance: without epsilon, and with no column kept."""
        return self.epsilon is None and not self.keep

    def log_likelihood(self, rows: Table) -> NDArray[np.float64] | None:
        """Give the log of each row's chance, -inf where it cannot be drawn; none under epsilon."""
        total = np.zeros(rows.height)
        codes = np.zeros((rows.height, len(self.codecs_)), np.uint16, order="F")
        for place, codec in enumerate(self.codecs_):
            if codec.closed:
                return None
            codes[:, place], logs = read_shown(codec, rows.values(codec.column.name))
            total += logs
        for place, model in self._column_models():
            if model is not None:
                with np.errstate(divide="ignore"):
                    total += np.log(model.chances(codes, codes[:, place]))
        return total

    def state(self) -> State:
        """Give what codes show, the order, and the tables."""
        arrays: dict[str, NDArray[Any]] = {}
        models = dict(self._column_models())
        for number in range(len(self.codecs_)):
            arrays |= self._saved_codec(number)
            model = models[number]
            own = {} if model is None else model.arrays()
            arrays |= {f"{number}_{key}": array for key, array in own.items()}
        values = {
            "columns": self._saved_columns(),
            "order": list(self.order_),
            "rows": self.rows_,
            "spending": [step.to_dict() for step in self.spending_],
            "notes": self.notes_,
        }
        return State(values, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take what codes show, the order, and the tables; refuse what does not fit together."""
        self._restore_codecs(state, schema)
        sizes = self._sizes
        self.order_ = tuple(whole(place, 0, len(sizes) - 1) for place in state.values["order"])
        if sorted(self.order_) != list(range(len(sizes))):
            raise Damaged("the order is not that of the columns")
        self.models_ = []
        for turn, place in enumerate(self.order_):
            own = state.part(f"{place}_")
            model = Conditional.of(own, sizes, sizes[place]) if "cumulative" in own else None
            if model is not None and not set(model.parents) <= set(self.order_[:turn]):
                raise Damaged("a column is drawn before its parents")
            self.models_.append(model)
        self.rows_ = whole(state.values["rows"], -MOST, 1 << 32)
        self.notes_ = list(texts(state.values["notes"]))
        self.spending_ = tuple(Step.from_dict(step) for step in state.values["spending"])
        return self
