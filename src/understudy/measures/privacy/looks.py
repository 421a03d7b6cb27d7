"""Several looks at once: what attacks score on real persons, with all labels swapped together.

An attack sees the synthetic table and gives every real person a score (a hit, an error). Training
persons are counted against holdout persons, who cannot have been learnt. If the holdout is a
random part of the same data and nothing leaks, the labels training and holdout can be swapped at
will; the largest of all looks under swapped labels gives p-values and intervals that hold for all
of them at once (Westfall and Young 1993), however the looks depend on each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL
from understudy.measures.privacy.pool import swap_labels

Floats = NDArray[np.float64]
AT_ONCE = 32


@dataclass(frozen=True)
class Looks:
    """What each look gives on training and on holdout persons, corrected for all looks.

    Parameters
    ----------
    names : tuple of str
    value, reference : array
        The mean score of training persons and of holdout persons.
    spread : array
        The standard deviation of their difference when labels are swapped.
    p_value : array
        Corrected: the chance that any look would be as far on the bad side without a leak.
    reach : float
        How many deviations an interval must reach so that all hold at once.
    draws : array of shape (swaps, looks)
        The difference under swapped labels.
    leak : {1, -1}
        1 if a leak makes the value larger.
    """

    names: tuple[str, ...]
    value: Floats
    reference: Floats
    spread: Floats
    p_value: Floats
    reach: float
    draws: Floats
    leak: int = 1

    def interval(self, look: int, low: float, high: float) -> tuple[float, float]:
        """Give the interval of a look's value, cut to what is possible."""
        half = float(self.reach * self.spread[look])
        value = float(self.value[look])
        return float(max(low, value - half)), float(min(high, value + half))

    @property
    def worst(self) -> int:
        """The look with the strongest evidence of a leak; of equals, the farthest on its side."""
        ahead = self.leak * (self.value - self.reference)
        return int(np.lexsort((-ahead, self.p_value))[0])

    @property
    def note(self) -> str:
        """Say how many looks were taken."""
        return at_once(self.names, self.worst)


def at_once(names: Sequence[str], shown: int) -> str:
    """Say how many looks were taken, corrected for each other, and which is shown."""
    if len(names) == 1:
        return ""
    return (
        f"{len(names):,} looks were taken; p-values and intervals hold for all of them at once. "
        f"The number shown is that of {names[shown]}."
    )


def each_alone(names: Sequence[str], shown: int, why: str) -> str:
    """Say how many looks were taken where nothing corrects them for each other."""
    if len(names) == 1:
        return ""
    return (
        f"{len(names):,} looks were taken, each by itself; the number shown is that of "
        f"{names[shown]}, {why}."
    )


def take_looks(
    comparison: Comparison,
    scores: Floats,
    names: Sequence[str],
    *,
    name: str,
    leak: int = 1,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Looks:
    """Compare the scores of training persons with those of holdout persons.

    Parameters
    ----------
    scores : array of shape (persons, looks)
        Training persons first, then holdout persons, in the order of the tables; nan where a
        person is no target of a look.
    names : names of the looks
    name : str
        The measure's name, for its random stream.
    leak : {1, -1}
        1 if a leak makes scores of training persons larger (hits), -1 if smaller (errors).
    permutations, strata, group
        How often labels are swapped, and what the split respected.
    """
    train, persons = comparison.height("train"), len(scores)
    if permutations < 2:
        raise OptionError(f"permutations = {permutations}", hint="use at least 2")
    if persons != train + comparison.height("holdout"):
        raise ValueError("one row of scores for each real person")
    # who is no target of any look need not be swapped, unless a group goes as a whole
    asked = np.ones(persons, bool) if group else ~np.isnan(scores).all(axis=1)
    who = np.flatnonzero(asked)
    is_train = who < train
    labels = swap_labels(
        comparison, who, is_train, permutations, name=name, strata=strata, group=group
    )
    target = ~np.isnan(scores[who])
    filled = np.where(target, scores[who], 0.0)
    value, reference = _means(is_train[None], filled, target)
    main, control = _means(labels, filled, target)
    return corrected(names, value[0], reference[0], main - control, leak=leak)


def corrected(
    names: Sequence[str], value: Floats, reference: Floats, draws: Floats, *, leak: int = 1
) -> Looks:
    """Judge looks by what swapped labels give: the largest of all looks is what counts.

    Parameters
    ----------
    value, reference : array
        What each look gives on training and on holdout persons.
    draws : array of shape (swaps, looks)
        Their difference with the labels swapped, all looks by the same labels.
    leak : {1, -1}
        1 if a leak makes the value larger.
    """
    spread = draws.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = np.where(spread > 0, leak * (value - reference) / spread, 0.0)
        swapped = np.where(spread > 0, leak * draws / spread, 0.0)
    # a difference between equal sums is zero but for rounding
    most = swapped.max(axis=1)[:, None] >= observed[None] - 1e-9
    p_value = (1 + most.sum(axis=0)) / (1 + len(draws))
    reach = float(np.quantile(np.abs(swapped).max(axis=1), LEVEL)) if spread.any() else 0.0
    return Looks(tuple(names), value, reference, spread, p_value, reach, draws, leak)


def _means(
    labels: NDArray[np.bool_], filled: Floats, target: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Give the mean score of persons with and without the label, for each row of labels."""
    sums = _sums(labels, filled)
    every = target.all()
    counts = labels.sum(axis=1, dtype=float)[:, None] if every else _sums(labels, target)
    counts = np.broadcast_to(counts, sums.shape)
    rest, left = filled.sum(axis=0) - sums, target.sum(axis=0) - counts
    return _ratio(sums, counts), _ratio(rest, left)


def _sums(labels: NDArray[np.bool_], values: NDArray[np.generic]) -> Floats:
    """Add up the values of persons with the label, a few rows of labels at a time."""
    used = np.flatnonzero(values.any(axis=1))
    if 2 * len(used) < len(values):
        labels, values = labels[:, used], values[used]
    chosen = values.astype(np.float64)
    blocks = np.split(labels, range(AT_ONCE, len(labels), AT_ONCE))
    return np.concatenate([block.astype(np.float64) @ chosen for block in blocks])


def _ratio(sums: Floats, counts: Floats) -> Floats:
    return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
