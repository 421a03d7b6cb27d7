"""The structure under epsilon: parents chosen by the exponential mechanism."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.bayes.domain import Cells
from understudy.synthesizers.budget import Budget

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

GRAINS = (64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2)
ROWS_A_CELL = 16.0
NOISE_A_CELL = 2.0
PENALTY = 0.25
MOST_SETS = 50_000
SENSITIVITY = 1.0  # the most that one row changes a score; docs/bayes.md has the derivation


@dataclass(frozen=True)
class Margin:
    """A column bought by itself: cells, noisy counts and their variance, shares, groups of cells.

    ``groups`` holds the groups of every grain, from fine to coarse.
    """

    cells: Cells
    noisy: Floats
    variance: float
    shares: Floats
    groups: tuple[Places, ...]

    def grouped(self, grain: int) -> Floats:
        """Give the shares of the groups of one grain."""
        made: Floats = np.bincount(self.groups[grain], self.shares).astype(float)
        return made

    def size(self, grain: int) -> int:
        """Give the number of groups of one grain."""
        return int(self.groups[grain].max()) + 1


@dataclass(frozen=True)
class Chosen:
    """A column, its parents, and the grain at which their table is counted."""

    child: int
    parents: tuple[int, ...] = ()
    grain: int = 0


def grains_up_to(bins: int) -> tuple[int, ...]:
    """Give the numbers of groups that are tried, the finest first."""
    return (bins, *(grain for grain in GRAINS if grain < bins))


@dataclass
class Choice:
    """Sets of a child and its parents, each with its score.

    A score is how many rows stand apart from what the child's own shares, bought before, make
    expect (see ``kernels.networks.distances``), less what chance and noise would give. Which sets
    are usable and what is taken off depends on declared sizes and on noisy counts alone.
    """

    margins: Sequence[Margin]
    codes: Sequence[Codes]
    rows: int
    scale: float
    degree: int
    workers: ThreadPoolExecutor
    sets: list[Chosen] = field(init=False, default_factory=list)
    scores: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        width = len(self.margins)
        self.sets += [Chosen(child) for child in range(width)]
        self.scores += [0.0] * width
        for ways in range(2, min(self.degree + 1, width) + 1):
            if ways > 2 and math.comb(width, ways) > MOST_SETS:
                break
            if not self._score(ways):
                break

    def run(self, budget: Budget, epsilon: float) -> list[Chosen]:
        """Choose the next column and its parents, again and again.

        The first choice is that of a pair, whose parent comes first of all.
        """
        width, scores = len(self.margins), np.array(self.scores)
        child = np.array([one.child for one in self.sets])
        member = np.zeros((len(self.sets), width), bool)
        for number, one in enumerate(self.sets):
            member[number, list(one.parents)] = True
        placed = np.zeros(width, bool)
        made: list[Chosen] = []
        for number in range(1, width):
            if made:
                free = ~placed[child] & ~(member & ~placed).any(axis=1)
            else:
                free = member.sum(axis=1) <= 1
            places = np.flatnonzero(free)
            what = f"parents, choice {number} of {width - 1}"
            at = budget.choose(
                what, scores[places], epsilon=epsilon / (width - 1), sensitivity=SENSITIVITY
            )
            one = self.sets[places[at]]
            if not made:
                root = one.parents[0] if one.parents else int(one.child == 0)
                made.append(Chosen(root))
                placed[root] = True
            made.append(one)
            placed[one.child] = True
        return made

    def _score(self, ways: int) -> bool:
        """Score the sets of so many columns at each grain; say whether any is usable."""
        from understudy.kernels import networks

        codes, sizes, shares = self._grouped()
        limit = self.rows / max(NOISE_A_CELL * self.scale, ROWS_A_CELL)
        subsets = np.array(list(combinations(range(len(self.margins)), ways)), np.int64)
        cells = sizes.astype(float)[:, subsets].prod(axis=2)  # beyond 2^63 where k is large
        differ = np.vstack([cells[:-1] != cells[1:], np.ones((1, len(subsets)), bool)])
        grains, which = np.nonzero((cells <= limit) & differ)
        if not len(which):
            return False
        subsets, cells = subsets[which], cells[grains, which]
        apart = networks.distances(codes, sizes, grains, subsets, shares, self.workers)
        by_chance = np.sqrt(shares).sum(axis=2)[grains[:, None], subsets].prod(axis=1)
        taken_off = by_chance * math.sqrt(self.rows / (2 * math.pi)) + PENALTY * cells * self.scale
        for turn in range(ways):
            scores = (apart[:, turn] - taken_off).tolist()
            for subset, grain in zip(subsets.tolist(), grains.tolist(), strict=True):
                parents = tuple(subset[:turn] + subset[turn + 1 :])
                self.sets.append(Chosen(subset[turn], parents, grain))
            self.scores += scores
        return True

    def _grouped(self) -> tuple[NDArray[np.uint8], Places, Floats]:
        """Give codes, numbers of groups and shares of all columns at each grain."""
        grains, pairs = (
            range(len(self.margins[0].groups)),
            list(zip(self.margins, self.codes, strict=True)),
        )
        codes = np.array([[m.groups[g][c] for m, c in pairs] for g in grains]).astype(np.uint8)
        sizes = np.array([[m.size(g) for m in self.margins] for g in grains], np.int64)
        shares = np.zeros((*sizes.shape, int(sizes.max())))
        for g in grains:
            for place, margin in enumerate(self.margins):
                shares[g, place, : sizes[g, place]] = margin.grouped(g)
        return codes, sizes, shares
