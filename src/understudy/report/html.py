"""The page: one self-contained HTML file, without scripts and without anything from elsewhere."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from understudy.report import outline, pictures, words

PARTS = 12
ROWS = 200
HISTOGRAMS = 6
HISTOGRAM = "histogram:"
FURTHER_SIZES = ("low", "high", "lower", "upper")


def render(data: Mapping[str, Any], cards: Mapping[str, Mapping[str, Any]], *, title: str) -> str:
    """Give an assessment's dict as one HTML page.

    Parameters
    ----------
    data : mapping
        Version 1 of the JSON contract.
    cards : mapping
        ``Card.to_dict()`` by the name of the measure; unknown measures may be absent.
    title : str
        The page's title.

    Examples
    --------
    >>> page = render({"findings": [], "verdicts": [], "provenance": {}}, {}, title="a & b")
    >>> "<h1><bdi>a &amp; b</bdi></h1>" in page
    True
    """
    environment = Environment(
        loader=PackageLoader("understudy.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    provenance = data.get("provenance") or {}
    findings = _findings(data.get("findings") or [], cards, outline.has_holdout(provenance))
    families = [
        {
            "id": f"family-{_slug(name)}",
            "title": outline.FAMILIES.get(name, name),
            "findings": group,
        }
        for name, group in outline.by_family(findings).items()
    ]
    return environment.get_template("report.html.j2").render(
        title=title,
        compared=outline.compared(provenance),
        warnings=provenance.get("warnings") or [],
        verdicts=[outline.verdict(v) for v in data.get("verdicts") or []],
        families=families,
        flagged=sum(f["mark"] == "flagged" for f in findings),
        ok=sum(f["ok"] for f in findings),
        total=len(findings),
        facts=_facts(provenance),
    )


def _visible(value: Any) -> Any:
    return (
        words.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
    )


def _slug(text: object) -> str:
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"


def _findings(
    findings: Sequence[Mapping[str, Any]],
    cards: Mapping[str, Mapping[str, Any]],
    holdout: bool | None,
) -> list[dict[str, Any]]:
    seen: dict[str, int] = {}
    views = []
    for finding in findings:
        slug = _slug(finding["measure"])
        seen[slug] = seen.get(slug, 0) + 1
        anchor = slug if seen[slug] == 1 else f"{slug}-n{seen[slug]}"
        views.append(_finding(finding, cards.get(finding["measure"], {}), holdout, anchor))
    return views


def _finding(
    finding: Mapping[str, Any], card: Mapping[str, Any], holdout: bool | None, anchor: str
) -> dict[str, Any]:
    """Give all that the template prints of a finding, as text."""
    unit = str(finding.get("unit") or "")
    ok = finding.get("status", "ok") == "ok"
    title = words.visible(card.get("title") or finding["measure"])
    tables = finding.get("tables") or {}
    drawn = ok and words.is_number(finding.get("value"))
    histograms = [
        {
            "name": name.removeprefix(HISTOGRAM),
            "svg": pictures.bars(table, words.visible(name.removeprefix(HISTOGRAM))),
            "series": list(zip(pictures.ROLES, table["columns"][1:4], strict=False)),
            "omitted": max(0, len(table["rows"]) - pictures.BARS),
            "table": _table(table, unit, shares=True),
        }
        for name, table in tables.items()
        if name.startswith(HISTOGRAM)
    ]
    return {
        "anchor": anchor,
        "measure": finding["measure"],
        "title": title,
        "ok": ok,
        "mark": words.mark(finding),
        "sentence": words.sentence(finding, holdout=holdout).replace(" %", "\N{NO-BREAK SPACE}%"),
        "value": words.number(finding.get("value"), unit),
        "interval": words.interval(finding.get("interval"), unit),
        "level": words.level(finding.get("level")),
        "reference": words.number(finding.get("reference"), unit if unit == "fraction" else ""),
        "direction": words.direction(finding.get("better")),
        "p_value": words.p_value(finding.get("p_value")),
        "strip": pictures.strip(finding, title) if drawn else "",
        "baselines": [
            (name.replace("_", " "), words.number(value, unit))
            for name, value in (finding.get("baselines") or {}).items()
        ],
        "parts": _parts(finding.get("parts") or [], unit),
        "histograms": histograms[:HISTOGRAMS],
        "more_histograms": histograms[HISTOGRAMS:],
        "box": pictures.boxes(tables["box"], title) if _is_box(tables.get("box")) else "",
        "tables": [
            (name, _table(table, unit))
            for name, table in tables.items()
            if not name.startswith(HISTOGRAM)
        ],
        "note": finding.get("note") or "" if ok else "",
        "card": [
            (label, card[key])
            for key, label in (
                ("meaning", "What it means"),
                ("formula", "How it is computed"),
                ("headline", "Which number is shown"),
                ("source", "Source"),
                ("not_shown", "What it does not show"),
                ("threat", "Who attacks, knowing and seeing what"),
            )
            if card.get(key)
        ],
    }


def _parts(parts: Sequence[Mapping[str, Any]], unit: str) -> dict[str, Any]:
    """Give the table of parts, and how many rows of it are shown at once."""
    known = ("name", "value", "reference", "unit")
    further = list(dict.fromkeys(key for part in parts for key in part if key not in known))
    references = any(part.get("reference") is not None for part in parts)
    keys = ["value", *(["reference"] if references else []), *further]
    rows = [
        [
            words.visible(part["name"]),
            *(_cell(part.get(key), key, str(part.get("unit") or unit)) for key in keys),
        ]
        for part in parts
    ]
    columns = ["part", *(words.visible(key).replace("_", " ") for key in keys)]
    return {"columns": columns, "rows": rows, "first": rows[:PARTS], "numeric": [True] * len(keys)}


def _table(table: Mapping[str, Any], unit: str, *, shares: bool = False) -> dict[str, Any]:
    columns, rows = table["columns"], table["rows"]
    shown = [
        [
            words.number(value, "fraction")
            if shares and i > 0 and not isinstance(value, str)
            else _cell(value, columns[i], unit)
            for i, value in enumerate(row)
        ]
        for row in rows[:ROWS]
    ]
    numeric = [
        all(row[i] is None or words.is_number(row[i]) for row in rows)
        for i in range(1, len(columns))
    ]
    names = [words.visible(c).replace("_", " ") for c in columns]
    left_out = max(0, len(rows) - ROWS)
    return {"columns": names, "rows": shown, "numeric": numeric, "left_out": left_out}


def _cell(value: Any, column: object, unit: str) -> str:
    """Print one cell; the columns that repeat the finding's own numbers get its unit."""
    if column == "p_value":
        return words.p_value(value)
    if words.is_number(value) and column in ("value", "reference", *FURTHER_SIZES):
        return words.number(value, unit)
    return words.scalar(value)


def _is_box(table: Any) -> bool:
    return (
        isinstance(table, Mapping)
        and len(table["columns"]) == 6
        and any(all(map(words.is_number, row[1:])) for row in table["rows"])
    )


def _facts(provenance: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """List the provenance as (name, text or pairs), the seconds with their sum, last."""
    facts: list[tuple[str, Any]] = []
    for name, value in provenance.items():
        if name in ("train", "synthetic", "holdout", "seconds", "warnings"):
            continue
        if isinstance(value, Mapping):
            value = [(k, words.scalar(v)) for k, v in value.items()]
            facts.append((name.replace("_", " "), value or words.NONE))
        else:
            facts.append((name.replace("_", " "), words.scalar(value)))
    seconds = provenance.get("seconds")
    if isinstance(seconds, Mapping) and seconds:
        total = sum(s for s in seconds.values() if words.is_number(s))
        pairs = [("all together", words.number(total))]
        facts.append(("seconds", [*pairs, *((k, words.number(s)) for k, s in seconds.items())]))
    return facts
