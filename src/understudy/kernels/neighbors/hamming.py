"""Nearest records by the number of columns that differ: exact, every pair, no pair stored.

Reference rows are taken in tiles. In a tile, each value of each column has a bitmap of the rows
that hold it. The rows that agree with a query in column j are then one bitmap, and adding up
the bitmaps of all columns with carry-save adders counts, for 512 rows at a time, the columns
in which each agrees; one comparison per binary digit tells whether any row is near enough to
matter. Where a table has too many values for that, rows are compared value by value.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.kernels.lanes import (
    BITS,
    WORDS,
    aligned_words,
    any_bit,
    both,
    differ,
    either,
    load,
    lowest_bit,
    majority,
    parity,
    popcount,
    store,
    zero,
)

MOST_COLUMNS = 511
MOST_PLANES = 9
BLOCK = 8192
MOST_VALUES = 200_000
GROUP = 8
TILE = 1024


@dataclass(frozen=True)
class HammingNeighbors:
    """For each query its nearest reference rows.

    ``distance`` and ``second`` are the smallest and second smallest number of differing columns
    (equal where several rows are nearest; one more than the columns where there is no such row),
    ``count`` how many rows are nearest, ``indices`` the first of them in reference order, filled
    up with -1.
    """

    distance: NDArray[np.int32]
    second: NDArray[np.int32]
    count: NDArray[np.int64]
    indices: NDArray[np.int32]


def hamming_neighbors(
    queries: NDArray[np.unsignedinteger],
    reference: NDArray[np.unsignedinteger],
    *,
    cap: int = 20,
    exclude_self: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    bitmaps: bool | None = None,
) -> HammingNeighbors:
    """Find the nearest reference rows of each query.

    Parameters
    ----------
    queries, reference : array of shape (rows, columns)
        Codes of the same columns.
    cap : int
        How many indices of nearest rows to keep. With 0 only ``distance`` is found, faster;
        ``second`` and ``count`` are then not meaningful.
    exclude_self : bool
        Query i is reference row i and does not count as its own neighbour.
    threads : int, optional
        All cores if not given.
    bitmaps : bool, optional
        Choose the algorithm; by the numbers of columns and values if not given.
    """
    width = reference.shape[1]
    if width < 1:
        raise ValueError("there are no columns to compare")
    if exclude_self and len(queries) != len(reference):
        raise ValueError("to exclude each row itself, queries and reference must be one table")
    rows = len(queries)
    found = HammingNeighbors(
        np.full(rows, width + 1, np.int32),
        np.full(rows, width + 1, np.int32),
        np.zeros(rows, np.int64),
        np.full((rows, cap), -1, np.int32),
    )
    reference = np.ascontiguousarray(reference)
    sizes = reference.max(axis=0, initial=0).astype(np.int64) + 1
    if bitmaps is None:
        bitmaps = width <= MOST_COLUMNS and int(sizes.sum()) <= MOST_VALUES
    search = _by_bitmaps(reference, sizes) if bitmaps else _by_values(reference)
    starts = range(0, rows, BLOCK)
    threads = threads or os.cpu_count() or 1

    def work(start: int) -> None:
        here = slice(start, min(start + BLOCK, rows))
        search(
            np.ascontiguousarray(queries[here]),
            start if exclude_self else -1,
            found.distance[here],
            found.second[here],
            found.count[here],
            found.indices[here],
        )

    with ThreadPoolExecutor(min(threads, len(starts) or 1)) as pool:
        for done, _ in enumerate(pool.map(work, starts), start=1):
            progress(min(done * BLOCK, rows), rows)
    return found


Search = Callable[..., None]


def _by_bitmaps(reference: NDArray[np.unsignedinteger], sizes: NDArray[np.int64]) -> Search:
    width = reference.shape[1]
    first = np.concatenate([[1], 1 + np.cumsum(sizes)[:-1]])
    values = 1 + int(sizes.sum())
    vectors = 2 if values <= 2000 else 1
    padded = -(-width // GROUP) * GROUP
    digits = _digits_absent()

    def search(queries, own, distance, second, count, indices):
        known = queries < sizes
        offsets = np.zeros((len(queries), padded), np.int64)
        offsets[:, :width] = np.where(known, queries + first, 0) * (WORDS * vectors)
        bitmaps = aligned_words(values * WORDS * vectors)
        planes = aligned_words((MOST_PLANES + 1) * WORDS)
        need = np.zeros(len(queries), np.int32)
        best = np.full(len(queries), -1, np.int32)
        runner_up = np.full(len(queries), -1, np.int32)
        tile = BITS * vectors
        for start in range(0, len(reference), tile):
            size = min(tile, len(reference) - start)
            _fill(reference[start : start + size], first, bitmaps, WORDS * vectors)
            _scan(
                bitmaps, offsets, digits, width.bit_length(), start, size, vectors, own,
                planes, need, best, runner_up, count, indices,
            )  # fmt: skip
        distance[:] = width - best
        second[:] = width - runner_up

    return search


def _digits_absent() -> NDArray[np.uint64]:
    """For each threshold and each binary digit, a vector of ones where the digit is 0."""
    table = aligned_words((MOST_COLUMNS + 2) * MOST_PLANES * WORDS)
    shaped = table.reshape(-1, MOST_PLANES, WORDS)
    for digit in range(MOST_PLANES):
        absent = (np.arange(len(shaped)) >> digit) & 1 == 0
        shaped[absent, digit] = np.iinfo(np.uint64).max
    return table


@njit(cache=True, nogil=True)
def _fill(rows, first, bitmaps, stride):
    bitmaps[:] = 0
    for i in range(rows.shape[0]):
        word, bit = i >> 6, np.uint64(1) << np.uint64(i & 63)
        for j in range(rows.shape[1]):
            bitmaps[(first[j] + rows[i, j]) * stride + word] |= bit


@njit(cache=True, nogil=True)
def _scan(
    bitmaps, offsets, digits, depth, start, size, vectors, own,
    planes, need, best, runner_up, count, indices,
):  # fmt: skip
    """Compare every query with the rows of a tile."""
    groups = offsets.shape[1] // GROUP
    for query in range(offsets.shape[0]):
        for vector in range(vectors):
            shift = vector * WORDS
            p0, p1, p2, p3, p4 = zero(), zero(), zero(), zero(), zero()
            p5, p6, p7, p8 = zero(), zero(), zero(), zero()
            for group in range(groups):
                at = group * GROUP
                a = load(bitmaps, offsets[query, at] + shift)
                b = load(bitmaps, offsets[query, at + 1] + shift)
                twos, p0 = majority(p0, a, b), parity(p0, a, b)
                a = load(bitmaps, offsets[query, at + 2] + shift)
                b = load(bitmaps, offsets[query, at + 3] + shift)
                more, p0 = majority(p0, a, b), parity(p0, a, b)
                fours, p1 = majority(p1, twos, more), parity(p1, twos, more)
                a = load(bitmaps, offsets[query, at + 4] + shift)
                b = load(bitmaps, offsets[query, at + 5] + shift)
                twos, p0 = majority(p0, a, b), parity(p0, a, b)
                a = load(bitmaps, offsets[query, at + 6] + shift)
                b = load(bitmaps, offsets[query, at + 7] + shift)
                more, p0 = majority(p0, a, b), parity(p0, a, b)
                again, p1 = majority(p1, twos, more), parity(p1, twos, more)
                carry, p2 = majority(p2, fours, again), parity(p2, fours, again)
                carry, p3 = both(p3, carry), differ(p3, carry)
                if depth > 4:
                    carry, p4 = both(p4, carry), differ(p4, carry)
                    if depth > 5:
                        carry, p5 = both(p5, carry), differ(p5, carry)
                        carry, p6 = both(p6, carry), differ(p6, carry)
                        carry, p7 = both(p7, carry), differ(p7, carry)
                        p8 = differ(p8, carry)
            digit = need[query] * (MOST_PLANES * WORDS)
            enough = either(p0, load(digits, digit))
            enough = majority(p1, load(digits, digit + WORDS), enough)
            enough = majority(p2, load(digits, digit + 2 * WORDS), enough)
            enough = majority(p3, load(digits, digit + 3 * WORDS), enough)
            if depth > 4:
                enough = majority(p4, load(digits, digit + 4 * WORDS), enough)
                if depth > 5:
                    enough = majority(p5, load(digits, digit + 5 * WORDS), enough)
                    enough = majority(p6, load(digits, digit + 6 * WORDS), enough)
                    enough = majority(p7, load(digits, digit + 7 * WORDS), enough)
                    enough = majority(p8, load(digits, digit + 8 * WORDS), enough)
            if any_bit(enough):
                store(planes, 0, p0)
                store(planes, WORDS, p1)
                store(planes, 2 * WORDS, p2)
                store(planes, 3 * WORDS, p3)
                store(planes, 4 * WORDS, p4)
                store(planes, 5 * WORDS, p5)
                store(planes, 6 * WORDS, p6)
                store(planes, 7 * WORDS, p7)
                store(planes, 8 * WORDS, p8)
                store(planes, MOST_PLANES * WORDS, enough)
                _take(
                    planes, depth, query, start + vector * BITS, start + size, own,
                    need, best, runner_up, count, indices,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def _take(planes, depth, query, start, end, own, need, best, runner_up, count, indices):
    """Take the rows of one vector that matter: largest number of equal columns first."""
    cap = indices.shape[1]
    for word in range(WORDS):
        mask = planes[MOST_PLANES * WORDS + word]
        begin = start + 64 * word
        if begin >= end:
            break
        if end - begin < 64:
            mask &= (np.uint64(1) << np.uint64(end - begin)) - np.uint64(1)
        if own >= 0 and begin <= own + query < begin + 64:
            mask &= ~(np.uint64(1) << np.uint64(own + query - begin))
        while mask != 0:
            equal, rows = 0, mask
            for digit in range(depth - 1, -1, -1):
                having = rows & planes[digit * WORDS + word]
                if having != 0:
                    rows = having
                    equal |= 1 << digit
            if equal < need[query]:
                break
            mask &= ~rows
            many = popcount(rows)
            if equal > best[query]:
                runner_up[query] = equal if many > 1 else best[query]
                best[query] = equal
                count[query] = 0
            elif equal == best[query]:
                runner_up[query] = equal
            else:
                runner_up[query] = equal
                need[query] = equal + 1
                continue
            while rows != 0 and count[query] < cap:
                indices[query, count[query]] = begin + lowest_bit(rows)
                rows &= rows - np.uint64(1)
                count[query] += 1
                many -= 1
            count[query] += many
            if cap == 0:
                need[query] = best[query] + 1
            elif best[query] == runner_up[query]:
                need[query] = best[query]
            else:
                need[query] = runner_up[query] + 1
    if count[query] < cap:
        indices[query, count[query] :] = -1


def _by_values(reference: NDArray[np.unsignedinteger]) -> Search:
    columns = np.ascontiguousarray(reference.T)

    def search(queries, own, distance, second, count, indices):
        kind = np.result_type(queries, columns)
        rows, others = queries.astype(kind, copy=False), columns.astype(kind, copy=False)
        scratch = np.empty(TILE, np.uint8 if len(columns) < 255 else np.uint16)
        _compare(rows, others, scratch, own, distance, second, count, indices)

    return search


@njit(cache=True, nogil=True)
def _compare(queries, columns, differing, own, distance, second, count, indices):
    """Compare rows value by value; ``differing`` is scratch, wide enough for the count."""
    width, height = columns.shape
    cap = indices.shape[1]
    tile = len(differing)
    for query in range(queries.shape[0]):
        best, runner_up, ties = width + 1, width + 1, 0
        for start in range(0, height, tile):
            size = min(tile, height - start)
            differing[:] = 0
            for j in range(width):
                value = queries[query, j]
                part = columns[j, start : start + size]
                for i in range(size):
                    differing[i] += part[i] != value
            itself = own + query - start if own >= 0 else -1
            nearest = differing[0]
            for i in range(size):
                nearest = min(nearest, differing[i])
            if nearest >= runner_up and (nearest > best or cap == 0):
                continue
            for i in range(size):
                far = np.int64(differing[i])
                if i == itself or far > runner_up:
                    continue
                if far < best:
                    runner_up, best, ties = best, far, 0
                elif far > best:
                    runner_up = far
                    continue
                else:
                    runner_up = far
                if ties < cap:
                    indices[query, ties] = start + i
                ties += 1
        distance[query], second[query], count[query] = best, runner_up, ties
        if ties < cap:
            indices[query, ties:] = -1
