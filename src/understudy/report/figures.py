"""From a finding's tables to its figures: the word before the colon says how a table is drawn.

A sheet is a table of numbers as text: the first rows, which the page shows without its script.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from understudy.report import heat, pictures, words

FIGURES_AT_FIRST = 12
FIRST = 12
SIZES = ("value", "reference", "low", "high", "lower", "upper")
TITLES = {
    "matrix": "Associations between columns",
    "bars": "Distributions",
    "heat": "Two columns together",
    "facets": "Three columns together",
    "lines": "Curves",
    "boxes": "Spread",
    "table": "Tables",
}
Drawn = tuple[str, Mapping[str, Any], int, str]  # name, table, its number, identifier on the page


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


def groups(tables: Sequence[Drawn], parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give the figures of a finding by kind, in the order of its parts, which come worst first."""
    place = {str(part["name"]): i for i, part in enumerate(parts)}
    found: dict[str, list[Drawn]] = {kind: [] for kind in TITLES}
    for item in tables:
        found[kind_of(*item[:2])].append(item)
    made = []
    for kind, items in found.items():
        items.sort(key=lambda item: place.get(_subject(item[0]), len(place)))
        drawn = [_figure(kind, *item) for item in items]
        names = dict.fromkeys(c for _, table, *_ in items for c in table["columns"][1:4])
        legend = dict.fromkeys(pictures.roles(list(names))) if kind == "bars" else ()
        group = {
            "kind": kind,
            "title": TITLES[kind],
            "legend": list(legend),
            "withheld": any(None in row for _, table, *_ in items for row in table["rows"]),
            "first": drawn[:FIGURES_AT_FIRST],
            "more": drawn[FIGURES_AT_FIRST:],
        }
        made += [group] if drawn else []
    return made


def _subject(name: str) -> str:
    return name.split(":", 1)[-1]


def _figure(
    kind: str, name: str, table: Mapping[str, Any], number: int, own: str
) -> dict[str, Any]:
    """Draw a table, and say where real and synthetic are furthest apart and what is left out."""
    rows, columns = table["rows"], table["columns"]
    title = words.visible(name if kind == "table" else _subject(name))
    svg, said = Markup(""), list[str]()
    if kind == "matrix":
        svg, said = heat.matrix(table, own), [*heat.largest(table)]
    elif kind in ("heat", "facets"):
        svg, said = heat.heat(table, own), [*heat.extremes(table)]
    elif kind != "table":
        draw = {"bars": pictures.bars, "lines": pictures.lines, "boxes": pictures.boxes}[kind]
        svg = draw(table, title)
    if kind == "bars" and len(rows) > pictures.BARS:
        said.append(f"{len(rows) - pictures.BARS} further bins are not drawn.")
    if kind == "facets":
        more = max(0, len({words.scalar(row[2]) for row in rows}) - heat.LEVELS)
        which = f", of which {more} are not drawn" if more else ""
        panels = Markup("{} down, {} across, three panels for each value of {}{}.")
        said.append(panels.format(*map(heat.named, columns[:3]), which))
    whole = kind != "table" or len(rows) <= FIRST
    return {
        "kind": kind,
        "title": title.replace("_", " ") if kind == "table" else title,
        "name": words.visible(name),
        "summary": "The numbers, and download" if whole else f"All {len(rows)} rows, and download",
        "number": number,
        "svg": svg,
        "said": said,
        "lists": heat.changed_words(table) if kind == "matrix" else [],
        "series": pictures.line_series(table) if kind == "lines" else [],
        "shares": kind in ("bars", "heat", "facets"),
        "rows": rows,
        "columns": columns,
    }


def parts_sheet(found: Sequence[Mapping[str, Any]], unit: str) -> dict[str, Any]:
    """Give the first parts of a finding, and how many there are.

    Examples
    --------
    >>> made = parts_sheet([{"name": "age", "value": 0.02, "p_value": 0.03}], "fraction")
    >>> made["columns"], made["rows"]
    (['part', 'value', 'p value'], [['age', '2.00 %', '0.03']])
    """
    known = ("name", "value", "reference", "unit")
    further = list(dict.fromkeys(key for part in found for key in part if key not in known))
    references = any(part.get("reference") is not None for part in found)
    keys = ["value", *(["reference"] if references else []), *further]
    rows = []
    for part in found[:FIRST]:
        own = str(part.get("unit") or unit)
        rows.append([words.visible(part["name"]), *(_cell(part.get(k), k, own) for k in keys)])
    columns = ["part", *(words.visible(key).replace("_", " ") for key in keys)]
    numeric = [True] * len(keys)
    return {"columns": columns, "rows": rows, "numeric": numeric, "count": len(found)}


def sheet(found: Mapping[str, Any], unit: str, *, most: int = FIRST) -> dict[str, Any]:
    """Give the first rows of any table."""
    columns, rows = found["columns"], found["rows"]
    return {
        "columns": [words.visible(c).replace("_", " ") for c in columns],
        "rows": [[_cell(v, columns[i], unit) for i, v in enumerate(row)] for row in rows[:most]],
        "numeric": [
            all(row[i] is None or words.is_number(row[i]) for row in rows)
            for i in range(1, len(columns))
        ],
    }


def _cell(value: Any, column: object, unit: str) -> str:
    """Print one cell; the columns that repeat the finding's own numbers get its unit."""
    if column == "p_value":
        return words.p_value(value)
    if words.is_number(value) and column in SIZES:
        return words.number(value, unit)
    return words.scalar(value)
