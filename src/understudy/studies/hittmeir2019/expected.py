"""The published figures, as they are printed."""

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

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
    >>> printed(195.67, 0)
    '196'
    """
    rounded = round(value, digits) + 0.0
    return repr(rounded) if digits else f"{rounded:.0f}"


def published(row: dict[str, Any], figure: str) -> list[str]:
    """Give the published mean and spread of a figure of a row."""
    found = expected().tables.get(row["table"], {}).get(row["row"], {}).get(figure, [])
    return list(found)


def computed(row: dict[str, Any], figure: str, *, correct: bool = False) -> list[str]:
    """Give what was computed, with as many digits as the paper has.

    ``correct`` asks for what the scaler of training gives, where there is that.
    """
    digits = expected().digits[row["table"]][figure]
    found = (row["correct"] if correct else row)[figure]
    made = [found["mean"], found["spread"]]
    return [printed(value, digits) for value in made if value is not None]


def misprinted(row: dict[str, Any], figure: str) -> bool:
    """Tell whether the printed figure is known to be wrong, and what is right was computed."""
    known = expected().misprints.get(row["table"], {}).get(row["row"], {})
    return figure in known and computed(row, figure)[0] == known[figure]


def by_seed(row: dict[str, Any], figure: str) -> bool:
    """Tell whether the printed mean and spread are what another seed may well give.

    They lie within the interval of 95 % for one more draw like those computed, or print like
    its ends.
    """
    several = np.array(row.get("seeds", {}).get(figure, []))
    wanted = published(row, figure)
    if len(several) < 2 or len(wanted) != several.shape[1]:
        return False
    from scipy.stats import t

    number = len(several)
    factor = float(t.ppf(0.975, number - 1)) * math.sqrt(1 + 1 / number)
    half = (
        factor * several.std(axis=0, ddof=1)
        + 0.5 * 10.0 ** -expected().digits[row["table"]][figure]
    )
    apart = np.abs(np.array([float(x) for x in wanted]) - several.mean(axis=0))
    return bool((apart <= half).all())


def differing(row: dict[str, Any]) -> list[str]:
    """Name the figures of a row that differ from the printed ones; what is not printed does not."""
    return [figure for figure in FIGURES if published(row, figure) and not _same(row, figure)]


def _same(row: dict[str, Any], figure: str) -> bool:
    wanted, found = published(row, figure), computed(row, figure)
    same_length = len(wanted) == len(found)
    return same_length and all(float(a) == float(b) for a, b in zip(wanted, found, strict=True))
