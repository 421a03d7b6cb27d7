"""All one-, two- and three-way tables of coded columns.

A table is packed once: each value of each column gets a bitmap of the rows that hold it. A cell
of a two- or three-way table is then the number of bits that two or three bitmaps share, counted
512 rows at a time, and the bitmap of a pair serves every table that begins with it. Tables with
many cells are counted row by row instead.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.kernels.lanes import (
    WORDS,
    add_bits,
    aligned_words,
    both,
    load,
    store,
    total,
    zero,
)

CHUNK = 128
MANY_CELLS = 1024


@dataclass(frozen=True)
class Layout:
    """Which tables are counted, and where the cells of each begin in one flat array.

    Parameters
    ----------
    sizes : array of int
        The number of codes of each column.
    subsets : array of shape (tables, ways)
        The columns of each table, in lexicographic order.
    """

    sizes: NDArray[np.int64]
    subsets: NDArray[np.int64]

    @classmethod
    def all_ways(cls, sizes: NDArray[np.int64], ways: int) -> "Layout":
        """Take every combination of so many columns."""
        chosen = list(combinations(range(len(sizes)), ways))
        return cls(np.asarray(sizes, np.int64), np.array(chosen, np.int64).reshape(-1, ways))

    @property
    def cells(self) -> NDArray[np.int64]:
        """The number of cells of each table."""
        made: NDArray[np.int64] = self.sizes[self.subsets].prod(axis=1)
        return made

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each table begins, and at last where all end."""
        return np.concatenate([[0], np.cumsum(self.cells)]).astype(np.int64)


def count_tables(
    codes: NDArray[np.unsignedinteger], layout: Layout, rows: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Count all the tables of a layout, flat, one after the other.

    Parameters
    ----------
    codes : array of shape (rows, columns)
        Every code of column j is below ``layout.sizes[j]``.
    rows : array of int, optional
        Which rows to count, each as often as it is named; all once if not given.
    """
    starts = layout.starts
    counts = np.zeros(starts[-1], np.int64)
    codes = np.asfortranarray(codes)
    rows = np.arange(len(codes)) if rows is None else rows
    if not len(rows) or not len(layout.subsets):
        return counts
    few = layout.cells <= MANY_CELLS
    if few.any():
        used = np.unique(layout.subsets[few])
        first = np.zeros(len(layout.sizes), np.int64)
        first[used] = np.concatenate([[0], np.cumsum(layout.sizes[used])[:-1]])
        words = -(-len(rows) // (64 * WORDS)) * WORDS
        bitmaps = aligned_words(int(layout.sizes[used].sum()) * words)
        _pack(codes, rows, used, first, words, bitmaps)
        pairs = layout.sizes[layout.subsets[few, :2]].prod(axis=1)
        scratch = aligned_words(int(pairs.max()) * CHUNK if layout.subsets.shape[1] == 3 else 0)
        kernel = (_one_way, _two_way, _three_way)[layout.subsets.shape[1] - 1]
        kernel(
            bitmaps,
            words,
            first,
            layout.sizes,
            layout.subsets[few],
            starts[:-1][few],
            counts,
            scratch,
        )
    if not few.all():
        _by_rows(codes, rows, layout.sizes, layout.subsets[~few], starts[:-1][~few], counts)
    return counts


def table_distances(
    a: NDArray[np.int64], b: NDArray[np.int64], layout: Layout
) -> NDArray[np.float64]:
    """Give the total variation distance between the tables of two counts."""
    return _variation(a, b, layout.starts)


@njit(cache=True, nogil=True)
def _variation(a, b, starts):
    made = np.empty(len(starts) - 1)
    for table in range(len(made)):
        begin, end = starts[table], starts[table + 1]
        rows, others = 0.0, 0.0
        for cell in range(begin, end):
            rows += a[cell]
            others += b[cell]
        distance = 0.0
        for cell in range(begin, end):
            distance += abs(a[cell] / rows - b[cell] / others)
        made[table] = distance / 2
    return made


@njit(cache=True, nogil=True)
def _pack(codes, rows, used, first, words, bitmaps):
    for j in used:
        base = first[j]
        for i in range(len(rows)):
            word = (base + codes[rows[i], j]) * words + (i >> 6)
            bitmaps[word] |= np.uint64(1) << np.uint64(i & 63)


@njit(cache=True, nogil=True)
def _one_way(bitmaps, words, first, sizes, subsets, starts, counts, scratch):
    for table in range(len(subsets)):
        column = subsets[table, 0]
        for value in range(sizes[column]):
            sums = zero()
            begin = (first[column] + value) * words
            for word in range(begin, begin + words, WORDS):
                sums = add_bits(sums, load(bitmaps, word))
            counts[starts[table] + value] += total(sums)


@njit(cache=True, nogil=True)
def _two_way(bitmaps, words, first, sizes, subsets, starts, counts, scratch):
    for begin in range(0, words, CHUNK):
        end = min(begin + CHUNK, words)
        for table in range(len(subsets)):
            i, j = subsets[table]
            cell = starts[table]
            for a in range(sizes[i]):
                left = (first[i] + a) * words
                for b in range(sizes[j]):
                    right = (first[j] + b) * words
                    sums = zero()
                    for word in range(begin, end, WORDS):
                        shared = both(load(bitmaps, left + word), load(bitmaps, right + word))
                        sums = add_bits(sums, shared)
                    counts[cell] += total(sums)
                    cell += 1


@njit(cache=True, nogil=True)
def _three_way(bitmaps, words, first, sizes, subsets, starts, counts, scratch):
    in_pair = np.zeros(len(scratch) // CHUNK, np.int64)
    for begin in range(0, words, CHUNK):
        end = min(begin + CHUNK, words)
        last_i, last_j = -1, -1
        for table in range(len(subsets)):
            i, j, k = subsets[table]
            if i != last_i or j != last_j:
                _pair(bitmaps, words, first, sizes, i, j, begin, end, scratch, in_pair)
                last_i, last_j = i, j
            size = sizes[k]
            for pair in range(sizes[i] * sizes[j]):
                rest = in_pair[pair]
                cell = starts[table] + pair * size
                shift = pair * CHUNK - begin
                value = 0
                while rest > 0 and value < size - 1:
                    sums = zero()
                    third = (first[k] + value) * words
                    for word in range(begin, end, WORDS):
                        shared = both(load(scratch, shift + word), load(bitmaps, third + word))
                        sums = add_bits(sums, shared)
                    found = total(sums)
                    counts[cell + value] += found
                    rest -= found
                    value += 1
                counts[cell + value] += rest


@njit(cache=True, nogil=True)
def _pair(bitmaps, words, first, sizes, i, j, begin, end, scratch, in_pair):
    """Keep the bitmaps of all pairs of values of two columns, and how many rows each has."""
    for a in range(sizes[i]):
        left = (first[i] + a) * words
        for b in range(sizes[j]):
            right = (first[j] + b) * words
            pair = a * sizes[j] + b
            shift = pair * CHUNK - begin
            sums = zero()
            for word in range(begin, end, WORDS):
                shared = both(load(bitmaps, left + word), load(bitmaps, right + word))
                store(scratch, shift + word, shared)
                sums = add_bits(sums, shared)
            in_pair[pair] = total(sums)


@njit(cache=True, nogil=True)
def _by_rows(codes, rows, sizes, subsets, starts, counts):
    for table in range(len(subsets)):
        start = starts[table]
        for row in rows:
            cell = 0
            for column in subsets[table]:
                cell = cell * sizes[column] + codes[row, column]
            counts[start + cell] += 1
