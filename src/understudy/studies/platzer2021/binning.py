"""The authors' two ways to turn a table into codes.

For fidelity, bins and levels come from training, at most ``c`` of them, and all else is one more
level. For distances, bins come from the rows of all tables together and every level is kept.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes = NDArray[np.unsignedinteger]
MISSING = "nan"


def training_breaks(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Give the edges of at most so many bins: quantiles of the known values, each once.

    Examples
    --------
    >>> training_breaks(np.array([1.0, 1.0, 2.0, 4.0, np.nan]), 2)
    array([1. , 1.5, 4. ])
    """
    return _quantiles(values, np.linspace(0, 1, most + 1))


def pooled_breaks(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Give the edges that ``pandas.qcut`` takes.

    A share that has no exact binary form is rounded up, so that a value exactly at a quantile
    stays in the lower bin.
    """
    shares = np.linspace(0, 1, most + 1)
    inexact = most * shares != np.arange(most + 1)
    return _quantiles(values, np.where(inexact, np.nextafter(shares, 1), shares))


def _quantiles(values: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.empty(0)
    with np.errstate(invalid="ignore"):
        breaks = np.unique(np.quantile(known, shares))
    return breaks[~np.isnan(breaks)]


def cut(values: NDArray[np.float64], breaks: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give each value the number of its bin, from 1; 0 where it is missing or in none.

    Bins are closed on the right, the first also on the left. A single edge makes no bin.

    Examples
    --------
    >>> cut(np.array([1.0, 1.5, 2.0, 9.0, np.nan]), np.array([1.0, 1.5, 4.0]))
    array([1, 1, 2, 0, 0])
    """
    if len(breaks) < 2:
        return np.zeros(len(values), np.int64)
    bins = np.searchsorted(breaks, values, side="left")
    bins[values == breaks[0]] = 1
    bins[bins == len(breaks)] = 0
    return bins


@dataclass(frozen=True)
class LumpedNumbers:
    """The bins of a column of numbers, learnt from training: the most frequent ones.

    Missing is a bin among the others. Of equally frequent bins, those seen first are kept.
    Codes of what is kept run from 0; the last code, ``size - 1``, is for all else.
    """

    size: int
    breaks: NDArray[np.float64]
    code_of_bin: NDArray[np.int64]

    @classmethod
    def learn(cls, values: NDArray[np.float64], most: int) -> "LumpedNumbers":
        """Learn from a column of training."""
        breaks = training_breaks(values, most)
        bins, first, counts = np.unique(cut(values, breaks), return_index=True, return_counts=True)
        kept = bins[np.lexsort((first, -counts))][:most]
        code_of_bin = np.full(max(len(breaks), 1), len(kept), np.int64)
        code_of_bin[kept] = np.arange(len(kept))
        return cls(len(kept) + 1, breaks, code_of_bin)

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Code a column of any table; what is outside the bins is lumped."""
        codes = self.code_of_bin[cut(values, self.breaks)]
        if len(self.breaks):
            outside = (values < self.breaks[0]) | (values > self.breaks[-1])
            codes[outside] = self.size - 1
        return codes


@dataclass(frozen=True)
class LumpedTexts:
    """The levels of a column of texts, learnt from training as the bins of numbers are.

    Examples
    --------
    >>> LumpedTexts.learn(pl.Series(["b", "a", None, "a"]), 2).codes(pl.Series(["a", "b", None]))
    array([0, 1, 2])
    """

    size: int
    code_of_level: dict[str, int]

    @classmethod
    def learn(cls, texts: pl.Series, most: int) -> "LumpedTexts":
        """Learn from a column of training."""
        filled = texts.fill_null(MISSING).alias("level").to_frame()
        counted = filled.group_by("level", maintain_order=True).len("rows")
        ranked = counted.sort("rows", descending=True, maintain_order=True)["level"]
        kept = ranked.head(most)
        return cls(len(kept) + 1, dict(zip(kept, range(len(kept)), strict=True)))

    def codes(self, texts: pl.Series) -> NDArray[np.int64]:
        """Code a column of any table."""
        return level_codes(texts.fill_null(MISSING), self.code_of_level, self.size - 1)


def level_codes(texts: pl.Series, codes: dict[str, int], other: int) -> NDArray[np.int64]:
    """Give each text its code, and one code to all that have none."""
    coded = texts.replace_strict(
        pl.Series(list(codes), dtype=pl.String),
        pl.Series(list(codes.values()), dtype=pl.Int64),
        default=other,
        return_dtype=pl.Int64,
    )
    return coded.to_numpy()
