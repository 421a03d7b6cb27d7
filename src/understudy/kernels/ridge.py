"""Ridge regression whose strength leaves one row out at a time, of numbers and of classes.

Predictors are turned to their principal axes once. Along these, every strength is a division, what
a row would have been predicted without itself has a closed form (Allen 1974), and the curvature of
a logit is bounded by a diagonal (Böhning 1992).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STRENGTHS = np.geomspace(0.5, 16_384, 16)
SMALLEST_AXIS = 1e-8
STEPS = 60
CLOSE = 1e-3
CAUTION = 5.0


@dataclass(frozen=True)
class Axes:
    """Predictors of rows, centred and turned to their principal axes.

    Parameters
    ----------
    centre : array
        The mean of each predictor.
    turn : array of shape (predictors, axes)
        What turns centred predictors to the axes.
    rows : array of shape (rows, axes)
        The rows along the axes.
    squares : array
        The sum of squares along each axis.
    """

    centre: Floats
    turn: Floats
    rows: Floats
    squares: Floats

    @classmethod
    def of(cls, predictors: Floats) -> Self:
        """Find the axes; those along which rows hardly differ are left out."""
        centre = predictors.mean(axis=0)
        centred = predictors - centre
        squares, turn = np.linalg.eigh(centred.T @ centred)
        kept = squares > SMALLEST_AXIS * max(float(squares.max(initial=0.0)), 1e-300)
        turn = np.ascontiguousarray(turn[:, kept])
        return cls(centre, turn, centred @ turn, squares[kept])

    def back(self, along: Floats, level: Floats) -> tuple[Floats, Floats]:
        """Give the coefficients of the predictors as they are, and what is added to them."""
        made = self.turn @ along
        return made, np.asarray(level - self.centre @ made)


@dataclass(frozen=True)
class RidgeFit:
    """A ridge regression of several targets at the strength that leaves out rows best.

    ``left_out`` is what is left of each row when it is predicted without itself.
    """

    strength: float
    along: Floats
    level: Floats
    left_out: Floats


def ridge(axes: Axes, targets: Floats, weights: Floats | None = None) -> RidgeFit:
    """Regress targets on predictors.

    Parameters
    ----------
    targets : array of shape (rows, targets)
    weights : array, optional
        How much the squares of each target count in the choice of the strength.
    """
    level = targets.mean(axis=0)
    apart = targets - level
    on_axes = axes.rows.T @ apart
    squared = axes.rows**2
    counted = np.ones(targets.shape[1]) if weights is None else weights
    best: tuple[float, RidgeFit] | None = None
    for strength in STRENGTHS[::-1]:
        shrink = 1 / (axes.squares + strength)
        along = on_axes * shrink[:, None]
        leverage = squared @ shrink + 1 / len(targets)
        left = (apart - axes.rows @ along) / np.maximum(1 - leverage, 0.02)[:, None]
        loss = float(((left**2).sum(axis=0) * counted).sum())
        if best is None or loss < best[0]:
            best = loss, RidgeFit(float(strength), along, level, left)
    assert best is not None
    return best[1]


def logit(axes: Axes, classes: NDArray[np.int64], many: int) -> tuple[Floats, Floats, Floats]:
    """Fit a multinomial ridge logit; gives coefficients, levels and shares of rows left out.

    The strength is that of a ridge regression of the classes' marks, which a row left out tells in
    closed form, times the mean variance of a mark.
    """
    marks = np.zeros((len(classes), many))
    marks[np.arange(len(classes)), classes] = 1
    share = marks.mean(axis=0)
    spread = share * (1 - share)
    linear = ridge(axes, marks, 1 / np.maximum(spread, 1 / len(classes)))
    usual = max(float(spread.mean()), 1e-3)
    strength = linear.strength * usual * CAUTION
    along = linear.along / usual * np.minimum(1, 2 / many)
    level = np.log(np.maximum(share, 0.5 / len(classes)))
    step = 1 / (0.5 * axes.squares + strength)
    step_level = 2 / len(classes)
    ahead, ahead_level, momentum = along, level, 1.0
    for _ in range(STEPS):
        p = softmax(axes.rows @ ahead + ahead_level)
        off = marks - p
        new = ahead + step[:, None] * (axes.rows.T @ off - strength * ahead)
        new_level = ahead_level + step_level * off.sum(axis=0)
        later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        pull = (momentum - 1) / later
        change = float(np.sqrt(((new - along) ** 2 * axes.squares[:, None]).sum() / len(classes)))
        ahead, ahead_level = new + pull * (new - along), new_level + pull * (new_level - level)
        along, level, momentum = new, new_level, later
        if change < CLOSE:
            break
    return along, level, _left_out(axes, marks, along, level, usual, strength)


def _left_out(
    axes: Axes, marks: Floats, along: Floats, level: Floats, usual: float, strength: float
) -> Floats:
    """Give the shares that each row would have had without itself, by one step from the fit."""
    scores = axes.rows @ along + level
    p = softmax(scores)
    leverage = axes.rows**2 @ (1 / (usual * axes.squares + strength)) + 1 / (usual * len(marks))
    pull = np.minimum(leverage[:, None] * p * (1 - p), 0.9)
    return softmax(scores - leverage[:, None] * (marks - p) / (1 - pull))


def softmax(scores: Floats) -> Floats:
    """Turn scores, one row each, into shares."""
    made = np.exp(scores - scores.max(axis=1, keepdims=True))
    made /= made.sum(axis=1, keepdims=True)
    return np.asarray(made)


@njit(cache=True, nogil=True)
def add_up(codes, places, starts, values, level):
    """Add what the codes of each row say, one line a row."""
    made = np.empty((codes.shape[0], values.shape[1]))
    for row in range(codes.shape[0]):
        made[row] = level
        for j in range(len(places)):
            line = starts[j] + codes[row, places[j]]
            for target in range(values.shape[1]):
                made[row, target] += values[line, target]
    return made
