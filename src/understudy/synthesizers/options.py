"""The options of a method: its fields, and which values they take."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.options import MOST, check_number

if TYPE_CHECKING:
    from understudy.synthesizers.base import Method

KINDS: tuple[tuple[type, tuple[type, ...], str], ...] = (
    (float, (float, int), "a number"),
    (int, (int,), "a whole number"),
    (bool, (bool,), "true or false"),
)


def options_of(method: "type[Method]") -> dict[str, Any]:
    """Give the options of a method with their defaults."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: f.default for f in fields if f.init}


def options_given(method: "Method") -> dict[str, Any]:
    """Give the options of a method as they are set."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: getattr(method, f.name) for f in fields if f.init}


def with_options(method: "type[Method]", options: Mapping[str, Any]) -> "Method":
    """Make a method; options that it does not have, or of another kind, are refused."""
    name, known = method.card.name, options_of(method)
    for option, value in options.items():
        if option not in known:
            raise OptionError(f"{name} has no option '{option}'", hint=near(option, known))
        default = known[option]
        for kind, taken, what in KINDS:
            if type(default) is kind and type(value) not in taken:
                raise OptionError(
                    f"{name}: {option} = {value!r} is not {what}", hint=f"the default is {default}"
                )
        if type(default) in (float, int):
            check_number(f"{name}: {option}", value, most=MOST if type(value) is int else None)
    return method(**options)
