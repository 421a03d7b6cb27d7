"""Whole numbers for values and for combinations of values, the same in all tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which

Ints = NDArray[np.int64]
MISSING = "(missing)"


@dataclass(frozen=True)
class Codes:
    """One whole number from 0 for each value, or combination of values, that some table has.

    ``labels`` names the values, missing first; of combinations it is empty.
    """

    of: Mapping[Which, Ints]
    size: int
    labels: tuple[str, ...] = ()

    def counts(self, which: Which) -> Ints:
        """Count the records of a table that have each number."""
        return np.bincount(self.of[which], minlength=self.size)


def column(comparison: Comparison, name: str, bins: int = 0) -> Codes:
    """Number the values of a column; missing is a value of its own.

    With ``bins``, numbers and dates are cut at quantiles of the real rows into so many bins.
    """

    def number() -> Codes:
        if bins and comparison.schema[name].is_numeric:
            return _binned(comparison, name, bins)
        rows = {which: _rows(comparison, which)[name] for which in comparison.tables}
        texts = pl.concat(rows.values())
        labels = (MISSING, *texts.drop_nulls().unique().sort())
        codes = texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        return Codes(_parted(comparison, codes), len(labels), labels)

    return comparison.once(("value codes", name, bins), number)


def _rows(comparison: Comparison, which: Which) -> pl.DataFrame:
    return comparison.once(("plain rows", which), lambda: comparison.rows(which))


def _parted(comparison: Comparison, codes: Ints) -> dict[Which, Ints]:
    ends = np.cumsum([comparison.height(which) for which in comparison.tables])
    return dict(zip(comparison.tables, np.split(codes, ends[:-1]), strict=True))


def _binned(comparison: Comparison, name: str, bins: int) -> Codes:
    """Cut numbers at quantiles of training and holdout together, which are treated alike."""
    pooled = comparison.has_holdout
    codec = (
        comparison.pooled_codec(bins=bins) if pooled else comparison.codec(bins=bins, levels=None)
    )
    parts = {w: comparison.source(w).coded(codec).column(name) for w in comparison.tables}
    size = codec[name].size
    codes = {which: np.asarray(part, np.int64) for which, part in parts.items()}
    return Codes(
        codes, size, (MISSING, "(elsewhere)", *(f"bin {number}" for number in range(1, size - 1)))
    )


def crossed(parts: Sequence[Codes]) -> Codes:
    """Number the combinations that some table has.

    Examples
    --------
    >>> sex = Codes({"train": np.array([0, 1, 0]), "synthetic": np.array([1])}, 2)
    >>> age = Codes({"train": np.array([5, 5, 5]), "synthetic": np.array([7])}, 9)
    >>> both = crossed([sex, age])
    >>> both.size, both.of["train"].tolist(), both.of["synthetic"].tolist()
    (3, [0, 1, 0], [2])
    """
    made = parts[0]
    for part in parts[1:]:
        joined = np.concatenate([made.of[w] * part.size + part.of[w] for w in made.of])
        values, dense = np.unique(joined, return_inverse=True)
        ends = np.cumsum([len(made.of[w]) for w in made.of])
        made = Codes(dict(zip(made.of, np.split(dense, ends[:-1]), strict=True)), len(values))
    return made


def check_bins(**given: int) -> None:
    """Refuse numbers of bins that make no sense."""
    for option, bins in given.items():
        if isinstance(bins, bool) or not isinstance(bins, int) or bins < 0 or bins == 1:
            raise OptionError(
                f"{option} = {bins!r}", hint="0 leaves numbers as they are; else 2 up"
            )
