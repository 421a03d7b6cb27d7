"""Evidence in nats: what a relation saves, beside what it costs to state.

A value that is known from other columns need not be told. Without the relation, a number of row i
lands in the window that the formula leaves it with the share of all rows that lie there; the
relation saves minus the logarithm of that share. A wide window, a column that hardly varies or a
rule that always holds save nothing, however well they fit.
"""

import math

import numpy as np

from understudy.data.relations.discovery.fields import Field, Floats, Mask

ENOUGH = 30.0
"""Nats that must be left after the cost: what chance brings about once in 10^13 tables."""
NEAR = 0.005
"""The share of rows that may break a relation that is reported as a near one."""
DIGIT = math.log(10)


def saved_by_formula(field: Field, made: Floats, allowed: Floats, holds: Mask) -> float:
    """Add up what a formula saves in the rows where it holds, less what its exceptions cost."""
    ordered = field.ordered
    low = np.searchsorted(ordered, made[holds] - allowed[holds], "left")
    high = np.searchsorted(ordered, made[holds] + allowed[holds], "right")
    share = np.maximum(high - low, 1) / len(ordered)
    return float(-np.log(share).sum()) - exceptions(len(holds), int((~holds).sum()))


def exceptions(rows: int, broken: int) -> float:
    """Give the nats that it takes to name the rows that break a relation."""
    if not broken:
        return 0.0
    return math.lgamma(rows + 1) - math.lgamma(broken + 1) - math.lgamma(rows - broken + 1)


def digits(*numbers: float) -> float:
    """Give the nats that it takes to state numbers: one digit each, a sign and a place."""
    cost = 0.0
    for number in numbers:
        mantissa = f"{abs(number):.15e}".split("e")[0].replace(".", "").rstrip("0")
        cost += DIGIT * (len(mantissa) + 1)
    return cost
