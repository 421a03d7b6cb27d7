"""Variable: a column as codes and numbers, and back.

Codes are those of a ``ColumnCodec``, which has one bin where a column is drawn as a number; after
them come the spikes, numbers with a code of their own.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.bins import Bins
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
        return 0 if self.is_number else self.codec.size

    @property
    def codes(self) -> int:
        """The number of codes that may be drawn."""
        return self.codec.size + len(self.spikes) * self.counted

    @cached_property
    def codec(self) -> ColumnCodec:
        """How the column is coded, spikes apart: every number in one bin, if it is drawn as one."""
        numbers = Bins(np.array([-np.inf, np.inf])) if self.counted else Bins()
        return ColumnCodec(self.column, numbers, self.labels)

    @cached_property
    def _label_numbers(self) -> Floats:
        parsed = pl.Series(self.labels, dtype=pl.String).cast(pl.Float64, strict=False)
        made = parsed.fill_null(float("nan")).to_numpy()
        other = [np.nan] * (FIRST + self.counted)
        return np.concatenate([other, np.where(np.isfinite(made), made, np.nan)])

    def read(self, values: Values) -> tuple[NDArray[np.int64], Floats | None]:
        """Give codes, and numbers with nan where there is none; no numbers for other categories."""
        codes = self.codec.encode(values).astype(np.int64)
        if not self.is_number:
            return codes, None
        numbers = values.numbers if values.numbers is not None else self._label_numbers[codes]
        if self.counted:
            codes[~np.isnan(numbers)] = NUMBER
            codes = self.mark_spikes(codes, numbers)
        return codes, numbers

    def mark_spikes(self, codes: NDArray[np.int64], numbers: Floats) -> NDArray[np.int64]:
        """Give the numbers that are spikes a code of their own."""
        if not self.spikes:
            return codes
        place = np.minimum(np.searchsorted(self.spikes, numbers), len(self.spikes) - 1)
        return np.where(np.array(self.spikes)[place] == numbers, self.codec.size + place, codes)

    def numbers_of(self, codes: NDArray[np.int64]) -> Floats | None:
        """Give the numbers that codes stand for; nan where there is none, or none yet."""
        if not self.is_number:
            return None
        if not self.counted:
            return self._label_numbers[codes]
        numbers = np.full(len(codes), np.nan)
        spiked = codes >= self.codec.size
        if spiked.any():
            numbers[spiked] = np.array(self.spikes)[codes[spiked] - self.codec.size]
        return numbers

    def predictor(self, codes: NDArray[np.int64], numbers: Floats | None) -> Floats:
        """Give the column as a predictor: what is no number stands below all numbers, apart."""
        if numbers is None:
            return codes.astype(float)
        return np.where(np.isnan(numbers), NO_NUMBER * (codes + 1.0), numbers)

    def write(self, codes: NDArray[np.int64], numbers: Floats | None) -> pl.Series:
        """Turn codes and numbers into values as the column stores them."""
        others = [None] * (FIRST + self.counted), [None] * len(self.spikes)
        texts = pl.Series([*others[0], *self.labels, *others[1]], dtype=pl.String)
        words = texts.gather(codes)
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
