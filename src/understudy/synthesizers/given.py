"""Rows that have given values: ``sex=F``, as a condition that is checked before any work."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import polars as pl

from understudy.data.schema import Column, Schema, labels, near
from understudy.data.tables import Condition
from understudy.data.tables.conditions import as_number
from understudy.data.tables.grammar import Joined, Test
from understudy.errors import OptionError


def given_condition(given: Mapping[str, Any], schema: Schema) -> Condition:
    """Turn given values into a condition; refuse what the method can never make.

    Examples
    --------
    >>> schema = Schema((Column("sex", "category", levels=("F", "M")),))
    >>> str(given_condition({"sex": "F"}, schema))
    "sex == 'F'"
    """
    tests = tuple(_test(name, value, schema) for name, value in given.items())
    if not tests:
        raise OptionError("given: nothing is given", hint="write such as sex=F")
    condition = Condition(tests[0] if len(tests) == 1 else Joined("and", tests))
    condition.check(schema)
    return condition


def _test(name: str, value: Any, schema: Schema) -> Test:
    if name not in schema.modelled:
        if name in schema:
            why = f"'{name}' is left out of synthesis ({schema[name].kind})"
        else:
            why = f"there is no column '{name}'"
        raise OptionError(f"given: {why}", hint=near(name, schema.modelled))
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
        low, high = (_shown(column, bound) for bound in column.bounds)
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


def _shown(column: Column, number: float) -> str:
    if column.kind == "date":
        moment = pl.Series([int(number)]).cast(pl.Datetime("us"))
        return str(moment.cast(pl.Date)[0] if column.unit == "day" else moment[0])
    return f"{number:.15g}"
