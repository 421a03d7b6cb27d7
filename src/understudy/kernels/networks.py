"""Bayesian networks over codes: what sets of columns share, shrunk tables, draws by line."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.kernels.forest import STRENGTHS, TIE

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

PART = 256


def joint_entropies(
    codes: NDArray[np.uint8], sizes: Places, subsets: Places, workers: ThreadPoolExecutor
) -> tuple[Floats, Places]:
    """Give the joint entropy in nats of each set of columns, and how many cells are not empty.

    Parameters
    ----------
    codes : array of shape (rows, columns), column by column
        Every code of column j is below ``sizes[j]``.
    subsets : array of shape (sets, ways)
    """
    logs = np.arange(len(codes) + 1, dtype=np.float64)
    logs[1:] *= np.log(logs[1:])
    entropy, filled = np.empty(len(subsets)), np.empty(len(subsets), np.int64)

    def work(begin: int) -> None:
        part = slice(begin, begin + PART)
        _entropies(codes, sizes, subsets[part], logs, entropy[part], filled[part])

    _share_out(work, len(subsets), workers)
    return entropy, filled


def distances(
    codes: NDArray[np.uint8],
    sizes: Places,
    levels: Places,
    subsets: Places,
    shares: Floats,
    workers: ThreadPoolExecutor,
) -> Floats:
    """Give for each set of columns how many rows stand apart from independence, by the child.

    With n the counts of a table, x one of its columns, p the others and s given shares of x, the
    distance is half the sum over the cells of abs(n[x, p] - s[x] * n[p]).

    Parameters
    ----------
    codes : array of shape (granularities, columns, rows)
        The same columns, coded ever finer.
    sizes : array of shape (granularities, columns)
    levels : array
        The granularity at which each set is looked at.
    subsets : array of shape (sets, ways)
    shares : array of shape (granularities, columns, codes)

    Returns
    -------
    array of shape (sets, ways), for each column of the set as the child
    """
    made = np.empty(subsets.shape)

    def work(begin: int) -> None:
        part = slice(begin, begin + PART)
        _distances(codes, sizes, levels[part], subsets[part], shares, made[part])

    _share_out(work, len(subsets), workers)
    return made


def _share_out(work: Callable[[int], None], many: int, workers: ThreadPoolExecutor) -> None:
    list(workers.map(work, range(0, many, PART)))


@njit(cache=True, nogil=True)
def _entropies(codes, sizes, subsets, logs, entropy, filled):
    rows, ways = codes.shape[0], subsets.shape[1]
    most = 1
    for table in range(len(subsets)):
        cells = 1
        for column in subsets[table]:
            cells *= sizes[column]
        most = max(most, cells)
    counts = np.zeros(most, np.int32)
    place = np.empty(rows, np.int64)
    for table in range(len(subsets)):
        cells = 1
        place[:] = 0
        for w in range(ways):
            column = subsets[table, w]
            size = sizes[column]
            cells *= size
            one = codes[:, column]
            for row in range(rows):
                place[row] = place[row] * size + one[row]
        counts[:cells] = 0
        for row in range(rows):
            counts[place[row]] += 1
        total, used = 0.0, 0
        for cell in range(cells):
            if counts[cell] > 0:
                total += logs[counts[cell]]
                used += 1
        entropy[table] = np.log(rows) - total / rows
        filled[table] = used


@njit(cache=True, nogil=True)
def _distances(codes, sizes, levels, subsets, shares, made):
    rows, ways = codes.shape[2], subsets.shape[1]
    place = np.empty(rows, np.int64)
    for table in range(len(subsets)):
        level = levels[table]
        cells = 1
        place[:] = 0
        for w in range(ways):
            column = subsets[table, w]
            size = sizes[level, column]
            cells *= size
            one = codes[level, column]
            for row in range(rows):
                place[row] = place[row] * size + one[row]
        counts = np.zeros(cells, np.int64)
        for row in range(rows):
            counts[place[row]] += 1
        after = 1
        for w in range(ways - 1, -1, -1):
            column = subsets[table, w]
            size = sizes[level, column]
            inner = after
            outer = cells // (inner * size)
            apart = 0.0
            for a in range(outer):
                for b in range(inner):
                    begin = a * size * inner + b
                    whole = 0
                    for x in range(size):
                        whole += counts[begin + x * inner]
                    if whole == 0:
                        continue
                    for x in range(size):
                        expected = shares[level, column, x] * whole
                        apart += abs(counts[begin + x * inner] - expected)
            made[table, w] = apart / 2
            after *= size


@njit(cache=True, nogil=True)
def best_parents(single, double, placed, child):
    """Find the set of at most two placed columns that says most about a child.

    Gives the score and the places, -1 for none; a set must say more than nothing.
    """
    best, first, second = 0.0, -1, -1
    width = len(placed)
    for a in range(width):
        if not placed[a] or a == child:
            continue
        if single[child, a] > best:
            best, first, second = single[child, a], a, -1
        for b in range(a):
            if placed[b] and b != child and double[child, a, b] > best:
                best, first, second = double[child, a, b], b, a
    return best, first, second


@njit(cache=True, nogil=True)
def greedy_order(single, double, start, kept):
    """Order columns: always the one next of which those before it say most.

    ``kept`` columns come first, in their order; after them, or before all if there is none, the
    column ``start``. Gives the order and what is said in sum.
    """
    width = len(single)
    order = np.empty(width, np.int64)
    placed = np.zeros(width, np.bool_)
    told = np.zeros(width)  # what those placed say of each column
    total = 0.0
    for many in range(width):
        chosen = -1
        if many < len(kept):
            chosen = kept[many]
        elif many == 0:
            chosen = start
        else:
            for child in range(width):
                if not placed[child] and (chosen < 0 or told[child] > told[chosen]):
                    chosen = child
            total += told[chosen]
        order[many] = chosen
        placed[chosen] = True
        for child in range(width):
            if placed[child]:
                continue
            told[child] = max(told[child], single[child, chosen])
            for i in range(many):
                told[child] = max(told[child], double[child, chosen, order[i]])
    return order, total


@njit(cache=True, nogil=True)
def said(single, double, order, fixed):
    """Give what the columns say in sum in this order; the first ``fixed`` ones are not counted."""
    width = len(order)
    placed = np.zeros(width, np.bool_)
    total = 0.0
    for i in range(width):
        if i >= fixed:
            total += best_parents(single, double, placed, order[i])[0]
        placed[order[i]] = True
    return total


@njit(cache=True, nogil=True)
def improve_order(single, double, order, fixed, sweeps):
    """Move single columns to other places as long as more is said; the first ones stay."""
    width = len(order)
    best = said(single, double, order, fixed)
    tried = order.copy()
    for _ in range(sweeps):
        before = best
        for column in range(width):
            at = 0
            while order[at] != column:
                at += 1
            if at < fixed:
                continue
            for to in range(fixed, width):
                place = 0
                for i in range(width):
                    if i == at:
                        continue
                    if place == to:
                        place += 1
                    tried[place] = order[i]
                    place += 1
                tried[to] = column
                total = said(single, double, tried, fixed)
                if total > best + 1e-12:
                    best = total
                    order[:] = tried
                    at = to
        if best <= before + 1e-9:
            break
    return order, best


def lean(counts: Floats, parent: Places, prior: Floats, group_of: Places, *, fine: float) -> Floats:
    """Shrink the shares of lines to those of the coarser lines that they refine.

    How strongly is chosen for each coarser line, groups and codes within groups apart: as the
    evidence of a Dirichlet-multinomial says.

    Parameters
    ----------
    counts : array of shape (lines, codes)
    parent : array
        The coarser line of each line.
    prior : array of shape (coarser lines, codes)
        Their shares.
    group_of : array
        The group of each code; the codes of a group follow each other.
    fine : float
        The least strength by which shares within a group are shrunk.
    """
    order = np.argsort(parent, kind="stable")
    starts = np.searchsorted(parent[order], np.arange(len(prior) + 1))
    return _lean(counts, order, starts, prior, group_of, STRENGTHS, STRENGTHS[fine <= STRENGTHS])


@njit(cache=True, nogil=True)
def _lean(counts, order, starts, prior, group_of, strengths, fine_strengths):
    lines, size = counts.shape
    many = group_of[-1] + 1
    made = np.empty((lines, size))
    whole = np.zeros((lines, many))
    for line in range(lines):
        for code in range(size):
            whole[line, group_of[code]] += counts[line, code]
    above = np.zeros(many)
    for node in range(len(prior)):
        children = order[starts[node] : starts[node + 1]]
        if len(children) == 0:
            continue
        above[:] = 0
        for code in range(size):
            above[group_of[code]] += prior[node, code]
        a = _strength(whole, above, children, strengths)
        b = fine_strengths[-1]
        if many < size:
            b = _fine_strength(
                counts, whole, prior[node], above, children, group_of, fine_strengths
            )
        for line in children:
            total = whole[line].sum()
            for code in range(size):
                g = group_of[code]
                if above[g] <= 0:
                    made[line, code] = 0
                    continue
                of_group = (whole[line, g] + a * above[g]) / (total + a)
                within = prior[node, code] / above[g]
                within = (counts[line, code] + b * within) / (whole[line, g] + b)
                made[line, code] = of_group * within
    return made


@njit(cache=True, nogil=True)
def _strength(whole, above, children, strengths):
    best, chosen = -np.inf, strengths[-1]
    for a in strengths[::-1]:
        evidence = 0.0
        for line in children:
            total = 0.0
            for g in range(len(above)):
                count = whole[line, g]
                if count > 0 and above[g] > 0:
                    total += count
                    mean = a * above[g]
                    evidence += math.lgamma(mean + count) - math.lgamma(mean)
            evidence += math.lgamma(a) - math.lgamma(a + total)
        if evidence > best + TIE:
            best, chosen = evidence, a
    return chosen


@njit(cache=True, nogil=True)
def _fine_strength(counts, whole, prior, above, children, group_of, strengths):
    best, chosen = -np.inf, strengths[-1]
    for b in strengths[::-1]:
        evidence = 0.0
        for line in children:
            for code in range(len(prior)):
                count, g = counts[line, code], group_of[code]
                if count > 0 and prior[code] > 0:
                    mean = b * prior[code] / above[g]
                    evidence += math.lgamma(mean + count) - math.lgamma(mean)
            for g in range(len(above)):
                if whole[line, g] > 0:
                    evidence += math.lgamma(b) - math.lgamma(b + whole[line, g])
        if evidence > best + TIE:
            best, chosen = evidence, b
    return chosen


@njit(cache=True, nogil=True)
def draw_lines(cumulative, lines, uniform):
    """Draw a code for each row from the line that is its own, independently of all others."""
    made = np.empty(len(lines), np.uint16)
    size = cumulative.shape[1]
    for row in range(len(lines)):
        line = cumulative[lines[row]]
        low, high = 0, size - 1
        while low < high:
            middle = (low + high) >> 1
            if line[middle] > uniform[row]:
                high = middle
            else:
                low = middle + 1
        made[row] = low
    return made
