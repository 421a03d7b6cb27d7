"""Nearest records by a mixed distance: exact, with whole blocks of rows ruled out at once.

Every column contributes min(|a − b|, 1). Numbers come on a common scale from 0 to 1, categories
as whole numbers (equal 0, different 1), a missing value as a number far from all others (1
against a value, 0 against another missing one). Reference rows are ordered by repeated halving
along the column that separates best, so that the rows of a block are alike; a block whose box
is farther from a query than the neighbours found so far is never looked into.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.errors import OptionError

LEAF = 64
BLOCK = 4096
SMALL = 2048
SLACK = np.float32(1 - 1e-5)


def mixed_neighbors(
    queries: NDArray[np.float32],
    reference: NDArray[np.float32],
    is_category: NDArray[np.bool_],
    k: int = 2,
    *,
    euclidean: bool = False,
    exclude_self: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    brute: bool | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Find the k nearest reference rows of each query.

    Parameters
    ----------
    queries, reference : array of shape (rows, columns)
    is_category : array of bool
        Which columns hold categories (whole numbers from 0 up).
    k : int
    euclidean : bool
        Use the straight-line distance instead: no column is cut off at 1.
    exclude_self : bool
        Query i is reference row i and does not count as its own neighbour.
    brute : bool, optional
        Compare every pair; if not given, where the reference is small.

    Returns
    -------
    distance : array of shape (queries, k)
        Ascending; infinite where there are fewer rows.
    index : array of shape (queries, k)
        -1 where there are fewer rows.
    """
    if k < 1 and len(reference):
        raise OptionError(f"k = {k}", hint="look for at least one neighbour")
    rows = len(queries)
    queries = np.ascontiguousarray(queries, np.float32)
    distance = np.full((rows, k), np.inf, np.float32)
    index = np.full((rows, k), -1, np.int64)
    if not len(reference):
        return distance, index
    if brute is None:
        brute = len(reference) <= SMALL
    order, ends = _order(np.ascontiguousarray(reference, np.float32), is_category, not brute)
    columns = np.ascontiguousarray(reference[order].T, np.float32)
    low, high, present = _boxes(columns, ends, is_category)

    def work(start: int) -> None:
        here = slice(start, min(start + BLOCK, rows))
        own = start if exclude_self else -1
        _search(
            queries[here], columns, order, ends, low, high, present, is_category, euclidean, own,
            distance[here], index[here],
        )  # fmt: skip

    starts = range(0, rows, BLOCK)
    with ThreadPoolExecutor(min(threads or os.cpu_count() or 1, len(starts) or 1)) as pool:
        for done, _ in enumerate(pool.map(work, starts), start=1):
            progress(min(done * BLOCK, rows), rows)
    return (np.sqrt(distance) if euclidean else distance), index


def _order(
    reference: NDArray[np.float32], is_category: NDArray[np.bool_], halve: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the rows in the order of their blocks, and where each block ends."""
    order = np.arange(len(reference), dtype=np.int64)
    if halve:
        return order, _halve(reference, order)
    return order, np.append(np.arange(LEAF, len(order), LEAF), len(order)).astype(np.int64)


@njit(cache=True, nogil=True)
def _halve(rows, order):
    """Order the rows in place: split at the middle of the column that differs most."""
    height, width = rows.shape
    ends = np.empty(height + 1, np.int64)
    blocks = 0
    begins, stops = np.empty(128, np.int64), np.empty(128, np.int64)
    begins[0], stops[0] = 0, height
    depth = 1
    spread = np.empty(width, np.float32)
    while depth:
        depth -= 1
        begin, stop = begins[depth], stops[depth]
        size = stop - begin
        split = begin
        if size > LEAF:
            spread[:] = 0
            step = max(1, size // 64)
            for i in range(begin, stop - size // 2, step):
                a, b = order[i], order[i + size // 2]
                for j in range(width):
                    spread[j] += min(abs(rows[a, j] - rows[b, j]), np.float32(1))
            column = np.argmax(spread)
            keys = np.empty(size, np.float32)
            for i in range(size):
                keys[i] = rows[order[begin + i], column]
            ranks = np.argsort(keys)
            sorted_rows = order[begin:stop][ranks]
            order[begin:stop] = sorted_rows
            middle = size // 2
            for shift in range(size // 4):
                if keys[ranks[middle + shift]] != keys[ranks[middle + shift - 1]]:
                    middle += shift
                    break
                if keys[ranks[middle - shift]] != keys[ranks[middle - shift - 1]]:
                    middle -= shift
                    break
            split = begin + middle
        if begin < split < stop:
            begins[depth], stops[depth] = split, stop
            begins[depth + 1], stops[depth + 1] = begin, split
            depth += 2
        else:
            ends[blocks] = stop
            blocks += 1
    return ends[:blocks]


@njit(cache=True, nogil=True)
def _boxes(columns, ends, is_category):
    """Give the smallest and largest value of each block, and which categories it holds."""
    width, blocks = columns.shape[0], len(ends)
    low = np.empty((width, blocks), np.float32)
    high = np.empty((width, blocks), np.float32)
    present = np.zeros((width, blocks), np.uint64)
    for j in range(width):
        begin = 0
        for block in range(blocks):
            part = columns[j, begin : ends[block]]
            low[j, block], high[j, block] = part.min(), part.max()
            if is_category[j]:
                for value in part:
                    present[j, block] |= np.uint64(1) << (
                        np.uint64(np.int64(value)) & np.uint64(63)
                    )
            begin = ends[block]
    return low, high, present


@njit(cache=True, nogil=True)
def _search(
    queries, columns, order, ends, low, high, present, is_category, euclidean, own, distance, index
):
    width, blocks = columns.shape[0], len(ends)
    bound = np.empty(blocks, np.float32)
    one, none = np.float32(1), np.float32(0)
    largest = 0
    begin = 0
    for block in range(blocks):
        largest = max(largest, ends[block] - begin)
        begin = ends[block]
    far = np.empty(largest, np.float32)
    for query in range(queries.shape[0]):
        bound[:] = 0
        for j in range(width):
            value = queries[query, j]
            if is_category[j]:
                bit = np.uint64(np.int64(value)) & np.uint64(63)
                for block in range(blocks):
                    bound[block] += one - np.float32((present[j, block] >> bit) & np.uint64(1))
            elif euclidean:
                for block in range(blocks):
                    outside = max(max(low[j, block] - value, value - high[j, block]), none)
                    bound[block] += outside * outside
            else:
                for block in range(blocks):
                    outside = max(max(low[j, block] - value, value - high[j, block]), none)
                    bound[block] += min(outside, one)
        itself = own + query if own >= 0 else -1
        nearest = np.argmin(bound)
        _look(
            queries[query], columns, order, ends, nearest, euclidean, itself, far,
            distance[query], index[query],
        )  # fmt: skip
        for block in range(blocks):
            if block != nearest and bound[block] * SLACK <= distance[query, -1]:
                _look(
                    queries[query], columns, order, ends, block, euclidean, itself, far,
                    distance[query], index[query],
                )  # fmt: skip


@njit(cache=True, nogil=True)
def _look(query, columns, order, ends, block, euclidean, itself, far, distance, index):
    """Compare a query with the rows of a block; equal distances go to the smaller index."""
    begin = ends[block - 1] if block else 0
    size = ends[block] - begin
    one = np.float32(1)
    far[:size] = 0
    for j in range(len(query)):
        value = query[j]
        part = columns[j, begin : begin + size]
        if euclidean:
            for i in range(size):
                far[i] += (part[i] - value) * (part[i] - value)
        else:
            for i in range(size):
                far[i] += min(abs(part[i] - value), one)
    last = len(distance) - 1
    for i in range(size):
        if far[i] > distance[last]:
            continue
        row = order[begin + i]
        if row == itself or (far[i] == distance[last] and 0 <= index[last] < row):
            continue
        place = last
        while place > 0 and (
            far[i] < distance[place - 1]
            or (far[i] == distance[place - 1] and (index[place - 1] < 0 or row < index[place - 1]))
        ):
            distance[place], index[place] = distance[place - 1], index[place - 1]
            place -= 1
        distance[place], index[place] = far[i], row
