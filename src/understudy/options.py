"""Options: declared in the signature of what takes them, and checked in one place.

A measure, an attack, a method or a workflow says what it takes where it takes it::

    def closest_record(comparison, *, permutations: Annotated[int, AtLeast(2)] = 1024): ...

``declared`` reads this for checks, the command line and the documentation. A text beside a kind,
``Annotated[str | Path, "give the path of a receipt"]``, is the hint for whoever gives another.
"""

import dataclasses
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Rational, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin, get_type_hints

from understudy.errors import OptionError, near

MOST_ROWS = 10**12  # that can be counted and written, batch by batch
MOST_REPLICATES = 1_000
MOST_TREES = 10_000
MOST_WORKERS = 1_024
MOST = 10**9  # of whatever else is a number

Texts = Annotated[Iterable[str] | str, "give one text or several"]
OptionsByName = Annotated[
    Mapping[str, Mapping[str, Any]] | None,
    'give values by name of what takes them: {"fidelity.hellinger": {"bins": 20}}',
]

KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    dict: "names with values",
    Mapping: "names with values",
    Path: "a path",
    Callable: "a function",
}
LONGEST = 200  # letters of a value that a message quotes
PLAIN = "use numbers, texts and lists of them"


@dataclass(frozen=True)
class Between:
    """Where a number may lie; ``most`` is 10^9 if not given, and may be infinite.

    ``besides`` is one more number that is allowed; ``why`` is the hint, if the bounds say too
    little.
    """

    least: float | None = None
    most: float = MOST
    above: float | None = None
    below: float | None = None
    besides: float | None = None
    why: str = ""

    def __str__(self) -> str:
        parts = [] if self.besides is None else [f"{self.besides:g}"]
        parts += [] if self.least in (None, 1) else [f"{self.least:g} or more"]
        parts += [] if self.above is None else [f"above {self.above:g}"]
        parts += [] if self.below is None else [f"below {self.below:g}"]
        parts += [] if self.most in (MOST, math.inf) else [f"{self.most:,} at most"]
        return ", ".join(parts)

    def check(self, what: str, value: Any) -> None:
        """Refuse a number that is out of bounds, or not finite where ``most`` is.

        Examples
        --------
        >>> SECONDS.check("budget", math.inf)
        >>> SECONDS.check("budget", 0)
        Traceback (most recent call last):
        understudy.errors.OptionError: budget = 0
        hint: use a number of seconds above 0
        """
        if value == self.besides or value == self.most:
            return
        if not is_finite(value):
            raise OptionError(
                f"{what} = {value!r} is no finite number",
                hint=self.why or "give a finite number",
            )
        hint = ""
        if self.above is not None and value <= self.above:
            hint = f"use a number above {self.above:g}"
        elif self.least is not None and value < self.least:
            hint = f"use {self.least:g} or more"
        elif self.below is not None and value >= self.below:
            hint = f"use a number below {self.below:g}"
        elif value > self.most:
            hint = f"use {self.most:,} or less"
        if hint:
            is_share = (self.least, self.most) == (0, 1)
            share = "use a share between 0 and 1" if is_share else ""
            raise OptionError(f"{what} = {value}", hint=self.why or share or hint)


SHARE = Between(0, 1)
WORKERS = Between(1, MOST_WORKERS)
ROWS = Between(1, MOST_ROWS)
ROWS_OR_NONE = Between(0, MOST_ROWS)
REPLICATES = Between(1, MOST_REPLICATES)
SEED = Between(0, math.inf)
Workers = Annotated[int | None, WORKERS]
Rows = Annotated[int | None, ROWS]
Seed = Annotated[int, SEED]
SECONDS = Between(above=0, most=math.inf, why="use a number of seconds above 0")
Seconds = Annotated[float, SECONDS]
NUMBERS_OR_BINS = Between(2, besides=0, why="0 leaves numbers as they are; else 2 up")


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
    hint: str = ""

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
            kinds = _words(self.kinds)
            is_plain = self.default is not None and type(self.default) in (int, float, bool, str)
            known = f"the default is {self.default}" if is_plain and self.default != "" else ""
            required = self.default is inspect.Parameter.empty
            hint = self.hint or known or f"give {kinds}{'' if required else ', or leave it out'}"
            raise OptionError(f"{what}{_quoted(value)} is not {kinds}", hint=hint)
        if self.choices is not None and isinstance(value, str) and value not in self.choices.values:
            raise OptionError(f"{what} = {value!r}", hint=f"use one of {self.choices}")
        if self.is_number and _is_of(float, value):
            self.bounds.check(what, value)


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
    if dataclasses.is_dataclass(taker):
        defaults = {field.name: field.default for field in dataclasses.fields(taker) if field.init}
    else:
        parameters = inspect.signature(taker).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    try:
        hints = get_type_hints(taker, include_extras=True)
    except (NameError, TypeError):  # names that only a type checker imports, or no plain function
        hints = {}
    counts = not isinstance(taker, type)
    return {name: _option(hints.get(name), value, counts) for name, value in defaults.items()}


def check_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse arguments that are of another kind than a signature says, or out of its bounds.

    A function calls it first of all, with its ``locals()``. What is of any kind is not looked at.

    Examples
    --------
    >>> def draw(rows: int, *, share: Annotated[float, SHARE] = 0.5):
    ...     check_arguments(draw, locals())
    >>> draw("many")
    Traceback (most recent call last):
    understudy.errors.OptionError: rows = 'many' is not a whole number
    hint: give a whole number
    """
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        _option(hints.get(name), parameter.default, counts=True).check(name, given[name])


def _option(hint: Any, default: Any, counts: bool) -> Option:
    if hint is None:
        hint = type(default) if type(default) in KINDS else Any
    kinds, limits = _parts(hint)
    bounds = next((limit for limit in limits if isinstance(limit, Between)), None)
    if bounds is None:
        bounds = AtLeast(0 if default == 0 else 1) if counts and kinds == (int,) else Between()
    choices = next((limit for limit in limits if isinstance(limit, OneOf)), None)
    text = next((limit for limit in limits if isinstance(limit, str)), "")
    return Option(kinds, default, bounds, choices, text)


def _parts(hint: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Take an annotation apart: the kinds of values, and what is declared beside them."""
    if get_origin(hint) is Annotated:
        wanted, *limits = get_args(hint)
        kinds, more = _parts(wanted)
        return kinds, (*limits, *more)
    if get_origin(hint) not in (Union, UnionType):
        return (hint,), ()
    parts = [_parts(part) for part in get_args(hint)]
    return sum((kinds for kinds, _ in parts), ()), sum((limits for _, limits in parts), ())


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
    for name, options in by_name(given).items():
        if name not in known:
            raise OptionError(f"there is no {what} '{name}'", hint=near(name, known))
        check(name, known[name], options)


def by_name(options: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]]:
    """Give options by the name of what takes them; refuse what is no such thing."""
    made = {}
    for name, given in ({} if options is None else options).items():
        if not isinstance(given, Mapping):
            raise OptionError(
                f"the options of {name} are {given!r}", hint="give values by name of the option"
            )
        made[name] = dict(given)
    return made


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
    if kind is Any or not isinstance(general, type) or getattr(general, "_is_protocol", False):
        return True  # what only a type checker can tell is not checked
    if not issubclass(general, Sequence) or general is str:
        return isinstance(value, general)
    of_text = get_args(kind)[:1] == (str,)
    return isinstance(value, list | tuple) and (
        not of_text or all(isinstance(part, str) for part in value)
    )


def _words(kinds: Iterable[Any]) -> str:
    """Say what may be given; a path may be written as text, and one name is a list of one."""
    general = [get_origin(kind) or kind for kind in kinds if kind is not NoneType]
    named = []
    for kind, known in zip((k for k in kinds if k is not NoneType), general, strict=True):
        if known is str and Path in general:
            continue
        if known in KINDS:
            named.append(KINDS[known])
        elif known is Iterable or issubclass(known, Sequence):
            named.append("a list of names" if get_args(kind)[:1] == (str,) else "a list")
        else:
            named.append(f"a {known.__name__}")
    return " or ".join(dict.fromkeys(named))


def _quoted(value: Any) -> str:
    """Quote a plain value; of anything else only the kind: a table would show persons."""
    if not _is_plain(value):
        return f": an object of type {type(value).__name__}"
    text = repr(value)
    return f" = {text}" if len(text) <= LONGEST else f" = {text[:LONGEST]}…"


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple | set):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | Real)


def is_finite(value: Any) -> TypeGuard[Any]:
    """Whether a value is a number, and neither nan nor infinite.

    Examples
    --------
    >>> is_finite(10**400), is_finite(float("nan")), is_finite(True), is_finite("1")
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return isinstance(value, Rational) or math.isfinite(value)


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
    Between(least, math.inf if most is None else most, above).check(what, value)
