"""From tests of an attack to a lower bound on epsilon; arrays in, numbers out."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.games import Floats
from understudy.attacks.shadows import Flags, held_out
from understudy.judging.rates import clopper_pearson


@dataclass(frozen=True)
class Counts:
    """How often an attack said "with the record": of runs with it, and of runs without it.

    ``hoped`` is the bound that the runs promised on which the attack was chosen.
    """

    hits: int
    members: int
    wrong: int
    others: int
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
class Rule:
    """How the attacker decides: which statistic, in which direction, above which threshold."""

    statistic: int
    sign: float
    limit: float
    bound: float


def choose(statistics: Floats, inside: Flags, *, delta: float, alpha: float) -> Rule:
    """Choose the statistic and the threshold that would bound epsilon best on these runs."""
    best = Rule(0, 1.0, 0.0, -1.0)
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
                best = Rule(number, sign, _between(limits, place), float(found[place]))
    return best


def _between(limits: Floats, place: int) -> float:
    """Put a threshold between two values, so that it suits values never seen."""
    return float(limits[place : place + 2].mean())


def audit_runs(
    features: Floats,
    inside: Flags,
    teaches: NDArray[np.bool_],
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
