"""Margins: rows in given shares, ``sex=F:0.5,M:0.5``, for one column or several.

The cells of the columns get the shares that are nearest to what the method makes (iterative
proportional fitting, Deming and Stephan 1940) and whole numbers of rows; within a cell, rows are
those that the method makes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.data.tables import Condition, Table
from understudy.errors import OptionError
from understudy.synthesizers.given import given_condition

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
                others = tuple(i for i in range(table.ndim) if i != axis)
                now = table.sum(axis=others, keepdims=True)
                target = np.reshape(shares, now.shape)
                table = table * np.divide(target, now, out=np.zeros_like(now), where=now > 0)
            if self._apart(table) < NEAR:
                return table
        if self._apart(table) > 1e-4:
            raise OptionError(
                f"margins {self}: no shares of what the method makes meet all of them",
                hint="values that never occur together cannot all have their share; give fewer",
            )
        return table

    def _apart(self, table: Floats) -> float:
        worst = 0.0
        for axis, shares in enumerate(self.shares):
            others = tuple(i for i in range(table.ndim) if i != axis)
            worst = max(worst, float(np.abs(table.sum(axis=others) - shares).max()))
        return worst

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


def _apportion(exact: Floats, total: int) -> Counts:
    """Round to whole numbers that sum to a total, by the largest remainders."""
    made = np.floor(exact + NEAR).astype(np.int64)
    order = np.argsort(-(exact - made), kind="stable")
    made[order[: total - int(made.sum())]] += 1
    return made


def _whole(exact: Floats, wanted: list[Counts], rows: int) -> Counts:
    """Round a table up or down, cell by cell, so that its margins are whole numbers given.

    For two margins there always is such a table (Cox 1987); for more, the margins may be missed
    by as little as can be.
    """
    if exact.ndim == 1:
        return wanted[0]
    from scipy.optimize import Bounds, LinearConstraint, milp

    floor = np.floor(exact + NEAR).astype(np.int64)
    free = np.flatnonzero(exact.ravel() > NEAR)
    rest = (exact - floor).ravel()[free]
    lines, sums = [], []
    for axis, target in enumerate(wanted):
        place = np.unravel_index(free, exact.shape)[axis]
        others = tuple(i for i in range(exact.ndim) if i != axis)
        lines.append(place == np.arange(len(target))[:, None])
        sums.append(target - floor.sum(axis=others))
    matrix, need = np.vstack(lines).astype(float), np.concatenate(sums).astype(float)
    slack = np.eye(len(need))
    price = np.concatenate([1 - 2 * rest, np.full(2 * len(need), 1000.0)])
    found = milp(
        price,
        integrality=np.r_[np.ones(len(free)), np.zeros(2 * len(need))],
        bounds=Bounds(0, np.r_[np.ones(len(free)), np.full(2 * len(need), np.inf)]),
        constraints=[
            LinearConstraint(np.hstack([matrix, slack, -slack]), need, need),
            LinearConstraint(
                np.r_[np.ones(len(free)), np.zeros(2 * len(need))][None, :],
                rows - floor.sum(),
                rows - floor.sum(),
            ),
        ],
        options={"node_limit": MOST_NODES},
    )
    made: Counts = floor.ravel()
    if found.x is None:
        return _apportion(exact.ravel(), rows).reshape(exact.shape)
    made[free] += np.round(found.x[: len(free)]).astype(np.int64)
    return made.reshape(exact.shape)
