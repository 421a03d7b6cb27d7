"""Columns as the search for relations sees them: numbers, level codes, and how exact they are.

A number that was written with two decimals stands for anything within half a cent of it. A float
of 32 bits that was written as one of 64 (``3.0999999046325684``) is shortened first, to 3.1. Codes
that mean missing (``-8``) are missing here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import level_ranks
from understudy.data.relations.judging import PRECISE, relative_error
from understudy.data.schema import Column
from understudy.data.tables import Table

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]

MOST_DECIMALS = 9
SCREENED = 2000
"""Rows on which pairs and triples of columns are looked at first; all verify what passes."""


@dataclass(frozen=True, eq=False)
class Field:
    """One column: its numbers (nan: none), its levels as codes (-1: missing), its exactness."""

    column: Column
    numbers: Floats | None
    codes: Codes
    decimals: int | None
    relative: float
    texts: pl.Series

    def label(self, code: int) -> str:
        """Give a level of a category as text."""
        return str(self.texts[int(np.flatnonzero(self.codes == code)[0])])

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @cached_property
    def levels(self) -> int:
        """How many different values there are."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The rows of each level."""
        return np.bincount(self.codes[self.codes >= 0], minlength=self.levels)

    @cached_property
    def is_missing(self) -> Mask:
        """The rows without a value."""
        return self.codes < 0

    @cached_property
    def half(self) -> float:
        """Half a unit of the last decimal; none where the numbers have as many as there are."""
        if self.column.kind == "date" or self.column.unit is not None:
            return (self.column.step or 0.0) / 2
        return 0.5 * 10.0**-self.decimals if self.decimals is not None else 0.0

    @cached_property
    def slack(self) -> float:
        """How far a true value may lie from the one written; whole numbers are exact."""
        return self.half if self.decimals else 0.0

    @cached_property
    def ordered(self) -> Floats:
        """The numbers in order."""
        if self.numbers is None:
            return np.empty(0)
        return np.sort(self.numbers[~np.isnan(self.numbers)])

    @cached_property
    def entropy(self) -> float:
        """Nats that a value costs where nothing is known of its row."""
        share = self.counts[self.counts > 0] / max(self.counts.sum(), 1)
        return float(-(share * np.log(share)).sum())

    def rounding(self, value: Floats) -> Floats:
        """Say how far the column's own way of writing lets a number lie from its true value."""
        return self.half * (1 + 1e-6) + self.relative * np.abs(value) + 1e-12


def read_fields(table: Table) -> list[Field]:
    """Read the columns that relations are searched in: all that are modelled and vary."""
    return _varied(table, (c for c in table.schema if c.is_modelled and c.kind != "constant"))


def read_names(table: Table) -> list[Field]:
    """Read the columns of names, which are not modelled: they may say whose row it is."""
    return _varied(table, (c for c in table.schema if c.kind == "name"))


def _varied(table: Table, columns: Iterable[Column]) -> list[Field]:
    made = (read_field(table, column) for column in columns)
    return [field for field in made if field.levels > 1]


def read_field(table: Table, column: Column) -> Field:
    """Read one column."""
    values = table.values(column.name)
    numbers = None
    if column.kind in ("number", "date"):
        numbers = values.numbers
    elif column.kind == "category":
        parsed = table.numbers(column.name)
        known = values.labels.is_not_null().to_numpy()
        if np.array_equal(known, ~np.isnan(parsed)):
            numbers = parsed
    if numbers is None:
        return Field(column, None, level_ranks(values.labels), None, PRECISE, values.labels)
    decimals = column.decimals
    finite = numbers[~np.isnan(numbers)]
    if column.kind == "category":
        decimals = _decimals(np.unique(finite))
    if column.kind == "date" or column.unit is not None:
        decimals = 0
    elif decimals is None:
        single = finite.astype(np.float32)
        if np.array_equal(single.astype(np.float64), finite):
            numbers = numbers.copy()
            numbers[~np.isnan(numbers)] = _shortened(single)
            decimals = _decimals(np.unique(_shortened(single)))
    relative = relative_error(column, decimals)
    labels = values.labels if column.kind == "number" and column.levels else None
    return Field(column, numbers, _ranked(numbers, labels), decimals, relative, values.labels)


def _shortened(single: NDArray[np.float32]) -> Floats:
    made: Floats = pl.Series(single).cast(pl.String).cast(pl.Float64).to_numpy()
    return made


def _decimals(finite: Floats) -> int | None:
    """Count the digits after the point that all these numbers have at most."""
    slack = 4 * np.spacing(np.abs(finite))
    for decimals in range(MOST_DECIMALS):
        if np.all(np.abs(np.round(finite, decimals) - finite) <= slack):
            return decimals
    return None


def _ranked(numbers: Floats, words: pl.Series | None) -> Codes:
    """Give numbers codes in order; words that stand among them are levels behind."""
    codes = level_ranks(pl.Series(numbers, nan_to_null=True))
    if words is not None:
        behind = level_ranks(words)
        codes = np.where(behind >= 0, behind + np.int32(codes.max() + 1), codes).astype(np.int32)
    return codes


def screened_rows(rows: int) -> NDArray[np.int64]:
    """Choose the rows that pairs and triples are screened on, the same ones each time."""
    if rows <= SCREENED:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, SCREENED, replace=False))
