"""Whether two models say the same of the same rows, and for the same reasons.

The model of synthetic rows is set beside one of training rows. How far two such models agree
depends on how many rows they saw, and two models of fresh rows do not agree fully either. So
three models are trained on half of the rows: one half of training against the other is the
reference, and against half of the synthetic rows the value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.judging.findings import Part, TableOfNumbers
from understudy.measures.utility.class_scores import Labels

SHUFFLED_ROWS = 2_000
FEWEST_COLUMNS = 3
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Opinion:
    """What a model says of each holdout row, and what each column is worth to it."""

    says: Labels
    worth: Mapping[str, float]


def worth(
    chances: Callable[[Floats], Floats],
    matrix: Floats,
    columns: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, float]:
    """Shuffle one column after the other, and say how far the model's chances move on average.

    It tells on what the model relies, right or wrong; what its score loses would mix in what is
    true of the rows. All models see the same shuffles, if they are given the same stream.
    """
    before = chances(matrix)
    moved = {}
    for name in dict.fromkeys(columns):
        own = [i for i, column in enumerate(columns) if column == name]
        shuffled = matrix.copy()
        shuffled[:, own] = matrix[rng.permutation(len(matrix))][:, own]
        moved[name] = float(np.abs(chances(shuffled) - before).sum(axis=1).mean() / 2)
    return moved


def agreement(first: Labels, second: Labels) -> float:
    """Give the share of rows of which two models say the same."""
    return float((first == second).mean())


def by_chance(first: Labels, second: Labels) -> float:
    """Give the share that would agree if the models said so to rows at random.

    Examples
    --------
    >>> by_chance(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.5
    """
    classes = max(int(first.max()), int(second.max())) + 1
    shares = [np.bincount(says, minlength=classes) / len(says) for says in (first, second)]
    return float(shares[0] @ shares[1])


def same_ranks(first: Mapping[str, float], second: Mapping[str, float]) -> float | None:
    """Give the Spearman correlation of what columns are worth; none for fewer than three columns.

    Examples
    --------
    >>> same_ranks({"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 9.0, "b": 8.0, "c": 7.0})
    1.0
    """
    from scipy.stats import rankdata

    if len(first) < FEWEST_COLUMNS:
        return None
    ranks = [rankdata([one[name] for name in first]) for one in (first, second)]
    if np.array_equal(ranks[0], ranks[1]):
        return 1.0
    if not (ranks[0].std() and ranks[1].std()):
        return None
    return float(np.corrcoef(*ranks)[0, 1])


def parts(
    whole: tuple[Opinion, Opinion], halves: tuple[Opinion, Opinion, Opinion]
) -> tuple[Part, ...]:
    """Give both agreements, of models of half of the rows and of all.

    ``whole`` are the models of synthetic and of training; ``halves`` those of half of the
    synthetic rows, of the same half of training, and of its other half.
    """
    made, fresh, other = halves
    both = Part(
        "agreement",
        agreement(made.says, other.says),
        agreement(fresh.says, other.says),
        {
            "all_rows": agreement(whole[0].says, whole[1].says),
            "by_chance": by_chance(made.says, other.says),
        },
        "fraction",
    )
    ranks = same_ranks(made.worth, other.worth)
    if ranks is None:
        return (both,)
    reasons = Part(
        "importance ranks",
        ranks,
        same_ranks(fresh.worth, other.worth),
        {"all_rows": same_ranks(whole[0].worth, whole[1].worth)},
        "correlation",
    )
    return both, reasons


def table(whole: tuple[Opinion, Opinion]) -> TableOfNumbers:
    """List how far chances move without each column, the most important for training first."""
    made, real = whole[0].worth, whole[1].worth
    names = sorted(real, key=lambda name: (-real[name], name))
    return TableOfNumbers(
        ("column", "synthetic", "training"), tuple((n, made[n], real[n]) for n in names)
    )
