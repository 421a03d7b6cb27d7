"""A synthesizer fits a table and samples tables like it. ``SYNTHESIZERS`` names the methods."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.errors import OptionError, near
from understudy.jobs.progress import Progress, silent
from understudy.synthesizers.base import (
    ABILITIES,
    Method,
    MethodCard,
    abilities_of,
    options_of,
    with_options,
)
from understudy.synthesizers.bayes import Bayes
from understudy.synthesizers.claims import claimed
from understudy.synthesizers.command import Command
from understudy.synthesizers.controls import Bootstrap, Corrupt, Flip, Independent
from understudy.synthesizers.copula import Copula
from understudy.synthesizers.forest import Forest
from understudy.synthesizers.registry import Methods, insist
from understudy.synthesizers.sequential import Cart, Sequential
from understudy.synthesizers.synthesizer import Synthesizer, load_model

__all__ = [
    "ABILITIES",
    "DEFAULT",
    "SYNTHESIZERS",
    "Method",
    "MethodCard",
    "Synthesizer",
    "abilities_of",
    "load",
    "native",
    "options_of",
    "synthesizer",
]

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
        "sdv": "understudy.synthesizers.adapters.tools:Sdv",
        "datasynthesizer": "understudy.synthesizers.adapters.tools:DataSynthesizer",
        "mostlyai": "understudy.synthesizers.adapters.tools:MostlyAI",
    }
)
DEFAULT = "forest"


def synthesizer(
    name: str = DEFAULT,
    *,
    seed: int | None = None,
    progress: Progress | bool = silent,
    constraints: Sequence[str] = (),
    **options: Any,
) -> Synthesizer:
    """Make a synthesizer by the name of its method.

    No seed is 0; for a method with an epsilon, it is noise that nobody can draw again. Constraints,
    such as ``"start <= end"``, are added to those of the schema; every synthetic row meets them.
    ``progress=True`` shows a bar while it fits and samples.

    Examples
    --------
    >>> synthesizer("flip", p=0.2, seed=1).method
    Flip(p=0.2)
    """
    if name not in SYNTHESIZERS:
        raise OptionError(f"there is no method '{name}'", hint=near(name, SYNTHESIZERS))
    method = with_options(insist(SYNTHESIZERS[name]), options)
    claimed(method)
    return Synthesizer(method, seed=seed, progress=progress, constraints=constraints)


def native() -> list[str]:
    """Name the methods that run here, without a program that has to be installed or named."""
    return [name for name, method in SYNTHESIZERS.items() if "program" not in abilities_of(method)]


def load(path: str | Path) -> Synthesizer:
    """Read a model file written by ``save``; sampling needs no real data."""
    return load_model(Path(path), SYNTHESIZERS)
