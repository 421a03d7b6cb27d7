"""How far two intervals agree: the real one, and the synthetic one that stands in for it."""

from dataclasses import dataclass

import numpy as np

from understudy.data.matrix import Floats, Marks
from understudy.judging.findings import LEVEL, Z


@dataclass(frozen=True)
class Intervals:
    """Estimates, errors, half and whole widths at 95 %; nan where a table cannot tell."""

    estimate: Floats
    error: Floats
    half: Floats
    width: Floats

    @classmethod
    def of(cls, estimate: Floats, error: Floats, freedom: Floats | float) -> "Intervals":
        """Put Student's interval around each estimate; with infinite freedom the normal one."""
        from scipy.stats import norm, t

        free = np.broadcast_to(np.asarray(freedom, float), np.shape(error))
        finite = np.isfinite(free)
        reach = np.full(np.shape(error), norm.ppf((1 + LEVEL) / 2))
        reach[finite] = t.ppf((1 + LEVEL) / 2, free[finite])
        return cls(estimate, error, reach * error, 2 * reach * error)

    @classmethod
    def normal(cls, estimate: Floats, error: Floats) -> "Intervals":
        """Put 1.96 errors on both sides of each estimate; the width is that of the rounded ends."""
        half = Z * error
        return cls(estimate, error, half, (estimate + half) - (estimate - half))

    def moved(self, by: Floats) -> "Intervals":
        """Move the intervals, all widths kept."""
        return Intervals(self.estimate + by, self.error, self.half, self.width)

    @property
    def low(self) -> Floats:
        """The lower ends."""
        return self.estimate - self.half

    @property
    def high(self) -> Floats:
        """The upper ends."""
        return self.estimate + self.half

    @property
    def significant(self) -> Marks:
        """Whether the interval leaves out zero."""
        return np.abs(self.estimate) > self.half


def overlaps(real: Intervals, synthetic: Intervals) -> Floats:
    """Give the mean of the shares that the common part has of both intervals (Karr et al. 2006).

    This is equation 1 of Dandekar et al. (2019), cut at 0: unclipped, intervals that lie apart
    score as well as those that overlap. A uselessly wide interval around the other tends to ½, so
    read the ratio of the widths and the standardised difference beside it. An interval without
    width is the limit of narrow ones: it has all of itself in the other, or nothing. What a table
    cannot tell has an overlap of 0.

    Examples
    --------
    >>> real = Intervals.normal(np.array([0.0, 0.0, 0.0]), np.ones(3))
    >>> other = Intervals.normal(np.array([0.0, 1.96, 9.0]), np.array([1.0, 1.0, 0.5]))
    >>> overlaps(real, other).round(3).tolist()
    [1.0, 0.5, 0.0]
    """
    low, high = np.maximum(real.low, synthetic.low), np.minimum(real.high, synthetic.high)
    common = np.maximum(high - low, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.where(i.width > 0, common / i.width, 1.0) for i in (real, synthetic)]
    return np.where(high >= low, (shares[0] + shares[1]) / 2, 0.0)


def width_ratios(real: Intervals, synthetic: Intervals) -> Floats:
    """Give the width of each synthetic interval as a multiple of the real one's."""
    return _ratio(synthetic.width, real.width, alike=1.0)


def standardised(real: Intervals, synthetic: Intervals) -> Floats:
    """Give the differences of the estimates, synthetic less real, in real standard errors."""
    return _ratio(synthetic.estimate - real.estimate, real.error, alike=0.0)


def _ratio(above: Floats, below: Floats, *, alike: float) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        made: Floats = np.where((above == 0) & (below == 0), alike, above / below)
    return made


def same_sign(real: Intervals, synthetic: Intervals) -> Marks:
    """Whether both estimates point the same way."""
    same: Marks = np.sign(real.estimate) == np.sign(synthetic.estimate)
    return same


def same_significance(real: Intervals, synthetic: Intervals) -> Marks:
    """Whether both intervals leave zero out, or neither does; never where one cannot tell."""
    same: Marks = real.significant == synthetic.significant
    return same & np.isfinite(synthetic.estimate)
