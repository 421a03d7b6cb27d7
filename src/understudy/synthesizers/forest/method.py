"""Forest: columns drawn one after the other from trees that shrink what few rows say."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import ColumnCodec
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.jobs.progress import Progress
from understudy.jobs.workers import one_thread
from understudy.options import MOST_TREES, AtLeast, Between
from understudy.synthesizers.base import MethodCard, check_options
from understudy.synthesizers.coded import CodedMethod
from understudy.synthesizers.columns.frame import listed
from understudy.synthesizers.columns.plan import Plan, PlanRequest
from understudy.synthesizers.forest.balance import FEWEST_ROWS, POOL, Balance, fit_balance
from understudy.synthesizers.forest.learning import CodeFeatures, fit_smooth
from understudy.synthesizers.forest.led import Led, fit_led
from understudy.synthesizers.forest.models import (
    Codes,
    Odds,
    Trees,
    TreeSettings,
    fit_odds,
    fit_trees,
    group_codes,
    strongest,
)
from understudy.synthesizers.forest.smooth import Smooth
from understudy.synthesizers.model_file import Damaged, State, texts

Model = Trees | Odds | Led | Smooth

MOST_ROWS, MOST_EXPECTED = 1_000_000, 20_000  # learnt from; what is expected of a number
MOST_COMPARED, FEWEST_COMPARED, COMPARED_TREES = 40, 100, 6
LEAST_GAIN, LEAST_GAIN_A_ROW = 5.0, 0.02
TRIED, TRIED_SMALL = (20_000, 200_000), 6_000
FINER = 0.6  # of the leaves and the penalty, where a number is nearly told
WINDOW = (
    "k counts the training rows within one unit of a number's last digit: a number that one row "
    "holds may be shown where others hold its neighbours."
)
MODELS: dict[str, type[Model]] = {
    "trees": Trees,
    "odds": Odds,
    "led": Led,
    "smooth": Smooth,
}


@dataclass(kw_only=True)
class Forest(CodedMethod):
    """Shrunk trees over codes; shows no value that fewer than ``k`` training rows hold.

    Parameters
    ----------
    k : int
        A value is shown if at least this many training rows hold it, or none does.
    trees : int
        Trees for each column.
    min_leaf : int
        The smallest leaf of a tree; 0.6 of it where other columns nearly tell a number.
    penalty : float
        What a split must gain, in nats for each share that it adds; larger is coarser. 0.6 of it
        where other columns nearly tell a number.
    fidelity : float
        How far small tables may be from those of training: 1 is as far as those of fresh rows
        would be, less is closer; 0 follows the model alone.
    smooth : int
        A table of fewer rows is drawn by smooth sums instead of trees, which few rows tell badly;
        0 grows trees on every table.
    window : bool
        A weaker rule for numbers: ``k`` counts the rows within one unit of the last digit.
    visit : list of names or "learnt"
        The order of the columns; by default that of the schema.
    keep : list of names
        Columns that are kept as they are, in partial synthesis.
    """

    k: Annotated[int, AtLeast(1)] = 5
    trees: Annotated[int, Between(1, MOST_TREES)] = 20
    min_leaf: Annotated[int, AtLeast(1)] = 10
    penalty: Annotated[float, AtLeast(0)] = 1.0
    fidelity: Annotated[float, AtLeast(0)] = 0.9
    smooth: Annotated[int, AtLeast(0)] = 5_000
    window: bool = False
    visit: Sequence[str] | str | None = None
    keep: Sequence[str] | str = ()
    codecs_: list[ColumnCodec] = field(init=False, repr=False, default_factory=list)
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
        claim="No value is shown that fewer than k training rows hold (k is 5 if not set); with "
        "window=true, no number that fewer than k rows hold within one unit of its last digit. A "
        "number that a relation computes from values that are shown may be one. That bounds no "
        "attack on records or attributes: measure what the table discloses.",
        file="trees and shares over coded columns, and the values that may be shown; no value "
        "that fewer than k training rows hold",
        holds="model",
        source="A sequential forest with honest leaves (Athey and Imbens 2016) "
        "shrunk by Dirichlet-multinomial evidence; Friedman 2001 for columns of two values",
        coarser="splits that must gain more and larger leaves, such as -o forest.penalty=2.5 "
        "-o forest.min_leaf=50, or small tables that follow training less, such as "
        "-o forest.fidelity=1.2",
        finer="small tables closer to training, such as -o forest.fidelity=0.8",
        abilities=("complete", "emitted"),
    )

    def __post_init__(self) -> None:
        check_options(self)
        self.keep = listed(self.keep)
        if self.visit is not None and not isinstance(self.visit, str):
            self.visit = tuple(self.visit)

    @property
    def rule(self) -> str | None:
        """What may be shown, where the window rule is asked for: a sentence for the release."""
        return WINDOW if self.window else None

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Code the columns, then model each given those before it."""
        self._check_table(table, k=self.k)
        with one_thread():
            return self._fit(table, rng, progress)

    def _fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        plan = Plan.of(PlanRequest(visit=self.visit, method="cart", keep=self.keep), table)
        self.names_ = table.schema.modelled
        self.notes_ = []
        small = table.height < self.smooth
        fitted = [
            self._coded(table, name, self.k, fine=small, window=self.window) for name in plan.order
        ]
        self.codecs_ = [codec for codec, _ in fitted]
        codes = np.asfortranarray(np.column_stack([made for _, made in fitted]))
        if len(codes) > MOST_ROWS:
            self.notes_.append(f"the trees learnt from {MOST_ROWS:,} of {len(codes):,} rows")
            codes = np.asfortranarray(codes[np.sort(rng.choice(len(codes), MOST_ROWS, False))])
        self.models_, self.balance_ = [], None
        most = len(codes) if small else MOST_EXPECTED
        design = CodeFeatures.of(codes, self.codecs_, most)
        steps = len(plan.order) + 1
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for place, name in enumerate(plan.order):
                given = tuple(plan.order.index(other) for other in plan.predictors[name])
                kept = name in self.keep
                self.models_.append(
                    None if kept else self._model(codes, place, given, design, small, rng, workers)
                )
                progress("growing trees", place + 1, steps)
        if self.fidelity > 0 and not self.keep:
            least = TRIED_SMALL if small else TRIED[0]
            tried = min(max(4 * len(codes), least), TRIED[1])
            pool = super()._sampled(tried, rng)
            self.balance_ = fit_balance(codes, pool, self._sizes, fidelity=self.fidelity)
        progress("growing trees", steps, steps)
        return self

    def _model(
        self,
        codes: Codes,
        place: int,
        places: tuple[int, ...],
        design: CodeFeatures,
        small: bool,
        rng: np.random.Generator,
        workers: ThreadPoolExecutor,
    ) -> Model | None:
        """Model one column; none is needed where it shows one code only."""
        codec = self.codecs_[place]
        if codec.size < 2:
            return None
        shown = codes[:, place] < codec.size
        rows = codes if shown.all() else np.asfortranarray(codes[shown])
        target = rows[:, place].copy()
        counts = np.bincount(target, minlength=codec.size)
        group_of = group_codes(counts, ordered=codec.column.is_numeric)
        if small:
            smooth = fit_smooth(design, np.flatnonzero(shown), places, place, group_of, rng)
            if not self._trees_say_more(rows, target, group_of, smooth.chances, places, workers):
                return smooth.model
        places = strongest(rows, places, group_of[target])
        if codec.size == 2 and places:
            return fit_odds(rows, self.codecs_, places, target, rng)

        def grow(
            rows: Codes,
            codecs: Sequence[ColumnCodec],
            places: Sequence[int],
            groups: NDArray[np.int64],
            finer: float = 1.0,
        ) -> Trees:
            settings = TreeSettings(
                self.trees, max(1, int(self.min_leaf * finer)), self.penalty * finer
            )
            return fit_trees(rows, codecs, places, target, groups, settings, rng, workers)

        led = None
        if codec.column.is_numeric:
            led = fit_led(design, rows, target, places, place, rng, partial(grow, finer=FINER))
        return led or grow(rows, self.codecs_, places, group_of)

    def _trees_say_more(
        self,
        rows: Codes,
        target: Codes,
        group_of: NDArray[np.int64],
        chances: NDArray[np.float64],
        places: tuple[int, ...],
        workers: ThreadPoolExecutor,
    ) -> bool:
        """Say whether a few trees of two thirds of the rows predict the last third far better."""
        if not 0 < len(places) <= MOST_COMPARED or len(target) < FEWEST_COMPARED:
            return False
        rng = np.random.default_rng(len(target))
        order = rng.permutation(len(target))
        held, others = np.sort(order[: len(order) // 3]), np.sort(order[len(order) // 3 :])
        settings = TreeSettings(COMPARED_TREES, self.min_leaf, self.penalty)
        learnt = np.asfortranarray(rows[others])
        trees = fit_trees(
            learnt, self.codecs_, places, target[others], group_of, settings, rng, workers
        )
        told = trees.chances(np.asfortranarray(rows[held]), target[held], group_of)
        gain = np.log(np.maximum(told, 1e-4)) - np.log(np.maximum(chances[held], 1e-4))
        return float(gain.sum()) > max(LEAST_GAIN, len(held) * LEAST_GAIN_A_ROW)

    def _column_models(self) -> Iterable[tuple[int, Model | None]]:
        return enumerate(self.models_)

    def _sampled(self, rows: int, rng: np.random.Generator) -> Codes:
        """Draw a pool of rows and choose from it; no row is chosen for its distance to training."""
        if self.balance_ is None or rows < FEWEST_ROWS:
            return super()._sampled(rows, rng)
        pool = super()._sampled(POOL * rows, rng)
        chosen: Codes = pool[rng.permutation(self.balance_.select(pool, rows))]
        return chosen

    def _shown(
        self, codes: Codes, rng: np.random.Generator, kept: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        return super()._shown(codes, rng, kept).select(self.names_)

    def state(self) -> State:
        """Give codecs, models and small tables."""
        arrays: dict[str, NDArray[Any]] = {}
        columns = self._saved_columns()
        for number, model in enumerate(self.models_):
            kind = next((k for k, of in MODELS.items() if isinstance(model, of)), None)
            columns[number]["model"] = kind
            arrays |= self._saved_codec(number)
            own = {} if model is None else model.arrays()
            arrays |= {f"{number}_{name}": array for name, array in own.items()}
        if self.balance_ is not None:
            arrays |= {f"balance_{k}": v for k, v in self.balance_.arrays().items()}
        values = {"columns": columns, "names": list(self.names_), "notes": self.notes_}
        return State(values, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take codecs, models and small tables."""
        self._restore_codecs(state, schema)
        self.models_, sizes = [], self._sizes
        for number, entry in enumerate(state.values["columns"]):
            kind, own = entry["model"], state.part(f"{number}_")
            self.models_.append(
                None if kind is None else MODELS[kind].of(own, sizes[:number], sizes[number])
            )
        self.names_ = texts(state.values["names"])
        if sorted(self.names_) != sorted(codec.column.name for codec in self.codecs_):
            raise Damaged("the columns are not those that are named")
        small = state.part("balance_")
        if "tables" in small:
            self.balance_ = Balance.of(small, sizes)
        self.notes_ = list(texts(state.values["notes"]))
        return self
