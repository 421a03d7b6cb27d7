"""Which rows lie in a box: a range of codes in each of a few columns.

Rows are sorted once by each column. A box is looked up in the column in which it holds fewest
rows, and those rows alone are compared in the other columns.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Index:
    """Rows sorted by each column.

    Parameters
    ----------
    codes, order : array of shape (columns, rows)
        The codes from 0 up, and the rows in the order of each column's codes.
    starts : array of shape (columns, codes + 1)
        Where the rows of each code begin in the order.
    """

    codes: Codes
    order: Codes
    starts: Ints

    @classmethod
    def of(cls, codes: NDArray[np.integer], size: int) -> "Index":
        """Sort the rows of codes of shape (columns, rows), all of them less than ``size``."""
        held = np.ascontiguousarray(codes, np.int32)
        order = np.empty(held.shape, np.int32)
        starts = np.zeros((len(held), size + 1), np.int64)
        _sort(held, order, starts)
        return cls(held, order, starts)


@njit(cache=True, nogil=True)
def _sort(codes, order, starts):
    width, height = codes.shape
    for j in range(width):
        for row in range(height):
            starts[j, codes[j, row] + 1] += 1
        for code in range(starts.shape[1] - 1):
            starts[j, code + 1] += starts[j, code]
        place = starts[j].copy()
        for row in range(height):
            code = codes[j, row]
            order[j, place[code]] = row
            place[code] += 1


def box_members(
    index: Index, columns: Ints, low: Ints, high: Ints, *, most: int, list_them: bool = True
) -> tuple[Ints, Codes]:
    """Count and list the rows in each box.

    Parameters
    ----------
    columns, low, high : array of shape (boxes, columns of a box)
        Which columns a box looks at, and the smallest and largest code that it allows in each.
    most : int
        Stop at one more than so many rows.

    Returns
    -------
    counts : array of int
        How many rows lie in each box; ``most + 1`` stands for any larger number.
    members : array of shape (boxes, most)
        The rows, in no particular order, filled up with -1; empty if not wanted.
    """
    counts = np.zeros(len(columns), np.int64)
    members = np.full((len(columns), most if list_them else 0), -1, np.int32)
    _members(index.codes, index.order, index.starts, columns, low, high, most, counts, members)
    return counts, members


@njit(cache=True, nogil=True)
def _members(codes, order, starts, columns, low, high, most, counts, members):
    room = members.shape[1]
    for box in range(len(columns)):
        along, begin, end = _narrowest(starts, columns[box], low[box], high[box])
        count = 0
        for place in range(begin, end):
            row = order[along, place]
            if _inside(codes, row, columns[box], low[box], high[box]):
                if count < room:
                    members[box, count] = row
                count += 1
                if count > most:
                    break
        counts[box] = count


@njit(cache=True, nogil=True)
def _narrowest(starts, columns, low, high):
    """Find the column in which a box holds fewest rows, and where they stand in its order."""
    along, begin, end = columns[0], np.int64(0), np.int64(-1)
    for c in range(len(columns)):
        j = columns[c]
        first = starts[j, low[c]]
        last = max(first, starts[j, high[c] + 1])
        if end < begin or last - first < end - begin:
            along, begin, end = j, first, last
    return along, begin, end


@njit(cache=True, nogil=True)
def _inside(codes, row, columns, low, high):
    for c in range(len(columns)):
        code = codes[columns[c], row]
        if code < low[c] or code > high[c]:
            return False
    return True


def best_matches(
    indices: list[Index],
    allowed: NDArray[np.bool_],
    low: Ints,
    high: Ints,
    persons: Ints,
    ends: Ints,
) -> tuple[Ints, NDArray[np.float64], NDArray[np.bool_]]:
    """Find the records that fit best over several tables whose row i is record i.

    In each table the records inside a box share a weight of 1; over tables the weights are
    averaged. The records with the largest mean fit best.

    Parameters
    ----------
    indices : list of Index
        One for each table.
    allowed : array of shape (tables, rows)
        Records that are not allowed lie in no box.
    low, high : array of shape (boxes, columns)
    persons : array of int
        Records to look for, those of the first box first.
    ends : array of int
        Where the persons of each box end.

    Returns
    -------
    ties : array of int
        How many records fit best, for each box; 0 where none lies in it.
    weight : array of float
        The largest mean weight, for each box.
    among : array of bool
        Whether each person is among those that fit best.
    """
    ties = np.zeros(len(low), np.int64)
    weight = np.zeros(len(low))
    among = np.zeros(len(persons), bool)
    codes = np.stack([index.codes for index in indices])
    order = np.stack([index.order for index in indices])
    starts = np.stack([index.starts for index in indices])
    _best(codes, order, starts, allowed, low, high, persons, ends, ties, weight, among)
    return ties, weight, among


@njit(cache=True, nogil=True)
def _best(codes, order, starts, allowed, low, high, persons, ends, ties, weight, among):
    tables, width, height = codes.shape
    columns = np.arange(width)
    score = np.zeros(height)
    touched = np.empty(height, np.int64)
    here = np.empty(height, np.int64)
    person = 0
    for box in range(len(low)):
        many = 0
        for table in range(tables):
            along, begin, end = _narrowest(starts[table], columns, low[box], high[box])
            found = 0
            for place in range(begin, end):
                row = order[table, along, place]
                if allowed[table, row] and _inside(codes[table], row, columns, low[box], high[box]):
                    here[found] = row
                    found += 1
            for i in range(found):
                row = here[i]
                if score[row] == 0:
                    touched[many] = row
                    many += 1
                score[row] += 1 / found
        top = 0.0
        for i in range(many):
            top = max(top, score[touched[i]])
        enough = top * (1 - 1e-9)
        for i in range(many):
            ties[box] += score[touched[i]] >= enough
        weight[box] = top / tables
        while person < ends[box]:
            among[person] = many > 0 and score[persons[person]] >= enough
            person += 1
        for i in range(many):
            score[touched[i]] = 0
