"""The network without epsilon: columns coded by what they may show, tables shrunk."""

import dataclasses
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.bins import Points
from understudy.data.codec import ColumnCodec
from understudy.data.schema import Values
from understudy.jobs.progress import Progress
from understudy.synthesizers.bayes.conditionals import (
    Codes,
    Conditional,
    Floats,
    ParentGroups,
    conditional,
    fit_conditional,
    merge_codes,
    parent_groups,
)
from understudy.synthesizers.bayes.structure import Structure, learn_structure

COMPARED = 8

Network = tuple[tuple[int, ...], list[Conditional | None]]


@dataclass
class ShownTable:
    """A table coded by what its columns may show."""

    codecs: list[ColumnCodec]
    codes: Codes
    counts: list[NDArray[np.float64]]
    bins: int

    @classmethod
    def of(cls, coded: Iterable[tuple[ColumnCodec, Codes]], bins: int) -> Self:
        """Take columns with their codes; each number is left to one code."""
        codecs, codes = zip(*(shown_once(*pair) for pair in coded), strict=True)
        counts = [
            np.bincount(own, minlength=codec.size + 1)[: codec.size].astype(float)
            for codec, own in zip(codecs, codes, strict=True)
        ]
        return cls(list(codecs), np.asfortranarray(np.column_stack(codes)), counts, bins)

    def random(self, kept: tuple[int, ...]) -> Network:
        """Draw every column evenly over what it may show."""
        models: list[Conditional | None] = []
        for place, codec in enumerate(self.codecs):
            self.codecs[place], model = spread_evenly(codec, self.bins)
            models.append(None if place in kept else model)
        return tuple(range(len(models))), models

    def network(
        self, kept: tuple[int, ...], degree: int, progress: Progress, workers: ThreadPoolExecutor
    ) -> Network:
        """Choose parents and fill the tables; degree 0 draws every column alone."""
        width = len(self.codecs)
        steps = width + 1
        found = Structure(tuple(range(width)), ((),) * width)
        if degree and width > 1:
            found = self._structure(kept, degree, workers)
        progress("filling tables", 1, steps)
        groups = [
            parent_groups(c, s.bins, self.bins)
            for c, s in zip(self.counts, self.codecs, strict=True)
        ]
        models: list[Conditional | None] = []
        for number, (place, parents) in enumerate(zip(found.order, found.parents, strict=True)):
            models.append(None if place in kept else self._table(place, parents, groups))
            progress("filling tables", number + 2, steps)
        return found.order, models

    def _structure(
        self, kept: tuple[int, ...], degree: int, workers: ThreadPoolExecutor
    ) -> Structure:
        coarse = []
        for counts, codec in zip(self.counts, self.codecs, strict=True):
            made = merge_codes(counts, codec.bins, (COMPARED,))[0]
            coarse.append(np.append(made, made.max() + 1).astype(np.uint8))
        columns = [groups[self.codes[:, place]] for place, groups in enumerate(coarse)]
        sizes = np.array([int(groups.max()) + 1 for groups in coarse], np.int64)
        codes = np.asfortranarray(np.column_stack(columns))
        return learn_structure(codes, sizes, kept, degree, workers)

    def _table(
        self, place: int, parents: tuple[int, ...], groups: Sequence[ParentGroups]
    ) -> Conditional:
        codec, own = self.codecs[place], self.codes[:, place]
        shown = own < codec.size
        if not shown.any():
            return conditional((), (), np.full((1, codec.size), 1 / codec.size))
        codes = self.codes if shown.all() else self.codes[shown]
        return fit_conditional(codes, own[shown], codec.size, codec.bins, parents, groups)


def shown_once(codec: ColumnCodec, codes: Codes) -> tuple[ColumnCodec, Codes]:
    """Leave each number to the code that shows it most; codes left with none are merged.

    Neighbouring bins may show the same rounded number. The chance of a value is then a sum over
    its codes; here it has one.
    """
    points = codec.numbers
    if not isinstance(points, Points):
        return codec, codes
    values, place = np.unique(points.values, return_inverse=True)
    if len(values) == len(points.values):
        return codec, codes
    of_code = points.code_of
    first = np.lexsort((of_code, -points.weights, place))
    first = first[np.unique(place[first], return_index=True)[1]]
    keeper = of_code[first]  # the code of each value
    kept = np.zeros(len(points.values), bool)
    kept[first] = True
    left = np.bincount(of_code[kept], minlength=len(points))
    moved = np.arange(len(points))
    for code in np.flatnonzero(left == 0):
        moved[code] = keeper[place[points.begin[code]]]
    weights = np.bincount(place, points.weights)[place[kept]]
    used = left > 0
    number = np.cumsum(used) - 1
    new = np.concatenate([number[moved], number[-1] + 1 + np.arange(len(codec.labels) + 1)])
    begin = np.concatenate([[0], np.cumsum(left[used])]).astype(np.int64)
    made = Points(points.values[kept], begin, weights.astype(float))
    return dataclasses.replace(codec, numbers=made), new[codes].astype(np.uint16)


def read_shown(codec: ColumnCodec, values: Values) -> tuple[Codes, Floats]:
    """Code values, and give the log of each one's chance among those of its code.

    What is never shown has the code that predictors know as such, and no chance.
    """
    codes, points = codec.encode(values), codec.numbers
    chances = (codes != codec.unseen).astype(float)
    if values.numbers is not None and isinstance(points, Points) and len(points):
        present = ~np.isnan(values.numbers)
        numbers = values.numbers[present]
        place = points.nearest(numbers)
        share = points.weights / np.bincount(points.code_of, points.weights)[points.code_of]
        same = np.abs(points.values[place] - numbers) <= 4 * np.spacing(np.abs(numbers))
        chances[present] = np.where(same, share[place], 0)
    with np.errstate(divide="ignore"):
        return codes, np.log(chances)


def spread_evenly(codec: ColumnCodec, bins: int) -> tuple[ColumnCodec, Conditional]:
    """Draw evenly over what a column may show: numbers together weigh as much as ``bins`` levels.

    A point stands for the way to its neighbours, a bin for its width. Missing values of a declared
    domain are drawn where the schema says that there are some.
    """
    parts, points = np.ones(codec.size), codec.numbers
    if codec.closed:
        parts[codec.missing] = codec.column.missing or codec.size == 1
    if isinstance(points, Points) and len(points):
        order = np.argsort(points.values, kind="stable")
        ends = points.values[order] / max(1.0, float(np.abs(points.values).max()))
        middle = np.concatenate([ends[:1], (ends[1:] + ends[:-1]) / 2, ends[-1:]])
        width = np.ones(1) if len(ends) == 1 else np.diff(middle)
        weights = np.empty(len(ends))
        weights[order] = width / width.sum()
        parts[: len(points)] = bins * np.bincount(points.code_of, weights)
        codec = dataclasses.replace(codec, numbers=dataclasses.replace(points, weights=weights))
    elif codec.bins:
        width = np.diff(codec.edges)
        width[0] = width[0] or (codec.column.step or 1.0)
        parts[: codec.bins] = bins * width / width.sum()
    return codec, conditional((), (), (parts / parts.sum())[None])
