"""Bayes: a network of columns, each drawn given a few others; with or without epsilon."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Schema, near
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.judging.comparison import Progress
from understudy.options import MOST, check_number
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.bayes.conditionals import Codes, Conditional
from understudy.synthesizers.bayes.domain import Cells, bought_names, declared_domain
from understudy.synthesizers.bayes.noisy import Purchase
from understudy.synthesizers.bayes.plain import Plain
from understudy.synthesizers.bayes.shown import read_shown
from understudy.synthesizers.budget import Budget, Step, check_epsilon
from understudy.synthesizers.columns.frame import names_in
from understudy.synthesizers.model_file import Damaged, State, texts, whole
from understudy.synthesizers.support import Support, refuse_few, refuse_rules, shown_schema

MODES = ("correlated", "independent", "random")
BLOCK = 50_000
MOST_BINS = 200
ALONE = (
    "There are too few rows for an epsilon this small: every column was drawn alone, since the "
    "choice of parents would have been a lottery."
)


@dataclass(kw_only=True)
class Bayes:
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

    mode: str = "correlated"
    k: int = 2
    epsilon: float | None = None
    bins: int = 24
    least: int = 5
    buy: Sequence[str] = ()
    keep: Sequence[str] = ()
    coders_: list[Support | Cells] = field(init=False, repr=False, default_factory=list)
    order_: tuple[int, ...] = field(init=False, repr=False, default=())
    models_: list[Conditional | None] = field(init=False, repr=False, default_factory=list)
    spending_: tuple[Step, ...] = field(init=False, repr=False, default=())
    rows_: int = field(init=False, repr=False, default=0)
    notes_: list[str] = field(init=False, repr=False, default_factory=list)

    card: ClassVar[MethodCard] = MethodCard(
        name="bayes",
        title="Bayesian network",
        keeps="the distribution of each column and its relation to at most k others; under epsilon "
        "as much of it as the noise leaves",
        loses="relations beyond the parents of a column; without epsilon, values that fewer than "
        "`least` training rows hold; under epsilon, where numbers lie within a cell",
        claim="With epsilon: epsilon-differential privacy for one row added or removed, domain, "
        "structure and number of rows included, if the schema was declared without a look at the "
        "data. Without: no value is shown that fewer than `least` rows hold, which bounds no "
        "attack.",
        file="shares over coded columns and the values that may be shown; with epsilon noisy "
        "shares and declared or bought domains only, and what was spent",
        holds="model",
        source="Zhang et al. 2017 (PrivBayes); Ping, Stoyanovich and Howe 2017 (DataSynthesizer)",
        coarser="fewer parents, such as -o bayes.k=1, or a smaller epsilon",
        finer="more parents, such as -o bayes.k=3, or a larger epsilon",
    )

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise OptionError(f"bayes: mode = {self.mode!r}", hint=f"use one of {', '.join(MODES)}")
        for name, least, most in (("k", 1, MOST), ("bins", 2, MOST_BINS), ("least", 1, MOST)):
            check_number(f"bayes: {name}", getattr(self, name), least, most)
        self.keep = names_in(self.keep, "bayes: keep")
        self.buy = names_in(self.buy, "bayes: buy")
        if self.epsilon is not None:
            self.epsilon = check_epsilon(self.epsilon)
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
        refuse_rules(table.schema, "bayes")
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            if self.epsilon is None:
                self._fit_plain(table, progress, workers)
            else:
                self._fit_noisy(table, rng, progress, workers)
        return self

    def _fit_plain(self, table: Table, progress: Progress, workers: ThreadPoolExecutor) -> None:
        self._known(self.keep, table.schema)
        refuse_few(table, "bayes", least=self.least)
        plain = Plain.of(table, self.least, self.bins)
        kept = tuple(table.schema.modelled.index(name) for name in self.keep)
        if self.mode == "random":
            made = plain.random(kept)
        else:
            degree = self.k if self.mode == "correlated" else 0
            made = plain.network(kept, degree, progress, workers)
        self.coders_, (self.order_, self.models_) = [*plain.supports], made
        self.rows_, self.spending_, self.notes_ = table.height, (), plain.notes

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
            cells = [Cells.of(column, self.bins) for column in columns]
            self.coders_, self.models_ = [*cells], [one.evenly(self.bins) for one in cells]
        elif self.mode == "independent" or purchase.is_lottery(len(columns), self.k):
            if self.mode == "correlated" and len(columns) > 1:
                self.notes_ = [ALONE]
            margins, models = purchase.independent(columns)
            self.coders_, self.models_ = [margin.cells for margin in margins], [*models]
        else:
            margins, chosen, models = purchase.correlated(columns, self.k, workers)
            self.coders_, self.models_ = [margin.cells for margin in margins], [*models]
            self.order_ = tuple(one.child for one in chosen)
        self.rows_, self.spending_ = purchase.rows, purchase.budget.steps

    def _known(self, names: Sequence[str], schema: Schema) -> None:
        for name in names:
            if name not in schema.modelled:
                raise OptionError(
                    f"bayes: keep names '{name}', which is not modelled",
                    hint=near(name, schema.modelled),
                )
        if set(names) == set(schema.modelled):
            raise OptionError("every column is kept", hint="leave at least one to be drawn")

    def _draw(self, rows: int, rng: np.random.Generator, kept: Codes | None = None) -> Codes:
        """Draw codes in blocks, column by column; columns that are kept have theirs."""
        made = np.zeros((rows, len(self.coders_)), np.uint16)
        starts = range(0, rows, BLOCK)

        def fill(start: int, own: np.random.Generator) -> None:
            here = slice(start, start + BLOCK)
            block = np.asfortranarray(made[here] if kept is None else kept[here])
            for place, model in zip(self.order_, self.models_, strict=True):
                if model is not None:
                    block[:, place] = model.draw(block, own)
            made[here] = block

        with ThreadPoolExecutor(os.cpu_count()) as workers:
            list(workers.map(fill, starts, rng.spawn(len(starts))))
        return made

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw rows, each on its own."""
        if self.keep:
            raise OptionError(
                f"bayes: the columns that are kept ({', '.join(self.keep)}) need rows",
                hint="complete the rows of a table, or keep no column",
            )
        codes = self._draw(rows, rng)
        made = [coder.decode(codes[:, i], rng) for i, coder in enumerate(self.coders_)]
        names = [coder.column.name for coder in self.coders_]
        return pl.DataFrame(dict(zip(names, made, strict=True)))

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Draw all other columns for the rows of a table whose kept columns stay untouched."""
        for name in self.keep:
            if name not in kept.frame.columns:
                raise DataError(
                    f"{kept.name}: the column '{name}' that is kept is missing",
                    hint=near(name, kept.frame.columns),
                )
        codes = np.zeros((kept.height, len(self.coders_)), np.uint16)
        for place, coder in enumerate(self.coders_):
            if coder.column.name in self.keep:
                codes[:, place] = coder.encode(kept.values(coder.column.name))
        codes = self._draw(kept.height, rng, codes)
        made = {
            coder.column.name: kept.frame[coder.column.name]
            if coder.column.name in self.keep
            else coder.decode(codes[:, place], rng)
            for place, coder in enumerate(self.coders_)
        }
        return pl.DataFrame(made)

    def knows_chances(self, schema: Schema) -> bool:
        """Whether rows have a known chance: without epsilon, and with no column kept."""
        return self.epsilon is None and not self.keep

    def log_likelihood(self, rows: Table) -> NDArray[np.float64] | None:
        """Give the log of each row's chance, -inf where it cannot be drawn; none under epsilon."""
        total = np.zeros(rows.height)
        codes = np.zeros((rows.height, len(self.coders_)), np.uint16, order="F")
        for place, coder in enumerate(self.coders_):
            if not isinstance(coder, Support):
                return None
            codes[:, place], logs = read_shown(coder, rows.values(coder.column.name))
            total += logs
        for place, model in zip(self.order_, self.models_, strict=True):
            if model is not None:
                with np.errstate(divide="ignore"):
                    total += np.log(model.chances(codes, codes[:, place]))
        return total

    def emitted(self, schema: Schema) -> Schema:
        """Give the schema of what is shown: values of the support, or the declared domain."""
        return shown_schema(schema, [coder.column_shown() for coder in self.coders_])

    def state(self) -> State:
        """Give what codes show, the order, and the tables."""
        arrays: dict[str, NDArray[Any]] = {}
        columns: list[dict[str, Any]] = []
        models = dict(zip(self.order_, self.models_, strict=True))
        for number, coder in enumerate(self.coders_):
            entry: dict[str, Any] = {"name": coder.column.name}
            if isinstance(coder, Support):
                entry["labels"] = list(coder.labels)
            columns.append(entry)
            parts = {f"shown_{key}": array for key, array in coder.arrays().items()}
            model = models[number]
            parts |= {} if model is None else model.arrays()
            arrays |= {f"{number}_{key}": array for key, array in parts.items()}
        values = {
            "columns": columns,
            "order": list(self.order_),
            "rows": self.rows_,
            "spending": [step.to_dict() for step in self.spending_],
            "notes": self.notes_,
        }
        return State(values, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take what codes show, the order, and the tables; refuse what does not fit together."""
        entries = state.values["columns"]
        self.coders_ = [
            self._coder(schema[entry["name"]], entry, state.part(f"{number}_shown_"))
            for number, entry in enumerate(entries)
        ]
        sizes = [coder.size for coder in self.coders_]
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

    @staticmethod
    def _coder(column: Column, entry: dict[str, Any], state: State) -> Support | Cells:
        if "labels" in entry:
            return Support.of(column, entry["labels"], state)
        return Cells.restored(column, state)
