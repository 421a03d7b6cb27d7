"""Rows chosen from a larger pool so that chance does not blur small tables of counts.

What the model expects of each small table is known; a plain sample is blurred by chance, and the
choice of rows cancels that blur. Where the training table differs from the model by more than
chance explains, the part beyond chance is followed, and only as far as it takes to be as close to
training as fresh rows would be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.bins import equal_groups
from understudy.synthesizers.model_file import Damaged, State

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]
Tables = NDArray[np.int64]

ALONE, PAIR, TRIPLE = 200, 20, 5
MOST_CELLS = {1: 1_000, 2: 400, 3: 200}
CANDIDATES = 1_000
FIRST_LOOK = 5_000
COLUMNS_IN_TRIPLES = 40
FEWEST_ROWS = 100  # a choice of fewer favours frequent values more than it evens out
POOL = 3


@dataclass(frozen=True)
class Balance:
    """Small tables, and the share that each of their cells should have.

    Parameters
    ----------
    maps : tuple of arrays
        For each view of a column (fine, coarse, coarser) the group of each code.
    tables : array of shape (tables, 3)
        The views that each table crosses; -1 where there are fewer than three.
    shares : array
        The share of each cell, table after table.
    """

    maps: tuple[NDArray[np.uint8], ...]
    tables: Tables
    shares: Floats

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of groups of each view."""
        return np.array([int(m.max(initial=0)) + 1 for m in self.maps], np.int64)

    def select(self, pool: Codes, rows: int) -> NDArray[np.int64]:
        """Choose rows of a pool, none twice, in random order."""
        from understudy.kernels import selection

        seen, target = see(pool, self.maps), rows * np.maximum(self.shares, 0)
        return selection.select(seen, self.tables, self.sizes, target, rows, sweeps=1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        return {
            "lengths": np.array([len(m) for m in self.maps], np.int64),
            "maps": np.concatenate([*self.maps, np.empty(0, np.uint8)]),
            "tables": self.tables,
            "shares": self.shares,
        }

    @classmethod
    def of(cls, state: State, sizes: Sequence[int]) -> Self:
        """Take what was saved, of columns with so many codes each."""
        views = [size + 1 for size in sizes] * 3
        lengths = state.array("lengths", np.int64, (len(views),))
        if lengths.tolist() != views:
            raise Damaged("views of columns do not fit their codes")
        maps = np.split(state.array("maps", np.uint8, (sum(views),)), np.cumsum(lengths)[:-1])
        tables = state.array("tables", np.int64, (None, 3), -1, len(views) - 1)
        made = cls(tuple(maps), tables, state.array("shares", float, (None,)))
        cells = np.where(tables >= 0, made.sizes[tables], 1).prod(axis=1).sum()
        if (tables[:, 0] < 0).any() or cells != len(made.shares):
            raise Damaged("tables and their cells do not fit together")
        return made


def see(codes: Codes, maps: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Give the groups of rows in all views, row by row."""
    width = codes.shape[1]
    made = np.empty((len(codes), len(maps)), np.uint8)
    for view, groups in enumerate(maps):
        made[:, view] = groups[codes[:, view % width]]
    return made


def fit_balance(train: Codes, pool: Codes, sizes: Sequence[int], *, fidelity: float) -> Balance:
    """Compare training with a pool drawn from the model.

    Parameters
    ----------
    fidelity : float
        How close tables should be to training's: 1 is as close as those of fresh rows.
    """
    maps = tuple(
        _groups(np.bincount(train[:, j], minlength=size + 1), most)
        for most in (ALONE, PAIR, TRIPLE)
        for j, size in enumerate(sizes)
    )
    seen, made = see(train, maps), see(pool, maps)
    counted = [
        _TableCounts.of(tables, maps, seen, made) for tables in _candidates(maps, seen, made)
    ]
    z = min(counts.largest_z(fidelity) for counts in counted)
    kept = [counts.most_apart(MOST_CELLS[ways]) for ways, counts in enumerate(counted, start=1)]
    return Balance(
        maps,
        np.vstack([counts.tables for counts in kept]),
        np.concatenate([counts.followed(z) for counts in kept]),
    )


def _groups(counts: NDArray[np.int64], most: int) -> NDArray[np.uint8]:
    groups = np.arange(len(counts)) if len(counts) <= most else equal_groups(counts, most)
    return groups.astype(np.uint8)


def _candidates(
    maps: tuple[NDArray[np.uint8], ...], seen: NDArray[np.uint8], made: NDArray[np.uint8]
) -> list[Tables]:
    """Name the tables of one, two and three columns; of too many, those most apart at a glance."""
    width = len(maps) // 3
    found = [np.array([(j, -1, -1) for j in range(width)])]
    for ways in (2, 3):
        columns = range(width if ways == 2 else min(width, COLUMNS_IN_TRIPLES))
        start = (ways - 1) * width
        tables = [(*(start + j for j in c), -1)[:3] for c in combinations(columns, ways)]
        if not tables:
            break
        listed = np.array(tables, np.int64)
        if len(listed) > CANDIDATES:
            some, drawn = (rows[:: len(rows) // FIRST_LOOK + 1] for rows in (seen, made))
            glance = _TableCounts.of(listed, maps, some, drawn)
            listed = glance.most_apart(CANDIDATES).tables
        found.append(listed)
    return found


@dataclass(frozen=True)
class _TableCounts:
    """Tables as training and the model's pool have them."""

    tables: Tables
    begin: NDArray[np.int64]
    real: Floats
    model: Floats
    rows: int
    pool: int

    @classmethod
    def of(
        cls,
        tables: Tables,
        maps: tuple[NDArray[np.uint8], ...],
        seen: NDArray[np.uint8],
        made: NDArray[np.uint8],
    ) -> Self:
        from understudy.kernels import selection

        sizes = np.array([int(m.max(initial=0)) + 1 for m in maps], np.int64)
        return cls(
            tables,
            selection.offsets(tables, sizes),
            selection.count_cells(seen, tables, sizes) / len(seen),
            selection.count_cells(made, tables, sizes) / len(made),
            len(seen),
            len(made),
        )

    @property
    def deviation(self) -> Floats:
        """The standard deviation of the difference of training's and the pool's shares."""
        variance = (self.model + 2 / self.rows) * (1 / self.rows + 1 / self.pool)
        return np.asarray(np.sqrt(variance))

    def largest_z(self, fidelity: float) -> float:
        """Find how much may count as chance without being further from training than fresh rows."""
        p = (self.real * self.rows + self.model * self.pool) / (self.rows + self.pool)
        blur = 2 * np.sqrt(p * (1 - p) / (np.pi * self.rows))
        fresh = np.minimum(blur, 2 * p).sum()
        apart = np.abs(self.real - self.model)
        for z in np.arange(5, 0.5, -0.125):
            if (apart * self._left(z)).sum() <= fidelity * fresh:
                return float(z)
        return 0.5

    def followed(self, z: float) -> Floats:
        """Give the model's shares, moved to training's by what is beyond chance."""
        return np.asarray(self.model + (self.real - self.model) * (1 - self._left(z)))

    def _left(self, z: float) -> Floats:
        """Give the part of each difference that is left to chance (Breiman 1995, the garrote).

        All of it up to z standard deviations, and less and less beyond: what is far from chance
        is followed almost fully, where subtracting z deviations would fall short of it.
        """
        chance = z * self.deviation
        return np.asarray((chance / np.maximum(np.abs(self.real - self.model), chance)) ** 2)

    def most_apart(self, most: int) -> Self:
        """Keep the tables in which training differs most from the model."""
        if len(self.tables) <= most:
            return self
        squares = ((self.real - self.model) / self.deviation) ** 2 - (self.model > 0)
        order = np.argsort(-np.add.reduceat(squares, self.begin[:-1]), kind="stable")
        kept = np.sort(order[:most])
        lengths = np.diff(self.begin)
        cells = np.repeat(np.isin(np.arange(len(lengths)), kept), lengths)
        begin = np.concatenate([[0], np.cumsum(lengths[kept])])
        return type(self)(
            self.tables[kept], begin, self.real[cells], self.model[cells], self.rows, self.pool
        )
