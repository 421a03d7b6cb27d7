"""Columns that follow from another one: in all rows, or in those that have one of its codes.

A number may code a level; a question is skipped by all who answered another with no; two values
are missing together.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.model_file import State, whole

Codes = NDArray[np.uint16]
Flags = NDArray[np.bool_]

GLANCE = 2_000
LEAST_SEEN = 0.99
CHANCE = 30.0
CAUTION = 10.0
MOST_ASTRAY = 0.01
MOST_FIXED = 0.5
LOOKED_AT = 100_000
LARGEST_TABLE = 4_000_000


@dataclass(frozen=True)
class Determined:
    """A column whose code is known once that of another is; ``lookup`` has it for each code.

    Where ``lookup`` has the size of the column, which is none of its codes, it is open.
    """

    column: int
    by: int
    lookup: Codes

    @classmethod
    def restore(cls, plain: Sequence[Any], state: State, name: str, sizes: Sequence[int]) -> Self:
        """Take what was saved; refuse codes that there are not."""
        column, by = (whole(place, 0, len(sizes) - 1) for place in plain)
        return cls(column, by, state.array(name, np.uint16, (sizes[by],), 0, sizes[column]))


def find_determined(
    codes: Codes, sizes: Sequence[int], kept: Collection[int] = ()
) -> list[Determined]:
    """Find columns that follow from others in every row, beyond what chance explains.

    Columns that are kept follow from none. What is found later may determine what was found
    earlier.
    """
    some = codes[:: len(codes) // GLANCE + 1]
    found: dict[int, Determined] = {}
    varied = [j for j, size in enumerate(sizes) if size > 1]
    for column in reversed(varied):
        if column in kept:
            continue
        others = [by for by in varied if by != column and by not in found]
        for by in sorted(others, key=lambda j: (sizes[j], j)):
            if sizes[by] < sizes[column] or _lookup(some, column, by, sizes) is None:
                continue
            lookup = _lookup(codes, column, by, sizes)
            if lookup is not None and _is_sure(codes, column, by, sizes):
                found[column] = Determined(column, by, lookup)
                break
    return list(found.values())


def _lookup(codes: Codes, column: int, by: int, sizes: Sequence[int]) -> Codes | None:
    """Give the code that each code of a column goes with; none if one goes with several."""
    shown = (codes[:, by] < sizes[by]) & (codes[:, column] < sizes[column])
    key = codes[shown, by].astype(np.int64) * sizes[column] + codes[shown, column]
    pairs = np.unique(key)
    first = pairs // sizes[column]
    if len(np.unique(first)) < len(first):
        return None
    made = np.zeros(sizes[by], np.uint16)
    made[first] = pairs % sizes[column]
    return made


def _is_sure(codes: Codes, column: int, by: int, sizes: Sequence[int]) -> bool:
    """Whether all codes are seen together, often enough that it is no chance."""
    shown = (codes[:, by] < sizes[by]) & (codes[:, column] < sizes[column])
    either = (codes[:, by] < sizes[by]) | (codes[:, column] < sizes[column])
    seen = np.unique(codes[shown, by])
    if len(seen) < sizes[by] or shown.sum() < LEAST_SEEN * either.sum():
        return False
    largest = np.bincount(codes[shown, column]).max() / shown.sum()
    return bool((shown.sum() - len(seen)) * -np.log(min(largest, 1 - 1e-12)) > CHANCE)


def find_fixed(
    codes: Codes,
    telling: Sequence[Flags],
    empty: Sequence[Flags],
    places: Sequence[int],
    kept: Collection[int],
    k: int,
) -> tuple[list[Determined], Codes]:
    """Find codes that fix the code of another column; gives also the codes that are left open.

    Only ``telling`` codes fix others; places on a scale do not, as a neighbour may be left out.
    What is fixed relates to all other columns by way of the one that fixes it. Missing values and
    their like, ``empty`` codes, may all be fixed; others in no more than half of the open rows.

    All rows that have the one code have the other, at least k of them, but for fewer than k and
    1 %: what so few rows hold together is not shown. Columns that are kept follow from none, and
    none follows from itself by way of others. What is not open has the size of its column.
    """
    sizes = [len(own) for own in telling]
    places = [j for j in places if sizes[j] > 1]
    sure = CAUTION + np.log(max(len(places) * sum(sizes[j] for j in places), 1))
    made: list[Determined] = []
    left = codes.copy(order="F")
    for column in reversed(places):
        others = [by for by in places if by != column and column not in sources(by, made)]
        others.sort(key=lambda j: (sizes[j], j))
        rows = np.arange(0 if column in kept else len(codes))

        def fixed(by: int, rows: NDArray[np.int64], column: int = column) -> tuple[Codes, float]:
            own, other = codes[rows, column], codes[rows, by]
            return _fixed(own, other, empty[column], telling[by], k, sure)

        while len(rows) and others:
            some = rows[:: len(rows) // LOOKED_AT + 1]
            gains = {by: fixed(by, some)[1] for by in others}
            for by in sorted(filter(gains.get, others), key=gains.__getitem__, reverse=True):
                lookup, gain = fixed(by, rows)
                if gain:
                    break  # what only some rows seem to tell may be no rule in all of them
            else:
                break
            others.remove(by)
            rows = rows[np.append(lookup, sizes[column])[codes[rows, by]] == sizes[column]]
            seen = np.setdiff1d(codes[rows, column], sizes[column])
            if len(seen) < 2:
                lookup[lookup == sizes[column]] = seen[0] if len(seen) else lookup.min()
                rows = rows[:0]
            made.append(Determined(column, by, lookup))
            left[:, column] = sizes[column]
            left[rows, column] = codes[rows, column]
    return made, left


def _fixed(
    own: Codes, other: Codes, empty: Flags, telling: Flags, k: int, sure: float
) -> tuple[Codes, float]:
    """Give the own code that each other code fixes, and how far that is from chance, in nats."""
    size = len(empty)
    lookup = np.full(len(telling), size, np.uint16)
    cells = (len(telling) + 1) * (size + 1)
    if cells > LARGEST_TABLE:
        return lookup, 0.0
    table = np.bincount(other.astype(np.int32) * (size + 1) + own, minlength=cells)
    table = table.reshape(-1, size + 1)
    share = table.sum(axis=0)[:size] / len(own)
    rows, table = table[:-1].sum(axis=1), table[:-1, :size]
    code = table.argmax(axis=1)
    together = table[np.arange(len(table)), code]
    astray = rows - together
    nats = together * -np.log(np.maximum(share[code], 1 / (len(own) + 1)))
    is_rule = (together >= k) & (astray < k) & (astray <= MOST_ASTRAY * rows)
    found = is_rule & (nats > sure) & telling
    if (together * (found & ~empty[code])).sum() > MOST_FIXED * len(own):
        found &= empty[code]
    lookup[found] = code[found]
    return lookup, float(nats[found].sum())


def sources(column: int, made: Iterable[Determined]) -> set[int]:
    """Give the columns that a column follows from, directly or by way of others."""
    found: set[int] = set()
    ahead = [column]
    while ahead:
        one = ahead.pop()
        new = {d.by for d in made if d.column == one} - found
        found |= new
        ahead += new
    return found


def in_order(columns: Iterable[int], made: Sequence[Determined]) -> list[int]:
    """Order columns so that each comes after those that it follows from; refuse circles."""
    depth = {column: sources(column, made) for column in columns}
    if any(column in found for column, found in depth.items()):
        raise ValueError("a column follows from itself")
    return sorted(depth, key=lambda column: (len(depth[column]), column))
