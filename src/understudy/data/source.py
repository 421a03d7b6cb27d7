"""Source: what measures may ask of a table, wherever it is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.cache import Cache
from understudy.data.codec import Codec, Coded, Counted
from understudy.data.schema import Schema
from understudy.data.tables import Condition, Table

if TYPE_CHECKING:
    from understudy.kernels.neighbors import HammingNeighbors


@dataclass(frozen=True)
class Moments:
    """Count, mean and standard deviation (n in the denominator) of a column's numbers."""

    count: float
    mean: float
    deviation: float


class Source(Protocol):
    """Can be counted. Rows have no order that anything depends on."""

    @property
    def once(self) -> Cache:
        """Work on this source that is done once."""

    @property
    def table(self) -> Table:
        """All rows in memory, to fit a generator to."""

    @property
    def schema(self) -> Schema:
        """The columns, with the kinds of the training table."""

    @property
    def height(self) -> int:
        """The number of rows."""

    def quantiles(self, name: str, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of a column's numbers, linearly interpolated; empty where there are none."""

    def levels(self, name: str) -> Mapping[str, int]:
        """How often each level of a category, each word of a number, stands in a column."""

    def numbers(self, name: str) -> NDArray[np.float64]:
        """The numbers of a column (of a category whose levels are numbers), nan where none is."""

    def moments(self, name: str) -> Moments | None:
        """Count, mean and deviation of a column's numbers; none where no number is."""

    def counts(self, names: Sequence[str], codec: Codec) -> NDArray[np.float64]:
        """The table of these columns' codes: one axis a column."""

    def coded(self, codec: Codec, *, scaled: bool = False) -> Coded:
        """The rows as codes; with ``scaled``, the numbers beside them on the common scale."""

    def pooled(self, other: Any) -> Counted:
        """The rows of this and another source together, to fit a codec on."""

    def labels(self, name: str) -> pl.Series:
        """A column as text, such as a group or a stratum; also of columns left out elsewhere."""

    def copies(self, rows: pl.DataFrame) -> NDArray[np.int64]:
        """How many rows of this source are equal to each of the rows given (see ``rows``)."""

    def nearest(self, queries: Coded, *, cap: int = 20) -> "HammingNeighbors":
        """The nearest rows of this source to each query, by differing codes."""

    def rows(
        self, limit: int | None = None, stream: np.random.Generator | None = None
    ) -> pl.DataFrame:
        """Rows as plain values, comparable between sources; a random ``limit`` of them if given."""

    def resample(self, stream: np.random.Generator) -> "Source":
        """Draw as many rows with replacement; only counts and moments may be asked of it."""

    def meets(self, condition: Condition) -> NDArray[np.bool_]:
        """Whether each row meets a condition."""

    def where(self, name: str, level: str) -> "Source":
        """The rows that have this level of a column."""

    def digest(self, key: bytes) -> str:
        """A keyed hash of the values."""


def source_of(data: Table | Source) -> Source:
    """Give the source of a table, the same whenever it is asked for.

    Measures, attacks and workflows get their sources here, so that another engine can take the
    place of memory.

    Examples
    --------
    >>> table = Table.of(pl.DataFrame({"sex": ["f", "m", "f"]}))
    >>> source_of(table).levels("sex"), source_of(table) is source_of(table)
    ({'f': 2, 'm': 1}, True)
    """
    from understudy.data.memory import MemorySource

    if not isinstance(data, Table):
        return data
    return data.once("source", lambda: MemorySource(data))
