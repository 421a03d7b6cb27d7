"""What may be printed, and how real counts are rounded."""

from dataclasses import dataclass

import numpy as np

from understudy.comparison import Comparison

K = 5
DECIMALS = 6


@dataclass(frozen=True)
class Rare:
    """The values of a column that 1 to 4 training records hold; they are never printed."""

    numbers: frozenset[float]
    words: frozenset[str]

    @classmethod
    def of(cls, comparison: Comparison, name: str) -> "Rare":
        """Look up the rare values of a training column."""
        return comparison.once(("rare values", name), lambda: cls._find(comparison, name))

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


def two_digits(distance: float) -> float:
    """Round a distance, for an exact one may point to a record.

    Examples
    --------
    >>> two_digits(0.012345), two_digits(17.6)
    (0.012, 18.0)
    """
    return float(f"{distance:.2g}")
