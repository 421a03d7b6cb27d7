"""Choose rows so that their tables of counts come close to targets."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


def count_cells(
    groups: NDArray[np.uint8], columns: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Count the cells of several tables, one after the other.

    Parameters
    ----------
    groups : array, row by row
        The group of each row in each column.
    columns : array of shape (tables, 3)
        The columns of each table; -1 where there are fewer than three.
    sizes : array
        The number of groups of each column.
    """
    begin = offsets(columns, sizes)
    return _count(np.ascontiguousarray(groups.T), _ways(columns, sizes, begin), begin[-1])


def offsets(columns: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give where each table's cells begin, and the end."""
    cells = np.where(columns >= 0, sizes[columns], 1).prod(axis=1)
    return np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _count(groups, ways, cells):
    counts = np.zeros(cells)
    for table in range(len(ways)):
        a, b, c, stride_a, stride_b, begin = ways[table]
        for row in range(groups.shape[1]):
            cell = begin + groups[a, row] * stride_a + groups[b, row] * stride_b
            if c >= 0:
                cell += groups[c, row]
            counts[cell] += 1
    return counts


def select(
    groups: NDArray[np.uint8],
    columns: NDArray[np.int64],
    sizes: NDArray[np.int64],
    target: NDArray[np.float64],
    rows: int,
    *,
    sweeps: int,
) -> NDArray[np.int64]:
    """Choose rows, none twice, whose counts come close to the target.

    First one row after the other, the best of a few candidates for the counts so far; then, in
    some sweeps, each row is exchanged for a candidate that is not used where that is better.
    """
    if not rows:
        return np.empty(0, np.int64)
    ways = _ways(columns, sizes, offsets(columns, sizes))
    return _select(groups, ways, target, rows, sweeps)


@njit(cache=True, nogil=True)
def _select(groups, ways, target, rows, sweeps):
    height, tables = len(groups), len(ways)
    many = height // rows
    state = np.empty((len(target), 3), np.float32)
    for cell in range(len(target)):
        state[cell, 0], state[cell, 1] = 0, target[cell]
        state[cell, 2] = 1 / (target[cell] + 2)
    chosen, spare = np.empty(rows, np.int64), np.empty(height - rows, np.int64)
    spares = 0
    cells = np.empty((many + 1, tables), np.int32)
    for i in range(rows):
        done = np.float32((i + 1) / rows)
        best, which = np.inf, 0
        for c in range(many):
            _find(groups[i * many + c], ways, cells[c])
            loss = _loss(cells[c], state, done)
            if loss < best:
                best, which = loss, c
        for cell in cells[which]:
            state[cell, 0] += 1
        for c in range(many):
            if c == which:
                chosen[i] = i * many + c
            else:
                spare[spares] = i * many + c
                spares += 1
    for row in range(rows * many, height):
        spare[spares] = row
        spares += 1
    for sweep in range(sweeps if spares else 0):
        for i in range(rows):
            _find(groups[chosen[i]], ways, cells[many])
            for cell in cells[many]:
                state[cell, 0] -= 1
            best, which, at = _loss(cells[many], state, np.float32(1)), many, 0
            for c in range(min(many - 1, spares)):
                place = (i * (many - 1) + c + sweep * 7919) % spares
                _find(groups[spare[place]], ways, cells[c])
                loss = _loss(cells[c], state, np.float32(1))
                if loss < best:
                    best, which, at = loss, c, place
            if which < many:
                chosen[i], spare[at] = spare[at], chosen[i]
            for cell in cells[which]:
                state[cell, 0] += 1
    return chosen


@njit(cache=True, nogil=True)
def _ways(columns, sizes, begin):
    """Prepare how a row's groups give its cells: three columns, two strides and an offset."""
    ways = np.zeros((len(columns), 6), np.int32)
    for table in range(len(columns)):
        a, b, c = columns[table]
        size_b, size_c = sizes[b] if b >= 0 else 1, sizes[c] if c >= 0 else 1
        ways[table] = (a, max(b, 0), max(c, 0), size_b * size_c, size_c * (b >= 0), begin[table])
        if c < 0:
            ways[table, 2] = -1
    return ways


@njit(cache=True, nogil=True)
def _find(row, ways, cells):
    for table in range(len(ways)):
        cell = ways[table, 5] + row[ways[table, 0]] * ways[table, 3]
        cell += row[ways[table, 1]] * ways[table, 4]
        if ways[table, 2] >= 0:
            cell += row[ways[table, 2]]
        cells[table] = cell


@njit(cache=True, nogil=True, fastmath=True)
def _loss(cells, state, done):
    """Give what adding a row changes in the weighted squares of counts less their targets."""
    loss = np.float32(0)
    for cell in cells:
        loss += (state[cell, 0] - done * state[cell, 1] + np.float32(0.5)) * state[cell, 2]
    return loss
