"""Where dates are cut, and how the periods between are written."""

import math

import numpy as np
import polars as pl

from understudy.data.schema import Column
from understudy.data.schema.columns import MICROSECONDS
from understudy.measures.pictures.cuts import BINS, Cut, Numbers, between
from understudy.measures.pictures.rule import K, Rare

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
