"""Drawing rows until there are enough that meet what is asked for: bounded, or an error says why.

Rows are drawn and those that break a constraint, or lack a given value, are left out. Nothing else
decides: never how near a row is to training. ``Margins`` are rows in given shares,
``sex=F:0.5,M:0.5``, for one column or several: the cells of the columns get the shares that are
nearest to what the method makes (iterative proportional fitting, Deming and Stephan 1940) and whole
numbers of rows; within a cell, rows are those that the method makes.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Schema
from understudy.data.tables import Condition, Table
from understudy.errors import OptionError
from understudy.jobs.progress import Progress
from understudy.synthesizers.constraints import given_condition
from understudy.synthesizers.holding import Held, Masks
from understudy.synthesizers.pseudonyms import Seated

BATCH = 100_000
FIRST_DRAW = 1_000
FIRST_POOL = 10_000
RAREST = 1_000
DOUBTS = 20  # rows drawn for each that is asked for, before rows in doubt are taken
IN_DOUBT = (
    "hold what training does not (a computed value out of its range, or an order that could not "
    "be kept): too few others were made"
)
HINT = "write such as sex=F:0.5,M:0.5"
ROUNDS = 1_000
NEAR = 1e-9
MOST_CELLS = 10_000
MOST_NODES = 200

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Margins:
    """The shares of some values of some columns; all other values of a column share the rest."""

    names: tuple[str, ...]
    levels: tuple[tuple[Condition, ...], ...]
    shares: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, wanted: Mapping[str, Mapping[Any, float]], schema: Schema) -> "Margins":
        """Check what is asked for against what the method makes.

        Examples
        --------
        >>> from understudy.data.schema import Column
        >>> schema = Schema((Column("sex", "category", levels=("F", "M")),))
        >>> str(Margins.of({"sex": {"F": 0.6, "M": 0.4}}, schema))
        'sex: F 0.6, M 0.4'
        """
        if not wanted:
            raise OptionError("margins: no column is named", hint=HINT)
        levels, shares = [], []
        for name, given in wanted.items():
            if not isinstance(given, Mapping) or not given:
                raise OptionError(f"margins: no share of a value of '{name}'", hint=HINT)
            try:
                levels.append(tuple(given_condition({name: value}, schema) for value in given))
            except OptionError as error:
                told = error.message.removeprefix("given").removeprefix(":").strip()
                raise OptionError(f"margins: {told}", hint=error.hint) from error
            if len(set(levels[-1])) < len(levels[-1]):
                raise OptionError(
                    f"margins: a value of '{name}' stands twice", hint="give one share of it"
                )
            shares.append(_shares(name, given))
        made = cls(tuple(wanted), tuple(levels), tuple(shares))
        if made.size > MOST_CELLS:
            raise OptionError(
                f"margins: {made.size:,} combinations of values",
                hint=f"name fewer columns or values; {MOST_CELLS:,} are the most",
            )
        return made

    def __str__(self) -> str:
        return "; ".join(
            f"{name}: {', '.join(f'{_value(c)} {s:g}' for c, s in zip(own, given, strict=False))}"
            for name, own, given in zip(self.names, self.levels, self.shares, strict=True)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each column, the others together as one more."""
        return tuple(len(shares) for shares in self.shares)

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def cells(self, table: Table) -> Counts:
        """Give the cell of each row."""
        places = []
        for own in self.levels:
            place = np.full(table.height, len(own))
            for number, condition in enumerate(own):
                place[condition.mask(table)] = number
            places.append(place)
        made: Counts = np.ravel_multi_index(places, self.shape).astype(np.int64)
        return made

    def empty(self, seen: Counts) -> str | None:
        """Name a value that has a share and, by counts of cells, no row."""
        table = seen.reshape(self.shape)
        for axis, shares in enumerate(self.shares):
            for number, share in enumerate(shares):
                if share > 0 and not np.take(table, number, axis).any():
                    return self._level(axis, number)
        return None

    def counts(self, seen: Counts, rows: int) -> Counts:
        """Give the number of rows of each cell, by counts of what the method makes."""
        table = seen.reshape(self.shape)
        fitted = self._rake(table / table.sum()) * rows
        wanted = [_apportion(np.array(shares) * rows, rows) for shares in self.shares]
        return _whole(fitted, wanted, rows).ravel()

    def _rake(self, table: Floats) -> Floats:
        for _ in range(ROUNDS):
            for axis, shares in enumerate(self.shares):
                now = _sums(table, axis)
                factor = np.divide(shares, now, out=np.zeros_like(now), where=now > 0)
                table = table * np.expand_dims(factor, _others(table, axis))
            if self._apart(table) < NEAR:
                return table
        if self._apart(table) > 1e-4:
            raise OptionError(
                f"margins {self}: no shares of what the method makes meet all of them",
                hint="values that never occur together cannot all have their share; give fewer",
            )
        return table

    def _apart(self, table: Floats) -> float:
        apart = (np.abs(_sums(table, i) - shares).max() for i, shares in enumerate(self.shares))
        return float(max(apart))

    def name(self, cell: int) -> str:
        """Name a cell."""
        places = np.unravel_index(cell, self.shape)
        return " and ".join(self._level(axis, int(place)) for axis, place in enumerate(places))

    def _level(self, axis: int, number: int) -> str:
        own = self.levels[axis]
        return str(own[number]) if number < len(own) else f"another value of '{self.names[axis]}'"


def _shares(name: str, given: Mapping[Any, float]) -> tuple[float, ...]:
    """Check shares, and add what is left for all other values."""
    made = []
    for value, share in given.items():
        number = isinstance(share, int | float) and not isinstance(share, bool)
        if not (number and math.isfinite(share) and share >= 0):
            raise OptionError(f"margins: {name}={value}:{share} is no share", hint=HINT)
        made.append(float(share))
    total = math.fsum(made)
    if total > 1 + NEAR:
        raise OptionError(
            f"margins: the shares of '{name}' sum to {total:g}", hint="shares sum to 1 at most"
        )
    rest = 1 - total
    return (*made, rest if rest > NEAR else 0.0)


def _value(condition: Condition) -> str:
    test: Any = condition.root
    return str(test.values[0]) if test.values else "missing"


def _others(table: Any, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(table.ndim) if i != axis)


def _sums(table: Any, axis: int) -> Any:
    return table.sum(axis=_others(table, axis))


def _apportion(exact: Floats, total: int) -> Counts:
    """Round to whole numbers that sum to a total, by the largest remainders."""
    made = np.floor(exact + NEAR).astype(np.int64)
    order = np.argsort(-(exact - made), kind="stable")
    made[order[: total - int(made.sum())]] += 1
    return made


def _whole(exact: Floats, wanted: list[Counts], rows: int) -> Counts:
    """Round a table up or down, cell by cell, so that its margins are whole numbers given.

    Two margins can be rounded together with their table (Cox 1987); these are rounded before it, so
    now and then no such table exists. Margins are then missed by as little as can be.
    """
    if exact.ndim == 1:
        return wanted[0]
    from scipy.optimize import Bounds, LinearConstraint, milp

    floor = np.floor(exact + NEAR).astype(np.int64)
    free = np.flatnonzero(exact.ravel() > NEAR)
    rest = (exact - floor).ravel()[free]
    places = np.unravel_index(free, exact.shape)
    lines = [places[i] == np.arange(len(target))[:, None] for i, target in enumerate(wanted)]
    need = np.concatenate([target - _sums(floor, i) for i, target in enumerate(wanted)])
    slack, many = np.eye(len(need)), 2 * len(need)
    is_cell = np.r_[np.ones(len(free)), np.zeros(many)]
    total = rows - floor.sum()
    found = milp(
        np.r_[1 - 2 * rest, np.full(many, 1000.0)],
        integrality=is_cell,
        bounds=Bounds(0, np.where(is_cell, 1, np.inf)),
        constraints=[
            LinearConstraint(np.hstack([np.vstack(lines), slack, -slack]), need, need),
            LinearConstraint(is_cell[None, :], total, total),
        ],
        options={"node_limit": MOST_NODES},
    )
    made: Counts = floor.ravel()
    if found.x is None:
        return _apportion(exact.ravel(), rows).reshape(exact.shape)
    made[free] += np.round(found.x[: len(free)]).astype(np.int64)
    return made.reshape(exact.shape)


@dataclass
class Drawing:
    """A source of rows, the constraints that they meet, and given values or none.

    ``draw`` makes a number of rows of a numbered batch, as the method shows them; ``shuffle`` gives
    the random stream of a batch whose rows are put in another order, ``name`` that of a batch
    whose rows get pseudonyms.
    """

    draw: Callable[[int, int], pl.DataFrame]
    held: Held
    progress: Progress
    shuffle: Callable[[int], np.random.Generator]
    name: Callable[[int], np.random.Generator]
    given: Condition | None = None
    number: int = field(default=0, init=False)
    drawn: int = field(default=0, init=False)
    met: int = field(default=0, init=False)
    broken: dict[str, int] = field(default_factory=dict, init=False)
    seen: Counts = field(default_factory=lambda: np.zeros(1, np.int64), init=False)
    wanted: int = field(default=0, init=False)
    possible: int = field(default=0, init=False)
    late: int = field(default=0, init=False)
    doubted: int = field(default=0, init=False)

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return self.held.fitted

    def rows(self, rows: int, margins: Margins | None = None) -> Iterator[pl.DataFrame]:
        """Make rows in frames of at most 100,000, identifiers and all."""
        self.wanted = rows
        if margins is not None:
            frames = self._balanced(rows, margins)
        elif self.held.rejects or self.given is not None:
            frames = self._meeting(rows)
        else:
            frames = self._all(rows)
        done, seated = 0, dict[str, Seated]()
        for number, frame in enumerate(frames):
            yield self.held.identified(frame, done, rows, self.name(number), seated)
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
            if self.held.related and self.possible:  # no more than until rows in doubt are taken
                left = DOUBTS * self.wanted - self.possible
                need = min(need, max(left, rows - found) * self.drawn // self.possible)
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
        """Draw rows once, and keep those that meet everything.

        Rows of which relations are in doubt are left out as well, until many more have been drawn
        than are asked for.
        """
        made, broken, doubt = self.held.outward(self.draw(size, self.number))
        frame = typed(made, self.held)
        table = Table(frame, self.schema)
        broken |= self.held.broken(table)
        good = np.ones(frame.height, bool)
        for text, fails in broken.items():
            self.broken[text] = self.broken.get(text, 0) + int(fails.sum())
            good &= ~fails
        if self.given is not None:
            good &= self.given.mask(table)
        redraws = self.possible < DOUBTS * self.wanted
        self.possible += int(good.sum())
        if redraws:
            good &= ~doubt
        else:
            self.late += int(good.sum())
            self.doubted += int((good & doubt).sum())
        self.number, self.drawn = self.number + 1, self.drawn + size
        self.met += int(good.sum())
        return frame if good.all() else frame.filter(good)

    def notes(self) -> list[str]:
        """Say that rows were taken although relations were in doubt of them."""
        if not self.doubted:
            return []
        return [f"of the rows drawn last, {self.doubted / self.late:.0%} {IN_DOUBT}"]

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
) -> tuple[pl.DataFrame, list[str]]:
    """Draw the other columns of each record, again for those that break a constraint.

    A record has 1,000 draws at most, and 20 where nothing but a relation is in doubt of it; how
    many stay so is said.
    """
    doubts = "a relation"

    def attempt(rows: pl.DataFrame, tries: int) -> tuple[pl.DataFrame, Masks]:
        made, broken, doubt = held.outward(draw(rows))
        frame = typed(made, held)
        if held.related and tries < DOUBTS:
            broken[doubts] = doubt
        return frame, broken | held.broken(Table(frame, held.fitted))

    made, broken = attempt(kept, 0)
    said: list[str] = []
    left = np.flatnonzero(np.logical_or.reduce([*broken.values(), np.zeros(made.height, bool)]))
    tries = 1
    while len(left) and tries < RAREST:
        copies = max(1, min(tries, RAREST - tries, BATCH // len(left)))
        if tries >= DOUBTS and held.related and not said:
            said = [f"up to {len(left):,} of {made.height:,} records {IN_DOUBT}"]
        again, broken = attempt(kept[np.repeat(left, copies)], tries)
        every = [*broken.values(), np.zeros(again.height, bool)]
        good = ~np.logical_or.reduce(every).reshape(len(left), copies)
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
    return made, said
