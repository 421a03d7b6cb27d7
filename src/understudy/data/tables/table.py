"""Table: a polars frame and its schema."""

import functools
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.cache import Cache
from understudy.data.schema import (
    Schema,
    Values,
    as_schema,
    few,
    infer,
    labels,
    read_values,
    same_level,
)
from understudy.data.tables.frames import GiveBack, IncomingFrame, as_it_is, take_in
from understudy.errors import DataError, LeftOutWarning, near

MOST_NAMED = 5
CASTS = {"integer": pl.Int64, "float": pl.Float64}


@dataclass(frozen=True, repr=False)
class Table:
    """A frame, what its columns are, what to call it, and how to give its kind back.

    ``is_inferred`` says that the schema was read off the rows here, and that no relations between
    the columns have been looked for.

    Examples
    --------
    >>> table = Table.of(pl.DataFrame({"sex": ["f", "m", "f"], "age": [31, 44, 19]}))
    >>> table.height, table.schema.names
    (3, ('sex', 'age'))
    """

    frame: pl.DataFrame
    schema: Schema
    name: str = "table"
    give_back: GiveBack = as_it_is
    give_plain: GiveBack = as_it_is
    is_inferred: bool = False
    once: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        data: Any,
        schema: Schema | str | Path | None = None,
        *,
        name: str = "table",
        alone: bool = False,
    ) -> "Table":
        """Make a table of a path or a frame; without a schema, infer it.

        ``alone`` reads every line of a text file by itself, as epsilon demands: no row decides
        what becomes of another, and none is refused.
        """
        if isinstance(data, Table):
            return data
        schema = as_schema(schema)
        taken = take_in(data, name, (schema or Schema(())) if alone else None)
        is_inferred = schema is None
        if schema is None:
            schema = infer(taken.frame)
        else:
            _fits(taken, schema)
        frame = _conform(taken, schema, as_text=alone)
        return cls(frame, schema, taken.name, taken.give_back, taken.give_plain, is_inferred)

    def __post_init__(self) -> None:
        if not self.schema.modelled:
            raise DataError(
                f"{self.name}: only identifiers and free text, nothing to work on",
                hint="declare the kind of a column in a schema file (understudy schema FILE)",
            )

    def __repr__(self) -> str:
        return f"Table({self.name}: {self.height:,} rows; {few(self.schema.names)})"

    @property
    def height(self) -> int:
        """The number of rows."""
        return self.frame.height

    @cached_property
    def modelled(self) -> pl.DataFrame:
        """The columns that synthesis and assessment take in."""
        return self.frame.select(self.schema.modelled)

    def values(self, name: str) -> Values:
        """Read a column by its kind."""
        return self.once(("values", name), lambda: read_values(self.frame[name], self.schema[name]))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Give a column's numbers (those of a category's levels), nan where there is none."""
        values = self.values(name)
        if values.numbers is not None:
            return values.numbers

        def parse() -> NDArray[np.float64]:
            parsed = values.labels.str.strip_chars().cast(pl.Float64, strict=False)
            made: NDArray[np.float64] = parsed.fill_null(float("nan")).to_numpy()
            return np.where(np.isfinite(made), made, np.nan)

        return self.once(("numbers", name), parse)

    @property
    def plain(self) -> pl.DataFrame:
        """The modelled columns as text, equal for equal values in whatever storage."""
        names = self.schema.modelled
        return self.once("plain", lambda: pl.DataFrame({n: self.text(n) for n in names}))

    def text(self, name: str) -> pl.Series:
        """Give a column as text, equal for equal values in whatever storage."""
        return self.once(("text", name), lambda: self._plain(name))

    def _plain(self, name: str) -> pl.Series:
        column, series = self.schema[name], self.frame[name]
        if column.is_numeric and series.dtype.is_integer():
            return series.cast(pl.String)
        values = self.values(name)
        if values.numbers is None:
            return same_level(values.labels, column.levels).alias(name)
        text = labels(pl.Series(values.numbers, nan_to_null=True))
        return pl.select(pl.coalesce(text, values.labels)).to_series().alias(name)

    def where(self, kept: pl.Series) -> "Table":
        """Keep some rows; what was read of them is not read again."""
        part = replace(self, frame=self.frame.filter(kept))
        for name in self.schema.modelled:
            part.once(("values", name), functools.partial(self.values(name).where, kept))
        part.once("plain", lambda: self.plain.filter(kept))
        return part

    def with_rows(self) -> "Table":
        """Insist on at least one row."""
        if not self.height:
            raise DataError(f"{self.name}: the table has no rows", hint="give a table with rows")
        return self


def _fits(taken: IncomingFrame, schema: Schema) -> None:
    """Check that a frame has the columns of a schema; only those left out may be absent."""
    columns = set(taken.frame.columns)
    for name in schema.modelled:
        if name not in columns:
            raise DataError(
                f"{taken.name}: the column '{name}' is missing",
                hint=near(name, taken.frame.columns),
            )
    for name in taken.frame.columns:
        if name not in schema:
            raise DataError(
                f"{taken.name}: the column '{name}' is not in the training table or its schema",
                hint=near(name, schema.names),
            )


def _conform(taken: IncomingFrame, schema: Schema, *, as_text: bool) -> pl.DataFrame:
    """Order the columns as the schema does, and type the text of files where nothing is lost."""
    frame = taken.frame.select(n for n in schema.names if n in taken.frame.columns)
    if not taken.is_text_file or as_text:
        return frame
    return frame.with_columns(typed(frame[c.name], c.stored) for c in schema if c.name in frame)


def typed(series: pl.Series, stored: str) -> pl.Series:
    """Turn text into the type it stands for, unless a value would be lost."""
    if series.dtype != pl.String or stored not in CASTS:
        return series
    made = series.str.strip_chars().cast(CASTS[stored], strict=False)
    return made if made.null_count() == series.null_count() else series


def warn_left_out(table: Table, given: Any, schema: Any, *, depth: int = 4) -> None:
    """Warn of columns that are not looked at, where their kinds were inferred here.

    ``depth`` leads to the caller: past this function, the one that infers, and its decorator.
    """
    columns = table.schema.left_out
    if columns and schema is None and not isinstance(given, Table):
        listed = ", ".join(f"'{column.name}' ({column.kind})" for column in columns[:MOST_NAMED])
        listed += f" and {len(columns) - MOST_NAMED} more" * (len(columns) > MOST_NAMED)
        warnings.warn(
            f"{table.name}: left out are {listed}; if one should be looked at, declare its kind in "
            "a schema (understudy.schema)",
            LeftOutWarning,
            stacklevel=depth,
        )
