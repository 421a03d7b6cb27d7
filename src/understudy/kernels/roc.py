"""Pairs that positives win by weighted sums, for many weights at once; arrays in, arrays out."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def linear_areas(
    features: Floats, weights: Floats, positive: Flags, *, steps: int = 4096
) -> tuple[Floats, Floats]:
    """Count the pairs that positives win by a weighted sum of features, and all pairs.

    Each row of weights goes with a row of labels. The sums are told apart in so many equal steps
    between the smallest and the largest; within a step a pair counts half. ``judging.rates`` ranks
    scores once for all rows of labels; here the scores change with the labels, and a sort for each
    row of them would take most of the time.
    """
    won, pairs = np.zeros(len(weights)), np.zeros(len(weights))
    if len(features):
        rows = np.ascontiguousarray(features)
        _count_pairs(rows, np.ascontiguousarray(weights), positive, steps, won, pairs)
    return won, pairs


@njit(nogil=True, cache=True)
def _count_pairs(features, weights, positive, steps, won, pairs):
    rows, columns = features.shape
    score = np.empty(rows)
    for time in range(len(weights)):
        low, high = np.inf, -np.inf
        for row in range(rows):
            total = 0.0
            for column in range(columns):
                total += features[row, column] * weights[time, column]
            score[row] = total
            low, high = min(low, total), max(high, total)
        scale = (steps - 1) / (high - low) if high > low else 0.0
        above, below = np.zeros(steps), np.zeros(steps)
        for row in range(rows):
            step = int((score[row] - low) * scale)
            if positive[time, row]:
                above[step] += 1
            else:
                below[step] += 1
        passed = 0.0
        for step in range(steps):
            won[time] += above[step] * (passed + below[step] / 2)
            passed += below[step]
        pairs[time] = passed * (rows - passed)
