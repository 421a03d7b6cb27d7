"""Matrix: the rows of several tables as numbers for a model, built in one way for all of them.

A table becomes features by ``Matrix.of``: a number is a feature as it is, a date its instant, a
category the codes of its levels; what is missing is nan. Models that take only numbers without
gaps get features in one of these forms:

- ``one_hot``: numbers (standardised, if wished), a mark of 0 and 1 for each frequent level;
- ``ranks``: standardised ranks of numbers, marks of levels, as the terms of a regression;
- ``places``: the place of a value among the distinct ones of its column.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import ColumnCodec
from understudy.data.schema import Column, Values
from understudy.data.source import Source

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Marks = NDArray[np.bool_]
Name = TypeVar("Name", bound=str)
MOST_LEVELS = 254
HUGE = 1e60  # its fourth power is finite
RANKED_LEVELS = 10
FEWEST_MARKED = 10


@dataclass(frozen=True)
class Matrix(Generic[Name]):
    """Tables as numbers: one array a table, and of which column each feature is.

    Features stand in the order of the columns' names. The classes of a target are numbered in the
    order of their names, and -1 stands for a missing one.
    """

    columns: tuple[str, ...]
    is_category: Marks
    tables: Mapping[Name, Floats]
    targets: Mapping[Name, Labels]
    classes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        sources: Mapping[Name, Source],
        names: Iterable[str] | None = None,
        target: str | None = None,
    ) -> "Matrix[Name]":
        """Turn tables, or some of their columns, into features, by what they have together.

        The levels of a category are numbered, the most frequent first: it is a category up to 254
        levels, an ordered number beyond. A column of numbers with words in it has a second
        feature: which word. A column that is the same in every row has none, nor has the target.

        Examples
        --------
        >>> from understudy.data.source import source_of
        >>> from understudy.data.tables import Table
        >>> frame = pl.DataFrame({"age": [44.0, 31.5], "sex": ["m", "f"], "at": ["x", "x"]})
        >>> made = Matrix.of({"train": source_of(Table.of(frame))})
        >>> made.columns, made.tables["train"].tolist()
        (('age', 'sex'), [[44.0, 1.0], [31.5, 0.0]])
        >>> made.in_order().tables["train"].tolist()
        [[31.5, 0.0], [44.0, 1.0]]
        """
        tables = list(sources.values())
        schema, texts = tables[0].schema, [source.rows() for source in tables]
        ends = np.cumsum([source.height for source in tables])
        features: list[tuple[str, Floats, bool]] = []
        for name in sorted(set(schema.modelled if names is None else names) - {target}):
            column = pl.concat([text[name] for text in texts])
            if schema[name].is_numeric:
                numbers = np.concatenate([source.numbers(name) for source in tables])
                features.append((name, numbers, False))
                column = column.set(pl.Series(~np.isnan(numbers)), None)
            if column.null_count() < len(column):
                levels = level_counts(column)["level"]
                codes = _numbered(column, schema[name], levels).astype(np.float64)
                codes[codes < 0] = np.nan
                features.append((name, codes, len(levels) <= MOST_LEVELS))
        features = [feature for feature in features if _varies(feature[1])]
        matrix = np.empty((ends[-1], len(features)))
        for place, (_, feature, _) in enumerate(features):
            matrix[:, place] = feature
        labels: Labels = np.zeros(ends[-1], np.int64)
        classes: tuple[str, ...] = ()
        if target is not None:
            column = pl.concat([text[target] for text in texts])
            classes = tuple(sorted(column.drop_nulls().unique()))
            labels = _numbered(column, schema[target], classes)
        return cls(
            tuple(name for name, _, _ in features),
            np.array([category for _, _, category in features], bool),
            dict(zip(sources, np.split(matrix, ends[:-1]), strict=True)),
            dict(zip(sources, np.split(labels, ends[:-1]), strict=True)),
            classes,
        )

    def in_order(self) -> "Matrix[Name]":
        """Order rows by their values, so that no result depends on how a table was sorted."""
        order = {name: in_order(rows, self.targets[name]) for name, rows in self.tables.items()}
        return dataclasses.replace(
            self,
            tables={name: rows[order[name]] for name, rows in self.tables.items()},
            targets={name: labels[order[name]] for name, labels in self.targets.items()},
        )

    def draw(self, table: Name, rows: int, rng: np.random.Generator) -> Floats:
        """Draw rows of a table without replacement; all of them where there are no more."""
        every = self.tables[table]
        return every if rows >= len(every) else every[np.sort(rng.permutation(len(every))[:rows])]


def _varies(feature: Floats) -> bool:
    present = feature[~np.isnan(feature)]
    if not len(present):
        return False
    return len(present) < len(feature) or bool(present.min() < present.max())


def _numbered(texts: pl.Series, column: Column, levels: Iterable[str]) -> Labels:
    """Number the levels of a column in the order given; what is missing is -1."""
    codec = ColumnCodec.listed(column, levels)
    return codec.encode(Values(None, texts)).astype(np.int64) - 1


def level_counts(texts: pl.Series) -> pl.DataFrame:
    """Count the levels of a column (``level``, ``times``), the most frequent first."""
    counts = texts.drop_nulls().alias("level").value_counts(name="times")
    return counts.sort(["times", "level"], descending=[True, False])


def in_order(matrix: Floats, label: Labels) -> Labels:
    """Order rows by their values, then by their label; equal rows stand together."""
    return np.lexsort([label, *matrix.T])


def mixed(first: Floats, second: Floats) -> tuple[Floats, Marks]:
    """Put the rows of two tables into one order, and mark those of the second."""
    matrix = np.concatenate([first, second])
    label = np.repeat([0, 1], [len(first), len(second)])
    order = in_order(matrix, label)
    return matrix[order], label[order] == 1


def groups(matrix: Floats) -> Labels:
    """Number the distinct rows of a matrix whose equal rows stand together."""
    before, after = matrix[:-1], matrix[1:]
    differ = ((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=1)
    return np.concatenate([[0], np.cumsum(differ)]) if len(matrix) else np.empty(0, np.int64)


def one_hot(
    rows: Floats, others: Floats, is_category: Marks, *, levels: int = 50, scaled: bool = True
) -> tuple[Floats, Floats]:
    """Turn features into columns without gaps, by what the first rows alone have.

    A category has a column of 0 and 1 for each of its most frequent levels. With ``scaled``, a
    number has mean 0 and deviation 1 and is 0 where it is missing, and a column of its own says
    where a feature is missing; without, numbers are as they are, and none may be missing.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 0.0]])
    >>> given, asked = one_hot(rows, np.array([[2.0, 7.0]]), np.array([False, True]))
    >>> given.tolist(), asked.tolist()
    ([[-1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], [[0.0, 0.0, 0.0, 0.0]])
    """
    made: list[tuple[Floats, Floats]] = []
    for place, category in enumerate(is_category):
        mine, theirs = rows[:, place], others[:, place]
        if scaled:
            mine, theirs = np.clip(mine, -HUGE, HUGE), np.clip(theirs, -HUGE, HUGE)
        missing = np.isnan(mine)
        if category:
            values, times = np.unique(mine[~missing], return_counts=True)
            for level in values[np.argsort(-times, kind="stable")[:levels]]:
                made.append(((mine == level).astype(float), (theirs == level).astype(float)))
        elif not scaled:
            made.append((mine, theirs))
        elif not missing.all():
            mean, spread = mine[~missing].mean(), mine[~missing].std() or 1.0
            made.append(
                (
                    np.where(missing, 0.0, (mine - mean) / spread),
                    np.where(np.isnan(theirs), 0.0, (theirs - mean) / spread),
                )
            )
        if scaled and missing.any() and not missing.all():
            made.append((missing.astype(float), np.isnan(theirs).astype(float)))
    if not made:
        return np.zeros((len(rows), 1)), np.zeros((len(others), 1))
    given, asked = zip(*made, strict=True)
    return np.column_stack(given), np.column_stack(asked)


def ranks(feature: Floats, category: bool) -> list[Floats]:
    """Turn a feature into terms of a regression that depend on the order of its values only.

    A number is its standardised rank (0 where it is missing), a category an indicator for each of
    its ten most frequent levels but the first, and for the rest; what is missing has an indicator.
    Indicators that hold for fewer than ten rows, or for all but fewer than ten, are left out.
    """
    from scipy.stats import rankdata

    missing = np.isnan(feature)
    marks = [missing]
    terms: list[Floats] = []
    if category:
        named = [feature == level for level in range(1, RANKED_LEVELS)]
        marks = [*named, feature >= RANKED_LEVELS, missing]
    else:
        rank = np.zeros(len(feature))
        there = rankdata(feature[~missing])
        deviation = there.std() if len(there) else 0.0
        rank[~missing] = (there - there.mean()) / deviation if deviation else 0.0
        terms.append(rank)
    many = len(feature) - FEWEST_MARKED
    return terms + [m.astype(float) for m in marks if FEWEST_MARKED <= m.sum() <= many]


def places(matrix: Floats) -> NDArray[np.float32]:
    """Give the place of each value among the distinct ones of its column, -1 where it is missing.

    Trees ask for the order of values only, and scikit-learn's keep seven digits of them.
    """
    made = np.full(matrix.shape, -1, np.float32)
    for j in range(matrix.shape[1]):
        there = ~np.isnan(matrix[:, j])
        made[there, j] = np.unique(matrix[there, j], return_inverse=True)[1]
    return made
