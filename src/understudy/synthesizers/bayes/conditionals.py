"""The distribution of a coded column given groups of its parents' codes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MOST_CODES
from understudy.synthesizers.model_file import Damaged, State

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]
ParentGroups = tuple[Places, Places]

COARSE = 8
CHILD, LEVELS = 24, 64
MOST_LINES = 2**15
MOST_SHARES = 2**21
STRENGTH_WITHIN = 64.0


@dataclass(frozen=True)
class Conditional:
    """Shares of a column's codes, one line for each combination of its parents' groups.

    Parameters
    ----------
    parents : tuple of int
        Where the parents stand.
    group_of : tuple of arrays
        The group of each code of each parent, that of what is never shown included.
    cumulative : array of shape (lines, codes)
        The shares added up, so that the last is 1.
    """

    parents: tuple[int, ...]
    group_of: tuple[Places, ...]
    cumulative: NDArray[np.float32]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each parent."""
        return tuple(int(groups.max()) + 1 for groups in self.group_of)

    def lines(self, codes: Codes) -> Places:
        """Find the line of each row."""
        made = np.zeros(len(codes), np.int64)
        for place, groups, size in zip(self.parents, self.group_of, self.shape, strict=True):
            made = made * size + groups[codes[:, place]]
        return made

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row, each on its own."""
        from understudy.kernels import networks

        made: Codes = networks.draw_lines(
            self.cumulative, self.lines(codes), rng.random(len(codes))
        )
        return made

    def chances(self, codes: Codes, own: Codes) -> Floats:
        """Give the chance of each row's own code; none for what is never shown."""
        before = np.pad(self.cumulative.astype(float), ((0, 0), (1, 0)))
        shares = np.pad(np.diff(before, axis=1), ((0, 0), (0, 1)))
        made: Floats = shares[self.lines(codes), own]
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        return {
            "parents": np.array(self.parents, np.int64),
            "sizes": np.array([len(groups) for groups in self.group_of], np.int64),
            "groups": np.concatenate([np.empty(0, np.int64), *self.group_of]),
            "cumulative": self.cumulative,
        }

    @classmethod
    def of(cls, state: State, sizes: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with so many codes; refuse groups without a line.

        ``sizes`` are the codes of all columns.
        """
        parents = state.array("parents", np.int64, (None,), 0, len(sizes) - 1)
        lengths = state.array("sizes", np.int64, parents.shape, 1, MOST_CODES + 1)
        groups = state.array("groups", np.int64, (int(lengths.sum()),), 0, MOST_CODES)
        cumulative = state.array("cumulative", np.float32, (None, size))
        parts = np.split(groups, np.cumsum(lengths)[:-1]) if len(lengths) else []
        made = cls(tuple(parents.tolist()), tuple(parts), cumulative)
        if math.prod(made.shape) != len(cumulative) or any(
            length < sizes[parent] for parent, length in zip(parents, lengths, strict=True)
        ):
            raise Damaged("lines and groups do not fit together")
        return made


def conditional(parents: Sequence[int], group_of: Sequence[Places], shares: Floats) -> Conditional:
    """Keep shares in single precision, added up; codes after the last one shown have none."""
    cumulative = np.cumsum(shares, axis=1)
    cumulative /= cumulative[:, -1:]
    last = shares.shape[1] - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
    made = cumulative.astype(np.float32)
    made[np.arange(shares.shape[1]) >= last[:, None]] = 1
    return Conditional(tuple(parents), tuple(group_of), made)


def parent_groups(counts: Floats, ordered: int, bins: int) -> ParentGroups:
    """Give the groups of a column's codes, as a parent: coarse ones, and finer ones within.

    What is never shown has the last code and a group of its own.
    """
    merged = merge_codes(counts, ordered, (bins, min(bins, COARSE)))
    fine, coarse = (np.append(made, made.max() + 1) for made in merged)
    return coarse, fine


def child_groups(counts: Floats, ordered: int) -> Places:
    """Give the groups of a column's codes, as a child; codes of a group follow each other."""
    if not ordered and len(counts) <= LEVELS:
        return np.arange(len(counts))
    return merge_codes(counts, ordered, (CHILD,))[0]


def fit_conditional(
    codes: Codes,
    own: Codes,
    size: int,
    ordered: int,
    parents: Sequence[int],
    groups: Sequence[ParentGroups],
) -> Conditional:
    """Fill a table line by line, each shrunk to the coarser line that it refines.

    The chain of refinements: no parent; the coarse groups of one parent after the other; then
    the fine ones.

    Parameters
    ----------
    codes, own : arrays
        The rows in which the column shows a code: all columns, and the column itself.
    size, ordered : int
        The number of its codes, and how many of them lie on a line.
    """
    from understudy.kernels import networks

    counts = np.bincount(own, minlength=size).astype(float)
    of_child = child_groups(counts, ordered)
    shares = (counts / counts.sum())[None]
    chosen = [np.zeros(len(groups[p][0]), np.int64) for p in parents]
    most = max(1, min(MOST_LINES, MOST_SHARES // size))
    for which in (0, 1):
        for turn, place in enumerate(parents):
            finer = list(chosen)
            finer[turn] = groups[place][which]
            table = Conditional(tuple(parents), tuple(finer), np.empty((0, size), np.float32))
            lines = int(np.prod(table.shape))
            if lines > most or np.array_equal(finer[turn], chosen[turn]):
                continue
            above = _coarser(chosen, finer)
            chosen = finer
            cells = table.lines(codes) * size + own
            found = np.bincount(cells, minlength=lines * size).reshape(lines, size)
            shares = networks.lean(
                found.astype(float), above, shares, of_child, fine=STRENGTH_WITHIN
            )
    return conditional(parents, chosen, shares)


def _coarser(chosen: Sequence[Places], finer: Sequence[Places]) -> Places:
    """Give for each combination of finer groups that of the groups which they refine."""
    made = np.zeros(1, np.int64)
    for coarse, fine in zip(chosen, finer, strict=True):
        above = np.empty(int(fine.max()) + 1, np.int64)
        above[fine] = coarse
        made = (made[:, None] * (int(coarse.max()) + 1) + above).ravel()
    return made


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
