"""How far two intervals agree: the real one, and the synthetic one that stands in for it."""

import math

from understudy.judging.findings import Z

Interval = tuple[float, float]


def overlap(real: Interval, synthetic: Interval) -> float:
    """Give the mean of the shares that the common part has of both intervals (Karr et al. 2006).

    This is equation 1 of Dandekar et al. (2019), cut at 0: unclipped, intervals that lie apart
    score as well as those that overlap. A uselessly wide interval around the other tends to ½, so
    read the ratio of the widths and the standardised difference beside it. An interval without
    width is the limit of narrow ones: it has all of itself in the other, or nothing.

    Examples
    --------
    >>> overlap((0, 4), (2, 6)), overlap((0, 4), (1, 2)), overlap((0, 4), (5, 6))
    (0.5, 0.625, 0.0)
    """
    low, high = max(real[0], synthetic[0]), min(real[1], synthetic[1])
    if high < low:
        return 0.0
    return (_share(high - low, real) + _share(high - low, synthetic)) / 2


def _share(common: float, whole: Interval) -> float:
    width = whole[1] - whole[0]
    return common / width if width else 1.0


def width_ratio(real: Interval, synthetic: Interval) -> float:
    """Give the width of the synthetic interval as a multiple of the real one's.

    Examples
    --------
    >>> width_ratio((0, 4), (1, 2))
    0.25
    """
    own, other = real[1] - real[0], synthetic[1] - synthetic[0]
    if own == other:
        return 1.0
    return other / own if own else math.inf


def standardised_difference(real: Interval, synthetic: Interval) -> float:
    """Give the difference of the midpoints, synthetic less real, in real standard errors.

    Both intervals are symmetric ones at 95 per cent: half the real width is 1.96 errors.

    Examples
    --------
    >>> round(standardised_difference((0, 4), (2, 6)), 4)
    1.96
    """
    difference = (synthetic[0] + synthetic[1] - real[0] - real[1]) / 2
    error = (real[1] - real[0]) / (2 * Z)
    if error:
        return difference / error
    return math.copysign(math.inf, difference) if difference else 0.0
