"""The sheet inside a notebook: a small table that takes the notebook's own looks."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from understudy.report import noticing, outline, words

COLUMNS = ("measure", "value", "interval", "reference", "")
WHOLE = "to_html(path) writes the whole report: pictures, parts, and what each number means."


def render(data: Mapping[str, Any], cards: Mapping[str, Mapping[str, Any]]) -> str:
    """Give an assessment's dict as a fragment of HTML, without style, script or pictures.

    Parameters
    ----------
    data : mapping
        Version 1 of the JSON contract.
    cards : mapping
        ``Card.to_dict()`` by the name of the measure; unknown measures may be absent.

    Examples
    --------
    >>> finding = {"measure": "fidelity.<x>", "value": 0.5, "unit": "fraction", "flagged": True}
    >>> page = render({"findings": [finding]}, {})
    >>> "fidelity.&lt;x&gt;" in page, "flagged" in page, "<script" in page
    (True, True, False)
    """
    findings = data.get("findings") or []
    provenance = data.get("provenance") or {}
    lines = [_line(warning, "Read this first.") for warning in provenance.get("warnings") or []]
    verdicts = [outline.verdict(v) for v in data.get("verdicts") or []]
    if verdicts:
        together = outline.overall(verdicts)
        lines.append(_line(together["sentence"], f"Policy: {together['outcome']}."))
    holdout = outline.has_holdout(provenance)
    rows = [
        _row(finding, cards.get(finding["measure"], {}), holdout)
        for group in outline.by_family(findings).values()
        for finding in group
    ]
    heads = Markup("").join(Markup("<th>{}</th>").format(name) for name in COLUMNS)
    made = (
        "<div>{}<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
        "<p><small>{}</small></p></div>"
    )
    return str(Markup(made).format(Markup("").join(lines), heads, Markup("").join(rows), WHOLE))


def _line(text: str, start: str) -> Markup:
    return Markup("<p><b>{}</b> {}</p>").format(words.visible(start), words.visible(text))


def _row(finding: Mapping[str, Any], card: Mapping[str, Any], holdout: bool | None) -> Markup:
    unit = str(finding.get("unit") or "")
    named = Markup('<th scope="row"><bdi>{}</bdi><br><small><bdi>{}</bdi></small></th>').format(
        words.visible(card.get("title") or finding["measure"]),
        " ".join(
            filter(
                None,
                [words.sentence(finding, card=card, holdout=holdout), noticing.beside(finding)],
            )
        ),
    )
    cells = (
        words.number(finding.get("value"), unit),
        words.interval(finding.get("interval"), unit),
        words.number(finding.get("reference"), unit if unit == "fraction" else ""),
    )
    numbers = Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
    return Markup("<tr>{}{}<td><b>{}</b></td></tr>").format(named, numbers, words.mark(finding))
