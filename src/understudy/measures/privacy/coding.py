"""Values of all tables as whole numbers or as points: what the attacks of this folder work on.

- ``Places``: codes in the order of the values, for predicates and ranges.
- ``ValueCodes``: codes of values and of combinations of values, for exact matching.
- ``mixed_points``: numbers by rank and levels by code, for the mixed distance.
- ``label_points``: all columns as numbers, levels by their code, for the straight line.
- ``KeyPoints``: keys as points for the straight line, what is no number being a category beside.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.bins import Points
from understudy.data.codec import MISSING, Codec, ColumnCodec
from understudy.data.schema import Column, Values
from understudy.data.source import Source
from understudy.judging.comparison import Comparison, Which
from understudy.options import NUMBERS_OR_BINS, Option

PlaceCodes = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MixedPoints = NDArray[np.float32]
BINS = 100


def real_tables(comparison: Comparison) -> tuple[Which, ...]:
    """Name the tables of real persons that there are."""
    return ("train", "holdout") if comparison.has_holdout else ("train",)


def real_codec(comparison: Comparison, bins: int = BINS) -> Codec:
    """Code by what all real persons have; no level is lumped."""
    if comparison.has_holdout:
        return comparison.pooled_codec(bins=bins)
    return comparison.codec(bins=bins, levels=None)


def every_value(column: Column, tables: Sequence[Values]) -> ColumnCodec:
    """Code all values that some table has: 0 is missing, then numbers and then labels, in order.

    Examples
    --------
    >>> ages = Values(np.array([31.0, np.nan, np.nan]), pl.Series([None, "N", None]))
    >>> older = Values(np.array([44.0, 19.0]), pl.Series([None, None], dtype=pl.String))
    >>> every_value(Column("age", "number"), [ages, older]).encode(ages).tolist()
    [2, 4, 0]
    """
    found = [values.numbers for values in tables if values.numbers is not None]
    distinct = np.unique(np.concatenate([np.empty(0), *found]))
    distinct = distinct[~np.isnan(distinct)]
    points = Points(distinct, np.arange(len(distinct) + 1), np.ones(len(distinct)))
    labels = pl.concat([values.labels for values in tables]).drop_nulls().unique().sort()
    return ColumnCodec(column, points, tuple(labels), first=1)


@dataclass(frozen=True)
class Places:
    """The values of some columns as whole numbers: 0 is missing, numbers come first, in order.

    Parameters
    ----------
    codec : Codec
        Its columns tell all values apart, see ``every_value``.
    tables : tuple of arrays of shape (columns, rows)
    """

    codec: Codec
    tables: tuple[PlaceCodes, ...]

    @classmethod
    def of(
        cls, sources: Sequence[Source], names: Sequence[str], as_numbers: Collection[str] = ()
    ) -> "Places":
        """Number the values that any of the tables has.

        The levels of a category that are numbers count as such where it is named.
        """
        codecs, codes = [], []
        for name in names:
            column = sources[0].schema[name]
            numeric = column.is_numeric or name in as_numbers
            tables = [_values(source, name, numeric) for source in sources]
            codecs.append(every_value(column, tables))
            codes.append([codecs[-1].encode(values) for values in tables])
        stacked = [np.stack(own).astype(np.int32) for own in zip(*codes, strict=True)]
        return cls(Codec(tuple(codecs)), tuple(stacked))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.codec.names

    @property
    def size(self) -> int:
        """One more than the largest code of all columns."""
        return max(self.codec.sizes)

    def numbers(self, column: int) -> Floats:
        """Give the distinct numbers of a column: code c stands for number c - 1."""
        points = self.codec.columns[column].numbers
        return points.values if isinstance(points, Points) else np.empty(0)

    def values(self, column: int, table: int, *, as_numbers: bool) -> Floats:
        """Give numbers, or the codes of levels; missing, and a word among numbers, is nan."""
        codes, numbers = self.tables[table][column], self.numbers(column)
        if not as_numbers:
            return np.where(codes == MISSING, np.nan, codes)
        is_digit = (codes > MISSING) & (codes <= len(numbers))
        return np.where(is_digit, numbers[np.clip(codes - 1, 0, len(numbers) - 1)], np.nan)

    def features(self, names: Sequence[str], most_levels: int) -> tuple[list[Floats], Flags]:
        """Give columns for a model, a matrix a table, and which of them are categories.

        Numbers are as they are and levels are codes; a category of too many levels is an ordered
        number; what is missing, and a word among numbers, is nan. A ``data.matrix.Matrix`` would
        give other features: levels by frequency, words apart, no column that does not vary.
        """
        columns = [self.names.index(name) for name in names]
        coders = [self.codec.columns[c] for c in columns]
        made = [
            np.column_stack(
                [
                    self.values(c, table, as_numbers=coder.bins > 0)
                    for c, coder in zip(columns, coders, strict=True)
                ]
            )
            for table in range(len(self.tables))
        ]
        few = [not coder.bins and coder.size <= most_levels for coder in coders]
        return made, np.array(few, bool)


def _values(source: Source, name: str, numeric: bool) -> Values:
    """Read a column; what is written alike in any storage is one label."""
    texts = source.rows()[name]
    if not numeric:
        return Values(None, texts)
    numbers = source.numbers(name)
    return Values(numbers, texts.set(pl.Series(~np.isnan(numbers)), None))


def fixed_order(codes: PlaceCodes) -> tuple[Ints, Flags]:
    """Order rows as if at random, but by their values alone; equal rows stand together.

    What is drawn at random must not depend on how a table was sorted. Also says which rows in that
    order are the first of their kind.

    Examples
    --------
    >>> order, first = fixed_order(np.array([[1, 2, 1], [5, 6, 5]], np.int32))
    >>> int(first.sum()), set(order.tolist()) == {0, 1, 2}
    (2, True)
    """
    mixed = np.zeros(codes.shape[1], np.uint64)
    for row in codes:
        # splitmix64: each step scatters what came before over all bits
        mixed = (mixed ^ row.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    order = np.argsort(mixed, kind="stable").astype(np.int64)
    first = _changes(codes, order)
    if int(first.sum()) != len(np.unique(mixed)):
        order = np.lexsort(codes).astype(np.int64)
        first = _changes(codes, order)
    return order, first


def _changes(codes: PlaceCodes, order: Ints) -> Flags:
    first = np.ones(len(order), bool)
    first[1:] = (codes[:, order[1:]] != codes[:, order[:-1]]).any(axis=0)
    return first


@dataclass(frozen=True)
class ValueCodes:
    """One whole number from 0 for each value, or combination of values, that some table has.

    It codes nothing itself: a ColumnCodec numbers the values of a column, and ``crossed`` the
    combinations of these numbers. ``labels`` names the values, missing first; of combinations it is
    empty.
    """

    of: Mapping[Which, Ints]
    size: int
    labels: tuple[str, ...] = ()

    def counts(self, which: Which) -> Ints:
        """Count the records of a table that have each number."""
        return np.bincount(self.of[which], minlength=self.size)


def value_codes(comparison: Comparison, name: str, bins: int = 0) -> ValueCodes:
    """Number the values of a column; missing is a value of its own.

    With ``bins``, numbers and dates are cut at quantiles of the real rows into so many bins.
    """
    tables, missing = comparison.tables, "(missing)"

    def number() -> ValueCodes:
        column = comparison.schema[name]
        if bins and column.is_numeric:
            codec = real_codec(comparison, bins)
            codes = {w: comparison.source(w).coded(codec).column(name) for w in tables}
            cuts = [f"bin {number}" for number in range(1, codec[name].size - 1)]
            labels = (missing, "(elsewhere)", *cuts)
        else:
            values = {w: _values(comparison.source(w), name, False) for w in tables}
            exact = every_value(column, list(values.values()))
            codes = {w: exact.encode(own) for w, own in values.items()}
            labels = (missing, *exact.levels)
        made = {which: np.asarray(own, np.int64) for which, own in codes.items()}
        return ValueCodes(made, len(labels), labels)

    return comparison.once(("value codes", name, bins), number)


def crossed(parts: Sequence[ValueCodes]) -> ValueCodes:
    """Number the combinations that some table has.

    Examples
    --------
    >>> sex = ValueCodes({"train": np.array([0, 1, 0]), "synthetic": np.array([1])}, 2)
    >>> age = ValueCodes({"train": np.array([5, 5, 5]), "synthetic": np.array([7])}, 9)
    >>> both = crossed([sex, age])
    >>> both.size, both.of["train"].tolist(), both.of["synthetic"].tolist()
    (3, [0, 1, 0], [2])
    """
    made = parts[0]
    for part in parts[1:]:
        joined = np.concatenate([made.of[w] * part.size + part.of[w] for w in made.of])
        values, dense = np.unique(joined, return_inverse=True)
        ends = np.cumsum([len(made.of[w]) for w in made.of])
        parted = dict(zip(made.of, np.split(dense, ends[:-1]), strict=True))
        made = ValueCodes(parted, len(values))
    return made


def check_bins(**given: int) -> None:
    """Refuse numbers of bins that make no sense."""
    for option, bins in given.items():
        Option((int,), 0, NUMBERS_OR_BINS).check(option, bins)


def mixed_points(
    comparison: Comparison, names: Sequence[str] | None = None, bins: int = BINS
) -> tuple[dict[Which, MixedPoints], Flags]:
    """Give rows by table for the mixed distance, and which columns are categories.

    Numbers are given by their rank among real rows and levels by their codes.
    """
    codec = real_codec(comparison, bins)
    found = {which: comparison.points(which, codec) for which in comparison.tables}
    points, is_category = {w: each for w, (each, _) in found.items()}, found["train"][1]
    if names is None:
        return points, is_category
    columns = [codec.names.index(name) for name in names]
    return {w: each[:, columns] for w, each in points.items()}, is_category[columns]


class _Line:
    """The columns of all tables, real persons first, on the straight line where that is possible.

    Numbers, and categories whose levels are all numbers, stand on it.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.tables: tuple[Which, ...] = (*real_tables(comparison), "synthetic")
        self.sources = [comparison.source(which) for which in self.tables]
        self.codec = real_codec(comparison)
        self.real = sum(source.height for source in self.sources[:-1])

    def numbers(self, name: str) -> Floats | None:
        """Give the numbers of a column, nan where there is none; none if it is a category."""
        coder = self.codec[name]
        if not coder.column.is_numeric:
            levels = pl.Series(coder.levels, dtype=pl.String).str.strip_chars()
            finite = levels.cast(pl.Float64, strict=False).is_finite().fill_null(False)
            if not len(levels) or not finite.all():
                return None
        return np.concatenate([source.numbers(name) for source in self.sources])

    def codes(self, name: str) -> Floats:
        """Give the codes of a column."""
        return np.concatenate(
            [source.coded(self.codec).column(name) for source in self.sources], dtype=np.float64
        )


def label_points(comparison: Comparison) -> dict[Which, Floats]:
    """Give rows by table as numbers: a category is the code of its level.

    Levels that are numbers count as such. What is not a number is the mean of real rows, the same
    point in every table. This is no ``data.matrix.Matrix``: every column is one coordinate, and
    its codes are those of real rows in the order of their names.
    """
    line = _Line(comparison)
    made = np.empty((sum(source.height for source in line.sources), len(line.codec.columns)))
    for place, name in enumerate(line.codec.names):
        numbers = line.numbers(name)
        column = line.codes(name) if numbers is None else numbers
        real = column[: line.real]
        middle = 0.0 if np.isnan(real).all() else float(np.nanmean(real))
        made[:, place] = np.where(np.isnan(column), middle, column)
    ends = np.cumsum([source.height for source in line.sources])
    return dict(zip(line.tables, np.split(made, ends[:-1]), strict=True))


@dataclass(frozen=True)
class KeyPoints:
    """Keys of persons and of a table as points, and which of their columns are categories.

    ``key`` names the key of each column: a key has one or two.
    """

    persons: Floats
    table: Floats
    is_category: Flags
    key: tuple[str, ...]

    def from_training(self, train: int) -> "KeyPoints":
        """Let training persons be looked for in the training table itself."""
        own = self.persons[:train]
        return KeyPoints(own, own, self.is_category, self.key)

    def only(self, keys: Collection[str]) -> "KeyPoints":
        """Keep the columns of some keys."""
        kept = [place for place, name in enumerate(self.key) if name in keys]
        return KeyPoints(
            self.persons[:, kept],
            self.table[:, kept],
            self.is_category[kept],
            tuple(self.key[place] for place in kept),
        )


def known_points(comparison: Comparison) -> KeyPoints:
    """Give the keys as points for the straight line.

    Numbers, and categories whose levels are numbers, are scaled to mean 0 and deviation 1 over
    all real persons. What is no number is their mean, and a category beside says what it is.
    """
    line = _Line(comparison)
    columns: list[Floats] = []
    is_category: list[bool] = []
    keys: list[str] = []
    for name in dict.fromkeys(comparison.keys):
        numbers, codes = line.numbers(name), line.codes(name)
        if numbers is None:
            columns.append(codes)
            is_category.append(True)
        else:
            absent = np.isnan(numbers)
            columns.append(_standard(numbers, line.real))
            is_category.append(False)
            if absent.any():
                columns.append(np.where(absent, codes, -1.0))
                is_category.append(True)
        keys += [name] * (len(columns) - len(keys))
    made = np.column_stack(columns)
    return KeyPoints(made[: line.real], made[line.real :], np.array(is_category, bool), tuple(keys))


def _standard(numbers: Floats, real: int) -> Floats:
    present = numbers[:real][~np.isnan(numbers[:real])]
    middle = float(present.mean()) if len(present) else 0.0
    spread = float(present.std()) if len(present) else 0.0
    return np.where(np.isnan(numbers), 0.0, (numbers - middle) / (spread if spread > 0 else 1.0))


P = TypeVar("P", NDArray[np.float32], NDArray[np.float64])


def distinct(points: P) -> tuple[P, Ints]:
    """Give the distinct points in order, and which of them each row is.

    Examples
    --------
    >>> rows, which = distinct(np.array([[2.0], [1.0], [2.0]]))
    >>> rows.tolist(), which.tolist()
    ([[1.0], [2.0]], [1, 0, 1])
    """
    if not points.shape[1]:
        return points[:1], np.zeros(len(points), np.int64)
    order = np.lexsort(points.T[::-1])
    differ = (points[order][1:] != points[order][:-1]).any(axis=1)
    which = np.empty(len(points), np.int64)
    which[order] = np.concatenate([[0], np.cumsum(differ)])
    return points[order[np.concatenate([[True], differ])]], which
