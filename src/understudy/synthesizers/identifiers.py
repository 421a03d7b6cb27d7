"""Identifiers made anew: fresh values in the column's own form, counted; none is a real one's copy.

Whole numbers count from 1. Texts count too, in the form that the real ones have: where all of the
most common length have one and the same character (``CUST-``), it stays; elsewhere a digit stands
for a digit and a letter for a letter. A form that fewer than five rows share is not followed.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from understudy.data.schema import Column, Schema, labels
from understudy.synthesizers.model_file import Damaged, texts

FEWEST = 5
LONGEST = 1_000  # characters of a form
MOST_ROWS = 100_000
ALPHABETS = (
    string.digits,
    string.ascii_lowercase,
    string.ascii_uppercase,
    string.digits + "abcdef",
    string.digits + "ABCDEF",
    string.digits + string.ascii_lowercase,
    string.digits + string.ascii_uppercase,
    string.ascii_letters,
    string.digits + string.ascii_letters,
)
PLAIN = (string.digits,)


@dataclass(frozen=True)
class Identifier:
    """A column that counts.

    Parameters
    ----------
    name : str
    stored : {"integer", "float", "text"}
    form : tuple of str
        For a text, the characters that each place can have; one character alone stays as it is.

    Examples
    --------
    >>> made = Identifier("id", "text", ("A", "-", "0123456789", "0123456789"))
    >>> made.values(8, 11, 11).to_list()
    ['A-09', 'A-10', 'A-11']
    """

    name: str
    stored: str
    form: tuple[str, ...] = ()

    @classmethod
    def fit(cls, series: pl.Series | None, column: Column, *, reads: bool = True) -> Self:
        """Find the form of a column; without reading it, plain numbers."""
        if column.stored != "text":
            return cls(column.name, column.stored)
        form = _form(labels(series)) if reads and series is not None else PLAIN
        return cls(column.name, "text", form)

    def values(self, start: int, stop: int, total: int) -> pl.Series:
        """Give the values after the first ``start``, up to ``stop``, of ``total`` in all."""
        numbers = np.arange(start + 1, stop + 1)
        if self.stored != "text":
            made = pl.Series(self.name, numbers, dtype=pl.Int64)
            return made.cast(pl.Float64) if self.stored == "float" else made
        return pl.Series(self.name, _written(numbers, self._wide(total)), dtype=pl.String)

    def _wide(self, total: int) -> tuple[str, ...]:
        """Lengthen the form until it has enough values."""
        form = self.form
        first = next(place for place, signs in enumerate(form) if len(signs) > 1)
        room = 1
        for signs in form:
            room *= len(signs)
        while room <= total:
            form = (*form[:first], form[first], *form[first:])
            room *= len(form[first])
        return form

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "stored": self.stored, "form": list(self.form)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], schema: Schema) -> Self:
        """Take plain values; refuse a column that is none, and a form that cannot count."""
        made = cls(plain["name"], plain["stored"], texts(plain["form"]))
        if made.name not in schema.names or not isinstance(made.stored, str):
            raise Damaged("an identifier is no column")
        counts = any(len(signs) > 1 for signs in made.form) and all(made.form)
        if made.stored == "text" and not (counts and len(made.form) <= LONGEST):
            raise Damaged("an identifier has a form that does not count")
        return made


def _written(numbers: Any, form: tuple[str, ...]) -> pl.Series:
    """Write numbers with the characters of a form, the last place counting fastest."""
    columns, rest = [], numbers
    for signs in reversed(form):
        columns.append(pl.Series(list(signs)).gather(rest % len(signs)))
        rest = rest // len(signs)
    frame = pl.DataFrame([column.alias(str(i)) for i, column in enumerate(columns[::-1])])
    return frame.select(pl.concat_str(pl.all())).to_series()


def _form(texts: pl.Series) -> tuple[str, ...]:
    """Give the characters of each place, among the texts of the most common length."""
    known = texts.drop_nulls().head(MOST_ROWS)
    lengths = known.str.len_chars()
    counted = (
        lengths.alias("length")
        .value_counts(sort=True)
        .sort(["count", "length"], descending=[True, False])
    )
    if not counted.height or counted["count"][0] < FEWEST:
        return PLAIN
    if not 0 < counted["length"][0] <= LONGEST:
        return PLAIN
    alike = known.filter(lengths == counted["length"][0]).to_list()
    form = tuple(_signs(set(place)) for place in zip(*alike, strict=True))
    return form if any(len(signs) > 1 for signs in form) else PLAIN


def _signs(seen: set[str]) -> str:
    if len(seen) == 1 and not seen & set(string.digits):
        return next(iter(seen))
    fits = (alphabet for alphabet in ALPHABETS if seen <= set(alphabet))
    return next(fits, ALPHABETS[5])
