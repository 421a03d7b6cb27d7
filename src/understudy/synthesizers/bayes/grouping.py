"""Coarser codes: neighbouring numbers and rare levels share a group."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def merge_codes(counts: Floats, ordered: int, most: Sequence[int]) -> list[Places]:
    """Give the group of each code, for each number of groups asked for; coarser ones are nested.

    The first ``ordered`` codes lie on a line: of these, the two neighbours that fewest rows hold
    are merged. Of the others, the rarest share a group. ``most`` falls.

    Examples
    --------
    >>> [made.tolist() for made in merge_codes(np.array([1.0, 1, 9, 2, 2]), 5, [4, 2])]
    [[0, 0, 1, 2, 3], [0, 0, 0, 1, 1]]
    >>> merge_codes(np.array([5.0, 5, 1, 1]), 0, [3])[0].tolist()
    [0, 1, 2, 2]
    """
    size = len(counts)
    rare = ordered + np.argsort(-counts[ordered:], kind="stable")[max(max(most), 2) - 1 :]
    own = np.setdiff1d(np.arange(size), rare)
    members = [[int(code)] for code in own] + ([rare.tolist()] if len(rare) else [])
    sums = [float(counts[codes].sum()) for codes in members]
    line = ordered
    made = []
    for wanted in most:
        while len(members) > max(wanted, 1):
            at, other = _rarest(np.array(sums), line)
            sums[at] += sums.pop(other)
            members[at] += members.pop(other)
            line -= other < line
        group_of = np.empty(size, np.int64)
        for group, codes in enumerate(members):
            group_of[codes] = group
        made.append(group_of)
    return made


def _rarest(sums: Floats, line: int) -> tuple[int, int]:
    """Find the two groups that fewest rows hold together and that may be merged."""
    best = (np.inf, 0, 1)
    if line > 1:
        pairs = sums[: line - 1] + sums[1:line]
        at = int(pairs.argmin())
        best = (float(pairs[at]), at, at + 1)
    if len(sums) - line > 1:
        first, second = np.sort(line + np.argsort(sums[line:], kind="stable")[:2])
        if sums[first] + sums[second] < best[0]:
            best = (0.0, int(first), int(second))
    return best[1], best[2]
