"""Rows as features for scikit-learn's histogram boosting, the same for every table of a game."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which

Matrix = NDArray[np.float64]
MOST_LEVELS = 254


@dataclass(frozen=True)
class Features:
    """Tables as numbers: one matrix a table, and of which column each feature is.

    Rows stand in an order that depends on their values only, and features in the order of the
    columns' names, so that no result depends on how a table was sorted.
    """

    columns: tuple[str, ...]
    is_category: NDArray[np.bool_]
    tables: Mapping[Which, Matrix]
    targets: Mapping[Which, NDArray[np.int64]]
    classes: tuple[str, ...] = ()


def features(
    comparison: Comparison, tables: Sequence[Which], *, target: str | None = None
) -> Features:
    """Turn tables into features, by what these tables have together.

    A number is a feature as it is, a date its instant. A category has codes, most frequent
    first: categories up to 254 levels, an ordered number beyond. What is missing is nan. A
    column of numbers with words in it has a second feature: which word. With a target, its
    classes are numbered in the order of their names and -1 stands for a missing one.
    """
    texts = {t: comparison.rows(t) for t in tables}
    ends = np.cumsum([len(texts[t]) for t in tables])[:-1]
    made: list[Matrix] = []
    columns: list[str] = []
    is_category: list[bool] = []

    def add(name: str, feature: Matrix, category: bool) -> None:
        present = feature[~np.isnan(feature)]
        constant = not len(present) or (
            len(present) == len(feature) and present.min() == present.max()
        )
        if not constant:
            made.append(feature)
            columns.append(name)
            is_category.append(category)

    for name in sorted(comparison.names):
        if name == target:
            continue
        column = pl.concat([texts[t][name] for t in tables])
        if comparison.schema[name].is_numeric:
            numbers = np.concatenate([comparison.source(t).numbers(name) for t in tables])
            add(name, numbers, False)
            column = column.set(pl.Series(~np.isnan(numbers)), None)
            if column.null_count() == len(column):
                continue
        codes, levels = _by_frequency(column)
        add(name, codes, levels <= MOST_LEVELS)
    rows = sum(len(texts[t]) for t in tables)
    matrix = np.column_stack(made) if made else np.empty((rows, 0))
    classes, labels = _classes(
        None if target is None else pl.concat([texts[t][target] for t in tables]), rows
    )
    sorted_tables = {}
    sorted_targets = {}
    for table, part, label in zip(
        tables, np.split(matrix, ends), np.split(labels, ends), strict=True
    ):
        order = in_order(part, label)
        sorted_tables[table], sorted_targets[table] = part[order], label[order]
    return Features(
        tuple(columns), np.array(is_category, bool), sorted_tables, sorted_targets, classes
    )


def in_order(matrix: Matrix, label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order rows by their values, then by their label; equal rows stand together."""
    return np.lexsort([label, *matrix.T])


def groups(matrix: Matrix) -> NDArray[np.int64]:
    """Number the distinct rows of a matrix whose equal rows stand together."""
    before, after = matrix[:-1], matrix[1:]
    differ = ((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=1)
    return np.concatenate([[0], np.cumsum(differ)]) if len(matrix) else np.empty(0, np.int64)


def draw(features: Features, table: Which, rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows of a table without replacement; all of them where there are no more."""
    height = len(features.tables[table])
    return np.arange(height) if rows >= height else np.sort(rng.permutation(height)[:rows])


def _by_frequency(texts: pl.Series) -> tuple[Matrix, int]:
    """Number the levels of a column, the most frequent first."""
    counts = texts.drop_nulls().alias("level").value_counts(name="times")
    levels = counts.sort(["times", "level"], descending=[True, False])["level"]
    ranks = pl.Series(np.arange(len(levels), dtype=np.float64))
    codes = texts.replace_strict(levels, ranks, default=None, return_dtype=pl.Float64)
    made: Matrix = codes.fill_null(float("nan")).to_numpy()
    return made, len(levels)


def _classes(texts: pl.Series | None, rows: int) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    if texts is None:
        return (), np.zeros(rows, np.int64)
    names = sorted(texts.drop_nulls().unique())
    numbers = texts.replace_strict(
        names, range(len(names)), default=None, return_dtype=pl.Int64
    ).fill_null(-1)
    return tuple(names), numbers.to_numpy()
