"""What can be asked of synthetic rows, checked before any work.

A constraint is what every row meets, whatever the method that makes it: ``start <= end``, ``18 <=
age <= 99`` and any other condition; ``positive income``; ``together city, country`` for
combinations that occur in training; ``unique id`` for an identifier that is made anew. A comparison
with a missing value holds. Given values, such as ``sex=F``, are those that rows must have.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.grammar import (
    ORDER,
    Joined,
    Node,
    PairTest,
    Test,
    listed,
    quoted_name,
    tests,
)
from understudy.data.schema import Column, Schema, labels, same_level
from understudy.data.tables import Condition, Table
from understudy.data.tables.conditions import as_number
from understudy.errors import OptionError, near

Kind = Literal["condition", "together", "unique"]
HINT = (
    "write such as: start <= end; 18 <= age <= 99; positive income; together city, country; "
    "unique id"
)
NUMBERED = ("integer", "float", "text")
Side = tuple[str, object]  # a column or a value
Edge = tuple[Side, Side, bool, str]  # one side is at most the other, or less; by which constraint


@dataclass(frozen=True)
class Constraint:
    """One constraint, read and checked against a schema.

    Examples
    --------
    >>> from understudy.data.schema import Column
    >>> schema = Schema((Column("age", "number", bounds=(0, 120)), Column("sex", "category")))
    >>> made = Constraint.parse("18 <= age <= 99", schema)
    >>> str(made), made.kind, made.names
    ('age >= 18 and age <= 99', 'condition', ('age',))
    """

    text: str
    kind: Kind
    names: tuple[str, ...]
    condition: Condition | None = None

    def __str__(self) -> str:
        if self.condition is not None:
            return str(self.condition)
        return f"{self.kind} {', '.join(map(quoted_name, self.names))}"

    @classmethod
    def parse(cls, text: str, schema: Schema, *, check: bool = True) -> "Constraint":
        """Read a constraint; refuse columns that do not exist and, to be checked, such values."""
        if not isinstance(text, str):
            raise OptionError(f"the constraint {text!r} is no text", hint=HINT)
        try:
            made = _read(text, schema)
            if made.condition is not None and check:
                _check_sides(made.condition, schema)
                made.condition.check(schema)
        except OptionError as error:
            told = error.message.removeprefix("condition ")
            hint = HINT if error.hint.startswith("write such as") else error.hint
            raise OptionError(f"constraint {told}", hint=hint) from error
        return made

    def fails(self, table: Table) -> NDArray[np.bool_]:
        """Say which rows break a condition; a missing value breaks none."""
        if self.condition is None:
            return np.zeros(table.height, bool)
        return self.condition.fails(table)


def _read(text: str, schema: Schema) -> Constraint:
    found = listed(text)
    if found is None:
        condition = Condition.parse(text, schema.names)
        check_names(condition.names, text, schema)
        return Constraint(text, "condition", condition.names, condition)
    word, names = found
    if len(set(names)) < len(names):
        raise OptionError(f"{text}: a column stands twice", hint="name it once")
    if word not in ("positive", "together", "unique"):
        raise OptionError(f"{text}: '{word}' is no constraint", hint=HINT)
    check_names(names, text, schema, modelled=word != "unique")
    if word == "positive":
        condition = _joined(tuple(Test(name, ">", ("0",)) for name in names))
        return Constraint(text, "condition", names, condition)
    if word == "together":
        if len(names) < 2:
            raise OptionError(f"{text}: one column alone", hint="name two columns or more")
        return Constraint(text, "together", names)
    if len(names) > 1:
        raise OptionError(f"{text}: several columns", hint="write one constraint for each")
    column = schema[names[0]]
    if column.stored not in NUMBERED or column.kind == "date":
        raise OptionError(
            f"{text}: values of '{names[0]}' are no identifiers "
            f"({column.kind if column.kind == 'date' else column.stored})",
            hint="an identifier is a whole number or a text",
        )
    return Constraint(text, "unique", names)


def _joined(tests: tuple[Test, ...]) -> Condition:
    return Condition(tests[0] if len(tests) == 1 else Joined("and", tests))


def check_names(names: Iterable[Any], what: str, schema: Schema, *, modelled: bool = True) -> None:
    """Refuse columns that do not exist or, where they are to be modelled, are left out."""
    for name in names:
        if not isinstance(name, str):
            raise OptionError(f"{what}: {name!r} is no name", hint="give names as text")
        if name not in schema:
            known = schema.modelled if modelled else schema.names
            raise OptionError(f"{what}: there is no column '{name}'", hint=near(name, known))
        if modelled and name not in schema.modelled:
            raise OptionError(
                f"{what}: the column '{name}' is left out of synthesis",
                hint=f"it is {schema[name].kind}; declare another kind in a schema file",
            )


def _check_sides(condition: Condition, schema: Schema) -> None:
    """Refuse a right side that is neither a column nor a value of the column on the left."""
    for test in tests(condition.root):
        if isinstance(test, Test) and test.operator in ORDER:
            column, value = schema[test.name], test.values[0]
            if column.is_numeric and as_number(column, value) is None:
                raise OptionError(
                    f"{test}: '{value}' is no column and no {column.kind}",
                    hint=near(value, schema.modelled),
                )


def all_constraints(schema: Schema, added: Sequence[str]) -> tuple[str, ...]:
    """Give the constraints of a schema and those that are added to them."""
    if isinstance(added, str) or not isinstance(added, Iterable):
        raise OptionError(f"constraints = {added!r} is no list", hint="give a list of texts")
    return (*schema.constraints, *added)


def read_constraints(texts: Sequence[str], schema: Schema) -> tuple[Constraint, ...]:
    """Read constraints, each once; refuse those that contradict each other."""
    made = tuple(Constraint.parse(text, schema) for text in dict.fromkeys(texts))
    taken: dict[str, Constraint] = {}
    for one in made:
        for name in one.names if one.condition is None else ():
            if name in taken:
                raise OptionError(
                    f"constraints {taken[name].text} and {one.text}: both are about '{name}'",
                    hint="name it in one of them",
                )
            taken[name] = one
    conditions = [(one.text, one.condition) for one in made if one.condition is not None]
    for text, condition in conditions:
        for name in condition.names:
            if name in taken and taken[name].kind == "unique":
                raise OptionError(
                    f"constraint {text}: '{name}' is made anew ({taken[name].text})",
                    hint="drop one of the two",
                )
    comparisons = [(text, t) for text, condition in conditions for t in _conjuncts(condition.root)]
    _refuse_circle(comparisons, schema)
    _refuse_no_value(comparisons, schema)
    return made


def _conjuncts(node: Node) -> Iterator[Test | PairTest]:
    """Give the comparisons that all have to hold."""
    if isinstance(node, Test | PairTest):
        yield node
    elif isinstance(node, Joined) and node.word == "and":
        for part in node.parts:
            yield from _conjuncts(part)


def _refuse_circle(comparisons: Sequence[tuple[str, Test | PairTest]], schema: Schema) -> None:
    """Refuse inequalities that no values can meet together: a circle that has to grow.

    Bounds that a person declared count too.
    """
    edges = [edge for text, test in comparisons for edge in _edges(test, schema, text)]
    for name in dict.fromkeys(str(s[1]) for edge in edges for s in edge[:2] if s[0] == "column"):
        column = schema[name]
        if column.bounds is not None and column.source("bounds") == "declared":
            lowest, highest = (("value", bound) for bound in column.bounds)
            why, own = f"the bounds of '{name}'", ("column", name)
            edges += [(lowest, own, False, why), (own, highest, False, why)]
    sides = {side for low, high, _, _ in edges for side in (low, high)}
    values = sorted(float(value) for kind, value in sides if kind == "value")  # type: ignore[arg-type]
    edges += [(("value", a), ("value", b), True, "") for a, b in pairwise(values)]
    for low, high, strict, why in edges:
        if strict and (way := _way(high, low, edges)) is not None:
            raise _contradiction(text for text in (why, *way) if text)


def _edges(test: Test | PairTest, schema: Schema, why: str) -> Iterator[Edge]:
    left: Side = ("column", test.name)
    if isinstance(test, PairTest):
        right: Side = ("column", test.other)
    elif test.operator in (*ORDER, "==") and schema[test.name].kind != "category":
        number = as_number(schema[test.name], test.values[0])
        if number is None:
            return
        right = ("value", number)
    else:
        return
    if test.operator in ("<", "<=", "=="):
        yield left, right, test.operator == "<", why
    if test.operator in (">", ">=", "=="):
        yield right, left, test.operator == ">", why


def _way(start: Side, end: Side, edges: Sequence[Edge]) -> tuple[str, ...] | None:
    """Find a way up from one side to another; gives the constraints on it."""
    ways: dict[Side, tuple[str, ...]] = {start: ()}
    queue = [start]
    for here in queue:
        for low, high, _, why in edges:
            if low == here and high not in ways:
                ways[high] = (*ways[here], why)
                queue.append(high)
    return ways.get(end)


def _refuse_no_value(comparisons: Sequence[tuple[str, Test | PairTest]], schema: Schema) -> None:
    """Refuse lists of values of one column that share none: ``sex == F`` and ``sex == M``."""
    left: dict[str, tuple[set[object], tuple[str, ...]]] = {}
    for text, test in comparisons:
        if isinstance(test, Test) and test.operator in ("==", "in"):
            values = _values(schema[test.name], test.values)
            before, texts = left.get(test.name, (values, ()))
            left[test.name] = before & values, (*texts, text)
            if not before & values:
                raise _contradiction((*texts, text))


def _values(column: Column, texts: Sequence[str]) -> set[object]:
    """Give the values that are meant, each written in one way."""
    if not column.is_numeric:
        return set(same_level(pl.Series(texts, dtype=pl.String), column.levels))
    numbers = (as_number(column, text) for text in texts)
    return {t if number is None else number for t, number in zip(texts, numbers, strict=True)}


def _contradiction(texts: Iterable[str]) -> OptionError:
    told = tuple(dict.fromkeys(texts))
    return OptionError(
        f"constraints that contradict each other: {' and '.join(told)}"
        if len(told) > 1
        else f"constraint {told[0]}: no value can meet it",
        hint="drop or correct one of them",
    )


def given_condition(given: Mapping[str, Any], schema: Schema) -> Condition:
    """Turn given values into a condition; refuse what the method can never make.

    Examples
    --------
    >>> schema = Schema((Column("sex", "category", levels=("F", "M")),))
    >>> str(given_condition({"sex": "F"}, schema))
    "sex == 'F'"
    """
    tests = tuple(_given_test(name, value, schema) for name, value in given.items())
    if not tests:
        raise OptionError("given: nothing is given", hint="write such as sex=F")
    condition = _joined(tests)
    condition.check(schema)
    return condition


def _given_test(name: str, value: Any, schema: Schema) -> Test:
    check_names([name], "given", schema)
    column = schema[name]
    if value is None:
        if not column.missing:
            raise OptionError(f"given: '{name}' is never missing", hint="give one of its values")
        return Test(name, "missing")
    text = _text(value)
    if column.is_numeric:
        _within(column, text)
    return Test(name, "==", (text,))


def _text(value: Any) -> str:
    """Write a value as a condition does."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return str(labels(pl.Series([value]))[0]) if not isinstance(value, date) else str(value)


def _within(column: Column, text: str) -> None:
    number = as_number(column, text)
    if number is None:
        return
    if column.bounds is not None and not column.bounds[0] <= number <= column.bounds[1]:
        low, high = (_written(column, bound) for bound in column.bounds)
        raise OptionError(
            f"given {column.name}={text}: no value of '{column.name}' is that far out",
            hint=f"values lie between {low} and {high}",
        )
    step = column.step
    if step is not None and abs(number / step - round(number / step)) > 1e-6:
        raise OptionError(
            f"given {column.name}={text}: values of '{column.name}' are not that fine",
            hint="round it as the column does",
        )


def _written(column: Column, number: float) -> str:
    if column.kind == "date":
        moment = pl.Series([int(number)]).cast(pl.Datetime("us"))
        return str(moment.cast(pl.Date)[0] if column.unit == "day" else moment[0])
    return f"{number:.15g}"
