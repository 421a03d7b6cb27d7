"""Constraints: what every synthetic row meets, whatever the method that makes it.

``start <= end``, ``18 <= age <= 99`` and any other condition; ``positive income``; ``together
city, country`` for combinations that occur in training; ``unique id`` for an identifier that is
made anew. A comparison with a missing value holds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Schema, near, same_level
from understudy.data.tables import Condition, Table
from understudy.data.tables.conditions import as_number
from understudy.data.tables.grammar import ORDER, Joined, Node, PairTest, Test, listed, shown, tests
from understudy.errors import OptionError

Kind = Literal["condition", "together", "unique"]
HINT = (
    "write such as: start <= end; 18 <= age <= 99; positive income; together city, country; "
    "unique id"
)
NUMBERED = ("integer", "float", "text")


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
        return f"{self.kind} {', '.join(map(shown, self.names))}"

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
        _known(condition.names, text, schema)
        return Constraint(text, "condition", condition.names, condition)
    word, names = found
    if len(set(names)) < len(names):
        raise OptionError(f"{text}: a column stands twice", hint="name it once")
    if word == "positive":
        _known(names, text, schema)
        parts = tuple(Test(name, ">", ("0",)) for name in names)
        condition = Condition(parts[0] if len(parts) == 1 else Joined("and", parts))
        return Constraint(text, "condition", names, condition)
    if word == "together":
        _known(names, text, schema)
        if len(names) < 2:
            raise OptionError(f"{text}: one column alone", hint="name two columns or more")
        return Constraint(text, "together", names)
    if word == "unique":
        _known(names, text, schema, modelled=False)
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
    raise OptionError(f"{text}: '{word}' is no constraint", hint=HINT)


def _known(names: Iterable[str], text: str, schema: Schema, *, modelled: bool = True) -> None:
    for name in names:
        if name not in schema:
            raise OptionError(f"{text}: there is no column '{name}'", hint=near(name, schema.names))
        if modelled and name not in schema.modelled:
            raise OptionError(
                f"{text}: the column '{name}' is left out of synthesis",
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
    if isinstance(added, str):
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
    for one in made:
        for name in one.names:
            if one.condition is not None and name in taken and taken[name].kind == "unique":
                raise OptionError(
                    f"constraint {one.text}: '{name}' is made anew ({taken[name].text})",
                    hint="drop one of the two",
                )
    _refuse_contradictions(made, schema)
    _refuse_no_value(made, schema)
    return made


@dataclass(frozen=True)
class _Edge:
    """That one side is at most the other, or less; the sides are columns and values."""

    low: tuple[str, object]
    high: tuple[str, object]
    strict: bool
    why: str


def _refuse_contradictions(constraints: Sequence[Constraint], schema: Schema) -> None:
    """Refuse inequalities that no values can meet together: a circle that has to grow.

    Bounds that a person declared count too.
    """
    edges = [
        edge
        for one in constraints
        if one.condition is not None
        for test in _conjuncts(one.condition.root)
        for edge in _edges(test, schema, one.text)
    ]
    names = (name for one in constraints if one.condition is not None for name in one.names)
    for name in dict.fromkeys(names):
        column = schema[name]
        if column.bounds is not None and column.source("bounds") == "declared":
            low, high = (("value", bound) for bound in column.bounds)
            why = f"the bounds of '{name}'"
            edges += [
                _Edge(low, ("column", name), False, why),
                _Edge(("column", name), high, False, why),
            ]
    values = sorted({float(v) for e in edges for k, v in (e.low, e.high) if k == "value"})  # type: ignore[arg-type]
    edges += [_Edge(("value", low), ("value", high), True, "") for low, high in pairwise(values)]
    for edge in edges:
        if edge.strict and (way := _way(edge.high, edge.low, edges)) is not None:
            raise _contradiction(why for why in (edge.why, *way) if why)


def _refuse_no_value(constraints: Sequence[Constraint], schema: Schema) -> None:
    """Refuse lists of values of one column that share none: ``sex == F`` and ``sex == M``."""
    left: dict[str, tuple[set[object], tuple[str, ...]]] = {}
    for one in constraints:
        for test in () if one.condition is None else _conjuncts(one.condition.root):
            if isinstance(test, Test) and test.operator in ("==", "in"):
                values = _values(schema[test.name], test.values)
                before, texts = left.get(test.name, (values, ()))
                left[test.name] = before & values, (*texts, one.text)
                if not before & values:
                    raise _contradiction((*texts, one.text))


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


def _conjuncts(node: Node) -> Iterator[Test | PairTest]:
    """Give the comparisons that all have to hold."""
    if isinstance(node, Test | PairTest):
        yield node
    elif isinstance(node, Joined) and node.word == "and":
        for part in node.parts:
            yield from _conjuncts(part)


def _edges(test: Test | PairTest, schema: Schema, why: str) -> Iterator[_Edge]:
    left: tuple[str, object] = ("column", test.name)
    if isinstance(test, PairTest):
        right: tuple[str, object] = ("column", test.other)
    elif test.operator in (*ORDER, "==") and schema[test.name].kind != "category":
        number = as_number(schema[test.name], test.values[0])
        if number is None:
            return
        right = ("value", number)
    else:
        return
    if test.operator in ("<", "<=", "=="):
        yield _Edge(left, right, test.operator == "<", why)
    if test.operator in (">", ">=", "=="):
        yield _Edge(right, left, test.operator == ">", why)


def _way(
    start: tuple[str, object], end: tuple[str, object], edges: Sequence[_Edge]
) -> tuple[str, ...] | None:
    """Find a way up from one side to another; gives the constraints on it."""
    ways: dict[tuple[str, object], tuple[str, ...]] = {start: ()}
    queue = [start]
    for here in queue:
        for edge in edges:
            if edge.low == here and edge.high not in ways:
                ways[edge.high] = (*ways[here], edge.why)
                queue.append(edge.high)
    return ways.get(end)
