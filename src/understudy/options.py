"""Numbers that are asked for: finite, and no more than can be done."""

import math
from numbers import Integral, Real
from typing import Any

from understudy.errors import OptionError

MOST_ROWS = 10**12  # that can be counted and written, batch by batch
MOST_REPLICATES = 1_000
MOST_TREES = 10_000
MOST_WORKERS = 1_024
MOST = 10**9  # of whatever else is a whole number


def is_finite(value: Any) -> bool:
    """Whether a value is a number, and neither nan nor infinite.

    Examples
    --------
    >>> is_finite(10**400), is_finite(float("nan")), is_finite(True), is_finite("1")
    (True, False, False, False)
    """
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, Real) and not isinstance(value, bool)


def check_number(
    what: str,
    value: Any,
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    whole: bool = False,
) -> None:
    """Refuse what is no finite number, no whole one where that is asked for, or out of its bounds.

    Examples
    --------
    >>> check_number("forest: trees", 20, 1, MOST_TREES)
    >>> check_number("forest: trees", 10**6, 1, MOST_TREES)
    Traceback (most recent call last):
    understudy.errors.OptionError: forest: trees = 1000000
    hint: use 10,000 or less
    """
    if not is_finite(value):
        raise OptionError(f"{what} = {value!r} is no finite number", hint="give a finite number")
    if whole and not isinstance(value, Integral):
        raise OptionError(f"{what} = {value!r}", hint="give a whole number")
    if above is not None and value <= above:
        raise OptionError(f"{what} = {value}", hint=f"use a number above {above:g}")
    if least is not None and value < least:
        raise OptionError(f"{what} = {value}", hint=f"use {least:g} or more")
    if most is not None and value > most:
        raise OptionError(f"{what} = {value}", hint=f"use {most:,} or less")
