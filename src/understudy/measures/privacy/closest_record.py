"""The share of synthetic records that are closer to a training than to a holdout record."""

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL, Card, Finding, Part, Z, around, described
from understudy.measures import pictures
from understudy.measures.privacy.pool import (
    CAP,
    Pool,
    compares_pairs,
    groups,
    nearest_by_label,
    pairwise,
    points_of,
    pool_neighbors,
    swap_labels,
)

OUTLYING = 0.1
WORST = 0.01

CARD = Card(
    name="privacy.closest_record",
    title="Share closer to training",
    meaning="The share of synthetic records whose nearest real record is a training record rather "
    "than a holdout record; ties count half. Without copying it is near one half.",
    formula="each synthetic record's nearest records in training and holdout together: 1 if all "
    "are training, 0 if none, ½ if mixed, mean over records; interval ± 1.96 standard deviations "
    "under swapped labels, p by the same swaps. Unequal sizes: each nearest record counts its "
    "part, the reference is the share of training rows in the pool",
    unit="fraction",
    better="lower",
    opening="This copying detector reads",
    headline="share of synthetic records",
    source="Platzer and Reutterer 2021, section 3.2 and figure 8",
    not_shown="A copying detector: it sees records that are systematically too close. It does not "
    "see what an attacker could infer, nor a single leaked record, and every generator fitted to "
    "training has a share a little above one half. The interval speaks of this release, not of "
    "other releases by the same generator.",
    threat="Someone who sees the synthetic table tries to tell training persons from others by "
    "how close a synthetic record comes. Counted against holdout persons, who cannot have been "
    "copied. The unit is the row unless a group is named.",
    needs=("holdout",),
)


@described(CARD)
def closest_record(
    comparison: Comparison,
    *,
    distance: Any = "auto",
    bins: int = 100,
    permutations: int = 1024,
    strata: str | None = None,
    group: str | None = None,
    register: float = WORST,
) -> Finding:
    """Share of synthetic records closer to training than to holdout.

    ``distance`` is ``hamming``, ``mixed``, ``euclidean``, an embedding (a function from a frame to
    points) or a function of two frames that gives the distance of each pair. By itself it is
    ``hamming``, or ``mixed`` where the codes are too coarse to tell records apart.
    """
    if not 0 <= register <= 1:
        raise OptionError(f"register = {register}", hint="give a share between 0 and 1")
    distance, coarse = _choose(comparison, distance, bins)
    pool, order = pool_neighbors(comparison, distance, bins=bins)
    labels = swap_labels(
        comparison, order, pool.is_train, permutations, name=CARD.name, strata=strata, group=group
    )
    every = np.ones(len(pool.ties), bool)
    clusters = groups(comparison, group, order) if group else None
    share = _share(pool, every, labels, clusters)
    outlying = pool.second >= np.quantile(pool.second, 1 - OUTLYING)
    tail = _share(pool, outlying, labels, clusters)
    near, extra = _distances(comparison, distance, bins)
    worst = _worst(near)
    listed, remark = _register(comparison, pool, order, near, register, bins)
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=share.value,
        interval=share.interval,
        reference=share.reference,
        p_value=share.p_value,
        flagged=share.p_value < 1 - LEVEL,
        parts=(
            *extra,
            Part(
                "the most outlying tenth",
                tail.value,
                tail.reference,
                {"low": tail.interval[0], "high": tail.interval[1], "p_value": tail.p_value},
            ),
            worst,
        ),
        tables={"histogram:distance": pictures.distances(near)},
        note=" ".join(filter(None, [coarse, "" if pool.equal_sizes else UNEQUAL, remark])),
        register=listed,
        draws=share.draws,
    )


COARSE = (
    "Most records have more nearest real records than can be told apart by differing columns, so "
    "numbers were compared by their ranks (distance = mixed)."
)


def _choose(comparison: Comparison, distance: Any, bins: int) -> tuple[Any, str]:
    """Take the mixed distance where most records are as near to a crowd of real records."""
    if not isinstance(distance, str) or distance != "auto":
        return distance, ""
    pool, _ = pool_neighbors(comparison, "hamming", bins=bins)
    numeric = any(comparison.schema[name].is_numeric for name in comparison.names)
    in_a_crowd = (pool.ties >= CAP) & (2 * pool.distance[:, 0] <= len(comparison.names))
    if numeric and in_a_crowd.mean() > 0.5:
        return "mixed", COARSE
    return "hamming", ""


UNEQUAL = (
    "Training and holdout differ in size: each nearest record counts its part, and the reference "
    "is the share of training rows among all real rows."
)


class _Share:
    """A share, its reference, its interval and its p-value."""

    def __init__(
        self, value: float, reference: float, swapped: NDArray[np.float64], interval: Any = None
    ) -> None:
        self.value, self.reference = value, reference
        self.draws = swapped - reference
        self.interval = interval or around(value, float(swapped.std(ddof=1)), 0.0, 1.0)
        at_least = int((swapped >= value - 1e-12).sum())
        self.p_value = (1 + at_least) / (1 + len(swapped))


def _share(
    pool: Pool,
    chosen: NDArray[np.bool_],
    labels: NDArray[np.bool_],
    clusters: NDArray[np.int64] | None = None,
) -> _Share:
    indices, ties = pool.indices[chosen], pool.ties[chosen]
    if pool.equal_sizes:
        from understudy.kernels.labels import packed, tie_shares

        both = np.concatenate([pool.is_train[None], labels])
        shares = tie_shares(indices.astype(np.int32), ties, packed(both), len(both))
        return _Share(float(shares[0]), 0.5, shares[1:])
    return _fractional(indices, ties, pool.is_train, labels, clusters)


def _fractional(
    indices: NDArray[np.int64],
    ties: NDArray[np.int64],
    is_train: NDArray[np.bool_],
    labels: NDArray[np.bool_],
    clusters: NDArray[np.int64] | None,
) -> _Share:
    """Unequal sizes: each of a record's nearest rows counts its part.

    The interval is Welch's on the logarithm of the ratio of mean weights, put back on the share;
    the rows of a cluster vary together.
    """
    used = np.arange(indices.shape[1]) < ties[:, None]
    parts = np.broadcast_to(1 / ties[:, None], indices.shape)
    weights = np.bincount(indices[used], parts[used], minlength=len(is_train)) / len(indices)
    value = float(weights[is_train].sum())
    swapped = np.array([weights[label].sum() for label in labels])
    if not (weights[is_train].any() and weights[~is_train].any()):
        return _Share(round(value), float(is_train.mean()), swapped)
    spread = math.hypot(
        *(
            _relative_error(weights[part], None if clusters is None else clusters[part])
            for part in (is_train, ~is_train)
        )
    )
    odds = [value / (1 - value) * math.exp(min(end, 700)) for end in (-Z * spread, Z * spread)]
    return _Share(value, float(is_train.mean()), swapped, tuple(o / (1 + o) for o in odds))


def _relative_error(weights: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> float:
    """Give the standard error of a mean, as a part of it."""
    apart = weights - weights.mean()
    if clusters is not None:
        apart = np.bincount(np.unique(clusters, return_inverse=True)[1], apart)
    many = len(apart)
    return math.sqrt(many / max(many - 1, 1) * float(apart @ apart)) / float(weights.sum())


Near = dict[str, NDArray[np.float64]]


def _distances(comparison: Comparison, distance: Any, bins: int) -> tuple[Near, tuple[Part, ...]]:
    """Give the distance of each synthetic record to training and to holdout, and their summary.

    A quantile is some record's distance: rounded, and withheld where fewer than five lie below.
    """
    near = _nearest(comparison, distance, bins)
    unit = "columns" if distance == "hamming" else "distance"
    train, holdout = near["training"], near["holdout"]
    summary = [
        Part("exact copies", *_copies(comparison)),
        Part("mean distance", float(train.mean()), float(holdout.mean()), unit=unit),
    ]
    for percent in (1, 5, 50, 95):
        few = percent / 100 * len(train) < pictures.K
        at = [
            None if few else pictures.two_digits(float(np.quantile(d, percent / 100)))
            for d in (train, holdout)
        ]
        summary.append(Part(f"distance, {percent} % quantile", at[0], at[1], unit=unit))
    return near, tuple(summary)


def _copies(comparison: Comparison) -> tuple[float, float]:
    """Give the shares of synthetic records that equal a training and a holdout record."""
    rows = comparison.rows("synthetic")
    in_train, in_holdout = (comparison.copies(t, rows) > 0 for t in ("train", "holdout"))
    return float(in_train.mean()), float(in_holdout.mean())


def _nearest(comparison: Comparison, distance: Any, bins: int) -> Near:
    """Give the distance to the nearest training and the nearest holdout record."""
    if distance == "hamming":
        codec = comparison.pooled_codec(bins=bins)
        found = {
            "training": comparison.nearest("synthetic", "train", codec, cap=0),
            "holdout": comparison.nearest("synthetic", "holdout", codec, cap=0),
        }
        return {name: near.distance.astype(float) for name, near in found.items()}
    if compares_pairs(distance):
        return pairwise(comparison, distance)[1]
    made = nearest_by_label(points_of(comparison, distance, bins), 1)
    return {name: near[:, 0] for name, near in made.items()}


def _worst(near: Near) -> Part:
    """Give the mean head start of the worst records, and of as many with the labels swapped.

    There are at least five of them, so that no record's distance is told.
    """
    margin = np.sort(near["holdout"] - near["training"])
    count = min(len(margin), max(pictures.K, math.ceil(WORST * len(margin))))
    ahead, behind = margin[-count:].mean(), -margin[:count].mean()
    name = f"the worst {WORST:.0%} of records: how much closer to training"
    return Part(name, float(ahead), float(behind), unit="distance")


def _register(
    comparison: Comparison,
    pool: Pool,
    order: NDArray[np.int64],
    near: Near,
    share: float,
    bins: int,
) -> tuple[pl.DataFrame, str]:
    """List the synthetic records that are most ahead towards training, and whom they resemble.

    A record that is ahead has training rows alone nearest in the pool. All that are at distance 0
    are listed, and the share of all records that is most ahead. Rows are numbered from 1, as they
    stand in the tables.
    """
    margin = near["holdout"] - near["training"]
    ahead = int((margin > 0).sum())
    most = math.ceil(share * len(margin))
    by_margin = np.lexsort((near["training"], -margin))
    at_zero = near["training"][by_margin] == 0
    worst = by_margin[at_zero | (np.arange(len(by_margin)) < most)]
    codec = comparison.pooled_codec(bins=bins)
    synthetic, train = (comparison.codes(t, codec) for t in ("synthetic", "train"))
    rows = []
    for record in worst[margin[worst] > 0]:
        nearest = pool.indices[record][: pool.ties[record]]
        for row in np.sort(order[nearest[pool.is_train[nearest]]]):
            agree = np.flatnonzero(synthetic[record] == train[row])
            rows.append(
                (
                    CARD.name,
                    int(record),
                    int(row),
                    float(near["training"][record]),
                    float(near["holdout"][record]),
                    ", ".join(codec.names[i] for i in agree),
                )
            )
    columns = ("measure", "synthetic_row", "training_row", "distance", "distance_holdout", "agree")
    kinds = (pl.String, pl.Int64, pl.Int64, pl.Float64, pl.Float64, pl.String)
    listed = pl.DataFrame(rows, dict(zip(columns, kinds, strict=True)), orient="row")
    some = listed["synthetic_row"].n_unique()
    remark = f"The register lists {some:,} of {ahead:,} records that are closer to training."
    return listed, remark if ahead else ""
