"""Forest: columns drawn one after the other from trees that shrink what few rows say."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Schema, near
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.workers import one_thread
from understudy.judging.comparison import Progress
from understudy.options import MOST, MOST_TREES, check_number
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.columns.frame import names_in
from understudy.synthesizers.columns.plan import Plan, Wishes
from understudy.synthesizers.forest.balance import POOL, SMALLEST, Balance, fit_balance
from understudy.synthesizers.forest.chains import Chained, find_chain
from understudy.synthesizers.forest.models import (
    Codes,
    Odds,
    Predictors,
    Settings,
    Trees,
    fit_odds,
    fit_trees,
    group_codes,
)
from understudy.synthesizers.forest.screening import strongest
from understudy.synthesizers.model_file import Damaged, State, texts
from understudy.synthesizers.support import Support, refuse_few, refuse_rules, shown_schema

Model = Trees | Odds | Chained

MOST_ROWS = 1_000_000
BLOCK = 50_000
TRIED = (20_000, 200_000)
MODELS: dict[str, type[Model]] = {"trees": Trees, "odds": Odds, "chained": Chained}


@dataclass(kw_only=True)
class Forest:
    """Shrunk trees over codes; shows no value that fewer than ``k`` training rows hold.

    Parameters
    ----------
    k : int
        A value is shown if at least this many training rows hold it, or none does.
    trees : int
        Trees for each column.
    min_leaf : int
        The smallest leaf of a tree.
    penalty : float
        What a split must gain, in nats for each share that it adds; larger is coarser.
    fidelity : float
        How far small tables may be from those of training: 1 is as far as those of fresh rows
        would be, less is closer; 0 follows the model alone.
    visit : list of names or "learnt"
        The order of the columns; by default that of the schema.
    keep : list of names
        Columns that are kept as they are, in partial synthesis.
    """

    k: int = 5
    trees: int = 20
    min_leaf: int = 10
    penalty: float = 1.0
    fidelity: float = 0.9
    visit: Sequence[str] | str | None = None
    keep: Sequence[str] = ()
    supports_: list[Support] = field(init=False, repr=False, default_factory=list)
    models_: list[Model | None] = field(init=False, repr=False, default_factory=list)
    balance_: Balance | None = field(init=False, repr=False, default=None)
    notes_: list[str] = field(init=False, repr=False, default_factory=list)
    names_: tuple[str, ...] = field(init=False, repr=False, default=())

    card: ClassVar[MethodCard] = MethodCard(
        name="forest",
        title="Shrunk trees, column by column",
        keeps="the distribution of each column, relations of two and three columns, and most "
        "others, as closely as fresh real rows would show them",
        loses="values that fewer than k training rows hold, extremes among them; relations that "
        "only few rows show",
        claim="No value is shown that fewer than k training rows hold (k is 5 if not set). That "
        "bounds no attack on records or attributes: measure what the table discloses.",
        file="trees and shares over coded columns, and the values that may be shown; no value "
        "that fewer than k training rows hold",
        holds="model",
        source="A sequential forest with honest leaves (Athey and Imbens 2016) "
        "shrunk by Dirichlet-multinomial evidence; Friedman 2001 for columns of two values",
        coarser="splits that must gain more and larger leaves, such as -o forest.penalty=2.5 "
        "-o forest.min_leaf=50, or small tables that follow training less, such as "
        "-o forest.fidelity=1.2",
        finer="small tables closer to training, such as -o forest.fidelity=0.8",
    )

    def __post_init__(self) -> None:
        for name, least, most in (
            ("k", 1, MOST),
            ("trees", 1, MOST_TREES),
            ("min_leaf", 1, MOST),
            ("penalty", 0, None),
            ("fidelity", 0, None),
        ):
            check_number(f"forest: {name}", getattr(self, name), least, most)
        self.keep = names_in(self.keep, "forest: keep")
        if self.visit is not None and not isinstance(self.visit, str):
            self.visit = names_in(self.visit, "forest: visit")

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Code the columns, then model each given those before it."""
        refuse_few(table, "forest", k=self.k)
        refuse_rules(table.schema, "forest")
        with one_thread():
            return self._fit(table, rng, progress)

    def _fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        plan = Plan.of(Wishes(visit=self.visit, method="cart", keep=self.keep), table)
        self.names_ = table.schema.modelled
        fitted = [self._support(table, name) for name in plan.order]
        self.supports_ = [support for support, _ in fitted]
        self.notes_ = [
            f"{s.column.name} is all missing: no value of it is held by {self.k} rows"
            for s, made in fitted
            if s.shows_nothing and (made == s.size).any()
        ]
        codes = np.asfortranarray(np.column_stack([made for _, made in fitted]))
        if len(codes) > MOST_ROWS:
            self.notes_.append(f"the trees learnt from {MOST_ROWS:,} of {len(codes):,} rows")
            codes = np.asfortranarray(codes[np.sort(rng.choice(len(codes), MOST_ROWS, False))])
        self.models_, self.balance_ = [], None
        steps = len(plan.order) + 1
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for place, name in enumerate(plan.order):
                given = tuple(plan.order.index(other) for other in plan.predictors[name])
                kept = name in self.keep
                self.models_.append(
                    None if kept else self._model(codes, place, given, rng, workers)
                )
                progress("growing trees", place + 1, steps)
        if self.fidelity > 0 and not self.keep:
            tried = min(max(4 * len(codes), TRIED[0]), TRIED[1])
            pool, sizes = self._draw(tried, rng), [s.size for s in self.supports_]
            self.balance_ = fit_balance(codes, pool, sizes, fidelity=self.fidelity)
        progress("growing trees", steps, steps)
        return self

    def _support(self, table: Table, name: str) -> tuple[Support, Codes]:
        """Choose what a column may show, and code it."""
        single = table.frame[name].dtype == pl.Float32
        return Support.fit(table.values(name), table.schema[name], self.k, single=single)

    def _model(
        self,
        codes: Codes,
        place: int,
        places: tuple[int, ...],
        rng: np.random.Generator,
        workers: ThreadPoolExecutor,
    ) -> Model | None:
        """Model one column; none is needed where it shows one code only."""
        support = self.supports_[place]
        if support.size < 2:
            return None
        shown = codes[:, place] < support.size
        rows = codes if shown.all() else np.asfortranarray(codes[shown])
        target = rows[:, place].copy()
        counts = np.bincount(target, minlength=support.size)
        group_of = group_codes(counts, ordered=support.column.is_numeric)
        places = strongest(rows, places, group_of[target])
        sizes = np.array([self.supports_[i].size + 1 for i in places], np.int64)
        ordered = tuple(self.supports_[i].column.is_numeric for i in places)
        predictors = Predictors(places, sizes, ordered)
        if support.size == 2 and places:
            return fit_odds(rows, predictors, target, rng)
        settings = Settings(self.trees, self.min_leaf, self.penalty)
        trees = fit_trees(rows, predictors, target, group_of, settings, rng, workers)
        chain = None
        if support.column.is_numeric:
            chain = find_chain(rows, target, support, self.supports_, places)
        if chain is None:
            return trees
        chained, steps = chain.steps(rows, target)
        groups = group_codes(np.bincount(steps, minlength=2 * chain.reach + 1), ordered=True)
        rows = np.asfortranarray(rows[chained])
        return Chained(
            trees, fit_trees(rows, predictors, steps, groups, settings, rng, workers), chain
        )

    def _draw(self, rows: int, rng: np.random.Generator, kept: Codes | None = None) -> Codes:
        """Draw codes in blocks, on all cores; columns that are kept have theirs."""
        made = np.zeros((rows, len(self.supports_)), np.uint16, order="F")
        if kept is not None:
            made[:, : kept.shape[1]] = kept
        starts = range(0, rows, BLOCK)

        def fill(start: int, own: np.random.Generator) -> None:
            block = np.asfortranarray(made[start : start + BLOCK])
            for place, model in enumerate(self.models_):
                if model is not None:
                    block[:, place] = model.draw(block, own)
            made[start : start + BLOCK] = block

        with ThreadPoolExecutor(os.cpu_count()) as workers:
            list(workers.map(fill, starts, rng.spawn(len(starts))))
        return made

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw a pool of rows and choose from it; no row is chosen for its distance to training."""
        if self.keep:
            raise OptionError(
                f"forest: the columns that are kept ({', '.join(self.keep)}) need rows",
                hint="complete the rows of a table, or keep no column",
            )
        if self.balance_ is None or rows < SMALLEST:
            return self._decode(self._draw(rows, rng), rng)
        pool = self._draw(POOL * rows, rng)
        chosen = self.balance_.select(pool, rows)
        return self._decode(pool[rng.permutation(chosen)], rng)

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Draw all other columns for the rows of a table whose kept columns stay untouched."""
        for name in self.keep:
            if name not in kept.frame.columns:
                raise DataError(
                    f"{kept.name}: the column '{name}' that is kept is missing",
                    hint=near(name, kept.frame.columns),
                )
        first = [s for s in self.supports_ if s.column.name in self.keep]
        codes = np.column_stack([s.encode(kept.values(s.column.name)) for s in first])
        made = self._decode(self._draw(kept.height, rng, codes), rng, kept.frame)
        return made

    def _decode(
        self, codes: Codes, rng: np.random.Generator, kept: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """Turn codes into values; columns that are kept stay as they are."""
        made = {
            s.column.name: kept[s.column.name]
            if kept is not None and s.column.name in self.keep
            else s.decode(codes[:, place], rng)
            for place, s in enumerate(self.supports_)
        }
        return pl.DataFrame(made).select(self.names_)

    def emitted(self, schema: Schema) -> Schema:
        """Give the schema of what is shown: no level and no bound but those of the support."""
        return shown_schema(schema, [support.column_shown() for support in self.supports_])

    def state(self) -> State:
        """Give supports, models and small tables."""
        arrays: dict[str, NDArray[Any]] = {}
        columns = []
        for number, (support, model) in enumerate(zip(self.supports_, self.models_, strict=True)):
            kind = next((k for k, of in MODELS.items() if isinstance(model, of)), None)
            columns.append(
                {"name": support.column.name, "labels": list(support.labels), "model": kind}
            )
            parts = {f"support_{k}": v for k, v in support.arrays().items()}
            parts |= model.arrays() if model is not None else {}
            arrays |= {f"{number}_{name}": array for name, array in parts.items()}
        if self.balance_ is not None:
            arrays |= {f"balance_{k}": v for k, v in self.balance_.arrays().items()}
        values = {"columns": columns, "names": list(self.names_), "notes": self.notes_}
        return State(values, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take supports, models and small tables."""
        self.supports_, self.models_ = [], []
        for number, entry in enumerate(state.values["columns"]):
            before, own = [s.size for s in self.supports_], state.part(f"{number}_")
            support = Support.of(schema[entry["name"]], entry["labels"], own.part("support_"))
            kind = entry["model"]
            model = None if kind is None else MODELS[kind].of(own, before, support.size)
            self.supports_.append(support)
            self.models_.append(model)
        self.names_ = texts(state.values["names"])
        if sorted(self.names_) != sorted(s.column.name for s in self.supports_):
            raise Damaged("the columns are not those that are named")
        small = state.part("balance_")
        if "tables" in small:
            self.balance_ = Balance.of(small, [s.size for s in self.supports_])
        self.notes_ = list(texts(state.values["notes"]))
        return self
