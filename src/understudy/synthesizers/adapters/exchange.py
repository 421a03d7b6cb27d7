"""A table as a foreign tool gets it, and its rows as they come back.

Columns are called c0, c1 … and levels v0, v1 …, so that no name, word or sign of a missing value is
misread on the way. Dates are whole numbers of their unit since 1970. The words that stand among
numbers travel in a column of their own, which then also tells what is missing; where it does not
say "none", the number is one drawn from the others. A column that never varies stays here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Values
from understudy.data.tables import Table
from understudy.errors import DataError
from understudy.synthesizers.program import check_shape
from understudy.synthesizers.returned import written

NO_WORD = "none"
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Handed:
    """One column, and how it travels: as numbers, as levels, as both, or not at all."""

    column: Column
    name: str
    varies: bool
    levels: tuple[str, ...]
    only: Any = None

    @property
    def word(self) -> str:
        """The name of the column of words."""
        return f"{self.name}w"

    @property
    def step(self) -> float | None:
        """The unit of dates, times and durations, in microseconds; none for plain numbers."""
        timed = self.column.kind == "date" or self.column.unit is not None
        return self.column.step if timed else None

    @property
    def sent(self) -> list[dict[str, Any]]:
        """What the tool is told: the columns that travel, and their kinds."""
        level = {"kind": "category"}
        if not self.column.is_numeric:
            return [{"name": self.name, **level}] if self.varies else []
        whole = self.step is not None or self.column.decimals == 0
        date = self.column.kind == "date"
        number: dict[str, Any] = {"name": self.name, "kind": "date" if date else "number"}
        number |= {"whole": whole, "microseconds": self.step if date else None}
        made = [number] if self.varies else []
        return [*made, {"name": self.word, **level}] if self.levels else made


def hand_over(table: Table, rng: np.random.Generator) -> tuple[pl.DataFrame, tuple[Handed, ...]]:
    """Give the columns that travel, and what is needed to read what comes back."""
    sent: dict[str, pl.Series] = {}
    handed = []
    for place, name in enumerate(table.schema.modelled):
        column, values = table.schema[name], table.values(name)
        levels = tuple(values.labels.drop_nulls().unique().sort().to_list())
        plain = values.labels
        if values.numbers is not None:
            plain = pl.Series(values.numbers, nan_to_null=True)
        kept = plain.drop_nulls() if levels and values.numbers is not None else plain
        varies = kept.n_unique() > 1
        only = None if varies or not len(kept) else kept[0]
        one = Handed(column, f"c{place}", varies, levels, only)
        coded = _coded(values.labels, levels)
        if values.numbers is None:
            if varies:
                sent[one.name] = coded
        else:
            if varies:
                drawn = pl.Series(rng.choice(kept.to_numpy(), table.height)) if levels else plain
                sent[one.name] = _number(plain.zip_with(plain.is_not_null(), drawn), one)
            if levels:
                no_word = pl.Series([NO_WORD]).new_from_index(0, table.height)
                sent[one.word] = no_word.zip_with(plain.is_not_null(), coded)
        handed.append(one)
    return pl.DataFrame(sent), tuple(handed)


def _coded(words: pl.Series, levels: tuple[str, ...]) -> pl.Series:
    codes = [f"v{i}" for i in range(len(levels))]
    return words.replace_strict(list(levels), codes, default=None, return_dtype=pl.String)


def _number(numbers: pl.Series, handed: Handed) -> pl.Series:
    if handed.step is not None:
        numbers = (numbers / handed.step).round()
    whole = handed.sent[0]["whole"] and bool((numbers.abs() < LARGEST_EXACT).all())
    return numbers.cast(pl.Int64) if whole else numbers


def take_back(
    frame: pl.DataFrame, handed: tuple[Handed, ...], rows: int, tool: str
) -> pl.DataFrame:
    """Read a tool's rows; what it was never given is refused."""
    names = [sent["name"] for one in handed for sent in one.sent]
    check_shape(frame, names, rows, tool)
    made = []
    for one in handed:
        column = one.column
        if not column.is_numeric:
            texts = (
                _levels(frame[one.name], one, tool)
                if one.varies
                else pl.Series([one.only] * rows, dtype=pl.String)
            )
            values = Values(None, texts)
        else:
            values = _numeric(frame, one, rows, tool)
        made.append(written(values, column, tool))
    return pl.DataFrame(made)


def _numeric(frame: pl.DataFrame, one: Handed, rows: int, tool: str) -> Values:
    if one.varies:
        numbers = _read(frame[one.name], one, tool)
    else:
        numbers = np.full(rows, np.nan if one.only is None else one.only)
    words = pl.Series([None] * rows, dtype=pl.String)
    if one.levels:
        told = frame[one.word]
        words = _levels(told.replace(NO_WORD, None), one, tool)
        numbers = np.where((told == NO_WORD).fill_null(False).to_numpy(), numbers, np.nan)
    return Values(numbers, words)


def _levels(codes: pl.Series, one: Handed, tool: str) -> pl.Series:
    known = [f"v{i}" for i in range(len(one.levels))]
    strange = codes.filter(~codes.is_in(known).fill_null(True))
    if len(strange):
        raise DataError(
            f"{tool}: the column '{one.column.name}' came back with a level that was never given "
            f"('{strange[0][:40]}')",
            hint="report it, with the version of the tool",
        )
    return codes.replace_strict(known, list(one.levels), default=None, return_dtype=pl.String)


def _read(texts: pl.Series, one: Handed, tool: str) -> NDArray[np.float64]:
    """Read numbers, finite ones, as fine as training's."""
    numbers = texts.cast(pl.Float64, strict=False)
    bad = texts.filter((numbers.is_null() & texts.is_not_null()) | ~numbers.is_finite())
    if len(bad):
        raise DataError(
            f"{tool}: the column '{one.column.name}' came back with '{bad[0][:40]}', no number",
            hint="report it, with the version of the tool",
        )
    made = numbers.fill_null(float("nan")).to_numpy()
    if one.step is not None:
        return np.asarray(np.round(made) * one.step)
    if one.column.decimals is not None:
        return np.asarray(np.round(made, one.column.decimals))
    return np.asarray(made)
