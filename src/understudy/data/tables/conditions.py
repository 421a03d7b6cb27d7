"""Conditions: the one small grammar that selects rows, ``income > 70000 or age < 26``.

A comparison has a column on the left and a value on the right: ``==`` (or ``=``), ``!=``, ``<``,
``<=``, ``>``, ``>=``, ``in ('a', 'b')``, ``not in (…)``, ``is missing``, ``is not missing``. They
are joined by ``and``, ``or``, ``not`` and parentheses. A column whose name is more than letters,
digits, dots and hyphens stands in backticks or double quotes, a text or a date in single quotes;
a quote within is written twice. A missing value fulfils no comparison and no negated one.
Constraints may also compare two columns, ``start <= end``, and in a row, ``18 <= age <= 99``.
"""

import operator
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data import grammar
from understudy.data.grammar import NUMBER, ORDER, Node, Not, PairTest, Test
from understudy.data.schema import Column, Schema, Values, same_level
from understudy.data.schema.values import (
    DATE_FORMATS,
    DATETIME_FORMATS,
    EITHER,
    ZONED_FORMATS,
    parse_dates,
)
from understudy.data.tables.table import Table
from understudy.errors import DataError, OptionError, near

Mask = NDArray[np.bool_]
SIGNS: dict[str, Callable[..., Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
DIGITS = re.compile(r"[+-]?\d{1,38}")


@dataclass(frozen=True)
class Condition:
    """Which rows of a table are meant.

    Examples
    --------
    >>> rich = Condition.parse("income > 70000 or age < 26")
    >>> rich.names
    ('income', 'age')
    >>> people = Table.of(pl.DataFrame({"age": [20, 40, None], "income": [5, 80_000, 9]}))
    >>> rich.mask(people).tolist()
    [True, True, False]
    """

    root: Node

    @classmethod
    def parse(cls, text: str, columns: Collection[str] = ()) -> "Condition":
        """Read a condition; an error says where it stops making sense.

        Two columns can be compared if names of columns are given.
        """
        return cls(grammar.parse(text, columns))

    def __str__(self) -> str:
        return str(self.root)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the condition looks at."""
        both = (
            (test.name, test.other) if isinstance(test, PairTest) else (test.name,)
            for test in grammar.tests(self.root)
        )
        return tuple(dict.fromkeys(name for names in both for name in names))

    def check(self, schema: Schema) -> None:
        """Refuse columns that do not exist and comparisons that can never be meant."""
        for name in self.names:
            if name not in schema:
                raise OptionError(
                    f"condition {self}: there is no column '{name}'", hint=near(name, schema.names)
                )
        for test in grammar.tests(self.root):
            if isinstance(test, PairTest):
                _comparable(test, schema)
            else:
                _sensible(test, schema[test.name])

    def mask(self, table: Table) -> Mask:
        """Say for each row of a table whether it meets the condition."""
        self.check(table.schema)
        return self.answers(table)[0]

    def answers(self, table: Table) -> tuple[Mask, Mask]:
        """Say for each row whether it meets the condition, and whether it fails it.

        What is asked for is not checked again.
        """
        return _answers(self.root, table)

    def fails(self, table: Table) -> Mask:
        """Say for each row whether it fails the condition; with missing values it may do neither.

        What is asked for is not checked again.
        """
        return _answers(self.root, table)[1]


def _answers(node: Node, table: Table) -> tuple[Mask, Mask]:
    """Say for each row whether it fulfils a condition, and whether it fails it."""
    if isinstance(node, Test):
        return _compare(node, table)
    if isinstance(node, PairTest):
        return _compare_columns(node, table)
    if isinstance(node, Not):
        yes, no = _answers(node.part, table)
        return no, yes
    every, some = np.logical_and.reduce, np.logical_or.reduce
    ayes, noes = zip(*(_answers(part, table) for part in node.parts), strict=True)
    return (every(ayes), some(noes)) if node.word == "and" else (some(ayes), every(noes))


def _compare(test: Test, table: Table) -> tuple[Mask, Mask]:
    if test.name not in table.frame.columns:
        raise DataError(
            f"{table.name}: the column '{test.name}' of the condition '{test}' is missing",
            hint=near(test.name, table.frame.columns),
        )
    column, values = table.schema[test.name], table.values(test.name)
    known = _known(values)
    if test.operator == "missing":
        return ~known, known
    exact = _whole(table, test.name) if all(map(DIGITS.fullmatch, test.values)) else None
    given = pl.Series(list(map(int, test.values)) if exact is not None else [], dtype=pl.Int128)
    if test.operator in ORDER:
        numbers = _line(values)
        yes: Mask = SIGNS[test.operator](numbers, as_number(column, test.values[0]))
        if exact is not None:
            yes = _exactly(test.operator, exact, given)
        return yes, ~np.isnan(numbers) & ~yes
    yes = _equal(values, column, test.values)
    if exact is not None:
        yes = exact.is_in(given.implode()).fill_null(False).to_numpy()
    return (known & ~yes, yes) if test.operator == "!=" else (yes, known & ~yes)


def _compare_columns(pair: PairTest, table: Table) -> tuple[Mask, Mask]:
    values = [table.values(name) for name in (pair.name, pair.other)]
    columns = [table.schema[name] for name in (pair.name, pair.other)]
    one, other = (_whole(table, name) for name in (pair.name, pair.other))
    if pair.operator in ORDER:
        left, right = (_line(side) for side in values)
        yes: Mask = SIGNS[pair.operator](left, right)
        if one is not None and other is not None:
            yes = _exactly(pair.operator, one, other)
        return yes, ~np.isnan(left) & ~np.isnan(right) & ~yes
    known = _known(values[0]) & _known(values[1])
    texts = [_same(side.labels, column) for side, column in zip(values, columns, strict=True)]
    equal: Mask = (texts[0] == texts[1]).fill_null(False).to_numpy()
    if one is not None and other is not None:
        equal = _exactly("==", one, other)
    elif all(_order(column) is not None for column in columns):
        equal = equal | (_line(values[0]) == _line(values[1]))
    equal &= known
    return (known & ~equal, equal) if pair.operator == "!=" else (equal, known & ~equal)


def _whole(table: Table, name: str) -> pl.Series | None:
    """Give a column of whole numbers as they are: a float cannot tell those beyond 2^53 apart."""
    series = table.frame[name]
    is_whole = series.dtype.is_integer() and table.schema[name].kind == "number"
    return series.cast(pl.Int128) if is_whole else None


def _exactly(sign: str, left: pl.Series, right: pl.Series) -> Mask:
    """Compare whole numbers of any size; a missing one fulfils nothing."""
    made: Mask = SIGNS[sign](left, right).fill_null(False).to_numpy()
    return made


def _known(values: Values) -> Mask:
    known: Mask = values.labels.is_not_null().to_numpy()
    return known if values.numbers is None else known | ~np.isnan(values.numbers)


def _line(values: Values) -> NDArray[np.float64]:
    if values.numbers is not None:
        infinite = values.labels.is_in(["inf", "-inf"]).fill_null(False).to_numpy()
        if not infinite.any():
            return values.numbers
        up = (values.labels == "inf").fill_null(False).to_numpy()
        return np.where(infinite, np.where(up, np.inf, -np.inf), values.numbers)
    parsed = values.labels.str.strip_chars().cast(pl.Float64, strict=False)
    return parsed.fill_null(float("nan")).to_numpy()


def _equal(values: Values, column: Column, wanted: Sequence[str]) -> Mask:
    if values.numbers is None:
        same = _same(values.labels, column).is_in(_texts(wanted, column).to_list())
        return same.fill_null(False).to_numpy()
    words = values.labels.is_in(list(wanted)).fill_null(False).to_numpy()
    numbers = [n for n in (as_number(column, text) for text in wanted) if n is not None]
    return words | np.isin(values.numbers, numbers)


def _same(labels: pl.Series, column: Column) -> pl.Series:
    return same_level(labels, column.levels) if column.levels else labels


def _texts(texts: Sequence[str], column: Column) -> pl.Series:
    return _same(pl.Series(texts, dtype=pl.String), column)


def as_number(column: Column, text: str) -> float | None:
    """Read a value as a column of numbers or dates does."""
    if column.kind == "date":
        return _instant(column, text)
    if column.stored == "time":
        given = pl.Series([text if text.count(":") == 2 else f"{text}:00"])
        moment = given.str.to_time("%H:%M:%S", strict=False)
        return None if moment.null_count() else float(moment.to_physical()[0]) / 1000
    return float(text) if NUMBER.fullmatch(text.strip()) else None


def _instant(column: Column, text: str) -> float | None:
    own = (column.format or "").split(EITHER)
    for form in (*own, DATE_FORMATS[0], *DATETIME_FORMATS[:4], *ZONED_FORMATS):
        parsed = parse_dates(pl.Series([text], dtype=pl.String), form) if form else None
        if parsed is None or parsed.null_count():
            continue
        moment = parsed.cast(pl.Datetime("us")) if parsed.dtype == pl.Date else parsed
        if column.stored == "datetime" and column.time_zone and form not in ZONED_FORMATS:
            moment = moment.dt.replace_time_zone(
                column.time_zone, ambiguous="earliest", non_existent="null"
            )
        return None if moment.null_count() else float(moment.dt.epoch("us")[0])
    return None


def _sensible(test: Test, column: Column) -> None:
    """Refuse a comparison that can never be meant: of another kind, with an unknown level."""

    def refuse(why: str, hint: str) -> OptionError:
        return OptionError(f"condition {test}: {why}", hint=hint)

    what = "a date" if column.kind == "date" else "a number"
    how = "write a date as '2020-12-31'" if column.kind == "date" else "write it with digits"
    if test.operator in ORDER:
        if not (column.is_numeric or _has_numbers(column)):
            raise refuse(f"'{column.name}' is a {column.kind}, without an order", "use == or in")
        if as_number(column, test.values[0]) is None:
            raise refuse(f"'{test.values[0]}' is not {what}", how)
        return
    levels = set(_texts(column.levels, column))
    for value in test.values:
        if column.is_numeric and as_number(column, value) is None and value not in column.levels:
            hint = f"{how}, or {near(value, column.levels)}" if column.levels else how
            raise refuse(f"'{value}' is not {what}", hint)
        if column.kind in ("category", "constant") and _texts([value], column)[0] not in levels:
            raise refuse(f"'{column.name}' is never '{value}'", near(value, column.levels))


def _order(column: Column) -> str | None:
    """Name what a column's values lie on, if they have an order."""
    if column.kind == "date":
        return "dates"
    if column.stored in ("time", "duration"):
        return "times of the day" if column.stored == "time" else "durations"
    return "numbers" if column.kind == "number" or _has_numbers(column) else None


def _comparable(pair: PairTest, schema: Schema) -> None:
    """Refuse to compare columns of different kinds, or to order words."""
    orders = [_order(schema[name]) for name in (pair.name, pair.other)]
    if pair.operator in ORDER and None in orders:
        name = pair.name if orders[0] is None else pair.other
        raise OptionError(
            f"condition {pair}: '{name}' is a {schema[name].kind}, without an order",
            hint="use == or !=, or declare it a number or a date in a schema file",
        )
    if orders[0] != orders[1]:
        kinds = [kind or "words" for kind in orders]
        raise OptionError(
            f"condition {pair}: '{pair.name}' holds {kinds[0]}, '{pair.other}' {kinds[1]}",
            hint="compare columns of one kind",
        )


def _has_numbers(column: Column) -> bool:
    return column.stored in ("integer", "float") or any(map(NUMBER.fullmatch, column.levels))
