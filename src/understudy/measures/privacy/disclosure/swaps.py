"""Uniques under swapped labels, counted anew each time, at the size of the smaller table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from understudy.judging.comparison import Comparison
from understudy.measures.privacy.disclosure.persons import Setting
from understudy.measures.privacy.looks import Looks, corrected
from understudy.measures.privacy.pool import swap_labels

AT_ONCE = 64


class Swaps:
    """repU under swapped labels: only persons whose keys stand once in the release matter."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        codes = np.concatenate([setting.keys.of[which] for which in ("train", "holdout")])
        kept = np.concatenate([~setting.left_out[which] for which in ("train", "holdout")])
        once = setting.keys.counts("synthetic")[codes] == 1
        self.rows = np.flatnonzero(once)
        self.rows = self.rows[np.argsort(codes[self.rows], kind="stable")]
        sorted_codes = codes[self.rows]
        self.first = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
        self.counts = kept[self.rows]
        self.sizes = setting.persons("train"), setting.persons("holdout")

    @property
    def said(self) -> list[str]:
        """Say that tables of different size are compared at the size of the smaller."""
        if self.sizes[0] == self.sizes[1]:
            return []
        return [
            f"Training and holdout differ in size, and a larger table has fewer uniques: both "
            f"numbers, and the original's, are the mean over all subsets of {min(self.sizes):,} "
            "persons. repU of all training persons stands in the table."
        ]

    def both(self, labels: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give repU of persons with and without the label, for each row of labels."""
        train, holdout = np.zeros((2, len(labels)))
        if not len(self.rows):
            return train, holdout
        # whole groups that swap labels change the sizes; else there is one size
        sizes = labels.sum(axis=1)
        for size in np.unique(sizes):
            here = np.flatnonzero(sizes == size)
            chosen = labels[here][:, self.rows]
            rest = labels.shape[1] - int(size)
            drawn = min(int(size), rest)
            train[here] = self._share(chosen, int(size), drawn)
            holdout[here] = self._share(~chosen, rest, drawn)
        return train, holdout

    def _share(self, labelled: NDArray[np.bool_], persons: int, drawn: int) -> NDArray[np.float64]:
        held = np.add.reduceat(labelled, self.first, axis=1, dtype=np.int32)
        counted = np.add.reduceat(labelled & self.counts, self.first, axis=1, dtype=np.int32)
        return expected(held, counted, persons, drawn)


def swapped(
    comparison: Comparison,
    swaps: Sequence[Swaps],
    names: Sequence[str],
    permutations: int,
    *,
    name: str,
    strata: str | None = None,
    group: str | None = None,
) -> Looks:
    """Give repU of training and of holdout by each set of keys, all by the same swapped labels."""
    sizes = swaps[0].sizes
    is_train = np.arange(sum(sizes)) < sizes[0]
    everybody = np.arange(len(is_train))
    labels = swap_labels(
        comparison, everybody, is_train, permutations, name=name, strata=strata, group=group
    )
    value, reference, draws = [], [], []
    for number, swap in enumerate(swaps):
        comparison.progress("sets of keys", number, len(swaps))
        train, holdout = swap.both(is_train[None])
        value.append(float(train[0]))
        reference.append(float(holdout[0]))
        blocks = [
            swap.both(labels[start : start + AT_ONCE]) for start in range(0, permutations, AT_ONCE)
        ]
        draws.append(np.concatenate([train - holdout for train, holdout in blocks]))
    return corrected(names, np.array(value), np.array(reference), np.column_stack(draws))


def expected(
    held: NDArray[np.integer], counted: NDArray[np.integer], persons: int, drawn: int
) -> NDArray[np.float64]:
    """Give the expected share of uniques in a random subset of ``drawn`` of the persons.

    Of each key, ``held`` persons have it, of whom ``counted`` count if they are alone with it.
    """
    chance = alone(int(held.max(initial=0)), drawn, persons)
    # of the persons who share a key, each is as likely to be the one in the subset
    part = np.where(held > 0, counted / np.maximum(held, 1), 0.0)
    shares: NDArray[np.float64] = (chance[held] * part).sum(axis=-1) / drawn
    return shares


def alone(most: int, drawn: int, persons: int) -> NDArray[np.float64]:
    """Give the chance that of 0, 1 … ``most`` persons exactly one is among those drawn.

    Examples
    --------
    >>> alone(2, 10, 10).tolist(), alone(2, 1, 2).round(6).tolist()
    ([0.0, 1.0, 0.0], [0.0, 0.5, 1.0])
    """
    many = np.arange(most + 1)

    def log_choose(n: NDArray[np.float64] | float, k: float) -> NDArray[np.float64]:
        made: NDArray[np.float64] = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        return made

    if drawn == persons:
        return np.where(many == 1, 1.0, 0.0)
    possible = (many > 0) & (persons - many >= drawn - 1)
    rest = np.where(possible, persons - many, drawn - 1).astype(float)
    chance = many * np.exp(log_choose(rest, drawn - 1) - log_choose(float(persons), drawn))
    return np.where(possible, chance, 0.0)
