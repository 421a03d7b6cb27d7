"""How the numbers of a column are coded: by the bin they lie in, or by the nearest point."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Column

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
WHOLE = ("integer", "duration", "time")


def _no_numbers() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins by their ends: open on the left and closed on the right, the first closed on both sides.

    Parameters
    ----------
    edges : array of float
        The ends; empty where there is no number. A single one is a bin of one number.
    heights : array of float
        The share of numbers at or below each edge, which gives the common scale.
    """

    edges: Floats = field(default_factory=_no_numbers)
    heights: Floats = field(default_factory=_no_numbers)

    @classmethod
    def declared(cls, column: Column, most: int, single: int = 0) -> Self:
        """Cut the declared bounds of a column into at most so many bins.

        In a column with a step, the smallest and the largest value and 0 have bins of their own;
        all have if there are at most ``single``, or no more of them than bins.
        """
        if not column.is_numeric or column.bounds is None:
            return cls()
        edges = _declared_edges(column, *column.bounds, most, max(single, most))
        return cls(edges, np.linspace(0, 1, len(edges)))

    def __len__(self) -> int:
        return 0 if not len(self.edges) else max(1, len(self.edges) - 1)

    def place(self, numbers: Floats, *, clip: bool = False) -> Places:
        """Find the bins of numbers; -1 is outside, unless what is outside counts as the end."""
        if not len(self):
            return np.full(len(numbers), -1)
        made = np.searchsorted(self.edges[1:-1], numbers, side="left")
        if not clip:
            made[(numbers < self.edges[0]) | (numbers > self.edges[-1])] = -1
        return made

    def draw(self, bins: Places, step: float | None, rng: np.random.Generator) -> Floats:
        """Draw numbers anywhere within their bins, at whole steps if there is one."""
        low = self.edges[bins]
        high = self.edges[np.minimum(bins + 1, len(self.edges) - 1)]
        share = rng.random(len(bins))
        if step is None:
            made, others = high - share * (high - low), [high]
        else:
            first = np.where(bins == 0, np.ceil(low / step - 1e-9), np.floor(low / step + 1e-9) + 1)
            last = np.maximum(np.floor(high / step + 1e-9), first)
            made = on_grid(first + np.floor(share * (last - first + 1)), step)
            others = [on_grid(first, step), on_grid(first - 1, step), high]
        for other in others:
            made = np.where(self.place(made) != bins, other, made)
        return made

    def scale(self, numbers: Floats) -> NDArray[np.float32]:
        """Put numbers on the common scale: their rank among the fitted rows, from 0 to 1."""
        if not len(self.edges):
            return np.full(len(numbers), np.nan, np.float32)
        made = np.interp(numbers, self.edges, self.heights).astype(np.float32)
        made[np.isnan(numbers)] = np.nan
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        return {"edges": self.edges}


@dataclass(frozen=True, eq=False)
class Points:
    """The numbers that each code stands for, and how often it shows each of them.

    Parameters
    ----------
    values : array of float
        Code after code, each code's in order.
    begin : array of int
        Where each code's values begin, and the end.
    weights : array of float
        How often each value is shown, relative to the others of its code.
    """

    values: Floats = field(default_factory=_no_numbers)
    begin: Places = field(default_factory=lambda: np.zeros(1, np.int64))
    weights: Floats = field(default_factory=_no_numbers)

    @classmethod
    def of(cls, parts: list[tuple[Floats, NDArray[Any]]]) -> Self:
        """Join the values and weights of each code."""
        begin = np.concatenate([[0], np.cumsum([len(values) for values, _ in parts])])
        return cls(
            np.concatenate([values for values, _ in parts]),
            begin.astype(np.int64),
            np.concatenate([weights for _, weights in parts]).astype(float),
        )

    def __len__(self) -> int:
        return len(self.begin) - 1

    @cached_property
    def code_of(self) -> Places:
        """The code of each value."""
        return np.repeat(np.arange(len(self)), np.diff(self.begin))

    def nearest(self, numbers: Floats) -> Places:
        """Find the nearest of the values; there must be one."""
        order = np.argsort(self.values, kind="stable")
        made: Places = order[nearest(self.values[order], numbers)]
        return made

    def place(self, numbers: Floats, *, clip: bool = False) -> Places:
        """Find the codes of the nearest values; -1 if there is none."""
        return self.code_of[self.nearest(numbers)] if len(self) else np.full(len(numbers), -1)

    def draw(self, codes: Places, step: float | None, rng: np.random.Generator) -> Floats:
        """Draw one of the values of each code."""
        until = np.concatenate([[0.0], np.cumsum(self.weights)])
        begin, end = self.begin[codes], self.begin[codes + 1]
        share = until[begin] + rng.random(len(codes)) * (until[end] - until[begin])
        place = np.clip(np.searchsorted(until, share, "right") - 1, begin, end - 1)
        drawn: Floats = self.values[place]
        return drawn

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        return {"numbers": self.values, "begin": self.begin, "weights": self.weights}


@dataclass(frozen=True)
class Grid:
    """The numbers that a column can be written as.

    ``exact`` says that numbers too large for their step are written as they are; otherwise
    several numbers of the table, whole ones beyond 2^53 such as, are one float here.
    """

    step: float | None
    decimals: int | None
    single: bool
    exact: bool

    @classmethod
    def of(cls, column: Column, *, single: bool) -> Self:
        """Take the step of a column; ``single``: it is kept in floats of 32 bits."""
        return cls(_written_step(column), column.decimals, single, column.stored == "float")

    def write(self, numbers: Floats) -> Floats:
        """Give the nearest numbers that can be written."""
        if self.step is not None and self.step < 1:
            numbers = np.round(numbers, self.decimals or 0)
        elif self.step is not None:
            numbers = on_grid(np.round(numbers / self.step), self.step)
        return numbers.astype(np.float32).astype(str).astype(float) if self.single else numbers

    def blurs(self, numbers: Floats) -> NDArray[np.bool_]:
        """Say which numbers may stand for several of the table."""
        if self.exact or self.step is None:
            return np.zeros(len(numbers), bool)
        return np.asarray(np.spacing(np.abs(numbers)) > self.step)

    def with_written(self, rare: Floats) -> Floats:
        """Give rare numbers in order, and what they are written as: 0.3 for 0.1 + 0.2."""
        written = self.write(rare)
        noise = np.abs(written - rare) <= 4 * np.spacing(np.abs(rare))
        return np.union1d(rare, written[noise])


def on_grid(whole: Floats, step: float) -> Floats:
    """Give the numbers that are so many steps from 0, as they are written."""
    return whole / round(1 / step) if step < 1 else whole * step


def equal_groups(counts: NDArray[np.int64], most: int) -> Places:
    """Join neighbouring codes to at most so many groups of about equal counts.

    Examples
    --------
    >>> equal_groups(np.array([5, 1, 1, 1, 8]), 2).tolist()
    [0, 0, 0, 0, 1]
    """
    middle = np.cumsum(counts) - counts / 2
    group = np.minimum(middle * most / max(counts.sum(), 1), most - 1).astype(np.int64)
    return np.unique(group, return_inverse=True)[1]


def nearest(among: Floats, values: Floats) -> Places:
    """Find the nearest of sorted values."""
    right = np.clip(np.searchsorted(among, values), 1, max(len(among) - 1, 1))
    right = np.minimum(right, len(among) - 1)
    left = np.maximum(right - 1, 0)
    nearer = values - among[left] <= among[right] - values
    return np.where(nearer, left, right)


def _written_step(column: Column) -> float | None:
    return max(column.step or 1.0, 1.0) if column.stored in WHOLE else column.step


def _declared_edges(column: Column, low: float, high: float, most: int, single: int) -> Floats:
    step = _written_step(column)
    if step is None and low < high:
        return np.linspace(low, high, most + 1)
    if step is None:
        return np.array([low, high])
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    if last <= first:
        return np.array([low, high])
    if last - first < single:
        ends = np.arange(first, last + 1)
    else:
        ends = np.unique(np.floor(np.linspace(first, last, max(most - 3, 1) + 1)))
        own = [first, last, last - 1]
        if first < 0 < last:
            own += [0.0, -1.0]
        ends = np.union1d(ends, own)
    return on_grid(np.concatenate([ends[:1], ends]), step)
