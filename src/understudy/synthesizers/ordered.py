"""Two columns in order, such as ``start <= end``: by a difference, or by raising one of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from understudy.data.bins import Points, nearest
from understudy.data.codec import write_values
from understudy.data.relations import Relation
from understudy.data.relations.judging import written_numbers
from understudy.data.schema import Column, Values
from understudy.data.shown import shown_codec
from understudy.data.tables import Table
from understudy.synthesizers.derived import (
    VALUE,
    Floats,
    Mask,
    Replaced,
    taken_where,
    value_range,
)
from understudy.synthesizers.model_file import Damaged, State, number

TIES = 0.02  # of the rows: two numbers that are often equal
NARROW = 0.5  # then: beside a wider difference, the column would lose values that many rows hold
LARGEST = 2.0**60  # microseconds of dates lie below it; whole numbers beyond are rounded


@dataclass(frozen=True)
class OrderedPair:
    """Two columns in order: ``start <= end``.

    Parameters
    ----------
    relation : Relation
    mode : {"up", "down", "redraw", "check"}
        The second is the first and a difference; the first is the second less a difference; both
        are drawn, and where they are in the wrong order the second is raised; nothing can be
        raised, since both are made of others.
    unit : float
        What the difference is counted in.
    low, high : float
        The range of the column that is made.
    shown : array of float
        The numbers that the column may show, in order, where a method promises which.
    ties : bool
        Whether many rows of training hold equal numbers. If not, rows of which a number would be
        raised to the other are drawn again before.
    """

    kind: ClassVar[str] = "order"
    relation: Relation
    mode: str = "redraw"
    unit: float = 1.0
    low: float = -np.inf
    high: float = np.inf
    shown: Floats = field(default_factory=lambda: np.empty(0))
    ties: bool = False

    @property
    def made(self) -> str:
        """The column that is made."""
        return self.relation.sources[0 if self.mode == "down" else 1]

    @property
    def base(self) -> str:
        """The other column."""
        return self.relation.sources[1 if self.mode == "down" else 0]

    @property
    def makes(self) -> tuple[str, ...]:
        """The column that is made."""
        return () if self.mode == "check" else (self.made,)

    @property
    def needs(self) -> tuple[str, ...]:
        """The other column."""
        return self.relation.sources if self.mode == "check" else (self.base,)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""
        return (self.relation,)

    @classmethod
    def fit(cls, table: Table, relation: Relation, free: Sequence[str], k: int) -> Self:
        """Choose how to hold it: by a difference where that varies less than the column."""
        names = relation.sources
        columns = [table.schema[name] for name in names]
        plain = all(
            column.is_numeric
            and not column.levels
            and column.stored != "time"
            and max(map(abs, column.bounds or (0.0,))) < LARGEST
            for column in columns
        )
        ties = False
        if plain:
            numbers = [table.numbers(name) for name in names]
            gap = numbers[1] - numbers[0]
            ties = float((gap == 0).mean()) >= TIES
            steps = [column.step for column in columns]
            whole = all(step is not None for step in steps)
            unit = min(float(step or 1.0) for step in steps) if whole else 1.0
            for mode, own, base in (("up", 1, 0), ("down", 0, 1)):
                lost = ~np.isnan(numbers[own]) & np.isnan(numbers[base])
                known = ~np.isnan(gap)
                if names[own] not in free or lost.any() or not known.any():
                    continue
                most = (NARROW if ties else 1.0) * np.std(numbers[own][known])
                if (gap[known] < 0).any() or np.std(gap[known]) > most:
                    continue
                ends = value_range(numbers[own], columns[own], k)
                shown = shown_numbers(table, names[own], k)
                return cls(relation, mode, unit, *ends, shown)
        mode = "redraw" if names[1] in free else "check"
        return cls(relation, mode, shown=shown_numbers(table, names[1], k), ties=ties)

    def inward(self, table: Table) -> Replaced:
        """Put the difference in the place of the column."""
        if self.mode not in ("up", "down"):
            return {}
        gap = np.subtract(*(table.numbers(name) for name in reversed(self.relation.sources)))
        columns = [table.schema[name] for name in self.relation.sources]
        whole = all(column.step is not None for column in columns)
        own, known = table.schema[self.made], gap[~np.isnan(gap)]
        decimals = None
        if whole:
            gap = np.round(gap / self.unit)
            decimals = 0
            known = gap[~np.isnan(gap)]
        told = Column(
            self.made,
            "number",
            stored="integer" if whole else "float",
            decimals=decimals,
            bounds=(float(known.min()), float(known.max())) if len(known) else None,
            missing=own.missing,
            inferred=own.inferred,
            method=own.method,
            predictors=own.predictors,
        )
        none = pl.Series([None] * len(gap), dtype=pl.String)
        return {self.made: (told, write_values(Values(gap, none), told).alias(self.made))}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Add the difference, or raise what is too small."""
        column = drawn.schema[self.made]
        doubt = np.zeros(drawn.height, bool)
        if self.mode in ("up", "down"):
            gap = drawn.frame[self.made].cast(pl.Float64, strict=False)
            difference = gap.fill_null(float("nan")).to_numpy()
            if drawn.schema[self.base].step is not None and column.step is not None:
                difference = difference * self.unit
            sign = 1 if self.mode == "up" else -1
            numbers = drawn.numbers(self.base) + sign * difference
            if len(self.shown):
                numbers = np.where(np.isnan(numbers), np.nan, self._allowed(numbers))
            made = written_numbers(numbers, column)
            doubt = (numbers < self.low) | (numbers > self.high)
            doubt |= np.isnan(numbers) & (not column.missing)
            drawn = dataclasses.replace(
                drawn, frame=drawn.frame.with_columns(made.alias(self.made))
            )
        broken = self.relation.judge(drawn).breaks
        if not broken.any() or self.mode == "check":
            return [drawn.frame[self.made]] if self.makes else [], doubt | broken
        raised = self._moved(drawn, column)
        made = taken_where(broken, raised, drawn.frame[self.made])
        if not self.ties:
            doubt |= broken
        else:
            doubt |= broken & raised.is_null().to_numpy()
        return [made.alias(self.made)], doubt

    def _allowed(self, numbers: Floats) -> Floats:
        """Give the nearest numbers that may be shown."""
        made: Floats = self.shown[nearest(self.shown, np.nan_to_num(numbers))]
        return made

    def _moved(self, drawn: Table, column: Column) -> pl.Series:
        """Give the nearest values on the right side of the other column; missing if none is."""
        base = drawn.numbers(self.base)
        sign = -1.0 if self.mode == "down" else 1.0
        step = column.step
        strict = self.relation.said.sign == "<"
        if len(self.shown):
            shown = np.concatenate([[np.nan], self.shown, [np.nan]])
            place = np.searchsorted(self.shown, base, "right" if strict == (sign > 0) else "left")
            return written_numbers(shown[place + (sign > 0)], column)
        if step is None:
            return written_numbers(np.nextafter(base, sign * np.inf) if strict else base, column)
        numbers = np.where(sign > 0, np.ceil(base / step - 1e-9), np.floor(base / step + 1e-9))
        if strict:
            numbers = np.where(np.abs(numbers * step - base) < step * 1e-6, numbers + sign, numbers)
        return written_numbers(numbers * step, column)

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell the range."""
        if self.mode in ("up", "down"):
            finite = np.isfinite(self.low) and np.isfinite(self.high)
            bounds = (self.low, self.high) if finite else None
            return dataclasses.replace(column, bounds=bounds, levels=(), why="")
        return column if told is None else told

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        ends = [None if np.isinf(end) else end for end in (self.low, self.high)]
        own = {"mode": self.mode, "unit": self.unit, "range": ends, "ties": self.ties}
        return {"kind": self.kind, "holds": self.relation.text, **own}

    def frame(self) -> pl.DataFrame | None:
        """The numbers that may be shown."""
        return pl.DataFrame({VALUE: self.shown}) if len(self.shown) else None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], state: State, frame: str, names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        shown = np.empty(0)
        if frame in state.frames:
            pool = state.frame(frame, [VALUE])
            if pool.dtypes != [pl.Float64] or not pool[VALUE].is_finite().all():
                raise Damaged("a column shows what is no number")
            shown = np.sort(pool[VALUE].to_numpy())
        if relation.kind != "order" or plain["mode"] not in ("up", "down", "redraw", "check"):
            raise Damaged("an order is none")
        low, high = (None if end is None else number(end) for end in plain["range"])
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        if not isinstance(ties := plain.get("ties", False), bool):
            raise Damaged("whether two columns are often equal is not said")
        return cls(relation, plain["mode"], number(plain["unit"]), *ends, shown, ties)


def shown_numbers(table: Table, name: str, k: int) -> Floats:
    """Give the numbers of a column that a method may show which promises k; empty: any."""
    if k < 2 or not table.schema[name].is_numeric:
        return np.empty(0)
    single = table.frame[name].dtype == pl.Float32
    codec = shown_codec(table.values(name), table.schema[name], k, single=single)[0]
    return np.unique(codec.numbers.values) if isinstance(codec.numbers, Points) else np.empty(0)
