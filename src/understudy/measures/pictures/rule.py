"""What may be printed, and how real counts are rounded."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.judging import register
from understudy.judging.comparison import Comparison

K = register.K
DECIMALS = 6
LARGEST_SHARE = 0.5
TINY = 1e-9


@dataclass(frozen=True)
class Rare:
    """The values of a column that 1 to 4 training records hold; they are never printed."""

    numbers: frozenset[float]
    words: frozenset[str]

    @classmethod
    def of(cls, comparison: Comparison, name: str) -> "Rare":
        """Look up the rare values of a training column."""
        return comparison.train.once(("rare values", name), lambda: cls._find(comparison, name))

    @classmethod
    def _find(cls, comparison: Comparison, name: str) -> "Rare":
        levels = comparison.train.levels(name)
        words = frozenset(level for level, times in levels.items() if times < K)
        numbers = comparison.train.numbers(name)
        values, times = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        return cls(frozenset(values[times < K].tolist()), words)

    def __contains__(self, value: float | str) -> bool:
        return value in (self.words if isinstance(value, str) else self.numbers)


def share(count: float, rows: int, *, real: bool) -> float | None:
    """Give the share that is shown for a count.

    Examples
    --------
    >>> share(3, 1000, real=False), share(3, 1000, real=True), share(2, 1000, real=True)
    (0.003, 0.005, 0.0)
    >>> share(2, 4, real=True)
    """
    if not real:
        return round(float(count) / rows, DECIMALS)
    if rows < K:
        return None
    return round(min(1.0, K * int(count / K + 0.5) / rows), DECIMALS)


def few_dominate(contributions: NDArray[np.float64]) -> bool:
    """Tell whether a real sum, or mean, gives a record away: fewer than K make half of it or more.

    If they do not, all but the two largest contributions are more than the largest: not
    even the person with the second largest could tell it to within 100 % (the p-percent rule of
    statistical offices, who ask for some 10 %).

    Parameters
    ----------
    contributions : array of float
        What each record adds, none below zero: squared deviations, absolute errors.

    Examples
    --------
    >>> few_dominate(np.array([1.0] * 99 + [9000.0])), few_dominate(np.arange(100.0))
    (True, False)
    >>> few_dominate(np.zeros(100)), few_dominate(np.zeros(4))
    (False, True)
    """
    if len(contributions) < K:
        return True
    total, rest = contributions.sum(), np.partition(contributions, 1 - K)[: 1 - K].sum()
    return bool(total > 0 and rest <= (1 - LARGEST_SHARE + TINY) * total)


def two_digits(distance: float) -> float:
    """Round a distance, for an exact one may point to a record.

    Examples
    --------
    >>> two_digits(0.012345), two_digits(17.6)
    (0.012, 18.0)
    """
    return float(f"{distance:.2g}")
