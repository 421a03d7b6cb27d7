"""Distances between two histograms over the same cells."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Histogram = NDArray[np.float64]
Distance = Callable[[Histogram, Histogram], float]


def shares(counts: Histogram) -> Histogram:
    """Turn counts into shares; a histogram of nothing has no mass anywhere."""
    total = counts.sum()
    return counts / total if total else counts


def total_variation(p: Histogram, q: Histogram) -> float:
    """Give half the sum of absolute differences: the mass that would have to move.

    Examples
    --------
    >>> total_variation(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    0.25
    """
    return float(np.abs(shares(p) - shares(q)).sum() / 2)


def hellinger(p: Histogram, q: Histogram) -> float:
    """Give the root of one minus the overlap of square roots (thesis, equation 4.1.2).

    Examples
    --------
    >>> hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    squared = ((np.sqrt(shares(p)) - np.sqrt(shares(q))) ** 2).sum() / 2
    return float(np.sqrt(squared))


def smoothed(counts: Histogram, cells: NDArray[np.bool_]) -> Histogram:
    """Add half a count to each of the cells (Jeffreys' prior) and turn them into shares."""
    raised = counts[cells] + 0.5
    made: Histogram = raised / raised.sum()
    return made


def relative_entropy(p: Histogram, q: Histogram) -> float:
    """Give the Kullback-Leibler divergence of q from p in bits.

    Both histograms get half a count in each cell that either of them uses, so that empty cells
    are defined and the result is never negative.

    Examples
    --------
    >>> relative_entropy(np.array([5.0, 5.0]), np.array([5.0, 5.0]))
    0.0
    >>> round(relative_entropy(np.array([9.5, 0.0]), np.array([0.0, 9.5])), 4)
    3.9103
    """
    return max(0.0, cross_entropy(p, q) - entropy(p, q))


def cross_entropy(p: Histogram, q: Histogram) -> float:
    """Give the bits that a code made for q spends on p (both smoothed)."""
    cells = (p + q) > 0
    return float(-(smoothed(p, cells) * np.log2(smoothed(q, cells))).sum())


def entropy(p: Histogram, q: Histogram | None = None) -> float:
    """Give the entropy of p in bits; smoothed over the cells of p and q where q is given.

    Examples
    --------
    >>> entropy(np.array([2.0, 2.0, 0.0]))
    1.0
    """
    share = shares(p[p > 0]) if q is None else smoothed(p, (p + q) > 0)
    return float(-(share * np.log2(share)).sum())


def jensen_shannon(p: Histogram, q: Histogram) -> float:
    """Give the mean divergence from the midpoint in bits: 0 for equal, 1 for disjoint.

    Examples
    --------
    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    a, b = shares(p), shares(q)
    return max(0.0, entropy(a + b) - (entropy(a) + entropy(b)) / 2)


def largest_difference(p: Histogram, q: Histogram) -> float:
    """Give the largest absolute difference between two cells.

    Examples
    --------
    >>> largest_difference(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    0.25
    """
    return float(np.abs(shares(p) - shares(q)).max())


def euclidean(p: Histogram, q: Histogram) -> float:
    """Give the straight-line distance between the shares.

    Examples
    --------
    >>> euclidean(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.4142135623730951
    """
    return float(np.sqrt(((shares(p) - shares(q)) ** 2).sum()))


DISTANCES: dict[str, Distance] = {
    "total_variation": total_variation,
    "hellinger": hellinger,
    "relative_entropy": relative_entropy,
    "cross_entropy": cross_entropy,
    "entropy": entropy,
    "jensen_shannon": jensen_shannon,
    "largest_difference": largest_difference,
    "euclidean": euclidean,
}
