"""Variable: a column as codes and numbers, and back.

Codes: 0 is missing, 1 unseen, then for a category its levels in order. For a column that is drawn
as a number: 2 is a number, then the words, then the spikes, numbers with a code of their own.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import FIRST, Codec, ColumnCodec, Counted, write_values
from understudy.data.schema import Column, Values, labels
from understudy.errors import DataError
from understudy.synthesizers.columns.samplers import NO_NUMBER, Floats

NUMBER = FIRST


@dataclass(frozen=True)
class Variable:
    """How a column is read and written: its levels or words, whether it is drawn as a number."""

    column: Column
    labels: tuple[str, ...]
    counted: bool
    spikes: tuple[float, ...] = ()

    @classmethod
    def fit(cls, rows: Counted, column: Column, *, codes_are_numbers: bool) -> "Variable":
        """Learn the levels of a column, or the words among its numbers."""
        coder = Codec.fit(rows, [column.name], bins=1).columns[0]
        if coder.rest:
            raise DataError(
                f"the column '{column.name}' has {len(coder.levels) + len(coder.rest):,} levels",
                hint="declare it an identifier, and it is left out, or a number",
            )
        counted = column.is_numeric or (has_numbers(column) and codes_are_numbers)
        return cls(column, coder.levels, counted)

    @property
    def is_number(self) -> bool:
        """Whether trees see numbers."""
        return self.column.is_numeric or has_numbers(self.column)

    @property
    def levels(self) -> int:
        """The number of codes of a category; 0 for a number."""
        return 0 if self.is_number else FIRST + len(self.labels)

    @property
    def codes(self) -> int:
        """The number of codes that may be drawn."""
        numbers = 1 + len(self.spikes) if self.counted else 0
        return FIRST + numbers + len(self.labels)

    @cached_property
    def _first_spike(self) -> int:
        return NUMBER + 1 + len(self.labels)

    @cached_property
    def _label_numbers(self) -> Floats:
        parsed = pl.Series(self.labels, dtype=pl.String).cast(pl.Float64, strict=False)
        made = parsed.fill_null(float("nan")).to_numpy()
        return np.concatenate([[np.nan] * FIRST, np.where(np.isfinite(made), made, np.nan)])

    def read(self, values: Values) -> tuple[NDArray[np.int64], Floats | None]:
        """Give codes, and numbers with nan where there is none; no numbers for other categories."""
        coder = ColumnCodec(self.column, labels=self.labels)
        codes = coder.encode(values).astype(np.int64)
        if not self.is_number:
            return codes, None
        numbers = values.numbers if values.numbers is not None else self._label_numbers[codes]
        if self.counted:
            codes[codes >= FIRST] += 1
            codes[~np.isnan(numbers)] = NUMBER
            codes = self.mark_spikes(codes, numbers)
        return codes, numbers

    def mark_spikes(self, codes: NDArray[np.int64], numbers: Floats) -> NDArray[np.int64]:
        """Give the numbers that are spikes a code of their own."""
        if not self.spikes:
            return codes
        place = np.minimum(np.searchsorted(self.spikes, numbers), len(self.spikes) - 1)
        return np.where(np.array(self.spikes)[place] == numbers, self._first_spike + place, codes)

    def numbers_of(self, codes: NDArray[np.int64]) -> Floats | None:
        """Give the numbers that codes stand for; nan where there is none, or none yet."""
        if not self.is_number:
            return None
        if not self.counted:
            return self._label_numbers[codes]
        numbers = np.full(len(codes), np.nan)
        spiked = codes >= self._first_spike
        if spiked.any():
            numbers[spiked] = np.array(self.spikes)[codes[spiked] - self._first_spike]
        return numbers

    def predictor(self, codes: NDArray[np.int64], numbers: Floats | None) -> Floats:
        """Give the column as a predictor: what is no number stands below all numbers, apart."""
        if numbers is None:
            return codes.astype(float)
        return np.where(np.isnan(numbers), NO_NUMBER * (codes + 1.0), numbers)

    def write(self, codes: NDArray[np.int64], numbers: Floats | None) -> pl.Series:
        """Turn codes and numbers into values as the column stores them."""
        first = FIRST + self.counted
        place = codes - first
        is_label = (place >= 0) & (place < len(self.labels))
        texts = pl.Series(self.labels, dtype=pl.String)
        at: Any = pl.Series(np.where(is_label, place, 0)).set(pl.Series(~is_label), None)
        words = texts.gather(at)
        if not self.counted:
            return write_values(Values(None, words), self.column)
        if not self.column.is_numeric:
            written = labels(pl.Series(numbers, nan_to_null=True))
            words = pl.select(pl.coalesce(words, written)).to_series()
            return write_values(Values(None, words), self.column)
        return write_values(Values(numbers, words), self.column)


def has_numbers(column: Column) -> bool:
    """Whether a category is a small domain of numbers."""
    return column.kind == "category" and column.stored in ("integer", "float")
