"""Columns drawn one after the other from classification and regression trees, as synthpop does.

Each column is modelled given the columns before it, on the original values, and drawn given the
synthetic ones. A category is drawn from the shares of a leaf, a number from the values of the
training rows in a leaf. Whether a number is missing or a word is drawn first, then its value.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.coding import FIRST, MISSING, Codec, write_values
from understudy.comparison import Progress
from understudy.engines import MemorySource
from understudy.errors import OptionError
from understudy.schema import Column, Schema, Values, labels
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.model_file import State
from understudy.tables import Table

if TYPE_CHECKING:
    from understudy.kernels.trees import Tree

TREE = ("column", "cut", "left", "right", "start", "goes_left", "begin", "end")


@dataclass(frozen=True)
class Leaves:
    """A tree, and what the training rows hold, leaf by leaf."""

    tree: "Tree"
    donors: NDArray[np.float64]

    def draw(self, table: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw for each row what a random training row of its leaf holds."""
        leaf = self.tree.apply(table)
        begin, end = self.tree.begin[leaf], self.tree.end[leaf]
        place = begin + np.floor(rng.random(len(leaf)) * (end - begin)).astype(np.int64)
        return self.donors[place]


@dataclass(frozen=True)
class ColumnModel:
    """How a column is drawn: its label first (category, word, missing), then its number."""

    column: Column
    labels: tuple[str, ...]
    kind: Leaves | None
    number: Leaves | None


@dataclass
class Cart:
    """Trees with synthpop's settings: at least ``minbucket`` rows a leaf, complexity ``cp``."""

    minbucket: int = 5
    cp: float = 1e-8
    smooth: bool = False
    proper: bool = False
    models_: list[ColumnModel] = field(init=False, repr=False, default_factory=list)

    card: ClassVar[MethodCard] = MethodCard(
        name="cart",
        title="Trees, column by column",
        keeps="the distribution of each column and most relations, in the order of the columns",
        loses="relations that need many columns at once; rare combinations are thinned out",
        claim="None: numbers are real values of training rows, and small leaves reproduce rare "
        "records. The synthetic records are measurably closer to training than to fresh rows.",
        file="the trees, and the training values of each column by leaf",
        source="Nowok, Raab and Dibben 2016 (synthpop); Latner et al.; Breiman et al. 1984",
    )

    def __post_init__(self) -> None:
        if self.minbucket < 1 or self.cp < 0:
            raise OptionError(
                f"cart: minbucket = {self.minbucket}, cp = {self.cp}",
                hint="use at least 1 row a leaf and a complexity of 0 or more",
            )

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Grow a tree for each column given those before it."""
        source = MemorySource(table)
        codec = Codec.fit(source, bins=1)
        rows = np.arange(table.height)
        if self.proper:
            rows = rng.integers(0, table.height, table.height)
        predictors: list[NDArray[np.float64]] = []
        sizes: list[int] = []
        self.models_ = []
        for number, coder in enumerate(codec.columns, start=1):
            codes = coder.encode(table.values(coder.column.name)).astype(np.int64)[rows]
            numbers = source.numbers(coder.column.name)[rows] if _counts(coder.column) else None
            self.models_.append(
                self._model(coder.column, coder.levels, codes, numbers, predictors, sizes)
            )
            predictors.append(_predictor(codes, numbers))
            sizes.append(0 if numbers is not None else coder.size)
            progress("growing trees", number, len(codec.columns))
        return self

    def _model(
        self,
        column: Column,
        levels: tuple[str, ...],
        codes: NDArray[np.int64],
        numbers: NDArray[np.float64] | None,
        predictors: list[NDArray[np.float64]],
        sizes: list[int],
    ) -> ColumnModel:
        present = np.zeros(len(codes), bool) if numbers is None else ~np.isnan(numbers)
        kinds = codes.copy()
        kinds[present] = FIRST
        number = None
        if numbers is not None and present.any():
            number = self._leaves(predictors, sizes, numbers, 0, present)
        if len(np.unique(kinds)) == 1 and number is not None:
            return ColumnModel(column, levels, None, number)
        every = np.ones(len(codes), bool)
        kind = self._leaves(predictors, sizes, kinds.astype(float), int(kinds.max()) + 1, every)
        return ColumnModel(column, levels, kind, number)

    def _leaves(
        self,
        predictors: list[NDArray[np.float64]],
        sizes: list[int],
        target: NDArray[np.float64],
        classes: int,
        rows: NDArray[np.bool_],
    ) -> Leaves:
        from understudy.kernels.trees import grow

        given = np.column_stack(predictors)[rows] if predictors else np.zeros((int(rows.sum()), 0))
        tree = grow(
            given,
            np.array(sizes, np.int64),
            target[rows],
            classes,
            min_leaf=self.minbucket,
            cp=self.cp,
        )
        return Leaves(tree, target[rows][tree.rows])

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw column after column, each given the synthetic values before it."""
        predictors: list[NDArray[np.float64]] = []
        made: dict[str, pl.Series] = {}
        for model in self.models_:
            given = np.column_stack(predictors) if predictors else np.zeros((rows, 0))
            codes = np.full(rows, FIRST, np.int64)
            if model.kind is not None:
                codes = model.kind.draw(given, rng).astype(np.int64)
            numbers = None
            if _counts(model.column):
                numbers = np.full(rows, np.nan)
                chosen = codes == FIRST if model.number is not None else np.zeros(rows, bool)
                if model.number is not None and chosen.any():
                    numbers[chosen] = self._smoothed(
                        model, model.number.draw(given[chosen], rng), rng
                    )
            predictors.append(_predictor(codes, numbers))
            made[model.column.name] = _write(model, codes, numbers)
        return pl.DataFrame(made)

    def _smoothed(
        self, model: ColumnModel, drawn: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Add a little noise to values that stand alone, within the bounds of the column."""
        if not self.smooth or model.number is None or len(model.number.donors) < 2:
            return drawn
        values, times = np.unique(model.number.donors, return_counts=True)
        alone = times[np.searchsorted(values, drawn)] < self.minbucket
        width = 0.9 * float(np.std(model.number.donors)) * len(model.number.donors) ** -0.2
        noisy = np.clip(drawn + width * rng.normal(size=len(drawn)), values[0], values[-1])
        step = model.column.step
        if step is not None:
            noisy = np.round(noisy / step) * step
        return np.where(alone, noisy, drawn)

    def state(self) -> State:
        """Give the trees and their donors."""
        arrays: dict[str, Any] = {}
        plain: list[dict[str, Any]] = []
        for number, model in enumerate(self.models_):
            parts = {"kind": model.kind, "number": model.number}
            plain.append(
                {
                    "name": model.column.name,
                    "labels": list(model.labels),
                    "parts": [part for part, leaves in parts.items() if leaves is not None],
                }
            )
            for part, leaves in parts.items():
                if leaves is not None:
                    arrays |= {f"{number}_{part}_{a}": getattr(leaves.tree, a) for a in TREE}
                    arrays[f"{number}_{part}_donors"] = leaves.donors
        return State({"columns": plain}, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take the trees and their donors."""
        from understudy.kernels.trees import Tree

        def leaves(number: int, part: str, parts: list[str]) -> Leaves | None:
            if part not in parts:
                return None
            arrays: dict[str, Any] = {a: state.arrays[f"{number}_{part}_{a}"] for a in TREE}
            donors = state.arrays[f"{number}_{part}_donors"]
            return Leaves(Tree(**arrays, rows=np.arange(len(donors))), donors)

        self.models_ = [
            ColumnModel(
                schema[entry["name"]],
                tuple(entry["labels"]),
                leaves(number, "kind", entry["parts"]),
                leaves(number, "number", entry["parts"]),
            )
            for number, entry in enumerate(state.values["columns"])
        ]
        return self


def _counts(column: Column) -> bool:
    """Whether a column is modelled as a number: small domains of numbers too, as synthpop does."""
    return column.is_numeric or (
        column.kind == "category" and column.stored in ("integer", "float")
    )


def _predictor(
    codes: NDArray[np.int64], numbers: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Give a column as a predictor: what is no number stands below all numbers, apart."""
    if numbers is None:
        return codes.astype(float)
    return np.where(np.isnan(numbers), -1e300 * (codes + 1.0), numbers)


def _write(model: ColumnModel, codes: NDArray[np.int64], numbers: Any) -> pl.Series:
    """Turn codes and numbers into values as the column stores them."""
    if numbers is not None and not model.column.is_numeric:
        return write_values(
            Values(None, labels(pl.Series(numbers, nan_to_null=True))), model.column
        )
    first = FIRST + (model.column.is_numeric and model.number is not None)
    texts = pl.Series(model.labels, dtype=pl.String)
    is_label = (codes != MISSING) & (codes >= first)
    if numbers is not None:
        is_label &= np.isnan(numbers)
    place = pl.Series(np.where(is_label, codes - first, 0)).set(pl.Series(~is_label), None)
    return write_values(Values(numbers, texts.gather(place)), model.column)
