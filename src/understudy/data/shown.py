"""Which values a synthetic column may show.

Every value is held by at least k training rows, or by none. A value of k rows or more stands for
itself. The other numbers are cut into bins, and a bin shows points between averages of k
neighbouring numbers, the k - 1 smallest and largest numbers left out. Whatever is held by fewer
than k rows (a rare level, an extreme, a unique number) is never shown. Rare levels of a column that
has a level for the rest (``other``) become that one, where they are held by k rows together.

By the window rule, a weaker promise, a number is shown if at least k rows lie within one unit of
its last digit: one that a single row holds can be shown where its neighbours are held by others.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.bins import Floats, Grid, Places, Points, equal_groups, nearest
from understudy.data.codec import MOST_CODES, ColumnCodec
from understudy.data.schema import Column, Values

FEW_VALUES = 100
BINS = 100
ROWS_A_BIN = 20
POINTS_A_BIN = 100
FINE_BINS, ROWS_A_FINE_BIN = 250, 2


def shown_codec(
    values: Values,
    column: Column,
    k: int,
    *,
    single: bool = False,
    fine: bool = False,
    window: bool = False,
) -> tuple[ColumnCodec, NDArray[np.uint16]]:
    """Choose what a column may show, and code its values; gives both.

    With ``single``, the column is kept in floats of 32 bits; with ``fine``, numbers have as many
    codes as a small table allows; with ``window``, the window rule holds for numbers that have a
    step. What is never shown has the code ``size``.
    """
    points, codes = Points(), np.full(len(values.labels), -1, np.int64)
    present = np.zeros(len(codes), bool)
    if values.numbers is not None:
        present = ~np.isnan(values.numbers)
        grid = Grid.of(column, single=single)
        points, codes[present] = _points(values.numbers[present], grid, k, fine=fine, window=window)
    texts = values.labels.filter(pl.Series(~present))
    counted = texts.alias("level").value_counts(sort=True)
    held = [(text, count) for text, count in counted.iter_rows() if count >= k]
    rest = rare_texts(texts, column, k)
    if rest is not None:
        return shown_codec(Values(values.numbers, rest), column, k, single=single)
    held.sort(key=lambda pair: (-pair[1], pair[0] is None, pair[0]))
    labels = tuple(text for text, _ in held[: MOST_CODES - len(points) - 1])
    if not labels and not len(points):
        labels = (None,)
    made = ColumnCodec(column, points, labels, first=0)
    codes[~present] = made.encode(Values(None, texts))
    codes[codes < 0] = made.unseen
    return made, codes.astype(np.uint16)


def rare_texts(texts: pl.Series, column: Column, k: int) -> pl.Series | None:
    """Put the level for the rest in the place of rare ones; none if there is nothing to put."""
    if column.rest is None or column.kind != "category":
        return None
    counts = texts.alias("level").value_counts()
    rare = counts.filter((pl.col("count") < k) & pl.col("level").is_not_null())
    gone = rare.filter(pl.col("level") != column.rest)
    if gone.is_empty() or rare["count"].sum() < k:
        return None
    return texts.replace(gone["level"], pl.Series([column.rest] * gone.height))


def _points(
    numbers: Floats, grid: Grid, k: int, *, fine: bool, window: bool
) -> tuple[Points, Places]:
    """Choose the numbers that are shown, and code those of the column."""
    values, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    held = (_within(values, counts, grid.step) if window and grid.step else counts) >= k
    if k > 1:
        held &= ~grid.blurs(values)
    if len(values) <= FEW_VALUES and counts[~held].sum() <= 0.05 * len(numbers):
        own = held
    else:
        own = held & _stand_out(counts)
    loose = np.flatnonzero(~own)
    bins = _bins(counts[loose], k, fine=fine)
    points = []
    if len(bins):
        points = _points_in_bins(values[loose], counts[loose], bins, held[loose], grid, k)
    if not points:
        return _own_values(values, own, counts, place)
    parts = [(values[i : i + 1], np.ones(1), float(values[i])) for i in np.flatnonzero(own)]
    share = counts[loose] / len(numbers)
    middles = np.bincount(bins, values[loose] * share) / np.bincount(bins, share)
    parts += [(*made, middle) for made, middle in zip(points, middles, strict=True)]
    order = np.argsort([middle for _, _, middle in parts], kind="stable")
    rank = np.empty(len(parts), np.int64)
    rank[order] = np.arange(len(parts))
    code_of = np.empty(len(values), np.int64)
    code_of[own] = rank[: own.sum()]
    code_of[loose] = rank[own.sum() + bins]
    return Points.of([parts[i][:2] for i in order]), code_of[place]


def _within(values: Floats, counts: Places, step: float) -> Places:
    """Count the rows that lie within one unit of the last digit of each value."""
    until = np.concatenate([[0], np.cumsum(counts)])
    reach = step * (1 + 1e-6)
    first = np.searchsorted(values, values - reach, side="left")
    last = np.searchsorted(values, values + reach, side="right")
    return np.asarray(until[last] - until[first])


def _own_values(
    values: Floats, own: NDArray[np.bool_], counts: Places, place: Places
) -> tuple[Points, Places]:
    """Show only values that have a code of their own; the others are coded as the nearest."""
    if not own.any():
        return Points(), np.full(len(place), -1)
    code_of = nearest(values[own], values)
    weights = np.bincount(code_of, counts).astype(float)
    return Points(values[own], np.arange(own.sum() + 1), weights), code_of[place]


def _stand_out(counts: Places) -> NDArray[np.bool_]:
    """Find values that have a code of their own: frequent, or far more so than their neighbours."""
    rows = counts.sum()
    padded = np.pad(counts, 5, mode="reflect" if len(counts) > 5 else "edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, 11)
    usual = np.median(np.delete(around, 5, axis=1), axis=1)
    often = counts >= rows / 200
    peak = (counts >= rows / 1000) & (counts >= 3 * usual)
    made: NDArray[np.bool_] = often | peak
    return made


def _bins(counts: Places, k: int, *, fine: bool) -> Places:
    """Cut sorted values into bins of about equal counts; empty where there are too few rows."""
    rows = int(counts.sum())
    many = min(BINS, rows // max(ROWS_A_BIN, 3 * k))
    if fine and many:
        many = min(FINE_BINS, rows // ROWS_A_FINE_BIN)
    many = max(many, int(k > 1 and rows >= 3 * k))  # one bin at least, or the column is lost
    return equal_groups(counts, many) if many else np.empty(0, np.int64)


def _points_in_bins(
    values: Floats,
    counts: Places,
    bins: Places,
    held: NDArray[np.bool_],
    grid: Grid,
    k: int,
) -> list[tuple[Floats, Floats]]:
    """Give for each bin the values it shows and their weights."""
    few = ~held
    rare = grid.with_written(values[few])
    single = np.repeat(values[few], counts[few])
    averages = _averages(single[k - 1 : len(single) - k + 1], k)
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
            points = _free(points, grid, rare, averages[0], averages[-1])
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
        return allowed[nearest(allowed, np.array([values.mean()]))], np.ones(1)
    kept, where = np.unique(shown, return_inverse=True)
    return kept, np.bincount(where, weights).astype(float)


def _averages(numbers: Floats, k: int) -> Floats:
    """Average k neighbouring numbers; summed anew each time, so that none is blurred by others."""
    many = len(numbers) - k + 1
    if many < 1:
        return np.empty(0)
    made: Floats = sum((numbers[i : i + many] / k for i in range(k)), np.zeros(many))
    return np.clip(made, numbers[:many], numbers[k - 1 :])


def _free(points: Floats, grid: Grid, rare: Floats, low: float, high: float) -> Floats:
    """Move points off the values that fewer than k rows hold; drop those that cannot be moved."""
    stride = grid.step or 1e-3 * (high - low) / len(rare)
    made = grid.write(points)
    kept = ~_among(made, rare)
    start = made.copy()
    for away in range(1, 25):
        if kept.all():
            break
        for sign in (1, -1):
            tried = grid.write(start + sign * away * stride)
            good = ~kept & ~_among(tried, rare) & (tried >= low) & (tried <= high)
            made[good] = tried[good]
            kept |= good
    return made[kept & (made >= low) & (made <= high)]


def _among(numbers: Floats, rare: Floats) -> NDArray[np.bool_]:
    """Say which numbers are among others, which are in order and not none."""
    place = np.minimum(np.searchsorted(rare, numbers), len(rare) - 1)
    return np.asarray(rare[place] == numbers)
