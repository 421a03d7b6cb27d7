"""The domain under epsilon: declared by a person, or bought; nothing is read off the data."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import FIRST, MOST_CODES, WHOLE, ColumnCodec, on_grid
from understudy.data.schema import Column, Schema, Values, near, read_values
from understudy.data.tables import Table
from understudy.data.tables.table import CASTS
from understudy.errors import OptionError, SchemaError
from understudy.synthesizers.bayes.conditionals import Conditional, conditional
from understudy.synthesizers.budget import Budget
from understudy.synthesizers.model_file import Damaged, State

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]

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


@dataclass(frozen=True)
class Lack:
    """What is not declared about a column, and the lines that would declare it."""

    name: str
    facts: tuple[str, ...]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"column {json.dumps(self.name, ensure_ascii=False)}: {', '.join(self.lines)}"


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
    lacks = [found for column in schema if (found := _lack(column, column.name in bought))]
    if not lacks:
        return
    many = "1 column lacks" if len(lacks) == 1 else f"{len(lacks)} columns lack"
    listed = "\n".join(map(str, lacks))
    inferred = any(column.inferred for column in schema)
    hint = (
        "write these lines into the schema file (understudy schema TABLE --out FILE), with what "
        "you know without this table"
    )
    if inferred:
        hint += ", and delete the names of these facts from its inferred lists"
    if any("levels" in lack.facts for lack in lacks):
        hint += "; levels cannot be bought: that takes a delta above 0"
    if any("bounds" in lack.facts for lack in lacks):
        hint += "; bounds can be bought (-o bayes.buy=bounds)"
    raise SchemaError(
        f"under epsilon the domain must be declared, and {many} it\n{listed}", hint=hint
    )


def _lack(column: Column, bought: bool) -> Lack | None:
    needed = ["kind"]
    absent = []
    if column.is_numeric:
        needed += ["levels", "decimals"] if bought else ["levels", "decimals", "bounds"]
        if column.bounds is None and not bought:
            absent.append("bounds")
    elif column.is_modelled:
        needed += ["levels"]
        if column.kind == "category" and not column.levels:
            absent.append("levels")
    facts = [f for f in ("kind", "bounds", "decimals", "levels") if f in needed]
    facts = [f for f in facts if f in absent or column.source(f) == "data"]
    if not facts:
        return None
    return Lack(column.name, tuple(facts), tuple(_line(column, fact) for fact in facts))


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
        values = _typed_alone(series.str.replace(DECIMAL_COMMA, POINT), column)
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


@dataclass(frozen=True)
class Cells:
    """The codes of a column whose domain is known: missing, cells of numbers, levels.

    Numbers beyond the bounds count as the bound, levels and words that are not declared as
    missing.
    """

    codec: ColumnCodec

    @classmethod
    def of(cls, column: Column, most: int, single: int = 0) -> Self:
        """Cut the bounds into at most so many cells; each value is one if they are few.

        In a column with a step, the smallest and the largest value and 0 have cells of their own;
        all have if there are at most ``single``, or no more of them than cells.
        """
        edges = np.empty(0)
        if column.is_numeric and column.bounds is not None:
            edges = _edges(column, *column.bounds, most, max(single, most))
        if FIRST + len(edges) + len(column.levels) > MOST_CODES:
            raise SchemaError(
                f"schema: column '{column.name}' declares {len(column.levels):,} levels",
                hint=f"no more than {MOST_CODES - FIRST - len(edges):,} can be modelled",
            )
        return cls(ColumnCodec(column, edges, np.linspace(0, 1, len(edges)), column.levels))

    @property
    def column(self) -> Column:
        """The column."""
        return self.codec.column

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.codec.size - 1

    @property
    def bins(self) -> int:
        """The number of cells that show numbers."""
        return self.codec.bins

    def encode(self, values: Values) -> Codes:
        """Code values: cells of numbers first, then levels, missing last."""
        numbers = values.numbers
        if numbers is not None and self.bins:
            numbers = np.clip(numbers, self.codec.edges[0], self.codec.edges[-1])
        elif numbers is not None:
            numbers = np.full(len(numbers), np.nan)
        codes = self.codec.encode(Values(numbers, values.labels)).astype(np.int64)
        made = np.where(codes < FIRST, self.size - 1, codes - FIRST)
        return made.astype(np.uint16)

    def decode(self, codes: Codes, rng: np.random.Generator) -> pl.Series:
        """Turn codes into values: numbers anywhere within their cell."""
        missing = codes == self.size - 1
        own = np.where(missing, 0, codes.astype(np.int64) + FIRST)
        return self.codec.decode(own.astype(np.uint16), rng)

    def evenly(self, bins: int) -> Conditional:
        """Draw evenly over the domain: numbers together weigh as much as ``bins`` levels.

        Missing values are drawn where the schema says that there are some.
        """
        parts = np.ones(self.size)
        parts[-1] = self.column.missing or self.size == 1
        if self.bins:
            width = np.diff(self.codec.edges)
            width[0] = width[0] or (self.column.step or 1.0)
            parts[: self.bins] = bins * width / width.sum()
        return conditional((), (), (parts / parts.sum())[None])

    def column_shown(self) -> Column:
        """Describe the column as it is shown: as declared or bought, and maybe missing."""
        return dataclasses.replace(self.column, missing=True, why="")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        return {"edges": self.codec.edges}

    @classmethod
    def restored(cls, column: Column, state: State) -> Self:
        """Take what was saved."""
        edges = state.array("edges", float, (None,), step=0)
        made = cls(ColumnCodec(column, edges, np.linspace(0, 1, len(edges)), column.levels))
        if (len(edges) and not column.is_numeric) or len(edges) == 1 or made.size > MOST_CODES:
            raise Damaged(f"the cells of the column '{column.name}' are not its own")
        return made


def _edges(column: Column, low: float, high: float, most: int, single: int) -> Floats:
    """Give the ends of the cells, each open on the left and closed on the right."""
    step = column.step
    if column.stored in WHOLE:
        step = max(step or 1.0, 1.0)
    if step is None and low < high:
        return np.linspace(low, high, most + 1)
    if step is None:
        return np.array([low, high])
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    if last <= first:
        return np.array([low, high])
    if last - first < single:
        ends = np.arange(first, last + 1)
    else:
        ends = np.unique(np.floor(np.linspace(first, last, max(most - 3, 1) + 1)))
        own = [first, last, last - 1]
        if first < 0 < last:
            own += [0.0, -1.0]
        ends = np.union1d(ends, own)
    return on_grid(np.concatenate([ends[:1], ends]), step)
