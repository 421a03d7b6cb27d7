"""``boost``: gradient boosting (Friedman 2001) with the library's own regression trees.

For several classes each round grows one tree on a random mixture of the classes' gradients, and
each leaf takes a Newton step for every class (Iosipoi and Vakhrushev 2022), so that many classes
cost no more trees than two. Numbers are the prediction plus the residual of a row predicted alike.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from understudy.errors import OptionError
from understudy.synthesizers.columns.given import Floats, Given
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
from understudy.synthesizers.columns.trees import Stack, part, stacked
from understudy.synthesizers.model_file import State

LEAVES = 16
RATE = 0.2
RIDGE = 1.0
MOST_CELLS = 5 * 10**7


@dataclass(frozen=True)
class _Sum(Stack):
    """Trees whose leaf values add up, one for each output."""

    values: Floats
    base: Floats

    @staticmethod
    def fields_of(state: State, asked: Asked, outputs: int) -> dict[str, Any]:
        """Take trees, and a value of each node for each output."""
        trees = Stack.arrays_of(state, asked)
        values = state.array("values", float, (len(trees["column"]), outputs))
        return {**trees, "values": values, "base": state.array("base", float, (outputs,))}

    def outputs(self, given: Given) -> Floats:
        """Add up the leaves of each row."""
        made = np.tile(self.base, (len(given), 1))
        for number in range(len(self.nodes)):
            leaf = self.tree(number).apply(given.table)
            made += part(self.values, self.nodes, number)[leaf]
        return made


@dataclass(frozen=True)
class BoostClasses(_Sum):
    """Trees that add up to the logarithms of shares."""

    codes: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        codes = asked.values(state, "codes", (None,))
        return cls(**cls.fields_of(state, asked, len(codes)), codes=codes)

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw a code from the predicted shares."""
        return draw_codes(self.outputs, self.codes, given, rng)


@dataclass(frozen=True)
class BoostNumbers(_Sum):
    """Trees that add up to a number."""

    residuals: Floats
    begins: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        residuals, begins = residuals_of(state)
        return cls(**cls.fields_of(state, asked, 1), residuals=residuals, begins=begins)

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw the prediction plus a residual."""
        predicted = self.outputs(given)[:, 0]
        return predicted + draw_residuals(predicted, self.residuals, self.begins, rng)


def fit_boost_classes(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> Sampler:
    """Boost the likelihood of codes."""
    codes, kind = np.unique(target, return_inverse=True)
    rows = np.arange(len(kind))
    if len(rows) * len(codes) > MOST_CELLS:
        raise OptionError(
            f"boost: {len(codes):,} classes of {len(rows):,} rows are too many",
            hint="use the column method tree, random_forest or neural for this column",
        )
    base = np.log(np.bincount(kind) / len(kind))

    def slopes(outputs: Any) -> tuple[Any, Any]:
        shares = softmax(outputs)
        weight = shares * (1 - shares)
        slope = np.negative(shares, out=shares)
        slope[rows, kind] += 1
        return slope, weight

    fields, _ = _boost(given, base, slopes, settings, rng)
    return BoostClasses(**fields, codes=codes)


def fit_boost_numbers(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator
) -> Sampler:
    """Boost the squared error of numbers."""
    fields, predicted = _boost(
        given,
        np.array([target.mean()]),
        lambda outputs: (target[:, None] - outputs, np.ones((len(target), 1))),
        settings,
        rng,
    )
    residuals, begins = group_residuals(predicted[:, 0], target - predicted[:, 0])
    return BoostNumbers(**fields, residuals=residuals, begins=begins)


def _boost(
    given: Given, base: Floats, slopes: Any, settings: Settings, rng: np.random.Generator
) -> tuple[dict[str, Any], Floats]:
    """Add trees; give the fields of the sum, and its outputs on the training rows."""
    from understudy.kernels.trees import grow

    outputs = np.tile(base, (len(given), 1))
    if len(base) > 1:
        outputs = outputs.astype(np.float32)
    size = max(settings.minbucket, len(given) // LEAVES)
    trees, values = [], []
    for _ in range(settings.rounds if given.table.shape[1] else 1):
        slope, weight = slopes(outputs)
        mixture = rng.normal(size=slope.shape[1]) if slope.shape[1] > 1 else np.ones(1)
        tree = grow(
            given.table, given.levels, slope @ mixture, 0, min_leaf=size, min_split=2 * size, cp=0.0
        )
        value = np.zeros((len(tree.column), slope.shape[1]))
        for node in np.flatnonzero(tree.column < 0):
            rows = tree.rows[tree.begin[node] : tree.end[node]]
            value[node] = RATE * slope[rows].sum(0) / (weight[rows].sum(0) + RIDGE)
            outputs[rows] += value[node]
        trees.append(tree)
        values.append(value)
    return {**stacked(trees), "values": np.concatenate(values), "base": base}, outputs
