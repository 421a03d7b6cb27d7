"""The page: one self-contained HTML file; its small script is its own, nothing is fetched.

Everything is readable without the script. With it one can search, see the numbers behind each
picture and take them along; the security policy lets no other script run and nothing be fetched.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from understudy.report import embed, figures, noticing, outline, pictures, sheets, words

RECORDS = 500
CARD = {
    "meaning": "What it means",
    "formula": "How it is computed",
    "headline": "Which number is shown",
    "source": "Source",
    "not_shown": "What it does not show",
    "threat": "Who attacks, knowing and seeing what",
}

ASSESSMENT = "assessment of a synthetic table"
ATTACK = "attack on a generator"
CALIBRATION = "what measures notice"


def render(
    data: Mapping[str, Any],
    cards: Mapping[str, Mapping[str, Any]],
    *,
    title: str,
    about: str = ASSESSMENT,
    register: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Give an assessment's dict as one HTML page.

    Parameters
    ----------
    data : mapping
        Version 1 of the JSON contract.
    cards : mapping
        ``Card.to_dict()`` by the name of the measure; unknown measures may be absent.
    title : str
        The page's title.
    about : str
        What the page is: only the assessment of a table speaks of policies where there is none.
    register : sequence of mapping, optional
        Single records at risk. With them the page is the steward's edition and says so; without
        them it holds nothing about a single record.

    Examples
    --------
    >>> page = render({"findings": [], "verdicts": [], "provenance": {}}, {}, title="a & b")
    >>> "<h1><bdi>a &amp; b</bdi></h1>" in page
    True
    """
    loader = PackageLoader("understudy.report")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    provenance = data.get("provenance") or {}
    page = _Page(data, cards, outline.has_holdout(provenance))
    families = [
        {
            "id": f"family-{_slug(name)}",
            "name": outline.FAMILIES.get(name, name).split(":")[0],
            "title": outline.FAMILIES.get(name, name),
            "findings": group,
        }
        for name, group in outline.by_family(page.views).items()
    ]
    verdicts = [
        {**verdict, "anchor": page.anchors.get(verdict["measure"], "")}
        for verdict in map(outline.verdict, data.get("verdicts") or [])
    ]
    listed = None if register is None else _register(register, page.store)
    style, script = (
        loader.get_source(environment, name)[0] for name in ("report.css", "report.js")
    )
    judged = bool(verdicts) or about == ASSESSMENT
    return environment.get_template("report.html.j2").render(
        title=title,
        about=about,
        judged=judged,
        security=f"default-src 'none'; style-src '{embed.fingerprint(style)}'; "
        f"script-src '{embed.fingerprint(script)}'; img-src data:; base-uri 'none'; "
        "form-action 'none'",
        style=Markup(style),
        script=Markup(script),
        held=embed.as_json({"assessment": page.held(), "tables": page.store.tables}),
        compared=outline.compared(provenance),
        sections=[
            *([("verdicts", "Verdict")] if judged else []),
            ("findings", "At a glance"),
            *((family["id"], family["name"]) for family in families),
            *([] if listed is None else [("register", "Register")]),
            ("provenance", "How it was made"),
        ],
        warnings=provenance.get("warnings") or [],
        verdicts=verdicts,
        overall=outline.overall(verdicts),
        families=families,
        flagged=sum(f["mark"].startswith("flagged") for f in page.views),
        ok=sum(f["ok"] for f in page.views),
        total=len(page.views),
        register=listed,
        facts=_facts(provenance),
    )


def _visible(value: Any) -> Any:
    return (
        words.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
    )


def _slug(text: object) -> str:
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"


class _Page:
    """The findings as the template prints them; a table that comes again is drawn once."""

    def __init__(
        self,
        data: Mapping[str, Any],
        cards: Mapping[str, Mapping[str, Any]],
        holdout: bool | None,
    ) -> None:
        findings = data.get("findings") or []
        self.data, self.holdout = data, holdout
        self.store = embed.Store()
        self.anchors: dict[str, str] = {}
        self.numbers: list[dict[str, int]] = []
        self._drawn: dict[tuple[str, int], tuple[str, str]] = {}
        self._slugs: dict[str, int] = {}
        self.views = [
            self._view(place, finding, cards.get(finding["measure"], {}))
            for place, finding in enumerate(findings)
        ]

    def held(self) -> dict[str, Any]:
        """Give the assessment with the numbers of its tables in their places."""
        return embed.without_tables(self.data, self.numbers)

    def _anchor(self, measure: object) -> str:
        """Give a place of its own to each finding; verdicts point to the first of a measure."""
        slug = _slug(measure)
        times = self._slugs[slug] = self._slugs.get(slug, 0) + 1
        anchor = slug if times == 1 else f"{slug}-n{times}"
        self.anchors.setdefault(str(measure), anchor)
        return anchor

    def _view(
        self, place: int, finding: Mapping[str, Any], card: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Give all that the template prints of a finding, as text."""
        unit = str(finding.get("unit") or "")
        ok = finding.get("status", "ok") == "ok"
        title = words.visible(card.get("title") or finding["measure"])
        anchor = self._anchor(finding["measure"])
        said = words.sentence(finding, card=card, holdout=self.holdout)
        sentence = " ".join(filter(None, [said, noticing.beside(finding)]))
        parts = finding.get("parts") or []
        groups, elsewhere = self._figures(finding, anchor, title, unit)
        return {
            "place": place,
            "anchor": anchor,
            "measure": finding["measure"],
            "title": title,
            "unit": unit,
            "ok": ok,
            "mark": words.mark(finding),
            "sentence": sentence.replace(" %", "\N{NO-BREAK SPACE}%"),
            "value": words.number(finding.get("value"), unit),
            "interval": words.interval(finding.get("interval"), unit),
            "level": words.level(finding.get("level")),
            "reference": words.number(finding.get("reference"), unit if unit == "fraction" else ""),
            "direction": words.direction(finding.get("better")),
            "p_value": words.p_value(finding.get("p_value")),
            "strip": pictures.strip(finding, title)
            if ok and words.is_number(finding.get("value"))
            else "",
            "baselines": [
                (name.replace("_", " "), words.number(value, unit))
                for name, value in (finding.get("baselines") or {}).items()
            ],
            "parts": sheets.parts(parts, unit),
            "groups": groups,
            "elsewhere": elsewhere,
            "note": finding.get("note") or "" if ok else "",
            "card": [(label, card[key]) for key, label in CARD.items() if card.get(key)],
        }

    def _figures(
        self, finding: Mapping[str, Any], anchor: str, title: str, unit: str
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Draw what is new, and count what is drawn under other findings."""
        numbers: dict[str, int] = {}
        fresh, elsewhere = [], dict[tuple[str, str], int]()
        for name, table in (finding.get("tables") or {}).items():
            number = numbers[name] = self.store.add(table)
            if (name, number) in self._drawn:
                first = self._drawn[name, number]
                elsewhere[first] = elsewhere.get(first, 0) + 1
            else:
                self._drawn[name, number] = anchor, title
                fresh.append((name, table, number, f"p{len(self._drawn)}"))
        self.numbers.append(numbers)
        groups = figures.groups(fresh, finding.get("parts") or [])
        for group in groups:
            for figure in (*group["first"], *group["more"]):
                figure["table"] = sheets.table(figure, unit) if group["kind"] == "table" else None
        return groups, [
            {"anchor": a, "title": t, "count": count} for (a, t), count in elsewhere.items()
        ]


def _register(register: Sequence[Mapping[str, Any]], store: embed.Store) -> dict[str, Any]:
    """Give the first lines of the register, and how many there are."""
    columns = list(dict.fromkeys(key for record in register for key in record))
    rows = [[record.get(key) for key in columns] for record in register[:RECORDS]]
    table = {"columns": columns, "rows": rows}
    return {
        "count": f"{len(register):,}",
        "left_out": max(0, len(register) - RECORDS),
        "number": store.add(table),
        "table": sheets.table(table, "", most=RECORDS),
    }


def _facts(provenance: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """List the provenance as (name, text or pairs), the seconds with their sum, last."""
    facts: list[tuple[str, Any]] = []
    for name, value in provenance.items():
        if name in ("train", "synthetic", "holdout", "seconds", "warnings"):
            continue
        if isinstance(value, Mapping):
            value = [(k, words.scalar(v)) for k, v in value.items()]
        elif isinstance(value, list | tuple) and len(value) > 1:
            value = [("", words.scalar(v)) for v in value]
        else:
            value = words.scalar(value)
        facts.append((name.replace("_", " "), value or words.NONE))
    seconds = provenance.get("seconds")
    if isinstance(seconds, Mapping) and seconds:
        total = sum(s for s in seconds.values() if words.is_number(s))
        pairs = [("all together", words.number(total))]
        facts.append(("seconds", [*pairs, *((k, words.number(s)) for k, s in seconds.items())]))
    return facts
