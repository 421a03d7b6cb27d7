"""Columns that a method does not see as they are: what takes their place, and the way back.

``DerivedColumn``: computed or looked up after the draw. ``OrderedPair``: one column of two as its
difference from the other. ``OneHotGroup``: several columns as one category. ``CodeWords``: codes
among numbers as words. ``MissingWhere``: missing exactly where a condition says so. Each gives what
the method learns from (``inward``), and makes the columns of rows that were drawn (``outward``);
rows of which it is in doubt (out of the range of training, a level that nothing is known of) are
drawn again, a bounded number of times.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import write_values
from understudy.data.relations import Learnt, Relation
from understudy.data.relations.judging import is_missing, missing_where, truth, written_numbers
from understudy.data.schema import Column, Schema, Values, same_level
from understudy.data.tables import Table
from understudy.synthesizers.model_file import Damaged, State, number, texts

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Replaced = dict[str, tuple[Column, pl.Series] | None]  # none: the method sees nothing of it
PRESENT, MISSING = "present", "missing"
RARE = 0.01
KEY, VALUE = "key", "value"
READ = frozenset({"kind", "levels"})


class RelationStep(Protocol):
    """What holds one relation, or several of one column."""

    kind: ClassVar[str]

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns that it makes of others."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that must be made before."""

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""

    def inward(self, table: Table) -> Replaced:
        """Give what a method learns from in place of columns."""

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Make the columns; says also which rows it is in doubt of."""

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Describe a column that it makes, by what a method tells that it shows."""

    def to_dict(self) -> dict[str, Any]:
        """Give what the head of a model file says."""

    def frame(self) -> pl.DataFrame | None:
        """Give the frame of a model file."""


@dataclass(frozen=True)
class DerivedColumn:
    """A column that is computed, looked up or cut from others.

    Parameters
    ----------
    name : str
    learnt : tuple of Learnt
        One relation; several formulas that each speak of some rows.
    mode : {"drop", "missing", "own"}
        Whether a method sees nothing of it, whether it is missing, or all of it: where relations
        are silent in rows that have values, those are drawn.
    own_missing : bool
        Whether it is missing in rows where it could be computed.
    low, high : float
        The range of what may be computed.
    """

    kind: ClassVar[str] = "derived"
    name: str
    learnt: tuple[Learnt, ...]
    mode: str = "drop"
    own_missing: bool = False
    low: float = -np.inf
    high: float = np.inf

    @property
    def makes(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it is computed by."""
        return tuple(one.relation for one in self.learnt)

    @property
    def needs(self) -> tuple[str, ...]:
        """What it is computed from."""
        return tuple(dict.fromkeys(name for one in self.relations for name in one.sources))

    @classmethod
    def fit(
        cls, table: Table, relations: Sequence[Relation], *, k: int, reads: bool
    ) -> Self | None:
        """Learn from a table; none if nothing can be said."""
        name = str(relations[0].target)
        column = table.schema[name]
        if not reads:
            silent = any(one.said.where is not None for one in relations)
            low, high = column.bounds or (-np.inf, np.inf)
            mode = "own" if silent else "missing" if column.missing else "drop"
            return cls(name, tuple(map(Learnt, relations)), mode, column.missing, low, high)
        learnt = tuple(one.learn(table, k=k) for one in relations)
        if any(one.relation.kind != "formula" and not one.known.any() for one in learnt):
            return None
        made = cls(name, learnt)
        known = made.computed(table)[1]
        gone = is_missing(table, name)
        few = k if k > 1 else 1
        own_missing = int((known & gone).sum()) >= few
        values, silent_rows = int((~gone).sum()), int((~known & ~gone).sum())
        mode = "own" if silent_rows > (RARE * values if k > 1 else 0) else "drop"
        if mode == "drop" and own_missing:
            mode = MISSING
        low, high = value_range(table.numbers(name), column, k)
        return cls(name, learnt, mode, own_missing, low, high)

    def computed(self, table: Table) -> tuple[pl.Series, Mask]:
        """Compute the column; says also where something is known."""
        made, known = self.learnt[0].values(table, nearest=True)
        for one in self.learnt[1:]:
            more, where = one.values(table, nearest=True)
            made = _where(where, more, made)
            known = known | where
        if self.learnt[0].relation.kind == "formula":
            made = _where(known, made, None)
        return made.alias(self.name), known

    def inward(self, table: Table) -> Replaced:
        """Take the column out, or say only whether it is missing."""
        if self.mode == "own":
            return {}
        if self.mode == "drop":
            return {self.name: None}
        column = table.schema[self.name]
        gone = pl.Series(is_missing(table, self.name))
        texts = pl.select(pl.when(gone).then(pl.lit(MISSING)).otherwise(pl.lit(PRESENT)))
        told = Column(
            self.name,
            "category",
            levels=(MISSING, PRESENT),
            inferred=READ if column.inferred else frozenset(),
            predictors=column.predictors,
        )
        return {self.name: (told, texts.to_series().alias(self.name))}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Compute the column."""
        column = drawn.schema[self.name]
        made, known = self.computed(drawn)
        if self.mode == MISSING:
            gone = (drawn.frame[self.name].cast(pl.String) != PRESENT).fill_null(True).to_numpy()
            made = _where(~gone, made, None)
            doubt = np.zeros(drawn.height, bool)
        elif self.mode == "own":
            own = drawn.frame[self.name]
            gone = is_missing(drawn, self.name) if self.own_missing else np.zeros(len(own), bool)
            made = _where(known & ~gone, made, own)
            doubt = np.zeros(drawn.height, bool)
        else:
            doubt = made.is_null().to_numpy() & (not column.missing)
        return [made.alias(self.name)], doubt | self._out_of_range(made, known, column)

    def _out_of_range(self, made: pl.Series, known: Mask, column: Column) -> Mask:
        if self.learnt[0].relation.kind != "formula":
            return np.zeros(len(made), bool)
        table = Table(pl.DataFrame({self.name: made}), Schema((column,)))
        numbers = table.numbers(self.name)
        out = (numbers < self.low) | (numbers > self.high)
        if not column.is_numeric and column.levels:
            found = same_level(table.values(self.name).labels, column.levels)
            levels = same_level(pl.Series(column.levels, dtype=pl.String), column.levels)
            out = out | (~found.is_in(levels.to_list())).fill_null(False).to_numpy()
        made_out: Mask = known & out
        return made_out

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell the range, or the levels that are looked up."""
        if self.learnt[0].relation.kind == "formula":
            if not column.is_numeric:
                return column
            low, high = self.low, self.high
            if self.mode == "own" and told is not None and told.bounds is not None:
                low, high = min(low, told.bounds[0]), max(high, told.bounds[1])
            levels = told.levels if self.mode == "own" and told is not None else ()
            finite = np.isfinite(low) and np.isfinite(high)
            return dataclasses.replace(
                column, bounds=(low, high) if finite else None, levels=levels, why=""
            )
        shown = self.learnt[0].shown
        values = Table(pl.DataFrame({column.name: shown}), Schema((column,))).values(column.name)
        facts: dict[str, Any] = {"why": ""}
        if values.numbers is not None:
            numbers = values.numbers[~np.isnan(values.numbers)]
            facts["bounds"] = (float(numbers.min()), float(numbers.max())) if len(numbers) else None
        plain = same_level(values.labels.drop_nulls(), column.levels)
        seen = set(plain) | (set(told.levels) if self.mode == "own" and told is not None else set())
        same = same_level(pl.Series(column.levels, dtype=pl.String), column.levels)
        facts["levels"] = tuple(
            level
            for level, text in zip(column.levels, same, strict=True)
            if text in seen or level in seen
        )
        if self.mode == "own" and told is not None and told.bounds and facts.get("bounds"):
            low, high = facts["bounds"]
            facts["bounds"] = (min(low, told.bounds[0]), max(high, told.bounds[1]))
        return dataclasses.replace(column, **facts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        first = self.learnt[0]
        plain: dict[str, Any] = {
            "kind": self.kind,
            "name": self.name,
            "holds": [one.relation.text for one in self.learnt],
            "mode": self.mode,
            "own_missing": self.own_missing,
            "range": [None if np.isinf(end) else end for end in (self.low, self.high)],
            "digits": [one.digits for one in self.learnt],
        }
        if first.relation.kind == "classes":
            plain |= {"cuts": first.cuts.tolist(), "closed": first.closed.tolist()}
            plain["known"] = first.known.tolist()
        return plain

    def frame(self) -> pl.DataFrame | None:
        """The values of a lookup or of classes."""
        first = self.learnt[0]
        if first.relation.kind == "lookup":
            keys = pl.Series(KEY, first.keys, dtype=pl.String)
            return pl.DataFrame([keys, first.pool.alias(VALUE)])
        return first.pool.alias(VALUE).to_frame() if first.relation.kind == "classes" else None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], state: State, frame: str, names: Any) -> Self:
        """Take what was saved; refuse what does not fit together."""
        relations = [Relation.parse(text, names) for text in texts(plain["holds"])]
        digits = texts(plain["digits"])
        own = plain["own_missing"]
        if (
            not relations
            or len(digits) != len(relations)
            or any(one.target != plain["name"] for one in relations)
            or plain["mode"] not in ("drop", MISSING, "own")
            or type(own) is not bool
        ):
            raise Damaged("a column is computed from nothing")
        kinds = {one.kind for one in relations}
        if kinds - {"formula"} and (len(relations) > 1 or kinds - {"lookup", "classes"}):
            raise Damaged("a column is computed in two ways")
        low, high = (None if end is None else number(end) for end in plain["range"])
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        if kinds == {"formula"}:
            learnt = tuple(
                Learnt(one, digits=text) for one, text in zip(relations, digits, strict=True)
            )
        else:
            learnt = (_restored_pool(relations[0], plain, state, frame),)
        return cls(plain["name"], learnt, plain["mode"], own, *ends)


def _restored_pool(
    relation: Relation, plain: Mapping[str, Any], state: State, frame: str
) -> Learnt:
    if relation.kind == "lookup":
        pool = state.frame(frame, [KEY, VALUE])
        if pool.dtypes[0] != pl.String or not pool[KEY].is_unique().all():
            raise Damaged("a lookup has no keys of its own")
        known = np.ones(pool.height, bool)
        return Learnt(relation, keys=tuple(pool[KEY]), pool=pool[VALUE], known=known)
    pool = state.frame(frame, [VALUE])
    cuts = np.array([number(cut) for cut in plain["cuts"]], float)
    closed, known = plain["closed"], plain["known"]
    flags = [*closed, *known]
    if (
        not np.isfinite(cuts).all()
        or (np.diff(cuts) < 0).any()
        or not all(type(flag) is bool for flag in flags)
        or (len(closed), len(known), pool.height) != (len(cuts), len(cuts) + 1, len(cuts) + 1)
    ):
        raise Damaged("classes are not cut in order")
    return Learnt(
        relation,
        cuts=cuts,
        closed=np.array(closed, bool),
        pool=pool[VALUE],
        known=np.array(known, bool),
    )


def value_range(numbers: Floats, column: Column, k: int) -> tuple[float, float]:
    """Give the range that computed values may have: that of training, by averages of k ends.

    A range that a person declared is taken as it is.
    """
    if column.bounds is not None and column.source("bounds") == "declared":
        return column.bounds
    present = np.sort(numbers[~np.isnan(numbers)])
    if not len(present):
        return -np.inf, np.inf
    few = min(k, len(present))
    low, high = float(present[:few].mean()), float(present[-few:].mean())
    return min(low, high), max(low, high)


def _where(mask: Mask, one: pl.Series, other: pl.Series | None) -> pl.Series:
    """Take values of one series where it is said, else those of another or none, in one type."""
    if other is None:
        return pl.select(pl.when(pl.Series(mask)).then(one)).to_series()
    if one.dtype != other.dtype:
        numeric = one.dtype.is_numeric() and other.dtype.is_numeric()
        if numeric:
            one, other = one.cast(pl.Float64), other.cast(pl.Float64)
        elif other.dtype.is_temporal() or other.dtype == pl.Boolean:
            one = one.cast(other.dtype, strict=False)
        else:
            one, other = one.cast(pl.String), other.cast(pl.String)
    return pl.select(pl.when(pl.Series(mask)).then(one).otherwise(other)).to_series()


@dataclass(frozen=True)
class OrderedPair:
    """Two columns in order: ``start <= end``.

    Parameters
    ----------
    relation : Relation
    mode : {"up", "down", "redraw", "check"}
        The second is the first and a difference; the first is the second less a difference; both
        are drawn, and rows in the wrong order drawn again, the second raised at last; nothing can
        be raised, since both are made of others.
    unit : float
        What the difference is counted in.
    low, high : float
        The range of the column that is made.
    """

    kind: ClassVar[str] = "order"
    relation: Relation
    mode: str = "redraw"
    unit: float = 1.0
    low: float = -np.inf
    high: float = np.inf

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
            column.is_numeric and not column.levels and column.stored not in ("time",)
            for column in columns
        )
        if plain:
            numbers = [table.numbers(name) for name in names]
            gap = numbers[1] - numbers[0]
            steps = [column.step for column in columns]
            whole = all(step is not None for step in steps)
            unit = min(float(step or 1.0) for step in steps) if whole else 1.0
            for mode, own, base in (("up", 1, 0), ("down", 0, 1)):
                lost = ~np.isnan(numbers[own]) & np.isnan(numbers[base])
                known = ~np.isnan(gap)
                if names[own] not in free or lost.any() or not known.any():
                    continue
                if (gap[known] < 0).any() or np.std(gap[known]) > np.std(numbers[own][known]):
                    continue
                ends = value_range(numbers[own], columns[own], k)
                return cls(relation, mode, unit, *ends)
        return cls(relation, "redraw" if names[1] in free else "check")

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
            bounds=(float(known.min()), float(known.max())),
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
        made = _where(broken, raised, drawn.frame[self.made])
        return [made.alias(self.made)], doubt | broken

    def _moved(self, drawn: Table, column: Column) -> pl.Series:
        """Give the nearest values on the right side of the other column."""
        base = drawn.numbers(self.base)
        sign = -1.0 if self.mode == "down" else 1.0
        step = column.step
        strict = self.relation.said.sign == "<"
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
        own = {"mode": self.mode, "unit": self.unit, "range": ends}
        return {"kind": self.kind, "holds": self.relation.text, **own}

    def frame(self) -> pl.DataFrame | None:
        """None is needed."""
        return None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        if relation.kind != "order" or plain["mode"] not in ("up", "down", "redraw", "check"):
            raise Damaged("an order is none")
        low, high = (None if end is None else number(end) for end in plain["range"])
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        return cls(relation, plain["mode"], number(plain["unit"]), *ends)


@dataclass(frozen=True)
class OneHotGroup:
    """Columns of which exactly one is 1, as one category in the place of the first."""

    kind: ClassVar[str] = "one_hot"
    relation: Relation

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns."""
        return self.relation.sources

    @property
    def needs(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""
        return (self.relation,)

    def inward(self, table: Table) -> Replaced:
        """Put one category in the place of the columns."""
        names = self.relation.sources
        truths = np.stack([truth(table, name) for name in names])
        known = ~np.isnan(truths).any(axis=0) & (truths == 1).any(axis=0)
        place = pl.Series((truths == 1).argmax(axis=0)).set(pl.Series(~known), None)
        first = table.schema[names[0]]
        read = any(table.schema[name].inferred for name in names)
        told = Column(
            names[0],
            "category",
            levels=names,
            missing=not known.all(),
            inferred=READ if read else frozenset(),
            predictors=first.predictors,
        )
        series = pl.Series(names, dtype=pl.String).gather(place).alias(names[0])
        return {names[0]: (told, series), **dict.fromkeys(names[1:])}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Write 1 where the category is the column, 0 elsewhere."""
        chosen = drawn.frame[self.relation.sources[0]].cast(pl.String)
        made = []
        for name in self.relation.sources:
            zero, one = binary_levels(drawn.schema[name])
            texts = pl.select(
                pl.when(chosen == name).then(pl.lit(one)).when(chosen.is_not_null()).then(
                    pl.lit(zero)
                )
            ).to_series()
            column = drawn.schema[name]
            if column.is_numeric:
                numbers = texts.cast(pl.Float64).fill_null(float("nan")).to_numpy()
                made.append(written_numbers(numbers, column).alias(name))
            else:
                made.append(write_values(Values(None, texts), column).alias(name))
        complete = not any(drawn.schema[name].missing for name in self.relation.sources)
        return made, chosen.is_null().to_numpy() & complete

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell 0 and 1."""
        return dataclasses.replace(column, why="")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "holds": self.relation.text}

    def frame(self) -> pl.DataFrame | None:
        """None is needed."""
        return None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        if relation.kind != "one_hot":
            raise Damaged("a group of columns is none")
        return cls(relation)


def binary_levels(column: Column) -> tuple[str, str]:
    """Give how a column writes 0 and 1: as they are, or ``False`` and ``True``."""
    words = {level.lower(): level for level in column.levels}
    for zero, one in (("0", "1"), ("false", "true")):
        if zero in words or one in words:
            other = {"0": "0", "1": "1"}
            cased = str.title if words.get(zero, words.get(one, ""))[:1].isupper() else str
            other |= {"false": cased("false"), "true": cased("true")}
            return words.get(zero, other[zero]), words.get(one, other[one])
    return ("false", "true") if column.stored == "boolean" else ("0", "1")


@dataclass(frozen=True)
class CodeWords:
    """Numbers that are no quantities, as words: no average and no bin mixes them with others."""

    kind: ClassVar[str] = "code"
    relation: Relation

    @property
    def name(self) -> str:
        """The column."""
        return str(self.relation.target)

    @property
    def makes(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def needs(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""
        return (self.relation,)

    @property
    def words(self) -> dict[str, str]:
        """The word of each code."""
        return {f"code {text}": text for text in self.relation.said.values}

    def inward(self, table: Table) -> Replaced:
        """Write words for the codes."""
        column, values = table.schema[self.name], table.values(self.name)
        assert values.numbers is not None
        numbers, labels = values.numbers.copy(), values.labels
        for word, text in self.words.items():
            here = numbers == float(text)
            numbers[here] = np.nan
            labels = labels.set(pl.Series(here), word)
        bounds, present = column.bounds, numbers[~np.isnan(numbers)]
        if "bounds" in column.inferred and len(present):
            bounds = (float(present.min()), float(present.max()))
        told = dataclasses.replace(column, levels=(*column.levels, *self.words), bounds=bounds)
        written = write_values(Values(numbers, labels), told).cast(pl.String)
        return {self.name: (told, written.alias(self.name))}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Write the codes for the words."""
        column, series = drawn.schema[self.name], drawn.frame[self.name]
        if series.dtype == pl.String:
            series = series.replace(self.words)
            if not set(column.levels) - {"inf", "-inf"}:
                series = series.cast(pl.Float64, strict=False)
        if column.stored == "integer" and series.dtype.is_float():
            series = series.round().cast(pl.Int64, strict=False)
        return [series.alias(self.name)], np.zeros(drawn.height, bool)

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell what is shown, the codes as numbers."""
        if told is None:
            return column
        shown = [float(text) for word, text in self.words.items() if word in told.levels]
        ends = [*(told.bounds or ()), *shown]
        return dataclasses.replace(
            told,
            levels=tuple(level for level in told.levels if level not in self.words),
            bounds=(min(ends), max(ends)) if ends else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "holds": self.relation.text}

    def frame(self) -> pl.DataFrame | None:
        """None is needed."""
        return None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        if relation.kind != "code":
            raise Damaged("codes of a column are none")
        return cls(relation)


@dataclass(frozen=True)
class MissingWhere:
    """A column that is missing exactly where a condition is met."""

    kind: ClassVar[str] = "missing"
    relation: Relation

    @property
    def name(self) -> str:
        """The column."""
        return str(self.relation.target)

    @property
    def makes(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the condition."""
        return self.relation.sources

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""
        return (self.relation,)

    def inward(self, table: Table) -> Replaced:
        """Leave the column as it is."""
        return {}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Take values out where they are to be missing; where not, take that of another row."""
        where = missing_where(self.relation, drawn)
        lacking = is_missing(drawn, self.name) & ~where
        made = _where(~where, drawn.frame[self.name], None)
        if lacking.any():
            if made.dtype.is_float():
                made = made.fill_nan(None)
            filled = made.forward_fill().backward_fill()
            made = _where(lacking, filled, made)
        return [made.alias(self.name)], lacking

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell what the method tells."""
        return column if told is None else told

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "holds": self.relation.text}

    def frame(self) -> pl.DataFrame | None:
        """None is needed."""
        return None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        if relation.kind != "missing":
            raise Damaged("a column is missing nowhere")
        return cls(relation)
