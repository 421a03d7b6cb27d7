"""The domain under epsilon: declared by a person, or bought; nothing is read off the data."""

import dataclasses
import json
from collections.abc import Sequence

import numpy as np
import polars as pl

from understudy.data.schema import Column, Schema, Values, read_values
from understudy.data.tables import Table
from understudy.data.tables.table import CASTS
from understudy.errors import OptionError, SchemaError, near
from understudy.synthesizers.budget import Budget

BOUNDS = "bounds"
POWERS = np.arange(-20, 63)
DECIMAL_COMMA, POINT = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$", "$1.$2"
YEARS = (-62_135_596_800e6, 253_402_214_400e6)  # the first day of year 1, the last of 9999
A_DAY = (0.0, 86_399e6)
LINES = {
    "kind": 'kind = "{kind}"',
    "bounds": "bounds = [{low}, {high}]",
    "decimals": "decimals = 0",
    "levels": 'levels = ["A", "B"]',
}


def declared_domain(schema: Schema, *, bought: Sequence[str] = ()) -> None:
    """Insist that the domain of each column is declared in the schema.

    Under epsilon that is every kind; the bounds, decimals and words of numbers and dates; the
    levels of categories. Columns whose bounds are ``bought`` need no bounds. All columns that
    lack something are named in one message, with the lines to write.

    Examples
    --------
    >>> declared_domain(Schema((Column("age", "number", decimals=0, bounds=(0.0, 120.0)),)))
    >>> declared_domain(Schema((Column("age", "number", decimals=0),)))
    Traceback (most recent call last):
    understudy.errors.SchemaError: under epsilon the domain must be declared, and 1 column lacks it
    column "age": bounds = [SMALLEST, LARGEST] ...
    """
    lacks = {c.name: facts for c in schema if (facts := _undeclared(c, c.name in bought))}
    if not lacks:
        return
    many = "1 column lacks" if len(lacks) == 1 else f"{len(lacks)} columns lack"
    listed = "\n".join(
        f"column {json.dumps(name, ensure_ascii=False)}: "
        + ", ".join(_line(schema[name], fact) for fact in facts)
        for name, facts in lacks.items()
    )
    inferred = any(column.inferred for column in schema)
    hint = (
        "write these lines into the schema file (understudy schema TABLE --out FILE), with what "
        "you know without this table"
    )
    if inferred:
        hint += ", and delete the names of these facts from its inferred lists"
    if any("levels" in facts for facts in lacks.values()):
        hint += "; levels cannot be bought: that takes a delta above 0"
    if any("bounds" in facts for facts in lacks.values()):
        hint += "; bounds can be bought (-o bayes.buy=bounds)"
    raise SchemaError(
        f"under epsilon the domain must be declared, and {many} it\n{listed}", hint=hint
    )


def _undeclared(column: Column, bought: bool) -> list[str]:
    """Name the facts of a column that nobody has declared and that are needed."""
    needed, absent = {"kind"}, set()
    if column.is_numeric:
        needed |= {"levels", "decimals"} if bought else {"levels", "decimals", "bounds"}
        absent = {"bounds"} if column.bounds is None and not bought else set()
    elif column.is_modelled:
        needed |= {"levels"}
        absent = {"levels"} if column.kind == "category" and not column.levels else set()
    return [f for f in LINES if f in needed and (f in absent or column.source(f) == "data")]


def _line(column: Column, fact: str) -> str:
    """Show the line to write; nothing in it but the kind comes from the data."""
    if fact == "levels" and column.is_numeric:
        return 'levels = [] (or the words among the values, such as ["N"])'
    low, high = "SMALLEST", "LARGEST"
    if column.kind == "date":
        low, high = '"1900-01-01"', '"2100-01-01"'
    return LINES[fact].format(kind=column.kind, low=low, high=high)


def bought_names(buy: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """Name the columns whose bounds are to be bought: those named, or all without bounds."""
    names: list[str] = []
    for name in buy:
        if name == BOUNDS and BOUNDS not in schema:
            names += [
                c.name
                for c in schema
                if c.is_numeric and (c.bounds is None or c.source("bounds") == "data")
            ]
            continue
        if name not in schema.modelled:
            raise OptionError(
                f"bayes: buy names '{name}', which is no column", hint=near(name, schema.modelled)
            )
        if not schema[name].is_numeric:
            raise OptionError(
                f"bayes: the levels of '{name}' cannot be bought: that takes a delta above 0",
                hint="declare them in the schema file; bounds of numbers and dates can be bought",
            )
        names.append(name)
    return tuple(dict.fromkeys(names))


def read_alone(table: Table, name: str) -> Values:
    """Read each value of a column by itself, whatever the other rows hold.

    A text file gives its columns types, and points for decimal commas, as all rows allow: one
    odd row more would change how the others are read.
    """
    series, column = table.frame[name], table.schema[name]
    if series.dtype == pl.String:
        plain = series if column.writing else series.str.replace(DECIMAL_COMMA, POINT)
        values = _typed_alone(plain, column)
    else:
        values = table.values(name)
    if column.is_numeric:
        return values
    pointed = pl.Series(column.levels, dtype=pl.String).str.replace(DECIMAL_COMMA, POINT)
    declared = {
        one: level for one, level in zip(pointed, column.levels, strict=True) if one != level
    }
    return Values(None, values.labels.replace(declared))


def _typed_alone(series: pl.Series, column: Column) -> Values:
    """Read each value of a text column by itself, as the type that the column is stored in."""
    text = read_values(series, column)
    if column.stored not in CASTS:
        return text
    typed = series.str.strip_chars().cast(CASTS[column.stored], strict=False)
    is_text, made = typed.is_null(), read_values(typed, column)
    labels = pl.select(pl.when(is_text).then(text.labels).otherwise(made.labels)).to_series()
    if text.numbers is None or made.numbers is None:
        return Values(None, labels)
    return Values(np.where(is_text.to_numpy(), text.numbers, made.numbers), labels)


def buy_bounds(table: Table, name: str, budget: Budget, epsilon: float) -> Column:
    """Buy the bounds of a number: noisy counts between signed powers of two.

    From the lowest to the highest power between which counts stand out of the noise. A cell that
    is empty stands out with a chance of 1 in 1,000 over all cells together. Dates end with the
    year 9999, times with the day.
    """
    numbers = read_alone(table, name).numbers
    powers = 2.0**POWERS
    edges = np.concatenate([-powers[::-1], [0.0], powers])
    present = numbers[~np.isnan(numbers)] if numbers is not None else np.empty(0)
    place = np.searchsorted(edges, present, "right")
    counts = np.bincount(place, minlength=len(edges) + 1)
    noisy = budget.counts(f"bounds of {name}", counts, epsilon=epsilon)
    least = np.log(1000 * len(noisy)) / epsilon
    cells = np.flatnonzero(noisy > least)
    if not len(cells):
        cells = np.array([int(noisy.argmax())])
    ends = np.concatenate([[-powers[-1]], edges, [powers[-1]]])
    column, limits = table.schema[name], (-np.inf, np.inf)
    if column.kind == "date":
        limits = YEARS
    elif column.stored == "time":
        limits = A_DAY
    low, high = np.clip([ends[cells[0]], ends[cells[-1] + 1]], *limits).tolist()
    return dataclasses.replace(column, bounds=(low, high), inferred=column.inferred - {"bounds"})
