"""Candidates side by side: on the terminal, and as one self-contained HTML page without scripts."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from understudy.report import outline, plane, words
from understudy.report.benchmark import GAP, REFERENCE, side_by_side, width_of

DIFFERS = "differs"
READING = "* flagged; the reference is what fresh real rows get."
WHOLE = "to_html(path) writes the whole page: the plane, the differences of all pairs."
PLACES = {
    "x": "F3 over that of fresh real rows",
    "y": "share closer to training",
}


def show(data: Mapping[str, Any], *, file: IO[str], width: int | None = None) -> None:
    """Print a contest's dict to a file or a terminal."""
    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False)
    for piece in _pieces(data, console.width):
        console.print(piece)


def _pieces(data: Mapping[str, Any], width: int) -> Iterator[RenderableType]:
    for warning in data["provenance"].get("warnings") or []:
        yield _paragraph(f"Read this first. {warning}", "bold")
    yield from _findings(data, width)
    yield Text(READING, style="dim")
    yield Text("")
    yield Text("What the intervals support", style="bold underline")
    for sentence in data["recommendation"]:
        yield _paragraph(sentence)
    for note in data["provenance"].get("notes") or []:
        yield _paragraph(note)
    reasons = list(_reasons(data))
    if reasons:
        yield Text("")
        yield Text("Failed or not applicable", style="bold underline")
        yield from (_paragraph(f"{measure} ({who}): {why}") for measure, who, why in reasons)


def _findings(data: Mapping[str, Any], width: int) -> Iterator[RenderableType]:
    """Put values side by side where they fit, and otherwise in blocks, with their intervals."""
    measures = [m["measure"] for m in data["measures"]]
    reference = {m["measure"]: _reference(m) for m in data["measures"]}
    names = [c["name"] for c in data["candidates"]]
    for with_interval in (False, True):
        cells: dict[str, dict[str, str]] = {_titled(name): {} for name in names}
        for measure in data["measures"]:
            for finding in measure["findings"]:
                shown = _shown(finding, _unit(measure), with_interval=with_interval)
                cells[_titled(finding["candidate"])][measure["measure"]] = shown
        if with_interval or width_of(measures, {**cells, REFERENCE: reference}) <= width:
            yield from side_by_side(cells, reference, width)
            return


def _titled(name: str) -> str:
    return f"{name} (candidate)" if name == REFERENCE else name


def _paragraph(text: str, style: str = "") -> Padding:
    return Padding(Text(words.visible(text), style, overflow="fold"), (0, 0, 0, GAP))


def _shown(finding: Mapping[str, Any], unit: str, *, with_interval: bool) -> str:
    """Print a value; an asterisk means that it is flagged."""
    if finding["status"] != "ok":
        return words.mark(finding)
    ends = f" {words.interval(finding['interval'], unit)}" if with_interval else ""
    return words.number(finding["value"], unit) + ends + " *" * bool(finding["flagged"])


def _unit(measure: Mapping[str, Any]) -> str:
    return "fraction" if measure["unit"] == "fraction" else ""


def _reference(measure: Mapping[str, Any]) -> str:
    """Print the reference of all candidates, or say that each has its own."""
    if measure["reference"] is None and any(
        f["reference"] is not None for f in measure["findings"]
    ):
        return DIFFERS
    return words.number(measure["reference"], _unit(measure))


def _reasons(data: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Give each reason once, with the candidates that it holds for."""
    for measure in data["measures"]:
        by_note: dict[str, list[str]] = {}
        for finding in measure["findings"]:
            if finding["status"] != "ok":
                by_note.setdefault(finding["note"], []).append(finding["candidate"])
        for note, names in by_note.items():
            every = len(names) == len(data["candidates"])
            yield measure["measure"], "all" if every else ", ".join(names), note


def render(data: Mapping[str, Any], cards: Mapping[str, Mapping[str, Any]], *, title: str) -> str:
    """Give a contest's dict as one HTML page.

    Parameters
    ----------
    data : mapping
        ``Contest.to_dict()``.
    cards : mapping
        ``Card.to_dict()`` by the name of the measure; unknown measures may be absent.
    title : str
        The page's title.
    """
    environment = Environment(
        loader=PackageLoader("understudy.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    measures = [_measure(measure, data, cards) for measure in data["measures"]]
    provenance = data["provenance"]
    return environment.get_template("compare.html.j2").render(
        title=title,
        compared=outline.compared(provenance),
        candidates=data["candidates"],
        warnings=provenance.get("warnings") or [],
        sentences=[
            sentence.replace(" %", "\N{NO-BREAK SPACE}%") for sentence in data["recommendation"]
        ],
        notes=provenance.get("notes") or [],
        plane=None if data["plane"] is None else _plane(data["plane"], data["pareto"]),
        families=[
            {"title": outline.FAMILIES.get(name, name), "measures": group}
            for name, group in outline.by_family(measures).items()
        ],
        apart=[m for m in measures if m["pairs"]],
        reasons=list(_reasons(data)),
        facts=[
            (name.replace("_", " "), words.scalar(value))
            for name, value in provenance.items()
            if name not in ("train", "holdout", "warnings", "notes")
        ],
        whole=_download(data),
    )


def fragment(data: Mapping[str, Any]) -> str:
    """Give the sentences and the table for a notebook, which has its own looks."""
    heads = ["measure", REFERENCE, *(c["name"] for c in data["candidates"])]
    rows = [
        [
            measure["measure"],
            _reference(measure),
            *(_shown(f, _unit(measure), with_interval=True) for f in measure["findings"]),
        ]
        for measure in data["measures"]
    ]
    told = [*(data["provenance"].get("warnings") or []), *data["recommendation"]]
    made = "<div><ul>{}</ul><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}</div>"
    return Markup(made).format(
        _each("<li>{}</li>", told),
        _each("<th>{}</th>", heads),
        Markup("").join(Markup("<tr>{}</tr>").format(_each("<td>{}</td>", row)) for row in rows),
        _each("<p><small>{}</small></p>", [READING, WHOLE]),
    )


def _each(form: str, texts: Sequence[str]) -> Markup:
    bare = form.replace("{}", "<bdi>{}</bdi>")
    return Markup("").join(Markup(bare).format(words.visible(text)) for text in texts)


def _visible(value: Any) -> Any:
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return words.visible(value) if plain else value


def _download(data: Any) -> Markup:
    """Give data as the address of a JSON file inside the page."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return Markup("data:application/json;base64," + base64.b64encode(text.encode()).decode())


def _plane(data: Mapping[str, Any], pareto: Sequence[str]) -> dict[str, Any]:
    """Give the picture, its tables as text, and its numbers to take away."""
    star, curve = data["star"], data["curve"]["rows"]
    rows = [
        ["fresh real rows (holdout)", words.number(star["x"]), "", words.percent(star["y"]), ""]
    ]
    for name, x, *x_ends, y, y_low, y_high in data["points"]["rows"]:
        ends = None if y_low is None else [y_low, y_high]
        between = words.interval(x_ends if words.is_number(x_ends[0]) else None)
        row = [name, words.number(x), between, words.percent(y), words.interval(ends, "fraction")]
        rows.append(row)
    rows += [
        [f"flip {words.percent(p)}", words.number(x), "", words.percent(y), ""] for p, x, y in curve
    ]
    return {
        "svg": plane.draw(data, pareto),
        "columns": ["", PLACES["x"], "interval", PLACES["y"], "interval"],
        "rows": rows,
        "curve": bool(curve),
        "json": _download(data),
    }


def _measure(
    measure: Mapping[str, Any], data: Mapping[str, Any], cards: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Give all that the template prints of a measure, as text."""
    card, unit = cards.get(measure["measure"], {}), _unit(measure)
    pairs = [d for d in data["differences"] if d["measure"] == measure["measure"]]
    reference = _reference(measure)
    return {
        "measure": measure["measure"],
        "title": card.get("title") or measure["measure"],
        "meaning": card.get("meaning") or "",
        "not_shown": card.get("not_shown") or "",
        "unit": "" if unit or measure["unit"] in words.BARE else measure["unit"],
        "direction": words.direction(measure["better"]),
        "reference": reference,
        "cells": [
            {
                "candidate": finding["candidate"],
                "value": words.number(finding["value"], unit),
                "interval": words.interval(finding["interval"], unit),
                "reference": words.number(finding["reference"], unit)
                if reference == DIFFERS
                else "",
                "mark": words.mark(finding),
            }
            for finding in measure["findings"]
        ],
        "pairs": [_pair(difference) for difference in pairs],
        "looks": pairs[0]["looks"] if pairs else 0,
        "level": words.level(pairs[0]["level"]) if pairs else "",
        "decides": measure["decides"],
    }


def _pair(difference: Mapping[str, Any]) -> dict[str, Any]:
    scale, digits = (100, 2) if difference["unit"] == "fraction" else (1, 4)

    def shown(value: float | None) -> str:
        if value is None:
            return words.NONE
        text = f"{scale * value:.{digits}f}" if scale == 100 else words.significant(value)
        return text.replace("-", "−")

    ends = difference["interval"]
    told = "no interval" if ends is None else "cannot be told apart"
    if difference["apart"]:
        told = "differ, but neither is worse than fresh real rows by it"
    return {
        "a": difference["a"],
        "b": difference["b"],
        "value": shown(difference["value"]) + (" points" if scale == 100 else ""),
        "interval": words.NONE if ends is None else f"[{shown(ends[0])}, {shown(ends[1])}]",
        "paired": "paired" if difference["paired"] else "unpaired, wide",
        "better": difference["better"],
        "told": told,
    }
