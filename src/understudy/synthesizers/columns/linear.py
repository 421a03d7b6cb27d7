"""Regressions: ``linear`` (logistic for categories) and ``pmm``, predictive mean matching."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.columns.given import (
    Floats,
    Given,
    apply_design,
    design_of,
    fit_design,
)
from understudy.synthesizers.columns.samplers import (
    BLOCK,
    Asked,
    Sampler,
    Settings,
    draw_codes,
    softmax,
)
from understudy.synthesizers.model_file import State

RIDGE = 1e-6
PENALTY = 1.0
STEPS = (20, 100)
WORK = 5e10


@dataclass(frozen=True)
class Normal:
    """A normal linear regression: the predicted mean, and noise as large as the residuals."""

    design: Floats
    weights: Floats
    spread: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        design = design_of(state, len(asked.levels))
        weights = state.array("weights", float, (len(design) + 1,))
        return cls(design, weights, state.array("spread", float, (), 0))

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw the predicted mean plus noise."""
        mean: Floats = apply_design(self.design, given) @ self.weights
        return mean + self.spread * rng.normal(size=len(given))


def fit_normal(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> Sampler:
    """Regress; proper synthesis draws variance and coefficients from their posterior."""
    design, _, drawn, spread = _regress(given, target, settings, rng)
    return Normal(design, drawn, np.array(spread))


def _regress(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, float]:
    """Give the design, the coefficients, those to draw with, and the residual deviation.

    The prior of proper synthesis is flat: the variance is the sum of squared residuals over a
    chi-square, the coefficients are normal around the estimate (Rubin 1987, 5.3).
    """
    design = fit_design(given)
    table = apply_design(design, given)
    gram = table.T @ table
    gram[np.diag_indices_from(gram)] *= 1 + RIDGE
    gram[np.diag_indices_from(gram)] += RIDGE
    middle = float(target.mean())
    weights = np.linalg.solve(gram, table.T @ (target - middle)).astype(float)
    weights[0] += middle
    squares = float(((target - table @ weights) ** 2).sum())
    free = max(1, len(target) - int(np.linalg.matrix_rank(gram, hermitian=True)))
    if not settings.proper:
        return design, weights, weights, float(squares / free) ** 0.5
    spread = float(squares / rng.chisquare(free)) ** 0.5
    noise: Floats = np.linalg.solve(np.linalg.cholesky(gram).T, rng.normal(size=len(weights)))
    return design, weights, weights + spread * noise, spread


@dataclass(frozen=True)
class Matched:
    """Training values in the order of their predicted mean, and how the mean is predicted."""

    design: Floats
    weights: Floats
    means: Floats
    donors: Floats
    nearest: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        design = design_of(state, len(asked.levels))
        weights = state.array("weights", float, (len(design) + 1,))
        donors = asked.values(state, "donors", (None,))
        means = state.array("means", float, donors.shape, step=0)
        return cls(design, weights, means, donors, state.array("nearest", float, (), 1, len(means)))

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw one of the nearest training rows by predicted mean, or one of all equal ones."""
        mean = apply_design(self.design, given) @ self.weights
        many, rows = int(self.nearest), np.arange(len(mean))
        low, high = (np.searchsorted(self.means, mean, side=side) for side in ("left", "right"))
        window = np.clip(low[:, None] - many + np.arange(2 * many), 0, len(self.means) - 1)
        far = np.abs(self.means[window] - mean[:, None])
        far[:, 1:][window[:, 1:] == window[:, :-1]] = np.inf
        near = np.argpartition(far, many - 1, axis=1)[:, :many]
        place = window[rows, near[rows, rng.integers(0, many, len(mean))]]
        equal = low + np.floor(rng.random(len(mean)) * (high - low)).astype(np.int64)
        made: Floats = self.donors[np.where(high - low >= many, equal, place)]
        return made


def fit_matched(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> Sampler:
    """Regress and keep each training value beside its predicted mean (Little 1988)."""
    design, weights, drawn, _ = _regress(given, target, settings, rng)
    means = apply_design(design, given) @ weights
    order = np.argsort(means, kind="stable")
    many = min(settings.donors, len(target))
    return Matched(design, drawn, means[order], target[order], np.array(float(many)))


@dataclass(frozen=True)
class Logistic:
    """A multinomial logistic regression over codes."""

    design: Floats
    weights: Floats
    codes: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        design, codes = design_of(state, len(asked.levels)), asked.values(state, "codes", (None,))
        return cls(design, state.array("weights", float, (len(design) + 1, len(codes))), codes)

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw a code from the predicted shares."""
        return draw_codes(
            lambda block: apply_design(self.design, block) @ self.weights, self.codes, given, rng
        )


def fit_logistic(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> Sampler:
    """Maximise the likelihood less half the squared coefficients, the first one free.

    L-BFGS takes at most 100 steps, and fewer, but at least 20, where rows times classes times
    predictors are so many that 100 would take minutes.
    """
    from scipy.optimize import minimize

    design = fit_design(given)
    table = apply_design(design, given)
    codes, kind = np.unique(target, return_inverse=True)
    shape = (table.shape[1], len(codes))
    start = np.zeros(shape)
    start[0] = np.log(np.bincount(kind) / len(kind))

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        value, slope = _slope(table, kind, weights)
        slope[1:] += PENALTY * weights[1:]
        value += PENALTY / 2 * float((weights[1:] ** 2).sum())
        return value / len(kind), slope.ravel() / len(kind)

    steps = int(np.clip(WORK / (len(kind) * start.size), *STEPS))
    options = {"maxiter": steps, "ftol": 1e-7}
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return Logistic(design, found.x.reshape(shape), codes)


def _slope(table: Floats, kind: NDArray[np.int64], weights: Floats) -> tuple[float, Floats]:
    """Give minus the log-likelihood and its slope, block by block of rows."""
    value, slope = 0.0, np.zeros(weights.shape)
    step = max(1, BLOCK // weights.shape[1])
    for first in range(0, len(kind), step):
        block, own = table[first : first + step], kind[first : first + step]
        rows = np.arange(len(own))
        shares = softmax(block @ weights)
        value -= float(np.log(np.maximum(shares[rows, own], 1e-300)).sum())
        shares[rows, own] -= 1
        slope += block.T @ shares
    return value, slope
