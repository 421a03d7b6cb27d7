"""From whatever a table holds to plain values: numbers, and labels for all else.

Files, pandas and polars store one and the same value in many ways (``1``, ``1.0``, ``"1"``,
``True``). Everything that codes or compares values reads them through these functions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema.columns import YEARS, Column

LARGEST_EXACT = 2**53
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, since 1970
LEADING_ZERO = r"^\s*[+-]?0\d"
LIKE_A_DATE = r"\d{4}[-/]\s*\d|[\w.][-/.,\s]+[+-]?\d{4}"  # as every format below is
DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d %Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
DATETIME_FORMATS = (
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%d.%m.%Y %H:%M:%S%.f",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M:%S%.f",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S%.f",
    "%m/%d/%Y %H:%M",
)
EITHER = " | "  # between the formats of a column that has several
ZONED_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%d %H:%M:%S%.f%:z")


@dataclass(frozen=True)
class Values:
    """A column read by its kind: each row has a number, or a label, or neither (missing).

    ``labels`` holds the level of a category, the word that stands in a number or a date, and
    whatever could not be read.
    """

    numbers: NDArray[np.float64] | None
    labels: pl.Series

    def where(self, kept: pl.Series) -> "Values":
        """Keep some rows."""
        numbers = None if self.numbers is None else self.numbers[kept.to_numpy()]
        return Values(numbers, self.labels.filter(kept))


def read_values(series: pl.Series, column: Column) -> Values:
    """Read a series as the kind of its column; whatever does not parse becomes a label."""
    if not column.is_numeric:
        return Values(None, labels(series))
    writing = column.writing if series.dtype == pl.String else None
    if column.kind == "date":
        parsed = instants(series, column.format)
    else:
        parsed = numbers(series) if writing is None else writing.read(series)
    finite = parsed.is_finite().fill_null(False)
    words = infinities(parsed)
    if series.dtype == pl.String:
        text = pl.coalesce(words, labels(series))
        words = pl.select(pl.when(~finite).then(text)).to_series()
    return Values(parsed.set(~finite, None).fill_null(float("nan")).to_numpy(), words)


def numbers(series: pl.Series) -> pl.Series:
    """Read numbers as floats; what is none becomes missing.

    Examples
    --------
    >>> numbers(pl.Series(["1", " 2.5", "N", None])).to_list()
    [1.0, 2.5, None, None]
    """
    dtype = series.dtype
    if dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        series = series.str.strip_chars()
    elif dtype.is_temporal():
        return microseconds(series)
    elif not (dtype.is_numeric() or dtype == pl.Boolean):
        return pl.Series(series.name, [None] * len(series), dtype=pl.Float64)
    return _double(series).fill_nan(None)


def _double(series: pl.Series) -> pl.Series:
    """Cast to floats of 64 bits; what is no number becomes missing, a 0.1 of 32 bits 0.1."""
    if series.dtype == pl.Float32:
        series = series.cast(pl.String)
    return series.cast(pl.Float64, strict=False)


def microseconds(series: pl.Series) -> pl.Series:
    """Read durations and times of the day as microseconds."""
    if series.dtype == pl.Time:
        return series.to_physical().cast(pl.Float64) / 1000
    if isinstance(series.dtype, pl.Duration):
        return series.cast(pl.Duration("us")).to_physical().cast(pl.Float64)
    return instants(series, None)


def instants(series: pl.Series, form: str | None) -> pl.Series:
    """Read dates as microseconds since 1970 in UTC.

    Examples
    --------
    >>> instants(pl.Series(["1970-01-02", "x"]), "%Y-%m-%d").to_list()
    [86400000000.0, None]
    """
    if series.dtype == pl.String and form is not None and EITHER in form:
        parsed = [instants(series, one) for one in form.split(EITHER)]
        return pl.select(pl.coalesce(parsed)).to_series().alias(series.name)
    if series.dtype == pl.String:
        series = parse_dates(series, form or DATE_FORMATS[0])
    if series.dtype == pl.Date:
        series = series.cast(pl.Datetime("us"))
    if isinstance(series.dtype, pl.Datetime):
        return series.dt.epoch("us").cast(pl.Float64).clip(*YEARS)
    return pl.Series(series.name, [None] * len(series), dtype=pl.Float64)


def parse_dates(series: pl.Series, form: str) -> pl.Series:
    """Parse text as dates in one format; what does not parse becomes missing.

    A year has four digits, from 0001 to 9999: ``01/02/03`` is no date, since nobody knows which.
    """
    text = series.str.strip_chars()
    text = text.set(~text.str.contains(r"\d{4}").fill_null(True), None)
    if not text.count():
        return text.cast(pl.Date)
    if form in ZONED_FORMATS:
        text = text.str.replace(r"[zZ]$", "+00:00")
        made = text.str.to_datetime(form, strict=False, time_unit="us", time_zone="UTC")
    elif form in DATE_FORMATS:
        made = text.str.to_date(form, strict=False)
    else:
        made = text.str.to_datetime(form, strict=False, time_unit="us", ambiguous="earliest")
    return made.set(beyond_years(made), None)


def beyond_years(series: pl.Series) -> pl.Series:
    """Tell the dates before the year 1 or after 9999, which no calendar of Python has.

    Examples
    --------
    >>> beyond_years(pl.Series([0, 3_000_000, None]).cast(pl.Date)).to_list()
    [False, True, False]
    """
    unit = getattr(series.dtype, "time_unit", None)
    if unit == "ns":  # from 1677 to 2262
        return pl.repeat(False, len(series), eager=True)
    per_day = {None: 1, "ms": 86_400_000, "us": 86_400_000_000}[unit]
    low, high = FIRST_DAY * per_day, (LAST_DAY + 1) * per_day
    since = series.to_physical()
    return ((since < low) | (since >= high)).fill_null(False)


def labels(series: pl.Series) -> pl.Series:
    """Give each value as text, one text for one value whatever the storage.

    Examples
    --------
    >>> labels(pl.Series([1.0, 2.5, None])).to_list(), labels(pl.Series([True])).to_list()
    (['1', '2.5', None], ['true'])
    """
    dtype = series.dtype
    if dtype == pl.String:
        return series
    if dtype.is_float():
        whole = _double(series).fill_nan(None)
        exact = whole.is_finite() & (whole == whole.floor()) & (whole.abs() < LARGEST_EXACT)
        as_integer = whole.set(~exact.fill_null(False), None).cast(pl.Int64).cast(pl.String)
        text = pl.select(pl.coalesce(as_integer, whole.cast(pl.String))).to_series()
        return text.alias(series.name)
    if isinstance(dtype, pl.Duration):
        return microseconds(series).cast(pl.Int64).cast(pl.String)
    if dtype == pl.Boolean or dtype.is_integer() or dtype.is_decimal() or dtype.is_temporal():
        return series.cast(pl.String)
    if dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if dtype == pl.Null:
        return series.cast(pl.String)
    texts = [None if value is None else str(value) for value in series.to_list()]
    return pl.Series(series.name, texts, dtype=pl.String)


def infinities(parsed: pl.Series) -> pl.Series:
    """Name the infinite values of a series of floats; all others become missing."""
    up, down = parsed == float("inf"), parsed == float("-inf")
    return pl.select(pl.when(up).then(pl.lit("inf")).when(down).then(pl.lit("-inf"))).to_series()


def same_number(series: pl.Series) -> pl.Series:
    """Write numbers that are kept as text in one way: ``1.0`` and ``1`` become ``1``.

    What is no number, or too large to keep its last digit, becomes missing.
    """
    parsed = series.str.strip_chars().cast(pl.Float64, strict=False)
    return labels(parsed.set((parsed.abs() >= LARGEST_EXACT).fill_null(False), None))


def same_level(texts: pl.Series, levels: Sequence[str]) -> pl.Series:
    """Write the values of a category in one way, whatever kept them: a number, a boolean, text.

    Codes with leading zeros are left as they are.

    Examples
    --------
    >>> same_level(pl.Series(["1.0", "N"]), ["1", "N"]).to_list()
    ['1', 'N']
    >>> same_level(pl.Series(["TRUE", "x"]), ["True", "False"]).to_list()
    ['true', 'x']
    """
    if any(re.match(LEADING_ZERO, level) for level in levels):
        return texts
    if {level.lower() for level in levels} <= {"true", "false"}:
        return texts.str.to_lowercase()
    return pl.select(pl.coalesce(same_number(texts), texts)).to_series().alias(texts.name)
