"""What a relation says of the rows of a table: where it applies, which rows break it.

A formula holds where the column differs from what is computed by no more than the rounding of the
column (half a unit of its last decimal) and that of its sources (half a unit each, by the slope;
whole numbers are exact), and 1e-9 of the value; 5e-7 where a column has so many decimals that its
numbers may be floats of 32 bits, or written with seven digits. It speaks of rows in which the
column is present and the result is a finite number.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.arithmetic import Expression, column_names, evaluate
from understudy.data.bins import Grid
from understudy.data.bins import nearest as nearest_of
from understudy.data.codec import ColumnCodec, write_values
from understudy.data.grammar import PairTest
from understudy.data.schema import Column, Relation, Schema, Values, labels, same_level
from understudy.data.tables import Condition, Table
from understudy.errors import OptionError, near

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
PRECISE, SINGLE = 1e-9, 5e-7
MANY_DECIMALS = 6


@dataclass(frozen=True)
class Judged:
    """In which rows a relation says something, and which of them break it."""

    applies: Mask
    breaks: Mask

    @property
    def holds(self) -> int:
        """The number of rows in which it says something that is so."""
        return int((self.applies & ~self.breaks).sum())

    @property
    def broken(self) -> int:
        """The number of rows that break it."""
        return int(self.breaks.sum())


@dataclass(frozen=True)
class Learnt:
    """A relation with what was read off training: pairs of a lookup, cuts of classes.

    Parameters
    ----------
    relation : Relation
    keys : tuple of str or None
        For a lookup, the values of the source, as text; none is a missing one.
    cuts : array of float
        For classes, the numbers between them, in order.
    closed : array of bool
        Whether a cut belongs to the class on its left.
    pool : Series
        The values of the target, one for each key or class, as training stores them.
    known : array of bool
        The keys or classes of which something may be said: at least k rows are of each.
    digits : {"", "single", "float32"}
        For a formula, whether the column is kept in floats of 32 bits, or holds such as doubles.
    """

    relation: Relation
    keys: tuple[str | None, ...] = ()
    cuts: Floats = field(default_factory=lambda: np.empty(0))
    closed: Mask = field(default_factory=lambda: np.empty(0, bool))
    pool: pl.Series = field(default_factory=lambda: pl.Series("", [], dtype=pl.String))
    known: Mask = field(default_factory=lambda: np.empty(0, bool))
    digits: str = ""

    def places(self, table: Table, *, nearest: bool = False) -> NDArray[np.int64]:
        """Find the key or the class of each row; -1 where nothing is known.

        With ``nearest``, a number that is no key has the place of the nearest one that is.
        """
        (source,) = self.relation.sources
        if self.relation.kind == "lookup":
            codec = ColumnCodec(table.schema[source], labels=self.keys, first=0)
            codes = codec.encode(Values(None, key_texts(table, source))).astype(np.int64)
            place = np.where(codes < codec.size, codes, -1)
            if nearest and table.schema[source].is_numeric:
                place = self._nearest(place, table.numbers(source))
        else:
            numbers = table.numbers(source)
            left = np.searchsorted(self.cuts, numbers, side="left")
            right = np.searchsorted(self.cuts, numbers, side="right")
            on_cut = left < right
            belongs = self.closed[np.minimum(left, len(self.cuts) - 1)] if len(self.cuts) else False
            place = np.where(on_cut & belongs, left, right)
            place[np.isnan(numbers)] = -1
        if not len(self.known):
            return np.full(len(place), -1)
        place[(place >= 0) & ~self.known[place]] = -1
        return place.astype(np.int64)

    def _nearest(self, place: NDArray[np.int64], numbers: Floats) -> NDArray[np.int64]:
        known = pl.Series(self.keys, dtype=pl.String).cast(pl.Float64, strict=False)
        keys = known.fill_null(float("nan")).to_numpy()
        order = np.argsort(keys)[: int((~np.isnan(keys)).sum())]
        lost = (place < 0) & ~np.isnan(numbers)
        if len(order) and lost.any():
            place = place.copy()
            place[lost] = order[nearest_of(keys[order], numbers[lost])]
        return place

    def values(self, table: Table, *, nearest: bool = False) -> tuple[pl.Series, Mask]:
        """Compute the target, as its column is written; says also where something is known."""
        name = self.relation.target
        if name is None:
            raise OptionError(f"relation {self.relation}: no column is computed", hint="judge it")
        if self.relation.kind == "formula":
            computed, applies = computed_values(self.relation, table)
            column = table.schema[name]
            return written_numbers(computed, column, self.digits).alias(name), applies
        place = self.places(table, nearest=nearest)
        known = place >= 0
        at = pl.Series(place).set(pl.Series(~known), None)
        return self.pool.gather(at).alias(name), known

    def judge(self, table: Table) -> Judged:
        """Say in which rows the relation says something, and which break it."""
        if self.relation.kind not in ("lookup", "classes"):
            return judge(self.relation, table)
        name = str(self.relation.target)
        place = self.places(table)
        found, wanted = key_texts(table, name), self._texts(table.schema[name])
        known = place >= 0
        says_missing = wanted.is_null().to_numpy()[np.maximum(place, 0)]
        is_missing = found.is_null().to_numpy()
        expected = wanted.gather(pl.Series(np.maximum(place, 0)))
        same = (found == expected).fill_null(False).to_numpy()
        applies = known & (says_missing | ~is_missing)
        return Judged(applies, applies & np.where(says_missing, ~is_missing, ~same))

    def _texts(self, column: Column) -> pl.Series:
        if not len(self.pool):
            return pl.Series([None], dtype=pl.String)
        return column_texts(self.pool, column)

    @cached_property
    def shown(self) -> pl.Series:
        """The values of the target that it can give."""
        return self.pool.filter(pl.Series(self.known))


def judge(relation: Relation, table: Table) -> Judged:
    """Say in which rows a relation says something, and which break it.

    Examples
    --------
    >>> table = Table.of(pl.DataFrame({"a": [1.5, 2.5, None], "b": [3.0, 4.0, 5.0]}))
    >>> found = judge(Relation.parse("b = 2 * a", table.schema.names), table)
    >>> found.applies.tolist(), found.breaks.tolist()
    ([True, True, False], [False, True, False])
    """
    kind, rows = relation.kind, table.height
    if kind in ("lookup", "classes"):
        raise OptionError(
            f"relation {relation}: its values are those of training",
            hint="learn it first: relation.learn(training)",
        )
    if kind == "formula":
        return _judge_formula(relation, table)
    if kind == "order":
        pair = PairTest(relation.sources[0], relation.said.sign, relation.sources[1])
        holds, fails = Condition(pair).answers(table)
        return Judged(holds | fails, fails)
    if kind == "one_hot":
        truths = np.stack([truth(table, name) for name in relation.sources])
        applies: Mask = np.asarray(~np.isnan(truths).any(axis=0))
        binary = np.isin(truths, (0.0, 1.0)).all(axis=0)
        right: Mask = binary & (truths.sum(axis=0) == 1)
        return Judged(applies, applies & ~right)
    if kind == "missing":
        where = missing_where(relation, table)
        return Judged(np.ones(rows, bool), is_missing(table, str(relation.target)) != where)
    return Judged(np.zeros(rows, bool), np.zeros(rows, bool))


def check(relation: Relation, schema: Schema) -> None:
    """Refuse a relation that columns of these kinds can never keep, before any work."""

    def refuse(name: str, why: str, hint: str) -> OptionError:
        return OptionError(f"relation {relation}: '{name}' {why}", hint=hint)

    for name in relation.names:
        if name not in schema:
            raise refuse(name, "is no column", near(name, schema.names))
    said, numbers = (
        relation.said,
        set(_computed_from(relation) if relation.kind == "formula" else ()),
    )
    if relation.kind == "formula":
        numbers.add(str(relation.target))
    if relation.kind == "classes":
        numbers |= set(relation.sources)
    for name in sorted(numbers):
        column = schema[name]
        if not (column.is_numeric or level_decimals(column) is not None):
            raise refuse(name, f"is {column.kind}, without numbers", "compute with numbers")
    nodes = [said.where] if said.where is not None else []
    if relation.kind == "order":
        nodes.append(PairTest(relation.sources[0], said.sign, relation.sources[1]))
    for node in nodes:
        try:
            Condition(node).check(schema)
        except OptionError as error:
            told = error.message.removeprefix("condition ")
            raise OptionError(f"relation {relation}: {told}", hint=error.hint) from error
    for name in relation.sources if relation.kind == "one_hot" else ():
        column = schema[name]
        levels = {level.lower() for level in column.levels}
        if not (column.is_numeric or levels <= {"0", "1", "true", "false"}):
            raise refuse(name, "has other values than 0 and 1", "name columns of 0 and 1")


def key_texts(table: Table, name: str) -> pl.Series:
    """Give a column as text, one text for one value whatever the storage."""
    if table.schema[name].is_modelled:
        return table.text(name)
    return labels(table.frame[name])


def column_texts(series: pl.Series, column: Column) -> pl.Series:
    """Write values of a column as ``key_texts`` does."""
    name = column.name
    frame = pl.DataFrame({name: series})
    if not column.is_modelled:
        return labels(series)
    return Table(frame, Schema((column,))).text(name)


def is_missing(table: Table, name: str) -> Mask:
    """Say in which rows a column is missing."""
    values = table.values(name)
    gone: Mask = values.labels.is_null().to_numpy()
    return gone if values.numbers is None else gone & np.isnan(values.numbers)


def missing_where(relation: Relation, table: Table) -> Mask:
    """Say where a column is to be missing."""
    assert relation.said.where is not None
    return Condition(relation.said.where).answers(table)[0]


def truth(table: Table, name: str) -> Floats:
    """Give a column of 0 and 1, or of true and false, as numbers."""
    texts = key_texts(table, name).str.to_lowercase()
    found = texts.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)
    made: Floats = found.fill_null(float("nan")).to_numpy()
    return np.where(texts.is_not_null().to_numpy() & np.isnan(made), -1.0, made)


def computed_values(relation: Relation, table: Table) -> tuple[Floats, Mask]:
    """Compute a formula, unrounded; says also in which rows it says something."""
    said = relation.said
    assert said.expression is not None
    columns = {name: table.numbers(name) for name in _computed_from(relation)}
    made = np.broadcast_to(evaluate(said.expression, columns), table.height)
    applies = ~np.isnan(made)
    if said.where is not None:
        applies = applies & Condition(said.where).answers(table)[0]
    return made, applies


def _computed_from(relation: Relation) -> tuple[str, ...]:
    assert relation.said.expression is not None
    return column_names(relation.said.expression)


def written_numbers(numbers: Floats, column: Column, digits: str = "") -> pl.Series:
    """Round numbers as a column does, and store them as it does; nan is missing."""
    with np.errstate(all="ignore"):
        if column.is_numeric:
            made = Grid.of(column, single=digits == "single").write(numbers) + 0.0
        else:
            places = level_decimals(column)
            made = numbers if places is None else np.round(numbers, places) + 0.0
    if digits == "float32":
        made = made.astype(np.float32).astype(float)
    if column.is_numeric:
        none = pl.Series([None] * len(made), dtype=pl.String)
        return write_values(Values(made, none), column)
    texts = labels(pl.Series(made, nan_to_null=True))
    if column.levels:
        known = pl.Series(column.levels, dtype=pl.String)
        plain = same_level(known, column.levels)
        texts = texts.replace(plain, known)
    return write_values(Values(None, texts), column)


def level_decimals(column: Column) -> int | None:
    """Give the digits after the point of the levels that are numbers; none if there is none."""
    found = []
    for level in column.levels:
        try:
            number = float(level)
        except ValueError:
            continue
        if math.isfinite(number):
            text = repr(number).removesuffix(".0")
            found.append(len(text.partition(".")[2]) if "e" not in text else 15)
    return min(max(found), 15) if found else None


def half_unit(column: Column) -> float:
    """Give half the distance of neighbouring values of a column; 0 where there is none."""
    if column.is_numeric:
        return (column.step or 0.0) / 2
    places = level_decimals(column)
    return 0.5 * 10.0**-places if places is not None else 0.0


def relative_error(column: Column, decimals: int | None) -> float:
    """Give how far a number of so many decimals may be off by its storage, as a part of it."""
    many = column.kind == "number" and column.unit is None
    many &= decimals is None or decimals >= MANY_DECIMALS
    return SINGLE if many else PRECISE


def _judge_formula(relation: Relation, table: Table) -> Judged:
    name = str(relation.target)
    found = table.numbers(name)
    computed, applies = computed_values(relation, table)
    applies = applies & ~np.isnan(found)
    breaks = np.zeros(table.height, bool)
    off = np.abs(found - computed)
    column = table.schema[name]
    size = np.fmax(np.abs(found), np.abs(computed))
    allowed = half_unit(column) * (1 + 1e-6) + relative_error(column, column.decimals) * size
    doubtful = applies & ~(off <= allowed)
    if doubtful.any():
        more = _rounding_of_sources(relation, table, doubtful)
        breaks[doubtful] = ~(off[doubtful] <= allowed[doubtful] + more)
    return Judged(applies, breaks)


def _rounding_of_sources(relation: Relation, table: Table, rows: Mask) -> Floats:
    """Say for some rows how far the rounding of the sources can move what is computed."""
    expression: Expression | None = relation.said.expression
    assert expression is not None
    columns = {name: table.numbers(name)[rows] for name in _computed_from(relation)}
    base = evaluate(expression, columns)
    made = np.zeros(int(rows.sum()))
    for name, numbers in columns.items():
        column = table.schema[name]
        half = np.full(len(numbers), half_unit(column) if column.decimals else 0.0)
        if relative_error(column, column.decimals) == SINGLE:
            half += SINGLE * np.abs(numbers)
        if not half.any():
            continue
        moved = [
            np.abs(evaluate(expression, {**columns, name: numbers + sign * half}) - base)
            for sign in (1, -1)
        ]
        with np.errstate(all="ignore"):
            made += np.nan_to_num(np.fmax(*moved))
    return made
