"""ColumnCodec, Codec and Coded: how columns and tables become small integers, and back.

The codes of a column that ``Codec.fit`` makes: 0 is missing, 1 is unseen (a level, a word or a
number that the rows the codec was fitted on do not have), then the bins of a number or a date in
order, then the levels of a category (the words, for a number) in order, and last the rest, if
levels were lumped. Those of ``shown_codec`` and ``ColumnCodec.declared`` begin with the numbers;
missing is one of the labels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.bins import WHOLE, Bins, Points
from understudy.data.schema import Column, Schema, Values, few, same_level
from understudy.data.tables import Table
from understudy.errors import OptionError, SchemaError
from understudy.jobs.fingerprint import fingerprint

MISSING = 0
UNSEEN = 1
FIRST = 2
MOST_CODES = 2**16
FAR = 1000.0

Codes = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]


class Counted(Protocol):
    """What a codec is fitted on: anything that knows its quantiles and its levels."""

    @property
    def schema(self) -> Schema:
        """The columns."""

    def quantiles(self, name: str, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of the finite numbers of a column; empty where there are none."""

    def levels(self, name: str) -> Mapping[str, int]:
        """How often each level of a category, each word of a number, stands in a column."""


@dataclass(frozen=True, eq=False)
class ColumnCodec:
    """How one column is coded: its numbers first, then its labels, then the rest.

    Parameters
    ----------
    column : Column
    numbers : Bins or Points
        How numbers are coded; by default there are none.
    labels : tuple of str or None
        The levels of a category, or the words among numbers, that have a code of their own. None
        is a missing value, where ``first`` is 0.
    rest : mapping of str to int
        The levels that share the last code, with their counts.
    first : int
        The first code of numbers and labels. 2 leaves 0 to what is missing and 1 to what is
        unseen, 1 leaves 0 to what is missing. Otherwise what is unseen has the code ``size``,
        which stands for no value.
    closed : bool
        Whether nothing is unseen: numbers beyond the ends count as the end, and labels that have
        no code as missing.
    """

    column: Column
    numbers: Bins | Points = field(default_factory=Bins)
    labels: tuple[str | None, ...] = ()
    rest: Mapping[str, int] = field(default_factory=dict)
    first: int = FIRST
    closed: bool = False

    def __repr__(self) -> str:
        return f"ColumnCodec({self.column.name}: {self.column.kind}, {self.size:,} codes)"

    @classmethod
    def declared(cls, column: Column, most: int, single: int = 0) -> Self:
        """Code the declared domain of a column, missing last; see ``Bins.declared``."""
        numbers = Bins.declared(column, most, single)
        room = MOST_CODES - FIRST - len(numbers.edges)
        if len(column.levels) > room:
            raise SchemaError(
                f"schema: column '{column.name}' declares {len(column.levels):,} levels",
                hint=f"no more than {room:,} can be modelled",
            )
        return cls(column, numbers, (*column.levels, None), first=0, closed=True)

    @classmethod
    def listed(cls, column: Column, levels: Iterable[str]) -> Self:
        """Code a list of levels from 1, as they are written; 0 is missing.

        Examples
        --------
        >>> sexes = ColumnCodec.listed(Column("sex", "category"), ["m", "f"])
        >>> sexes.encode(Values(None, pl.Series(["f", None, "m", "x"]))).tolist()
        [2, 0, 1, 3]
        """
        return cls(column, labels=(None, *levels), first=0)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ColumnCodec)
            and self._hash == other._hash
            and self._content == other._content
        )

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @cached_property
    def _hash(self) -> int:
        return hash(self._content)  # of texts, it is another in every process

    @property
    def _content(self) -> tuple[object, ...]:
        arrays = [getattr(self.numbers, part.name) for part in fields(self.numbers)]
        numbers = (type(self.numbers), *(tuple(array.tolist()) for array in arrays))
        settings = (self.first, self.closed)
        return self.column, numbers, self.labels, tuple(self.rest.items()), settings

    @cached_property
    def fingerprint(self) -> str:
        """What tells it from other codecs, in any process."""
        return fingerprint(self)

    @property
    def bins(self) -> int:
        """The number of codes of numbers."""
        return len(self.numbers)

    @property
    def edges(self) -> NDArray[np.float64]:
        """The ends of the bins; empty for a category."""
        return self.numbers.edges if isinstance(self.numbers, Bins) else np.empty(0)

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The labels but missing."""
        return tuple(label for label in self.labels if label is not None)

    @cached_property
    def size(self) -> int:
        """The number of codes."""
        return self.first + self.bins + len(self.labels) + bool(self.rest)

    @cached_property
    def missing(self) -> int:
        """The code of a missing value."""
        if self.first:
            return MISSING
        if None not in self.labels:
            return self.size
        return self.bins + self.labels.index(None)

    @cached_property
    def unseen(self) -> int:
        """The code of what has no code of its own."""
        if self.closed:
            return self.missing
        return UNSEEN if self.first == FIRST else self.size

    @property
    def shows_nothing(self) -> bool:
        """Whether no code stands for a value."""
        return not self.bins and not self.levels and not self.rest

    def encode(self, values: Values) -> NDArray[np.uint16]:
        """Code the values of a column; beyond 65,536 codes in integers of 32 bits."""
        codes = self._encode_labels(values.labels)
        if values.numbers is not None:
            present = ~np.isnan(values.numbers)
            place = self.numbers.place(values.numbers[present], clip=self.closed)
            codes[present] = np.where(place < 0, self.unseen, place + self.first)
        return codes

    def _encode_labels(self, labels: pl.Series) -> NDArray[np.uint16]:
        if labels.null_count() == len(labels):
            return np.full(len(labels), self.missing, self._dtype)
        codes = self._look_up(labels, self._label_codes)
        lost = codes == self.unseen
        is_shown = not (self.first or self.closed)  # then a code is for one way to write a value
        if lost.any() and not self.column.is_numeric and not is_shown:
            plain = same_level(labels.filter(lost), list(self._label_codes))
            codes[lost] = self._look_up(plain, self._aliases)
        return codes

    def _look_up(self, texts: pl.Series, codes: Mapping[str, int]) -> NDArray[np.uint16]:
        found = texts.replace_strict(
            pl.Series(list(codes), dtype=pl.String),
            pl.Series(list(codes.values()), dtype=pl.UInt32),
            default=pl.lit(self.unseen, dtype=pl.UInt32),
            return_dtype=pl.UInt32,
        )
        made: NDArray[Any] = found.fill_null(self.unseen).to_numpy().astype(self._dtype)
        made[texts.is_null().to_numpy()] = self.missing
        return made

    @property
    def _dtype(self) -> type[Any]:
        return np.uint16 if max(self.size - 1, self.unseen) < MOST_CODES else np.uint32

    @cached_property
    def _label_codes(self) -> dict[str, int]:
        start = self.first + self.bins
        codes = {label: start + i for i, label in enumerate(self.labels) if label is not None}
        return {**codes, **dict.fromkeys(self.rest, start + len(self.labels))}

    @cached_property
    def _aliases(self) -> dict[str, int]:
        """The levels as any storage would write them: ``1.0`` in text is 1 among integers."""
        known = list(self._label_codes)
        plain = same_level(pl.Series(known, dtype=pl.String), known).to_list()
        return dict(zip(reversed(plain), reversed(self._label_codes.values()), strict=True))

    def scale(self, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
        """Put numbers on the common scale; only bins have one."""
        return (self.numbers if isinstance(self.numbers, Bins) else Bins()).scale(numbers)

    def decode(self, codes: Codes, rng: np.random.Generator) -> pl.Series:
        """Turn codes into values: labels exactly, numbers as their bins or points draw them."""
        place = codes.astype(np.int64) - self.first
        end = self.bins + len(self.labels)
        is_label = (place >= self.bins) & (place < end)
        texts = pl.Series(self.labels, dtype=pl.String)
        at = pl.Series(np.where(is_label, place - self.bins, 0)).set(pl.Series(~is_label), None)
        words = texts.gather(at)
        if self.rest:
            lumped = np.flatnonzero(place == end)
            weights = np.array(list(self.rest.values()), float)
            places = rng.choice(len(weights), size=len(lumped), p=weights / weights.sum())
            rest = pl.Series(list(self.rest), dtype=pl.String)  # numpy would cut NULs off
            words = words.scatter(lumped, rest.gather(places))
        numbers = None
        if self.column.is_numeric:
            is_number = (place >= 0) & (place < self.bins)
            numbers = np.full(len(codes), np.nan)
            numbers[is_number] = self.numbers.draw(place[is_number], self.column.step, rng)
        return write_values(Values(numbers, words), self.column)

    def column_shown(self) -> Column:
        """Describe the column as it is shown: no level and no bound that no code stands for."""
        bounds = self.column.bounds if self.closed else None
        if isinstance(self.numbers, Points) and self.column.bounds is not None and self.bins:
            bounds = (float(self.numbers.values.min()), float(self.numbers.values.max()))
        return replace(
            self.column, levels=self.levels, bounds=bounds, missing=None in self.labels, why=""
        )


@dataclass(frozen=True)
class Codec:
    """How the columns of a table are coded; fitted once, applied to all tables.

    Examples
    --------
    >>> from understudy.data.memory import MemorySource
    >>> table = Table.of(pl.DataFrame({"sex": ["f", None, "m"], "age": [31.5, 44.0, 19.0]}))
    >>> coded = Codec.fit(MemorySource(table), bins=2).encode(table)
    >>> coded.codes.tolist()
    [[2, 2], [0, 3], [3, 2]]
    """

    columns: tuple[ColumnCodec, ...]

    def __repr__(self) -> str:
        codes = f"{sum(self.sizes):,} codes"
        return f"Codec({len(self.columns)} columns, {codes}: {few(self.names)})"

    @classmethod
    def fit(
        cls,
        rows: Table | Counted,
        names: Iterable[str] | None = None,
        *,
        bins: int = 100,
        levels: int | None = None,
    ) -> "Codec":
        """Fit on stated rows: at most ``bins`` quantile bins, the ``levels`` most frequent levels.

        Numbers and dates are cut at the quantiles of the rows given, equal cuts merged.
        With ``levels``, the rest of the levels share one code; without, none is lumped.
        """
        from understudy.data.source import source_of

        if bins < 1 or (levels is not None and levels < 1):
            raise OptionError(f"bins = {bins}, levels = {levels}", hint="use at least 1")
        rows = source_of(rows) if isinstance(rows, Table) else rows
        names = rows.schema.modelled if names is None else tuple(names)
        return cls(tuple(_fit_column(rows, rows.schema[n], bins, levels) for n in names))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns coded."""
        return tuple(c.column.name for c in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(c.size for c in self.columns)

    def __getitem__(self, name: str) -> ColumnCodec:
        return self.columns[self.names.index(name)]

    def encode(self, table: Table, *, scaled: bool = False) -> "Coded":
        """Code a table; with ``scaled``, also put its numbers on the common scale."""
        dtype = np.uint8 if max(self.sizes, default=0) <= 256 else np.uint16
        codes = np.empty((table.height, len(self.columns)), dtype, order="F")
        numeric = [c for c in self.columns if c.column.is_numeric]
        numbers = np.empty((table.height, len(numeric) if scaled else 0), np.float32, order="F")
        for position, coder in enumerate(self.columns):
            values = table.values(coder.column.name)
            codes[:, position] = coder.encode(values)
            if scaled and values.numbers is not None:
                numbers[:, numeric.index(coder)] = coder.scale(values.numbers)
        return Coded(self, codes, numbers)

    def decode(self, codes: Codes, rng: np.random.Generator) -> pl.DataFrame:
        """Turn codes back into values."""
        return pl.DataFrame(
            {c.column.name: c.decode(codes[:, i], rng) for i, c in enumerate(self.columns)}
        )


@dataclass(frozen=True, eq=False)
class Coded:
    """A table as codes, one column each, and the numbers beside them on one common scale."""

    codec: Codec
    codes: Codes
    numbers: NDArray[np.float32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coded) and (
            self.codec == other.codec
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.numbers, other.numbers, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.codes)

    def column(self, name: str) -> Codes:
        """The codes of one column."""
        return self.codes[:, self.codec.names.index(name)]

    def points(self) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Give the rows for the mixed distance, and which columns are categories.

        Numbers are on the common scale, categories are their codes. A missing value and a word
        in a column of numbers are numbers far from all others.
        """
        made = self.codes.astype(np.float32)
        is_category = np.array([not c.column.is_numeric for c in self.codec.columns])
        for place, position in enumerate(np.flatnonzero(~is_category)):
            numbers, codes = self.numbers[:, place], self.codes[:, position]
            far = np.where(codes == MISSING, np.float32(-FAR), codes + np.float32(FAR))
            made[:, position] = np.where(np.isnan(numbers), far, numbers)
        return made, is_category


def _fit_column(rows: Counted, column: Column, bins: int, most: int | None) -> ColumnCodec:
    counts = rows.levels(column.name)
    levels = list(dict.fromkeys([*(v for v in column.levels if v in counts), *sorted(counts)]))
    edges = heights = np.empty(0)
    if column.is_numeric:
        edges, heights = _edges(rows, column.name, bins)
    room = MOST_CODES - FIRST - len(edges) - 1
    keep = min(most or room, room)
    rest: dict[str, int] = {}
    if len(levels) > keep:
        by_count = sorted(levels, key=lambda level: (-counts[level], level))
        rest = {level: counts[level] for level in by_count[keep:]}
        levels = [level for level in levels if level not in rest]
    return ColumnCodec(column, Bins(edges, heights), tuple(levels), rest)


def _edges(rows: Counted, name: str, bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    probabilities = np.linspace(0, 1, bins + 1)
    cuts = rows.quantiles(name, probabilities)
    if not len(cuts):
        return np.empty(0), np.empty(0)
    edges, where = np.unique(cuts, return_inverse=True)
    weight = np.bincount(where)
    return edges, np.bincount(where, probabilities) / weight


def write_values(values: Values, column: Column) -> pl.Series:
    """Turn plain values back into a series as the column is stored."""
    texts, numbers = values.labels, values.numbers
    if numbers is None:
        return _write_labels(texts, column)
    made = pl.Series(numbers, nan_to_null=True)
    if column.kind == "date":
        return _write_dates(made, texts, column)
    infinite = texts.replace_strict(
        {"inf": np.inf, "-inf": -np.inf}, default=None, return_dtype=pl.Float64
    )
    others = texts.is_not_null() & infinite.is_null()
    if others.any():
        written = (
            _whole(made).cast(pl.String) if column.stored == "integer" else made.cast(pl.String)
        )
        return pl.select(pl.coalesce(texts, written)).to_series()
    made = pl.select(pl.coalesce(made, infinite)).to_series()
    return _write_whole(_whole(made), column) if column.stored in WHOLE else made


def _whole(numbers: pl.Series) -> pl.Series:
    """Turn numbers, as floats or text, into integers; of 128 bits where 64 are too few."""
    rounded = numbers.round() if numbers.dtype.is_float() else numbers
    made = rounded.cast(pl.Int64, strict=False)
    return made if made.null_count() == numbers.null_count() else rounded.cast(pl.Int128)


def _write_whole(integers: pl.Series, column: Column) -> pl.Series:
    if column.stored == "duration":
        return integers.cast(pl.Duration("us"))
    if column.stored == "time":
        return (integers * 1000).cast(pl.Time)
    return integers


def _write_labels(texts: pl.Series, column: Column) -> pl.Series:
    if column.stored == "boolean":
        return texts == "true"
    if column.stored == "float":
        return texts.cast(pl.Float64)
    if column.stored == "time":
        return texts.str.to_time()
    if column.stored in WHOLE:
        return _write_whole(_whole(texts), column)
    if column.stored == "date":
        return texts.str.to_date()
    if column.stored == "datetime":
        return texts.str.to_datetime(time_unit="us", time_zone=column.time_zone)
    return texts


def _write_dates(instants: pl.Series, texts: pl.Series, column: Column) -> pl.Series:
    moments = instants.round().cast(pl.Int64).cast(pl.Datetime("us"))
    if column.stored == "date":
        return moments.cast(pl.Date)
    if column.stored == "datetime":
        if column.time_zone is None:
            return moments
        return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(column.time_zone)
    form = (column.format or "%Y-%m-%d").replace(
        "%.f", "%.6f" if column.unit == "microsecond" else ""
    )
    if form.endswith("%:z"):
        moments = moments.dt.replace_time_zone("UTC")
    return pl.select(pl.coalesce(texts, moments.dt.strftime(form))).to_series()


def level_ranks(series: pl.Series) -> NDArray[np.int32]:
    """Number the different values of a series in their order; a missing one is -1.

    Examples
    --------
    >>> level_ranks(pl.Series(["b", "a", None, "b"])).tolist()
    [1, 0, -1, 1]
    """
    made: NDArray[np.int32] = series.rank("dense").fill_null(0).to_numpy().astype(np.int32)
    return made - np.int32(1)
