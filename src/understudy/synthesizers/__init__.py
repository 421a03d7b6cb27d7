"""A synthesizer fits a table and samples tables like it. ``SYNTHESIZERS`` names the methods."""

import dataclasses
from pathlib import Path
from typing import Any

from understudy.comparison import Progress, silent
from understudy.errors import OptionError
from understudy.schema import near
from understudy.synthesizers.base import Method, MethodCard, Synthesizer, restore
from understudy.synthesizers.cart import Cart
from understudy.synthesizers.command import Command
from understudy.synthesizers.controls import Bootstrap, Corrupt, Flip, Independent
from understudy.synthesizers.forest import Forest
from understudy.synthesizers.sequential import Sequential

__all__ = ["DEFAULT", "SYNTHESIZERS", "Method", "MethodCard", "Synthesizer", "load", "synthesizer"]

SYNTHESIZERS: dict[str, type[Method]] = {
    "independent": Independent,
    "bootstrap": Bootstrap,
    "flip": Flip,
    "corrupt": Corrupt,
    "cart": Cart,
    "sequential": Sequential,
    "forest": Forest,
    "command": Command,
}
DEFAULT = "forest"
KINDS: tuple[tuple[type, tuple[type, ...], str], ...] = (
    (float, (float, int), "a number"),
    (int, (int,), "a whole number"),
    (bool, (bool,), "true or false"),
)


def synthesizer(
    name: str = DEFAULT, *, seed: int = 0, progress: Progress = silent, **options: Any
) -> Synthesizer:
    """Make a synthesizer by the name of its method.

    Examples
    --------
    >>> synthesizer("flip", p=0.2, seed=1).method
    Flip(p=0.2)
    """
    if name not in SYNTHESIZERS:
        raise OptionError(f"there is no method '{name}'", hint=near(name, SYNTHESIZERS))
    known = options_of(SYNTHESIZERS[name])
    for option, value in options.items():
        if option not in known:
            raise OptionError(f"{name} has no option '{option}'", hint=near(option, known))
        default = known[option]
        for kind, taken, what in KINDS:
            if type(default) is kind and type(value) not in taken:
                raise OptionError(
                    f"{name}: {option} = {value!r} is not {what}", hint=f"the default is {default}"
                )
    return Synthesizer(SYNTHESIZERS[name](**options), seed=seed, progress=progress)


def options_of(method: type[Method]) -> dict[str, Any]:
    """Give the options of a method with their defaults."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: f.default for f in fields if f.init}


def load(path: str | Path) -> Synthesizer:
    """Read a model file written by ``save``; sampling needs no real data."""
    return restore(path, SYNTHESIZERS)
