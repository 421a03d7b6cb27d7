"""Methods by name: our own, and those that other packages declare.

A package declares a method in its ``pyproject.toml``, under the entry point group
``understudy.synthesizers``: ``name = "module:Class"``. It is loaded when it is used or listed.
"""

import functools
import importlib
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, cast

from understudy.errors import OptionError
from understudy.synthesizers.base import Method, MethodCard, abilities_of, ability_fault

GROUP = "understudy.synthesizers"
PARTS = ("fit", "sample", "state", "restore")


class Methods(MutableMapping[str, type[Method]]):
    """Methods by name; one that is given as ``module:Class`` is imported when it is looked up."""

    def __init__(self, own: Mapping[str, type[Method] | str]) -> None:
        self._methods: dict[str, type[Method] | str] = dict(own)

    def __getitem__(self, name: str) -> type[Method]:
        declared = self._declared  # looked up first, so that a name that is not theirs is told
        if name not in self._methods and name in declared:
            self._methods[name] = _load(declared[name])
        method = self._methods[name]
        if isinstance(method, str):
            module, _, part = method.partition(":")
            method = cast("type[Method]", getattr(importlib.import_module(module), part))
            self._methods[name] = method
        return method

    def __setitem__(self, name: str, method: type[Method]) -> None:
        if fault := ability_fault(method):
            raise OptionError(f"the method '{name}': {fault}", hint="mend its card, or the method")
        self._methods[name] = method

    def __delitem__(self, name: str) -> None:
        del self._methods[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._methods, *self._declared]))

    def __len__(self) -> int:
        return len(set(self._methods) | set(self._declared))

    def __contains__(self, name: object) -> bool:
        return name in self._methods or name in self._declared

    @functools.cached_property
    def _declared(self) -> dict[str, list[EntryPoint]]:
        """What other packages declare, by name; a name of ours stays ours."""
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=GROUP):
            if point.name in self._methods:
                warnings.warn(
                    f"{_whose(point)} declares the method '{point.name}', which understudy has "
                    "itself: understudy's own is used",
                    stacklevel=2,
                )
            else:
                found.setdefault(point.name, []).append(point)
        return found


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


def _load(points: list[EntryPoint]) -> type[Method]:
    """Load what a package declares; a fault of it is told when the method is used or listed."""
    point = points[0]
    if len(points) > 1:
        others = " and ".join(_whose(one) for one in points)
        return _broken(point, f"{others} declare it both", "uninstall one of them")
    hint = f"mend or uninstall {_whose(point)}"
    try:
        method = point.load()
    except Exception as error:  # a foreign module may raise anything
        return _broken(point, f"{type(error).__name__}: {error}", hint)
    fault = _fault(point.name, method)
    return _broken(point, fault, hint) if fault else cast("type[Method]", method)


def _fault(name: str, method: Any) -> str:
    """Say what is missing in a method; nothing if all is there."""
    if not (isinstance(method, type) and is_dataclass(method)):
        return f"{method!r} is no dataclass"
    card = getattr(method, "card", None)
    if not isinstance(card, MethodCard):
        return "it has no card (understudy.synthesizers.MethodCard)"
    if card.name != name:
        return f"its card calls it '{card.name}'"
    missing = [part for part in PARTS if not callable(getattr(method, part, None))]
    return f"it cannot {' or '.join(missing)}" if missing else ability_fault(method)


def _broken(point: EntryPoint, fault: str, hint: str) -> type[Method]:
    why = f"the method '{point.name}' of {_whose(point)} cannot be loaded: {fault}"
    card = MethodCard(
        name=point.name,
        title=f"cannot be loaded: {fault}",
        keeps="nothing",
        loses="everything",
        claim="None.",
        file="nothing",
        source=_whose(point),
    )
    made = type("Broken", (Broken,), {"why": why, "hint": hint, "card": card})
    return cast("type[Method]", made)


def _whose(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
