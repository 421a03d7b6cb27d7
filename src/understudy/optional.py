"""What other packages bring: optional libraries, and parts that they declare as entry points."""

import functools
import importlib
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, TypeVar, cast

from understudy.errors import MissingExtraError, NameNotFoundError, near

T = TypeVar("T")


def need(module: str, *, extra: str) -> Any:
    """Import an optional module, or say which extra brings it.

    Examples
    --------
    >>> need("math", extra="none").sqrt(4)
    2.0
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"this needs the library '{error.name}', which is not installed",
            hint=f"pip install 'understudy[{extra}]'",
        ) from error


class Registry(MutableMapping[str, T]):
    """Parts by name: our own, and those that other packages declare in an entry point group.

    One that is given as ``module:name``, or that another package declares, is imported when it is
    looked up. What cannot be loaded is replaced by a stand-in that says so: it breaks no other.
    """

    group: ClassVar[str]
    noun: ClassVar[str]

    def __init__(self, own: Mapping[str, T | str]) -> None:
        self._parts: dict[str, T | str] = dict(own)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"

    def fault(self, name: str, part: Any) -> str:
        """Say what is wrong with a part of another package; nothing if it can be used."""
        raise NotImplementedError

    def stand_in(self, name: str, fault: str, why: str, hint: str, source: str) -> T:
        """Give what takes the place of a part that cannot be loaded."""
        raise NotImplementedError

    def origin(self, name: str) -> str:
        """Name the package and version that a part comes from; nothing if it is our own."""
        points = self._declared.get(name, ())
        return " and ".join(map(_package, points))

    def __getitem__(self, name: str) -> T:
        declared = self._declared  # looked up first, so that a name that is not theirs is told
        if name not in self._parts and name in declared:
            self._parts[name] = self._load(declared[name])
        if name not in self._parts:
            raise NameNotFoundError(f"there is no {self.noun} '{name}'", hint=near(name, self))
        part = self._parts[name]
        if isinstance(part, str):
            module, _, attribute = part.partition(":")
            part = cast("T", getattr(importlib.import_module(module), attribute))
            self._parts[name] = part
        return part

    def __setitem__(self, name: str, part: T) -> None:
        self._parts[name] = part

    def __delitem__(self, name: str) -> None:
        del self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._parts, *self._declared]))

    def __len__(self) -> int:
        return len(set(self._parts) | set(self._declared))

    def __contains__(self, name: object) -> bool:
        return name in self._parts or name in self._declared

    @functools.cached_property
    def _declared(self) -> dict[str, list[EntryPoint]]:
        """What other packages declare, by name; a name of ours stays ours."""
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            if point.name in self._parts:
                warnings.warn(
                    f"{_package(point)} declares the {self.noun} '{point.name}', which understudy "
                    "has itself: understudy's own is used",
                    stacklevel=2,
                )
            else:
                found.setdefault(point.name, []).append(point)
        return found

    def _load(self, points: list[EntryPoint]) -> T:
        """Load what a package declares; a fault of it is told when the part is used or listed."""
        point, source = points[0], _package(points[0])
        hint = f"mend or uninstall {source}"
        if len(points) > 1:
            others = " and ".join(map(_package, points))
            fault, hint = f"{others} declare it both", "uninstall one of them"
        else:
            try:
                part = point.load()
                fault = self.fault(point.name, part)
            except Exception as error:  # a foreign module may raise anything
                fault = f"{type(error).__name__}: {error}"
            if not fault:
                return cast("T", part)
        why = f"the {self.noun} '{point.name}' of {source} cannot be loaded: {fault}"
        return self.stand_in(point.name, fault, why, hint, source)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
