"""Which columns gave synthetic rows away, and which only together, in numbers and in words."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.measures.boosting import auc

MOST_COLUMNS = 6
TELLING = 0.005
ERRORS = 3.0
NAMED = 3
AT_ONCE = 16
Names = tuple[str, ...]


@dataclass(frozen=True)
class Judge:
    """A fitted model and rows that it has not seen, with their labels."""

    model: Any
    matrix: NDArray[np.float64]
    is_player: NDArray[np.bool_]

    def losses(
        self, columns: tuple[str, ...], names: Sequence[Names], rng: np.random.Generator
    ) -> dict[Names, float]:
        """Say what the area loses when some columns get the values of other rows, set by set.

        Columns of a set get those of the same row. Sets are judged together, for a call of
        scikit-learn takes longer than a few rows.
        """
        if not self.has_both:
            return {}
        whole = self._areas([self.matrix])[0]
        lost: dict[Names, float] = {}
        for some in _batches(names):
            made = [_shuffled(self.matrix, columns, own, rng) for own in some]
            areas = self._areas(made)
            lost |= {own: whole - area for own, area in zip(some, areas, strict=True)}
        return lost

    def _areas(self, tables: list[NDArray[np.float64]]) -> list[float]:
        scores = self.model.decision_function(np.concatenate(tables))
        return [auc(own, self.is_player)[0] for own in np.split(scores, len(tables))]

    @property
    def has_both(self) -> bool:
        """Whether there are rows of both tables."""
        return bool(self.is_player.any() and not self.is_player.all())


@dataclass(frozen=True)
class Interplay:
    """What of the area needs two columns together, and its standard error over the folds."""

    names: tuple[str, str]
    value: float
    error: float

    @property
    def tells(self) -> bool:
        """Whether it is more than noise, and worth a word.

        Three errors are those of 15 looks at 5 %, one side, with some 60 degrees of freedom; where
        a pair's own error is the larger one, it is the stricter rule.
        """
        return self.value >= TELLING and self.value > ERRORS * self.error


def alone(judge: Judge, columns: tuple[str, ...], rng: np.random.Generator) -> dict[str, float]:
    """Shuffle one column after the other, and say what the area loses."""
    each = [(name,) for name in dict.fromkeys(columns)]
    return {own[0]: loss for own, loss in judge.losses(columns, each, rng).items()}


def excesses(
    judge: Judge, columns: tuple[str, ...], names: Sequence[str], rng: np.random.Generator
) -> dict[tuple[str, str], float]:
    """Say of each pair of columns what of the area needs both.

    If one column is shuffled, all that the model reads from it is lost, alone and in combination.
    So what is read from the combination of two columns is lost by either of the two shuffles, but
    only once if both go to other rows together: the excess of the two losses over the joint one.
    Columns that tell independently lose more together than apart, for the area is bounded.
    """
    pairs = list(itertools.combinations(sorted(names), 2))
    lost = judge.losses(columns, [*((name,) for name in names), *pairs], rng)
    return {(a, b): lost[a,] + lost[b,] - lost[a, b] for a, b in pairs if lost}


def most_telling(lost: Mapping[str, float]) -> list[str]:
    """Name the columns whose pairs are looked at."""
    return sorted(lost, key=lambda name: (-lost[name], name))[:MOST_COLUMNS]


def over_folds(found: Sequence[Mapping[tuple[str, str], float]]) -> tuple[Interplay, ...]:
    """Put what the folds say of each pair together, the largest first.

    The noise is that of shuffling, and five folds tell little of it, so that all pairs share its
    variance; pairs with a column that tells much have more of it, and then their own counts.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for fold in found:
        for pair, excess in fold.items():
            values.setdefault(pair, []).append(excess)
    several = {pair: own for pair, own in values.items() if len(own) > 1}
    if not several:
        return ()
    single = {pair: float(np.var(own, ddof=1)) / len(own) for pair, own in several.items()}
    shared = float(np.mean(list(single.values())))
    made = [
        Interplay(pair, float(np.mean(own)), math.sqrt(max(shared, single[pair])))
        for pair, own in several.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.value, one.names)))


def _batches(names: Sequence[Names]) -> list[Sequence[Names]]:
    return [names[begin : begin + AT_ONCE] for begin in range(0, len(names), AT_ONCE)]


def _shuffled(
    matrix: NDArray[np.float64],
    columns: tuple[str, ...],
    names: tuple[str, ...],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Give columns the values of other rows, all of them those of the same row."""
    own = [i for i, column in enumerate(columns) if column in names]
    made = matrix.copy()
    made[:, own] = matrix[rng.permutation(len(matrix))][:, own]
    return made


def in_words(lost: Mapping[str, float], together: Sequence[Interplay]) -> str:
    """Say what gave the rows away.

    Examples
    --------
    >>> in_words({"age": 0.12, "sex": 0.03, "town": 0.001},
    ...          [Interplay(("age", "sex"), 0.02, 0.001)])
    'Mostly told apart by age (0.12 of the area) and sex (0.03), and by the combination of age and
     sex (0.02).'
    """
    order = sorted(lost, key=lambda name: (-lost[name], name))
    telling = [name for name in order if lost[name] >= TELLING][:NAMED]
    if not telling:
        return "No single column gives them away: what tells is spread over many."
    named = [f"{name} ({lost[name]:.2g})" for name in telling]
    named[0] = f"{telling[0]} ({lost[telling[0]]:.2g} of the area)"
    pairs = [one for one in together if one.tells][:NAMED]
    said = f"Mostly told apart by {_listed(named)}"
    if pairs:
        both = [f"{one.names[0]} and {one.names[1]} ({one.value:.2g})" for one in pairs]
        said += f", and by the combination of {'; of '.join(both)}"
    return f"{said}."


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
