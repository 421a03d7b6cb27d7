"""A game against a generator: worlds that might have been, and what is kept of each refit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Schema, learn_again
from understudy.data.tables import Table
from understudy.errors import DataError, UnderstudyError

Floats = NDArray[np.float64]


class Generator(Protocol):
    """Whoever makes synthetic tables of a real one: fit once, then sample copies.

    One that can give the likelihood of rows has ``log_likelihood(train, rows)`` too; one with an
    ``identity`` is told from others in a journal by it, and by what it holds otherwise.
    """

    @property
    def name(self) -> str:
        """What to call it."""

    def __call__(self, train: Table, rows: int, copies: int, seed: int) -> list[Any]:
        """Fit the table and give so many samples of so many rows, frames of any kind."""


class Summary(Protocol):
    """What is kept of the samples of one refit: numbers, always as many."""

    def __call__(self, samples: Sequence[Table]) -> Floats:
        """Turn samples into numbers."""


@dataclass(frozen=True)
class World:
    """A table that might have been the real one: rows of a base table, and records added to it.

    Worlds of one game have different names.
    """

    name: str
    rows: NDArray[np.int64] | None = None
    added: pl.DataFrame | None = None

    def of(self, base: Table, schema: Schema | None = None) -> Table:
        """Give the table of this world: columns of the same kinds, facts as its own rows tell.

        Who has asked before may hand in the schema that came of it.
        """
        frame = base.frame if self.rows is None else base.frame[self.rows]
        if self.added is not None:
            added = self.added.select(frame.columns).cast(frame.schema)
            frame = pl.concat([frame, added])
        return Table(frame, learn_again(base.schema, frame) if schema is None else schema)


@dataclass(frozen=True)
class Task:
    """One refit: in which world, and with which seed."""

    world: World
    seed: int

    @property
    def name(self) -> str:
        """What the journal calls it."""
        return f"{self.world.name} #{self.seed}"


@dataclass(frozen=True)
class Answer:
    """The numbers of a refit, or why there are none."""

    task: Task
    numbers: Floats | None
    error: str = ""


@dataclass(frozen=True)
class Game:
    """What every refit of an attack has in common."""

    generator: Generator
    base: Table
    summary: Summary
    rows: int
    copies: int = 1
    schemas: dict[str, Schema] = field(default_factory=dict, compare=False, repr=False)

    @property
    def width(self) -> int:
        """How many numbers every answer has."""
        return len(self.summary([self.base] * self.copies))

    def play(self, task: Task) -> Floats:
        """Refit in the world of a task, and keep the summary."""
        table = task.world.of(self.base, self.schemas.get(task.world.name))
        self.schemas[task.world.name] = table.schema
        made = self.generator(table, self.rows, self.copies, task.seed)
        return np.asarray(self.summary([_checked(frame, self) for frame in made]), np.float64)

    def answer(self, task: Task) -> tuple[Floats | None, str]:
        """Play; a failure of the generator is an answer too."""
        try:
            return self.play(task), ""
        except UnderstudyError as error:
            return None, str(error).replace("\n", "; ")
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"


def _checked(frame: Any, game: Game) -> Table:
    schema, name = game.base.schema, game.generator.name
    made = Table.of(frame, schema, name=f"the table made by {name}")
    if made.height != game.rows:
        raise DataError(
            f"{name} gave {made.height:,} rows, and {game.rows:,} were asked for",
            hint="sample(n) gives n rows",
        )
    return made
