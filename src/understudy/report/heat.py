"""Heat maps: the shares of two or three columns, and which cells differ most."""

import itertools
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from markupsafe import Markup

from understudy.report import panels, sheets, words

LEVELS = 12
SERIES = ("train", "synthetic", "holdout")


def depth(table: Mapping[str, Any]) -> int:
    """Count the columns of labels before the shares; 0 if this is no such table.

    Examples
    --------
    >>> depth({"columns": ["age", "sex", "train", "synthetic"]}), depth({"columns": ["a", "b"]})
    (2, 0)
    """
    columns = [str(c) for c in table["columns"]]
    for series in (SERIES, SERIES[:2]):
        if tuple(columns[-len(series) :]) == series and len(columns) - len(series) in (2, 3):
            return len(columns) - len(series)
    return 0


def span(table: Mapping[str, Any]) -> float:
    """Give the difference that gets the strongest colour.

    It is the largest of the table, but at least three times what fresh real rows differ by, so
    that chance looks pale.

    Examples
    --------
    >>> rows = [["x", "y", 0.50, 0.52, 0.51], ["x", "z", 0.50, 0.48, 0.49]]
    >>> round(span({"columns": ["a", "b", "train", "synthetic", "holdout"], "rows": rows}), 3)
    0.03
    """
    at = depth(table)
    return max(max(_apart(table["rows"], at, at + 1), default=0.0), 3 * fresh(table))


def fresh(table: Mapping[str, Any]) -> float:
    """Give how much fresh real rows differ from training at most; 0 where there are none."""
    at = depth(table)
    return max(_apart(table["rows"], at, at + 2), default=0.0)


def _apart(rows: Sequence[Sequence[Any]], one: int, other: int) -> list[float]:
    """Give the distances between two shares of each cell, where both are known."""
    pairs = [(row[one], row[other]) for row in rows if len(row) > other]
    return [abs(a - b) for a, b in pairs if words.is_number(a) and words.is_number(b)]


def heat(table: Mapping[str, Any], name: str) -> Markup:
    """Draw the shares of two columns, and of three for each value of the third.

    Parameters
    ----------
    table : mapping
        Two or three columns of labels, then the shares in training, synthetic and holdout.
    name : str
        An identifier that no other picture of the page has.
    """
    at = depth(table)
    names = [words.visible(c) for c in table["columns"][:at]]
    labels = [_order(table["rows"], i) for i in range(at)]
    shares = [v for row in table["rows"] for v in row[at : at + 2] if words.is_number(v)]
    shades = panels.sequential(max(shares, default=0)), panels.diverging(span(table))
    if at == 2:
        cells = [_cells(table["rows"], labels, column) for column in (2, 3)]
        drawn = [*cells, panels.difference(*cells)]
        said = f"Shares of {names[0]} (down) by {names[1]} (across)"
        return panels.beside(drawn, labels, shades, name, said, names, 118, 150)
    blocks = []
    for level in labels[2][:LEVELS]:
        rows = [row for row in table["rows"] if words.scalar(row[2]) == level]
        cells = [_cells(rows, labels, column) for column in (3, 4)]
        said = f"Shares of {names[0]} (down) by {names[1]} (across) where {names[2]} is {level}"
        blocks.append(
            panels.block(
                [*cells, panels.difference(*cells)], labels, shades, said, f"{names[2]} {level}"
            )
        )
    return Markup('<div class="facets">{}</div>').format(Markup("").join(blocks))


def extremes(table: Mapping[str, Any]) -> list[Markup]:
    """Say which cells differ most, in both directions, and how much fresh real rows differ."""
    at, rows = depth(table), table["rows"]
    sure = [r for r in rows if words.is_number(r[at]) and words.is_number(r[at + 1])]
    if not sure:
        return []
    by = sorted(sure, key=lambda r: r[at + 1] - r[at])
    said = []
    for word, row in (("Most overstated", by[-1]), ("most understated", by[0])):
        where = Markup(", ").join(
            Markup("{} {}").format(sheets.named(column), sheets.named(value))
            for column, value in zip(table["columns"], row[:at], strict=False)
        )
        real, synthetic = (words.number(v, "fraction") for v in row[at : at + 2])
        said.append(Markup("{}: {} ({} where {} is real)").format(word, where, synthetic, real))
    text = Markup("; ").join(said) + "."
    if chance := fresh(table):
        text += f" Fresh real rows differ by up to {words.number(chance, 'fraction')}."
    text += f" The strongest colour is a difference of {words.number(span(table), 'fraction')}."
    return [text]


def _order(rows: Sequence[Sequence[Any]], column: int) -> list[str]:
    """Order the labels of a column of which single rows show parts, each in reading order.

    Examples
    --------
    >>> _order([["x", "1"], ["x", "3"], ["y", "2"], ["y", "3"], ["z", "1"], ["z", "2"]], 1)
    ['1', '2', '3']
    """
    after: dict[str, list[str]] = {words.scalar(row[column]): [] for row in rows}
    for one, other in itertools.pairwise(rows):
        if one[:column] == other[:column] and one[column] != other[column]:
            after[words.scalar(other[column])].append(words.scalar(one[column]))
    try:
        return list(TopologicalSorter(after).static_order())
    except CycleError:
        return list(after)


def _cells(
    rows: Sequence[Sequence[Any]], labels: Sequence[Sequence[str]], column: int
) -> panels.Cells:
    down, across = ({label: i for i, label in enumerate(axis)} for axis in labels[:2])
    return {(down[words.scalar(r[0])], across[words.scalar(r[1])]): r[column] for r in rows}
