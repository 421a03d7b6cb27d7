"""Columns that follow from another one, such as a number that codes a level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint16]

GLANCE = 2_000
LEAST_SEEN = 0.99
CHANCE = 30.0


@dataclass(frozen=True)
class Determined:
    """A column whose code is known once that of another is; ``lookup`` has it for each code."""

    column: int
    by: int
    lookup: Codes


def find_determined(
    codes: Codes, sizes: Sequence[int], kept: Sequence[int] = ()
) -> list[Determined]:
    """Find columns that follow from others in every row, beyond what chance explains.

    Columns that are kept follow from none. What is found later may determine what was found
    earlier, so columns are looked up from the last to the first of the list.
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
