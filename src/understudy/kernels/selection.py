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
    return _count(groups, columns, sizes, offsets(columns, sizes))


def offsets(columns: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give where each table's cells begin, and the end."""
    cells = np.where(columns >= 0, sizes[columns], 1).prod(axis=1)
    return np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _cell(groups, row, columns, sizes, begin, table):
    cell = np.int64(groups[row, columns[table, 0]])
    for place in range(1, 3):
        j = columns[table, place]
        if j < 0:
            break
        cell = cell * sizes[j] + groups[row, j]
    return begin[table] + cell


@njit(cache=True, nogil=True)
def _count(groups, columns, sizes, begin):
    counts = np.zeros(begin[-1])
    for row in range(groups.shape[0]):
        for table in range(columns.shape[0]):
            counts[_cell(groups, row, columns, sizes, begin, table)] += 1
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
    return _select(groups, columns, sizes, offsets(columns, sizes), target, rows, sweeps)


@njit(cache=True, nogil=True)
def _select(groups, columns, sizes, begin, target, rows, sweeps):
    height, tables = len(groups), len(columns)
    many = height // rows
    counts = np.zeros(len(target))
    scale = 1 / (target + 2)
    chosen, spare = np.empty(rows, np.int64), np.empty(height - rows, np.int64)
    spares = 0
    cells = np.empty((many + 1, tables), np.int64)
    for i in range(rows):
        done = (i + 1) / rows
        best, which = np.inf, 0
        for c in range(many):
            row, loss = i * many + c, 0.0
            for t in range(tables):
                cell = _cell(groups, row, columns, sizes, begin, t)
                cells[c, t] = cell
                loss += (counts[cell] - done * target[cell]) * scale[cell]
                loss += 0.5 * scale[cell]
            if loss < best:
                best, which = loss, c
        for t in range(tables):
            counts[cells[which, t]] += 1
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
            old, loss = chosen[i], 0.0
            for t in range(tables):
                cell = _cell(groups, old, columns, sizes, begin, t)
                cells[many, t] = cell
                counts[cell] -= 1
                loss += (counts[cell] - target[cell] + 0.5) * scale[cell]
            best, which = loss, -1
            for c in range(min(many - 1, spares)):
                place = (i * (many - 1) + c + sweep * 7919) % spares
                row, loss = spare[place], 0.0
                for t in range(tables):
                    cell = _cell(groups, row, columns, sizes, begin, t)
                    cells[c, t] = cell
                    loss += (counts[cell] - target[cell] + 0.5) * scale[cell]
                if loss < best:
                    best, which = loss, c
            if which < 0:
                for t in range(tables):
                    counts[cells[many, t]] += 1
            else:
                place = (i * (many - 1) + which + sweep * 7919) % spares
                chosen[i], spare[place] = spare[place], old
                for t in range(tables):
                    counts[cells[which, t]] += 1
    return chosen
