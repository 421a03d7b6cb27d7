"""Tables in memory."""

import dataclasses
import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.cache import Cache
from understudy.data.codec import Codec, Coded
from understudy.data.schema import Schema, labels
from understudy.data.source import Moments
from understudy.data.tables import Condition, Table, free_name
from understudy.errors import DataError, near

if TYPE_CHECKING:
    from understudy.kernels.neighbors import HammingNeighbors


@dataclass(frozen=True, eq=False)
class MemorySource:
    """A table in memory; weights say how often each row counts (in a resample).

    What does not depend on weights is kept with the table.
    """

    table: Table
    weights: NDArray[np.float64] | None = None
    once: Cache = field(default_factory=Cache, init=False, repr=False)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.table.schema

    @property
    def height(self) -> int:
        """The number of rows."""
        return self.table.height

    def quantiles(self, name: str, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of a column's numbers."""
        return _quantiles(self.numbers(name), probabilities)

    def levels(self, name: str) -> Mapping[str, int]:
        """Count the levels of a column."""

        def count() -> dict[str, int]:
            found = self.table.values(name).labels.drop_nulls().alias("level").value_counts()
            return dict(sorted(found.iter_rows()))

        return self.table.once(("levels", name), count)

    def moments(self, name: str) -> Moments | None:
        """Give the moments of a column's numbers; a category has them if its levels are numbers."""

        def present() -> tuple[NDArray[np.intp], NDArray[np.float64]]:
            numbers = self.numbers(name)
            rows = np.flatnonzero(~np.isnan(numbers))
            return rows, numbers[rows]

        rows, numbers = self.table.once(("present", name), present)
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        count = float(weights.sum())
        if count == 0:
            return None
        mean = float(weights @ numbers / count)
        apart = numbers - mean
        return Moments(count, mean, float(weights @ (apart * apart) / count) ** 0.5)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Give a column's numbers, nan where there is none."""
        return self.table.numbers(name)

    def coded(self, codec: Codec, *, scaled: bool = False) -> Coded:
        """Code the table, once for each codec."""
        coded = self.table.once(("coded", codec), lambda: codec.encode(self.table))
        if not scaled:
            return coded

        def scale() -> Coded:
            numeric = [coder for coder in codec.columns if coder.column.is_numeric]
            numbers = np.empty((self.height, len(numeric)), np.float32, order="F")
            for place, coder in enumerate(numeric):
                numbers[:, place] = coder.scale(self.numbers(coder.column.name))
            return dataclasses.replace(coded, numbers=numbers)

        return self.table.once(("scaled", codec), scale)

    def pooled(self, other: "MemorySource") -> "_Pooled":
        """Give the rows of this and another table together."""
        return _Pooled(self, other)

    def labels(self, name: str) -> pl.Series:
        """Give a column as text."""
        if name not in self.table.frame.columns:
            hint = near(name, self.table.frame.columns)
            raise DataError(f"{self.table.name}: there is no column '{name}'", hint=hint)
        return labels(self.table.frame[name])

    def counts(self, names: Sequence[str], codec: Codec) -> NDArray[np.float64]:
        """Count the combinations of these columns' codes."""
        coded = self.coded(codec)
        sizes = [codec[name].size for name in names]
        key = np.zeros(self.height, np.int64)
        for name, size in zip(names, sizes, strict=True):
            key = key * size + coded.column(name)
        cells = int(np.prod(sizes))
        return np.bincount(key, self.weights, minlength=cells).reshape(sizes).astype(float)

    def copies(self, rows: pl.DataFrame) -> NDArray[np.int64]:
        """Count the rows equal to each of those given."""
        count = free_name("copies", rows.columns)
        own = self.table.plain.group_by(rows.columns).len(count)
        joined = rows.join(
            own, on=rows.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        return joined[count].fill_null(0).cast(pl.Int64).to_numpy()

    def nearest(self, queries: Coded, *, cap: int = 20) -> "HammingNeighbors":
        """Compare each query with every row."""
        from understudy.kernels.neighbors import hamming_neighbors

        return hamming_neighbors(queries.codes, self.coded(queries.codec).codes, cap=cap)

    def rows(
        self, limit: int | None = None, stream: np.random.Generator | None = None
    ) -> pl.DataFrame:
        """Give rows as plain values: one text or number for one value, however it is stored."""
        frame = self.table.plain
        if limit is None or limit >= frame.height:
            return frame
        if stream is None:
            raise ValueError("a limit needs a random stream")
        return frame[np.sort(stream.choice(frame.height, limit, replace=False))]

    def resample(self, stream: np.random.Generator) -> "MemorySource":
        """Draw rows with replacement, kept as a weight for each row."""
        drawn = stream.integers(0, self.height, self.height)
        weights = np.bincount(drawn, minlength=self.height).astype(float)
        return MemorySource(self.table, weights)

    def meets(self, condition: Condition) -> NDArray[np.bool_]:
        """Say for each row whether it meets a condition."""
        return condition.mask(self.table)

    def where(self, name: str, level: str) -> "MemorySource":
        """Keep the rows that have this level of a column."""
        return MemorySource(self.table.where(self.table.values(name).labels.eq_missing(level)))

    def digest(self, key: bytes) -> str:
        """Give a keyed hash of the values: without the key, a guessed table cannot be confirmed."""
        keyed = hmac.new(key, digestmod=hashlib.sha256)
        for chunk in self.rows().iter_slices(100_000):
            keyed.update(chunk.write_csv().encode())
        return keyed.hexdigest()


@dataclass(frozen=True)
class _Pooled:
    """Two tables as one, as far as a codec needs it."""

    first: MemorySource
    second: MemorySource

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.first.schema

    def quantiles(self, name: str, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of the numbers of both."""
        numbers = np.concatenate([self.first.numbers(name), self.second.numbers(name)])
        return _quantiles(numbers, probabilities)

    def levels(self, name: str) -> Mapping[str, int]:
        """Count the levels of both."""
        return dict(Counter(self.first.levels(name)) + Counter(self.second.levels(name)))


def _quantiles(
    numbers: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return np.empty(0)
    return np.quantile(present, probabilities, overwrite_input=True)
