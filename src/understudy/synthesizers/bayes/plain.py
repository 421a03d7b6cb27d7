"""The network without epsilon: columns coded by what they may show, tables shrunk."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.tables import Table
from understudy.judging.comparison import Progress
from understudy.synthesizers.bayes.conditionals import (
    Codes,
    Conditional,
    Groups,
    conditional,
    fit_conditional,
)
from understudy.synthesizers.bayes.grouping import merge_codes
from understudy.synthesizers.bayes.shown import shown_once, spread_evenly
from understudy.synthesizers.bayes.structure import Structure, learn_structure
from understudy.synthesizers.support import Support

COMPARED = 8

Network = tuple[tuple[int, ...], list[Conditional | None]]


@dataclass
class Plain:
    """A table coded by what its columns may show."""

    supports: list[Support]
    codes: Codes
    counts: list[NDArray[np.float64]]
    bins: int
    notes: list[str]

    @classmethod
    def of(cls, table: Table, least: int, bins: int) -> Self:
        """Code every column; what fewer than ``least`` rows hold is never shown."""
        supports, coded, notes = [], [], []
        for name in table.schema.modelled:
            single = table.frame[name].dtype == pl.Float32
            fitted = Support.fit(table.values(name), table.schema[name], least, single=single)
            support, codes = shown_once(*fitted)
            supports.append(support)
            coded.append(codes)
            if support.shows_nothing and (codes == support.size).any():
                notes.append(f"{name} is all missing: no value of it is held by {least} rows")
        counts = [
            np.bincount(codes, minlength=support.size + 1)[: support.size].astype(float)
            for support, codes in zip(supports, coded, strict=True)
        ]
        return cls(supports, np.asfortranarray(np.column_stack(coded)), counts, bins, notes)

    def random(self, kept: tuple[int, ...]) -> Network:
        """Draw every column evenly over what it may show."""
        models: list[Conditional | None] = []
        for place, support in enumerate(self.supports):
            self.supports[place], shares = spread_evenly(support, self.bins)
            models.append(None if place in kept else conditional((), (), shares[None]))
        return tuple(range(len(models))), models

    def network(
        self, kept: tuple[int, ...], degree: int, progress: Progress, workers: ThreadPoolExecutor
    ) -> Network:
        """Choose parents and fill the tables; degree 0 draws every column alone."""
        width = len(self.supports)
        steps = width + 1
        found = Structure(tuple(range(width)), ((),) * width)
        if degree and width > 1:
            found = self._structure(kept, degree, workers)
        progress("filling tables", 1, steps)
        groups = [
            Groups.of(c, s.bins, self.bins) for c, s in zip(self.counts, self.supports, strict=True)
        ]
        models: list[Conditional | None] = []
        for number, (place, parents) in enumerate(zip(found.order, found.parents, strict=True)):
            models.append(None if place in kept else self._table(place, parents, groups))
            progress("filling tables", number + 2, steps)
        return found.order, models

    def _structure(
        self, kept: tuple[int, ...], degree: int, workers: ThreadPoolExecutor
    ) -> Structure:
        coarse = []
        for counts, support in zip(self.counts, self.supports, strict=True):
            made = merge_codes(counts, support.bins, (COMPARED,))[0]
            coarse.append(np.append(made, made.max() + 1).astype(np.uint8))
        columns = [groups[self.codes[:, place]] for place, groups in enumerate(coarse)]
        sizes = np.array([int(groups.max()) + 1 for groups in coarse], np.int64)
        codes = np.asfortranarray(np.column_stack(columns))
        return learn_structure(codes, sizes, kept, degree, workers)

    def _table(self, place: int, parents: tuple[int, ...], groups: list[Groups]) -> Conditional:
        support, own = self.supports[place], self.codes[:, place]
        shown = own < support.size
        if not shown.any():
            return conditional((), (), np.full((1, support.size), 1 / support.size))
        codes = self.codes if shown.all() else self.codes[shown]
        return fit_conditional(codes, own[shown], support.size, support.bins, parents, groups)
