"""Columns that are computed, looked up or cut from others once a method has drawn those.

A step that holds relations gives what a method learns from in place of columns (``inward``), and
makes the columns of the rows that were drawn (``outward``). Rows of which it is in doubt (a value
out of the range of training, a level that nothing is known of) are drawn again, a bounded number of
times.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.relations import Learnt, Relation
from understudy.data.relations.judging import is_missing
from understudy.data.schema import Column, Schema, same_level
from understudy.data.tables import Table
from understudy.synthesizers.model_file import Damaged, State, number, texts

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Replaced = dict[str, tuple[Column, pl.Series] | None]  # none: the method sees nothing of it
PRESENT, MISSING, WORD = "present", "missing", "word "
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
    mode : {"drop", "status", "own"}
        Whether a method sees nothing of it, whether it is a number, a word or missing, or all of
        it: where relations are silent in rows that have values, those are drawn.
    own_missing : bool
        Whether it is missing, or a word among numbers, in rows where it could be computed.
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
            own = column.missing or (column.is_numeric and bool(column.levels))
            mode = "own" if silent else "status" if own else "drop"
            return cls(name, tuple(map(Learnt, relations)), mode, own, low, high)
        learnt = tuple(one.learn(table, k=k) for one in relations)
        if any(one.relation.kind != "formula" and not one.known.any() for one in learnt):
            return None
        made = cls(name, learnt)
        computed, known = made.computed(table)
        gone = _not_computed(table, name)
        own_missing = int((known & gone & computed.is_not_null().to_numpy()).sum()) >= k
        values, silent_rows = int((~gone).sum()), int((~known & ~is_missing(table, name)).sum())
        mode = "own" if silent_rows > (RARE * values if k > 1 else 0) else "drop"
        if mode == "drop" and own_missing:
            mode = "status"
        low, high = value_range(table.numbers(name), column, k)
        return cls(name, learnt, mode, own_missing, low, high)

    def computed(self, table: Table) -> tuple[pl.Series, Mask]:
        """Compute the column; says also where something is known."""
        made, known = self.learnt[0].values(table, nearest=True)
        for one in self.learnt[1:]:
            more, where = one.values(table, nearest=True)
            made = taken_where(where, more, made)
            known = known | where
        if self.learnt[0].relation.kind == "formula":
            made = taken_where(known, made, None)
        return made.alias(self.name), known

    def inward(self, table: Table) -> Replaced:
        """Take the column out, or say only whether it is missing."""
        if self.mode == "own":
            return {}
        if self.mode == "drop":
            return {self.name: None}
        column = table.schema[self.name]
        gone = pl.Series(is_missing(table, self.name))
        status = pl.when(gone).then(pl.lit(MISSING))
        words = [f"{WORD}{word}" for word in column.levels] if column.is_numeric else []
        if words:
            labels = table.values(self.name).labels
            word = pl.when(labels.is_not_null()).then(pl.lit(WORD) + labels)
            texts = pl.select(status.otherwise(word.otherwise(pl.lit(PRESENT)))).to_series()
        else:
            texts = pl.select(status.otherwise(pl.lit(PRESENT))).to_series()
        told = Column(
            self.name,
            "category",
            levels=(MISSING, PRESENT, *words),
            inferred=READ if column.inferred else frozenset(),
            predictors=column.predictors,
        )
        return {self.name: (told, texts.alias(self.name))}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Compute the column."""
        column = drawn.schema[self.name]
        made, known = self.computed(drawn)
        if self.mode == "status":
            status = drawn.frame[self.name].cast(pl.String)
            known = known & (status == PRESENT).fill_null(False).to_numpy()
            made = taken_where(known, made, None)
            words = status.str.strip_prefix(WORD)
            is_word = status.str.starts_with(WORD).fill_null(False)
            if is_word.any():
                if set(words.filter(is_word)) <= {"inf", "-inf"}:
                    words = words.cast(pl.Float64, strict=False)
                made = taken_where(is_word.to_numpy(), words, made)
            doubt = np.zeros(drawn.height, bool)
        elif self.mode == "own":
            own = drawn.frame[self.name]
            none = np.zeros(len(own), bool)
            gone = _not_computed(drawn, self.name) if self.own_missing else none
            made = taken_where(known & ~gone, made, own)
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
            levels: tuple[str, ...] = ()
            if told is not None:
                words = (level for level in told.levels if level not in (PRESENT, MISSING))
                levels = tuple(level.removeprefix(WORD) for level in words)
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
            or plain["mode"] not in ("drop", "status", "own")
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
    """Give the range that computed values may have: that of training.

    Where a method promises k, the k - 1 smallest and largest numbers are left out, and the ends
    are averages of the next k, or a value beyond that at least k rows hold; of fewer rows there is
    no range. One that a person declared is taken as it is.
    """
    if column.bounds is not None and column.source("bounds") == "declared":
        return column.bounds
    present = np.sort(numbers[~np.isnan(numbers)])
    if len(present) < 2 * k - 1:
        return -np.inf, np.inf
    values, counts = np.unique(present, return_counts=True)
    inside = [present[k - 1 : 2 * k - 1].mean(), present[len(present) - 2 * k + 1 :][:k].mean()]
    ends = [float(end) for end in (*inside, *values[counts >= k])]
    return min(ends), max(ends)


def _not_computed(table: Table, name: str) -> Mask:
    """Say where a column is missing, or a word among numbers."""
    values = table.values(name)
    return is_missing(table, name) if values.numbers is None else np.isnan(values.numbers)


def taken_where(mask: Mask, one: pl.Series, other: pl.Series | None) -> pl.Series:
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
