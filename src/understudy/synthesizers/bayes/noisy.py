"""The network under epsilon: rows, single columns, structure and tables, each bought."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from understudy.data.codec import ColumnCodec
from understudy.data.schema import Column
from understudy.data.tables import Table
from understudy.jobs.progress import Progress
from understudy.synthesizers.bayes.conditionals import Conditional, conditional, merge_codes
from understudy.synthesizers.bayes.domain import buy_bounds, read_alone
from understudy.synthesizers.bayes.structure import (
    NOISE_A_CELL,
    SENSITIVITY,
    Chosen,
    Codes,
    Floats,
    Margin,
    ParentChoice,
    Places,
    grains_up_to,
)
from understudy.synthesizers.budget import Budget

ROWS, BOUNDS, MARGINALS, STRUCTURE, TABLES = 0.02, 0.1, 0.35, 0.2, 0.43
FEWEST_CELLS, MOST_CELLS = 8, 128
RAKED = 5


@dataclass
class Purchase:
    """A table and the budget with which a network is bought; it keeps nothing else of the table.

    Parameters
    ----------
    bins : int
        The most groups of a column in the table of a child and its parents.
    rows : int
        The noisy number of rows.
    """

    table: Table
    budget: Budget
    bins: int
    progress: Progress
    rows: int = 0

    def buy_rows(self) -> None:
        """Buy the number of rows; it is one at least."""
        epsilon = self.budget.epsilon * ROWS
        exact = np.array([self.table.height])
        noisy = self.budget.counts("number of rows", exact, epsilon=epsilon)
        self.rows = max(int(noisy[0]), 1)

    def buy_bounds(self, names: Sequence[str]) -> dict[str, Column]:
        """Buy the bounds of numbers and dates that declare none."""
        epsilon = self.budget.epsilon * BOUNDS / max(len(names), 1)
        return {name: buy_bounds(self.table, name, self.budget, epsilon) for name in names}

    def is_lottery(self, width: int, degree: int) -> bool:
        """Whether there is no choice of parents, or its noise would exceed a third of all rows.

        The largest of so many noisy scores would then say little; told by the noisy number of
        rows, the number of columns and the budget alone.
        """
        if width < 2:
            return True
        sets = width * sum(math.comb(width - 1, parents) for parents in range(degree + 1))
        each = self._relative * STRUCTURE / (width - 1)
        return 2 * SENSITIVITY / each * math.log(sets) > self.rows / 3

    @property
    def _relative(self) -> float:
        """What is left, as epsilon for the three parts of a network together."""
        return self.budget.left / (MARGINALS + STRUCTURE + TABLES)

    def independent(self, columns: Sequence[Column]) -> tuple[list[Margin], list[Conditional]]:
        """Spend all that is left on single columns."""
        margins, _ = self._margins(columns, self.budget.left / len(columns))
        self.progress("buying tables", 1, 1)
        return margins, [conditional((), (), margin.shares[None]) for margin in margins]

    def correlated(
        self, columns: Sequence[Column], degree: int, workers: ThreadPoolExecutor
    ) -> tuple[list[Margin], list[Chosen], list[Conditional]]:
        """Spend what is left on single columns, then on the structure, then on tables."""
        left, width = self._relative, len(columns)
        single, each = left * MARGINALS / width, left * TABLES / width
        steps = width + 2
        margins, codes = self._margins(columns, single)
        self.progress("buying tables", 1, steps)
        choice = ParentChoice(margins, codes, self.rows, 1 / each, degree, workers)
        chosen = choice.choose(self.budget, left * STRUCTURE)
        self.progress("buying tables", 2, steps)
        models = []
        for number, one in enumerate(chosen):
            buy = self._conditional if one.parents else self._again
            margins[one.child], model = buy(one, margins, codes, each)
            models.append(model)
            self.progress("buying tables", number + 3, steps)
        return margins, chosen, models

    def _margins(
        self, columns: Sequence[Column], epsilon: float
    ) -> tuple[list[Margin], list[Codes]]:
        """Buy the counts of each column; their sums say more about the number of rows, too."""
        fitting = int(min(self.rows * epsilon / NOISE_A_CELL, MOST_CELLS))
        codecs = [ColumnCodec.declared(c, max(fitting, FEWEST_CELLS), MOST_CELLS) for c in columns]
        codes = [one.encode(read_alone(self.table, one.column.name)) for one in codecs]
        bought = []
        for one, made in zip(codecs, codes, strict=True):
            counts = np.bincount(made, minlength=one.size)
            what = f"counts of {one.column.name}"
            bought.append(self.budget.counts(what, counts, epsilon=epsilon).astype(float))
        before = self.budget.steps[0].scale
        weights = [1 / (2 * before**2), *(1 / (one.size * variance(epsilon)) for one in codecs)]
        sums = [self.rows, *(float(noisy.sum()) for noisy in bought)]
        self.rows = max(round(np.average(sums, weights=weights)), 1)
        margins = []
        for one, noisy in zip(codecs, bought, strict=True):
            near = project(noisy, self.rows)
            groups = tuple(merge_codes(near, one.bins, grains_up_to(self.bins)))
            margins.append(Margin(one, noisy, variance(epsilon), near / near.sum(), groups))
        return margins, codes

    def _again(
        self, one: Chosen, margins: Sequence[Margin], codes: Sequence[Codes], epsilon: float
    ) -> tuple[Margin, Conditional]:
        """Buy a column without parents once more, and average the two."""
        own = margins[one.child]
        counts = np.bincount(codes[one.child], minlength=own.codec.size)
        what = f"counts of {own.codec.column.name} again"
        totals = self.budget.counts(what, counts, epsilon=epsilon)
        each = np.arange(own.codec.size)
        noisy = adjust(own.noisy, own.variance, each, totals.astype(float), variance(epsilon))
        own = self._with(own, noisy)
        return own, conditional((), (), own.shares[None])

    def _conditional(
        self, one: Chosen, margins: Sequence[Margin], codes: Sequence[Codes], epsilon: float
    ) -> tuple[Margin, Conditional]:
        """Buy the table of a column and its parents, which says more about the column, too."""
        own, grain = margins[one.child], one.grain
        of_parents = [margins[parent] for parent in one.parents]
        groups = [margin.groups[grain] for margin in of_parents]
        shape = [margin.size(grain) for margin in of_parents]
        cell = np.zeros(self.table.height, np.int64)
        for parent, group_of, many in zip(one.parents, groups, shape, strict=True):
            cell = cell * many + group_of[codes[parent]]
        size = own.size(grain)
        cell = cell * size + own.groups[grain][codes[one.child]]
        counts = np.bincount(cell, minlength=math.prod(shape) * size)
        names = ", ".join(margin.codec.column.name for margin in of_parents)
        what = f"counts of {own.codec.column.name} given {names}"
        noisy = self.budget.counts(what, counts, epsilon=epsilon).astype(float)
        noisy = noisy.reshape(*shape, size)
        lines = noisy.reshape(-1, size)
        each = variance(epsilon)
        own = self._with(
            own,
            adjust(
                own.noisy, own.variance, own.groups[grain], lines.sum(axis=0), len(lines) * each
            ),
        )
        margin = own.grouped(grain)
        shares = shrink_lines(noisy, margin, each)
        shares = rake(shares, project(lines.sum(axis=1), self.rows), margin)
        shares = share_out(shares, own.shares, own.groups[grain])
        return own, conditional(one.parents, groups, shares)

    def _with(self, own: Margin, noisy: Floats) -> Margin:
        near = project(noisy, self.rows)
        return replace(own, noisy=noisy, shares=near / near.sum())


def variance(epsilon: float) -> float:
    """Give the variance of Laplace noise on a count."""
    return 2 / epsilon**2


# what is done to noisy counts after they are bought; none of it looks at the data


def project(noisy: Floats, total: float) -> Floats:
    """Give the nearest counts that are not negative and add up to the total.

    Examples
    --------
    >>> project(np.array([6.0, 5.0, -2.0]), 9.0).tolist()
    [5.0, 4.0, 0.0]
    """
    flat = np.sort(noisy.ravel())[::-1]
    cut = (np.cumsum(flat) - total) / np.arange(1, len(flat) + 1)
    last = int(np.flatnonzero(flat > cut)[-1])
    made: Floats = np.maximum(noisy - cut[last], 0)
    return made


def adjust(
    noisy: Floats, variance: float, groups: Places, totals: Floats, their_variance: float
) -> Floats:
    """Move noisy counts towards totals of their groups that were bought elsewhere.

    The two are averaged by how noisy they are; the cells of a group share the difference.

    Examples
    --------
    >>> adjust(np.array([4.0, 6.0]), 1.0, np.zeros(2, int), np.array([16.0]), 2.0).tolist()
    [5.5, 7.5]
    """
    many = np.bincount(groups)
    own = many * variance
    gap = (totals - np.bincount(groups, noisy)) * own / (own + their_variance)
    made: Floats = noisy + (gap / many)[groups]
    return made


def shrink_lines(noisy: Floats, margin: Floats, variance: float) -> Floats:
    """Give the shares in each line of a noisy table, shrunk to those of the line above it.

    The last axis is the child. Lines of one parent are shrunk to the child's own shares, those
    of two parents to those of the first, and so on: by as much as noise explains of how far they
    are from it (James and Stein 1961).
    """
    size = noisy.shape[-1]
    above = margin[None]
    for depth in range(1, noisy.ndim):
        table = noisy.sum(axis=tuple(range(depth, noisy.ndim - 1))).reshape(-1, size)
        lumped = variance * math.prod(noisy.shape[depth:-1])
        above = np.repeat(above, len(table) // len(above), axis=0)
        expected = above * np.maximum(table.sum(axis=1, keepdims=True), 0)
        apart = table - expected
        far = (apart**2).sum(axis=1, keepdims=True)
        kept = np.maximum(1 - size * lumped / np.maximum(far, 1e-300), 0)
        above = normalise(np.maximum(expected + kept * apart, 0), above)
    return above


def rake(shares: Floats, weights: Floats, margin: Floats) -> Floats:
    """Change the shares of lines so that all together, weighted, they come close to a margin."""
    for _ in range(RAKED):
        together = weights @ shares / weights.sum()
        ratio = np.where(together > 0, margin / np.where(together > 0, together, 1), 1)
        shares = normalise(shares * ratio, margin[None])
    return shares


def normalise(made: Floats, otherwise: Floats) -> Floats:
    """Make lines add up to 1; empty ones become another."""
    total = made.sum(axis=1, keepdims=True)
    return np.where(total > 0, made / np.where(total > 0, total, 1), otherwise)


def share_out(shares: Floats, cells: Floats, groups: Places) -> Floats:
    """Share groups out among their cells, as the shares of the cells say."""
    whole, many = np.bincount(groups, cells), np.bincount(groups)
    inside = np.where(
        whole[groups] > 0, cells / np.where(whole > 0, whole, 1)[groups], 1 / many[groups]
    )
    made: Floats = shares[:, groups] * inside
    return made
