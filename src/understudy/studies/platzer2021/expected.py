"""The published figures, as they are printed."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PERCENT = ("f1", "f2", "f3", "share")
DISTANCES = ("distance_training", "distance_holdout")
FIGURES = (*PERCENT, *DISTANCES)
COUNTS = ("n_closer", "n_further", "n_equal")
CUT = "…"


@dataclass(frozen=True)
class Expected:
    """Figures 7 and 8 as printed, and the authors' own counts, by data set and generator."""

    figures: dict[str, dict[str, dict[str, str]]]
    counts: dict[str, dict[str, list[int]]]
    quick: list[str]


@cache
def expected() -> Expected:
    """Read the published figures."""
    text = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return Expected(data["figures"], data["counts"], data["quick"])


def printed(name: str, value: float | None) -> str:
    """Write a figure as the paper prints it.

    Examples
    --------
    >>> printed("f1", 0.00581), printed("distance_training", 2.1366), printed("f3", None)
    ('0.6', '2.14', '–')
    """
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if name in PERCENT else f"{value:.2f}"


def agrees(name: str, value: float | None, published: str) -> bool:
    """Tell whether a figure is the published one at the printed digits.

    Some figures are cut short in the text at hand; they end in ``…``.

    Examples
    --------
    >>> agrees("f1", 0.00581, "0.6"), agrees("distance_holdout", 4.288, "4.2…")
    (True, True)
    """
    if published.endswith(CUT):
        return printed(name, value).startswith(published.removesuffix(CUT))
    return printed(name, value) == published


def published_figures(pair: dict[str, Any]) -> dict[str, str] | None:
    """Give the published figures of a pair, if there are any."""
    return expected().figures.get(pair["dataset"], {}).get(pair["generator"])


def differing(pair: dict[str, Any]) -> list[str]:
    """Name the figures and counts of a pair that differ from the published ones."""
    figures = published_figures(pair) or {}
    counts = expected().counts.get(pair["dataset"], {}).get(pair["generator"], [])
    wrong = [name for name, text in figures.items() if not agrees(name, pair[name], text)]
    return wrong + [name for name, n in zip(COUNTS, counts, strict=False) if pair[name] != n]
