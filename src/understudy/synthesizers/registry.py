"""Methods by name: our own, and those that other packages declare.

A package declares a method in its ``pyproject.toml``, under the entry point group
``understudy.synthesizers``: ``name = "module:Class"``. It is loaded when it is used or listed.
"""

from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, cast

from understudy.errors import OptionError
from understudy.optional import Registry
from understudy.synthesizers.base import Method, MethodCard, abilities_of, ability_fault

PARTS = ("fit", "sample", "state", "restore")


class Methods(Registry[type[Method]]):
    """Methods by name."""

    group = "understudy.synthesizers"
    noun = "method"

    def __setitem__(self, name: str, part: type[Method]) -> None:
        if fault := ability_fault(part):
            raise OptionError(f"the method '{name}': {fault}", hint="mend its card, or the method")
        super().__setitem__(name, part)

    def fault(self, name: str, part: Any) -> str:
        """Say what is missing in a method; nothing if all is there."""
        if not (isinstance(part, type) and is_dataclass(part)):
            return f"{part!r} is no dataclass"
        card = getattr(part, "card", None)
        if not isinstance(card, MethodCard):
            return "it has no card (understudy.synthesizers.MethodCard)"
        if card.name != name:
            return f"its card calls it '{card.name}'"
        missing = [step for step in PARTS if not callable(getattr(part, step, None))]
        return f"it cannot {' or '.join(missing)}" if missing else ability_fault(part)

    def stand_in(self, name: str, fault: str, why: str, hint: str, source: str) -> type[Method]:
        """Give a method that cannot be made, and says why."""
        card = MethodCard(
            name=name,
            title=f"cannot be loaded: {fault}",
            keeps="nothing",
            loses="everything",
            claim="None.",
            file="nothing",
            source=source,
        )
        made = type("Broken", (Broken,), {"why": why, "hint": hint, "card": card})
        return cast("type[Method]", made)


@dataclass
class Broken:
    """Stands in for a method that another package declares and that cannot be loaded."""

    why: ClassVar[str] = ""
    hint: ClassVar[str] = ""
    card: ClassVar[MethodCard]

    def __post_init__(self) -> None:
        raise OptionError(self.why, hint=self.hint)


def insist(method: type[Method]) -> type[Method]:
    """Refuse a method that could not be loaded."""
    if issubclass(method, Broken):
        method()
    return method


def restorable(method: type[Method]) -> type[Method]:
    """Refuse a method that never comes from a model file."""
    name = insist(method).card.name
    if "program" in abilities_of(method):
        raise OptionError(
            f"the method '{name}' runs another program, and is never taken from a file",
            hint="fit it again to the training table",
        )
    if not method.card.holds:
        raise OptionError(
            f"the method '{name}' has no model files: its card does not say what they hold",
            hint="fit it again to the training table",
        )
    return method
