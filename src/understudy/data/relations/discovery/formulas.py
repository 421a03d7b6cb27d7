"""Formulas as they are found: a text, the columns in it, and the rows in which it holds.

Coefficients are written as short as the data let them be: of all numbers that the rounding of the
columns cannot tell from the fitted one, the one with the fewest digits, as a decimal or a fraction.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.arithmetic import ColumnName
from understudy.data.relations.discovery.evidence import DIGIT, NEAR, saved_by_formula
from understudy.data.relations.discovery.fields import Codes, Field, Floats, Mask

MOST_DIGITS = 15
NO_ROUNDING = 0.05
MOST_DIGITS_IF_NEAR = 2
"""Of each number of a formula that some rows break: with more, it is an approximation."""
DENOMINATORS = range(2, 13)
LOG_TEN = math.log(10)


@dataclass(frozen=True)
class Proposal:
    """A relation that the data speak for, before it is chosen among others."""

    text: str
    target: str
    sources: tuple[str, ...]
    nats: float
    broken: int


@dataclass(frozen=True)
class Coefficient:
    """A number that a term is multiplied with, as a short fraction."""

    above: float
    below: float = 1.0
    digits: int = 1

    @property
    def value(self) -> float:
        """The number itself."""
        return self.above / self.below

    @property
    def cost(self) -> float:
        """The nats that it takes to state the number; to say 1 is cheap."""
        return DIGIT * self.digits

    def times(self, term: str, *, is_sum: bool = False) -> str:
        """Write the absolute value of the number times a term.

        Examples
        --------
        >>> Coefficient(5, 9).times("x"), Coefficient(1).times("x"), Coefficient(-1, 12).times("x")
        ('5 * x / 9', 'x', 'x / 12')
        """
        if abs(self.value) == 1:
            return term
        term = f"({term})" if is_sum else term
        if abs(self.above) != 1:
            term = f"{plain(abs(self.above))} * {term}"
        if self.below == 1:
            return term
        ten = abs(self.below - LOG_TEN) < 1e-12
        return f"{term} / {'log(10)' if ten else plain(self.below)}"


def plain(number: float) -> str:
    """Write a number as short as it is.

    Examples
    --------
    >>> plain(100.0), plain(0.25), plain(1e-7)
    ('100', '0.25', '1e-07')
    """
    return repr(float(number)).removesuffix(".0")


def quoted(name: str) -> str:
    """Write the name of a column as formulas do."""
    return str(ColumnName(name))


def short_numbers(value: float, slack: float) -> Iterator[Coefficient]:
    """Give numbers near a fitted one, the shortest first, ever closer to it.

    Examples
    --------
    >>> [next(short_numbers(v, 1e-4)).value for v in (0.99996, 2.54001, 0.55555, 0.0)]
    [1.0, 2.54, 0.5555555555555556, 0.0]
    """
    if not math.isfinite(value):
        return
    slack = max(slack, abs(value) * 1e-12)
    if abs(value) <= slack:
        yield Coefficient(0.0, digits=0)
    for _ in range(5):
        if best := _shortest(value, slack):
            yield best
        slack /= 30
    yield Coefficient(float(f"{value:.{MOST_DIGITS}g}"), digits=MOST_DIGITS)


def _shortest(value: float, slack: float) -> Coefficient | None:
    found: list[Coefficient] = []
    for many in range(1, MOST_DIGITS):
        decimal = float(f"{value:.{many - 1}e}")
        if abs(decimal - value) <= slack:
            found.append(Coefficient(decimal, 1.0, _written(decimal)))
            break
    if value and abs(value) < 1:
        for many in range(1, MOST_DIGITS):
            below = float(f"{1 / abs(value):.{many - 1}e}")
            if abs(1 / below - abs(value)) <= slack:
                sign = math.copysign(1.0, value)
                whole = below == round(below)
                found.append(Coefficient(sign, below, _written(below) + (not whole)))
                break
    for below in DENOMINATORS:
        above = round(value * below)
        if above and abs(above / below - value) <= slack:
            found.append(Coefficient(float(above), float(below), _written(above) + 2))
            break
    if abs(abs(value) - 1 / LOG_TEN) <= slack:
        found.append(Coefficient(math.copysign(1.0, value), LOG_TEN, 3))
    return min(found, key=lambda one: (one.digits, one.below == 1)) if found else None


def _written(number: float) -> int:
    """Count the digits of a number, its place left aside; 1 has none to state."""
    mantissa = f"{abs(number):.15e}".split("e")[0].replace(".", "").rstrip("0")
    return max(len(mantissa), 1) + (mantissa != "1")


@dataclass(frozen=True, eq=False)
class Checked:
    """How a formula fares in every row."""

    applies: Mask
    holds: Mask  # of the rows that it applies to
    nats: float
    by_rounding: bool = False  # whether it needs the rounding of the columns

    @property
    def broken(self) -> int:
        """The rows that break the formula."""
        return int((~self.holds).sum())

    @property
    def is_near(self) -> bool:
        """Whether it holds but for a few rows."""
        return len(self.holds) > 0 and self.broken <= NEAR * len(self.holds)


def check(
    target: Field,
    sources: Sequence[Field],
    compute: Callable[..., Floats],
    *,
    rows: Mask | None = None,
    fitted: bool = False,
) -> Checked:
    """Compute a formula in all rows that have its columns, and compare.

    Of a formula whose numbers were fitted, rows that are alike count once: with few different
    rows, a lookup would say the same.
    """
    assert target.numbers is not None
    arrays = [f.numbers for f in sources if f.numbers is not None]
    present = ~np.isnan(target.numbers)
    if rows is not None:
        present &= rows
    for array in arrays:
        present &= ~np.isnan(array)
    arrays = [array[present] for array in arrays]
    wanted = target.numbers[present]
    with np.errstate(all="ignore"):
        made = np.asarray(compute(*arrays), float)
        allowed = target.rounding(np.maximum(np.abs(made), np.abs(wanted)))
        for place, source in enumerate(sources):
            slack = source.slack + SINGLE_SHARE * source.relative * np.abs(arrays[place])
            if source.slack or source.relative > 1e-8:
                ends = [[*arrays], [*arrays]]
                ends[0][place] = arrays[place] - slack
                ends[1][place] = arrays[place] + slack
                change = np.abs(compute(*ends[1]) - compute(*ends[0])) / 2
                allowed = allowed + np.where(np.isfinite(change), change, 0.0)
    finite = np.isfinite(made)
    present = _keep(present, finite)
    made, allowed, wanted = made[finite], allowed[finite], wanted[finite]
    holds = np.abs(made - wanted) <= allowed
    counted: slice | NDArray[np.int64] = slice(None)
    if fitted and len(holds):
        counted = _different([field.codes[present] for field in (target, *sources)])
    nats = 0.0
    if holds.any():
        nats = saved_by_formula(target, made[counted], allowed[counted], holds[counted])
    away = np.abs(made - wanted)[holds]
    by_rounding = bool(away.size and away.mean() > NO_ROUNDING * allowed[holds].mean())
    return Checked(present, holds, nats, by_rounding)


def _different(codes: Sequence[Codes]) -> NDArray[np.int64]:
    """Give the first of all rows that have the same values."""
    key = np.zeros(len(codes[0]), np.uint64)
    for place, one in enumerate(codes):
        key = key * np.uint64(MIXING[place % len(MIXING)]) + one.astype(np.uint64)
    first: NDArray[np.int64] = np.unique(key, return_index=True)[1]
    return first


MIXING = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)


SINGLE_SHARE = 0.5  # of the relative error: half of it to either side


def _keep(present: Mask, some: Mask) -> Mask:
    made = present.copy()
    made[present] = some
    return made
