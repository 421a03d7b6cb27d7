"""The emitted support: which values a synthetic column may show.

Every value is held by at least k training rows, or by none. A value of k rows or more stands for
itself. The other numbers are cut into bins, and a bin shows points between averages of k
neighbouring numbers, the k - 1 smallest and largest numbers left out. Whatever is held by fewer
than k rows (a rare level, an extreme, a unique number) is never shown.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import MOST_CODES, WHOLE, on_grid, write_values
from understudy.data.schema import Column, Schema, Values
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.synthesizers.model_file import Damaged, State, labels_in

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

    @property
    def shows_nothing(self) -> bool:
        """Whether there is nothing to show but missing values."""
        return not self.bins and self.labels == (None,)

    @classmethod
    def fit(
        cls, values: Values, column: Column, k: int, *, single: bool = False
    ) -> tuple[Self, NDArray[np.uint16]]:
        """Choose what may be shown, and code the values; gives both.

        With ``single``, the column is kept in floats of 32 bits.
        """
        numbers, begin, weights = np.empty(0), np.zeros(1, np.int64), np.empty(0)
        codes = np.full(len(values.labels), -1, np.int64)
        present = np.zeros(len(codes), bool)
        if values.numbers is not None:
            present = ~np.isnan(values.numbers)
            grid = Grid.of(column, single=single)
            numbers, begin, weights, codes[present] = _numbers(values.numbers[present], grid, k)
        texts = values.labels.filter(pl.Series(~present))
        counted = texts.alias("level").value_counts(sort=True)
        shown = [(text, count) for text, count in counted.iter_rows() if count >= k]
        shown.sort(key=lambda pair: (-pair[1], pair[0] is None, pair[0]))
        listed = [text for text, _ in shown[: MOST_CODES - len(begin)]]
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
    def of(cls, column: Column, shown: Any, state: State) -> Self:
        """Take what was saved; codes that show nothing are refused."""
        numbers = state.array("numbers", float, (None,))
        begin = state.array("begin", np.int64, (None,), 0, len(numbers), step=1)
        weights = state.array("weights", float, (len(numbers),), 0)
        made = cls(column, numbers, begin, weights, labels_in(shown))
        if not len(begin) or begin[0] != 0 or begin[-1] != len(numbers):
            raise Damaged(f"the numbers of the column '{column.name}' are no parts of a whole")
        if not 0 < made.size <= MOST_CODES or (made.bins and not column.is_numeric):
            raise Damaged(f"the column '{column.name}' shows nothing, or too much")
        return made


def refuse_rules(schema: Schema, method: str) -> None:
    """Refuse the rules of a schema, which these methods cannot hold."""
    if schema.rules:
        raise OptionError(
            f"{method} cannot hold the rules of a schema",
            hint="use the method sequential, or a schema without rules",
        )


def refuse_few(table: Table, method: str, **least: int) -> None:
    """Refuse a table too small to show anything.

    The one keyword is the option that says how many rows must hold a value that is shown.
    """
    ((option, rows),) = least.items()
    if table.height < rows:
        raise DataError(
            f"{table.name}: fewer than {rows} rows, and every value that is shown must be held by "
            f"{rows}",
            hint=f"give more rows, or a smaller {option} (-o {method}.{option}=1)",
        )


def shown_schema(schema: Schema, shown: Iterable[Column]) -> Schema:
    """Give the schema of columns as they are shown; those left out tell no level and no bound."""
    none: dict[str, Any] = {"levels": (), "bounds": None, "why": ""}
    columns = {c.name: dataclasses.replace(c, **none) for c in schema.left_out}
    columns |= {column.name: column for column in shown}
    return dataclasses.replace(schema, columns=tuple(columns[c.name] for c in schema))


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
        step = column.step
        if column.stored in WHOLE:
            step = max(step or 1.0, 1.0)
        return cls(step, column.decimals, single, column.stored == "float")

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


def _numbers(
    numbers: Floats, grid: Grid, k: int
) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Choose what numbers are shown: the values, where codes begin, weights; and code them."""
    values, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    held = counts >= k
    if k > 1:
        held &= ~grid.blurs(values)
    if len(values) <= FEW_VALUES and counts[~held].sum() <= 0.05 * len(numbers):
        own = held
    else:
        own = held & _stand_out(counts)
    loose = np.flatnonzero(~own)
    bins = _bins(counts[loose], k)
    if not len(bins):
        return _own(values, own, counts, place)
    points = _points(values[loose], counts[loose], bins, held[loose], grid, k)
    if not points:
        return _own(values, own, counts, place)
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


def _stand_out(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Find values that have a code of their own: frequent, or far more so than their neighbours."""
    rows = counts.sum()
    padded = np.pad(counts, 5, mode="reflect" if len(counts) > 5 else "edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, 11)
    usual = np.median(np.delete(around, 5, axis=1), axis=1)
    often = counts >= rows / 200
    peak = (counts >= rows / 1000) & (counts >= 3 * usual)
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
    held: NDArray[np.bool_],
    grid: Grid,
    k: int,
) -> list[tuple[Floats, Floats]]:
    """Give for each bin the values it shows and their weights."""
    few = ~held
    rare = as_written(values[few], grid)
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
        return allowed[_nearest(allowed, np.array([values.mean()]))], np.ones(1)
    kept, where = np.unique(shown, return_inverse=True)
    return kept, np.bincount(where, weights).astype(float)


def _averages(numbers: Floats, k: int) -> Floats:
    """Average k neighbouring numbers; summed anew each time, so that none is blurred by others."""
    many = len(numbers) - k + 1
    if many < 1:
        return np.empty(0)
    made: Floats = sum((numbers[i : i + many] / k for i in range(k)), np.zeros(many))
    return np.clip(made, numbers[:many], numbers[k - 1 :])


def as_written(rare: Floats, grid: Grid) -> Floats:
    """Give rare numbers in order, and what they are written as: 0.3 for 0.1 + 0.2."""
    written = grid.write(rare)
    noise = np.abs(written - rare) <= 4 * np.spacing(np.abs(rare))
    return np.union1d(rare, written[noise])


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


def _nearest(among: Floats, values: Floats) -> NDArray[np.int64]:
    """Find the nearest of sorted values."""
    right = np.clip(np.searchsorted(among, values), 1, max(len(among) - 1, 1))
    right = np.minimum(right, len(among) - 1)
    left = np.maximum(right - 1, 0)
    nearer = values - among[left] <= among[right] - values
    return np.where(nearer, left, right)
