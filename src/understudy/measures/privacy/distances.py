"""Distances to the nearest records: their mean, their ratio, and how many are too small.

Each compares the distances to training with those to the holdout; p-values and intervals come
from swapping the labels of the pool (see ``neighbours``).
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, Z, described
from understudy.judging.judge import judge_draws
from understudy.judging.swaps import swap_labels
from understudy.measures import pictures
from understudy.measures.privacy.coding import Flags, Floats
from understudy.measures.privacy.neighbours import points_of, pool_neighbours
from understudy.options import Between

NEAREST = (
    "Someone who sees the synthetic table takes the record nearest to a known person. Counted "
    "against holdout persons, who cannot have been copied."
)
AVERAGE = (
    "An average over records: a few copied records hide among many distant ones. A copying "
    "detector, not a measure of what an attacker could infer."
)

RATIO = Card(
    name="privacy.neighbour_ratio",
    title="Nearest-neighbour ratio",
    meaning="How much nearer the nearest training record is than the second nearest, mean over "
    "synthetic records: near 1 in a crowd, near 0 when one training record is singled out.",
    formula="mean over synthetic records of d₁ / d₂ to training (0/0 counts 1), by the mixed "
    "distance; reference: the same to holdout",
    unit="ratio",
    better="higher",
    opening="This copying detector reads",
    headline="mean ratio to training",
    source="used beside the distance to the closest record; not in the five papers",
    not_shown=AVERAGE,
    threat=NEAREST,
    needs=("holdout",),
)

MINIMAL = Card(
    name="privacy.mean_minimal_distance",
    title="Mean minimal distance",
    meaning="How far the nearest training record is from a synthetic record, on average.",
    formula="categories as the place of their level, all columns scaled to mean 0 and deviation 1 "
    "over training and holdout, Euclidean distance to the nearest training record, mean over "
    "synthetic records; reference: the same to holdout. Missing values count as the mean",
    unit="standard deviations",
    better="higher",
    opening="This copying detector reads",
    headline="mean distance from synthetic to training records",
    source="Hittmeir et al. 2019, section VI and table VI; Sosnovchyk 2021, section 4.1.4",
    not_shown=AVERAGE + " Levels of a category have no order, yet count as if they had one, as "
    "in the paper.",
    threat=NEAREST,
    needs=("holdout",),
)

TOO_CLOSE = Card(
    name="privacy.too_close",
    title="Records that are too close",
    meaning="The share of synthetic records with a training record within a small part of the "
    "largest possible distance.",
    formula="all columns scaled to [0, 1] over training and holdout, Euclidean distance divided by "
    "the root of the number of columns; share of synthetic records within the threshold of a "
    "training record; reference: the same for holdout records",
    unit="fraction",
    better="lower",
    opening="This copying detector reads",
    headline="share of synthetic records within the threshold of training",
    source="Sosnovchyk 2021, section 4.1.6 and figure 4.1.1",
    not_shown="The threshold is a convention: only the difference to the holdout's share is "
    "evidence of copying. One outlier stretches the scale of its column.",
    threat=NEAREST,
    needs=("holdout",),
)
UNEQUAL = (
    "Training and holdout differ in size, and more rows are nearer by their number alone: the "
    "reference is the mean over swapped labels, at the sizes given."
)


@described(RATIO)
def neighbour_ratio(comparison: Comparison, *, bins: int = 100, permutations: int = 200) -> Finding:
    """Mean ratio of nearest to second nearest distance."""

    def ratio(near: Floats) -> float:
        one, two = near[:, 0], near[:, -1]
        return float(np.divide(one, two, out=np.ones(len(near)), where=two > 0).mean())

    return _finding(
        RATIO, comparison, ratio, "mixed", bins=bins, wanted=2, permutations=permutations, top=1.0
    )


@described(MINIMAL)
def mean_minimal_distance(comparison: Comparison, *, permutations: int = 200) -> Finding:
    """Mean Euclidean distance to the nearest record, in both directions."""
    points = points_of(comparison, "unit")
    train, holdout = (
        float(points.distances(rows, points.synthetic, 1).mean())
        for rows in (points.train, points.holdout)
    )
    # the direction of the thesis
    part = Part("from real to synthetic records", train, holdout, unit="fraction")

    def mean(near: Floats) -> float:
        return float(near.mean())

    return _finding(
        MINIMAL, comparison, mean, "euclidean", permutations=permutations, parts=(part,)
    )


@described(TOO_CLOSE)
def too_close(
    comparison: Comparison,
    *,
    threshold: Annotated[float, Between(most=1, above=0)] = 0.03,
    permutations: int = 200,
) -> Finding:
    """Share of synthetic records within a threshold of a training record."""

    def share(near: Floats) -> float:
        return float((near <= threshold).mean())

    return _finding(
        TOO_CLOSE, comparison, share, "unit", permutations=permutations, top=1.0, picture=True
    )


def _finding(
    card: Card,
    comparison: Comparison,
    statistic: Callable[[Floats], float],
    distance: str,
    *,
    permutations: int,
    bins: int = 100,
    wanted: int = 1,
    top: float = math.inf,
    parts: tuple[Part, ...] = (),
    picture: bool = False,
) -> Finding:
    """Compare a statistic of the distances to training with the same under swapped labels.

    Under swapped labels, the nearest are taken from the few neighbours that the pool keeps: what
    is observed is compared with them in the same way, and shown as it is.
    """
    from understudy.kernels.labels import first_labelled

    pool = pool_neighbours(comparison, distance, bins=bins)
    near = points_of(comparison, distance, bins).by_label(wanted)
    wanted = near["training"].shape[1]

    def under(labels: Flags) -> float:
        places = first_labelled(pool.indices, labels, wanted)
        return statistic(np.take_along_axis(pool.distance, places, axis=1))

    labels = swap_labels(comparison, pool.order, pool.is_train, permutations, name=card.name)
    swapped = np.empty(permutations)
    for number, label in enumerate(labels):
        swapped[number] = under(label)
        comparison.progress(card.name, number + 1, permutations)
    value = statistic(near["training"])
    reference = statistic(near["holdout"]) if pool.equal_sizes else float(swapped.mean())
    judged = judge_draws(
        (card.title,),
        np.array([value]),
        np.array([reference]),
        (swapped - reference)[:, None],
        leak=1 if card.better == "lower" else -1,
        bounds=(0.0, top),
        observed=np.array([under(pool.is_train) - reference]),
        reach=Z,
    )
    tables = {}
    if picture:
        first = {name: rows[:, 0] for name, rows in near.items()}
        tables["histogram:distance"] = pictures.distances(first)
    note = "" if pool.equal_sizes else UNEQUAL
    return judged.finding(card, parts=parts, tables=tables, notes=[note])
