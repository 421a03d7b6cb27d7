"""Values as whole numbers in their order, the same in all tables, and rows in a fixed order.

What is drawn at random must not depend on how a table was sorted: rows are put into an order that
their values alone decide, and columns are taken in the order of their names.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.source import Source

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
MISSING = 0


@dataclass(frozen=True)
class Places:
    """The values of some columns as whole numbers: 0 is missing, numbers come first, in order.

    Parameters
    ----------
    names : tuple of str
    numbers : tuple of array
        The distinct numbers of each column: code c stands for ``numbers[c - 1]``. None for a
        category. Words and levels have the codes behind.
    sizes : tuple of int
        One more than the largest code of each column.
    tables : tuple of arrays of shape (columns, rows)
    """

    names: tuple[str, ...]
    numbers: tuple[NDArray[np.float64], ...]
    sizes: tuple[int, ...]
    tables: tuple[Codes, ...]

    @classmethod
    def of(
        cls, sources: Sequence[Source], names: Sequence[str], as_numbers: Collection[str] = ()
    ) -> "Places":
        """Number the values that any of the tables has.

        The levels of a category that are numbers count as such where it is named.
        """
        texts = [source.rows() for source in sources]
        ends = np.cumsum([source.height for source in sources])[:-1]
        codes: list[Codes] = []
        numbers = []
        for name in names:
            column = pl.concat([rows[name] for rows in texts])
            line = np.full(len(column), np.nan)
            if name in as_numbers or sources[0].schema[name].is_numeric:
                line = np.concatenate([source.numbers(name) for source in sources])
            made, distinct = _numbered(column, line)
            codes.append(made)
            numbers.append(distinct)
        sizes = tuple(int(c.max(initial=0)) + 1 for c in codes)
        shape = (len(names), int(sum(source.height for source in sources)))
        whole = np.stack(codes) if codes else np.empty(shape, np.int32)
        return cls(tuple(names), tuple(numbers), sizes, tuple(np.split(whole, ends, axis=1)))


def _numbered(texts: pl.Series, line: NDArray[np.float64]) -> tuple[Codes, NDArray[np.float64]]:
    """Number the values of a column: 0 missing, then numbers, then words in their order."""
    is_number = ~np.isnan(line)
    codes = np.zeros(len(line), np.int32)
    distinct, places = np.unique(line[is_number], return_inverse=True)
    codes[is_number] = places + 1
    if not is_number.all():
        words = texts.set(pl.Series(is_number), None).rank("dense").fill_null(0)
        ranks = words.to_numpy().astype(np.int32)
        codes[ranks > 0] = ranks[ranks > 0] + len(distinct)
    return codes, distinct


def fixed_order(codes: Codes) -> tuple[Ints, NDArray[np.bool_]]:
    """Order rows as if at random, but by their values alone; equal rows stand together.

    Also says which rows in that order are the first of their kind.

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


def _changes(codes: Codes, order: Ints) -> NDArray[np.bool_]:
    first = np.ones(len(order), bool)
    first[1:] = (codes[:, order[1:]] != codes[:, order[:-1]]).any(axis=0)
    return first
