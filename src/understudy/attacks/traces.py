"""What is kept of samples when candidates are weighed: how many rows are equal or near to each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.attacks.games import Floats
from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.tables import Table

BINS = 20
EQUAL = 1
EVERY = 6


@dataclass(frozen=True)
class Near:
    """For each candidate: how many rows equal it, are nearly so, or hold its rare values.

    Rows that differ in no, one, two or up to a third of the columns are counted apart; numbers are
    compared by bins. The last counts are of equal values in single columns: those that none of
    the records known holds, and all others, where one that few hold weighs more. With ``kinds`` =
    1 equal rows alone are counted.
    """

    codec: Codec
    rows: Table
    weights: Floats
    kinds: int = EVERY

    @classmethod
    def of(cls, known: Table, rows: pl.DataFrame, kinds: int) -> "Near":
        """Compare with the candidates, by the bins and frequencies of the records known."""
        wanted = Table(rows.cast(known.frame.schema), known.schema)
        every = Table(pl.concat([known.frame, wanted.frame]), known.schema)
        plain, source = MemorySource(wanted).rows(), MemorySource(known)
        times = np.array([source.copies(plain.select(name)) for name in plain.columns]).T
        codec = Codec.fit(MemorySource(every), bins=BINS)
        return cls(codec, wanted, 1 / np.sqrt(times + 1.0), kinds)

    def __call__(self, samples: Sequence[Table]) -> Floats:
        """Count over all copies: so many numbers for each candidate, one after the other."""
        made: Floats = np.sum([self._counts(sample) for sample in samples], axis=0)
        return made.reshape(-1)

    def _counts(self, sample: Table) -> Floats:
        wanted = self.codec.encode(self.rows).codes
        codes = self.codec.encode(sample).codes
        ends = (0, 1, 2, max(3, codes.shape[1] // 3))[: self.kinds]
        made = np.empty((len(wanted), self.kinds))
        for place, candidate in enumerate(wanted):
            differing = (codes != candidate).sum(axis=1)
            within = [int((differing <= end).sum()) for end in ends]
            made[place, : len(ends)] = np.diff([0, *within])
        if self.kinds == EVERY:
            source, plain = MemorySource(sample), MemorySource(self.rows).rows()
            equal = np.array([source.copies(plain.select(name)) for name in plain.columns]).T
            own = self.weights == 1
            made[:, -2] = (equal * own).sum(axis=1)
            made[:, -1] = (equal * self.weights * ~own).sum(axis=1)
        return made
