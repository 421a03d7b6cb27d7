"""Rows chosen from a larger pool so that chance does not blur small tables of counts.

The pool's own tables are what the model expects; a sample of it is blurred by chance, and here
that blur is cancelled. Where the training table differs from the model by more than chance
explains, the part beyond chance is followed.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import selection

ALONE, PAIR, TRIPLE = 200, 10, 5
MOST_PAIRS, MOST_TRIPLES = 400, 200

Codes = NDArray[np.uint16]


@dataclass(frozen=True)
class Balance:
    """Small tables of counts, and by how much training's shares differ from the model's.

    Parameters
    ----------
    maps : tuple of arrays
        For each view of a column (fine, coarse, coarser) the group of each code.
    columns : array of shape (tables, 3)
        The views that each table crosses.
    extra : array of float
        What is added to the model's share of each cell.
    """

    maps: tuple[NDArray[np.uint8], ...]
    columns: NDArray[np.int64]
    extra: NDArray[np.float64]
    z: float = 0

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of groups of each view."""
        return np.array([int(m.max(initial=0)) + 1 for m in self.maps], np.int64)

    def groups(self, codes: Codes) -> NDArray[np.uint8]:
        """See rows in all views."""
        width = codes.shape[1]
        made = np.empty((len(codes), len(self.maps)), np.uint8)
        for view, groups in enumerate(self.maps):
            made[:, view] = groups[codes[:, view % width]]
        return made

    def select(self, pool: Codes, rows: int, *, sweeps: int = 1) -> NDArray[np.int64]:
        """Choose rows of a pool, none twice."""
        if not rows or not len(self.columns):
            return np.arange(rows)
        groups = self.groups(pool)
        share = selection.count_cells(groups, self.columns, self.sizes) / len(pool)
        target = rows * np.maximum(share + self.extra, 0)
        return selection.select(groups, self.columns, self.sizes, target, rows, sweeps=sweeps)


def fit_balance(train: Codes, pool: Codes, sizes: list[int], *, slack: float) -> Balance:
    """Compare training with a pool drawn from the model.

    Training is followed as little as makes the tables as close to it as fresh rows would be.
    """
    maps = [
        _groups(np.bincount(train[:, j], minlength=size + 1), most)
        for most in (ALONE, PAIR, TRIPLE)
        for j, size in enumerate(sizes)
    ]
    width = len(sizes)
    wide = np.arange(width)[:, None]
    alone = np.hstack([wide, np.full((width, 2), -1)])
    pairs = np.array([(width + a, width + b, -1) for a, b in combinations(range(width), 2)])
    triples = np.array(
        [tuple(2 * width + i for i in c) for c in combinations(range(min(width, 40)), 3)]
    )
    empty = Balance(tuple(maps), alone, np.empty(0))
    seen, made = empty.groups(train), empty.groups(pool)
    chosen = []
    z = np.inf
    for tables, most in ((alone, 10**6), (pairs, MOST_PAIRS), (triples, MOST_TRIPLES)):
        if not len(tables):
            continue
        real, model = _shares(seen, tables, empty.sizes), _shares(made, tables, empty.sizes)
        z = min(z, _least_z(real, model, len(train), len(pool), slack))
        variance = (model + 1 / len(seen)) * (1 / len(seen) + 1 / len(made))
        squares = (real - model) ** 2 / variance - (model > 0)
        excess = np.add.reduceat(squares, selection.offsets(tables, empty.sizes)[:-1])
        chosen.append(tables[np.sort(np.argsort(-excess, kind="stable")[:most])])
    columns = np.vstack(chosen).astype(np.int64)
    return Balance(tuple(maps), columns, _beyond_chance(seen, made, columns, empty.sizes, z), z)


def _least_z(real, model, rows, pool, slack):
    """Find the largest z at which the tables are as close to training as fresh rows would be."""
    p = (real * rows + model * pool) / (rows + pool)
    fresh = np.minimum(np.sqrt(p * (1 - p) / rows) * 2 / np.sqrt(np.pi), 2 * p).sum()
    deviation = _deviation(model, rows, pool)
    for z in np.arange(4, 0.4, -0.125):
        if np.minimum(np.abs(real - model), z * deviation).sum() <= slack * fresh:
            return z
    return 0.5


def _deviation(model, rows, pool):
    return np.sqrt((model + 2 / rows) * (1 / rows + 1 / pool))


def _groups(counts: NDArray[np.int64], most: int) -> NDArray[np.uint8]:
    """Join neighbouring codes to groups of about equal counts."""
    if len(counts) <= most:
        return np.arange(len(counts), dtype=np.uint8)
    middle = np.cumsum(counts) - counts / 2
    group = np.minimum(middle * most / max(counts.sum(), 1), most - 1).astype(np.int64)
    return np.unique(group, return_inverse=True)[1].astype(np.uint8)


def _shares(
    groups: NDArray[np.uint8], columns: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    return selection.count_cells(groups, columns, sizes) / len(groups)


def _beyond_chance(
    seen: NDArray[np.uint8],
    made: NDArray[np.uint8],
    columns: NDArray[np.int64],
    sizes: NDArray[np.int64],
    z: float,
) -> NDArray[np.float64]:
    real, model = _shares(seen, columns, sizes), _shares(made, columns, sizes)
    apart = real - model
    return np.sign(apart) * np.maximum(np.abs(apart) - z * _deviation(model, len(seen), len(made)), 0)
