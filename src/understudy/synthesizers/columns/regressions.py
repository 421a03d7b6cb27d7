"""Regressions: ``linear`` (logistic for categories), ``pmm`` (mean matching) and ``neural``.

``neural`` is a network with two hidden layers, as Dandekar et al. (2019) draw from. Rectified
units, trained by Adam (Kingma and Ba 2015) on small batches until a tenth of the rows, held back,
is predicted no better (of codes, those that ten rows have: of a code that only a row held back has,
nothing can be learnt). Codes are drawn from the multinomial of the output layer, numbers are the
prediction plus the residual of a training row that is predicted alike.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.columns.samplers import (
    BLOCK,
    NO_NUMBER,
    CodeSampler,
    Floats,
    PredictorRows,
    ResidualSampler,
    Sampler,
    Scope,
    Training,
    group_residuals,
    softmax,
)
from understudy.synthesizers.model_file import Damaged, State

MOST_MARKS = 50
RIDGE = 1e-6
PENALTY = 1.0
STEPS = (20, 100)
WORK = 5e10
BATCH = (32, 256)
EPOCHS = 40
PATIENCE = 3
FREQUENT = 10
RATE = 2e-3
STEADY = (0.9, 0.999)

Single = NDArray[np.float32]
Layers = list[Single]


def fit_design(given: PredictorRows) -> Floats:
    """Learn how predictors become columns of a regression.

    A category becomes one mark of 0 or 1 for each level, the ``MOST_MARKS`` most frequent ones if
    there are more; a number becomes its distance from the mean in standard deviations, with a
    mark for each way of being no number. One row of the result for each: the predictor, the
    value that is marked (nan for a number), what is taken off and what is divided by.
    """
    made: list[tuple[float, float, float, float]] = []
    for place in range(given.table.shape[1]):
        column = given.table[:, place]
        marked = column if given.nominal[place] else column[column <= NO_NUMBER]
        values, times = np.unique(marked, return_counts=True)
        if len(values) > MOST_MARKS:
            values = np.sort(values[np.argsort(-times, kind="stable")[:MOST_MARKS]])
        made += [(place, value, 0.0, 1.0) for value in values]
        numbers = column[column > NO_NUMBER]
        if not given.nominal[place] and len(numbers):
            made.append((place, np.nan, float(numbers.mean()), float(numbers.std()) or 1.0))
    return np.array(made).reshape(-1, 4)


def apply_design(design: Floats, given: PredictorRows) -> Floats:
    """Give the columns of a regression, the first one all 1."""
    made = np.ones((len(given), 1 + len(design)))
    for place, (source, value, middle, width) in enumerate(design, start=1):
        column = given.table[:, int(source)]
        if np.isnan(value):
            made[:, place] = np.where(column <= NO_NUMBER, 0.0, (column - middle) / width)
        else:
            made[:, place] = column == value
    return made


@dataclass(frozen=True)
class Regression(Sampler):
    """What sees its predictors through a design."""

    design: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        """Take the design; refuse one of predictors that there are not."""
        made: Floats = state.array("design", float, (None, 4), nan=True)
        known = np.isin(made[:, 0], np.arange(len(scope.levels))).all()
        if not known or np.isnan(made[:, 2:]).any() or (made[:, 3] == 0).any():
            raise Damaged("a regression asks for predictors that there are not")
        return {"design": made}


@dataclass(frozen=True)
class Linear(Regression):
    """Coefficients of the columns of a design, for one output or several."""

    weights: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        made = super()._saved(state, scope, outputs)
        several = (outputs,) if issubclass(cls, CodeSampler) else ()
        shape = (len(made["design"]) + 1, *several)
        return {**made, "weights": state.array("weights", float, shape)}

    def outputs(self, given: PredictorRows) -> Floats:
        """Give the linear predictor."""
        return apply_design(self.design, given) @ self.weights


@dataclass(frozen=True)
class Normal(Linear):
    """A normal linear regression: the predicted mean, and noise as large as the residuals."""

    spread: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        spread = state.array("spread", float, (), 0)
        return {**super()._saved(state, scope, outputs), "spread": spread}

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
        """Draw the predicted mean plus noise."""
        return self.outputs(given) + self.spread * rng.normal(size=len(given))


def fit_normal(training: Training) -> Normal:
    """Regress; proper synthesis draws variance and coefficients from their posterior."""
    design, _, drawn, spread = _regress(training)
    return Normal(design, drawn, np.array(spread))


def _regress(training: Training) -> tuple[Floats, Floats, Floats, float]:
    """Give the design, the coefficients, those to draw with, and the residual deviation.

    The prior of proper synthesis is flat: the variance is the sum of squared residuals over a
    chi-square, the coefficients are normal around the estimate (Rubin 1987, 5.3).
    """
    target, rng, design = training.target, training.rng, fit_design(training.given)
    table = apply_design(design, training.given)
    gram = table.T @ table
    gram[np.diag_indices_from(gram)] *= 1 + RIDGE
    gram[np.diag_indices_from(gram)] += RIDGE
    middle = float(target.mean())
    weights = np.linalg.solve(gram, table.T @ (target - middle)).astype(float)
    weights[0] += middle
    squares = float(((target - table @ weights) ** 2).sum())
    free = max(1, len(target) - int(np.linalg.matrix_rank(gram, hermitian=True)))
    if not training.options.proper:
        return design, weights, weights, float(squares / free) ** 0.5
    spread = float(squares / rng.chisquare(free)) ** 0.5
    noise: Floats = np.linalg.solve(np.linalg.cholesky(gram).T, rng.normal(size=len(weights)))
    return design, weights, weights + spread * noise, spread


@dataclass(frozen=True)
class Matched(Linear):
    """Training values in the order of their predicted mean, and how the mean is predicted."""

    means: Floats
    donors: Floats
    nearest: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        donors = scope.values(state, "donors")
        means = state.array("means", float, donors.shape, step=0)
        nearest = state.array("nearest", float, (), 1, len(means))
        own = {"means": means, "donors": donors, "nearest": nearest}
        return {**super()._saved(state, scope, outputs), **own}

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
        """Draw one of the nearest training rows by predicted mean, or one of all equal ones."""
        mean = self.outputs(given)
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


def fit_matched(training: Training) -> Matched:
    """Regress and keep each training value beside its predicted mean (Little 1988)."""
    design, weights, drawn, _ = _regress(training)
    means = apply_design(design, training.given) @ weights
    order = np.argsort(means, kind="stable")
    many = min(training.options.donors, len(training.target))
    return Matched(design, drawn, means[order], training.target[order], np.array(float(many)))


@dataclass(frozen=True)
class Logistic(CodeSampler, Linear):
    """A multinomial logistic regression over codes."""


def fit_logistic(training: Training) -> Logistic:
    """Maximise the likelihood less half the squared coefficients, the first one free.

    L-BFGS takes at most 100 steps, and fewer, but at least 20, where rows times classes times
    predictors are so many that 100 would take minutes.
    """
    from scipy.optimize import minimize

    design = fit_design(training.given)
    table = apply_design(design, training.given)
    codes, kind = np.unique(training.target, return_inverse=True)
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


@dataclass(frozen=True)
class Network(Regression):
    """Two hidden layers and an output layer; the last weight of a unit goes with a constant 1."""

    first: Single
    second: Single
    last: Single

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        made = super()._saved(state, scope, outputs)
        first = state.array("first", np.float32, (len(made["design"]) + 2, None))
        second = state.array("second", np.float32, (first.shape[1] + 1, None))
        last = state.array("last", np.float32, (second.shape[1] + 1, outputs))
        return {**made, "first": first, "second": second, "last": last}

    def outputs(self, given: PredictorRows) -> Single:
        """Give what the last layer puts out."""
        return _forward(_inputs(self.design, given), [self.first, self.second, self.last])[-1]


@dataclass(frozen=True)
class NeuralClasses(CodeSampler, Network):
    """A network whose outputs are the logarithms of shares."""


@dataclass(frozen=True)
class ScaledNetwork(Network):
    """A network whose one output is a number, in standard deviations from the mean."""

    scale: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        scale = state.array("scale", float, (2,))
        return {**super()._saved(state, scope, outputs), "scale": scale}


@dataclass(frozen=True)
class NeuralNumbers(ResidualSampler, ScaledNetwork):
    """A network for numbers, and its residuals."""

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
        """Draw the prediction plus a residual, in the units of the column."""
        made: Floats = self.scale[0] + self.scale[1] * super().draw(given, rng)
        return made


def fit_neural_classes(training: Training) -> NeuralClasses:
    """Train on codes."""
    design = fit_design(training.given)
    codes, kind = np.unique(training.target, return_inverse=True)
    start = np.log(np.bincount(kind) / len(kind))
    first, second, last = _train(_inputs(design, training.given), kind, start, training)
    return NeuralClasses(design, first, second, last, codes)


def fit_neural_numbers(training: Training) -> NeuralNumbers:
    """Train on numbers."""
    design, target = fit_design(training.given), training.target
    middle, width = float(target.mean()), float(target.std()) or 1.0
    wanted = (target - middle) / width
    inputs = _inputs(design, training.given)
    layers = _train(inputs, wanted.astype(np.float32), np.zeros(1), training)
    residuals = group_residuals(_forward(inputs, layers)[-1][:, 0].astype(float), wanted)
    first, second, last = layers
    return NeuralNumbers(design, first, second, last, np.array([middle, width]), **residuals)


def _inputs(design: Floats, given: PredictorRows) -> Single:
    return apply_design(design, given).astype(np.float32)


def _forward(inputs: Single, layers: Layers) -> Layers:
    """Give what each layer puts out."""
    made = [inputs]
    for place, weights in enumerate(layers):
        out = made[-1] @ weights[:-1] + weights[-1]
        made.append(out if place == len(layers) - 1 else np.maximum(out, 0))
    return made


def _train(inputs: Single, target: Any, start: Floats, training: Training) -> Layers:
    rng = training.rng
    layers: Layers = []
    for before, after in itertools.pairwise(
        [inputs.shape[1], *training.options.hidden, len(start)]
    ):
        weights = rng.normal(size=(before + 1, after)) * (2 / before) ** 0.5
        weights[-1] = 0
        layers.append(weights.astype(np.float32))
    layers[-1] *= np.float32(0.1)
    layers[-1][-1] = start
    order = rng.permutation(len(inputs))
    held, order = order[: len(order) // 10], order[len(order) // 10 :]
    if np.issubdtype(target.dtype, np.integer):
        held = held[np.bincount(target)[target[held]] >= FREQUENT]
    size = int(np.clip(len(order) // 100, *BATCH))
    best, kept, worse, step = np.inf, layers, 0, 0
    means = [np.zeros_like(w) for w in layers]
    squares = [np.zeros_like(w) for w in layers]
    for _ in range(EPOCHS):
        order = rng.permutation(order)
        for first in range(0, len(order), size):
            rows = order[first : first + size]
            step += 1
            slopes = _slopes(inputs[rows], target[rows], layers)
            for place, slope in enumerate(slopes):
                _adam(layers[place], slope, means[place], squares[place], step)
        if not len(held):
            kept = layers
            continue
        loss = _loss(_forward(inputs[held], layers)[-1], target[held])
        worse = 0 if loss < best else worse + 1
        if loss < best:
            best, kept = loss, [w.copy() for w in layers]
        if worse >= PATIENCE:
            break
    return kept


def _adam(weights: Single, slope: Single, mean: Single, square: Single, step: int) -> None:
    mean += (1 - STEADY[0]) * (slope - mean)
    square += (1 - STEADY[1]) * (slope * slope - square)
    rate = RATE * (1 - STEADY[1] ** step) ** 0.5 / (1 - STEADY[0] ** step)
    weights -= rate * mean / (np.sqrt(square) + 1e-8)


def _slopes(inputs: Single, target: Any, layers: Layers) -> list[Single]:
    """Give the slope of the mean loss for each layer, from the last one back."""
    outputs = _forward(inputs, layers)
    if np.issubdtype(target.dtype, np.integer):
        back = softmax(outputs[-1])
        back[np.arange(len(target)), target] -= 1
    else:
        back = outputs[-1] - target[:, None]
    back /= len(inputs)
    made: list[Single] = []
    for place in range(len(layers) - 1, -1, -1):
        made.append(np.vstack([outputs[place].T @ back, back.sum(axis=0)]))
        if place:
            back = (back @ layers[place][:-1].T) * (outputs[place] > 0)
    return made[::-1]


def _loss(outputs: Single, target: Any) -> float:
    if np.issubdtype(target.dtype, np.integer):
        shares = softmax(outputs)[np.arange(len(target)), target]
        return float(-np.log(np.maximum(shares, 1e-30)).mean())
    return float(((outputs[:, 0] - target) ** 2).mean())
