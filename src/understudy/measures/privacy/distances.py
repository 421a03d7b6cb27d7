"""Distances to the nearest records: their mean, their ratio, and how many are too small.

Each compares the distances to training with those to the holdout; p-values and intervals come
from swapping the labels of the pool (see ``pool``).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import (
    LEVEL,
    Card,
    Finding,
    Part,
    TableOfNumbers,
    around,
    described,
)
from understudy.measures import pictures
from understudy.measures.privacy.pool import (
    CAP,
    Points,
    Pool,
    label_points,
    nearest_by_label,
    nearest_points,
    points_of,
    pool_neighbors,
    swap_labels,
)

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


@described(RATIO)
def neighbour_ratio(comparison: Comparison, *, bins: int = 100, permutations: int = 200) -> Finding:
    """Mean ratio of nearest to second nearest distance."""
    pool, order = pool_neighbors(comparison, "mixed", bins=bins)
    labels = swap_labels(comparison, order, pool.is_train, permutations, name=RATIO.name)

    def ratio(near: NDArray[np.float64]) -> float:
        one, two = near[:, 0], near[:, -1]
        return float(np.divide(one, two, out=np.ones(len(near)), where=two > 0).mean())

    near = nearest_by_label(points_of(comparison, "mixed", bins), 2)
    return _finding(RATIO, pool, labels, ratio, near, comparison, top=1.0)


@described(MINIMAL)
def mean_minimal_distance(comparison: Comparison, *, permutations: int = 200) -> Finding:
    """Mean Euclidean distance to the nearest record, in both directions."""
    pool, order = pool_neighbors(comparison, "euclidean")
    labels = swap_labels(comparison, order, pool.is_train, permutations, name=MINIMAL.name)

    near = nearest_by_label(points_of(comparison, "euclidean", 100), 1)
    back = _real_to_synthetic(comparison)
    parts = (
        Part(
            "from real to synthetic records",
            float(back["train"].mean()),
            float(back["holdout"].mean()),
            unit="fraction",
        ),
    )
    return _finding(
        MINIMAL, pool, labels, lambda near: float(near.mean()), near, comparison, parts=parts
    )


@described(TOO_CLOSE)
def too_close(
    comparison: Comparison, *, threshold: float = 0.03, permutations: int = 200
) -> Finding:
    """Share of synthetic records within a threshold of a training record."""
    if not 0 < threshold <= 1:
        raise OptionError(f"threshold = {threshold}", hint="use a number above 0, up to 1")
    pool = comparison.once("pool of unit points", lambda: _unit_pool(comparison))
    order = comparison.stream("pool order").permutation(len(pool.is_train))
    labels = swap_labels(comparison, order, pool.is_train, permutations, name=TOO_CLOSE.name)

    def share(near: NDArray[np.float64]) -> float:
        return float((near <= threshold).mean())

    near = nearest_by_label(_unit_points(comparison), 1)
    tables = {"histogram:distance": pictures.distances({n: d[:, 0] for n, d in near.items()})}
    return _finding(TOO_CLOSE, pool, labels, share, near, comparison, top=1.0, tables=tables)


def _labelled(pool: Pool, is_near: NDArray[np.bool_], wanted: int) -> NDArray[np.float64]:
    """Give the distances to the nearest records with a label, of those that the pool keeps."""
    from understudy.kernels.labels import first_labelled

    places = first_labelled(pool.indices, is_near, wanted)
    made: NDArray[np.float64] = np.take_along_axis(pool.distance, places, axis=1)
    return made


def _finding(
    card: Card,
    pool: Pool,
    labels: NDArray[np.bool_],
    statistic: Callable[[NDArray[np.float64]], float],
    near: dict[str, NDArray[np.float64]],
    comparison: Comparison,
    *,
    top: float = math.inf,
    parts: tuple[Part, ...] = (),
    tables: dict[str, TableOfNumbers] | None = None,
) -> Finding:
    """Compare a statistic of the distances to training with the same under swapped labels."""
    wanted = near["training"].shape[1]
    observed = statistic(_labelled(pool, pool.is_train, wanted))
    swapped = []
    for number, label in enumerate(labels, start=1):
        swapped.append(statistic(_labelled(pool, label, wanted)))
        comparison.progress(card.name, number, len(labels))
    spread = np.array(swapped)
    worse = spread >= observed - 1e-12 if card.better == "lower" else spread <= observed + 1e-12
    p_value = (1 + int(worse.sum())) / (1 + len(spread))
    value = statistic(near["training"])
    reference = statistic(near["holdout"]) if pool.equal_sizes else float(spread.mean())
    return Finding(
        card.name,
        unit=card.unit,
        better=card.better,
        value=value,
        interval=around(value, float(spread.std(ddof=1)), 0.0, top),
        reference=reference,
        p_value=p_value,
        flagged=p_value < 1 - LEVEL,
        parts=parts,
        tables=tables or {},
        note="" if pool.equal_sizes else UNEQUAL,
        draws=spread - reference,
    )


UNEQUAL = (
    "Training and holdout differ in size, and more rows are nearer by their number alone: the "
    "reference is the mean over swapped labels, at the sizes given."
)


def _unit_points(comparison: Comparison) -> tuple[*Points, bool]:
    """Scale all columns to [0, 1] over the pool, and distances to the largest possible one."""
    made = label_points(comparison)
    pooled = np.concatenate(made[1:])
    low, high = pooled.min(axis=0), pooled.max(axis=0)
    span = np.where(high > low, high - low, 1) * math.sqrt(pooled.shape[1])
    synthetic, train, holdout = (((points - low) / span).astype(np.float32) for points in made)
    return synthetic, train, holdout, np.zeros(pooled.shape[1], bool), True


def _unit_pool(comparison: Comparison) -> Pool:
    synthetic, train, holdout, is_category, euclidean = _unit_points(comparison)
    pooled = np.concatenate([train, holdout])
    order = comparison.stream("pool order").permutation(len(pooled))
    found = nearest_points(comparison, synthetic, pooled[order], is_category, CAP, euclidean)
    return Pool(*found, order < len(train))


def _real_to_synthetic(comparison: Comparison) -> dict[str, NDArray[np.float32]]:
    """Give the thesis' direction: from each real record to the nearest synthetic one."""
    from understudy.kernels.neighbors import mixed_neighbors

    synthetic, train, holdout, is_category, euclidean = _unit_points(comparison)
    return {
        name: mixed_neighbors(points, synthetic, is_category, 1, euclidean=euclidean)[0][:, 0]
        for name, points in (("train", train), ("holdout", holdout))
    }
