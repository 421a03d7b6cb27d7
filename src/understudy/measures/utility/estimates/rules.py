"""What m synthetic tables say together about an estimate: combining rules.

Every rule takes the estimates q and variances v of m tables, one row a table, the number k of rows
of a synthetic table and n of the real one, and gives the mean of the estimates, its variance and
the degrees of freedom of Student's t; infinite ones stand for the normal distribution.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Combined:
    """The estimates of all tables together; ``negative`` where a variance had to be replaced."""

    estimate: Floats
    variance: Floats
    freedom: Floats
    negative: NDArray[np.bool_]


def naive(q: Floats, v: Floats, k: float, n: float, *, printed: bool = False) -> Combined:
    """Take a synthetic table for a real one: the variance is v̄."""
    return _scaled(q, v, 1.0)


def simple(q: Floats, v: Floats, k: float, n: float, *, printed: bool = False) -> Combined:
    """Fully synthetic, drawn from a fitted model: v̄ (k/n + 1/m) (Raab, Nowok and Dibben 2016)."""
    return _scaled(q, v, k / n + 1 / len(q))


def proper(q: Floats, v: Floats, k: float, n: float, *, printed: bool = False) -> Combined:
    """Fully synthetic, each from its own drawn model: v̄ (k/n + (1 + k/n)/m) (the same)."""
    return _scaled(q, v, k / n + (1 + k / n) / len(q))


def partially(q: Floats, v: Floats, k: float, n: float, *, printed: bool = False) -> Combined:
    """Some values replaced: T_p = v̄ + b/m, ν_p = (m - 1)(1 + v̄/(b/m))² (Reiter 2003).

    Dandekar et al. (2019, equation 5) print v̄/b in place of v̄/(b/m): ``printed``.
    """
    m, mean, between = len(q), v.mean(axis=0), q.var(axis=0, ddof=1)
    share = between if printed else between / m
    freedom = _squared(m, 1 + _over(mean, share))
    return Combined(q.mean(axis=0), mean + between / m, freedom, np.zeros(q.shape[1], bool))


def fully(q: Floats, v: Floats, k: float, n: float, *, printed: bool = False) -> Combined:
    """Draws of a population from its posterior: T_f = (1 + 1/m) b - v̄ (Raghunathan et al. 2003).

    ν_f = (m - 1)(1 - v̄/((1 + 1/m) b))². Where T_f is not above zero, (k/n) v̄ takes its place
    (Reiter 2002) and the quantile is the normal one.
    """
    m, mean, between = len(q), v.mean(axis=0), (1 + 1 / len(q)) * q.var(axis=0, ddof=1)
    variance = between - mean
    negative = variance <= 0
    freedom = np.where(negative, np.inf, _squared(m, 1 - _over(mean, between)))
    replaced = np.where(negative, k / n * mean, variance)
    return Combined(q.mean(axis=0), replaced, freedom, negative)


RULES: dict[str, Callable[..., Combined]] = {
    "simple": simple,
    "proper": proper,
    "partially": partially,
    "fully": fully,
    "naive": naive,
}
SEVERAL = ("partially", "fully")
FORMULAS = {
    "simple": "variance v̄(k/n + 1/m), for tables drawn from a fitted model (Raab et al. 2016)",
    "proper": "variance v̄(k/n + (1 + k/n)/m), for tables each drawn from its own drawn model "
    "(Raab et al. 2016)",
    "partially": "variance v̄ + b/m, Student's t, for partially synthetic tables (Reiter 2003)",
    "fully": "variance (1 + 1/m)b - v̄, Student's t, for populations drawn from their posterior "
    "(Raghunathan et al. 2003)",
    "naive": "variance v̄, as if a synthetic table were a real one",
}


def _scaled(q: Floats, v: Floats, factor: float) -> Combined:
    p = q.shape[1]
    return Combined(q.mean(axis=0), v.mean(axis=0) * factor, np.full(p, np.inf), np.zeros(p, bool))


def _over(a: Floats, b: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        made: Floats = np.where(b > 0, a / b, np.inf)
    return made


def _squared(m: int, ratio: Floats) -> Floats:
    made: Floats = (m - 1) * ratio**2
    return made
