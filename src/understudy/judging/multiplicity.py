"""Many tests at once: how many flags would remain if all of them were one family."""

from collections.abc import Sequence

import numpy as np

from understudy.judging.findings import LEVEL, Finding


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for each other, whatever their dependence (Holm 1979).

    Examples
    --------
    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    stepped = np.maximum.accumulate(np.asarray(p_values, float)[order] * factors)
    made = np.empty(len(order))
    made[order] = np.minimum(stepped, 1.0)
    return [float(p) for p in made]


def several_tests(findings: Sequence[Finding]) -> str:
    """Say how many privacy measures were tested, and which flags hold for all tests together.

    Each measure corrects for its own looks; a reader of many measures takes another look with
    each. Nothing is said of a single test.
    """
    tested = [
        (f, f.p_value)
        for f in findings
        if f.measure.startswith("privacy.") and f.p_value is not None
    ]
    if len(tested) < 2:
        return ""
    together = holm([p for _, p in tested])
    flagged = [f.measure for f, _ in tested if f.flagged]
    hold = [f.measure for (f, _), p in zip(tested, together, strict=True) if p < 1 - LEVEL]
    if not flagged:
        outcome = "none is flagged"
    else:
        few = "1 is flagged" if len(flagged) == 1 else f"{len(flagged)} are flagged"
        outcome = f"{few} ({', '.join(flagged)})"
    first = (
        f"{len(tested)} privacy measures were tested, each at {1 - LEVEL:.0%} over all its looks: "
        f"{outcome}."
    )
    if not flagged:
        return first
    kept = ", ".join(hold) if hold else "none"
    return f"{first} Corrected for all {len(tested)} measures too (Holm), there remain: {kept}."
