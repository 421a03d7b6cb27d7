"""What an attack on a generator is about, and how it may be carried out."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from understudy.attacks.games import Answer, Game, Generator, Summary, Task
from understudy.attacks.refits import MOST_SECONDS, refit
from understudy.attacks.workers import NO_TIME
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.judging.comparison import Progress, silent, stream
from understudy.judging.findings import Card, Finding
from understudy.options import MOST_WORKERS, check_number

BUDGET = 300.0


def unheard(text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Setting:
    """A generator, the real table, what was released of it, and the means of the attacker.

    Parameters
    ----------
    generator : Generator
    train : Table
        The real table that the release was made from.
    release : tuple of Table
        What was released, one or more copies; none if the attack makes its own.
    seed : int
    budget : float
        Seconds for refits, from ``start`` on.
    refits : int, optional
        The most refits, where the budget is not to be counted in seconds alone.
    workers, limit, journal
        Processes, seconds for a single refit, and a file to go on from: see ``refit``.
    tell : callable
        Is told of every refit that failed, in the generator's own words: not to be shared.
    """

    generator: Generator
    train: Table
    release: tuple[Table, ...] = ()
    seed: int = 0
    budget: float = BUDGET
    refits: int | None = None
    workers: int | None = None
    limit: float = MOST_SECONDS
    journal: Path | None = None
    progress: Progress = silent
    tell: Callable[[str], None] = unheard
    start: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if not self.budget > 0:
            raise OptionError(f"budget = {self.budget:g}", hint="give a number of seconds above 0")
        if not self.limit > 0:
            raise OptionError(f"limit = {self.limit:g}", hint="give a number of seconds above 0")
        if self.refits is not None and self.refits < 1:
            raise OptionError(f"refits = {self.refits}", hint="allow at least 1")
        if self.workers is not None:
            check_number("workers", self.workers, 1, MOST_WORKERS)

    @property
    def deadline(self) -> float:
        """The time after which no further refit begins."""
        return self.start + self.budget

    def stream(self, *names: str) -> np.random.Generator:
        """Give the random stream of this name."""
        return stream(self.seed, *names)

    def refit(
        self,
        tasks: Iterable[Task],
        summary: Summary,
        *,
        base: Table | None = None,
        rows: int | None = None,
        copies: int = 1,
        total: int = 0,
    ) -> Iterator[Answer]:
        """Run the generator in the worlds of these tasks, and give answers as they come.

        The base table is training, and as many rows are sampled as training has, if not given.
        """
        table = self.train if base is None else base
        many = table.height if rows is None else rows
        game = Game(self.generator, Table(table.frame, table.schema), summary, many, copies)
        return self.play(game, tasks, total)

    def play(self, game: Game, tasks: Iterable[Task], total: int = 0) -> Iterator[Answer]:
        """Play a game of one's own by the means of the attacker, and tell what fails."""
        answers = refit(
            game,
            tasks,
            workers=self.workers,
            limit=self.limit,
            deadline=self.deadline,
            journal=self.journal,
            progress=self.progress,
            total=total,
        )
        for answer in answers:
            if answer.numbers is None and answer.error != NO_TIME:
                self.tell(f"{answer.task.world.name}: {answer.error}")
            yield answer


class Attack(Protocol):
    """A function from a setting to a finding, with a card; keyword-only parameters are options."""

    card: Card

    def __call__(self, setting: Setting, **options: Any) -> Finding:
        """Play the game and say what was found."""


Described = Callable[..., Finding]
