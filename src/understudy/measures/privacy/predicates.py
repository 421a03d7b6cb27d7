"""Predicates that hold for exactly one synthetic record, made from the synthetic table alone.

A predicate allows a range of codes in each of a few columns: one value, or all numbers that are
at least (at most) as large as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.measures.privacy.places import Ints

if TYPE_CHECKING:
    from understudy.kernels.boxes import Index

AT_ONCE = 100_000


@dataclass(frozen=True)
class Predicates:
    """Ranges of codes, of shape (predicates, columns), and how they were looked for."""

    columns: Ints
    low: Ints
    high: Ints
    how: str

    @classmethod
    def isolating(cls, index: "Index", boxes: tuple[Ints, Ints, Ints], how: str) -> "Predicates":
        """Keep those that hold for exactly one record, each of them once."""
        from understudy.kernels.boxes import box_members

        columns, low, high = boxes
        counts, _ = box_members(index, columns, low, high, most=1, list_them=False)
        kept = [part[counts == 1] for part in boxes]
        _, first = np.unique(np.hstack(kept), axis=0, return_index=True)
        first.sort()
        return cls(kept[0][first], kept[1][first], kept[2][first], how)

    def some(self, wanted: int, rng: np.random.Generator) -> "Predicates":
        """Draw so many of them, or take them all."""
        if len(self.columns) <= wanted:
            return self
        drawn = rng.permutation(len(self.columns))[:wanted]
        return Predicates(self.columns[drawn], self.low[drawn], self.high[drawn], self.how)


def univariate(
    index: "Index", varied: Ints, ends: Sequence[int], wanted: int, rng: np.random.Generator
) -> Predicates:
    """Look at all values that one record holds, and beyond the smallest and largest number.

    Parameters
    ----------
    index : Index
        The distinct synthetic records.
    varied : array of int
        The columns that vary.
    ends : sequence of int
        The last code that stands for a number, for each column; 0 for a category.
    """
    columns: list[int] = []
    low: list[int] = []
    high: list[int] = []
    for column in varied.tolist():
        held = np.diff(index.starts[column])
        alone = np.flatnonzero(held == 1)
        numbers = np.flatnonzero(held[1 : ends[column] + 1]) + 1
        low += [*alone, *([1, numbers[-1]] if len(numbers) else [])]
        high += [*alone, *([numbers[0], ends[column]] if len(numbers) else [])]
        columns += [column] * (len(low) - len(columns))
    boxes = tuple(np.array(part, np.int64)[:, None] for part in (columns, low, high))
    every = "all values were looked at"
    return Predicates.isolating(index, (boxes[0], boxes[1], boxes[2]), every).some(wanted, rng)


def multivariate(
    index: "Index",
    varied: Ints,
    ends: Sequence[int],
    width: int,
    wanted: int,
    attempts: int,
    rng: np.random.Generator,
) -> Predicates:
    """Take several columns of a record: all ways where they are few, else drawn at random.

    A number above the median of its column asks for numbers as large, one below for as small;
    categories, words and missing values ask for the same.
    """
    records = index.codes.shape[1]
    medians = [_median(index, column, end) for column, end in enumerate(ends)]
    last = np.array(ends)
    if comb(len(varied), width) * records <= attempts:
        subsets = np.array(list(combinations(varied.tolist(), width)))
        columns = np.repeat(subsets, records, axis=0)
        rows = np.tile(np.arange(records), len(subsets))
        boxes = _around(index, columns, rows, last, np.array(medians))
        every = "all records and sets of columns were tried"
        return Predicates.isolating(index, boxes, every).some(wanted, rng)
    tried, batch = 0, min(2 * wanted, AT_ONCE)
    found: list[NDArray[np.int64]] = []
    while tried < attempts:
        batch = min(batch, attempts - tried)
        rows = rng.integers(0, records, batch)
        columns = varied[rng.random((batch, len(varied))).argpartition(width - 1, axis=1)]
        boxes = _around(index, np.sort(columns[:, :width], axis=1), rows, last, np.array(medians))
        found.append(np.stack(boxes, axis=1))
        tried += batch
        pooled = np.concatenate(found)
        made = Predicates.isolating(
            index, (pooled[:, 0], pooled[:, 1], pooled[:, 2]), f"{tried:,} were tried"
        )
        if len(made.columns) >= wanted:
            break
        found = [np.stack([made.columns, made.low, made.high], axis=1)]
        batch = min(2 * batch, AT_ONCE)
    return made.some(wanted, rng)


def _median(index: "Index", column: int, end: int) -> int:
    """Give the code of the middle number of a column, 0 where there is none."""
    held = np.cumsum(np.diff(index.starts[column])[1 : end + 1])
    return 0 if not end or not held[-1] else int(np.searchsorted(held, held[-1] / 2)) + 1


def _around(
    index: "Index", columns: Ints, rows: Ints, last: Ints, medians: Ints
) -> tuple[Ints, Ints, Ints]:
    codes = index.codes[columns, rows[:, None]].astype(np.int64)
    end = last[columns]
    is_number = (codes > 0) & (codes <= end)
    above = is_number & (codes > medians[columns])
    below = is_number & ~above
    return columns, np.where(below, 1, codes), np.where(above, end, codes)
