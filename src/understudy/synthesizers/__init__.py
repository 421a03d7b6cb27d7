"""A synthesizer fits a table and samples tables like it. ``SYNTHESIZERS`` names the methods."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from understudy.errors import OptionError, near
from understudy.jobs.progress import ProgressOrBar, silent
from understudy.options import Seed, check, check_arguments
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
    name: str | type[Method] = DEFAULT,
    *,
    seed: Seed | None = None,
    progress: ProgressOrBar = silent,
    constraints: Sequence[str] = (),
    relations: bool = True,
    **options: Any,
) -> Synthesizer:
    """Make a synthesizer by the name of its method, or by its class if that is registered.

    No seed is 0; for a method with an epsilon, it is noise that nobody can draw again. Constraints,
    such as ``"start <= end"``, are added to those of the schema; every synthetic row meets them.
    So are relations between columns, such as ``bmi = weight / (height / 100) ** 2``, those of the
    schema or those found in the rows, unless ``relations=False``. ``progress=True`` shows a bar
    while it fits and samples.

    Examples
    --------
    >>> synthesizer("flip", p=0.2, seed=1).method
    Flip(p=0.2)
    """
    check("", synthesizer, {"seed": seed, "relations": relations})
    if not isinstance(name, str):
        name = _registered(name)
    if name not in SYNTHESIZERS:
        raise OptionError(f"there is no method '{name}'", hint=near(name, SYNTHESIZERS))
    method = with_options(insist(SYNTHESIZERS[name]), options)
    claimed(method)
    return Synthesizer(
        method, seed=seed, progress=progress, constraints=constraints, relations=relations
    )


def _registered(given: Any) -> str:
    """Name the method of a class; files, journals and other processes know methods by name."""
    card = getattr(given, "card", None)
    if not isinstance(given, type) or not isinstance(card, MethodCard):
        kind = type(given).__name__
        what = f"the class {given.__name__}" if kind == "type" else f"an object of type {kind}"
        raise OptionError(
            f"method: {what} is no name of a method, and no class of one",
            hint='give a name, and its options beside it: synthesizer("flip", p=0.2)',
        )
    if SYNTHESIZERS.get(card.name) is not given:
        raise OptionError(
            f"method: the class {given.__name__} is not registered as '{card.name}'",
            hint=f'understudy.SYNTHESIZERS["{card.name}"] = {given.__name__}, or an entry point '
            f"of the group {SYNTHESIZERS.group}",
        )
    return card.name


def native() -> list[str]:
    """Name the methods that run here, without a program that has to be installed or named."""
    return [name for name, method in SYNTHESIZERS.items() if "program" not in abilities_of(method)]


def load(path: Annotated[str | Path, "give the path of a model file"]) -> Synthesizer:
    """Read a model file written by ``save``; sampling needs no real data."""
    check_arguments(load, locals())
    return load_model(Path(path), SYNTHESIZERS)
