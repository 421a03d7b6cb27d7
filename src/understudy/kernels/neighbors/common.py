"""One record near to both halves of a person: exact, with whole blocks of rows ruled out at once.

Distances are those of ``mixed``: every column contributes min(|a − b|, 1).
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.kernels.neighbors.mixed import SLACK, SMALL, _boxes, _order

Points = NDArray[np.float32]
EQUAL = 1e-6


def common_neighbors(
    queries: Points,
    reference: Points,
    is_category: NDArray[np.bool_],
    in_second: NDArray[np.bool_],
    first: Points,
    second: Points,
    *,
    brute: bool | None = None,
) -> NDArray[np.int64]:
    """Find, for each query, a reference row that is near by one set of columns and by the other.

    Parameters
    ----------
    queries, reference : array of shape (rows, columns)
    is_category, in_second : array of bool
        Which columns hold categories, and which belong to the second set.
    first, second : array of float
        How near is near: for each query, the largest distance by the columns of either set.
        Distances that differ by a millionth are equal.
    brute : bool, optional
        Compare every pair; if not given, where the reference is small.

    Returns
    -------
    array of int
        The smallest index of such a row; -1 where there is none.
    """
    found = np.full(len(queries), -1, np.int64)
    if not len(reference):
        return found
    if brute is None:
        brute = len(reference) <= SMALL
    # columns of the first set stand first, so that sums are taken in one order
    turn = np.argsort(in_second, kind="stable")
    rows = np.ascontiguousarray(reference[:, turn], np.float32)
    order, ends = _order(rows, is_category[turn], not brute)
    columns = np.ascontiguousarray(rows[order].T)
    low, high, present = _boxes(columns, ends, is_category[turn])
    limits = np.stack([first, second]).astype(np.float32) * np.float32(1 + EQUAL)
    _search(
        np.ascontiguousarray(queries[:, turn], np.float32), columns, order, ends, low, high,
        present, is_category[turn], int((~in_second).sum()), limits, found,
    )  # fmt: skip
    return found


@njit(cache=True, nogil=True)
def _search(
    queries, columns, order, ends, low, high, present, is_category, split, limits, found
):  # fmt: skip
    blocks = len(ends)
    bounds = np.empty((2, blocks), np.float32)
    for query in range(len(queries)):
        for half in range(2):
            begin, end = (0, split) if half == 0 else (split, len(columns))
            _bound(queries[query], low, high, present, is_category, begin, end, bounds[half])
        for block in range(blocks):
            if (
                bounds[0, block] * SLACK <= limits[0, query]
                and bounds[1, block] * SLACK <= limits[1, query]
            ):
                _look(
                    queries[query], columns, order, ends[block - 1] if block else 0, ends[block],
                    split, limits[0, query], limits[1, query], found, query,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def _bound(query, low, high, present, is_category, begin, end, bound):
    """Give the smallest distance that a row of each block can have by some columns."""
    one, none = np.float32(1), np.float32(0)
    bound[:] = 0
    for j in range(begin, end):
        value = query[j]
        if is_category[j]:
            bit = np.uint64(np.int64(value)) & np.uint64(63)
            for block in range(len(bound)):
                bound[block] += one - np.float32((present[j, block] >> bit) & np.uint64(1))
        else:
            for block in range(len(bound)):
                outside = max(max(low[j, block] - value, value - high[j, block]), none)
                bound[block] += min(outside, one)


@njit(cache=True, nogil=True)
def _look(query, columns, order, begin, end, split, first, second, found, place):
    one, none = np.float32(1), np.float32(0)
    width = len(query)
    for i in range(begin, end):
        row = order[i]
        if 0 <= found[place] < row:
            continue
        far = none
        for j in range(split):
            far += min(abs(columns[j, i] - query[j]), one)
        if far > first:
            continue
        far = none
        for j in range(split, width):
            far += min(abs(columns[j, i] - query[j]), one)
        if far <= second:
            found[place] = row
