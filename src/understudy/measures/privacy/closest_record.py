"""The share of synthetic records that are closer to a training than to a holdout record."""

import math
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import polars as pl

from understudy.errors import OptionError
from understudy.judging import register as registers
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, Z, described
from understudy.judging.judge import Interval, Judgement, judge_draws
from understudy.judging.register import K
from understudy.judging.swaps import groups, swap_labels
from understudy.measures import pictures
from understudy.measures.privacy.coding import Flags, Floats, Ints
from understudy.measures.privacy.neighbours import (
    CAP,
    DISTANCES,
    Near,
    Neighbours,
    compares_pairs,
    pairwise,
    points_of,
    pool_neighbours,
)
from understudy.options import Between

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
    register: Annotated[float, Between(0, 1)] = WORST,
) -> Finding:
    """Share of synthetic records closer to training than to holdout.

    ``distance`` is ``hamming``, ``mixed``, ``euclidean``, an embedding (a function from a frame to
    points) or a function of two frames that gives the distance of each pair. By itself it is
    ``hamming``, or ``mixed`` where the codes are too coarse to tell records apart.
    """
    distance, coarse = _choose(comparison, distance, bins)
    pool = pool_neighbours(comparison, distance, bins=bins)
    labels = swap_labels(
        comparison, pool.order, pool.is_train, permutations,
        name=CARD.name, strata=strata, group=group,
    )  # fmt: skip
    clusters = groups(comparison, group, pool.order) if group else None
    judged = share_closer(pool, labels, clusters=clusters)
    outlying = pool.second >= np.quantile(pool.second, 1 - OUTLYING)
    tail = share_closer(pool, labels, outlying, clusters).part(0)
    low, high = tail.interval or (None, None)
    near = _nearest(comparison, distance, bins)
    listed, remark = _register(comparison, pool, near, register, bins)
    return judged.finding(
        CARD,
        parts=(
            *_summary(comparison, near, "columns" if distance == "hamming" else "distance"),
            Part(
                "the most outlying tenth",
                tail.value,
                tail.reference,
                {"low": low, "high": high, "p_value": tail.more["p_value"]},
            ),
            _worst(near),
        ),
        tables={"histogram:distance": pictures.distances(near)},
        notes=[coarse, "" if pool.equal_sizes else UNEQUAL, remark],
        register=listed,
    )


COARSE = (
    "Most records have more nearest real records than can be told apart by differing columns, so "
    "numbers were compared by their ranks (distance = mixed)."
)
UNEQUAL = (
    "Training and holdout differ in size: each nearest record counts its part, and the reference "
    "is the share of training rows among all real rows."
)


def _choose(comparison: Comparison, distance: Any, bins: int) -> tuple[Any, str]:
    """Take the mixed distance where most records are as near to a crowd of real records."""
    if callable(distance) or distance in DISTANCES:
        return distance, ""
    if distance != "auto":
        raise OptionError(f"distance = {distance!r}", hint=f"use one of {', '.join(DISTANCES)}")
    pool = pool_neighbours(comparison, "hamming", bins=bins)
    numeric = any(comparison.schema[name].is_numeric for name in comparison.names)
    in_a_crowd = (pool.ties >= CAP) & (2 * pool.distance[:, 0] <= len(comparison.names))
    if numeric and in_a_crowd.mean() > 0.5:
        return "mixed", COARSE
    return "hamming", ""


def share_closer(
    pool: Neighbours, labels: Flags, chosen: Flags | None = None, clusters: Ints | None = None
) -> Judgement:
    """Judge the share of (some) records that are closer to training, by swapped labels.

    With unequal sizes, each of a record's nearest rows counts its part; the interval is then
    Welch's on the logarithm of the ratio of mean weights, put back on the share. The rows of a
    cluster vary together.
    """
    from understudy.kernels.labels import packed, tie_shares

    kept = slice(None) if chosen is None else chosen
    indices, ties, is_train = pool.indices[kept], pool.ties[kept], pool.is_train
    interval: Interval | None = None
    if pool.equal_sizes:
        both = np.concatenate([is_train[None], labels])
        shares = tie_shares(indices.astype(np.int32), ties, packed(both), len(both))
        value, swapped, reference = float(shares[0]), shares[1:], 0.5
    else:
        used = np.arange(indices.shape[1]) < ties[:, None]
        parts = np.broadcast_to(1 / ties[:, None], indices.shape)
        weights = np.bincount(indices[used], parts[used], minlength=len(is_train)) / len(indices)
        value, reference = float(weights[is_train].sum()), float(is_train.mean())
        swapped = np.array([weights[label].sum() for label in labels])
        if weights[is_train].any() and weights[~is_train].any():
            interval = _welch(value, weights, is_train, clusters)
        else:
            value = round(value)
    judged = judge_draws(
        (CARD.title,),
        np.array([value], float),
        np.array([reference]),
        (swapped - reference)[:, None],
        reach=Z,
    )
    return judged if interval is None else replace(judged, interval=(interval,))


def _welch(value: float, weights: Floats, is_train: Flags, clusters: Ints | None) -> Interval:
    spread = math.hypot(
        *(
            _relative_error(weights[part], None if clusters is None else clusters[part])
            for part in (is_train, ~is_train)
        )
    )
    odds = [value / (1 - value) * math.exp(min(end, 700)) for end in (-Z * spread, Z * spread)]
    return odds[0] / (1 + odds[0]), odds[1] / (1 + odds[1])


def _relative_error(weights: Floats, clusters: Ints | None) -> float:
    """Give the standard error of a mean, as a part of it."""
    apart = weights - weights.mean()
    if clusters is not None:
        apart = np.bincount(np.unique(clusters, return_inverse=True)[1], apart)
    many = len(apart)
    return math.sqrt(many / max(many - 1, 1) * float(apart @ apart)) / float(weights.sum())


def _summary(comparison: Comparison, near: Near, unit: str) -> list[Part]:
    """Give the shares of copies, and mean and quantiles of the distances to either side.

    A quantile is some record's distance: rounded, and withheld where fewer than five lie below.
    """
    rows = comparison.rows("synthetic")
    train, holdout = near["training"], near["holdout"]
    copied, by_chance = (comparison.copies(t, rows) > 0 for t in ("train", "holdout"))
    made = [
        Part("exact copies", float(copied.mean()), float(by_chance.mean())),
        Part("mean distance", float(train.mean()), float(holdout.mean()), unit=unit),
    ]
    for percent in (1, 5, 50, 95):
        few = percent / 100 * len(train) < K
        one, other = (
            None if few else pictures.two_digits(float(np.quantile(far, percent / 100)))
            for far in (train, holdout)
        )
        made.append(Part(f"distance, {percent} % quantile", one, other, unit=unit))
    return made


def _nearest(comparison: Comparison, distance: Any, bins: int) -> Near:
    """Give the distance to the nearest training and the nearest holdout record."""
    if compares_pairs(distance):
        return pairwise(comparison, distance)[1]
    if not callable(distance) and distance == "hamming":
        codec = comparison.pooled_codec(bins=bins)
        found = {
            "training": comparison.nearest("synthetic", "train", codec, cap=0),
            "holdout": comparison.nearest("synthetic", "holdout", codec, cap=0),
        }
        return {name: near.distance.astype(float) for name, near in found.items()}
    made = points_of(comparison, distance, bins).by_label(1)
    return {name: near[:, 0] for name, near in made.items()}


def _worst(near: Near) -> Part:
    """Give the mean head start of the worst records, and of as many with the labels swapped.

    There are at least five of them, so that no record's distance is told.
    """
    margin = np.sort(near["holdout"] - near["training"])
    count = min(len(margin), max(K, math.ceil(WORST * len(margin))))
    ahead, behind = margin[-count:].mean(), -margin[:count].mean()
    name = f"the worst {WORST:.0%} of records: how much closer to training"
    return Part(name, float(ahead), float(behind), unit="distance")


def _register(
    comparison: Comparison, pool: Neighbours, near: Near, share: float, bins: int
) -> tuple[pl.DataFrame, str]:
    """List the synthetic records that are most ahead towards training, and whom they resemble.

    A record that is ahead has training rows alone nearest in the pool. All that are at distance 0
    are listed, and the share of all records that is most ahead.
    """
    margin = near["holdout"] - near["training"]
    ahead = int((margin > 0).sum())
    most = math.ceil(share * len(margin))
    by_margin = np.lexsort((near["training"], -margin))
    at_zero = near["training"][by_margin] == 0
    worst = by_margin[at_zero | (np.arange(len(by_margin)) < most)]
    codec = comparison.pooled_codec(bins=bins)
    synthetic, train = (comparison.codes(t, codec) for t in ("synthetic", "train"))
    pairs, agree = [], []
    for record in worst[margin[worst] > 0]:
        nearest = pool.indices[record][: pool.ties[record]]
        for row in np.sort(pool.order[nearest[pool.is_train[nearest]]]):
            pairs.append((record, row))
            alike = np.flatnonzero(synthetic[record] == train[row])
            agree.append(", ".join(codec.names[i] for i in alike))
    records, rows = np.array(pairs, np.int64).reshape(-1, 2).T
    listed = registers.register(
        CARD.name, rows, "closest record", agree, most=None,
        synthetic_row=records,
        distance=near["training"][records],
        distance_holdout=near["holdout"][records],
    )  # fmt: skip
    some = len(np.unique(records))
    remark = f"The register lists {some:,} of {ahead:,} records that are closer to training."
    return listed, remark if ahead else ""
