"""Attacks on membership judged together: areas, their combination, and all labels swapped.

The scores of the three attacks do not depend on who is a member, so swapped labels give the
distribution of their areas without a leak. The combination is learnt from labels: it is learnt
anew under every swap, on one half of the persons for the other, so that it may be swapped too.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison
from understudy.judging.rates import areas, middle_ranks
from understudy.measures.privacy.looks import Looks, corrected
from understudy.measures.privacy.membership_scores import NAME, Scores, Sides, first_part
from understudy.measures.privacy.pool import swap_labels

COMBINED = "combination"
MOST = 5.0
RIDGE = 1e-3
AT_ONCE = 64

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """The looks, and every person's score in each of them."""

    looks: Looks
    scores: Floats


def judge(
    comparison: Comparison,
    sides: Sides,
    scores: Scores,
    *,
    permutations: int,
    strata: str | None,
    group: str | None,
) -> Judged:
    """Give the area of every attack, corrected for all of them at once."""
    if group and not strata:
        labels = _by_unit(sides, permutations, comparison.stream(NAME, "labels"))
    else:
        labels = swap_labels(
            comparison, sides.rows, sides.is_member, permutations,
            name=NAME, strata=strata, group=group,
        )  # fmt: skip
    both = np.concatenate([sides.is_member[None], labels])
    ranks = np.column_stack([middle_ranks(column) for column in scores.values.T])
    halves = first_part(sides.units, 0.5, comparison.stream(NAME, "halves"))
    together = Together(_features(scores.values, ranks), halves)
    found = np.column_stack([areas(ranks, both), together.areas(both, comparison)])
    names = (*scores.names, COMBINED)
    looks = corrected(names, found[0], np.full(len(names), 0.5), found[1:] - 0.5)
    return Judged(looks, np.column_stack([scores.values, together.scores(sides.is_member)]))


def _by_unit(sides: Sides, times: int, rng: np.random.Generator) -> Flags:
    """Swap the labels of whole groups."""
    first = np.unique(sides.units, return_index=True)[1]
    own = sides.is_member[first]
    return np.array([rng.permutation(own)[sides.units] for _ in range(times)])


def _features(values: Floats, ranks: Floats) -> Floats:
    """Give each score twice, as it is and as a rank: for what is far out, and for the many."""
    made = np.hstack([values, ranks])
    spread = made.std(axis=0)
    apart = (made - made.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    cut: Floats = np.clip(apart, -MOST, MOST)
    return cut


class Together:
    """A linear discriminant of all scores, learnt on one half of persons for the other."""

    def __init__(self, features: Floats, halves: Flags) -> None:
        self.parts: list[tuple[Flags, Floats, Floats, Floats]] = []
        for known in (halves, ~halves):
            own = features[known]
            ridge = RIDGE * np.eye(features.shape[1])
            spread = np.cov(own, rowvar=False) if len(own) > 1 else 1000 * ridge
            inverse: Floats = np.linalg.inv(spread + ridge).astype(np.float64)
            self.parts.append((known, own, inverse, features[~known]))

    def _weights(self, own: Floats, inverse: Floats, labels: Flags) -> Floats:
        """Give the direction between members and others, for each row of labels."""
        many = labels.sum(axis=1, dtype=np.float64)[:, None]
        sums = labels.astype(np.float64) @ own
        rest = own.sum(axis=0) - sums
        others = len(own) - many
        made: Floats = (sums / np.maximum(many, 1) - rest / np.maximum(others, 1)) @ inverse
        return made

    def areas(self, labels: Flags, comparison: Comparison) -> Floats:
        """Give the area of persons within their half, learnt anew for each row of labels."""
        from understudy.kernels.roc import linear_areas

        won, pairs = np.zeros(len(labels)), np.zeros(len(labels))
        for start in range(0, len(labels), AT_ONCE):
            here = slice(start, start + AT_ONCE)
            block = labels[here]
            for known, own, inverse, tested in self.parts:
                weights = self._weights(own, inverse, block[:, known])
                ahead, all_pairs = linear_areas(tested, weights, block[:, ~known])
                won[here] += ahead
                pairs[here] += all_pairs
            comparison.progress(f"{NAME}: swaps", min(start + AT_ONCE, len(labels)), len(labels))
        made: Floats = np.divide(won, pairs, out=np.full(len(won), 0.5), where=pairs > 0)
        return made

    def scores(self, labels: Flags) -> Floats:
        """Give each person's place in the own half, from 0 to 1."""
        made = np.empty(len(labels))
        for known, own, inverse, tested in self.parts:
            weights = self._weights(own, inverse, labels[None, known])[0]
            # not a product of matrices: equal persons must get equal sums
            ranks = middle_ranks((tested * weights).sum(axis=1))
            made[~known] = (ranks - 0.5) / max(len(ranks), 1)
        return made
