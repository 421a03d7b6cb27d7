"""The network under epsilon: rows, single columns, structure and tables, each bought."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from understudy.data.schema import Column
from understudy.data.tables import Table
from understudy.judging.comparison import Progress
from understudy.synthesizers.bayes.choice import (
    NOISE_A_CELL,
    SENSITIVITY,
    Choice,
    Chosen,
    Codes,
    Floats,
    Margin,
    grains_up_to,
)
from understudy.synthesizers.bayes.conditionals import Conditional, conditional
from understudy.synthesizers.bayes.domain import Cells, buy_bounds, read_alone
from understudy.synthesizers.bayes.grouping import merge_codes
from understudy.synthesizers.bayes.smoothing import (
    adjust,
    project,
    rake,
    share_out,
    shrink_lines,
)
from understudy.synthesizers.budget import Budget

ROWS, BOUNDS, MARGINALS, STRUCTURE, TABLES = 0.02, 0.1, 0.35, 0.2, 0.43
FEWEST_CELLS, MOST_CELLS = 8, 128


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
        choice = Choice(margins, codes, self.rows, 1 / each, degree, workers)
        chosen = choice.run(self.budget, left * STRUCTURE)
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
        cells = [Cells.of(column, max(fitting, FEWEST_CELLS), MOST_CELLS) for column in columns]
        codes = [one.encode(read_alone(self.table, one.column.name)) for one in cells]
        bought = []
        for one, made in zip(cells, codes, strict=True):
            counts = np.bincount(made, minlength=one.size)
            what = f"counts of {one.column.name}"
            bought.append(self.budget.counts(what, counts, epsilon=epsilon).astype(float))
        before = self.budget.steps[0].scale
        weights = [1 / (2 * before**2), *(1 / (one.size * variance(epsilon)) for one in cells)]
        sums = [self.rows, *(float(noisy.sum()) for noisy in bought)]
        self.rows = max(round(np.average(sums, weights=weights)), 1)
        margins = []
        for one, noisy in zip(cells, bought, strict=True):
            near = project(noisy, self.rows)
            groups = tuple(merge_codes(near, one.bins, grains_up_to(self.bins)))
            margins.append(Margin(one, noisy, variance(epsilon), near / near.sum(), groups))
        return margins, codes

    def _again(
        self, one: Chosen, margins: Sequence[Margin], codes: Sequence[Codes], epsilon: float
    ) -> tuple[Margin, Conditional]:
        """Buy a column without parents once more, and average the two."""
        own = margins[one.child]
        counts = np.bincount(codes[one.child], minlength=own.cells.size)
        what = f"counts of {own.cells.column.name} again"
        totals = self.budget.counts(what, counts, epsilon=epsilon)
        each = np.arange(own.cells.size)
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
        names = ", ".join(margin.cells.column.name for margin in of_parents)
        what = f"counts of {own.cells.column.name} given {names}"
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
