"""What a column method learns: a sampler, made of arrays, that draws a column given others."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.model_file import Damaged, State

Floats = NDArray[np.float64]
NO_NUMBER = -1e300
BLOCK = 1 << 22
RESIDUAL_GROUPS = 20


@dataclass(frozen=True)
class PredictorRows:
    """The predictors of some rows.

    ``table`` holds categories as codes and numbers as they are; what is no number stands below
    all numbers, apart, at ``NO_NUMBER`` or less. ``levels`` is the number of codes of each
    category, 0 for a number; ``nominal`` marks the categories, also those whose codes are numbers.
    """

    table: Floats
    levels: NDArray[np.int64]
    nominal: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.table)

    def take(self, rows: NDArray[np.int64] | slice) -> "PredictorRows":
        """Give some of the rows."""
        return PredictorRows(self.table[rows], self.levels, self.nominal)

    def pick(self, columns: NDArray[np.int64]) -> "PredictorRows":
        """Give some of the predictors."""
        return PredictorRows(self.table[:, columns], self.levels[columns], self.nominal[columns])


@dataclass(frozen=True)
class ColumnOptions:
    """The options of the column methods; see ``Sequential``."""

    minbucket: int = 5
    cp: float = 1e-8
    smooth: bool = False
    proper: bool = False
    classes: bool = False
    spike: float = 1.0
    trees: int = 30
    donors: int = 5
    hidden: tuple[int, int] = (64, 64)
    rounds: int = 60


@dataclass(frozen=True)
class Training:
    """What a sampler is fitted to: predictors, and a code (``classes``) or a number a row."""

    given: PredictorRows
    target: Floats
    options: ColumnOptions
    rng: np.random.Generator
    classes: bool = False

    def take(self, rows: NDArray[np.int64]) -> "Training":
        """Give some of the rows."""
        given, target = self.given.take(rows), self.target[rows]
        return Training(given, target, self.options, self.rng, self.classes)


@dataclass(frozen=True)
class Scope:
    """What a sampler from a file must keep to: its predictors, and what it draws.

    ``levels`` is the number of codes of each predictor, 0 for a number. ``codes`` is the number of
    codes that may be drawn; none: numbers are.
    """

    levels: NDArray[np.int64]
    codes: int | None

    def values(self, state: State, name: str, shape: tuple[int | None, ...] = (None,)) -> Floats:
        """Take values that may be drawn, at least one."""
        high = None if self.codes is None else self.codes - 1
        made = state.array(name, float, shape, None if high is None else 0, high)
        if not len(made) or (high is not None and (made != np.floor(made)).any()):
            raise Damaged(f"there is nothing to draw from in {name}")
        return made


@dataclass(frozen=True)
class Sampler:
    """Draws a code or a number for each row; every field is an array.

    ``knows_shares``: the chance of each value that it draws is known.
    """

    knows_shares: ClassVar[bool] = False

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
        """Draw for each row."""
        raise NotImplementedError

    def share(self, given: PredictorRows, drawn: Floats) -> Floats:
        """Give the chance of what was drawn for each row."""
        raise NotImplementedError

    def outputs(self, given: PredictorRows) -> Any:
        """Give what a regression predicts of each row: one number, or one for each code."""
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what it is made of, to be saved."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def training_values(self) -> Floats | None:
        """The training values that it draws from; none if it makes new ones."""
        return self.arrays().get("donors")

    @classmethod
    def restore(cls, state: State, scope: Scope) -> Self:
        """Take what was saved; refuse what does not fit."""
        return cls(**cls._saved(state, scope, 1))

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        """Take the fields of one with so many outputs."""
        return {}


@dataclass(frozen=True)
class Marginal(Sampler):
    """Values of training rows, drawn whatever the predictors are."""

    donors: Floats
    knows_shares: ClassVar[bool] = True

    @classmethod
    def fit(cls, training: Training) -> Self:
        """Keep the values."""
        return cls(training.target)

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        return {"donors": scope.values(state, "donors")}

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
        """Draw what a random training row holds."""
        return self.donors[np.floor(rng.random(len(given)) * len(self.donors)).astype(np.int64)]

    def share(self, given: PredictorRows, drawn: Floats) -> Floats:
        """Give the share of the training rows that hold what was drawn."""
        groups = np.zeros(len(self.donors), np.int64)
        return shares(groups, self.donors, np.zeros(len(drawn), np.int64), drawn)


def shares(
    groups: NDArray[np.int64], donors: Floats, own: NDArray[np.int64], drawn: Floats
) -> Floats:
    """Give for each value drawn its share among the donors of the same group.

    Examples
    --------
    >>> of = np.array([0, 0, 1]), np.array([5.0, 6.0, 6.0])
    >>> shares(*of, np.array([0, 1, 1]), np.array([6.0, 6.0, 5.0])).tolist()
    [0.5, 1.0, 0.0]
    """
    values, place = np.unique(donors, return_inverse=True)
    cells, times = np.unique(groups * len(values) + place.reshape(-1), return_counts=True)
    sizes = np.bincount(groups, minlength=int(own.max(initial=0)) + 1)
    value = np.minimum(np.searchsorted(values, drawn), len(values) - 1)
    wanted = own * len(values) + value
    cell = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    found = (values[value] == drawn) & (cells[cell] == wanted)
    return np.where(found, times[cell] / np.maximum(sizes[own], 1), 0.0)


@dataclass(frozen=True)
class CodeSampler(Sampler):
    """Draws a code from the multinomial whose logarithms the outputs are."""

    codes: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        codes = scope.values(state, "codes")
        return {**super()._saved(state, scope, len(codes)), "codes": codes}

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
        """Draw a code from the predicted shares."""
        return draw_codes(self.outputs, self.codes, given, rng)


def draw_codes(
    logits: Callable[[PredictorRows], Any],
    codes: Floats,
    given: PredictorRows,
    rng: np.random.Generator,
) -> Floats:
    """Draw from the multinomial of each row, block by block; ``logits`` gives its logarithm."""
    step = max(1, BLOCK // max(len(codes), given.table.shape[1], 1))
    made = np.empty(len(given))
    for start in range(0, len(given), step):
        block = slice(start, start + step)
        heights = np.cumsum(softmax(logits(given.take(block))), axis=1)
        level = rng.random(len(heights)) * heights[:, -1]
        place = (heights <= level[:, None]).sum(axis=1)
        made[block] = codes[np.minimum(place, len(codes) - 1)]
    return made


def softmax(logits: Any) -> Any:
    """Turn logarithms into shares."""
    made = np.exp(logits - logits.max(axis=1, keepdims=True))
    made /= made.sum(axis=1, keepdims=True)
    return made


@dataclass(frozen=True)
class ResidualSampler(Sampler):
    """Draws the one output plus a residual of training rows that are predicted alike."""

    residuals: Floats
    begins: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        residuals = state.array("residuals", float, (None,))
        begins = state.array("begins", float, (None,))
        if len(begins) >= len(residuals):
            raise Damaged("there are more groups of residuals than residuals")
        return {**super()._saved(state, scope, outputs), "residuals": residuals, "begins": begins}

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
        """Draw the prediction plus a value between the residuals of two training rows."""
        predicted: Floats = self.outputs(given)[:, 0].astype(float)
        edges = _edges(len(self.residuals), len(self.begins) + 1)
        group = np.searchsorted(self.begins, predicted, side="right")
        place = edges[group] + rng.random(len(predicted)) * (edges[group + 1] - edges[group] - 1)
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, len(self.residuals) - 1)
        between = (place - low) * (self.residuals[high] - self.residuals[low])
        return predicted + (self.residuals[low] + between)


def group_residuals(predicted: Floats, target: Floats) -> dict[str, Any]:
    """Group residuals by the prediction, in order within; give them and where groups begin."""
    residuals, order = target - predicted, np.argsort(predicted, kind="stable")
    edges = _edges(len(order), max(1, min(RESIDUAL_GROUPS, len(order) // 20)))
    made = np.concatenate([np.sort(residuals[p]) for p in np.split(order, edges[1:-1])])
    return {"residuals": made, "begins": predicted[order][edges[1:-1]]}


def _edges(rows: int, groups: int) -> NDArray[np.int64]:
    return np.linspace(0, rows, groups + 1).astype(np.int64)
