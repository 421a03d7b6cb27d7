"""A synthesizer fits a table and samples tables like it. ``SYNTHESIZERS`` names the methods."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.comparison import Progress, silent
from understudy.errors import OptionError
from understudy.schema import near
from understudy.synthesizers.base import Method, MethodCard, Synthesizer, restore
from understudy.synthesizers.bayes import Bayes
from understudy.synthesizers.cart import Cart
from understudy.synthesizers.claims import claimed
from understudy.synthesizers.command import Command
from understudy.synthesizers.controls import Bootstrap, Corrupt, Flip, Independent
from understudy.synthesizers.copula import Copula
from understudy.synthesizers.forest import Forest
from understudy.synthesizers.registry import Methods, insist
from understudy.synthesizers.sequential import Sequential

__all__ = ["DEFAULT", "SYNTHESIZERS", "Method", "MethodCard", "Synthesizer", "load", "synthesizer"]

SYNTHESIZERS = Methods(
    {
        "independent": Independent,
        "bootstrap": Bootstrap,
        "flip": Flip,
        "corrupt": Corrupt,
        "cart": Cart,
        "sequential": Sequential,
        "forest": Forest,
        "copula": Copula,
        "bayes": Bayes,
        "command": Command,
        "sdv": "understudy.synthesizers.adapters.sdv:Sdv",
        "datasynthesizer": "understudy.synthesizers.adapters.datasynthesizer:DataSynthesizer",
        "mostlyai": "understudy.synthesizers.adapters.mostlyai:MostlyAI",
    }
)
DEFAULT = "forest"
KINDS: tuple[tuple[type, tuple[type, ...], str], ...] = (
    (float, (float, int), "a number"),
    (int, (int,), "a whole number"),
    (bool, (bool,), "true or false"),
)


def synthesizer(
    name: str = DEFAULT,
    *,
    seed: int | None = None,
    progress: Progress = silent,
    constraints: Sequence[str] = (),
    **options: Any,
) -> Synthesizer:
    """Make a synthesizer by the name of its method.

    No seed is 0; for a method with an epsilon, it is noise that nobody can draw again. Constraints,
    such as ``"start <= end"``, are added to those of the schema; every synthetic row meets them.

    Examples
    --------
    >>> synthesizer("flip", p=0.2, seed=1).method
    Flip(p=0.2)
    """
    if name not in SYNTHESIZERS:
        raise OptionError(f"there is no method '{name}'", hint=near(name, SYNTHESIZERS))
    known = options_of(insist(SYNTHESIZERS[name]))
    for option, value in options.items():
        if option not in known:
            raise OptionError(f"{name} has no option '{option}'", hint=near(option, known))
        default = known[option]
        for kind, taken, what in KINDS:
            if type(default) is kind and type(value) not in taken:
                raise OptionError(
                    f"{name}: {option} = {value!r} is not {what}", hint=f"the default is {default}"
                )
    method = SYNTHESIZERS[name](**options)
    claimed(method)
    return Synthesizer(method, seed=seed, progress=progress, constraints=constraints)


def options_of(method: type[Method]) -> dict[str, Any]:
    """Give the options of a method with their defaults."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: f.default for f in fields if f.init}


def native() -> list[str]:
    """Name the methods that run here, without a program that has to be installed or named."""
    return [name for name, method in SYNTHESIZERS.items() if not getattr(method, "foreign", False)]


def load(path: str | Path) -> Synthesizer:
    """Read a model file written by ``save``; sampling needs no real data."""
    return restore(path, SYNTHESIZERS)
