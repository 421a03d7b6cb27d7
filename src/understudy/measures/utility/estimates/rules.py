"""What m synthetic tables say together about an estimate: combining rules.

Every rule takes the estimates q and variances v of m tables, one row a table, the number k of rows
of a synthetic table and n of the real one, and gives the mean of the estimates, its variance and
the degrees of freedom of Student's t; infinite ones stand for the normal distribution.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from understudy.data.matrix import Floats, Marks
from understudy.errors import OptionError, near
from understudy.judging.comparison import Comparison, Synthesis
from understudy.measures.utility.estimates.model import Impossible


@dataclass(frozen=True)
class Combined:
    """The estimates of all tables together; ``negative`` where a variance had to be replaced."""

    estimate: Floats
    variance: Floats
    freedom: Floats
    negative: Marks


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
    return (m - 1) * ratio**2


AUTO = "auto"
HOLD = {"linear", "pmm", "bootstrap"}


@dataclass(frozen=True)
class RuleChoice:
    """The name of a rule, why it was chosen, and what is known to go wrong."""

    rule: str
    why: str
    warning: str

    def words(self) -> list[str]:
        """Say it for a finding's note."""
        said = f"Rule {self.rule}: {FORMULAS[self.rule]}; {self.why}."
        return [said, f"Warning: {self.warning}"] if self.warning else [said]


def choose(comparison: Comparison, wanted: str) -> RuleChoice:
    """Choose the rule, unless one is asked for."""
    m, made = len(comparison.synthetic), comparison.synthesis
    if wanted != AUTO:
        if wanted not in RULES:
            raise OptionError(f"rule = {wanted!r}", hint=near(wanted, [AUTO, *RULES]))
        if m == 1 and wanted in SEVERAL:
            raise Impossible(
                f"The rule {wanted} needs two synthetic tables or more: there is one. Make "
                "replicates (understudy synthesize --replicates), or leave the rule to auto."
            )
        return RuleChoice(wanted, "as asked for", _warning(made, asked=True))
    partial = comparison.aligned if made is None else made.partial
    if partial and m > 1:
        return RuleChoice("partially", "the rows are partially synthetic", _warning(made))
    if partial and made is not None and made.proper:
        why = "one partially synthetic table, whose models were drawn"
        return RuleChoice("proper", why, _warning(made))
    if partial:
        why = "one partially synthetic table, for which it is an upper bound"
        return RuleChoice("simple", why, _warning(made))
    if made is None:
        return RuleChoice("simple", "assumed, for the files do not say how they were made", UNKNOWN)
    if made.proper:
        return RuleChoice("proper", f"the method {made.method} drew its models", _warning(made))
    return RuleChoice("simple", f"the method is {made.method}", _warning(made))


def _warning(made: Synthesis | None, *, asked: bool = False) -> str:
    if made is None:
        return "" if asked else UNKNOWN
    doubtful = sorted(set(made.models or [made.method]) - HOLD)
    measured = [f"{name} {COVERED[name]}" for name in doubtful if name in COVERED]
    said = [MEASURED.format(" and ".join(measured))] if measured else []
    untried = [name for name in doubtful if name not in COVERED]
    return " ".join(said + ([UNTRIED.format(" and ".join(untried))] if untried else []))


UNKNOWN = (
    "the rule holds for a generator whose model is right and fitted to as many rows as training "
    "has; nothing is known of this one, so its intervals may be too narrow."
)
UNTRIED = (
    "the rule holds where the generator's model is right; how often intervals from {} cover the "
    "truth has not been measured."
)
MEASURED = (
    "the rule holds where the generator's model is right. In a simulation with 400 rows, 95 % "
    "intervals covered a coefficient, by coefficient, from {}: see docs/utility.md."
)
# benchmarks/intervals.py: lowest and highest of six coefficients, one table and five
COVERED = {
    "cart": "in 90 to 98 % of the samples",
    "forest": "in 88 to 100 %",
    "random_forest": "in 88 to 94 %",
    "boost": "in 57 to 87 %",
    "independent": "in 0 to 37 % (no relation is kept)",
}
