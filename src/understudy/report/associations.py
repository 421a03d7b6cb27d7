"""Associations between columns: real, synthetic, and which were lost or invented."""

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from understudy.report import heat, panels, sheets, words

STRONG = 0.3
FAINTEST = 0.1
LISTED = 10


def matrix(table: Mapping[str, Any], name: str) -> Markup:
    """Draw the associations of all pairs of columns; what is lost and invented is marked."""
    pairs = _pairs(table)
    names = list(dict.fromkeys(c for pair in pairs for c in pair))
    place = {c: i for i, c in enumerate(names)}
    cells: list[panels.Cells] = [{}, {}]
    for (a, b), numbers in pairs.items():
        for panel, value in zip(cells, numbers, strict=True):
            panel[place[a], place[b]] = panel[place[b], place[a]] = value
    signed = any(words.is_number(v) and v < 0 for panel in cells for v in panel.values())
    top = span(table)
    shades = (
        panels.diverging(1.0) if signed else panels.sequential(1.0, root=False),
        panels.diverging(top),
    )
    marks = {
        kind: [(place[a], place[b]) for pair in found for a, b in (pair, pair[::-1])]
        for kind, found in changed(table).items()
    }
    said = f"Associations of {len(names)} columns"
    drawn = [*cells, panels.difference(*cells)]
    return panels.beside(
        drawn, [names, names], shades, name, said, ["", ""], 216, 216, marks, "large"
    )


def span(table: Mapping[str, Any]) -> float:
    """Give the difference that gets the strongest colour: as in heat maps, but at least 0.1."""
    return max(heat.span(table), FAINTEST)


def largest(table: Mapping[str, Any]) -> list[Markup]:
    """Say which association differs most, and how much those of fresh real rows differ."""
    known = [r for r in table["rows"] if words.is_number(r[2]) and words.is_number(r[3])]
    if not known:
        return []
    one, other, real, made, *_ = max(known, key=lambda r: abs(r[3] - r[2]))
    said = "Largest difference: {} × {} ({} real, {} synthetic).{} The strongest colour is {}."
    fresh = heat.fresh(table)
    chance = f" Fresh real rows differ by up to {words.number(fresh)}." if fresh else ""
    numbers = words.number(real), words.number(made), chance, words.number(span(table))
    return [Markup(said).format(sheets.named(one), sheets.named(other), *numbers)]


def changed(table: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """List the pairs whose association was lost, and those whose association was invented.

    An association of at least 0.3 that keeps less than half of its size is lost; one of at least
    0.3 that has less than half of its size in training is invented.

    Examples
    --------
    >>> rows = [["a", "b", 0.6, 0.1], ["a", "c", 0.0, 0.5], ["b", "c", 0.6, 0.5]]
    >>> changed({"columns": ["column", "other", "train", "synthetic"], "rows": rows})
    {'lost': [('a', 'b')], 'invented': [('a', 'c')]}
    """
    found: dict[str, list[tuple[float, tuple[str, str]]]] = {"lost": [], "invented": []}
    for pair, (real, made) in _pairs(table).items():
        if pair[0] == pair[1] or not (words.is_number(real) and words.is_number(made)):
            continue
        for kind, strong, other in (("lost", real, made), ("invented", made, real)):
            if abs(strong) >= STRONG and other * math.copysign(1, strong) < abs(strong) / 2:
                found[kind].append((-abs(made - real), pair))
    return {kind: [pair for _, pair in sorted(items)] for kind, items in found.items()}


def changed_words(table: Mapping[str, Any]) -> list[tuple[str, list[Markup]]]:
    """Say which associations were lost and invented, as headings with lines."""
    pairs = _pairs(table)
    made = []
    for kind, found in changed(table).items():
        lines = [
            Markup("{} × {}: {} real, {} synthetic").format(
                *map(sheets.named, pair), *(words.number(v) for v in pairs[pair])
            )
            for pair in found[:LISTED]
        ]
        if len(found) > LISTED:
            lines.append(Markup("and {} more").format(len(found) - LISTED))
        made.append((f"Associations {kind}: {len(found)}", lines))
    return made


def _pairs(table: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Read the upper triangle or both; a pair stands once."""
    made: dict[tuple[str, str], tuple[Any, Any]] = {}
    for a, b, real, synthetic, *_ in table["rows"]:
        if (str(b), str(a)) not in made or a == b:
            made[str(a), str(b)] = real, synthetic
    return made
