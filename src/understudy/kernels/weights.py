"""Sums over all reference points, weighted by their distance to a query; no pair is stored.

The weights of a query are never kept: each is used at once on the amounts that stand at its
reference point (how many records, the sum of their values, the votes for each level).
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

BLOCK = 256
TILE = 1024
APART = 2.0


def weighted_sums(
    queries: NDArray[np.float64],
    points: NDArray[np.float64],
    is_category: NDArray[np.bool_],
    amounts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    width: int,
    *,
    radius: float = np.inf,
    inverse: bool = True,
) -> NDArray[np.float64]:
    """Sum the amounts at all points within the radius of each query, by weight.

    Parameters
    ----------
    queries, points : array of shape (rows, columns)
    is_category : array of bool
        Where two values of such a column differ, the squared distance grows by 2: as much as it
        does on average for two numbers of standard deviation 1, and as it would with a column of
        0 and 1 for each level. All other columns count by the straight line.
    amounts : tuple of arrays
        What stands at the points, as a sparse table by rows: where each point's amounts begin
        (one more than the points), their columns, and the amounts.
    width : int
        The number of columns of that table.
    radius : float
        Points farther than this have no weight.
    inverse : bool
        Weigh by 1 / distance. A query at distance 0 from some points has the weight 1 for these
        and none for all others. Without it, all points within the radius weigh 1.

    Returns
    -------
    array of shape (queries, width)
    """
    begin, column, amount = amounts
    sums = np.zeros((len(queries), width))
    if not (len(queries) and len(points)):
        return sums
    columns = np.ascontiguousarray(points.T, np.float64)
    queries = np.ascontiguousarray(queries, np.float64)

    def work(start: int) -> None:
        here = slice(start, start + BLOCK)
        _sum(
            queries[here], columns, is_category, begin, column, amount,
            radius * radius, inverse, sums[here],
        )  # fmt: skip

    starts = range(0, len(queries), BLOCK)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(starts))) as pool:
        list(pool.map(work, starts))
    return sums


@njit(cache=True, nogil=True, error_model="numpy")
def _sum(queries, columns, is_category, begin, column, amount, limit, inverse, sums):
    """Take the points tile by tile, so that their distances are found column by column."""
    width, height = columns.shape
    squared, weights = np.empty(TILE), np.ones(TILE)
    for query in range(len(queries)):
        exact = False
        for start in range(0, height, TILE):
            size = min(TILE, height - start)
            squared[:size] = 0.0
            for j in range(width):
                value = queries[query, j]
                part = columns[j, start : start + size]
                if is_category[j]:
                    for i in range(size):
                        squared[i] += APART if part[i] != value else 0.0
                else:
                    for i in range(size):
                        squared[i] += (part[i] - value) * (part[i] - value)
            nearest = squared[0]
            for i in range(size):
                nearest = min(nearest, squared[i])
            if nearest > limit or (exact and nearest > 0.0):
                continue
            if inverse and nearest == 0.0:
                if not exact:
                    exact = True
                    sums[query, :] = 0.0
                for i in range(size):
                    weights[i] = 1.0 if squared[i] == 0.0 else 0.0
            elif inverse:
                for i in range(size):
                    weights[i] = 1.0 / np.sqrt(squared[i])
            else:
                weights[:size] = 1.0
            for i in range(size):
                if squared[i] > limit or weights[i] == 0.0:
                    continue
                for place in range(begin[start + i], begin[start + i + 1]):
                    sums[query, column[place]] += weights[i] * amount[place]
