"""Was this person in the training data? Attacks that see the release and people like them."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL, Card, Finding, Part, TableOfNumbers, described
from understudy.judging.rates import EXPECTED, RATES, area, clopper_pearson, threshold
from understudy.measures.pictures.rule import K, share
from understudy.measures.privacy.membership_looks import Judged, judge
from understudy.measures.privacy.membership_scores import NAME, Scores, Sides, scores, sides

FEWEST = 10
POINTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
WORST = 0.01

CARD = Card(
    name=NAME,
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
    register: float = WORST,
) -> Finding:
    """Tell training persons from holdout persons by the synthetic table.

    ``reference`` is the share of the holdout that the attacker holds, ``nearest`` the number of
    records that a density is made of, ``rows`` the most rows of either side that boosting learns
    from. ``curve`` also gives the risk had fewer rows been released. ``register`` is the share of
    training persons listed, those most exposed.
    """
    if not 0 < reference < 1:
        raise OptionError(f"reference = {reference}", hint="give a share between 0 and 1")
    if not 0 <= register <= 1:
        raise OptionError(f"register = {register}", hint="give a share between 0 and 1")
    if permutations < 2:
        raise OptionError(f"permutations = {permutations}", hint="use at least 2")
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
    given = scores(comparison, who, nearest=nearest, iterations=iterations, rows=rows, curve=curve)
    found = judge(comparison, who, given, permutations=permutations, strata=strata, group=group)
    looks, worst = found.looks, found.looks.worst
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=float(looks.value[worst]),
        interval=looks.interval(worst, 0.0, 1.0),
        reference=0.5,
        p_value=float(looks.p_value[worst]),
        flagged=bool(looks.p_value[worst] < 1 - LEVEL),
        parts=_parts(who, found),
        tables=_tables(who, found, given, worst),
        note=" ".join(filter(None, [*_notes(who, rows, others), looks.note])),
        register=_register(who, found, register),
    )


def _parts(who: Sides, found: Judged) -> tuple[Part, ...]:
    """Give the area of every attack, then how many members it catches at few false positives."""
    looks = found.looks
    areas = [
        Part(
            name,
            float(looks.value[i]),
            0.5,
            {"p_value": float(looks.p_value[i])},
            interval=looks.interval(i, 0.0, 1.0),
        )
        for i, name in enumerate(looks.names)
    ]
    caught = [
        _caught(name, found.scores[:, i], who.is_member, rate, len(looks.names))
        for rate in RATES
        for i, name in enumerate(looks.names)
    ]
    return (*areas, *caught)


def _caught(
    name: str, score: NDArray[np.float64], member: NDArray[np.bool_], rate: float, looks: int
) -> Part:
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
    members: NDArray[np.float64], others: NDArray[np.float64], rate: float, alpha: float
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


def _tables(who: Sides, found: Judged, given: Scores, worst: int) -> dict[str, TableOfNumbers]:
    """Give the ROC curve of the attack shown, and the risk by how many rows are released."""
    score, member = found.scores[:, worst], who.is_member
    many, others = int(member.sum()), int((~member).sum())
    curve = []
    for rate in POINTS:
        if rate * others < K or many < K:
            continue
        limit = threshold(score[~member], rate) if rate < 1 else -np.inf
        hits = int((score[member] > limit).sum())
        curve.append((rate, share(hits, many, real=True), rate))
    made = {"line:roc": TableOfNumbers(("false positives", "members", "coin"), tuple(curve))}
    if len(given.released) > 1:
        by_rows = [
            (seen, *(area(column, member) for column in values.T))
            for seen, values in given.released
        ]
        columns = ("synthetic rows released", *given.names[:2])
        made["line:released"] = TableOfNumbers(columns, tuple(by_rows))
    return made


def _register(who: Sides, found: Judged, listed: float) -> pl.DataFrame:
    """List the training persons whom some attack puts above all but the fewest non-members."""
    member = who.is_member
    above = np.column_stack([_above(score, member) for score in found.scores.T])
    best = above.argmin(axis=1)
    distance = -found.scores[member, 0]
    fewest = above[np.arange(len(best)), best]
    most = int(np.ceil(listed * len(best)))
    order = np.lexsort((who.rows[member], distance, fewest))[:most]
    names = pl.Series("attack", [found.looks.names[i] for i in best[order]], pl.String)
    return pl.DataFrame(
        [
            pl.repeat(CARD.name, len(order), dtype=pl.String, eager=True).alias("measure"),
            pl.Series("training_row", who.rows[member][order], pl.Int64),
            names,
            pl.Series("non_members_at_or_above", fewest[order], pl.Float64),
            pl.Series("distance", distance[order], pl.Float64),
        ]
    )


def _above(score: NDArray[np.float64], member: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Give for each member the share of non-members with at least the same score."""
    fresh = np.sort(score[~member])
    return 1 - np.searchsorted(fresh, score[member], side="left") / len(fresh)
