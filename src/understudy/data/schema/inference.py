"""Read a schema off a table, and say in words why each column got its kind.

The rules, in order; the first that fits decides.

1. No value at all, or one value and nothing missing: *constant*.
2. Lists, structures, binary: *text*, left out.
3. Booleans, and what the table itself calls categorical: *category*.
4. Dates and times: *date*. Text is a date where most values parse in one format, or in several
   that cannot be taken for each other.
5. Whole numbers that never repeat, and are named like a key, too dense to be that by chance
   (but for years and such, by name), or long and all of one length: *identifier*.
6. At most ten different numbers, each held by several rows: *category* (codes).
7. Numbers; text is a number where most values parse and few different words stand among them,
   in whichever way it is written (``$1,234.00``, ``12,5 %``); the ``format`` says in which.
   Text with leading zeros (``007``) is a code, never a number.
8. Text that hardly repeats: *identifier* where it never does, free *text* where it is long, and
   otherwise a *name*. So is text of more than 50 values where most rows hold one that fewer than
   five rows have, and that could not be shown.
9. All other text: *category*.
"""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from understudy.data.schema.columns import FACTS, MICROSECONDS, Column, Schema, Stored, Unit
from understudy.data.schema.values import (
    DATE_FORMATS,
    DATETIME_FORMATS,
    EITHER,
    LARGEST_EXACT,
    LEADING_ZERO,
    LIKE_A_DATE,
    ZONED_FORMATS,
    infinities,
    instants,
    labels,
    numbers,
    same_number,
)
from understudy.data.schema.writing import NumberFormat, guess_format

SMALL_DOMAIN = 10
ROWS_PER_CODE = 5
MAJORITY = 0.5
FEW_WORDS = 20
ENOUGH_ROWS = 20
CHANCE = 1e-6
LONG_NUMBER = 9
FEW_NAMES = 50
HUGE = "whole numbers beyond 2^53, kept to the last digit as text; "
REST = "other"
MANY_RARE = 0.05
MOMENT_NAME = re.compile(
    r"(?i)(^|[^a-z])(year|yr|jahr|date|datum|day|tag|week|woche|month|monat|quarter|time|age)s?([^a-z]|$)"
)
OTHER_WRITING = (  # 1.234,50 and $1,234.00 and 12,5 %
    r"^[+-]?\s*[$€£¥]?\s*[+-]?(?:\d{1,3}(?:[.,'\s]\d{3})+|\d+)(?:[.,]\d+)?\s*[$€£¥%]?$"
)
KEY_NAME = re.compile(r"(^|[\s_.-])(?i:id|key|uuid|guid|index|rowid|ssn)$|[a-z](ID|Id)$|^unnamed_")


def infer(frame: pl.DataFrame, *, seen: Callable[[str], None] = lambda name: None) -> Schema:
    """Infer the schema of a table.

    Examples
    --------
    >>> schema = infer(pl.DataFrame({"age": [*range(20, 60)] * 2, "sex": ["f", "m"] * 40}))
    >>> [(c.name, c.kind) for c in schema]
    [('age', 'number'), ('sex', 'category')]
    >>> schema["sex"].why
    '2 different values.'
    """
    columns = []
    for series in frame:
        columns.append(infer_column(series))
        seen(series.name)
    return Schema(tuple(columns))


def infer_column(series: pl.Series) -> Column:
    """Infer one column."""
    facts = _facts(series)
    return Column(
        name=series.name,
        **{"stored": stored_as(series.dtype), **facts},
        missing=_missing(series) > 0,
        inferred=frozenset(fact for fact in FACTS if fact in facts),
    )


def learn_again(schema: Schema, frame: pl.DataFrame) -> Schema:
    """Read the facts that came from data off other rows; kinds and what was declared stay.

    Examples
    --------
    >>> ages = pl.DataFrame({"age": [years + 0.5 for years in range(20, 60)]})
    >>> learn_again(infer(ages), ages.head(30))["age"].bounds
    (20.5, 49.5)
    """
    facts = ("decimals", "bounds", "levels")
    columns = []
    for column in schema:
        learnt = [fact for fact in facts if fact in column.inferred]
        found = infer_column(frame[column.name]) if learnt else column
        alike = found.kind == column.kind
        again = {fact: getattr(found, fact) for fact in learnt if alike}
        columns.append(dataclasses.replace(column, **again))
    return dataclasses.replace(schema, columns=tuple(columns))


def stored_as(dtype: pl.DataType) -> Stored:
    """Name how a polars type keeps its values."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "float"
    if isinstance(dtype, pl.Datetime):
        return "datetime"
    by_type: dict[Any, Stored] = {
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.Time: "time",
        pl.Duration: "duration",
        pl.String: "text",
        pl.Categorical: "text",
        pl.Enum: "text",
        pl.Null: "text",
    }
    return by_type.get(dtype.base_type(), "other")


def _missing(series: pl.Series) -> int:
    nans = int(series.is_nan().sum()) if series.dtype.is_float() else 0
    return series.null_count() + nans


def _facts(series: pl.Series) -> dict[str, Any]:
    dtype, rows = series.dtype, len(series) - _missing(series)
    if rows == 0:
        return {"kind": "constant", "why": "every value is missing."}
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return {"kind": "text", "why": f"values of type {dtype} are left out."}
    distinct = series.drop_nulls().n_unique()
    if distinct == 1 and rows == len(series):
        return _constant(series)
    if dtype == pl.Boolean:
        return {"kind": "category", "levels": _levels(series), "why": "true or false."}
    if dtype in (pl.Categorical, pl.Enum):
        return _category(series, "the table calls it categorical; ")
    if dtype in (pl.Date, pl.Datetime):
        return _date(series, None, rows)
    if dtype == pl.String:
        return _text(series, rows)
    return _numeric(series, rows, ())


def _constant(series: pl.Series) -> dict[str, Any]:
    if series.dtype == pl.String and not series.str.contains(LEADING_ZERO).any():
        facts = _codes(series)
    else:
        facts = _category(series)
    facts["time_zone"] = getattr(series.dtype, "time_zone", None)
    return {**facts, "kind": "constant", "why": f"always '{facts['levels'][0]}'."}


def _levels(series: pl.Series) -> tuple[str, ...]:
    unique = labels(series).drop_nulls().unique().to_list()
    try:
        return tuple(sorted(unique, key=lambda text: (float(text), text)))
    except ValueError:
        return tuple(sorted(unique))


def _category(series: pl.Series, because: str = "") -> dict[str, Any]:
    levels = _levels(series)
    plural = "value" if len(levels) == 1 else "values"
    why = f"{because}{len(levels):,} different {plural}."
    facts: dict[str, Any] = {"kind": "category", "levels": levels, "why": why}
    if series.dtype == pl.String:
        counts = series.drop_nulls().alias("value").value_counts()["count"]
        rare = counts.filter(counts < ROWS_PER_CODE)
        if len(rare) > 1 and int(rare.sum()) >= max(ROWS_PER_CODE, MANY_RARE * len(series)):
            facts["rest"] = next((level for level in levels if level.lower() == REST), REST)
    return facts


def _date(series: pl.Series, form: str | None, rows: int) -> dict[str, Any]:
    parsed = instants(series, form)
    values = parsed.drop_nulls()
    unit = _unit(values)
    words = (
        labels(series).filter(parsed.is_null()).drop_nulls()
        if form
        else pl.Series([], dtype=pl.String)
    )
    why = f"dates by the {unit}" + (f", written {form}" if form else "") + "."
    if form and EITHER in form:
        why = f"dates by the {unit}, written in several ways: {form}; made in the first."
    return {
        "kind": "date",
        "bounds": (float(values.min()), float(values.max())),  # type: ignore[arg-type]
        "format": form,
        "time_zone": "UTC" if form in ZONED_FORMATS else getattr(series.dtype, "time_zone", None),
        "unit": unit,
        "levels": tuple(sorted(words.unique().to_list())),
        "why": why + _about_words(words, rows),
    }


def _unit(microseconds: pl.Series) -> Unit:
    fits = (u for u, size in MICROSECONDS.items() if not (microseconds % size != 0).any())
    return next(fits, "microsecond")


def _about_words(words: pl.Series, rows: int) -> str:
    if not len(words):
        return ""
    named = [f"'{word}'" for word in sorted(words.unique().to_list())[:5]]
    return f" {len(words):,} of {rows:,} values are words and kept as such: {', '.join(named)}."


def _text(series: pl.Series, rows: int) -> dict[str, Any]:
    values = series.drop_nulls()
    form = date_format(values)
    if form is not None:
        return _date(series, form, rows)
    if values.str.contains(LEADING_ZERO).any():
        return _words(series, rows, "leading zeros: a code, not a number; ")
    parsed = numbers(values)
    writing = guess_format(values) if parsed.null_count() else None
    if writing is not None:
        facts = _written(series, rows, writing)
        if facts is not None:
            return facts
    if parsed.count() > MAJORITY * rows:
        words = values.filter(parsed.is_null())
        if words.n_unique() <= FEW_WORDS:
            return _numeric(series, rows, tuple(words.to_list()))
    facts = _words(series, rows)
    return {**facts, "why": facts["why"] + _about_writing(values, parsed)}


def _written(series: pl.Series, rows: int, writing: NumberFormat) -> dict[str, Any] | None:
    """Describe numbers in a writing of their own; none where too few values are such numbers."""
    parsed = writing.read(series)
    words = series.filter(parsed.is_null() & series.is_not_null())
    if parsed.count() <= MAJORITY * rows or words.n_unique() > FEW_WORDS:
        return None
    facts = _numeric(parsed, rows, tuple(words.to_list()))
    if facts["kind"] == "category":
        return _words(series, rows, f"a small domain of numbers, written as {writing}; ")
    if facts["kind"] == "number":
        facts |= {"format": str(writing), "why": f"{facts['why']} Written as {writing}."}
    return {**facts, "stored": "text"}


def _about_writing(values: pl.Series, parsed: pl.Series) -> str:
    """Say where most values are numbers that a person would read, and a program does not."""
    written = values.filter(values.str.contains(OTHER_WRITING) & parsed.is_null())
    if not len(written) or len(written) + parsed.count() <= MAJORITY * len(values):
        return ""
    return (
        f" Most values look like numbers in several writings, such as '{written[0]}', and are "
        "taken as text: write all of them in one way to have them read as numbers."
    )


def date_format(values: pl.Series) -> str | None:
    """Find the format in which most of the texts are dates, or several formats, if there are any.

    Formats for the same signs, ``%d/%m/%Y`` and ``%m/%d/%Y``, are never taken together: nobody
    could tell which one a date is in.
    """
    best = _one_format(values)
    if best is not None and best not in DATE_FORMATS:
        return best
    head = values.head(1000)
    if head.str.contains(LIKE_A_DATE).sum() <= MAJORITY * len(head):
        return best
    found, left = [] if best is None else [best], values
    if best is not None:
        left = values.filter(instants(values, best).is_null())
    while len(left):
        signs = {_signs_between(form) for form in found}
        others = [form for form in DATE_FORMATS if _signs_between(form) not in signs]
        counts = {form: instants(left, form).count() for form in others}
        form = max(counts, key=counts.__getitem__, default=None)
        if form is None or not counts[form]:
            break
        found, left = [*found, form], left.filter(instants(left, form).is_null())
    most = len(values) - len(left) > MAJORITY * len(values)
    return EITHER.join(found) if most and left.n_unique() <= FEW_WORDS else best


def _signs_between(form: str) -> str:
    """Give what tells a format from others: its signs, and whether the year comes first."""
    return form.replace("%d", "%m").replace("%m", "")


def _one_format(values: pl.Series) -> str | None:
    """Find the one format in which most of the texts are dates."""
    best, share = None, MAJORITY
    head = values.head(1000)
    if head.str.contains(LIKE_A_DATE).sum() <= MAJORITY * len(head):
        return None
    for form in (*DATE_FORMATS, *DATETIME_FORMATS, *ZONED_FORMATS):
        if instants(head, form).count() <= MAJORITY * len(head):
            continue
        parsed = instants(values, form)
        if parsed.count() > share * len(values):
            if parsed.null_count() and values.filter(parsed.is_null()).n_unique() > FEW_WORDS:
                continue
            best, share = form, parsed.count() / len(values)
    return best


def _numeric(series: pl.Series, rows: int, words: tuple[str, ...]) -> dict[str, Any]:
    parsed = numbers(series).drop_nulls()
    finite = parsed.filter(parsed.is_finite())
    if not len(finite):
        return _category(series, "no finite number; ")
    whole = bool((finite == finite.floor()).all())
    low, high = float(finite.min()), float(finite.max())  # type: ignore[arg-type]
    huge = whole and max(-low, high) > LARGEST_EXACT  # where different numbers round to one
    exact = series.dtype.is_integer() or (huge and not series.dtype.is_float())
    distinct = (series.drop_nulls() if exact else finite).n_unique()
    few = distinct <= SMALL_DOMAIN and rows >= ROWS_PER_CODE * (distinct + len(set(words)))
    if few and not series.dtype.is_temporal():
        return _codes(series)
    if huge and series.dtype == pl.String:
        return _words(series, rows, HUGE)
    if not words and whole and rows >= ENOUGH_ROWS and series.drop_nulls().n_unique() == rows:
        why = ""
        if KEY_NAME.search(series.name):
            why = "whole numbers that never repeat, named as a key."
        elif _dense(rows, high - low) and not MOMENT_NAME.search(series.name):
            why = "whole numbers that never repeat, too dense to be that by chance."
        elif _are_numbered(low, high):
            why = "long whole numbers of one length that never repeat: numbers of accounts or such."
        if why:
            return {"kind": "identifier", "why": why, **_stored_text(series)}
    if series.dtype.is_temporal():
        return _times(series, finite)
    infinite = infinities(parsed).drop_nulls()
    kept = pl.Series(list(words), dtype=pl.String).append(infinite)
    decimals = _decimals(finite)
    how = "whole numbers" if decimals == 0 else "numbers"
    places = f" with {decimals} decimal{'s' * (decimals > 1)}" if decimals else ""
    beyond = " beyond 2^53, rounded where they are computed with" if huge else ""
    return {
        "kind": "number",
        "decimals": decimals,
        "bounds": (low, high),
        "levels": tuple(sorted(set(kept.to_list()))),
        "why": f"{how}{places}{beyond}." + _about_words(kept, rows),
        **_stored_text(series),
    }


def _dense(rows: int, span: float) -> bool:
    """Tell whether so many whole numbers would not all differ by chance."""
    return -rows * rows / (2 * (span + 1)) < math.log(CHANCE)


def _are_numbered(low: float, high: float) -> bool:
    """Tell numbers that are given out (accounts, telephones) from quantities and moments.

    They have one length, at least nine digits, and lie all over the numbers of that length.
    """
    length = len(f"{high:.0f}")
    return length >= LONG_NUMBER and low >= 10 ** (length - 1) and high - low > 10**length / 2


def _times(series: pl.Series, finite: pl.Series) -> dict[str, Any]:
    unit = _unit(finite)
    how = "times of the day" if series.dtype == pl.Time else "durations"
    return {
        "kind": "number",
        "bounds": (float(finite.min()), float(finite.max())),  # type: ignore[arg-type]
        "unit": unit,
        "why": f"{how} by the {unit}, in microseconds.",
    }


def _stored_text(series: pl.Series) -> dict[str, Stored]:
    """Numbers written as text are whole ones unless a point or an exponent stands in them."""
    if series.dtype != pl.String:
        return {}
    pointed = series.filter(numbers(series).is_not_null()).str.contains(r"[.eE]").any()
    return {"stored": "float" if pointed else "integer"}


def _codes(series: pl.Series) -> dict[str, Any]:
    because = "a small domain of numbers, treated as codes; "
    if series.dtype != pl.String:
        return _category(series, because)
    facts = _category(pl.select(pl.coalesce(same_number(series), series)).to_series(), because)
    if numbers(series).null_count() == series.null_count():
        facts |= _stored_text(series)
    return facts


def _decimals(finite: pl.Series) -> int | None:
    values = finite.filter(finite.abs() < LARGEST_EXACT).to_numpy()
    slack = 4 * np.spacing(np.abs(values))
    fits = (d for d in range(10) if np.all(np.abs(np.round(values, d) - values) <= slack))
    return next(fits, None)


def _words(series: pl.Series, rows: int, because: str = "") -> dict[str, Any]:
    values = series.drop_nulls()
    distinct = values.n_unique()
    length = float(values.str.len_chars().mean() or 0)  # type: ignore[arg-type]
    spaces = float(values.str.count_matches(r"\s").mean() or 0)  # type: ignore[arg-type]
    hardly_repeats = distinct > MAJORITY * rows and rows >= ENOUGH_ROWS
    if hardly_repeats and (length > 40 or spaces >= 3):
        return {"kind": "text", "why": f"{because}long texts that hardly repeat."}
    if distinct == rows and rows >= ENOUGH_ROWS:
        return {"kind": "identifier", "why": f"{because}texts that never repeat."}
    if hardly_repeats and distinct > 50:
        why = f"{because}{distinct:,} different texts in {rows:,} rows hardly repeat: names."
        return {"kind": "name", "why": why}
    if distinct > FEW_NAMES and because != HUGE:
        counts = values.alias("value").value_counts()["count"]
        rare = int(counts.filter(counts < ROWS_PER_CODE).sum())
        if rare > MAJORITY * rows:
            why = f"{because}{rare:,} of {rows:,} rows hold a text of fewer than five rows: names."
            return {"kind": "name", "why": why}
    return _category(series, because)
