"""How strongly each pair of columns is associated, from one table of sums.

Rows become a matrix: a column of zeros and ones for each level, and for each number whether it is
there, its score (rank or value) and the score squared. The matrix times itself holds every count
and sum that correlations, correlation ratios and Cramér's V need, each over the rows where both
columns have a value. Weights on rows redraw a table without copying it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MISSING
from understudy.judging.comparison import Comparison, Which
from understudy.measures.pictures import K

Matrix = NDArray[np.floating]
AT_ONCE = 4096
TINY = 1e-12


@dataclass(frozen=True)
class Rows:
    """The rows of a table: for numbers the place among the distinct ones, for categories the level.

    Parameters
    ----------
    places : array of shape (rows, numbers)
        Where the number stands among ``values``; -1 where it is missing.
    values : list of arrays
        The distinct values of each number, in order.
    levels : array of shape (rows, categories)
        The number of the level, counted over all categories; -1 where it is missing.
    starts : array of int
        The first level of each category, and at last the number of levels.
    """

    places: NDArray[np.int32]
    values: list[Matrix]
    levels: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        return int(self.starts[-1]) + 3 * len(self.values)


def rows_of(
    comparison: Comparison, numbers: list[str], categories: list[str], most: int
) -> dict[Which, Rows]:
    """Read all tables; the ``most`` frequent levels of training are told apart."""
    codec = comparison.codec(bins=1, levels=most)
    codes = {t: comparison.codes(t, codec) for t in comparison.tables}
    levels: dict[Which, list[NDArray[np.int32]]] = {t: [] for t in codes}
    starts = [0]
    for name in categories:
        position = codec.names.index(name)
        used = np.unique(np.concatenate([np.unique(c[:, position]) for c in codes.values()]))
        used = used[used != MISSING]
        number = np.full(codec.columns[position].size, -1, np.int32)
        number[used] = starts[-1] + np.arange(len(used))
        starts.append(starts[-1] + max(len(used), 1))
        for table, coded in codes.items():
            levels[table].append(number[coded[:, position]])
    made = {}
    for table in comparison.tables:
        height, values = comparison.height(table), []
        places = np.empty((height, len(numbers)), np.int32, order="F")
        for j, name in enumerate(numbers):
            column = comparison.source(table).numbers(name)
            gone = np.isnan(column)
            distinct, where = np.unique(np.where(gone, np.inf, column), return_inverse=True)
            values.append(distinct[np.isfinite(distinct)])
            places[:, j] = np.where(gone, -1, where)
        own = np.column_stack(levels[table]) if categories else np.empty((height, 0), np.int32)
        made[table] = Rows(places, values, own, np.array(starts))
    return made


def associations(rows: Rows, weights: Matrix | None = None, *, ranks: bool = True) -> Matrix:
    """Give the association of every pair, numbers first; nan where there is none to speak of.

    Numbers: Pearson's correlation of ranks (Spearman's) or of values. Number and category: the
    correlation ratio, shrunk by Kelley's ε². Categories: Cramér's V with Bergsma's correction.
    Fewer than five rows with both values, or a column that does not vary there, give nan.
    """
    sums = _sums(rows, weights, ranks)
    levels, numbers = int(rows.starts[-1]), len(rows.values)
    z, there, score, squared = (
        slice(begin, begin + size)
        for begin, size in (
            (0, levels),
            (levels, numbers),
            (levels + numbers, numbers),
            (levels + 2 * numbers, numbers),
        )
    )
    starts = rows.starts[:-1]
    wide = numbers + len(starts)
    made = np.full((wide, wide), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        made[:numbers, :numbers] = _correlation(
            sums[there, there], sums[score, there], sums[squared, there], sums[score, score]
        )
        if len(starts) and numbers:
            ratio = _ratio(sums[z, there], sums[z, score], sums[z, squared], starts)
            made[numbers:, :numbers], made[:numbers, numbers:] = ratio, ratio.T
        if len(starts):
            made[numbers:, numbers:] = _cramer(sums[z, z], rows.starts)
    np.fill_diagonal(made, np.nan)
    return made


def _sums(rows: Rows, weights: Matrix | None, ranks: bool) -> Matrix:
    """Multiply the matrix of the rows with itself, some rows at a time."""
    height, numbers = rows.places.shape
    scores = [_scores(rows, j, weights, ranks) for j in range(numbers)]
    chosen = np.arange(height) if weights is None else np.flatnonzero(weights)
    kind = np.float64 if weights is None else np.float32
    roots = np.ones(height, kind) if weights is None else np.sqrt(weights).astype(kind)
    levels, width = int(rows.starts[-1]), rows.width
    total = np.zeros((width, width), kind)
    for begin in range(0, len(chosen), AT_ONCE):
        some = chosen[begin : begin + AT_ONCE]
        root = roots[some]
        block = np.zeros((width + 1, len(some)), kind)  # the last line takes what is missing
        block[rows.levels[some].T, np.arange(len(some))] = root
        for j, score in enumerate(scores):
            place = rows.places[some, j]
            own = score.astype(kind)[place]
            block[levels + j] = np.where(place >= 0, root, 0)
            block[levels + numbers + j] = own * root
            block[levels + 2 * numbers + j] = own * own * root
        part = block[:width]
        total += part @ part.T
    return total


def _scores(rows: Rows, j: int, weights: Matrix | None, ranks: bool) -> Matrix:
    """Give the score of each distinct value, about 0 and of size 1; a last 0 is for missing."""
    places, values = rows.places[:, j], rows.values[j]
    there = places >= 0
    times = np.bincount(
        places[there], None if weights is None else weights[there], minlength=len(values)
    ).astype(float)
    many = max(times.sum(), 1.0)
    score = (np.cumsum(times) - times / 2) / many - 0.5 if ranks else values
    middle = float(times @ score) / many
    spread = float(np.sqrt(times @ (score - middle) ** 2 / many))
    return np.append((score - middle) / (spread or 1.0), 0.0)


def _correlation(many: Matrix, sums: Matrix, squares: Matrix, products: Matrix) -> Matrix:
    mean = sums / many
    variance = squares / many - mean**2
    made = (products / many - mean * mean.T) / np.sqrt(variance * variance.T)
    sound = (many >= K) & (variance > TINY) & (variance.T > TINY)
    return np.where(sound, np.clip(made, -1, 1), np.nan)


def _ratio(many: Matrix, sums: Matrix, squares: Matrix, starts: NDArray[np.int64]) -> Matrix:
    between = np.add.reduceat(np.where(many > 0, sums**2 / many, 0), starts, axis=0)
    n, s, q = (np.add.reduceat(part, starts, axis=0) for part in (many, sums, squares))
    groups = np.add.reduceat(many > 0, starts, axis=0, dtype=np.int64)
    whole = q - s**2 / n
    explained = (between - s**2 / n) / whole
    corrected = 1 - (1 - explained) * (n - 1) / (n - groups)
    sound = (n >= K) & (n > groups) & (groups > 1) & (whole > TINY * n)
    return np.where(sound, np.sqrt(np.clip(corrected, 0, 1)), np.nan)


def _cramer(table: Matrix, starts: NDArray[np.int64]) -> Matrix:
    first, sizes = starts[:-1], np.diff(starts)
    margin = np.add.reduceat(table, first, axis=1)
    n = np.add.reduceat(margin, first, axis=0)
    given = np.repeat(margin, sizes, axis=1)  # the rows of a level where the other is there
    np.divide(table, given, out=given, where=given > 0)
    phi = np.add.reduceat(np.add.reduceat(given * given.T, first, axis=0), first, axis=1) - 1
    k = np.add.reduceat(margin > 0, first, axis=0, dtype=np.int64)
    r = k.T
    phi = np.maximum(0, phi - (k - 1) * (r - 1) / (n - 1))
    least = np.minimum(k - (k - 1) ** 2 / (n - 1), r - (r - 1) ** 2 / (n - 1)) - 1
    sound = (n >= K) & (k > 1) & (r > 1) & (least > TINY)
    return np.where(sound, np.sqrt(np.minimum(1, phi / least)), np.nan)
