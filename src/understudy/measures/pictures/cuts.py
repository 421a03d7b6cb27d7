"""Where the bins of numbers are cut, and how their ends are written."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column
from understudy.data.schema.columns import MICROSECONDS
from understudy.measures.pictures.rule import K, Rare

Numbers = NDArray[np.float64]
BINS = 20
ONE_BY_ONE = 40
LARGE = 100
SPIKE = 0.05
MOST_SPIKES = 6


@dataclass(frozen=True)
class Cut:
    """A place between two bins: values up to ``at`` are on its left.

    ``left`` is written as the upper end of the bin before, ``right`` as the lower end of the next;
    ``first`` and ``last`` name those bins where they are the outermost.
    """

    at: float
    left: str
    right: str
    first: str
    last: str

    @classmethod
    def after(cls, at: float, left: str, right: str) -> "Cut":
        """Cut so that what is written on the left belongs to the left."""
        return cls(at, left, right, f"≤ {left}", f"> {left}")

    @classmethod
    def before(cls, at: float, left: str, right: str) -> "Cut":
        """Cut so that what is written on the right belongs to the right."""
        return cls(at, left, right, f"< {right}", f"≥ {right}")


def labels(cuts: list[Cut], unit: str = "") -> list[str]:
    """Name the bins between cuts; the outer ones are open.

    Examples
    --------
    >>> labels([Cut.after(19, "19", "20"), Cut.after(20, "20", "21"), Cut.after(25, "25", "26")])
    ['≤ 19', '20', '21 – 25', '> 25']
    """
    if not cuts:
        return ["all values"]
    inner = [
        a.right if a.right == b.left else f"{a.right} – {b.left}"
        for a, b in itertools.pairwise(cuts)
    ]
    return [f"{name}{unit}" for name in (cuts[0].first, *inner, cuts[-1].last)]


def counts(cuts: list[Cut], numbers: Numbers) -> Numbers:
    """Count the numbers of each bin."""
    places = np.searchsorted([cut.at for cut in cuts], numbers, side="left")
    return np.bincount(places, minlength=len(cuts) + 1).astype(float)


def joined(cuts: list[Cut], real: list[Numbers]) -> list[Cut]:
    """Drop cuts until each bin holds none, or at least K, of each of these tables' numbers.

    A bin with too few is joined with the neighbour that holds less.
    """
    cuts = list(cuts)
    held = np.array([counts(cuts, numbers) for numbers in real])
    while cuts:
        few = np.flatnonzero(((held > 0) & (held < K)).any(axis=0))
        if not len(few):
            break
        total = held.sum(axis=0)
        place = int(few[np.argmin(total[few])])
        sides = [side for side in (place - 1, place) if 0 <= side < len(cuts)]
        drop = min(sides, key=lambda side: total[side + (side == place)])
        held[:, drop] += held[:, drop + 1]
        held = np.delete(held, drop + 1, axis=1)
        del cuts[drop]
    return cuts


def round_cuts(numbers: Numbers, column: Column | None, rare: Rare) -> list[Cut]:
    """Cut about 20 bins of one width, with round ends, for all but the outermost 1 %.

    Whole numbers that span up to 40 have a bin each; a number that 5 % of records hold has its own.
    """
    if not len(numbers):
        return []
    low, high = (float(q) for q in np.quantile(numbers, [0.01, 0.99]))
    unit, _ = unit_of(column)
    numbers = numbers / unit
    low, high = low / unit, high / unit
    whole = bool((numbers == np.round(numbers)).all())
    step = 1.0 if whole and high - low <= ONE_BY_ONE else _step((high - low) / BINS)
    whole = whole and step < LARGE
    step = max(step, 1.0) if whole else step
    grid = np.arange(math.ceil(low / step), math.ceil(high / step)) * step if step else np.empty(0)
    places = {float(f"{edge:.12g}") for edge in grid}
    spikes = set() if whole and step == 1 and places else _spikes(numbers)
    made: list[Cut | None]
    if whole:
        places |= spikes | {value - 1 for value in spikes}
        made = [whole_cut(edge, rare, unit) for edge in places]
    else:
        made = [_near_cut(edge, step, rare, unit) for edge in places - spikes]
        made += [number_cut(value, plain(value), rare, unit) for value in spikes]
        made += [_just_below(value, rare, unit) for value in spikes]
    return sorted((cut for cut in made if cut), key=lambda cut: cut.at)


def _spikes(numbers: Numbers) -> set[float]:
    """Give the numbers that are frequent enough to have a bin of their own."""
    values, times = np.unique(numbers, return_counts=True)
    many = np.flatnonzero((times >= SPIKE * len(numbers)) & (times >= K))
    return set(values[many[np.argsort(-times[many], kind="stable")[:MOST_SPIKES]]].tolist())


def plain(number: float) -> str:
    """Write a number with up to 12 digits that matter, without an exponent where it is short."""
    text = f"{float(f'{number:.12g}'):.15g}"
    return "0" if text == "-0" else text


def _near_cut(edge: float, step: float, rare: Rare, unit: float) -> Cut | None:
    """Cut at an edge or, where it is rare, a little beside."""
    for aside in (0, 0.1, -0.1, 0.02, -0.02):
        place = float(plain(edge + aside * step))
        cut = number_cut(place, plain(place), rare, unit)
        if cut:
            return cut
    return None


def number_cut(edge: float, text: str, rare: Rare, unit: float = 1.0) -> Cut | None:
    """Cut at a number that may be written so; None if it is rare."""
    if float(text) * unit in rare:
        return None
    return Cut.after(edge * unit, text, text)


def whole_cut(edge: float, rare: Rare, unit: float = 1.0) -> Cut | None:
    """Cut whole numbers: up to the edge, and from the next number on.

    Of two rare numbers neither is written, but what lies halfway between.
    """
    left, right = plain(edge), plain(edge + 1)
    hidden = [float(text) * unit in rare for text in (left, right)]
    if (float(left), float(right)) != (edge, edge + 1):
        hidden = [True, True]
    cut = between(edge * unit, left, right, hidden)
    return cut or number_cut(edge, plain(edge + 0.5), rare, unit)


def between(at: float, left: str, right: str, hidden: Sequence[bool]) -> Cut | None:
    """Cut between two values and name both sides by the one, or by both, that may be written."""
    if all(hidden):
        return None
    if hidden[0]:
        return Cut.before(at, f"below {right}", right)
    return Cut.after(at, left, f"above {left}" if hidden[1] else right)


def _just_below(value: float, rare: Rare, unit: float) -> Cut | None:
    cut = number_cut(value, plain(value), rare, unit)
    return cut and Cut.before(float(np.nextafter(cut.at, -math.inf)), cut.left, cut.right)


def unit_of(column: Column | None) -> tuple[float, str]:
    """Give the unit to write numbers in: durations and times of the day are microseconds."""
    if column is None or column.unit is None or column.kind == "date":
        return 1.0, ""
    return MICROSECONDS[column.unit], f" {column.unit}s"


def _step(width: float) -> float:
    """Give the step of 1, 2 or 5 times a power of ten that is nearest to a width."""
    if not 0 < width < math.inf:
        return 0.0
    ten = 10.0 ** math.floor(math.log10(width))
    return min((m * ten for m in (1, 2, 5, 10)), key=lambda step: abs(math.log(step / width)))


DAY = MICROSECONDS["day"]
PERIODS = {
    "1y": 365.25 * DAY,
    "1q": 91.3 * DAY,
    "1mo": 30.4 * DAY,
    "1w": 7 * DAY,
    "1d": DAY,
    "1h": DAY / 24,
    "1m": MICROSECONDS["minute"],
    "1s": MICROSECONDS["second"],
}
FORMATS = {
    "1y": "%Y",
    "1mo": "%Y-%m",
    "1w": "%G-W%V",
    "1d": "%Y-%m-%d",
    "1h": "%Y-%m-%d %Hh",
    "1m": "%Y-%m-%d %H:%M",
    "1s": "%Y-%m-%d %H:%M:%S",
}
YEARS = (1, 2, 5, 10, 20, 50, 100)
DECADE = "10y"


def calendar_cuts(numbers: Numbers, column: Column, rare: Rare) -> list[Cut]:
    """Cut about 20 bins where years, quarters, months, weeks, days … begin."""
    if not len(numbers):
        return []
    ordered = np.sort(numbers)
    low, high = (float(q) for q in np.quantile(ordered, [0.01, 0.99]))
    starts, period = _grid(low, high, len(ordered), column)
    before, after = (starts.dt.offset_by(f"{sign}{period}") for sign in ("-", ""))
    texts = [write_dates(moments, period) for moments in (before, starts)]
    tells = [
        _tells_rare(first, last, ordered, rare)
        for first, last in ((before, starts), (starts, after))
    ]
    made = [
        between(at - 1, left, right, hidden) or _finer(at - 1, period, ordered, rare)
        for at, left, right, *hidden in zip(_instants(starts), *texts, *tells, strict=True)
    ]
    return [cut for cut in made if cut]


def period_cuts(edges: Numbers, numbers: Numbers) -> list[Cut]:
    """Write edges that were cut elsewhere by the periods that they lie in.

    It is the coarsest period that tells most of them apart, decades only where nothing else
    does. Such edges follow the records, so a period is named only if at least K of training's
    numbers lie in it; an edge in any other is no cut.
    """
    ordered, moments = np.sort(numbers), _moments(edges)
    best: list[Cut] = []
    for period in (*PERIODS, DECADE):
        starts = moments.dt.truncate(period)
        held = _held(starts, starts.dt.offset_by(period), ordered)
        named = dict(zip(write_dates(starts, period), zip(edges, held, strict=True), strict=True))
        made = [Cut.after(float(edge), text, text) for text, (edge, n) in named.items() if n >= K]
        best = made if len(made) > len(best) else best
    return best


def write_dates(moments: pl.Series, period: str) -> list[str]:
    """Name the periods in which these moments lie.

    Examples
    --------
    >>> moments = pl.Series(["1985-06-15"]).str.to_datetime()
    >>> [write_dates(moments, period)[0] for period in ("10y", "1y", "1q", "1mo", "1w")]
    ['1980s', '1985', '1985-Q2', '1985-06', '1985-W24']
    """
    if period == DECADE:
        return [f"{year // 10 * 10}s" for year in moments.dt.year().to_list()]
    if period == "1q":
        return [f"{m.year}-Q{(m.month + 2) // 3}" for m in moments.to_list()]
    return moments.dt.strftime(FORMATS[period]).to_list()


def _grid(low: float, high: float, many: int, column: Column) -> tuple[pl.Series, str]:
    """Give the places to cut, and the period by which their two sides are named."""
    width = max((high - low) / BINS, 1.0)
    lengths = {f"{years}y": years * PERIODS["1y"] for years in YEARS}
    lengths |= {p: length for p, length in PERIODS.items() if length >= (column.step or 1.0)}
    if many < 2 * K * (high - low) / DAY:
        lengths.pop("1d", None)
    period = min(lengths, key=lambda p: abs(math.log(lengths[p] / width)))
    ends = _moments(np.array([low, high]))
    if not period.endswith("y"):
        first = ends.dt.truncate(period)[0]
        return pl.datetime_range(first, ends[1], period, eager=True).sort()[1:], period
    step, (first, last) = int(period[:-1]), ends.dt.year().to_list()
    years = [y for y in range(first // step * step + step, last + 1, step) if 2 <= y <= 9998]
    starts = pl.Series([f"{year:04}-01-01" for year in years], dtype=pl.String)
    return starts.str.to_datetime("%Y-%m-%d", time_unit="us"), "1y"


def _finer(at: float, period: str, ordered: Numbers, rare: Rare) -> Cut | None:
    """Write the end of a period by its last month or day, where neither side can be named."""
    for finer in ("1mo", "1d"):
        start = _moments(np.array([at])).dt.truncate(finer)
        hidden = _tells_rare(start, start.dt.offset_by(finer), ordered, rare)[0]
        if PERIODS[finer] < PERIODS[period] and not hidden:
            text = write_dates(start, finer)[0]
            return Cut.after(at, text, f"above {text}")
    return None


def _tells_rare(starts: pl.Series, ends: pl.Series, ordered: Numbers, rare: Rare) -> list[bool]:
    """Say of each period whether its name is a rare date, as 1985 is of 1985-01-01.

    It is not where the period holds at least K records, or none at its start.
    """
    held = _held(starts, ends, ordered)
    return [at in rare and n < K for at, n in zip(_instants(starts), held, strict=True)]


def _held(starts: pl.Series, ends: pl.Series, ordered: Numbers) -> list[int]:
    """Count the numbers from each start up to its end."""
    first, last = (np.searchsorted(ordered, _instants(s), side="left") for s in (starts, ends))
    made: list[int] = (last - first).tolist()
    return made


def _moments(numbers: Numbers) -> pl.Series:
    return pl.Series(numbers, dtype=pl.Float64).cast(pl.Int64).cast(pl.Datetime("us"))


def _instants(moments: pl.Series) -> list[float]:
    return [float(instant) for instant in moments.dt.epoch("us").to_list()]
