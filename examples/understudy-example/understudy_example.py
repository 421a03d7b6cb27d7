"""Hot deck within cells: a method for understudy in a package of its own."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
import polars as pl

from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import OptionError, near
from understudy.jobs.progress import Progress
from understudy.synthesizers import MethodCard
from understudy.synthesizers.model_file import State


@dataclass(kw_only=True)
class HotDeck:
    """Draws a cell, then each other column from a record of that cell, by itself.

    Parameters
    ----------
    cells : names of columns
        Records that agree in these are a cell; none: all records are one.
    """

    cells: tuple[str, ...] | list[str] = ()
    rows_: pl.DataFrame = field(init=False, repr=False)

    card: ClassVar[MethodCard] = MethodCard(
        name="hotdeck",
        title="Hot deck within cells",
        keeps="the cells, and how each other column is distributed within them",
        loses="all relations between the other columns within a cell",
        claim="None: every value is a real one, and a cell of one record is that record.",
        file="every training row, the columns shuffled apart within cells",
        holds="real rows",
        source="an example",
    )

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Keep the rows, each column shuffled within its cell."""
        rows = table.modelled
        for name in self.cells:
            if name not in rows.columns:
                raise OptionError(
                    f"hotdeck: there is no column '{name}'", hint=near(name, rows.columns)
                )
        cell = self._cell(rows)
        order = np.argsort(cell, kind="stable")
        shuffled = {}
        for series in rows:
            place = np.empty(rows.height, np.int64)
            place[order] = np.lexsort((rng.random(rows.height), cell))
            shuffled[series.name] = series if series.name in self.cells else series[place]
        self.rows_ = pl.DataFrame(shuffled)
        return self

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw cells as often as training has them, then a donor for each other column."""
        cell = self._cell(self.rows_)
        order = np.argsort(cell, kind="stable")
        start = np.searchsorted(cell[order], np.arange(cell.max() + 1))
        size = np.bincount(cell)
        drawn = rng.integers(0, self.rows_.height, rows)
        here = cell[drawn]
        made = {}
        for series in self.rows_:
            donor = order[start[here] + rng.integers(0, size[here])]
            made[series.name] = series[drawn if series.name in self.cells else donor]
        return pl.DataFrame(made)

    def _cell(self, rows: pl.DataFrame) -> np.ndarray:
        if not self.cells:
            return np.zeros(rows.height, np.int64)
        numbered = pl.struct(list(self.cells)).rank("dense") - 1
        return rows.select(numbered).to_series().to_numpy().astype(np.int64)

    def state(self) -> State:
        """Give the rows."""
        return State(frames={"rows": self.rows_})

    def restore(self, state: State, schema: Schema) -> Self:
        """Take the rows."""
        self.rows_ = state.frame("rows", schema.modelled)
        return self
