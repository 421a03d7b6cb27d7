"""The emitted support: which values a synthetic column may show.

Every value is held by at least k training rows, or by none. A value of k rows or more stands for
itself. The other numbers are cut into bins, and a bin shows points between averages of k
neighbouring numbers, the k - 1 smallest and largest numbers left out. Whatever is held by fewer
than k rows (a rare level, an extreme, a unique number) is never shown.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.coding import on_grid, write_values
from understudy.schema import Column, Values

FEW_VALUES = 100
BINS = 100
ROWS_A_BIN = 20
POINTS_A_BIN = 100

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Support:
    """What the codes of a column may show.

    Parameters
    ----------
    column : Column
    numbers : array of float
        Values of the number codes, code after code, each code's in order.
    begin : array of int
        Where each number code's values begin, and the end.
    weights : array of float
        How often each number is shown, relative to the others of its code.
    labels : tuple of str or None
        The codes after the numbers: levels and words; None is a missing value.
    """

    column: Column
    numbers: Floats = field(default_factory=lambda: np.empty(0))
    begin: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    weights: Floats = field(default_factory=lambda: np.empty(0))
    labels: tuple[str | None, ...] = (None,)

    @property
    def bins(self) -> int:
        """The number of codes that show numbers."""
        return len(self.begin) - 1

    @property
    def size(self) -> int:
        """The number of codes; this number itself codes what is never shown."""
        return self.bins + len(self.labels)

    @classmethod
    def fit(cls, values: Values, column: Column, k: int) -> tuple[Self, NDArray[np.uint16]]:
        """Choose what may be shown, and code the values; gives both."""
        numbers, begin, weights = np.empty(0), np.zeros(1, np.int64), np.empty(0)
        codes = np.full(len(values.labels), -1, np.int64)
        present = np.zeros(len(codes), bool)
        if values.numbers is not None:
            present = ~np.isnan(values.numbers)
            numbers, begin, weights, codes[present] = _numbers(values.numbers[present], column, k)
        texts = values.labels.filter(pl.Series(~present))
        counted = texts.value_counts(sort=True)
        shown = [(text, count) for text, count in counted.iter_rows() if count >= k]
        shown.sort(key=lambda pair: (-pair[1], pair[0] is None, pair[0]))
        listed = [text for text, _ in shown]
        if not listed and len(begin) == 1:
            listed = [None]
        made = cls(column, numbers, begin, weights, tuple(listed))
        codes[~present] = made._look_up(texts)
        codes[codes < 0] = made.size
        return made, codes.astype(np.uint16)

    def encode(self, values: Values) -> NDArray[np.uint16]:
        """Code values by what they are nearest to."""
        codes = self._look_up(values.labels)
        if values.numbers is not None:
            present = ~np.isnan(values.numbers)
            if not self.bins:
                codes[present] = self.size
            else:
                codes[present] = self._nearest(values.numbers[present])
        codes[codes < 0] = self.size
        return codes.astype(np.uint16)

    def _look_up(self, texts: pl.Series) -> NDArray[np.int64]:
        words = [text for text in self.labels if text is not None]
        places = [self.bins + i for i, text in enumerate(self.labels) if text is not None]
        found = texts.replace_strict(
            pl.Series(words, dtype=pl.String),
            pl.Series(places, dtype=pl.Int64),
            default=pl.lit(-1, dtype=pl.Int64),
            return_dtype=pl.Int64,
        )
        made: NDArray[np.int64] = found.fill_null(-1).to_numpy().copy()
        missing = self.bins + self.labels.index(None) if None in self.labels else -1
        made[texts.is_null().to_numpy()] = missing
        return made

    def _nearest(self, numbers: Floats) -> NDArray[np.int64]:
        order = np.argsort(self.numbers, kind="stable")
        place = _nearest(self.numbers[order], numbers)
        of_code = np.repeat(np.arange(self.bins), np.diff(self.begin))
        return of_code[order][place]

    def decode(self, codes: NDArray[np.uint16], rng: np.random.Generator) -> pl.Series:
        """Turn codes into values."""
        is_label = codes >= self.bins
        texts = pl.Series(self.labels, dtype=pl.String)
        place = pl.Series(np.where(is_label, codes.astype(np.int64) - self.bins, 0))
        words = texts.gather(place.set(pl.Series(~is_label), None))
        numbers = None
        if self.column.is_numeric:
            numbers = np.full(len(codes), np.nan)
            numbers[~is_label] = self._draw(codes[~is_label].astype(np.int64), rng)
        return write_values(Values(numbers, words), self.column)

    def _draw(self, codes: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        until = np.concatenate([[0.0], np.cumsum(self.weights)])
        low, high = until[self.begin[codes]], until[self.begin[codes + 1]]
        place = np.searchsorted(until, low + rng.random(len(codes)) * (high - low), "right") - 1
        place = np.clip(place, self.begin[codes], self.begin[codes + 1] - 1)
        drawn: Floats = self.numbers[place]
        return drawn

    def column_shown(self) -> Column:
        """Describe the column as it is shown."""
        facts: dict[str, Any] = {
            "levels": tuple(text for text in self.labels if text is not None),
            "bounds": None,
            "missing": None in self.labels,
            "why": "",
        }
        if self.column.bounds is not None and self.bins:
            facts["bounds"] = (float(self.numbers.min()), float(self.numbers.max()))
        return dataclasses.replace(self.column, **facts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved, but the labels."""
        return {"numbers": self.numbers, "begin": self.begin, "weights": self.weights}

    @classmethod
    def of(
        cls, column: Column, labels: tuple[str | None, ...], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Take what was saved."""
        return cls(column, arrays["numbers"], arrays["begin"], arrays["weights"], labels)


def _numbers(
    numbers: Floats, column: Column, k: int
) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Choose what numbers are shown: the values, where codes begin, weights; and code them."""
    values, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    held = counts >= k
    if len(values) <= FEW_VALUES and counts[~held].sum() <= 0.05 * len(numbers):
        own = held
    else:
        own = _stand_out(counts, k)
    loose = np.flatnonzero(~own)
    bins = _bins(counts[loose], k)
    if not len(bins):
        return _own(values, own, counts, place)
    points = _points(values[loose], counts[loose], bins, column, k, values[~held])
    if not points:
        return _own(values, own, counts, place)
    parts = [(values[i : i + 1], np.ones(1), float(values[i])) for i in np.flatnonzero(own)]
    middles = np.bincount(bins, values[loose] * counts[loose]) / np.bincount(bins, counts[loose])
    parts += [(*made, middle) for made, middle in zip(points, middles, strict=True)]
    order = np.argsort([middle for _, _, middle in parts], kind="stable")
    rank = np.empty(len(parts), np.int64)
    rank[order] = np.arange(len(parts))
    code_of = np.empty(len(values), np.int64)
    code_of[own] = rank[: own.sum()]
    code_of[loose] = rank[own.sum() + bins]
    shown = [parts[i] for i in order]
    begin = np.concatenate([[0], np.cumsum([len(part[0]) for part in shown])])
    return (
        np.concatenate([part[0] for part in shown]),
        begin.astype(np.int64),
        np.concatenate([part[1] for part in shown]),
        code_of[place],
    )


def _own(
    values: Floats,
    own: NDArray[np.bool_],
    counts: NDArray[np.int64],
    place: NDArray[np.int64],
) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Show only values that have a code of their own; the others are coded as the nearest."""
    if not own.any():
        return np.empty(0), np.zeros(1, np.int64), np.empty(0), np.full(len(place), -1)
    code_of = _nearest(values[own], values)
    weights = np.bincount(code_of, counts).astype(float)
    return values[own], np.arange(own.sum() + 1), weights, code_of[place]


def _stand_out(counts: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Find values that have a code of their own: frequent, or far more so than their neighbours."""
    rows = counts.sum()
    padded = np.pad(counts, 5, mode="reflect" if len(counts) > 5 else "edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, 11)
    usual = np.median(np.delete(around, 5, axis=1), axis=1)
    often = counts >= max(k, rows / 200)
    peak = (counts >= max(k, rows / 1000)) & (counts >= 3 * usual)
    made: NDArray[np.bool_] = often | peak
    return made


def _bins(counts: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Cut sorted values into bins of about equal counts; empty where there are too few rows."""
    rows = int(counts.sum())
    many = min(BINS, rows // max(ROWS_A_BIN, 3 * k))
    if many < 1:
        return np.empty(0, np.int64)
    middle = np.cumsum(counts) - counts / 2
    return np.unique((middle * many / rows).astype(np.int64), return_inverse=True)[1]


def _points(
    values: Floats,
    counts: NDArray[np.int64],
    bins: NDArray[np.int64],
    column: Column,
    k: int,
    rare: Floats,
) -> list[tuple[Floats, Floats]]:
    """Give for each bin the values it shows and their weights."""
    few = counts < k
    single = np.repeat(values[few], counts[few])
    inner = single[k - 1 : len(single) - k + 1]
    sums = np.concatenate([[0.0], np.cumsum(inner)])
    averages = (sums[k:] - sums[:-k]) / k if len(inner) >= k else np.empty(0)
    ends = np.concatenate([[0], np.cumsum(np.bincount(bins, np.where(few, counts, 0)))])
    starts = np.searchsorted(bins, np.arange(bins[-1] + 2))
    made: list[tuple[Floats, Floats]] = []
    for number in range(int(bins[-1]) + 1):
        here = slice(starts[number], starts[number + 1])
        whole = ~few[here]
        shown, weights = values[here][whole], counts[here][whole].astype(float)
        first, last = ends[number], ends[number + 1]
        if last > first and len(averages):
            many = int(min(POINTS_A_BIN, last - first))
            rank = first + (np.arange(many) + 0.5) * (last - first) / many - 0.5
            rank = np.clip(rank - (k - 1) - (k - 1) / 2, 0, len(averages) - 1)
            points = np.interp(rank, np.arange(len(averages)), averages)
            points = _free(points, column.step, rare, averages[0], averages[-1])
            shown = np.concatenate([shown, points])
            weights = np.concatenate([weights, np.full(len(points), (last - first) / many)])
        made.append((shown, weights))
    allowed = np.unique(np.concatenate([shown for shown, _ in made]))
    if not len(allowed):
        return []
    return [_tidy(*pair, allowed, values[starts[i] : starts[i + 1]]) for i, pair in enumerate(made)]


def _tidy(shown: Floats, weights: Floats, allowed: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Sort and merge; a bin left with nothing to show shows what is nearest to it."""
    if not len(shown):
        return allowed[_nearest(allowed, np.array([values.mean()]))], np.ones(1)
    kept, where = np.unique(shown, return_inverse=True)
    return kept, np.bincount(where, weights).astype(float)


def _free(points: Floats, step: float | None, rare: Floats, low: float, high: float) -> Floats:
    """Move points off the values that fewer than k rows hold; drop those that cannot be moved."""
    if step is not None:
        points = on_grid(np.round(points / step), step)
    kept = np.isin(points, rare, invert=True)
    made = points.copy()
    for away in range(1, 25):
        if kept.all():
            break
        for sign in (1, -1):
            if step is None:
                tried = points + sign * away * 1e-3 * (high - low) / max(len(rare), 1)
            else:
                tried = on_grid(np.round(points / step) + sign * away, step)
            good = ~kept & np.isin(tried, rare, invert=True) & (tried >= low) & (tried <= high)
            made[good] = tried[good]
            kept |= good
    return made[kept & (made >= low) & (made <= high)] if step is not None else made[kept]


def _nearest(among: Floats, values: Floats) -> NDArray[np.int64]:
    """Find the nearest of sorted values."""
    right = np.clip(np.searchsorted(among, values), 1, max(len(among) - 1, 1))
    right = np.minimum(right, len(among) - 1)
    left = np.maximum(right - 1, 0)
    nearer = values - among[left] <= among[right] - values
    return np.where(nearer, left, right)
