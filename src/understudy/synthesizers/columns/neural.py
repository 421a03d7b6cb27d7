"""``neural``: a network with two hidden layers, as Dandekar et al. (2019) draw from.

Rectified units, trained by Adam (Kingma and Ba 2015) on small batches until a tenth of the rows,
held back, is predicted no better (of codes, those that ten rows have: of a code that only a row
held back has, nothing can be learnt). Codes are drawn from the multinomial of the output layer,
numbers are the prediction plus the residual of a training row that is predicted alike.
"""

import itertools
from dataclasses import dataclass
from typing import Any, Self

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
    Asked,
    Sampler,
    Settings,
    draw_codes,
    draw_residuals,
    group_residuals,
    residuals_of,
    softmax,
)
from understudy.synthesizers.model_file import State

BATCH = (32, 256)
EPOCHS = 40
PATIENCE = 3
FREQUENT = 10
RATE = 2e-3
STEADY = (0.9, 0.999)

Single = NDArray[np.float32]
Layers = list[Single]


@dataclass(frozen=True)
class NeuralClasses:
    """A network whose outputs are the logarithms of shares."""

    design: Floats
    first: Single
    second: Single
    last: Single
    codes: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        design, codes = design_of(state, len(asked.levels)), asked.values(state, "codes", (None,))
        return cls(design, *_layers_of(state, len(design) + 1, len(codes)), codes)

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw a code from the output layer."""
        return draw_codes(self._outputs, self.codes, given, rng)

    def _outputs(self, given: Given) -> Any:
        return _forward(_input(self.design, given), [self.first, self.second, self.last])[-1]


@dataclass(frozen=True)
class NeuralNumbers:
    """A network whose one output is a number, in standard deviations from the mean."""

    design: Floats
    first: Single
    second: Single
    last: Single
    scale: Floats
    residuals: Floats
    begins: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        design = design_of(state, len(asked.levels))
        layers = _layers_of(state, len(design) + 1, 1)
        return cls(design, *layers, state.array("scale", float, (2,)), *residuals_of(state))

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw the prediction plus a residual."""
        layers = [self.first, self.second, self.last]
        predicted = _forward(_input(self.design, given), layers)[-1][:, 0].astype(float)
        noise = draw_residuals(predicted, self.residuals, self.begins, rng)
        made: Floats = self.scale[0] + self.scale[1] * (predicted + noise)
        return made


def fit_neural_classes(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> Sampler:
    """Train on codes."""
    design = fit_design(given)
    codes, kind = np.unique(target, return_inverse=True)
    start = np.log(np.bincount(kind) / len(kind))
    first, second, last = _train(_input(design, given), kind, start, settings, rng)
    return NeuralClasses(design, first, second, last, codes)


def fit_neural_numbers(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> Sampler:
    """Train on numbers."""
    design = fit_design(given)
    middle, width = float(target.mean()), float(target.std()) or 1.0
    wanted = (target - middle) / width
    inputs = _input(design, given)
    layers = _train(inputs, wanted.astype(np.float32), np.zeros(1), settings, rng)
    predicted = _forward(inputs, layers)[-1][:, 0].astype(float)
    residuals, begins = group_residuals(predicted, wanted - predicted)
    first, second, last = layers
    scale = np.array([middle, width])
    return NeuralNumbers(design, first, second, last, scale, residuals, begins)


def _layers_of(state: State, inputs: int, outputs: int) -> tuple[Single, Single, Single]:
    """Take layers that fit together; each has a weight more than the layer before has units."""
    first = state.array("first", np.float32, (inputs + 1, None))
    second = state.array("second", np.float32, (first.shape[1] + 1, None))
    return first, second, state.array("last", np.float32, (second.shape[1] + 1, outputs))


def _input(design: Floats, given: Given) -> Single:
    return apply_design(design, given).astype(np.float32)


def _forward(inputs: Single, layers: Layers) -> Layers:
    """Give what each layer puts out; the last weight of a layer goes with a constant 1."""
    made = [inputs]
    for place, weights in enumerate(layers):
        out = made[-1] @ weights[:-1] + weights[-1]
        made.append(out if place == len(layers) - 1 else np.maximum(out, 0))
    return made


def _train(
    inputs: Single,
    target: Any,
    start: Floats,
    settings: Settings,
    rng: np.random.Generator,
) -> Layers:
    sizes = [inputs.shape[1], *settings.hidden, len(start)]
    layers: Layers = []
    for before, after in itertools.pairwise(sizes):
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
    best, kept, worse = np.inf, layers, 0
    means = [np.zeros_like(w) for w in layers]
    squares = [np.zeros_like(w) for w in layers]
    step = 0
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


def _adam(
    weights: Single,
    slope: Single,
    mean: Single,
    square: Single,
    step: int,
) -> None:
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
