"""Nearest records by the number of columns that differ."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

TILE = 1024


def hamming_nearest(
    queries: NDArray[np.unsignedinteger], reference: NDArray[np.unsignedinteger]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Find for each query the smallest number of differing columns, and how many rows have it.

    Exact; every pair is looked at, in tiles, so memory does not grow with their number.

    Parameters
    ----------
    queries, reference : array of shape (rows, columns)
        Codes of the same columns.

    Returns
    -------
    distance : array of int32
        One more than the number of columns where there is no reference row.
    count : array of int64
    """
    columns = np.ascontiguousarray(reference.T)
    rows = np.ascontiguousarray(queries)
    if rows.dtype != columns.dtype:
        rows, columns = rows.astype(np.uint16), columns.astype(np.uint16)
    distance = np.empty(len(rows), np.int32)
    count = np.empty(len(rows), np.int64)
    threads = os.cpu_count() or 1
    parts = np.linspace(0, len(rows), threads + 1).astype(int)

    def work(part: int) -> None:
        here = slice(parts[part], parts[part + 1])
        _nearest(rows[here], columns, distance[here], count[here])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    return distance, count


@njit(cache=True, nogil=True)
def _nearest(rows, columns, distance, count):
    width, height = columns.shape
    differing = np.empty(TILE, np.uint16)
    for query in range(rows.shape[0]):
        best, ties = width + 1, 0
        for start in range(0, height, TILE):
            size = min(TILE, height - start)
            for i in range(size):
                differing[i] = 0
            for j in range(width):
                value = rows[query, j]
                tile = columns[j, start : start + size]
                for i in range(size):
                    differing[i] += tile[i] != value
            for i in range(size):
                if differing[i] < best:
                    best, ties = differing[i], 1
                elif differing[i] == best:
                    ties += 1
        distance[query] = best
        count[query] = ties
