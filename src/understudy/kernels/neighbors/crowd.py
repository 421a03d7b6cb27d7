"""Sums over all rows that are as far from a query as given, however many they are.

Distances are those of ``mixed``: every column contributes min(|a − b|, 1). Rows are counted and
not listed, so that memory does not grow with a crowd of equally near rows.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.kernels.neighbors.mixed import SLACK, SMALL, _boxes, _order

Points = NDArray[np.float32]


def crowd_sums(
    queries: Points,
    reference: Points,
    is_category: NDArray[np.bool_],
    near: Points,
    far: Points,
    starts: NDArray[np.int64],
    place: NDArray[np.int64],
    amount: NDArray[np.float64],
    width: int,
    *,
    brute: bool | None = None,
) -> NDArray[np.float64]:
    """Add up what stands at the reference rows between two distances of each query.

    Parameters
    ----------
    queries, reference : array of shape (rows, columns)
    is_category : array of bool
        Which columns hold categories.
    near, far : array of float
        The smallest and the largest distance that counts, for each query.
    starts, place, amount : array
        What stands at the rows: row i adds ``amount[j]`` to the sum ``place[j]``, for j from
        ``starts[i]`` up to ``starts[i + 1]``.
    width : int
        How many sums there are.
    brute : bool, optional
        Compare every pair; if not given, where the reference is small.

    Returns
    -------
    array of shape (queries, width)
    """
    made = np.zeros((len(queries), width))
    if not len(reference) or not len(queries):
        return made
    if brute is None:
        brute = len(reference) <= SMALL
    order, ends = _order(np.ascontiguousarray(reference, np.float32), is_category, not brute)
    columns = np.ascontiguousarray(reference[order].T, np.float32)
    low, high, present = _boxes(columns, ends, is_category)
    _add(
        np.ascontiguousarray(queries, np.float32), columns, order, ends, low, high, present,
        is_category, near.astype(np.float32), far.astype(np.float32), starts, place, amount, made,
    )  # fmt: skip
    return made


@njit(cache=True, nogil=True)
def _add(
    queries, columns, order, ends, low, high, present, is_category, near, far, starts, place,
    amount, made,
):  # fmt: skip
    one, none = np.float32(1), np.float32(0)
    width = len(columns)
    for query in range(len(queries)):
        begin = 0
        for block in range(len(ends)):
            bound = none
            for j in range(width):
                value = queries[query, j]
                if is_category[j]:
                    bit = np.uint64(np.int64(value)) & np.uint64(63)
                    bound += one - np.float32((present[j, block] >> bit) & np.uint64(1))
                else:
                    outside = max(max(low[j, block] - value, value - high[j, block]), none)
                    bound += min(outside, one)
            if bound * SLACK <= far[query]:
                for i in range(begin, ends[block]):
                    apart = none
                    for j in range(width):
                        apart += min(abs(columns[j, i] - queries[query, j]), one)
                    if near[query] <= apart <= far[query]:
                        for each in range(starts[order[i]], starts[order[i] + 1]):
                            made[query, place[each]] += amount[each]
            begin = ends[block]
