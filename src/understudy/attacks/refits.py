"""A generator run again and again on tables that differ a little, and who does so with which means.

An attack on a generator refits it in worlds: tables that might have been the real one. A refit that
raises, hangs or gives other columns is an outcome that says so, by the name of its world; the rest
goes on.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Schema, dumps, learn_again
from understudy.data.tables import Table
from understudy.errors import DataError
from understudy.jobs.fingerprint import fingerprint
from understudy.jobs.journal import Entry, Journal, entry_numbers, opened
from understudy.jobs.progress import Progress, silent
from understudy.jobs.runner import MOST_SECONDS, run
from understudy.jobs.workers import Outcome
from understudy.judging.comparison import stream
from understudy.judging.findings import Card, Finding
from understudy.options import AtLeast, Seconds, Workers, check

BUDGET = 300.0
Refits = Annotated[int | None, AtLeast(1)]

Floats = NDArray[np.float64]
# an error of Python is known by its type; of our own errors only what stands before any value
REASONS = (
    (re.compile(r"([A-Za-z_]\w*(?:Error|Exception|Warning|Exit|Interrupt)|Exception)\b"), r"\1"),
    (
        re.compile(r"[^:;(']*\bdid not finish within (\S+) seconds"),
        r"did not finish within \1 seconds",
    ),
    (re.compile(r"[^:;(']*\bended with exit status (-?\d+)"), r"ended with exit status \1"),
    (re.compile(r"its process was lost \(exit status (-?\w+)\)"), r"ended with exit status \1"),
    (re.compile(r"[^:;(']*\bwrote no table\b"), "wrote no table"),
    (re.compile(r"[^:;(']*\bgave [\d,]+ rows, and"), "gave another number of rows"),
    (
        re.compile(r"[^:;(']*: the column .* is (missing|not in (the )?training)\b"),
        "gave other columns",
    ),
)
OTHER = "an error"


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
class Refit:
    """One task of an attack: in which world to fit the generator, and with which seed."""

    world: World
    seed: int

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.world.name} #{self.seed}"

    @property
    def key(self) -> str:
        """What the journal calls it: by rows and records too, for those of others differ."""
        return f"{self.name} {fingerprint(self.world.rows, self.world.added)[:16]}"


@dataclass(frozen=True)
class RefitJob:
    """What every refit of an attack has in common: fit, sample, and keep a summary."""

    generator: Generator
    base: Table
    summary: Any
    rows: int
    copies: int = 1
    schemas: dict[str, Schema] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def width(self) -> int:
        """How many numbers every refit gives."""
        return len(self.summary([self.base] * self.copies))

    @property
    def identity(self) -> str:
        """The fingerprint of all that decides what refits give.

        It is kept beside the numbers, which are as revealing: a journal is for its owner alone.
        """
        generator = getattr(self.generator, "identity", self.generator)
        base = dumps(self.base.schema), self.base.frame
        return fingerprint(type(self), generator, self.summary, self.rows, self.copies, *base)

    def read_entry(self, entry: Entry) -> Floats:
        """Read what a refit gave from the entry of a journal."""
        return entry_numbers(entry, (self.width,))

    def do(self, refit: Refit) -> Floats:
        """Fit and sample in a world, and keep the summary."""
        table = refit.world.of(self.base, self.schemas.get(refit.world.name))
        self.schemas[refit.world.name] = table.schema
        made = self.generator(table, self.rows, self.copies, refit.seed)
        return np.asarray(self.summary([self._checked(frame) for frame in made]), np.float64)

    def _checked(self, frame: Any) -> Table:
        name = self.generator.name
        made = Table.of(frame, self.base.schema, name=f"the table made by {name}")
        if made.height != self.rows:
            raise DataError(
                f"{name} gave {made.height:,} rows, and {self.rows:,} were asked for",
                hint="sample(n) gives n rows",
            )
        return made


def refit(
    job: RefitJob,
    refits: Iterable[Refit],
    *,
    journal: Path | Journal | None = None,
    progress: Progress = silent,
    total: int = 0,
    **more: Any,
) -> Iterator[Outcome]:
    """Refit in all worlds asked for, and give outcomes as they come.

    A journal of another job, or one that another run is at work on, is refused. ``more`` is given
    to ``understudy.jobs.runner.run``: workers, limit, start, deadline.
    """
    refits = list(refits)
    with opened(journal, lambda: job.identity, read=job.read_entry) as kept:
        outcomes = run(job, refits, journal=kept, **more)
        with contextlib.closing(outcomes):
            for done, outcome in enumerate(outcomes, start=1):
                if not outcome.is_known:
                    progress(f"refits of {job.generator.name}", done, total or len(refits))
                yield outcome


def unheard(text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class AttackSetting:
    """A generator, the real table, what was released of it, and the means of the attacker.

    Used by ``with``, it keeps other runs off its journals from their opening to the end.

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
        Processes, seconds for a single refit, and a file to go on from.
    tell : callable
        Is told of every refit that failed, in the generator's own words: not to be shared.
    """

    generator: Generator
    train: Table
    release: tuple[Table, ...] = ()
    seed: int = 0
    budget: Seconds = BUDGET
    refits: Refits = None
    workers: Workers = None
    limit: Seconds = MOST_SECONDS
    journal: Path | None = None
    progress: Progress = silent
    tell: Callable[[str], None] = unheard
    start: float = field(default_factory=time.monotonic)
    open_journals: dict[Path, Journal] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        means = ("budget", "refits", "workers", "limit")
        check("", AttackSetting, {name: getattr(self, name) for name in means})

    def __enter__(self) -> "AttackSetting":
        return self

    def __exit__(self, *error: object) -> None:
        while self.open_journals:
            self.open_journals.popitem()[1].close()

    @property
    def deadline(self) -> float:
        """The time after which no further refit begins."""
        return self.start + self.budget

    def stream(self, *names: str) -> np.random.Generator:
        """Give the random stream of this name."""
        return stream(self.seed, *names)

    def job(
        self,
        summary: Summary,
        *,
        base: Table | None = None,
        rows: int | None = None,
        copies: int = 1,
    ) -> RefitJob:
        """Say what is common to refits.

        The base table is training, and as many rows are sampled as training has, if not given.
        """
        table = self.train if base is None else base
        many = table.height if rows is None else rows
        return RefitJob(self.generator, Table(table.frame, table.schema), summary, many, copies)

    def open_journal(self, job: RefitJob) -> Journal | None:
        """Open the journal of a job, if there is to be one; it stays open between refits."""
        path = self.journal
        if path is not None and path not in self.open_journals:
            own = Journal.open(path, job.identity, read=job.read_entry)
            self.open_journals[path] = own
        return None if path is None else self.open_journals[path]

    def refit(self, job: RefitJob, refits: Iterable[Refit], total: int = 0) -> Iterator[Outcome]:
        """Refit by the means of the attacker, and tell what fails."""
        outcomes = refit(
            job,
            refits,
            workers=self.workers,
            limit=self.limit,
            start=self.start,
            deadline=self.deadline,
            journal=self.open_journal(job),
            progress=self.progress,
            total=total,
        )
        for outcome in outcomes:
            if outcome.kind not in ("done", "out of time"):
                self.tell(f"{outcome.task.world.name}: {outcome.error}")
            yield outcome


class AttackFunction(Protocol):
    """A function from a setting to a finding, with a card; keyword-only parameters are options."""

    card: Card

    def __call__(self, setting: AttackSetting, **options: Any) -> Finding:
        """Play the game and say what was found."""


def shareable(error: str) -> str:
    """Say of what kind an error is, and nothing that it quotes.

    Examples
    --------
    >>> shareable("ValueError: cannot use 'Anna', 37")
    'ValueError'
    >>> shareable("maker.py ended with exit status 1; it said:;   Anna is 37")
    'ended with exit status 1'
    >>> shareable("Anna is 37")
    'an error'
    """
    for pattern, kind in REASONS:
        if found := pattern.match(error):
            return found.expand(kind)
    return OTHER


def several(many: int, what: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> several(1, "world"), several(1200, "world")
    ('1 world', '1,200 worlds')
    """
    return f"1 {what}" if many == 1 else f"{many:,} {what}s"
