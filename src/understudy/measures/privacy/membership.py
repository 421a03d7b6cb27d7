"""Was this person in the training data? Attacks that see the release and people like them.

The holdout is cut in two. One part is the attacker's reference, real people who resemble those in
the training data; the other part are the non-members. A score is made of the synthetic table, the
reference and the person alone, so that training persons and non-members are treated alike, and
swapped labels give the distribution of the areas without a leak. The combination of attacks is
learnt from labels: it is learnt anew under every swap, on one half of the persons for the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from understudy.errors import OptionError
from understudy.judging import register as registers
from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL, Card, Finding, Part, TableOfNumbers, described
from understudy.judging.judge import Judgement, judge_draws
from understudy.judging.rates import (
    EXPECTED,
    RATES,
    area,
    areas,
    clopper_pearson,
    threshold,
)
from understudy.judging.register import K
from understudy.judging.swaps import check_times, groups, swap_labels
from understudy.measures.boosting import boosted, one_by_one
from understudy.measures.pictures.rule import share
from understudy.measures.privacy.coding import (
    Flags,
    Floats,
    Ints,
    MixedPoints,
    distinct,
    mixed_points,
)
from understudy.options import Between

ATTACKS = ("distance to the closest record", "density ratio", "classifier")
COMBINED = "combination"
FEWEST = 10
POINTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
WORST = 0.01
SHARP = 4.0
MOST_LEVELS = 254
CUTS = (1 / 8, 1 / 4, 1 / 2, 1.0)
FARTHEST = 5.0
RIDGE = 1e-3
AT_ONCE = 64
Released = list[tuple[int, Floats]]

CARD = Card(
    name="privacy.membership",
    title="Membership",
    meaning="How well an attacker who sees the synthetic table tells persons of the training data "
    "from others: the chance that a training person gets the higher score. 0.5 is a coin, 1 is "
    "certainty.",
    formula="members: training persons; non-members: one part of the holdout, the other part is "
    "the attacker's reference. Scores: minus the distance to the closest synthetic record (each "
    "column adds min(|a − b|, 1), numbers by rank); density ratio, log Σ exp(−d/h) over the "
    "nearest synthetic records less the same over reference records; the verdict of boosting that "
    "tells synthetic from reference rows; a linear discriminant of the three and their ranks, "
    "learnt on half of the persons for the other half. Area under the ROC curve of each. Labels "
    "of members and non-members swapped, the discriminant learnt anew: the largest of all attacks "
    "gives p-values and intervals. True positive rates: the share of members above the threshold "
    "that so few non-members exceed. Their intervals: Clopper–Pearson at the lowest and the "
    "highest threshold that may have this false positive rate (order statistics of the "
    "non-members), half of the error for the threshold; corrected for the number of attacks",
    unit="AUC",
    better="lower",
    headline="area under the ROC curve of the attack with the strongest evidence",
    source="van Breugel et al. 2023 (DOMIAS: density ratio); Chen et al. 2020 (closest record); "
    "Carlini et al. 2022 (true positives at few false positives); Westfall and Young 1993",
    not_shown="The area is a mean over all persons: a few who are exposed hardly move it; see the "
    "rates at few false positives. An attacker who can run the generator is stronger "
    "(attack.membership). A value near 0.5 says that these attacks fail on this release. The "
    "interval speaks of this release.",
    threat="Someone who holds the full record of a person, the synthetic table and other real "
    "people from the same population asks whether the person was in the training data. Counted "
    "against holdout persons, who were not, with the same scores. Null: labels swapped. Positive "
    "control: training rows drawn three times as often (AUC above 0.95). The unit is the row "
    "unless a group is named.",
    opening="The risk under this attack is",
    needs=("holdout",),
)


@described(CARD)
def membership(
    comparison: Comparison,
    *,
    reference: float = 0.5,
    nearest: int = 10,
    iterations: int = 50,
    rows: int = 20_000,
    permutations: int = 1000,
    curve: bool = True,
    strata: str | None = None,
    group: str | None = None,
    register: Annotated[float, Between(0, 1)] = WORST,
) -> Finding:
    """Tell training persons from holdout persons by the synthetic table.

    ``reference`` is the share of the holdout that the attacker holds, ``nearest`` the number of
    records that a density is made of, ``rows`` the most rows of either side that boosting learns
    from. ``curve`` also gives the risk had fewer rows been released. ``register`` is the share of
    training persons listed, those most exposed.
    """
    if not 0 < reference < 1:
        raise OptionError(f"reference = {reference}", hint="give a share between 0 and 1")
    check_times(CARD.name, permutations)
    if min(comparison.height("train"), comparison.height("holdout") // 2) < FEWEST:
        return CARD.not_applicable(
            f"This needs {FEWEST} training persons, and as many holdout persons in either part."
        )
    who = sides(comparison, reference, group)
    others = int((~who.is_member).sum())
    if min(others, len(who.reference)) < FEWEST:
        return CARD.not_applicable(
            f"Of the holdout, {len(who.reference):,} rows are the reference and {others:,} the "
            f"non-members; either part needs {FEWEST}."
        )
    scores, released = _scores(
        comparison, who, nearest=nearest, iterations=iterations, rows=rows, curve=curve
    )
    judged, every = _judge(
        comparison, who, scores, permutations=permutations, strata=strata, group=group
    )
    caught = [
        _caught(name, score, who.is_member, rate, len(ATTACKS) + 1)
        for rate in RATES
        for name, score in zip(judged.names, every.T, strict=True)
    ]
    tables = {"line:roc": _roc(every[:, judged.headline], who.is_member)}
    if len(released) > 1:
        tables["line:released"] = TableOfNumbers(
            ("synthetic rows released", *ATTACKS[:2]),
            tuple((n, *(area(column, who.is_member) for column in v.T)) for n, v in released),
        )
    return judged.finding(
        CARD,
        parts=(*judged.parts, *caught),
        tables=tables,
        notes=[*_notes(who, rows, others), judged.note],
        register=_register(who, judged.names, every, register),
    )


@dataclass(frozen=True)
class Sides:
    """Who is attacked, and what the attacker holds.

    Parameters
    ----------
    synthetic, reference, persons : array
        Rows as points for the mixed distance, in an order that depends on their values and on
        chance. Training persons come first, then non-members.
    rows : array
        The row that each person is in training followed by holdout.
    is_member : array of bool
    units : array
        Persons with the same number belong together.
    is_category : array of bool
        Which columns are categories.
    """

    synthetic: MixedPoints
    reference: MixedPoints
    persons: MixedPoints
    rows: Ints
    is_member: Flags
    units: Ints
    is_category: Flags


def sides(comparison: Comparison, share: float, group: str | None) -> Sides:
    """Cut the holdout into a reference and non-members, whole groups together."""
    points, is_category = mixed_points(comparison, sorted(comparison.names))
    synthetic, train, holdout = (points[t] for t in ("synthetic", "train", "holdout"))
    order = [np.lexsort(rows.T[::-1]) for rows in (synthetic, train, holdout)]
    fresh = order[2] + len(train)
    whose = _whose(comparison, group, len(train), np.concatenate([order[1], fresh]))
    known = first_part(whose[len(train) :], share, comparison.stream(CARD.name, "reference"))
    rows = np.concatenate([order[1], fresh[~known]])
    kept = np.concatenate([np.ones(len(train), bool), ~known])
    shuffled = order[0][comparison.stream(CARD.name, "release").permutation(len(synthetic))]
    return Sides(
        synthetic[shuffled],
        holdout[fresh[known] - len(train)],
        np.concatenate([train, holdout])[rows],
        rows,
        np.arange(len(rows)) < len(train),
        np.unique(whose[kept], return_inverse=True)[1],
        is_category,
    )


def _whose(comparison: Comparison, group: str | None, train: int, rows: Ints) -> Ints:
    """Number who belongs together; everybody alone if no group is named."""
    if not group:
        return np.arange(len(rows))
    made = groups(comparison, group, rows)
    if len(np.intersect1d(made[:train], made[train:])):
        raise OptionError(
            f"group = '{group}': a group is in training and in holdout",
            hint="split with --group, so that groups stay together",
        )
    return made


def first_part(units: Ints, share: float, rng: np.random.Generator) -> Flags:
    """Choose units at random until they have this share of the rows, give or take one unit."""
    names, place = np.unique(units, return_inverse=True)
    sizes = np.bincount(place)
    order = rng.permutation(len(names))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = np.zeros(len(names), bool)
    chosen[order] = before + sizes[order] / 2 <= share * len(units)
    made: Flags = chosen[place]
    return made


def _nearest(
    sides: Sides, table: MixedPoints, nearest: int, ends: tuple[int, ...]
) -> Iterator[tuple[Floats, Floats, int]]:
    """Look for the nearest distinct records of persons in a table, piece by piece.

    After each piece: distances, how many records are that near, and the rows seen.
    """
    from understudy.kernels.neighbors import mixed_neighbors

    persons, whose = distinct(sides.persons)
    start, far, weight = 0, [], []
    for end in ends:
        points, at = distinct(table[start:end])
        near, place = mixed_neighbors(persons, points, sides.is_category, min(nearest, len(points)))
        far.append(near.astype(np.float64))
        weight.append(np.bincount(at)[place].astype(np.float64))
        start = end
        yield np.hstack(far)[whose], np.hstack(weight)[whose], end


def log_density(far: Floats, weight: Floats, rows: int, bandwidth: float) -> Floats:
    """Give the logarithm of Σ exp(−distance / bandwidth) over the nearest records of ``rows``.

    Kernels are summed in logarithms so that none is lost.
    """
    first = far.min(axis=1)
    kernels = np.exp((first[:, None] - far) / bandwidth) * weight
    made: Floats = np.log(kernels.sum(axis=1)) - first / bandwidth - np.log(rows)
    return made


def _scores(
    comparison: Comparison, sides: Sides, *, nearest: int, iterations: int, rows: int, curve: bool
) -> tuple[Floats, Released]:
    """Let three attacks score every person: the larger, the more like a member.

    Beside the scores: those of the first two attacks by how many rows were released.
    """
    many, title = len(sides.synthetic), f"{CARD.name}: neighbours"
    ends = tuple(dict.fromkeys(max(1, int(many * cut)) for cut in (CUTS if curve else CUTS[-1:])))
    comparison.progress(title, 0, len(ends) + 1)
    far, weight, height = next(_nearest(sides, sides.reference, nearest, (len(sides.reference),)))
    # a part of the usual distance between a person and the nearest other record
    apart = np.where(far > 0, far, np.inf).min(axis=1)
    apart = apart[np.isfinite(apart)]
    bandwidth = float(np.median(apart)) / SHARP if len(apart) else 1.0
    control = log_density(far, weight, height, bandwidth)
    released: Released = []
    for far, weight, seen in _nearest(sides, sides.synthetic, nearest, ends):
        ratio = log_density(far, weight, seen, bandwidth) - control
        released.append((seen, np.column_stack([-far.min(axis=1), ratio])))
        comparison.progress(title, len(released) + 1, len(ends) + 1)
    classified = _classified(comparison, sides, iterations=iterations, rows=rows)
    return np.column_stack([released[-1][1], classified]), released


def _classified(comparison: Comparison, sides: Sides, *, iterations: int, rows: int) -> Floats:
    """Let boosting tell synthetic rows from the reference, and give persons its verdict."""
    tables = (sides.synthetic[:rows], sides.reference[:rows])
    matrix = np.concatenate(tables).astype(np.float64)
    label = np.repeat([1, 0], [len(table) for table in tables])
    is_category = sides.is_category & (
        np.maximum(matrix.max(axis=0), sides.persons.max(axis=0)) <= MOST_LEVELS
    )

    def decide(_: int) -> Floats:
        model = boosted(matrix, label, is_category, iterations=iterations)
        made: Floats = model.decision_function(sides.persons.astype(np.float64))
        return made

    return next(one_by_one(decide, 1, comparison.progress, f"{CARD.name}: classifier"))


def _judge(
    comparison: Comparison,
    sides: Sides,
    scores: Floats,
    *,
    permutations: int,
    strata: str | None,
    group: str | None,
) -> tuple[Judgement, Floats]:
    """Judge the area of every attack and of their combination, and give all scores."""
    from scipy.stats import rankdata

    labels = swap_labels(
        comparison, sides.rows, sides.is_member, permutations,
        name=CARD.name, strata=strata, group=group,
    )  # fmt: skip
    both = np.concatenate([sides.is_member[None], labels])
    ranks = rankdata(scores, axis=0)
    halves = first_part(sides.units, 0.5, comparison.stream(CARD.name, "halves"))
    together = Discriminant(_features(scores, ranks), halves)
    found = np.column_stack([areas(scores, both), together.areas(both, comparison)])
    judged = judge_draws(
        (*ATTACKS, COMBINED), found[0], np.full(found.shape[1], 0.5), found[1:] - 0.5
    )
    return judged, np.column_stack([scores, together.scores(sides.is_member)])


def _features(values: Floats, ranks: Floats) -> Floats:
    """Give each score twice, as it is and as a rank: for what is far out, and for the many."""
    made = np.hstack([values, ranks])
    spread = made.std(axis=0)
    apart = (made - made.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    cut: Floats = np.clip(apart, -FARTHEST, FARTHEST)
    return cut


class Discriminant:
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
            comparison.progress(
                f"{CARD.name}: swaps", min(start + AT_ONCE, len(labels)), len(labels)
            )
        made: Floats = np.divide(won, pairs, out=np.full(len(won), 0.5), where=pairs > 0)
        return made

    def scores(self, labels: Flags) -> Floats:
        """Give each person's place in the own half, from 0 to 1."""
        from scipy.stats import rankdata

        made = np.empty(len(labels))
        for known, own, inverse, tested in self.parts:
            weights = self._weights(own, inverse, labels[None, known])[0]
            # not a product of matrices: equal persons must get equal sums
            ranks = rankdata((tested * weights).sum(axis=1))
            made[~known] = (ranks - 0.5) / max(len(ranks), 1)
        return made


def _caught(name: str, score: Floats, member: Flags, rate: float, looks: int) -> Part:
    """Give the true positive rate at a false positive rate; none with too few non-members."""
    title = f"{name}: true positives at {rate:.1%} false positives".replace(".0%", " %")
    title = title.replace("%", " %").replace("  ", " ")
    others = int((~member).sum())
    if others < EXPECTED / rate - 1e-9:
        return Part(title, None, unit="fraction")
    limit = threshold(score[~member], rate)
    hits, wrong = int((score[member] > limit).sum()), int((score[~member] > limit).sum())
    return Part(
        title,
        hits / int(member.sum()),
        wrong / others,
        unit="fraction",
        interval=caught_between(score[member], score[~member], rate, (1 - LEVEL) / looks),
    )


def caught_between(
    members: Floats, others: Floats, rate: float, alpha: float
) -> tuple[float, float]:
    """Give the interval of the true positive rate where this share of all others is above.

    The threshold is estimated from the same non-members: how many of them lie above the true one
    is binomial, so it lies between two of their scores. Either end of the interval is wrong with a
    chance of at most alpha / 4 for its threshold and alpha / 4 for the members above that.
    """
    from scipy.stats import binom

    # the infinities stand for thresholds beyond all non-members
    ordered = np.concatenate([[np.inf], np.sort(others)[::-1], [-np.inf]])
    few = int(binom.ppf(alpha / 4, len(others), rate))
    most = int(binom.isf(alpha / 4, len(others), rate)) + 1
    low, high = (int((members > limit).sum()) for limit in (ordered[few], ordered[most]))
    return (
        float(clopper_pearson(low, len(members), alpha / 2)[0]),
        float(clopper_pearson(high, len(members), alpha / 2)[1]),
    )


def _notes(who: Sides, rows: int, others: int) -> list[str]:
    made = [
        f"Of the holdout, {len(who.reference):,} rows are the attacker's reference and {others:,} "
        "the non-members."
    ]
    missing = [rate for rate in RATES if others < EXPECTED / rate - 1e-9]
    if missing:
        needed = [f"{EXPECTED / rate:,.0f} for {100 * rate:g} %" for rate in missing]
        made.append(
            "Too few non-members for some rates of false positives: it takes "
            f"{' and '.join(needed)}."
        )
    made += [
        f"Boosting learnt from {rows:,} of {height:,} {table} rows (option rows)."
        for table, height in (
            ("synthetic", len(who.synthetic)),
            ("reference", len(who.reference)),
        )
        if height > rows
    ]
    return made


def _roc(score: Floats, member: Flags) -> TableOfNumbers:
    """Give the ROC curve of an attack."""
    many, others = int(member.sum()), int((~member).sum())
    curve = []
    for rate in POINTS:
        if rate * others < K or many < K:
            continue
        limit = threshold(score[~member], rate) if rate < 1 else -np.inf
        hits = int((score[member] > limit).sum())
        curve.append((rate, share(hits, many, real=True), rate))
    return TableOfNumbers(("false positives", "members", "coin"), tuple(curve))


def _register(who: Sides, names: tuple[str, ...], scores: Floats, listed: float) -> pl.DataFrame:
    """List the training persons whom some attack puts above all but the fewest non-members."""
    member = who.is_member
    above = np.column_stack([_above(score, member) for score in scores.T])
    best = above.argmin(axis=1)
    distance, fewest = -scores[member, 0], above[np.arange(len(best)), best]
    order = np.lexsort((who.rows[member], distance, fewest))
    return registers.register(
        CARD.name,
        who.rows[member][order],
        [names[i] for i in best[order]],
        most=int(np.ceil(listed * len(best))),
        non_members_at_or_above=fewest[order],
        distance=distance[order],
    )


def _above(score: Floats, member: Flags) -> Floats:
    """Give for each member the share of non-members with at least the same score."""
    fresh = np.sort(score[~member])
    return 1 - np.searchsorted(fresh, score[member], side="left") / len(fresh)
