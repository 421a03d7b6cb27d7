"""Tables of numbers as text: the first rows, which the page shows without its script."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from understudy.report import words

FIRST = 12
SIZES = ("value", "reference", "low", "high", "lower", "upper")


def parts(found: Sequence[Mapping[str, Any]], unit: str) -> dict[str, Any]:
    """Give the first parts of a finding, and how many there are.

    Examples
    --------
    >>> made = parts([{"name": "age", "value": 0.02, "p_value": 0.03}], "fraction")
    >>> made["columns"], made["rows"]
    (['part', 'value', 'p value'], [['age', '2.00 %', '0.03']])
    """
    known = ("name", "value", "reference", "unit")
    further = list(dict.fromkeys(key for part in found for key in part if key not in known))
    references = any(part.get("reference") is not None for part in found)
    keys = ["value", *(["reference"] if references else []), *further]
    rows = [
        [
            words.visible(part["name"]),
            *(cell(part.get(key), key, str(part.get("unit") or unit)) for key in keys),
        ]
        for part in found[:FIRST]
    ]
    return {
        "columns": ["part", *(words.visible(key).replace("_", " ") for key in keys)],
        "rows": rows,
        "numeric": [True] * len(keys),
        "count": len(found),
    }


def named(name: object) -> Markup:
    """Give a name inside a sentence: its writing keeps its own direction and turns no other round.

    Examples
    --------
    >>> named("<a>")
    Markup('<bdi>&lt;a&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(words.scalar(name))


def table(found: Mapping[str, Any], unit: str, *, most: int = FIRST) -> dict[str, Any]:
    """Give the first rows of any table."""
    columns, rows = found["columns"], found["rows"]
    return {
        "columns": [words.visible(c).replace("_", " ") for c in columns],
        "rows": [[cell(v, columns[i], unit) for i, v in enumerate(row)] for row in rows[:most]],
        "numeric": [
            all(row[i] is None or words.is_number(row[i]) for row in rows)
            for i in range(1, len(columns))
        ],
    }


def cell(value: Any, column: object, unit: str) -> str:
    """Print one cell; the columns that repeat the finding's own numbers get its unit."""
    if column == "p_value":
        return words.p_value(value)
    if words.is_number(value) and column in SIZES:
        return words.number(value, unit)
    return words.scalar(value)
