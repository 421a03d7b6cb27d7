"""Differences between two candidates, with intervals that hold for all pairs looked at.

Candidates are compared with the same training table and holdout, so their measures err together.
Where a measure keeps the values of its redraws, draw t of every candidate was made from the same
redrawn real rows: the spread of the difference is that of the paired draws. Otherwise the two
intervals are taken as independent, which counts the noise of the real tables twice.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.judging.findings import LEVEL, Finding, plain
from understudy.workflows.assessment import Assessment

FIDELITY, SHARE = "fidelity.trivariate", "privacy.closest_record"
DECIDING = (FIDELITY, SHARE)
POSITIONS = 2000
IN_STEP = 5.0


@dataclass(frozen=True)
class Difference:
    """By how much a measure of ``a`` lies above that of ``b``.

    Each is counted from its own reference where there is one, so that releases of unequal size
    can be compared. ``interval`` covers all ``looks`` together at ``level``; ``better`` names the
    candidate that the interval puts on the better side, if the other one is flagged: what does as
    well as fresh real rows cannot be beaten.
    """

    measure: str
    a: str
    b: str
    unit: str
    value: float
    interval: tuple[float, float] | None
    looks: int
    paired: bool
    better: str | None
    level: float = LEVEL

    @property
    def apart(self) -> bool:
        """Whether the interval excludes no difference."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        ends = None if self.interval is None else [plain(end) for end in self.interval]
        return {**vars(self), "value": plain(self.value), "interval": ends, "apart": self.apart}


def differences(
    assessments: Mapping[str, Assessment], order: Mapping[str, NDArray[np.float64]]
) -> Iterator[Difference]:
    """Give the differences of all pairs of candidates in every measure that both have.

    The intervals of a measure are corrected for the number of pairs (Bonferroni); the two measures
    that decide count as one family, so theirs are corrected for the pairs of both.
    """
    pairs = list(itertools.combinations(assessments, 2))
    apart = {pair: not in_step(order[pair[0]], order[pair[1]]) for pair in pairs}
    measured = [f.measure for f in next(iter(assessments.values()))]
    deciding = [
        name
        for name in DECIDING
        if name in measured and any(a[name].status == "ok" for a in assessments.values())
    ]
    for measure in measured:
        looks = len(pairs) * (len(deciding) if measure in deciding else 1)
        for a, b in pairs:
            first, second = assessments[a][measure], assessments[b][measure]
            if first.status == second.status == "ok":
                yield difference(a, first, b, second, looks=looks, pair=apart[a, b])


def difference(
    a: str, first: Finding, b: str, second: Finding, *, looks: int = 1, pair: bool = True
) -> Difference:
    """Compare two findings of the same measure.

    Examples
    --------
    >>> one = Finding("fidelity.hellinger", better="lower", value=0.2, interval=(0.18, 0.22))
    >>> two = Finding("fidelity.hellinger", better="lower", value=0.3, interval=(0.28, 0.32))
    >>> found = difference("a", one, "b", two)
    >>> round(found.value, 2), [round(end, 3) for end in found.interval], found.better
    (-0.1, [-0.128, -0.072], 'a')
    """
    referenced = first.reference is not None and second.reference is not None
    value = _excess(first, referenced) - _excess(second, referenced)
    spread, freedom = _spread(first, second, pair=pair)
    interval = None
    if spread is not None and (spread > 0 or value == 0):
        half = _quantile(1 - (1 - LEVEL) / (2 * looks), freedom) * spread
        interval = (value - half, value + half)
    return Difference(
        first.measure,
        a,
        b,
        first.unit,
        value,
        interval,
        looks,
        freedom is not None,
        _better(a, first, b, second, interval),
    )


def _excess(finding: Finding, referenced: bool) -> float:
    return (finding.value or 0.0) - ((finding.reference or 0.0) if referenced else 0.0)


def _spread(first: Finding, second: Finding, *, pair: bool) -> tuple[float | None, int | None]:
    """Give the standard deviation of the difference, and its degrees of freedom if paired."""
    one, two = first.draws, second.draws
    if pair and one is not None and two is not None and len(one) == len(two) > 1:
        return float(np.std(one - two, ddof=1)), len(one) - 1
    alone = [_error(finding) for finding in (first, second)]
    known = [error for error in alone if error is not None]
    return (math.hypot(*known) if len(known) == len(alone) else None), None


def _error(finding: Finding) -> float | None:
    """Give the standard error that an interval implies, by its longer side: ends may be cut."""
    if finding.interval is None or finding.value is None:
        return None
    low, high = finding.interval
    longer = max(finding.value - low, high - finding.value)
    return longer / _quantile((1 + finding.level) / 2, None)


def _quantile(probability: float, freedom: int | None) -> float:
    """Give Student's quantile, or the normal one: a spread of few draws is itself uncertain."""
    if freedom is None:
        return NormalDist().inv_cdf(probability)
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def _better(
    a: str, first: Finding, b: str, second: Finding, interval: tuple[float, float] | None
) -> str | None:
    """Name the better one: the interval excludes 0, and the other is worse than fresh rows too."""
    if interval is None or interval[0] <= 0 <= interval[1] or first.better == "reference":
        return None
    first_is_lower = interval[1] < 0
    winner, loser = (a, second) if first_is_lower == (first.better == "lower") else (b, first)
    return winner if loser.flagged or loser.reference is None else None


def spaced(codes: NDArray[Any], rows: int = POSITIONS) -> NDArray[np.float64]:
    """Take evenly spaced rows of a table, to see whether its order means something."""
    rows = min(len(codes), rows)
    places = ((np.arange(rows) + 0.5) * len(codes) / max(rows, 1)).astype(np.int64)
    made: NDArray[np.float64] = codes[places].astype(float)
    return made


def in_step(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    """Tell whether two tables are in a common order, as when both are sorted by one column.

    Rows are redrawn by their number. In a common order the redraws of two tables would err
    together although the tables do not, and a paired interval would be too narrow.
    """
    rows = min(len(first), len(second))
    one, two = (spaced(table, rows) for table in (first, second))
    one, two = (table - table.mean(axis=0) for table in (one, two))
    scale = np.sqrt((one**2).sum(axis=0) * (two**2).sum(axis=0))
    shared = np.abs((one * two).sum(axis=0))[scale > 0] / scale[scale > 0]
    return bool((shared > IN_STEP / math.sqrt(rows)).any())
