"""Trees over codes that predict a distribution: grown on some rows, filled by others.

A tree is grown by the gain in likelihood of coarse groups of the target's codes. Its nodes then
count other rows, and each leaf's distribution is shrunk to its parent's by as much as the counts
themselves ask for (the evidence of a Dirichlet-multinomial), groups and codes apart.
"""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAF = -1
GOLDEN = 0.6180339887498949
STRENGTHS = np.array([0.5, 1.4, 4.0, 12.0, 36.0, 108.0, 324.0, 972.0, 2916.0, 1e4, 1e5])
TIE = 1e-6


@dataclass(frozen=True)
class Splits:
    """A tree: which predictor each node asks, where it cuts, and its children; -1 is a leaf.

    ``place`` orders the leaves from left to right.
    """

    feature: NDArray[np.int16]
    cut: NDArray[np.uint16]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    place: NDArray[np.int64]

    def apply(self, codes: NDArray[np.uint16]) -> NDArray[np.int32]:
        """Find the leaf of each row."""
        return _apply(codes, self.feature, self.cut, self.left, self.right)


def grow(
    codes: NDArray[np.uint16],
    sizes: NDArray[np.int64],
    groups: NDArray[np.uint16],
    rows: NDArray[np.int64],
    *,
    min_leaf: int,
    penalty: float,
    most_leaves: int,
) -> Splits:
    """Grow a tree on some rows.

    Parameters
    ----------
    codes : array, column by column
        The predictors: neighbouring codes are alike.
    sizes : array
        The number of codes of each predictor.
    groups : array
        The group of the target's code, for every row.
    penalty : float
        A split must gain this many nats of likelihood for each free share that it adds.
    """
    many = int(groups.max(initial=0)) + 1
    logs = np.arange(len(rows) + 1, dtype=np.float64)
    logs[1:] *= np.log(logs[1:])
    return Splits(
        *_grow(codes, sizes, groups, rows.copy(), many, logs, min_leaf, float(penalty), most_leaves)
    )


@njit(cache=True, nogil=True)
def _grow(codes, sizes, groups, rows, many, logs, min_leaf, penalty, most_leaves):
    width = codes.shape[1]
    most = 2 * max(1, min(most_leaves, len(rows) // max(min_leaf, 1) + 1))
    feature = np.full(most, LEAF, np.int16)
    cut = np.zeros(most, np.uint16)
    left, right = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    widest = 1
    for j in range(width):
        widest = max(widest, sizes[j])
    hist = np.zeros(widest * many, np.int32)
    of_code = np.zeros(widest, np.int32)
    here, there, total = (
        np.zeros(many, np.int64),
        np.zeros(many, np.int64),
        np.zeros(many, np.int64),
    )
    scratch = np.empty(len(rows), np.int64)
    queue = np.zeros(most, np.int64)
    nodes, first, last = 1, 0, 1
    end[0] = len(rows)
    while first < last:
        node = queue[first]
        first += 1
        a, b = begin[node], end[node]
        size = b - a
        if size < 2 * min_leaf or nodes + 2 > most:
            continue
        total[:] = 0
        for i in range(a, b):
            total[groups[rows[i]]] += 1
        whole, kinds = -logs[size], 0
        for g in range(many):
            whole += logs[total[g]]
            kinds += total[g] > 0
        if kinds < 2:
            continue
        best, best_j, best_cut = penalty * (kinds - 1), -1, 0
        for j in range(width):
            used = sizes[j]
            hist[: used * many] = 0
            of_code[:used] = 0
            for i in range(a, b):
                row = rows[i]
                code = codes[row, j]
                hist[code * many + groups[row]] += 1
                of_code[code] += 1
            here[:] = 0
            there[:] = total
            sum_here, sum_there, count = 0.0, whole + logs[size], 0
            for code in range(used - 1):
                if of_code[code] == 0:
                    continue
                count += of_code[code]
                for g in range(many):
                    moved = hist[code * many + g]
                    if moved:
                        sum_here += logs[here[g] + moved] - logs[here[g]]
                        sum_there += logs[there[g] - moved] - logs[there[g]]
                        here[g] += moved
                        there[g] -= moved
                if count < min_leaf:
                    continue
                if size - count < min_leaf:
                    break
                gain = sum_here - logs[count] + sum_there - logs[size - count] - whole
                if gain > best:
                    best, best_j, best_cut = gain, j, code
        if best_j < 0:
            continue
        kept, moved = a, 0
        for i in range(a, b):
            row = rows[i]
            if codes[row, best_j] <= best_cut:
                rows[kept] = row
                kept += 1
            else:
                scratch[moved] = row
                moved += 1
        rows[kept:b] = scratch[:moved]
        feature[node], cut[node] = best_j, best_cut
        left[node], right[node] = nodes, nodes + 1
        begin[nodes], end[nodes] = a, kept
        begin[nodes + 1], end[nodes + 1] = kept, b
        queue[last], queue[last + 1] = nodes, nodes + 1
        last += 2
        nodes += 2
    return (
        feature[:nodes].copy(),
        cut[:nodes].copy(),
        left[:nodes].copy(),
        right[:nodes].copy(),
        begin[:nodes].copy(),
    )


@njit(cache=True, nogil=True)
def _apply(codes, feature, cut, left, right):
    leaves = np.empty(codes.shape[0], np.int32)
    for row in range(codes.shape[0]):
        node = 0
        while feature[node] >= 0:
            node = left[node] if codes[row, feature[node]] <= cut[node] else right[node]
        leaves[row] = node
    return leaves


def fill(
    tree: Splits,
    codes: NDArray[np.uint16],
    target: NDArray[np.uint16],
    group_of: NDArray[np.int64],
    root: NDArray[np.float64],
    *,
    fine: float,
) -> NDArray[np.float64]:
    """Give the distribution of the target's codes at each node.

    Parameters
    ----------
    codes, target : arrays
        The rows that fill the tree, which should not be those that grew it.
    group_of : array
        The group of each code; the codes of a group follow each other.
    root : array
        The distribution at the root.
    fine : float
        The least strength by which shares within a group are shrunk.
    """
    leaves = tree.apply(codes)
    size = len(root)
    counts = np.bincount(leaves * np.int64(size) + target, minlength=len(tree.feature) * size)
    return _shrink(
        counts.reshape(-1, size).astype(np.float64), tree.left, tree.right, group_of, root,
        STRENGTHS, STRENGTHS[fine <= STRENGTHS],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _shrink(counts, left, right, group_of, root, strengths, fine_strengths):
    nodes, size = counts.shape
    many = group_of[-1] + 1
    for node in range(nodes - 1, -1, -1):
        if left[node] >= 0:
            for code in range(size):
                counts[node, code] += counts[left[node], code] + counts[right[node], code]
    made = np.empty((nodes, size))
    made[0] = root
    coarse = np.zeros((3, many))
    for node in range(nodes):
        if left[node] < 0:
            continue
        children = (left[node], right[node])
        coarse[:] = 0
        for code in range(size):
            g = group_of[code]
            coarse[0, g] += made[node, code]
            coarse[1, g] += counts[children[0], code]
            coarse[2, g] += counts[children[1], code]
        a = _coarse_strength(coarse, strengths)
        b = fine_strengths[-1]
        if many < size:
            b = _fine_strength(counts, made[node], coarse, children, group_of, fine_strengths)
        for side in range(2):
            child = children[side]
            whole = coarse[1 + side].sum()
            for code in range(size):
                g = group_of[code]
                if coarse[0, g] <= 0:
                    made[child, code] = 0
                    continue
                of_group = (coarse[1 + side, g] + a * coarse[0, g]) / (whole + a)
                within = made[node, code] / coarse[0, g]
                within = (counts[child, code] + b * within) / (coarse[1 + side, g] + b)
                made[child, code] = of_group * within
    return made


@njit(cache=True, nogil=True)
def _coarse_strength(coarse, strengths):
    """Choose how strongly two children lean on their parent: by the evidence of their groups.

    Where counts say nothing, as a single row does, the strongest is chosen.
    """
    best, chosen = -np.inf, strengths[-1]
    for a in strengths[::-1]:
        evidence = 0.0
        for side in range(1, 3):
            whole = 0.0
            for g in range(coarse.shape[1]):
                count = coarse[side, g]
                if count > 0 and coarse[0, g] > 0:
                    whole += count
                    mean = a * coarse[0, g]
                    evidence += math.lgamma(mean + count) - math.lgamma(mean)
            evidence += math.lgamma(a) - math.lgamma(a + whole)
        if evidence > best + TIE:
            best, chosen = evidence, a
    return chosen


@njit(cache=True, nogil=True)
def _fine_strength(counts, parent, coarse, children, group_of, strengths):
    """Choose how strongly shares within groups lean on the parent's."""
    best, chosen = -np.inf, strengths[-1]
    for b in strengths[::-1]:
        evidence = 0.0
        for side in range(2):
            child = children[side]
            for code in range(counts.shape[1]):
                count, g = counts[child, code], group_of[code]
                if count > 0 and parent[code] > 0:
                    mean = b * parent[code] / coarse[0, g]
                    evidence += math.lgamma(mean + count) - math.lgamma(mean)
            for g in range(coarse.shape[1]):
                if coarse[1 + side, g] > 0:
                    evidence += math.lgamma(b) - math.lgamma(b + coarse[1 + side, g])
        if evidence > best + TIE:
            best, chosen = evidence, b
    return chosen


def draw(
    cumulative: NDArray[np.float32],
    leaves: NDArray[np.int64],
    order: NDArray[np.int64],
    start: float,
) -> NDArray[np.uint16]:
    """Draw a code for each row from its leaf's distribution.

    The draws of a leaf, and of neighbouring leaves, are spread evenly (a golden-ratio sequence
    from ``start``), so that their shares come as close to the distribution as their number lets
    them. ``order`` is a random order of the rows: without it, rows that share their leaves in two
    columns would draw alike in both.
    """
    order = order[np.argsort(leaves[order], kind="stable")]
    return _draw(cumulative, leaves, order, start)


@njit(cache=True, nogil=True)
def _draw(cumulative, leaves, order, start):
    made = np.empty(len(leaves), np.uint16)
    size = cumulative.shape[1]
    at = start
    for row in order:
        at += GOLDEN
        if at >= 1:
            at -= 1
        line = cumulative[leaves[row]]
        low, high = 0, size - 1
        while low < high:
            middle = (low + high) >> 1
            if line[middle] > at:
                high = middle
            else:
                low = middle + 1
        made[row] = low
    return made


def apply_each(
    codes: NDArray[np.uint16],
    tree: NDArray[np.int64],
    roots: NDArray[np.int64],
    feature: NDArray[np.int16],
    cut: NDArray[np.uint16],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    line: NDArray[np.int32],
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    ranks: NDArray[np.uint16],
) -> NDArray[np.int64]:
    """Find the leaf of each row in its own tree; leaves are numbered by line.

    ``places`` says in which column of the codes a predictor stands; ``ranks`` holds for each tree
    the ranks of all predictors' codes, which begin at ``starts``.
    """
    return _apply_each(
        codes, tree, roots, feature, cut, left, right, line, places, starts, ranks
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _apply_each(codes, tree, roots, feature, cut, left, right, line, places, starts, ranks):
    leaves = np.empty(codes.shape[0], np.int64)
    for row in range(codes.shape[0]):
        node = roots[tree[row]]
        while feature[node] >= 0:
            asked = feature[node]
            rank = ranks[tree[row], starts[asked] + codes[row, places[asked]]]
            node = left[node] if rank <= cut[node] else right[node]
        leaves[row] = line[node]
    return leaves
