"""attack.audit: how much epsilon the generator spends at least."""

import dataclasses
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from understudy.attacks.records import made_up, modal, place_of
from understudy.attacks.refits import AttackSetting, Floats, RefitJob, World
from understudy.attacks.shadows import (
    NOT_USED,
    Flags,
    HitCounts,
    Queries,
    Runs,
    enough,
    gather,
    held_out,
    plan,
)
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.judging.findings import LEVEL, Card, Finding, Part, described
from understudy.judging.rates import clopper_pearson
from understudy.judging.register import register
from understudy.options import AtLeast, OneOf

FEWEST_RUNS = 4
THIRD = 3
SIZES = (2, 100)
RELEASED = 50
NEIGHBOURS = ("all", "record", "worst")

CARD = Card(
    name="attack.audit",
    title="Audit of epsilon",
    meaning="What the epsilon of the generator is at least, whatever it claims: shown by telling "
    "releases of two neighbouring tables apart more often than a smaller epsilon allows.",
    formula="Neighbours: the training table with and without the record that stands most apart; "
    "tables of equal rows, many and almost none, with and without a record of other values in "
    "every column. The generator is refitted on both, the same number of rows released. A third of "
    "the runs choose a statistic (counts near the record and of its values, their linear "
    "discriminant) and a threshold; the others count TPR and FPR. ε ≥ ln((TPR_L − δ)/FPR_U) "
    "and ln((1 − FPR_U − δ)/(1 − TPR_L)), Clopper–Pearson at α/2 each, whichever is larger. With "
    "gaussian, also by the trade-off curve of Gaussian noise",
    unit="epsilon",
    better="lower",
    headline="the lower bound by the pair of tables that promised most where the attack was chosen",
    source="Kairouz, Oh and Viswanath 2015; Jagielski, Ullman and Oprea 2020; Nasr et al. 2021 "
    "(worst-case neighbours); Dong, Roth and Su 2022 (Gaussian)",
    not_shown="A lower bound: it can contradict a claim, and cannot confirm one. A bound of 0 says "
    "that this attack, with so many runs, told nothing apart. The bound that a perfect attack "
    "could reach grows with the logarithm of the number of runs only.",
    threat="Knows the generator and its settings and both tables, chooses them as badly as it can, "
    "and sees the release. Counted against releases of the neighbouring table. Null: a mechanism "
    "that keeps its epsilon is contradicted with a chance of at most 5 %. Positive control: noise "
    "of half the scale, bounds learnt from the data.",
    opening="The audit shows at least",
    against="the generator claims",
)


@dataclass(frozen=True)
class Counts(HitCounts):
    """What the runs say that count; ``hoped`` is the bound promised by those that chose."""

    hoped: float = 0.0

    def epsilon(self, *, delta: float = 0.0, alpha: float = 0.05, gaussian: bool = False) -> float:
        """Give what epsilon is at least, wrong with a chance of at most alpha.

        An (ε, δ) mechanism has TPR ≤ e^ε FPR + δ, and the same for both complements
        (Kairouz, Oh and Viswanath 2015). TPR is at least its lower and FPR at most its upper
        Clopper–Pearson bound, each at alpha / 2.

        Examples
        --------
        >>> round(Counts(100, 100, 0, 100).epsilon(), 1)
        3.3
        """
        low, high = _bounds(self.hits, self.members, self.wrong, self.others, alpha)
        found = _gaussian(float(low), float(high), delta) if gaussian else 0.0
        return max(found, float(_plain(low, high, delta)))


def _bounds(
    hits: Any, members: int, wrong: Any, others: int, alpha: float
) -> tuple[Floats, Floats]:
    return clopper_pearson(hits, members, alpha)[0], clopper_pearson(wrong, others, alpha)[1]


def _plain(low: Floats, high: Floats, delta: float) -> Floats:
    """Bound epsilon where TPR is at least ``low`` and FPR at most ``high``."""
    with np.errstate(divide="ignore"):
        one = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
        mirror = np.log(np.maximum(1 - high - delta, 0.0)) - np.log(1 - low)
    made: Floats = np.maximum(np.maximum(one, mirror), 0.0)
    return made


def _gaussian(low: float, high: float, delta: float) -> float:
    """Bound epsilon for a mechanism that adds Gaussian noise.

    Its trade-off curve has one parameter: μ = Φ⁻¹(TPR) − Φ⁻¹(FPR), and δ(ε) = Φ(−ε/μ + μ/2) −
    e^ε Φ(−ε/μ − μ/2) (Dong, Roth and Su 2022, section 2; audits by it: Nasr et al. 2023).
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtr, ndtri

    shift = float(ndtri(low) - ndtri(high))
    if not shift > 0 or not delta > 0:
        return 0.0

    def excess(epsilon: float) -> float:
        tail = math.exp(min(epsilon + float(log_ndtr(-epsilon / shift - shift / 2)), 0.0))
        return float(ndtr(-epsilon / shift + shift / 2)) - tail - delta

    if excess(0.0) <= 0:
        return 0.0
    top = 1.0
    while excess(top) > 0:
        top *= 2
    return float(brentq(excess, 0.0, top))


@dataclass(frozen=True)
class DecisionRule:
    """How the attacker decides: which statistic, in which direction, above which threshold."""

    statistic: int
    sign: float
    limit: float
    bound: float


def choose(statistics: Floats, inside: Flags, *, delta: float, alpha: float) -> DecisionRule:
    """Choose the statistic and the threshold that would bound epsilon best on these runs."""
    best = DecisionRule(0, 1.0, 0.0, -1.0)
    for number in range(statistics.shape[1]):
        for sign in (1.0, -1.0):
            own = sign * statistics[:, number]
            limits = np.unique(own)
            if len(limits) < 2:
                continue
            with_, without = np.sort(own[inside]), np.sort(own[~inside])
            hits = len(with_) - np.searchsorted(with_, limits, side="right")
            wrong = len(without) - np.searchsorted(without, limits, side="right")
            low, high = _bounds(hits, len(with_), wrong, len(without), alpha)
            found = _plain(low, high, delta)
            place = int(found.argmax())
            if found[place] > best.bound:
                best = DecisionRule(number, sign, _between(limits, place), float(found[place]))
    return best


def _between(limits: Floats, place: int) -> float:
    """Put a threshold between two values, so that it suits values never seen."""
    return float(limits[place : place + 2].mean())


def audit_runs(
    features: Floats,
    inside: Flags,
    teaches: Flags,
    *,
    delta: float = 0.0,
    alpha: float = 0.05,
) -> Counts:
    """Learn a rule on the runs that teach, and count what it says about the others.

    Statistics are a linear discriminant of all features (its scores on the runs that teach come
    from what was learnt on others of them) and every feature by itself.
    """
    scores = held_out(features, inside.astype(np.float64), teaches)
    statistics = np.column_stack([scores, features])
    rule = choose(statistics[teaches], inside[teaches], delta=delta, alpha=alpha)
    said = rule.sign * statistics[~teaches, rule.statistic] > rule.limit
    tested = inside[~teaches]
    return Counts(
        int(said[tested].sum()),
        int(tested.sum()),
        int(said[~tested].sum()),
        int((~tested).sum()),
        rule.bound,
    )


@dataclass(frozen=True)
class NeighbourTables:
    """Two tables that differ in one record: a base, and worlds with and without it."""

    name: str
    base: Table
    inside: World
    outside: World
    record: pl.DataFrame
    rows: int


@described(CARD)
def audit(
    setting: AttackSetting,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    gaussian: bool = False,
    record: int | None = None,
    neighbours: Annotated[str, OneOf(*NEIGHBOURS)] = "all",
    trials: Annotated[int, AtLeast(6 * FEWEST_RUNS)] = 500,
    rows: Annotated[int | None, AtLeast(1)] = None,
) -> Finding:
    """Bound the epsilon of a generator from below.

    Parameters
    ----------
    epsilon, delta : float, optional
        What the generator claims; its own options of these names if not given, and no delta if
        there is none.
    gaussian : bool
        The generator claims Gaussian noise, whose trade-off curve makes the bound sharper. It is
        no bound for other mechanisms.
    record : int, optional
        The row, from 1, that makes the neighbour of the training table; not with "worst".
    neighbours : {"all", "record", "worst"}
        Which pairs of tables to try.
    trials : int
        Refits of each table of a pair; a third of them choose the attack, the others count.
    rows : int, optional
        Rows released; if not given, as many as the table has, and many for tables of equal rows.
    """
    claimed = _claimed(setting, "epsilon", epsilon)
    slack = _claimed(setting, "delta", delta) or 0.0
    if gaussian and not slack > 0:
        raise OptionError(
            "gaussian: a mechanism of Gaussian noise has a delta above 0", hint="give delta"
        )
    if record is not None and neighbours == "worst":
        raise OptionError(
            f"record = {record}: neighbours = 'worst' makes up its records",
            hint="leave record out, or use neighbours = 'record' or 'all'",
        )
    pairs, place = _pairs(setting, neighbours, record, rows)
    found: list[Counts | None] = []
    notes = [NOT_USED] if setting.release else []
    jobs = _jobs(setting, pairs)
    for number, (pair, job) in enumerate(zip(pairs, jobs, strict=True)):
        runs = _play(setting, pair, job, trials, number, len(pairs))
        notes.append(f"{pair.name}: {runs.note}")
        inside = runs.inside[:, 0] == 1
        found.append(
            audit_runs(runs.features, inside, runs.teaches, delta=slack, alpha=1 - LEVEL)
            if enough(runs, FEWEST_RUNS)
            else None
        )
    if not any(found):
        return CARD.failed(f"{' '.join(notes)} Too few refits for an audit.")
    bounds = [
        None if t is None else t.epsilon(delta=slack, alpha=1 - LEVEL, gaussian=gaussian)
        for t in found
    ]
    return _finding(pairs, found, bounds, claimed, slack, notes, place)


def _finding(
    pairs: list[NeighbourTables],
    found: list[Counts | None],
    bounds: list[float | None],
    claimed: float | None,
    delta: float,
    notes: list[str],
    place: int | None,
) -> Finding:
    """Show the pair that was chosen without a look at the runs that count: nothing to correct."""
    hoped = [-2.0 if t is None else t.hoped for t in found]
    best = int(np.argmax(hoped))
    value, shown = bounds[best], found[best]
    if value is None or shown is None:
        raise ValueError("no pair of tables was audited")
    tests = min(shown.members, shown.others)
    perfect = Counts(tests, tests, 0, tests).epsilon(delta=delta, alpha=1 - LEVEL)
    said = [
        "No epsilon is claimed; the bound stands alone."
        if claimed is None
        else f"Claimed: epsilon {claimed:g}" + (f", delta {delta:g}." if delta else "."),
        f"Of {len(pairs)} pairs of tables the one shown ({pairs[best].name}) was chosen on the "
        "runs that chose the attack, so the bound needs no correction."
        if len(pairs) > 1
        else "",
        f"With {tests:,} tests of each table a perfect attack would show {perfect:.2f}.",
        "The claim is more than these runs could contradict."
        if claimed is not None and perfect <= claimed
        else "",
        *notes,
    ]
    parts = [
        Part(pair.name, bound, None, {} if t is None else t.rates())
        for pair, t, bound in zip(pairs, found, bounds, strict=True)
    ]
    return CARD.finding(
        value=value,
        reference=claimed,
        baselines={"claimed": claimed, "perfect": perfect},
        flagged=claimed is not None and value > claimed,
        parts=tuple(parts),
        note=" ".join(filter(None, said)),
        register=register(CARD.name, [place], "neighbouring tables"),
    )


def _jobs(setting: AttackSetting, pairs: list[NeighbourTables]) -> list[RefitJob]:
    """Say what is asked of each pair; open all journals before the first pair is played."""
    made = []
    for number, pair in enumerate(pairs):
        queries = Queries.about(pair.outside.of(pair.base), pair.record, (pair.rows,))
        made.append(setting.job(queries, base=pair.base, rows=pair.rows))
        _with_journal(setting, number).open_journal(made[-1])
    return made


def _with_journal(setting: AttackSetting, number: int, **changes: Any) -> AttackSetting:
    """Give every pair a journal of its own."""
    path = setting.journal
    own = None if path is None else path.with_name(f"{path.name}.{number + 1}")
    return dataclasses.replace(setting, journal=own, **changes)


def _play(
    setting: AttackSetting,
    pair: NeighbourTables,
    job: RefitJob,
    trials: int,
    number: int,
    many: int,
) -> Runs:
    """Refit both tables of a pair within its part of what time is left."""
    now = time.monotonic()
    left = max((setting.deadline - now) / (many - number), 1e-3)
    refits = None if setting.refits is None else max(1, setting.refits // many)
    own = _with_journal(setting, number, start=now, budget=left, refits=refits)
    worlds = [(pair.inside, np.ones(1)), (pair.outside, np.zeros(1))]
    planned = plan(setting, f"{CARD.name} {pair.name}", worlds, trials, every=THIRD)
    return gather(own, planned, job)


def _pairs(
    setting: AttackSetting, neighbours: str, record: int | None, rows: int | None
) -> tuple[list[NeighbourTables], int | None]:
    train = setting.train
    made, place = [], None
    if neighbours != "worst":
        place = place_of(setting, record)
        others = np.delete(np.arange(train.height), place)
        made.append(
            NeighbourTables(
                "training table",
                train,
                World("with the record"),
                World("without the record", others),
                train.frame[place : place + 1],
                rows or train.height,
            )
        )
    if neighbours != "record":
        usual = modal(train)
        far = made_up(train, 1, setting.stream(CARD.name, "far"), unlike=usual)
        for size in SIZES:
            base = Table(pl.concat([usual] * size), train.schema)
            made.append(
                NeighbourTables(
                    f"{size} equal rows",
                    base,
                    World("with another record", added=far),
                    World("equal rows"),
                    far,
                    rows or RELEASED * max(SIZES),
                )
            )
    return made, place


def _claimed(setting: AttackSetting, name: str, given: Any) -> float | None:
    """Take what is given, else what the generator says of itself."""
    if given is None:
        generator: Any = setting.generator
        options = getattr(generator, "options", {})
        own = options.get(name) if isinstance(options, Mapping) else None
        for holder in (generator, getattr(generator, "fit", None)):
            own = getattr(holder, name, None) if own is None else own
        given = own
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise OptionError(f"{name} = {given!r}", hint="give a number from 0 up")
    return float(given)
