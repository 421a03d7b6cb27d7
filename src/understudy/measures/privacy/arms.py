"""An attack is a game whose wins are counted in three arms: counts, rates, residual risk.

Main: the attack on training persons. Control: the same attack with the same synthetic table on
holdout persons, who cannot have been learnt. Baseline: guessing without the release. What the
release adds is the residual risk (main - control) / (1 - control): of the persons who would be
beyond the attack otherwise, the share that it reaches. An attack whose main arm does not beat the
baseline is too weak to tell anything: that is no evidence, neither for nor against a leak.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL, Card, Finding, Part, TableOfNumbers, wilson
from understudy.measures.privacy.looks import Looks, each_alone, take_looks

Floats = NDArray[np.float64]
MOST_LISTED = 1000


@dataclass(frozen=True)
class Arm:
    """How often an attack was won, of how many attempts; a win may be a part of one.

    Examples
    --------
    >>> Arm(30, 100).rate
    0.3
    """

    wins: float
    attempts: int

    @property
    def rate(self) -> float:
        """The share of attempts that were won."""
        return self.wins / self.attempts if self.attempts else 0.0


@dataclass(frozen=True)
class Arms:
    """The arms of one look; the baseline is a rate, for it is computed and not played."""

    name: str
    main: Arm
    control: Arm | None
    naive: float

    @property
    def residual(self) -> float | None:
        """The residual risk; none without a control, or where the control cannot lose."""
        return None if self.control is None else residual(self.main.rate, self.control.rate)

    @property
    def too_weak(self) -> bool:
        """Whether the attack does no better than guessing without the release."""
        return self.main.rate <= self.naive + 1e-12


def residual(main: float, control: float) -> float | None:
    """Give what an attack adds to what it can do on persons who cannot have been learnt.

    Examples
    --------
    >>> residual(0.75, 0.5), residual(0.5, 0.75), residual(1.0, 1.0)
    (0.5, -1.0, None)
    """
    return None if control >= 1 else (main - control) / (1 - control)


def played(
    comparison: Comparison,
    scores: Floats,
    names: Sequence[str],
    naive: Sequence[float],
    *,
    name: str,
    permutations: int,
    strata: str | None = None,
    group: str | None = None,
) -> tuple[list[Arms], Looks | None]:
    """Count the wins of attacks on persons, and swap labels where there is a holdout.

    ``scores`` has a row for each training person, then for each holdout person, and a column for
    each look: 1 is a win, nan means that the person was not attacked.
    """
    train = comparison.height("train")
    arms = [
        Arms(look, _arm(scores[:train, i]), None, naive[i])
        if not comparison.has_holdout
        else Arms(look, _arm(scores[:train, i]), _arm(scores[train:, i]), naive[i])
        for i, look in enumerate(names)
    ]
    if not comparison.has_holdout:
        return arms, None
    looks = take_looks(
        comparison, scores, names,
        name=name, permutations=permutations, strata=strata, group=group,
    )  # fmt: skip
    return arms, looks


def _arm(scores: Floats) -> Arm:
    return Arm(float(np.nansum(scores)), int((~np.isnan(scores)).sum()))


def found(
    card: Card,
    arms: Sequence[Arms],
    looks: Looks | None,
    *,
    original: float | None = None,
    notes: Sequence[str] = (),
    register: pl.DataFrame | None = None,
    persons: bool = True,
) -> Finding:
    """Make the finding of an attack: the worst look in front, every look as a part.

    ``persons`` says that attempts are persons, so that without a holdout a rate has an interval;
    attempts that share persons, as predicates do, have none.
    """
    worst = shown_look(arms, looks)
    shown = arms[worst]
    interval = looks.interval(worst, 0.0, 1.0) if looks is not None else _alone(shown, persons)
    p_value = None if looks is None else float(looks.p_value[worst])
    flagged = p_value is not None and p_value < 1 - LEVEL
    control = None if shown.control is None else shown.control.rate
    names = [a.name for a in arms]
    said = [*notes, looks.note] if looks is not None else [*notes, WITHOUT_HOLDOUT]
    if looks is None:
        said.append(each_alone(names, worst, "the farthest above its baseline"))
    if shown.too_weak:
        said.append(STILL if flagged else TOO_WEAK)
    return Finding(
        card.name,
        unit=card.unit,
        better=card.better,
        value=shown.main.rate,
        interval=interval,
        reference=control,
        baselines={"naive": shown.naive, "original": original},
        p_value=p_value,
        flagged=flagged,
        parts=(
            Part("residual risk", shown.residual, interval=_residuals(interval, control)),
            *(_part(a, looks, i) for i, a in enumerate(arms)),
        ),
        tables={"arms": _table(arms)},
        note=" ".join(filter(None, said)),
        register=register,
        draws=looks.draws[:, worst] if looks is not None and len(arms) == 1 else None,
    )


FEW_PERSONS = (
    "Fewer than five training or holdout persons are attacked: their rate would tell about single "
    "persons."
)
WITHOUT_HOLDOUT = (
    "No holdout was given: how often the attack would be won on persons who were never in the "
    "data is not known, and what it learns from the release cannot be told from what it learns "
    "about people in general."
)
TOO_WEAK = (
    "Attack too weak: no evidence. It does not beat guessing without the release, so it says "
    "nothing about what a stronger attack would find."
)
STILL = (
    "The attack does not beat guessing without the release, and yet it is won more often on "
    "training persons than on holdout persons."
)


def shown_look(arms: Sequence[Arms], looks: Looks | None) -> int:
    """Give the look with the strongest evidence; without a control, the farthest above guessing."""
    if looks is not None:
        return looks.worst
    return int(np.argmax([a.main.rate - a.naive for a in arms]))


def _alone(arms: Arms, persons: bool) -> tuple[float, float] | None:
    return wilson(round(arms.main.wins), arms.main.attempts) if persons else None


def _residuals(
    interval: tuple[float, float] | None, control: float | None
) -> tuple[float, float] | None:
    if interval is None or control is None:
        return None
    ends = [residual(end, control) for end in interval]
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _part(arms: Arms, looks: Looks | None, look: int) -> Part:
    return Part(
        arms.name,
        arms.main.rate,
        None if arms.control is None else arms.control.rate,
        {
            "naive": arms.naive,
            "residual": arms.residual,
            "p_value": None if looks is None else float(looks.p_value[look]),
        },
        interval=None if looks is None else looks.interval(look, 0.0, 1.0),
    )


def _table(arms: Sequence[Arms]) -> TableOfNumbers:
    """Give the counts of each arm that was played."""
    rows: list[tuple[Any, ...]] = [
        (a.name, arm, played.wins, played.attempts, played.rate)
        for a in arms
        for arm, played in (("main", a.main), ("control", a.control))
        if played is not None
    ]
    rows += [(a.name, "baseline", None, None, a.naive) for a in arms]
    return TableOfNumbers(("attack", "arm", "wins", "attempts", "rate"), tuple(rows))


def listed(
    name: str,
    rows: NDArray[np.integer],
    attack: str,
    why: Sequence[str],
    **more: NDArray[np.floating] | NDArray[np.integer],
) -> pl.DataFrame:
    """List training persons for the register, those given first being worst.

    ``why`` names, for each of them, the columns by which the attack went.
    """
    some = slice(MOST_LISTED)
    return pl.DataFrame(
        {
            "measure": pl.Series([name] * len(rows[some]), dtype=pl.String),
            "training_row": np.asarray(rows[some], np.int64),
            "attack": pl.Series([attack] * len(rows[some]), dtype=pl.String),
            "why": pl.Series(list(why[some]), dtype=pl.String),
            **{column: np.asarray(values[some]) for column, values in more.items()},
        }
    )


def drawn(
    comparison: Comparison, attacks: int, orders: Sequence[NDArray[np.int64]], name: str
) -> tuple[NDArray[np.bool_], str]:
    """Draw who is attacked: at most so many training and so many holdout persons.

    ``orders`` puts the rows of training and of holdout in an order that their values decide, so
    that nothing depends on how the tables were sorted. Also says in words that a cap applied.
    """
    if attacks < 1:
        raise OptionError(f"{name}: attacks = {attacks}", hint="attack at least one person")
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
