"""Which columns a column is drawn from: those that say most about it.

Without epsilon by mutual information; under epsilon by scores of which one row changes little,
from which the exponential mechanism chooses.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import ColumnCodec
from understudy.synthesizers.budget import Budget

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_ROWS = 100_000
CANDIDATES = 40
SWEEPS = 5
WIDEST = 80
MOST_CELLS = 2**22
GAIN = 1e-3
GRAINS = (64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2)
ROWS_A_CELL = 16.0
NOISE_A_CELL = 2.0
PENALTY = 0.25
MOST_SETS = 50_000
SENSITIVITY = 1.0  # the most that one row changes a score; docs/bayes.md has the derivation


@dataclass(frozen=True)
class Structure:
    """The order of the columns, and the parents of each, strongest first."""

    order: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]


def learn_structure(
    codes: NDArray[np.uint8],
    sizes: Places,
    kept: tuple[int, ...],
    degree: int,
    workers: ThreadPoolExecutor,
) -> Structure:
    """Choose order and parents greedily, so that parents say as much about children as can be.

    What is said is mutual information over groups of codes, less what fresh rows would lose of it.
    Sets of one and two parents are all compared, or those of the 40 columns that say most about a
    child if there are more; larger sets grow by one column at a time.

    Parameters
    ----------
    codes : array of shape (rows, columns), column by column
    kept : tuple of int
        Columns that come first and have no parents.
    """
    from understudy.kernels import networks

    some = codes[:: len(codes) // MOST_ROWS + 1]
    told = _Information(np.asfortranarray(some), sizes, workers)
    width = codes.shape[1]
    single, double = told.singles(), np.full((width, width, width), -np.inf)
    if degree > 1:
        told.fill_doubles(single, double)
    first = np.array(kept, np.int64)
    starts = [0] if kept else range(width)
    tried = [networks.greedy_order(single, double, start, first) for start in starts]
    order = max(tried, key=lambda pair: pair[1])[0]
    if width <= WIDEST:
        order = networks.improve_order(single, double, order, len(kept), SWEEPS)[0]
    placed = np.zeros(width, bool)
    parents: list[tuple[int, ...]] = []
    for number, child in enumerate(order.tolist()):
        chosen: tuple[int, ...] = ()
        if number >= len(kept):
            score, a, b = networks.best_parents(single, double, placed, child)
            chosen = tuple(place for place in (a, b) if place >= 0)
            before = [int(place) for place in np.flatnonzero(placed)]
            while 2 <= len(chosen) < degree:
                wider, more = told.widen(child, chosen, before)
                if more <= score + GAIN:
                    break
                chosen, score = wider, more
        parents.append(tuple(sorted(chosen, key=lambda place: -single[child, place])))
        placed[child] = True
    return Structure(tuple(order.tolist()), tuple(parents))


@dataclass
class _Information:
    """What sets of columns say about a child, from joint entropies and numbers of cells."""

    codes: NDArray[np.uint8]
    sizes: Places
    workers: ThreadPoolExecutor

    def __post_init__(self) -> None:
        width = self.codes.shape[1]
        self.own, self.own_cells = self._joint(np.arange(width)[:, None])
        pairs = np.array(list(combinations(range(width), 2)), np.int64).reshape(-1, 2)
        entropy, cells = self._joint(pairs)
        self.pair = np.zeros((width, width))
        self.pair_cells = np.zeros((width, width), np.int64)
        for made, found in ((self.pair, entropy), (self.pair_cells, cells)):
            made[pairs[:, 0], pairs[:, 1]] = made[pairs[:, 1], pairs[:, 0]] = found

    def _joint(self, subsets: Places) -> tuple[Floats, Places]:
        from understudy.kernels import networks

        return networks.joint_entropies(self.codes, self.sizes, subsets, self.workers)

    def _beyond_chance(self, entropies: Floats, cells: Places) -> Floats:
        """Take off mutual information, H(x) + H(p) - H(x, p), what a table gains by chance.

        Its bias is half the number of free shares, told by filled cells (Miller 1955); fresh rows
        lose as much again.
        """
        return entropies - (1 - cells) / len(self.codes)

    def singles(self) -> Floats:
        """Give what each column (second) says about each other (first)."""
        told = self.own[:, None] + self.own[None, :] - self.pair
        cells = self.own_cells[:, None] + self.own_cells[None, :] - self.pair_cells
        made = self._beyond_chance(told, cells)
        np.fill_diagonal(made, 0)
        return made

    def fill_doubles(self, single: Floats, double: Floats) -> None:
        """Fill in what pairs of columns (last two) say about each other one (first)."""
        width = len(single)
        near = np.zeros((width, width), bool)
        best = np.argsort(-single, axis=1, kind="stable")[:, :CANDIDATES]
        np.put_along_axis(near, best, True, axis=1)
        triples = [
            (a, b, c)
            for a, b, c in combinations(range(width), 3)
            if near[a, b] & near[a, c] or near[b, a] & near[b, c] or near[c, a] & near[c, b]
        ]
        subsets = np.array(triples, np.int64).reshape(-1, 3)
        entropy, cells = self._joint(subsets)
        for turn in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
            x, a, b = subsets[:, turn].T
            told = self.own[x] + self.pair[a, b] - entropy
            corrected = self._beyond_chance(told, self.own_cells[x] + self.pair_cells[a, b] - cells)
            double[x, a, b] = double[x, b, a] = corrected

    def widen(
        self, child: int, parents: tuple[int, ...], before: list[int]
    ) -> tuple[tuple[int, ...], float]:
        """Add the parent that makes the set say most; no table has more than so many cells."""
        room = MOST_CELLS / float(np.prod(self.sizes[[child, *parents]], dtype=float))
        others = [p for p in before if p not in parents and self.sizes[p] <= room]
        if not others:
            return parents, -np.inf
        sets = np.array([(*parents, other) for other in others], np.int64)
        without, cells = self._joint(sets)
        children = np.full((len(sets), 1), child)
        joint, joint_cells = self._joint(np.hstack([children, sets]))
        told = self._beyond_chance(
            self.own[child] + without - joint, self.own_cells[child] + cells - joint_cells
        )
        best = int(told.argmax())
        return (*parents, others[best]), float(told[best])


@dataclass(frozen=True)
class Margin:
    """A column bought by itself: codec, noisy counts and their variance, shares, groups of codes.

    ``groups`` holds the groups of every grain, from fine to coarse.
    """

    codec: ColumnCodec
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
class ParentChoice:
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

    def choose(self, budget: Budget, epsilon: float) -> list[Chosen]:
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
