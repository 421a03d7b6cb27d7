"""Are the associations between columns preserved? Those that are there, and none invented."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MISSING
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import (
    Card,
    Finding,
    Part,
    Shown,
    TableOfNumbers,
    around,
    described,
)
from understudy.measures.fidelity.columns import NO_HOLDOUT
from understudy.measures.fidelity.marginals import MOST_PARTS, on_all_cores
from understudy.measures.pictures import K
from understudy.options import AtLeast, OneOf

FEWEST_REDRAWS = 20
DECIMALS = 4
WORK = 3e11
SCALES = {"ranks": "Spearman's ρ", "values": "Pearson's r"}
Array = NDArray[np.floating]
AT_ONCE = 4096
TINY = 1e-12
RATIO, CRAMER = "correlation ratio", "Cramér's V"

CARD = Card(
    name="fidelity.correlation",
    title="Associations between columns",
    meaning="How far the associations between pairs of columns differ from training's: the mean "
    "difference of coefficients between -1 and 1, each pair weighted by how strongly it is "
    "associated in either table, so that agreement where there is nothing to preserve earns "
    "nothing.",
    formula="Σ w |a_synthetic − a_training| / Σ w over all pairs, w = max(|a_training|, "
    "|a_synthetic|). a is, for two numbers or dates, Spearman's ρ (option scale = values: "
    "Pearson's r), for two categories Cramér's V with Bergsma's correction, for a number and a "
    "category the correlation ratio (of ranks) with Kelley's correction: uncorrected, both grow "
    "with the number of levels and shrink with the number of rows, so that tables of different "
    "size would differ without cause. A correlation is signed and needs none. Rows where either "
    "value is missing are left out of a pair; a word among numbers counts as missing; categories "
    "keep their 10 most frequent levels (option levels), the rest is one. A pair that is not "
    "defined in a table (a column does "
    "not vary, or fewer than 5 rows) has no association there: 0. Reference: the same of the "
    "holdout, rescaled to the number of synthetic rows; interval: ± 1.96 standard deviations of "
    "the difference when the rows of all tables are drawn again",
    unit="correlation",
    better="lower",
    headline="signal-weighted mean difference of associations",
    source="Hittmeir et al. 2019, section VI and figure 1; Bergsma 2013; Kelley 1935",
    not_shown="One coefficient a pair: a curve that rises and falls, or an interaction of three "
    "columns, can be lost unseen. A copy of training has 0: see the privacy measures.",
)


@described(CARD)
def correlation(
    comparison: Comparison,
    *,
    scale: Annotated[str, OneOf(*SCALES)] = "ranks",
    levels: int = 10,
    resamples: Annotated[int, AtLeast(2)] = 50,
    pictures: Shown = 60,
) -> Finding:
    """Signal-weighted mean difference of associations; at most ``pictures`` columns are drawn."""
    schema = comparison.schema
    numbers = [name for name in comparison.names if schema[name].is_numeric]
    categories = [name for name in comparison.names if not schema[name].is_numeric]
    rows = rows_of(comparison, numbers, categories, levels)
    found = {t: associations(own, ranks=scale == "ranks") for t, own in rows.items()}
    other = {t: associations(own, ranks=scale != "ranks") for t, own in rows.items()}
    if np.isnan(found["train"]).all() and np.isnan(found["synthetic"]).all():
        return CARD.not_applicable("There are no two columns that vary.")
    times = _affordable(rows, resamples)
    draws = _redraw(comparison, rows, times, ranks=scale == "ranks")
    value, plain = apart(found["train"], found["synthetic"])
    scaled = math.sqrt(comparison.size_ratio()) if comparison.has_holdout else 0.0
    fresh = apart(found["train"], found["holdout"]) if comparison.has_holdout else None
    names = [*numbers, *categories]
    pairs = _Pairs(names, len(numbers), scale, found, other, scaled)
    shown, capped = _matrices(comparison, pairs, pictures)
    notes = [
        "" if fresh else NO_HOLDOUT,
        pairs.note(),
        f"{times} redraws of {resamples}, for the size of the table." if times < resamples else "",
        capped,
    ]
    return CARD.finding(
        value=value,
        interval=around(value, float(draws.std(ddof=1)), 0.0, 2.0),
        reference=fresh and scaled * fresh[0],
        baselines={"plain": plain, **({"holdout_unscaled": fresh[0]} if fresh else {})},
        parts=(
            Part("plain mean over all pairs", plain, fresh and scaled * fresh[1]),
            *pairs.parts(),
        ),
        tables=shown,
        note=" ".join(filter(None, notes)),
        draws=draws,
    )


@dataclass(frozen=True)
class RowCodes:
    """The rows of a table: for numbers the place among the distinct ones, for categories the level.

    Levels are the codes of a Codec that some table uses, numbered on through all categories, each
    being a line of the matrix that is multiplied; numbers are ranked, not coded.

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
    values: list[Array]
    levels: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        return int(self.starts[-1]) + 3 * len(self.values)


def apart(train: Array, other: Array) -> tuple[float, float]:
    """Give the mean difference of associations, weighted by their strength, and plain.

    Examples
    --------
    >>> train = np.array([[np.nan, 0.5, 0.0], [0.5, np.nan, 0.0], [0.0, 0.0, np.nan]])
    >>> weighted, plain = apart(train, train / 2)
    >>> weighted, round(plain, 4)
    (0.25, 0.0833)
    """
    upper = np.triu_indices(len(train), 1)
    a, b = train[upper], other[upper]
    defined = ~(np.isnan(a) & np.isnan(b))
    a, b = np.nan_to_num(a[defined]), np.nan_to_num(b[defined])
    weights = np.maximum(np.abs(a), np.abs(b))
    differences = np.abs(a - b)
    if not weights.sum():
        return 0.0, 0.0
    return float(weights @ differences / weights.sum()), float(differences.mean())


def _affordable(rows: dict[Which, RowCodes], wanted: int) -> int:
    """Give the number of redraws that large or wide tables allow."""
    work = sum(len(own.levels) * own.width**2 for own in rows.values())
    return min(wanted, max(FEWEST_REDRAWS, int(WORK / max(work, 1))))


def _redraw(
    comparison: Comparison, rows: dict[Which, RowCodes], times: int, *, ranks: bool
) -> NDArray[np.float64]:
    """Give the difference to the reference when all rows are drawn again, time after time."""
    scale = math.sqrt(comparison.size_ratio()) if comparison.has_holdout else 0.0

    def redraw(time: int) -> float:
        drawn = {}
        for table, own in rows.items():
            height = len(own.levels)
            chosen = comparison.stream("redraw", table, str(time)).integers(0, height, height)
            weights = np.bincount(chosen, minlength=height).astype(float)
            drawn[table] = associations(own, weights, ranks=ranks)
        value = apart(drawn["train"], drawn["synthetic"])[0]
        if "holdout" in drawn:
            value -= scale * apart(drawn["train"], drawn["holdout"])[0]
        return value

    return np.array(list(on_all_cores(redraw, times, comparison, f"{CARD.name}: interval")))


class _Pairs:
    """The pairs of columns with their coefficients in all tables."""

    def __init__(
        self,
        names: list[str],
        numbers: int,
        scale: str,
        found: dict[Which, Array],
        other: dict[Which, Array],
        scaled: float,
    ) -> None:
        self.names, self.numbers, self.scale = names, numbers, scale
        self.found, self.other, self.scaled = found, other, scaled
        self.zeros = {t: np.nan_to_num(m) for t, m in found.items()}
        self.lost = np.abs(self.zeros["train"] - self.zeros["synthetic"])
        i, j = np.triu_indices(len(names), 1)
        defined = ~(np.isnan(found["train"][i, j]) & np.isnan(found["synthetic"][i, j]))
        self.pairs = list(zip(i[defined].tolist(), j[defined].tolist(), strict=True))

    def coefficient(self, i: int, j: int) -> str:
        """Name the coefficient of a pair."""
        if j < self.numbers:
            return SCALES[self.scale]
        return CRAMER if i >= self.numbers else RATIO

    def note(self) -> str:
        """Say which coefficients were used, and for how many pairs."""
        kinds = [self.coefficient(i, j) for i, j in self.pairs]
        used = [k for k in (*SCALES.values(), CRAMER, RATIO) if k in kinds]
        every = len(self.names) * (len(self.names) - 1) // 2
        left = every - len(kinds)
        rest = f" {left:,} pairs with a column that does not vary are left out." if left else ""
        most = (
            f" The {MOST_PARTS:,} worst pairs are listed." if len(self.pairs) > MOST_PARTS else ""
        )
        return "; ".join(f"{k}: {kinds.count(k):,} pairs" for k in used) + "." + rest + most

    def parts(self) -> list[Part]:
        """List the pairs, those that differ most first."""
        named = [(" × ".join(sorted((self.names[i], self.names[j]))), i, j) for i, j in self.pairs]
        worst = sorted(named, key=lambda pair: (-self.lost[pair[1], pair[2]], pair[0]))
        return [self._part(*pair) for pair in worst[:MOST_PARTS]]

    def _part(self, name: str, i: int, j: int) -> Part:
        tables: tuple[Which, ...] = ("train", "synthetic")
        more: dict[str, float | None] = {t: _shown(self.found[t][i, j]) for t in tables}
        if j < self.numbers:
            beside = {"ranks": "pearson", "values": "spearman"}[self.scale]
            more |= {f"{beside}_{t}": _shown(self.other[t][i, j]) for t in tables}
        reference = None
        if "holdout" in self.zeros:
            fresh = abs(self.zeros["train"][i, j] - self.zeros["holdout"][i, j])
            reference = _shown(self.scaled * fresh)
        return Part(name, _shown(self.lost[i, j]), reference, more, self.coefficient(i, j))


def _matrices(
    comparison: Comparison, pairs: _Pairs, most: int
) -> tuple[dict[str, TableOfNumbers], str]:
    """Give the associations as matrices: all, and beside them Pearson's (or Spearman's)."""
    if not most:
        return {}, "No matrix is shown (option pictures)."
    place = {name: i for i, name in enumerate(pairs.names)}
    order = [place[name] for name in comparison.names]
    note = ""
    if len(order) > most:
        weight = np.maximum(np.abs(pairs.zeros["train"]), np.abs(pairs.zeros["synthetic"]))
        telling = (weight * pairs.lost).sum(axis=0)
        kept = set(sorted(order, key=lambda i: (-telling[i], pairs.names[i]))[:most])
        order = [i for i in order if i in kept]
        note = f"The matrix shows the {most} of {len(pairs.names)} columns that differ most."
    made = {"matrix:association": _matrix(pairs.names, pairs.found, order)}
    numbers = [i for i in order if i < pairs.numbers]
    if len(numbers) > 1:
        name = {"ranks": "Pearson", "values": "Spearman"}[pairs.scale]
        made[f"matrix:{name}"] = _matrix(pairs.names, pairs.other, numbers)
    return made, note


def _shown(coefficient: float) -> float:
    """Round what is shown of a pair, for an exact coefficient of few records may tell of one."""
    return round(float(coefficient), DECIMALS)


def _matrix(names: list[str], found: dict[Which, Array], order: list[int]) -> TableOfNumbers:
    rows = [
        (names[i], names[j], *(_shown(matrix[i, j]) for matrix in found.values()))
        for position, i in enumerate(order)
        for j in order[position + 1 :]
    ]
    return TableOfNumbers(("column", "other", *found), tuple(rows))


def rows_of(
    comparison: Comparison, numbers: list[str], categories: list[str], most: int
) -> dict[Which, RowCodes]:
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
        made[table] = RowCodes(places, values, own, np.array(starts))
    return made


def associations(rows: RowCodes, weights: Array | None = None, *, ranks: bool = True) -> Array:
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


def _sums(rows: RowCodes, weights: Array | None, ranks: bool) -> Array:
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


def _scores(rows: RowCodes, j: int, weights: Array | None, ranks: bool) -> Array:
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


def _correlation(many: Array, sums: Array, squares: Array, products: Array) -> Array:
    mean = sums / many
    variance = squares / many - mean**2
    made = (products / many - mean * mean.T) / np.sqrt(variance * variance.T)
    sound = (many >= K) & (variance > TINY) & (variance.T > TINY)
    return np.where(sound, np.clip(made, -1, 1), np.nan)


def _ratio(many: Array, sums: Array, squares: Array, starts: NDArray[np.int64]) -> Array:
    between = np.add.reduceat(np.where(many > 0, sums**2 / many, 0), starts, axis=0)
    n, s, q = (np.add.reduceat(part, starts, axis=0) for part in (many, sums, squares))
    groups = np.add.reduceat(many > 0, starts, axis=0, dtype=np.int64)
    whole = q - s**2 / n
    explained = (between - s**2 / n) / whole
    corrected = 1 - (1 - explained) * (n - 1) / (n - groups)
    sound = (n >= K) & (n > groups) & (groups > 1) & (whole > TINY * n)
    return np.where(sound, np.sqrt(np.clip(corrected, 0, 1)), np.nan)


def _cramer(table: Array, starts: NDArray[np.int64]) -> Array:
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
