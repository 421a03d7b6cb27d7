"""How well chances of classes predict the truth: area, accuracy, F1, log loss."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.measures.boosting import auc

Chances = NDArray[np.float64]
Labels = NDArray[np.int64]
SMALLEST = 1e-6


@dataclass(frozen=True)
class Score:
    """How well a model predicts the holdout: area, errors by row, and the plain scores.

    ``by_class``, ``f1`` and ``recall`` are by number of the class, of those that the holdout has.
    """

    auc: float
    contributions: NDArray[np.float64]
    by_class: dict[int, float]
    accuracy: float
    log_loss: float
    f1: dict[int, float]
    recall: dict[int, float]
    says: Labels

    @property
    def macro_f1(self) -> float:
        """The mean of F1 over classes, each with the same weight."""
        return float(np.mean(list(self.f1.values())))

    @property
    def balanced_accuracy(self) -> float:
        """The mean over classes of the share of their rows that is recognised."""
        return float(np.mean(list(self.recall.values())))


def score(chances: Chances, truth: Labels) -> Score:
    """Compare chances with the truth; two classes have one area, several one each."""
    tested = np.unique(truth)
    looked = tested[-1:] if len(tested) == chances.shape[1] == 2 else tested
    found = {int(c): auc(chances[:, c], truth == c) for c in looked}
    own = np.clip(chances[np.arange(len(truth)), truth], SMALLEST, 1.0)
    says = chances.argmax(axis=1)
    return Score(
        float(np.mean([value for value, _ in found.values()])),
        np.mean([contributions for _, contributions in found.values()], axis=0),
        {c: value for c, (value, _) in found.items()},
        float((says == truth).mean()),
        float(-np.log(own).mean()),
        {int(c): f1(says == c, truth == c) for c in tested},
        {int(c): float((says[truth == c] == c).mean()) for c in tested},
        says,
    )


def f1(says: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Give the harmonic mean of precision and recall; a class that nobody names has 0.

    Examples
    --------
    >>> f1(np.array([True, True, False]), np.array([True, False, False]))
    0.666...
    """
    both, either = int((says & truth).sum()), int(says.sum()) + int(truth.sum())
    return 2 * both / either if either else 0.0
