"""Worlds weighed exactly: one fit of each, and the chance of what was released under it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.games import Floats, Game, Task, World
from understudy.data.tables import Table, free_name
from understudy.errors import OptionError

IMPOSSIBLE = -1000.0


@dataclass(frozen=True)
class Released:
    """The rows of all copies released, each once, and how often each stands there."""

    rows: Table
    times: NDArray[np.int64]

    @classmethod
    def of(cls, copies: Sequence[Table]) -> "Released":
        """Pool the copies."""
        schema = copies[0].schema
        types = copies[0].modelled.schema
        every = pl.concat([copy.modelled.cast(types) for copy in copies])
        name = free_name("times", every.columns)
        counted = every.group_by(pl.all(), maintain_order=True).len(name)
        times = counted[name].cast(pl.Int64).to_numpy()
        return cls(Table(counted.select(every.columns), schema), times)

    def __call__(self, samples: Sequence[Table]) -> Floats:
        """Refuse: no samples are drawn in this game."""
        raise OptionError("chances are computed, not sampled", hint="play the game of chances")


@dataclass(frozen=True)
class Chances(Game):
    """A game in which each world is fitted once and says how likely the release is.

    The answer of a world is the log of the chance of all rows released, in which a row that
    cannot be made there counts as ``IMPOSSIBLE``, and the number of such rows.
    """

    @property
    def width(self) -> int:
        """How many numbers every answer has."""
        return 2

    def play(self, task: Task) -> Floats:
        """Fit the world of a task, and give the chance of the release."""
        generator: Any = self.generator
        released: Any = self.summary
        logs = generator.log_likelihood(task.world.of(self.base), released.rows)
        if logs is None:
            raise OptionError(
                f"{self.generator.name} cannot say how likely rows are", hint="use by=counts"
            )
        impossible = ~np.isfinite(logs)
        total = float(np.where(impossible, IMPOSSIBLE, logs) @ released.times)
        return np.array([total, float(released.times[impossible].sum())])


def cell_chances(generator: Any, base: Table, worlds: Sequence[World], cells: Table) -> Floats:
    """Give the log chance of each cell in each world: for many releases of one small domain."""
    return np.array([generator.log_likelihood(world.of(base), cells) for world in worlds])


def knows_chances(generator: Any, table: Table) -> bool:
    """Whether a generator can say how likely rows are."""
    knows = getattr(generator, "knows_chances", None)
    return knows is not None and bool(knows(table.schema))
