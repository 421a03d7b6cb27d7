"""The published figures, as they are printed."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FIGURES = ("MAE", "MAPE", "R2")


@dataclass(frozen=True)
class Expected:
    """Figures by table and row: the mean, and the spread over keys where there is one.

    ``misprints`` has what is right where a printed figure cannot be.
    """

    tables: dict[str, dict[str, dict[str, list[str]]]]
    digits: dict[str, dict[str, int]]
    misprints: dict[str, dict[str, dict[str, str]]]


@cache
def expected() -> Expected:
    """Read the published figures."""
    text = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return Expected(data["tables"], data["digits"], data["misprints"])


def printed(value: float, digits: int) -> str:
    """Write a figure as the paper prints it: no zero at its end, and none before an R2's point.

    Examples
    --------
    >>> printed(0.4996, 2), printed(16.6, 2), printed(-0.00110, 4)
    ('0.5', '16.6', '-0.0011')
    """
    return repr(round(value, digits) + 0.0)


def published(row: dict[str, Any], figure: str) -> list[str]:
    """Give the published mean and spread of a figure of a row."""
    found = expected().tables.get(row["table"], {}).get(row["row"], {}).get(figure, [])
    return list(found)


def computed(row: dict[str, Any], figure: str) -> list[str]:
    """Give what was computed, with as many digits as the paper has."""
    digits = expected().digits[row["table"]][figure]
    made = [row[figure]["mean"], row[figure]["spread"]]
    return [printed(value, digits) for value in made if value is not None]


def misprinted(row: dict[str, Any], figure: str) -> bool:
    """Tell whether the printed figure is known to be wrong, and what is right was computed."""
    known = expected().misprints.get(row["table"], {}).get(row["row"], {})
    return figure in known and computed(row, figure)[0] == known[figure]


def differing(row: dict[str, Any]) -> list[str]:
    """Name the figures of a row that differ from the printed ones."""
    return [figure for figure in FIGURES if not _same(row, figure)]


def _same(row: dict[str, Any], figure: str) -> bool:
    wanted, found = published(row, figure), computed(row, figure)
    same_length = len(wanted) == len(found)
    return same_length and all(float(a) == float(b) for a, b in zip(wanted, found, strict=True))
