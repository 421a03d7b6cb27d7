"""What a column method learns: a sampler, made of plain arrays, that draws given predictors."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.columns.given import Floats, Given
from understudy.synthesizers.model_file import Damaged, State

BLOCK = 1 << 22
RESIDUAL_GROUPS = 20


class Sampler(Protocol):
    """Draws a code or a number for each row; every field is an array.

    One that knows the chance of each value it draws has ``share(given, drawn)``.
    """

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw for each row."""

    @classmethod
    def of(cls, state: State, asked: "Asked") -> Self:
        """Take what was saved; refuse what does not fit."""


@dataclass(frozen=True)
class Asked:
    """What a sampler must fit that comes from a file: its predictors, and what it draws.

    ``levels`` is the number of codes of each predictor, 0 for a number. ``codes`` is the number of
    codes that may be drawn; none: numbers are.
    """

    levels: NDArray[np.int64]
    codes: int | None

    def values(self, state: State, name: str, shape: tuple[int | None, ...]) -> Floats:
        """Take values that may be drawn, at least one."""
        high = None if self.codes is None else self.codes - 1
        made = state.array(name, float, shape, None if high is None else 0, high)
        if not len(made) or (high is not None and (made != np.floor(made)).any()):
            raise Damaged(f"there is nothing to draw from in {name}")
        return made


@dataclass(frozen=True)
class Settings:
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


Fit = Callable[[Given, Floats, Settings, np.random.Generator], Sampler]


@dataclass(frozen=True)
class ColumnMethod:
    """How a column is drawn: fitted on codes (categories), and on numbers.

    ``codes_are_numbers``: a small domain of numbers is drawn as numbers, not as a category.
    ``k_class``: numbers can be drawn as classes, one for each distinct value.
    ``posterior``: proper synthesis of numbers draws the coefficients, not the rows.
    """

    classes: Fit
    numbers: Fit
    codes_are_numbers: bool = False
    k_class: bool = False
    posterior: bool = False


@dataclass(frozen=True)
class Pool:
    """Values of training rows, drawn whatever the predictors are."""

    donors: Floats

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved."""
        return cls(asked.values(state, "donors", (None,)))

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw what a random training row holds."""
        return self.donors[np.floor(rng.random(len(given)) * len(self.donors)).astype(np.int64)]

    def share(self, given: Given, drawn: Floats) -> Floats:
        """Give the share of the training rows that hold what was drawn."""
        groups = np.zeros(len(self.donors), np.int64)
        return shares(groups, self.donors, np.zeros(len(drawn), np.int64), drawn)


def fit_pool(given: Given, target: Floats, settings: Settings, rng: np.random.Generator) -> Sampler:
    """Keep the values."""
    return Pool(target)


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


def draw_codes(
    logits: Callable[[Given], Any], codes: Floats, given: Given, rng: np.random.Generator
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


def group_residuals(predicted: Floats, residuals: Floats) -> tuple[Floats, Floats]:
    """Group residuals by the prediction, in order within; give them and where groups begin."""
    order = np.argsort(predicted, kind="stable")
    edges = _edges(len(order), max(1, min(RESIDUAL_GROUPS, len(order) // 20)))
    made = np.concatenate([np.sort(residuals[p]) for p in np.split(order, edges[1:-1])])
    return made, predicted[order][edges[1:-1]]


def residuals_of(state: State) -> tuple[Floats, Floats]:
    """Take residuals and where their groups begin."""
    residuals = state.array("residuals", float, (None,))
    begins = state.array("begins", float, (None,))
    if len(begins) >= len(residuals):
        raise Damaged("there are more groups of residuals than residuals")
    return residuals, begins


def draw_residuals(
    predicted: Floats, residuals: Floats, begins: Floats, rng: np.random.Generator
) -> Floats:
    """Draw for each row between the residuals of two training rows that are predicted alike."""
    edges = _edges(len(residuals), len(begins) + 1)
    group = np.searchsorted(begins, predicted, side="right")
    place = edges[group] + rng.random(len(predicted)) * (edges[group + 1] - edges[group] - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, len(residuals) - 1)
    return residuals[low] + (place - low) * (residuals[high] - residuals[low])


def _edges(rows: int, groups: int) -> NDArray[np.int64]:
    return np.linspace(0, rows, groups + 1).astype(np.int64)


def arrays_of(sampler: Sampler) -> dict[str, NDArray[Any]]:
    """Give what a sampler is made of."""
    return {f.name: getattr(sampler, f.name) for f in fields(sampler)}  # type: ignore[arg-type]
