"""Intervals of two analyses side by side, all coefficients at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.judging.findings import LEVEL

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Intervals:
    """Estimates, standard errors and half widths at 95 %; nan where a table cannot tell."""

    estimate: Floats
    error: Floats
    half: Floats

    @classmethod
    def of(cls, estimate: Floats, error: Floats, freedom: Floats | float) -> "Intervals":
        """Put Student's interval around each estimate; with infinite freedom the normal one."""
        from scipy.stats import norm, t

        free = np.broadcast_to(np.asarray(freedom, float), np.shape(error))
        finite = np.isfinite(free)
        reach = np.full(np.shape(error), norm.ppf((1 + LEVEL) / 2))
        reach[finite] = t.ppf((1 + LEVEL) / 2, free[finite])
        return cls(estimate, error, reach * error)

    def moved(self, by: Floats) -> "Intervals":
        """Move the intervals, all widths kept."""
        return Intervals(self.estimate + by, self.error, self.half)

    @property
    def low(self) -> Floats:
        """The lower ends."""
        return self.estimate - self.half

    @property
    def high(self) -> Floats:
        """The upper ends."""
        return self.estimate + self.half

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Whether the interval leaves out zero."""
        return np.abs(self.estimate) > self.half


def overlaps(real: Intervals, synthetic: Intervals) -> Floats:
    """Give ``measures.overlap.overlap`` of all pairs; 0 where the synthetic table cannot tell."""
    low, high = np.maximum(real.low, synthetic.low), np.minimum(real.high, synthetic.high)
    common = np.maximum(high - low, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.where(i.half > 0, common / (2 * i.half), 1.0) for i in (real, synthetic)]
    made: Floats = np.where(high >= low, (shares[0] + shares[1]) / 2, 0.0)
    return made


def width_ratios(real: Intervals, synthetic: Intervals) -> Floats:
    """Give the width of each synthetic interval as a multiple of the real one's."""
    with np.errstate(divide="ignore", invalid="ignore"):
        made: Floats = synthetic.half / real.half
    return made


def standardised(real: Intervals, synthetic: Intervals) -> Floats:
    """Give the differences of the estimates, synthetic less real, in real standard errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        made: Floats = (synthetic.estimate - real.estimate) / real.error
    return made


def same_sign(real: Intervals, synthetic: Intervals) -> NDArray[np.bool_]:
    """Whether both estimates point the same way."""
    made: NDArray[np.bool_] = np.sign(real.estimate) == np.sign(synthetic.estimate)
    return made


def same_significance(real: Intervals, synthetic: Intervals) -> NDArray[np.bool_]:
    """Whether both intervals leave zero out, or neither does; never where one cannot tell."""
    made: NDArray[np.bool_] = (real.significant == synthetic.significant) & np.isfinite(
        synthetic.estimate
    )
    return made
