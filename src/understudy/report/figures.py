"""From a finding's tables to its figures: the word before the colon says how a table is drawn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from understudy.report import associations, heat, pictures, sheets, words

SHOWN = 12
TITLES = {
    "matrix": "Associations between columns",
    "bars": "Distributions",
    "heat": "Two columns together",
    "facets": "Three columns together",
    "lines": "Curves",
    "boxes": "Spread",
    "table": "Tables",
}
Drawn = tuple[str, Mapping[str, Any], int, str]
Figure = dict[str, Any]


def kind_of(name: str, table: Mapping[str, Any]) -> str:
    """Say how a table is drawn; what does not fit its name is a plain table.

    Examples
    --------
    >>> kind_of("histogram:age", {"columns": ["bin", "train"], "rows": []})
    'bars'
    >>> kind_of("line:roc", {"columns": ["x"], "rows": []})
    'table'
    """
    word, columns = name.split(":", 1)[0], table["columns"]
    if word == "histogram" and len(columns) >= 2:
        return "bars"
    if word == "heat" and heat.depth(table):
        return "heat" if heat.depth(table) == 2 else "facets"
    if word == "matrix" and heat.depth(table) == 2:
        return "matrix"
    if word == "line" and len(columns) >= 2:
        return "lines"
    return "boxes" if word == "box" and pictures.is_box(table) else "table"


def groups(
    tables: Sequence[Drawn],
    parts: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Give the figures of a finding by kind, the worst parts first.

    Parameters
    ----------
    tables : sequence of (name, table, number, identifier)
        Those that are drawn here: the number is that of the stored table, the identifier is no
        other picture's.
    parts : sequence of mapping
        The finding's parts, worst first.
    """
    place = {str(part["name"]): i for i, part in enumerate(parts)}
    found: dict[str, list[Drawn]] = {kind: [] for kind in TITLES}
    for item in tables:
        found[kind_of(*item[:2])].append(item)
    made = []
    for kind, items in found.items():
        items.sort(key=lambda item: place.get(_subject(item[0]), len(place)))
        drawn = [_figure(kind, *item) for item in items]
        if drawn:
            made.append(
                {
                    "kind": kind,
                    "title": TITLES[kind],
                    "legend": _legend(kind, items),
                    "withheld": any(None in row for _, t, *_ in items for row in t["rows"]),
                    "first": drawn[:SHOWN],
                    "more": drawn[SHOWN:],
                }
            )
    return made


def _subject(name: str) -> str:
    return name.split(":", 1)[-1]


def _figure(
    kind: str,
    name: str,
    table: Mapping[str, Any],
    number: int,
    own: str,
) -> Figure:
    title = words.visible(name if kind == "table" else _subject(name))
    drawn: dict[str, Callable[[], Markup]] = {
        "matrix": lambda: associations.matrix(table, own),
        "bars": lambda: pictures.bars(table, title),
        "heat": lambda: heat.heat(table, own),
        "facets": lambda: heat.heat(table, own),
        "lines": lambda: pictures.lines(table, title),
        "boxes": lambda: pictures.boxes(table, title),
        "table": Markup,
    }
    return {
        "kind": kind,
        "title": title.replace("_", " ") if kind == "table" else title,
        "name": words.visible(name),
        "summary": "The numbers, and download"
        if kind != "table" or len(table["rows"]) <= sheets.FIRST
        else f"All {len(table['rows'])} rows, and download",
        "number": number,
        "svg": drawn[kind](),
        "said": [*_extremes(kind, table), *_omitted(kind, table)],
        "lists": associations.changed_words(table) if kind == "matrix" else [],
        "series": pictures.line_series(table) if kind == "lines" else [],
        "shares": kind in ("bars", "heat", "facets"),
        "rows": table["rows"],
        "columns": table["columns"],
    }


def _extremes(kind: str, table: Mapping[str, Any]) -> list[Markup]:
    """Say where real and synthetic are furthest apart."""
    if kind == "matrix":
        return associations.largest(table)
    return heat.extremes(table) if kind in ("heat", "facets") else []


def _omitted(kind: str, table: Mapping[str, Any]) -> list[str]:
    """Say what the picture leaves out."""
    if kind == "bars" and len(table["rows"]) > pictures.BARS:
        return [f"{len(table['rows']) - pictures.BARS} further bins are not drawn."]
    if kind == "facets":
        levels = {words.scalar(row[2]) for row in table["rows"]}
        down, across, each = map(sheets.named, table["columns"][:3])
        more = max(0, len(levels) - heat.LEVELS)
        which = f", of which {more} are not drawn" if more else ""
        said = "{} down, {} across, three panels for each value of {}{}."
        return [Markup(said).format(down, across, each, which)]
    return []


def _legend(kind: str, items: Sequence[Drawn]) -> list[tuple[str, str]]:
    """Give looks and names of the series of all bars of a group."""
    if kind != "bars":
        return []
    names = dict.fromkeys(c for _, table, *_ in items for c in table["columns"][1:4])
    return list(dict.fromkeys(entry for entry in pictures.roles(list(names))))
