"""Options: declared in the signature of what takes them, and checked in one place.

A measure, an attack, a method or a workflow says what it takes where it takes it::

    def closest_record(comparison, *, permutations: Annotated[int, AtLeast(2)] = 1024): ...

``declared`` reads this for checks, the command line and the documentation.
"""

import dataclasses
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin, get_type_hints

from understudy.errors import OptionError, near

MOST_ROWS = 10**12  # that can be counted and written, batch by batch
MOST_REPLICATES = 1_000
MOST_TREES = 10_000
MOST_WORKERS = 1_024
MOST = 10**9  # of whatever else is a number

KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    dict: "names with values",
}
PLAIN = "use numbers, texts and lists of them"


@dataclass(frozen=True)
class Between:
    """Where a number may lie; ``most`` is 10^9 if not given, and may be infinite."""

    least: float | None = None
    most: float = MOST
    above: float | None = None

    def __str__(self) -> str:
        parts = [] if self.least in (None, 1) else [f"{self.least:g} or more"]
        parts += [] if self.above is None else [f"above {self.above:g}"]
        parts += [] if self.most in (MOST, math.inf) else [f"{self.most:,} at most"]
        return ", ".join(parts)


SHARE = Between(0, 1)


def AtLeast(least: float) -> Between:
    """Declare a number from this one up."""
    return Between(least)


def Above(bound: float) -> Between:
    """Declare a number above this one."""
    return Between(above=bound)


class OneOf:
    """Declare one of several texts."""

    def __init__(self, *values: str) -> None:
        self.values = values

    def __str__(self) -> str:
        return ", ".join(self.values)


@dataclass(frozen=True)
class Option:
    """What may be given for an option: kinds of values, their bounds, and the default."""

    kinds: tuple[Any, ...]
    default: Any = inspect.Parameter.empty
    bounds: Between = Between()
    choices: OneOf | None = None

    def __str__(self) -> str:
        limits = str(self.choices or "") or str(self.bounds if self.is_number else "")
        return f"{self.default} ({limits})" if limits else f"{self.default}"

    @property
    def is_number(self) -> bool:
        """Whether it may be a number."""
        return int in self.kinds or float in self.kinds

    @property
    def is_text(self) -> bool:
        """Whether it is text, or text if not given: ``1.10`` on a command line is no number."""
        return set(self.kinds) <= {str, NoneType} or self.default == ""

    def check(self, what: str, value: Any) -> None:
        """Refuse a value of another kind, out of bounds, or none of those to choose from."""
        if not any(_is_of(kind, value) for kind in self.kinds):
            words = [_words(kind) for kind in self.kinds if kind is not NoneType]
            kinds = " or ".join(words)
            empty = self.default in (None, "", ())
            hint = f"give {kinds}, or leave it out" if empty else f"the default is {self.default}"
            raise OptionError(f"{what} = {value!r} is not {kinds}", hint=hint)
        if self.choices is not None and isinstance(value, str) and value not in self.choices.values:
            raise OptionError(f"{what} = {value!r}", hint=f"use one of {self.choices}")
        bounds = self.bounds
        if self.is_number and _is_of(float, value) and value != bounds.most:
            check_number(what, value, bounds.least, bounds.most, above=bounds.above)


def declared(taker: Callable[..., Any]) -> dict[str, Option]:
    """Read the options of a function (its keyword-only parameters) or of a class (its fields).

    A whole number of a function that declares no bound counts something: there is at least one,
    or none where that is the default.

    Examples
    --------
    >>> def f(x, *, folds: Annotated[int, AtLeast(2)] = 5, scale: str | None = None): ...
    >>> {name: str(option) for name, option in declared(f).items()}
    {'folds': '5 (2 or more)', 'scale': 'None'}
    """
    try:
        hints = get_type_hints(taker, include_extras=True)
    except (NameError, TypeError):  # names that only a type checker imports, or no plain function
        hints = {}
    if dataclasses.is_dataclass(taker):
        defaults = {field.name: field.default for field in dataclasses.fields(taker) if field.init}
    else:
        parameters = inspect.signature(taker).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    counts = not isinstance(taker, type)
    return {name: _option(hints.get(name), value, counts) for name, value in defaults.items()}


def _option(hint: Any, default: Any, counts: bool) -> Option:
    if hint is None:
        hint = type(default) if type(default) in KINDS else Any
    wanted, *limits = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    bounds = next((limit for limit in limits if isinstance(limit, Between)), None)
    if bounds is None:
        bounds = AtLeast(0 if default == 0 else 1) if counts and kinds == (int,) else Between()
    choices = next((limit for limit in limits if isinstance(limit, OneOf)), None)
    return Option(kinds, default, bounds, choices)


def check(name: str, taker: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse options that are not declared, and values that they do not take.

    ``name`` is what messages call the taker; without one they name the option alone.
    """
    known = declared(taker)
    for option, value in given.items():
        if option not in known:
            raise OptionError(f"{name} has no option '{option}'", hint=near(option, known))
        known[option].check(f"{name}: {option}" if name else option, value)


def check_each(
    given: Mapping[str, Mapping[str, Any]], known: Mapping[str, Callable[..., Any]], what: str
) -> None:
    """Check options by the name of what takes them; ``what`` says what the known ones are."""
    for name, options in given.items():
        if name not in known:
            raise OptionError(f"there is no {what} '{name}'", hint=near(name, known))
        if not isinstance(options, Mapping):
            raise OptionError(
                f"the options of {name} are {options!r}", hint="give values by name of the option"
            )
        check(name, known[name], options)


def check_plain(options: Any) -> None:
    """Refuse options that cannot be written down and read again."""
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(f"an option is no plain value: {error}", hint=PLAIN) from error


def _is_of(kind: Any, value: Any) -> bool:
    """Whether a value is of a kind; whole numbers are numbers too, a text is no list of names."""
    if kind in (int, float):
        taken = Integral if kind is int else (Integral, float)
        return isinstance(value, taken) and not isinstance(value, bool)
    general = get_origin(kind) or kind
    if kind is Any or not isinstance(general, type):
        return True  # what only a type checker can tell is not checked
    if not issubclass(general, Sequence) or general is str:
        return isinstance(value, general)
    of_text = get_args(kind)[:1] == (str,)
    return isinstance(value, list | tuple) and (
        not of_text or all(isinstance(part, str) for part in value)
    )


def _words(kind: Any) -> str:
    general = get_origin(kind) or kind
    if general in KINDS:
        return KINDS[general]
    if issubclass(general, Sequence):
        return "a list of names" if get_args(kind)[:1] == (str,) else "a list"
    return f"a {general.__name__}"


def is_finite(value: Any) -> TypeGuard[Any]:
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
    if (least, most) == (SHARE.least, SHARE.most) and not 0 <= value <= 1:
        raise OptionError(f"{what} = {value}", hint="use a share between 0 and 1")
    if above is not None and value <= above:
        raise OptionError(f"{what} = {value}", hint=f"use a number above {above:g}")
    if least is not None and value < least:
        raise OptionError(f"{what} = {value}", hint=f"use {least:g} or more")
    if most is not None and value > most:
        raise OptionError(f"{what} = {value}", hint=f"use {most:,} or less")
