"""An attack is a game whose wins are counted in three arms: counts, rates, residual risk.

Main: the attack on training persons. Control: the same attack with the same synthetic table on
holdout persons, who cannot have been learnt. Baseline: guessing without the release. What the
release adds is the residual risk (main - control) / (1 - control): of the persons who would be
beyond the attack otherwise, the share that it reaches. An attack whose main arm does not beat the
baseline is too weak to tell anything: that is no evidence, neither for nor against a leak.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers
from understudy.judging.judge import Judgement, Scores

Arms = list[tuple[float, int]]
TOO_WEAK = (
    "Attack too weak: no evidence. It does not beat guessing without the release, so it says "
    "nothing about what a stronger attack would find."
)
STILL = (
    "The attack does not beat guessing without the release, and yet it is won more often on "
    "training persons than on holdout persons."
)


def residual(main: float, control: float | None) -> float | None:
    """Give what an attack adds to what it can do on persons who cannot have been learnt.

    There is none without a control, or where the control cannot lose.

    Examples
    --------
    >>> residual(0.75, 0.5), residual(0.5, 0.75), residual(1.0, 1.0)
    (0.5, -1.0, None)
    """
    return None if control is None or control >= 1 else (main - control) / (1 - control)


def arms_of(scores: Scores) -> list[Arms]:
    """Count, for each look, the wins and attempts on training and on holdout persons."""
    wins, attempts = [np.nansum(side, axis=0) for side in scores.sides], scores.counts()
    return [
        [(float(won[look]), int(tried[look])) for won, tried in zip(wins, attempts, strict=True)]
        for look in range(len(scores.names))
    ]


def attack_finding(
    card: Card,
    judged: Judgement,
    arms: Sequence[Arms],
    *,
    original: float,
    notes: Sequence[str],
    register: pl.DataFrame,
) -> Finding:
    """Make the finding of an attack; ``arms`` are wins and attempts of the looks."""
    control = judged.reference if judged.reference is not None else [None] * len(judged.value)
    judged = replace(
        judged,
        beside=[
            {"naive": numbers["naive"], "residual": residual(float(rate), other)}
            for rate, other, numbers in zip(judged.value, control, judged.beside, strict=True)
        ],
    )
    shown = judged.part(judged.headline)
    said = [*notes, judged.note]
    if judged.value[judged.headline] <= (shown.more["naive"] or 0) + 1e-12:
        said.append(STILL if judged.flagged else TOO_WEAK)
    ends = None
    if shown.interval is not None and shown.reference is not None and shown.reference < 1:
        low, high = ((end - shown.reference) / (1 - shown.reference) for end in shown.interval)
        ends = low, high
    return judged.finding(
        card,
        parts=(Part("residual risk", shown.more["residual"], interval=ends), *judged.parts),
        baselines={"original": original},
        tables={"arms": _table(judged.parts, arms)},
        notes=said,
        register=register,
    )


def _table(parts: Sequence[Part], arms: Sequence[Arms]) -> TableOfNumbers:
    """Give the counts of each arm that was played."""
    rows: list[tuple[Any, ...]] = [
        (part.name, arm, wins, attempts, wins / attempts if attempts else 0.0)
        for part, played in zip(parts, arms, strict=True)
        for arm, (wins, attempts) in zip(("main", "control"), played, strict=False)
    ]
    rows += [(part.name, "baseline", None, None, part.more["naive"]) for part in parts]
    return TableOfNumbers(("attack", "arm", "wins", "attempts", "rate"), tuple(rows))


def drawn(
    comparison: Comparison, attacks: int, orders: Sequence[NDArray[np.int64]], name: str
) -> tuple[NDArray[np.bool_], str]:
    """Draw who is attacked: at most so many training and so many holdout persons.

    ``orders`` puts the rows of training and of holdout in an order that their values decide, so
    that nothing depends on how the tables were sorted. Also says in words that a cap applied.
    """
    chosen = []
    for table, order in zip(("train", "holdout"), orders, strict=False):
        mask = np.ones(len(order), bool)
        if attacks < len(order):
            mask[:] = False
            rng = comparison.stream(name, "attacked", table)
            mask[order[rng.permutation(len(order))[:attacks]]] = True
        chosen.append(mask)
    fewer = [f"{m.sum():,} of {len(m):,}" for m in chosen if not m.all()]
    said = f"Attacked were {' and '.join(fewer)} persons, by the option attacks." if fewer else ""
    return np.concatenate(chosen), said
