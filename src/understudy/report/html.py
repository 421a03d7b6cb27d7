"""The page: one self-contained HTML file; its small script is its own, nothing is fetched.

Everything is readable without the script. With it one can search, see the numbers behind each
picture and take them along; the security policy lets no other script run and nothing be fetched.
The page carries the assessment along for its script as JSON, each table once. In a notebook there
is a fragment instead: a small table that takes the notebook's own looks.
"""

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from understudy.judging.findings import plain
from understudy.report import figures, pictures, words
from understudy.report.svg import joined
from understudy.report.words import Cards

RECORDS = 500
# what would end the element, break a line of script or turn the writing round
UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
COLUMNS = ("measure", "value", "interval", "reference", "")
WHOLE = "to_html(path) writes the whole report: pictures, parts, and what each number means."
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
    cards: Cards,
    *,
    title: str,
    about: str = ASSESSMENT,
    register: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Give an assessment's dict as one HTML page.

    ``data`` is version 1 of the JSON contract; ``cards`` are ``Card.to_dict()`` by the name of the
    measure, and unknown measures may be absent. Only the assessment of a table (``about``) speaks
    of policies where there is none. A ``register`` of single records at risk makes the page the
    steward's edition, which says so; without it the page holds nothing about a single record.

    Examples
    --------
    >>> page = render({"findings": [], "verdicts": [], "provenance": {}}, {}, title="a & b")
    >>> "<h1><bdi>a &amp; b</bdi></h1>" in page
    True
    """
    provenance = data.get("provenance") or {}
    page = _Page(data, cards, words.has_holdout(provenance))
    families = [
        {
            "id": f"family-{_slug(name)}",
            "name": words.FAMILIES.get(name, name).split(":")[0],
            "title": words.FAMILIES.get(name, name),
            "findings": group,
        }
        for name, group in words.by_family(page.views).items()
    ]
    verdicts = [
        {**verdict, "anchor": page.anchors.get(verdict["measure"], "")}
        for verdict in map(words.verdict, data.get("verdicts") or [])
    ]
    listed = None if register is None else _register(register, page.store)
    style, script = (source(name) for name in ("report.css", "report.js"))
    judged = bool(verdicts) or about == ASSESSMENT
    template = environment().get_template("report.html.j2")
    return template.render(
        title=title,
        about=about,
        judged=judged,
        security=f"default-src 'none'; style-src '{fingerprint(style)}'; "
        f"script-src '{fingerprint(script)}'; img-src data:; base-uri 'none'; "
        "form-action 'none'",
        style=Markup(style),
        script=Markup(script),
        held=as_json({"assessment": page.held(), "tables": page.store.tables}),
        compared=words.compared(provenance),
        sections=[
            *([("verdicts", "Verdict")] if judged else []),
            ("findings", "At a glance"),
            *((family["id"], family["name"]) for family in families),
            *([] if listed is None else [("register", "Register")]),
            ("provenance", "How it was made"),
        ],
        warnings=provenance.get("warnings") or [],
        verdicts=verdicts,
        overall=words.overall(verdicts),
        families=families,
        flagged=sum(f["mark"].startswith("flagged") for f in page.views),
        ok=sum(f["ok"] for f in page.views),
        total=len(page.views),
        register=listed,
        facts=_facts(provenance),
    )


def environment() -> Environment:
    """Give the templates; whatever they print is escaped, and nothing in it turns the writing."""
    return Environment(
        loader=PackageLoader("understudy.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )


def _visible(value: Any) -> Any:
    plain_text = isinstance(value, str) and not isinstance(value, Markup)
    return words.visible(value) if plain_text else value


def source(name: str) -> str:
    """Give the text of a style sheet or script."""
    return resources.files("understudy.report").joinpath("templates", name).read_text("utf-8")


def _slug(text: object) -> str:
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"


class Store:
    """Tables by number; equal ones have one number.

    Examples
    --------
    >>> store = Store()
    >>> table = {"columns": ["bin", "train"], "rows": [["a", 0.5], ["b", 0.5]]}
    >>> store.add(table), store.add(dict(table)), len(store.tables)
    (0, 0, 1)
    """

    def __init__(self) -> None:
        self.tables: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def add(self, table: Mapping[str, Any]) -> int:
        """Keep a table and give its number."""
        kept = packed(table)
        number = self._numbers.setdefault(json.dumps(kept), len(self.tables))
        self.tables += [kept] if number == len(self.tables) else []
        return number


def packed(table: Mapping[str, Any]) -> dict[str, Any]:
    """Turn rows into columns; where texts come again, a list of them and their places in it.

    Examples
    --------
    >>> packed({"columns": ["a", "b"], "rows": [["x", 1], ["x", 2], ["x", 3]]})
    {'columns': ['a', 'b'], 'values': [{'of': ['x'], 'at': [0, 0, 0]}, [1, 2, 3]]}
    """
    columns = list(table["columns"])
    values = [[_plain(row[i]) for row in table["rows"]] for i in range(len(columns))]
    return {"columns": columns, "values": [_short(column) for column in values]}


def _short(column: list[Any]) -> Any:
    if not all(isinstance(v, str) for v in column):
        return column
    place = {text: i for i, text in enumerate(dict.fromkeys(column))}
    if 2 * len(place) > len(column):
        return column
    return {"of": list(place), "at": [place[v] for v in column]}


def _plain(value: Any) -> Any:
    """Give a value that JSON can say; a number that is none becomes nothing."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    value = plain(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def as_json(value: Any) -> Markup:
    r"""Give JSON that can stand inside an element of a page.

    Examples
    --------
    >>> print(as_json({"a": "</script>"}))
    {"a":"\u003c/script\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def fingerprint(text: str) -> str:
    """Give what a content security policy asks of a script or a style sheet."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


class _Page:
    """The findings as the template prints them; a table that comes again is drawn once."""

    def __init__(self, data: Mapping[str, Any], cards: Cards, holdout: bool | None) -> None:
        self.data, self.holdout, self.store = data, holdout, Store()
        self.anchors: dict[str, str] = {}
        self.numbers: list[dict[str, int]] = []
        self._drawn: dict[tuple[str, int], tuple[str, str]] = {}
        self._slugs: dict[str, int] = {}
        self.views = [
            self._view(place, finding, cards.get(finding["measure"], {}))
            for place, finding in enumerate(data.get("findings") or [])
        ]

    def held(self) -> dict[str, Any]:
        """Give the assessment with the number of each table in its place."""
        findings = [
            {**finding, "tables": numbers}
            for finding, numbers in zip(self.data.get("findings") or [], self.numbers, strict=True)
        ]
        made: dict[str, Any] = _plain({**self.data, "findings": findings})
        return made

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
        sentence = words.whole_sentence(finding, card, self.holdout)
        value, interval, reference = words.cells(finding)
        has_value = words.is_number(finding.get("value"))
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
            "value": value,
            "interval": interval,
            "level": words.level(finding.get("level")),
            "reference": reference,
            "direction": words.direction(finding.get("better")),
            "p_value": words.p_value(finding.get("p_value")),
            "strip": pictures.strip(finding, title) if ok and has_value else "",
            "baselines": [
                (name.replace("_", " "), words.number(value, unit))
                for name, value in (finding.get("baselines") or {}).items()
            ],
            "parts": figures.parts_sheet(finding.get("parts") or [], unit),
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
                figure["table"] = figures.sheet(figure, unit) if group["kind"] == "table" else None
        return groups, [
            {"anchor": a, "title": t, "count": count} for (a, t), count in elsewhere.items()
        ]


def _register(register: Sequence[Mapping[str, Any]], store: Store) -> dict[str, Any]:
    """Give the first lines of the register, and how many there are."""
    columns = list(dict.fromkeys(key for record in register for key in record))
    rows = [[record.get(key) for key in columns] for record in register[:RECORDS]]
    table = {"columns": columns, "rows": rows}
    return {
        "count": f"{len(register):,}",
        "left_out": max(0, len(register) - RECORDS),
        "number": store.add(table),
        "table": figures.sheet(table, "", most=RECORDS),
    }


def _facts(provenance: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """List the provenance as (name, text or pairs), the seconds with their sum, last."""

    def printed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return [(k, words.scalar(v)) for k, v in value.items()]
        several = isinstance(value, list | tuple) and len(value) > 1
        return [("", words.scalar(v)) for v in value] if several else words.scalar(value)

    facts = [
        (name.replace("_", " "), printed(value) or words.NONE)
        for name, value in provenance.items()
        if name not in ("train", "synthetic", "holdout", "seconds", "warnings")
    ]
    seconds = provenance.get("seconds")
    if isinstance(seconds, Mapping) and seconds:
        total = sum(s for s in seconds.values() if words.is_number(s))
        pairs = [("all together", words.number(total))]
        facts.append(("seconds", [*pairs, *((k, words.number(s)) for k, s in seconds.items())]))
    return facts


def fragment(data: Mapping[str, Any], cards: Cards) -> str:
    """Give an assessment's dict for a notebook: without style, script or pictures.

    Examples
    --------
    >>> finding = {"measure": "fidelity.<x>", "value": 0.5, "unit": "fraction", "flagged": True}
    >>> page = fragment({"findings": [finding]}, {})
    >>> "fidelity.&lt;x&gt;" in page, "flagged" in page, "<script" in page
    (True, True, False)
    """
    provenance = data.get("provenance") or {}
    lines = [("Read this first.", warning) for warning in provenance.get("warnings") or []]
    verdicts = [words.verdict(v) for v in data.get("verdicts") or []]
    if verdicts:
        together = words.overall(verdicts)
        lines.append((f"Policy: {together['outcome']}.", together["sentence"]))
    holdout = words.has_holdout(provenance)
    rows = [
        _line(finding, cards.get(finding["measure"], {}), holdout)
        for group in words.by_family(data.get("findings") or []).values()
        for finding in group
    ]
    told = [Markup("<p><b>{}</b> {}</p>").format(*map(words.visible, line)) for line in lines]
    heads = joined(Markup("<th>{}</th>").format(name) for name in COLUMNS)
    made = "<div>{}<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table><p><small>{}</small>"
    return Markup(made + "</p></div>").format(joined(told), heads, joined(rows), WHOLE)


def _line(finding: Mapping[str, Any], card: Mapping[str, Any], holdout: bool | None) -> Markup:
    named = Markup('<th scope="row"><bdi>{}</bdi><br><small><bdi>{}</bdi></small></th>').format(
        words.visible(card.get("title") or finding["measure"]),
        words.whole_sentence(finding, card, holdout),
    )
    numbers = joined(Markup("<td>{}</td>").format(cell) for cell in words.cells(finding))
    return Markup("<tr>{}{}<td><b>{}</b></td></tr>").format(named, numbers, words.mark(finding))
