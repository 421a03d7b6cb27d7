"""Of all that is true, what is said: each column computed once, nothing twice, never a circle.

Of columns that are one another transformed, one is kept as the source. Of a column that several
others determine, the coarsest determines it. Of a product, the column is computed that has more
digits than the others, is in the fewest products, and leaves the least correlated pair.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from understudy.data.relations.discovery.fields import Field
from understudy.data.relations.discovery.formulas import Proposal


class Derived:
    """Which columns are computed from which; a circle is refused."""

    def __init__(self) -> None:
        self.sources: dict[str, tuple[str, ...]] = {}
        self.switched: dict[str, tuple[str, tuple[str, ...], set[str]]] = {}
        self.said: list[Proposal] = []
        self.nearly: list[Proposal] = []

    def __contains__(self, name: object) -> bool:
        return name in self.sources

    def depends(self, name: str, on: str) -> bool:
        """Whether a column is computed from another one, however far back."""
        todo, seen = [name], set()
        while todo:
            one = todo.pop()
            if one == on:
                return True
            if one not in seen:
                seen.add(one)
                todo += self.sources.get(one, ())
                todo += self.switched.get(one, ("", (), set()))[1]
        return False

    def take(self, proposal: Proposal) -> bool:
        """Say a proposal, if its column is not computed yet and no circle is closed.

        One that some rows break waits until all that hold are known.
        """
        if proposal.target in self.sources:
            return False
        if proposal.broken:
            if any(one.target == proposal.target for one in self.nearly):
                return False
            self.nearly.append(proposal)
            return True
        if any(self.depends(source, proposal.target) for source in proposal.sources):
            return False
        self.sources[proposal.target] = proposal.sources
        self.said.append(proposal)
        return True

    def take_near(self) -> None:
        """Say what nearly holds, of columns that nothing else computes."""
        exact, said = set(self.sources) | set(self.switched), list[str]()
        for one in self.nearly:
            circle = any(self.depends(source, one.target) for source in one.sources)
            if one.target not in exact and one.target not in self.sources and not circle:
                self.sources[one.target] = one.sources
                self.said.append(one)
                said.append(one.target)
        for name in said:  # they are not held, so the columns are free
            del self.sources[name]

    def take_switch(self, proposal: Proposal, key: str, levels: frozenset[str]) -> bool:
        """Say that a column equals another where a category has some levels that are still free."""
        target = proposal.target
        before = self.switched.get(target, (key, (), set()))
        if target in self.sources or before[0] != key or levels & before[2]:
            return False
        if any(self.depends(source, target) for source in proposal.sources):
            return False
        self.switched[target] = (key, (*before[1], *proposal.sources), before[2] | levels)
        self.said.append(proposal)
        return True


def choose_transforms(
    found: Sequence[Proposal], fields: Mapping[str, Field], derived: Derived
) -> None:
    """Keep one column of each class as the source, and compute the others from it."""
    places = {name: place for place, name in enumerate(fields)}

    powers = Counter(one.sources[0] for one in found if "exp(" in one.text)

    def simple(name: str) -> tuple[int, int, int, int]:
        field = fields[name]
        decimals = 99 if field.decimals is None else field.decimals
        return (int(field.is_missing.sum()), powers[name], decimals, places[name])

    for broken in (False, True):
        edges = [one for one in found if bool(one.broken) == broken]
        by_source: dict[str, list[Proposal]] = {}
        for one in edges:
            by_source.setdefault(one.sources[0], []).append(one)

        def reached(name: str, by_source: dict[str, list[Proposal]] = by_source) -> int:
            seen, todo = {name}, [name]
            while todo:
                for one in by_source.get(todo.pop(), ()):
                    if one.target not in seen:
                        seen.add(one.target)
                        todo.append(one.target)
            return len(seen)

        for source in sorted(by_source, key=lambda n: (-reached(n), simple(n))):
            if source in derived:
                continue
            todo = [source]
            while todo:
                here = todo.pop(0)
                for one in sorted(by_source.get(here, ()), key=lambda p: (len(p.text), -p.nats)):
                    if derived.take(one):
                        todo.append(one.target)


def choose_lookups(
    found: Sequence[Proposal], fields: Mapping[str, Field], derived: Derived
) -> None:
    """Let the coarsest column determine; of columns that say the same, the first is kept."""
    places = {name: place for place, name in enumerate(fields)}
    by_target: dict[str, list[Proposal]] = {}
    for one in found:
        by_target.setdefault(one.target, []).append(one)
    exact = {(one.sources[0], one.target) for one in found if not one.broken}

    def worth(name: str) -> tuple[bool, int, int]:
        field = fields[name]
        return (field.column.kind != "category", int(field.is_missing.sum()), places[name])

    def is_kept(source: str, target: str) -> bool:
        """Whether a source that its target also determines is the one to keep."""
        return (target, source) not in exact or worth(source) < worth(target)

    order = sorted(by_target, key=lambda name: (fields[name].levels, worth(name)))
    for broken in (False, True):
        for target in order:
            ways = [
                one
                for one in by_target[target]
                if bool(one.broken) == broken and is_kept(one.sources[0], target)
            ]
            ways.sort(key=lambda p: (p.sources[0] in derived, fields[p.sources[0]].levels, -p.nats))
            for one in ways:
                if derived.take(one):
                    break


def choose_products(
    found: Sequence[Proposal], fields: Mapping[str, Field], derived: Derived
) -> None:
    """Say each set of three columns once, with the column computed that is least of a source."""
    sets: dict[frozenset[str], list[Proposal]] = {}
    for one in found:
        sets.setdefault(frozenset((one.target, *one.sources)), []).append(one)
    hubs = Counter(name for names in sets for name in names)

    def key(one: Proposal) -> tuple[bool, int, int, float]:
        decimals = fields[one.target].decimals
        return (
            bool(one.broken),
            -(99 if decimals is None else decimals),
            hubs[one.target],
            correlation(*(fields[name] for name in one.sources)),
        )

    for ways in sorted(sets.values(), key=lambda ways: min(map(key, ways))):
        for one in sorted(ways, key=key):
            if derived.take(one):
                break


def correlation(*fields: Field) -> float:
    """Give the absolute correlation of two columns of numbers; of one, 0."""
    made = 0.0
    for one, other in pairwise(fields):
        assert one.numbers is not None
        assert other.numbers is not None
        both = ~np.isnan(one.numbers) & ~np.isnan(other.numbers)
        x, y = one.numbers[both], other.numbers[both]
        if len(x) > 1 and x.std() and y.std():
            made = max(made, abs(float(np.corrcoef(x, y)[0, 1])))
    return made
