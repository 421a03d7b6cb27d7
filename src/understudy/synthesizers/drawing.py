"""Drawing rows until there are enough that meet what is asked for: bounded, or an error says why.

Rows are drawn and those that break a constraint, or lack a given value, are left out. Nothing else
decides: never how near a row is to training.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from understudy.data.schema import Column, Schema
from understudy.data.tables import Condition, Table
from understudy.errors import OptionError
from understudy.judging.comparison import Progress
from understudy.synthesizers.holding import Held, Masks
from understudy.synthesizers.margins import Counts, Margins

BATCH = 100_000
FIRST_DRAW = 1_000
FIRST_POOL = 10_000
RAREST = 1_000


@dataclass
class Drawing:
    """A source of rows, the constraints that they meet, and given values or none.

    ``draw`` makes a number of rows of a numbered batch, as the method shows them; ``shuffle`` gives
    the random stream of a batch whose rows are put in another order.
    """

    draw: Callable[[int, int], pl.DataFrame]
    held: Held
    progress: Progress
    shuffle: Callable[[int], np.random.Generator]
    given: Condition | None = None
    number: int = field(default=0, init=False)
    drawn: int = field(default=0, init=False)
    met: int = field(default=0, init=False)
    broken: dict[str, int] = field(default_factory=dict, init=False)
    seen: Counts = field(default_factory=lambda: np.zeros(1, np.int64), init=False)

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return self.held.fitted

    def rows(self, rows: int, margins: Margins | None = None) -> Iterator[pl.DataFrame]:
        """Make rows in frames of at most 100,000, identifiers and all."""
        if margins is not None:
            frames = self._balanced(rows, margins)
        elif self.held.rejects or self.given is not None:
            frames = self._meeting(rows)
        else:
            frames = self._all(rows)
        done = 0
        for frame in frames:
            yield self.held.identified(frame, done, rows)
            done += frame.height

    def _all(self, rows: int) -> Iterator[pl.DataFrame]:
        for start in range(0, max(rows, 1), BATCH):
            self.progress("sampling", start, rows)
            yield self._next(min(BATCH, rows - start))

    def _meeting(self, rows: int) -> Iterator[pl.DataFrame]:
        """Draw, and keep the rows that match; give up where they are too rare."""
        found, size = 0, min(max(rows, FIRST_DRAW), BATCH)
        while True:
            self.progress("sampling", found, rows)
            match = self._next(size)
            if match.height or self.number == 1:
                yield match.head(rows - found)
            found += match.height
            if found >= rows:
                return
            self._give_up_if_rare(found)
            need = (rows - found) * self.drawn // found if found else BATCH
            size = min(max(need, FIRST_DRAW), BATCH)

    def _balanced(self, rows: int, margins: Margins) -> Iterator[pl.DataFrame]:
        """Draw until every cell of the margins is full, and take as many rows of each as it needs.

        Each batch is filled and shuffled by itself, so that the end of a long table is no other
        than its beginning.
        """
        pool, cells = self._pool(min(max(rows, FIRST_POOL), BATCH), margins)
        while (missing := margins.empty(self.seen)) and self.drawn < BATCH:
            more, others = self._pool(BATCH, margins)
            pool, cells = pl.concat([pool, more]), np.concatenate([cells, others])
        if missing:
            raise OptionError(
                f"margins: {missing} is in none of {self.met:,} rows drawn",
                hint="give it no share: the method hardly ever makes it",
            )
        wanted = margins.counts(self.seen, rows)
        batches = -(-rows // BATCH)
        for batch in range(batches):
            lacking = wanted * (batch + 1) // batches - wanted * batch // batches
            parts = []
            while True:
                chosen = _first(cells, lacking)
                parts.append(pool[chosen])
                lacking = lacking - np.bincount(cells[chosen], minlength=margins.size)
                self.progress("sampling", rows * (batch + 1) // batches - int(lacking.sum()), rows)
                if not lacking.any():
                    break
                pool, cells = self._pool(self._enough(lacking, margins, rows), margins)
            made = pl.concat(parts)
            yield from made[self.shuffle(batch).permutation(made.height)].iter_slices(BATCH)
            pool, cells = pool[:0], cells[:0]
        if not rows:
            yield pool[:0]

    def _pool(self, size: int, margins: Margins) -> tuple[pl.DataFrame, Counts]:
        """Draw until something is met; gives also the cells."""
        pool = self._next(size)
        while not pool.height:
            self._give_up_if_rare(0)
            pool = self._next(BATCH)
        cells = margins.cells(Table(pool, self.schema))
        self.seen = self.seen + np.bincount(cells, minlength=margins.size)
        return pool, cells

    def _enough(self, lacking: Counts, margins: Margins, rows: int) -> int:
        """Say how many rows to draw for cells that are not full; give up where one is too rare.

        No more than 1,000 rows are drawn for each that is asked for, as with given values.
        """
        places = np.flatnonzero(lacking)
        needed = lacking[places] * self.drawn / self.seen[places]
        if self.drawn >= BATCH and needed.max() > RAREST * rows:
            rarest = places[np.argmax(needed)]
            raise OptionError(
                f"margins: {margins.name(rarest)} is in {self.seen[rarest]:,} of {self.drawn:,} "
                "rows drawn, too few to go on",
                hint="ask for fewer rows, or for shares nearer to those that the method makes",
            )
        return int(min(max(1.1 * needed.max(), FIRST_DRAW), BATCH))

    def _next(self, size: int) -> pl.DataFrame:
        """Draw rows once, and keep those that meet everything."""
        made, broken = self.held.outward(self.draw(size, self.number))
        frame = typed(made, self.held)
        table = Table(frame, self.schema)
        broken |= self.held.broken(table)
        good = np.ones(frame.height, bool)
        for text, fails in broken.items():
            self.broken[text] = self.broken.get(text, 0) + int(fails.sum())
            good &= ~fails
        if self.given is not None:
            good &= self.given.mask(table)
        self.number, self.drawn = self.number + 1, self.drawn + size
        self.met += int(good.sum())
        return frame if good.all() else frame.filter(good)

    def _give_up_if_rare(self, found: int) -> None:
        if self.drawn < BATCH or found * RAREST >= self.drawn:
            return
        what = f"given {self.given}: " if self.given is not None else ""
        worst = max(self.broken, key=lambda text: self.broken[text], default=None)
        if worst is None:
            message = f"{found:,} of {self.drawn:,} rows drawn match, too few to go on"
        else:
            message = (
                f"{found:,} of {self.drawn:,} rows drawn meet the constraints, too few to go on; "
                f"{worst} fails most, in {self.broken[worst]:,} rows"
            )
        if found:
            less = "drop the constraint" if self.given is None else "give less"
            hint = f"ask for no more than {found} rows, or {less}"
        elif self.given is not None:
            hint = "give less: a combination that rare is hardly ever made"
        else:
            hint = "drop the constraint, or use a method that learns the relation"
        raise OptionError(what + message, hint=hint)


def _first(cells: Counts, wanted: Counts) -> Counts:
    """Choose the first rows of each cell, as many as wanted."""
    order = np.argsort(cells, kind="stable")
    begin = np.searchsorted(cells[order], np.arange(len(wanted)))
    rank = np.arange(len(cells)) - begin[cells[order]]
    return np.sort(order[rank < wanted[cells[order]]])


def typed(made: pl.DataFrame, held: Held) -> pl.DataFrame:
    """Store each column in one way, in the order of the schema."""
    schema = held.fitted
    return made.select(one_type(made[name], schema[name]) for name in schema.modelled)


def one_type(series: pl.Series, column: Column) -> pl.Series:
    """Store a column in one way, whether or not words or huge numbers happen to be among it."""
    if not (column.is_numeric and series.dtype.is_numeric()):
        return series
    if set(column.levels) - {"inf", "-inf"}:
        return series.cast(pl.String)
    if series.dtype == pl.Int64 and column.bounds is not None:
        huge = max(-column.bounds[0], column.bounds[1]) >= 2**63
        return series.cast(pl.Int128) if huge else series
    return series


def complete(
    draw: Callable[[pl.DataFrame], pl.DataFrame], kept: pl.DataFrame, held: Held
) -> pl.DataFrame:
    """Draw the other columns of each record, again for those that break a constraint.

    A record has 1,000 draws at most.
    """

    def attempt(rows: pl.DataFrame) -> tuple[pl.DataFrame, Masks]:
        made, broken = held.outward(draw(rows))
        frame = typed(made, held)
        return frame, broken | held.broken(Table(frame, held.fitted))

    made, broken = attempt(kept)
    left = np.flatnonzero(np.logical_or.reduce([*broken.values(), np.zeros(made.height, bool)]))
    tries = 1
    while len(left) and tries < RAREST:
        copies = max(1, min(tries, RAREST - tries, BATCH // len(left)))
        again, broken = attempt(kept[np.repeat(left, copies)])
        good = ~np.logical_or.reduce(list(broken.values())).reshape(len(left), copies)
        found, first = good.any(axis=1), good.argmax(axis=1)
        index = np.arange(made.height)
        index[left[found]] = made.height + np.flatnonzero(found) * copies + first[found]
        made = pl.concat([made, again])[index]
        counts = {text: int(m.reshape(good.shape).all(axis=1).sum()) for text, m in broken.items()}
        left, tries = left[~found], tries + copies
    if len(left):
        worst = max(counts, key=lambda text: counts[text])
        raise OptionError(
            f"{len(left):,} of {made.height:,} records cannot meet the constraints given what is "
            f"kept of them, in {tries:,} draws each; {worst} fails most",
            hint="keep fewer columns, or drop the constraint",
        )
    return made
