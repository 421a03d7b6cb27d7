"""Classification and regression trees by exact search, with the splits of Breiman's CART.

Numbers are split at the middle between two values, categories into two sets of levels. A class
is split by the Gini index and pruned by misclassification, a number by squares. Growth stops at
``min_split`` rows, no leaf is smaller than ``min_leaf``, and a branch is cut off where each of its
splits lowers the risk by no more than ``cp`` times the risk of the root.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

EXHAUSTIVE = 10
LEAF = -1


@dataclass(frozen=True)
class Tree:
    """A tree as arrays, one entry a node, the root first.

    ``column`` is the column split on (-1 in a leaf), ``cut`` the number that goes left up to it,
    ``left`` and ``right`` the children, ``start`` where the levels of a split on a category
    begin in ``goes_left``. ``rows`` holds the training rows leaf by leaf, ``begin`` and ``end``
    where those of a node lie.
    """

    column: NDArray[np.int32]
    cut: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    start: NDArray[np.int64]
    goes_left: NDArray[np.bool_]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    rows: NDArray[np.int64]

    def apply(self, table: NDArray[np.float64]) -> NDArray[np.int32]:
        """Give the leaf of each row; a level that a split never saw goes to the larger side."""
        return _apply(
            np.ascontiguousarray(table), self.column, self.cut, self.left, self.right, self.start,
            self.goes_left,
        )  # fmt: skip


def grow(
    table: NDArray[np.float64],
    levels: NDArray[np.int64],
    target: NDArray[np.float64],
    classes: int,
    *,
    min_leaf: int = 5,
    min_split: int | None = None,
    cp: float = 1e-8,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    table : array of shape (rows, columns)
        Predictors; categories as codes from 0 up; no nan.
    levels : array of int
        The number of levels of each category, 0 for a number.
    target : array
        Class codes from 0 up, or numbers.
    classes : int
        The number of classes; 0 for a number.
    """
    table = np.asfortranarray(table, np.float64)
    min_split = 3 * min_leaf if min_split is None else min_split
    order = np.argsort(table, axis=0, kind="stable").T.copy()
    return Tree(
        *_grow(table, levels, np.ascontiguousarray(target, np.float64), classes, order,
               min_leaf, max(min_split, 2 * min_leaf), cp)
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _risk(target, rows, classes, counts):
    """Give misclassified rows, or the sum of squares around the mean; counts are left behind."""
    if classes:
        counts[:] = 0
        for row in rows:
            counts[int(target[row])] += 1
        return len(rows) - counts.max()
    mean = 0.0
    for row in rows:
        mean += target[row]
    mean /= len(rows)
    squares = 0.0
    for row in rows:
        squares += (target[row] - mean) ** 2
    return squares


@njit(cache=True, nogil=True)
def _grow(table, levels, target, classes, order, min_leaf, min_split, cp):
    height, width = table.shape
    most = 2 * (height // min_leaf) + 3
    column = np.full(most, LEAF, np.int32)
    cut = np.zeros(most)
    left, right = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    start = np.full(most, -1, np.int64)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    risk = np.zeros(most)
    widest = max(1, levels.max() if width else 1)
    used = 0
    flags = np.zeros(256, np.bool_)
    counts = np.zeros(max(classes, 1))
    rows = np.arange(height)
    side = np.zeros(height, np.bool_)
    scratch = np.empty(height, np.int64)
    chosen, tried = np.zeros(widest, np.bool_), np.zeros(widest, np.bool_)
    end[0] = height
    risk[0] = _risk(target, rows, classes, counts)
    alpha = cp * risk[0]
    nodes = 1
    node = 0
    while node < nodes:
        a, b = begin[node], end[node]
        if b - a >= min_split and risk[node] > alpha:
            best, where, value = 0.0, LEAF, 0.0
            for j in range(width):
                if levels[j]:
                    gain = _split_levels(
                        table, target, classes, rows[a:b], j, levels[j], min_leaf, tried
                    )
                    if gain > best * (1 + 1e-12) and gain > 1e-12:
                        best, where = gain, j
                        chosen[:] = tried
                else:
                    gain, at = _split_numbers(table, target, classes, order[j, a:b], j, min_leaf)
                    if gain > best * (1 + 1e-12) and gain > 1e-12:
                        best, where, value = gain, j, at
            if where != LEAF:
                column[node], cut[node] = where, value
                for row in rows[a:b]:
                    if levels[where]:
                        side[row] = chosen[int(table[row, where])]
                    else:
                        side[row] = table[row, where] <= value
                middle = _part(rows[a:b], side, scratch) + a
                if levels[where]:
                    _send_unseen(
                        table, rows[a:b], where, levels[where], 2 * middle >= a + b, chosen
                    )
                    start[node] = used
                    while used + levels[where] > len(flags):
                        longer = np.zeros(2 * len(flags), np.bool_)
                        longer[: len(flags)] = flags
                        flags = longer
                    flags[used : used + levels[where]] = chosen[: levels[where]]
                    used += levels[where]
                for j in range(width):
                    if not levels[j]:
                        _part(order[j, a:b], side, scratch)
                left[node], right[node] = nodes, nodes + 1
                begin[nodes], end[nodes] = a, middle
                begin[nodes + 1], end[nodes + 1] = middle, b
                risk[nodes] = _risk(target, rows[a:middle], classes, counts)
                risk[nodes + 1] = _risk(target, rows[middle:b], classes, counts)
                nodes += 2
        node += 1
    goes_left = flags[:used].copy()
    below, splits = risk[:nodes].copy(), np.zeros(nodes, np.int64)
    for node in range(nodes - 1, -1, -1):
        if column[node] == LEAF:
            continue
        below[node] = below[left[node]] + below[right[node]]
        splits[node] = splits[left[node]] + splits[right[node]] + 1
        if risk[node] - below[node] <= alpha * splits[node]:
            column[node], below[node], splits[node] = LEAF, risk[node], 0
            left[node], right[node] = -1, -1
    return (
        column[:nodes].copy(), cut[:nodes].copy(), left[:nodes].copy(), right[:nodes].copy(),
        start[:nodes].copy(), goes_left, begin[:nodes].copy(), end[:nodes].copy(), rows,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _send_unseen(table, rows, j, levels, to_left, chosen):
    """Send the levels that no row of the node has to the larger side."""
    seen = np.zeros(levels, np.bool_)
    for row in rows:
        seen[int(table[row, j])] = True
    for level in range(levels):
        if not seen[level]:
            chosen[level] = to_left


@njit(cache=True, nogil=True)
def _part(rows, side, scratch):
    """Bring the rows that go left to the front, both sides in their order."""
    kept, moved = 0, 0
    for row in rows:
        if side[row]:
            rows[kept] = row
            kept += 1
        else:
            scratch[moved] = row
            moved += 1
    rows[kept:] = scratch[:moved]
    return kept


@njit(cache=True, nogil=True)
def _split_numbers(table, target, classes, rows, j, min_leaf):
    """Give the best cut of a number: how much impurity it takes away, and where it is."""
    size = len(rows)
    best, at = 0.0, 0.0
    if table[rows[0], j] == table[rows[size - 1], j]:
        return best, at
    if classes:
        here, there = np.zeros(classes), np.zeros(classes)
        for row in rows:
            there[int(target[row])] += 1
        squares_here, squares_there = 0.0, 0.0
        for kind in range(classes):
            squares_there += there[kind] * there[kind]
        whole = squares_there / size
        for i in range(size - 1):
            kind = int(target[rows[i]])
            squares_here += 2 * here[kind] + 1
            squares_there -= 2 * there[kind] - 1
            here[kind] += 1
            there[kind] -= 1
            if i + 1 < min_leaf or size - i - 1 < min_leaf:
                continue
            low, high = table[rows[i], j], table[rows[i + 1], j]
            if low == high:
                continue
            gain = squares_here / (i + 1) + squares_there / (size - i - 1) - whole
            if gain > best:
                best, at = gain, low + (high - low) / 2
                if at >= high:
                    at = low
        return best, at
    total = 0.0
    for row in rows:
        total += target[row]
    mean, here_sum = total / size, 0.0
    for i in range(size - 1):
        here_sum += target[rows[i]] - mean
        if i + 1 < min_leaf or size - i - 1 < min_leaf:
            continue
        low, high = table[rows[i], j], table[rows[i + 1], j]
        if low == high:
            continue
        gain = here_sum * here_sum * (1 / (i + 1) + 1 / (size - i - 1))
        if gain > best:
            best, at = gain, low + (high - low) / 2
            if at >= high:
                at = low
    return best, at


@njit(cache=True, nogil=True)
def _split_levels(table, target, classes, rows, j, levels, min_leaf, goes_left):
    """Give how much impurity the best split of a category takes away; marks what goes left."""
    kinds = max(classes, 1)
    counts, sizes = np.zeros((levels, kinds)), np.zeros(levels)
    mean = 0.0
    if not classes:
        for row in rows:
            mean += target[row]
        mean /= len(rows)
    for row in rows:
        level = int(table[row, j])
        sizes[level] += 1
        if classes:
            counts[level, int(target[row])] += 1
        else:
            counts[level, 0] += target[row] - mean
    many = 0
    present = np.empty(levels, np.int64)
    for level in range(levels):
        goes_left[level] = False
        if sizes[level] > 0:
            present[many] = level
            many += 1
    if many < 2:
        return 0.0
    if classes > 2 and many <= EXHAUSTIVE:
        return _every_set(counts, sizes, present[:many], min_leaf, goes_left)
    score = np.zeros(many)
    if classes > 2:
        _main_axis(counts, sizes, present[:many], score)
    else:
        for place in range(many):
            level = present[place]
            score[place] = counts[level, kinds - 1] / sizes[level]
    order = present[:many][np.argsort(score)]
    return _cut_once(counts, sizes, order, classes, min_leaf, goes_left)


@njit(cache=True, nogil=True)
def _main_axis(counts, sizes, present, score):
    """Place the levels along the axis on which their shares of the classes differ most."""
    many, kinds = len(present), counts.shape[1]
    apart, middle = np.zeros((many, kinds)), np.zeros(kinds)
    size = 0.0
    for level in present:
        size += sizes[level]
        for kind in range(kinds):
            middle[kind] += counts[level, kind]
    for place in range(many):
        level = present[place]
        for kind in range(kinds):
            apart[place, kind] = counts[level, kind] / sizes[level] - middle[kind] / size
    axis, turned = np.empty(kinds), np.empty(kinds)
    for kind in range(kinds):
        axis[kind] = 1.0 if kind % 2 else -1.0 - kind
    for _ in range(20):
        turned[:] = 0
        for place in range(many):
            along = 0.0
            for kind in range(kinds):
                along += apart[place, kind] * axis[kind]
            for kind in range(kinds):
                turned[kind] += sizes[present[place]] * along * apart[place, kind]
        length = 0.0
        for kind in range(kinds):
            length += turned[kind] * turned[kind]
        if length == 0:
            break
        for kind in range(kinds):
            axis[kind] = turned[kind] / np.sqrt(length)
    for place in range(many):
        for kind in range(kinds):
            score[place] += apart[place, kind] * axis[kind]


@njit(cache=True, nogil=True)
def _cut_once(counts, sizes, order, classes, min_leaf, goes_left):
    """Cut an order of levels at the best place."""
    kinds = counts.shape[1]
    here, there = np.zeros(kinds), np.zeros(kinds)
    size_here, size_there, whole = 0.0, 0.0, 0.0
    for level in order:
        size_there += sizes[level]
        for kind in range(kinds):
            there[kind] += counts[level, kind]
    for kind in range(kinds):
        whole += there[kind] * there[kind] / size_there
    best, until = 0.0, -1
    for place in range(len(order) - 1):
        level = order[place]
        size_here += sizes[level]
        size_there -= sizes[level]
        left, right = 0.0, 0.0
        for kind in range(kinds):
            here[kind] += counts[level, kind]
            there[kind] -= counts[level, kind]
            left += here[kind] * here[kind]
            right += there[kind] * there[kind]
        if size_here >= min_leaf and size_there >= min_leaf:
            gain = left / size_here + right / size_there - whole
            if gain > best:
                best, until = gain, place
    for place in range(until + 1):
        goes_left[order[place]] = True
    return best


@njit(cache=True, nogil=True)
def _every_set(counts, sizes, present, min_leaf, goes_left):
    """Try every way to divide few levels in two."""
    many, kinds = len(present), counts.shape[1]
    size, whole = 0.0, 0.0
    total, here = np.zeros(kinds), np.zeros(kinds)
    for level in present:
        size += sizes[level]
        for kind in range(kinds):
            total[kind] += counts[level, kind]
    for kind in range(kinds):
        whole += total[kind] * total[kind] / size
    best, best_set = 0.0, 0
    for chosen in range(1, 1 << (many - 1)):
        here[:] = 0
        size_here = 0.0
        for place in range(many):
            if chosen >> place & 1:
                size_here += sizes[present[place]]
                for kind in range(kinds):
                    here[kind] += counts[present[place], kind]
        if size_here < min_leaf or size - size_here < min_leaf:
            continue
        left, right = 0.0, 0.0
        for kind in range(kinds):
            left += here[kind] * here[kind]
            right += (total[kind] - here[kind]) ** 2
        gain = left / size_here + right / (size - size_here) - whole
        if gain > best:
            best, best_set = gain, chosen
    for place in range(many):
        goes_left[present[place]] = (best_set >> place & 1) == 1
    return best


@njit(cache=True, nogil=True)
def _apply(table, column, cut, left, right, start, goes_left):
    leaves = np.empty(table.shape[0], np.int32)
    for row in range(table.shape[0]):
        node = 0
        while column[node] >= 0:
            value = table[row, column[node]]
            if start[node] >= 0:
                to_left = goes_left[start[node] + int(value)]
            else:
                to_left = value <= cut[node]
            node = left[node] if to_left else right[node]
        leaves[row] = node
    return leaves
