"""What differs between two runs of one assessment."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

COMPARED = (
    "status", "value", "interval", "reference", "baselines", "p_value", "flagged", "note", "parts",
    "tables",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A value that is not as it was: where, before and now, and how far numbers are apart.

    ``count`` is of all values that differ there; those shown are the farthest apart.

    Examples
    --------
    >>> print(Change("fidelity.hellinger", "value", 0.5, 0.4, relative=0.2))
    fidelity.hellinger: value: 0.5, now 0.4 (relative difference 0.2)
    """

    where: str
    what: str
    before: Any
    now: Any
    relative: float = inf
    count: int = 1

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}: {self.before}, now {self.now}"
        if self.relative < inf:
            text += f" (relative difference {self.relative:.2g})"
        return text + (f"; {self.count:,} values differ there" if self.count > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        told = {name: value for name, value in vars(self).items() if name != "relative"}
        return {**told, "relative_difference": None if self.relative == inf else self.relative}


def of_findings(
    before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]], tolerance: float
) -> tuple[list[Change], float]:
    """List what differs by more than the tolerance, and the largest relative difference of all."""
    by_name = {finding["measure"]: finding for finding in now}
    found, largest = [], 0.0
    for finding in before:
        # why a measure failed may name a file, which may lie elsewhere now
        names = [n for n in COMPARED if n != "note" or finding.get("status") != "failed"]
        changes, apart = of_values(
            finding["measure"], finding, by_name[finding["measure"]], names, tolerance
        )
        found += changes
        largest = max(largest, apart)
    return found, largest


def of_values(
    where: str,
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    names: Sequence[str],
    tolerance: float,
) -> tuple[list[Change], float]:
    """Compare what two mappings hold under these names; values may be nested."""
    found, largest = [], 0.0
    for name in names:
        pairs = _apart(before.get(name), now.get(name))
        largest = max([largest, *(apart for apart, *_ in pairs)])
        beyond = [pair for pair in pairs if pair[0] > tolerance]
        if beyond:
            apart, place, was, is_now = max(beyond, key=lambda pair: pair[0])
            what = " ".join((name, *place))
            found.append(Change(where, what, was, is_now, apart, count=len(beyond)))
    return found, largest


def of_verdicts(
    before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> list[Change]:
    """List the rules that are others, or decided otherwise; rules go by their place.

    Examples
    --------
    >>> rule = {"rule": "m: at most 1", "outcome": "PASS"}
    >>> print(of_verdicts([rule, rule], [rule, {**rule, "outcome": "FAIL"}])[0])
    verdict: rule 2, m: at most 1: PASS, now FAIL
    """
    none: Mapping[str, Any] = {}
    found = []
    for number, (was, is_now) in enumerate(itertools.zip_longest(before, now, fillvalue=none), 1):
        what, other = was.get("rule"), is_now.get("rule")
        first, second = was.get("outcome"), is_now.get("outcome")
        if what and other and what != other:
            first, second = f"{first} ({what})", f"{second} ({other})"
        if first != second:
            found.append(Change("verdict", f"rule {number}, {what or other}", first, second))
    return found


def _apart(before: Any, now: Any) -> list[tuple[float, tuple[str, ...], Any, Any]]:
    """List the values that differ: how far apart, where, and both."""
    was, is_now = dict(_leaves(before)), dict(_leaves(now))
    return [
        (relative(was.get(place), is_now.get(place)), place, was.get(place), is_now.get(place))
        for place in dict.fromkeys([*was, *is_now])
        if was.get(place) != is_now.get(place)
    ]


def _leaves(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """List the plain values within lists and dicts; parts by their names, rows by number."""
    if isinstance(value, Mapping):
        for name, inside in value.items():
            yield from _leaves(inside, (*place, str(name)))
    elif isinstance(value, list):
        names = [inside.get("name") if isinstance(inside, Mapping) else None for inside in value]
        named = None not in names and len(set(names)) == len(names)
        for number, inside in enumerate(value):
            yield from _leaves(inside, (*place, str(names[number] if named else number + 1)))
    else:
        yield place, value


def relative(before: Any, now: Any) -> float:
    """Say how far two finite numbers are apart; whatever else differs is infinitely apart.

    Examples
    --------
    >>> relative(1.0, 0.5), relative(None, 0.5), relative(float("nan"), 0.5)
    (0.5, inf, inf)
    """
    numbers = [v for v in (before, now) if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < 2 or not all(map(isfinite, numbers)):
        return inf
    return float(abs(before - now) / max(abs(before), abs(now)))
