"""Which columns a column is drawn from: those that share most information with it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_ROWS = 100_000
CANDIDATES = 40
SWEEPS = 5
WIDEST = 80
MOST_CELLS = 2**22
GAIN = 1e-3


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
    told = _Told(np.asfortranarray(some), sizes, workers)
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
class _Told:
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
