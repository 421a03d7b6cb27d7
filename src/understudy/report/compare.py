"""Candidates side by side: on the terminal, and as one self-contained HTML page without scripts.

The page has the plane of privacy and fidelity (Platzer and Reutterer 2021, figure 9).
"""

import base64
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

from markupsafe import Markup
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from understudy.report import console, html, svg, words
from understudy.report.console import REFERENCE, heading
from understudy.report.words import Cards

DIFFERS = "differs"
READING = "* flagged; the reference is what fresh real rows get."
WHOLE = "to_html(path) writes the whole page: the plane, the differences of all pairs."
PLACES = ["", "F3 over that of fresh real rows", "interval", "share closer to training", "interval"]
HEIGHT, BOTTOM, TOP = 400, 346, 30
LEFT, RIGHT = 9.0, 97.0
USUAL_WIDTH = 480
LEFTMOST = 0.1
LETTER, LINE = 7.2, 15
STAR = "M0,-10 2.9,-3.1 10,-3.1 4.4,1.5 6.2,8.5 0,4.4 -6.2,8.5 -4.4,1.5 -10,-3.1 -2.9,-3.1Z"
Scale = Callable[[float], float]
Box = tuple[float, float, float, float]


def show(data: Mapping[str, Any], *, file: IO[str], width: int | None = None) -> None:
    """Print a contest's dict to a file or a terminal."""
    console.print_pieces(lambda most: _pieces(data, most), file, width)


def _pieces(data: Mapping[str, Any], width: int) -> Iterator[RenderableType]:
    for warning in data["provenance"].get("warnings") or []:
        yield _paragraph(f"Read this first. {warning}", "bold")
    yield from _findings(data, width)
    yield Text(READING, style="dim")
    yield Text("")
    yield heading("What the intervals support")
    for said in (*data["recommendation"], *(data["provenance"].get("notes") or [])):
        yield _paragraph(said)
    reasons = list(_reasons(data))
    if reasons:
        yield Text("")
        yield heading("Failed or not applicable")
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
                shown = _value(finding, _unit(measure), with_interval=with_interval)
                cells[_titled(finding["candidate"])][measure["measure"]] = shown
        if with_interval or console.width_of(measures, {**cells, REFERENCE: reference}) <= width:
            yield from console.side_by_side(cells, reference, width)
            return


def _titled(name: str) -> str:
    return f"{name} (candidate)" if name == REFERENCE else name


def _paragraph(text: str, style: str = "") -> Padding:
    return console.indented(words.visible(text), style, expand=True)


def _value(finding: Mapping[str, Any], unit: str, *, with_interval: bool) -> str:
    ends = f" {words.interval(finding['interval'], unit)}" if with_interval else ""
    return words.starred(finding, words.number(finding["value"], unit) + ends)


def _unit(measure: Mapping[str, Any]) -> str:
    return "fraction" if measure["unit"] == "fraction" else ""


def _reference(measure: Mapping[str, Any]) -> str:
    """Print the reference of all candidates, or say that each has its own."""
    own = any(finding["reference"] is not None for finding in measure["findings"])
    alike = words.number(measure["reference"], _unit(measure))
    return DIFFERS if own and measure["reference"] is None else alike


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


def render(data: Mapping[str, Any], cards: Cards, *, title: str) -> str:
    """Give a contest's dict as one HTML page; ``cards`` as in ``html.render``."""
    measures = [_measure(measure, data, cards) for measure in data["measures"]]
    provenance = data["provenance"]
    template = html.environment().get_template("compare.html.j2")
    return template.render(
        title=title,
        compared=words.compared(provenance),
        candidates=data["candidates"],
        warnings=provenance.get("warnings") or [],
        sentences=[text.replace(" %", "\N{NO-BREAK SPACE}%") for text in data["recommendation"]],
        notes=provenance.get("notes") or [],
        plane=None if data["plane"] is None else _plane(data["plane"], data["pareto"]),
        families=[
            {"title": words.FAMILIES.get(name, name), "measures": group}
            for name, group in words.by_family(measures).items()
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
            *(_value(f, _unit(measure), with_interval=True) for f in measure["findings"]),
        ]
        for measure in data["measures"]
    ]
    told = [*(data["provenance"].get("warnings") or []), *data["recommendation"]]
    made = "<div><ul>{}</ul><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}</div>"
    return Markup(made).format(
        _each("<li>{}</li>", told),
        _each("<th>{}</th>", heads),
        svg.joined(Markup("<tr>{}</tr>").format(_each("<td>{}</td>", row)) for row in rows),
        _each("<p><small>{}</small></p>", [READING, WHOLE]),
    )


def _each(form: str, texts: Sequence[str]) -> Markup:
    bare = form.replace("{}", "<bdi>{}</bdi>")
    return svg.joined(Markup(bare).format(words.visible(text)) for text in texts)


def _download(data: Any) -> Markup:
    """Give data as the address of a JSON file inside the page."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return Markup("data:application/json;base64," + base64.b64encode(text.encode()).decode())


def _plane(data: Mapping[str, Any], pareto: Sequence[str]) -> dict[str, Any]:
    """Give the picture, its tables as text, and its numbers to take away."""
    star, curve = data["star"], data["curve"]["rows"]
    fresh = "fresh real rows (holdout)"
    rows = [[fresh, words.number(star["x"]), "", words.percent(star["y"]), ""]]
    for name, x, *x_ends, y, y_low, y_high in data["points"]["rows"]:
        ends = None if y_low is None else [y_low, y_high]
        between = words.interval(x_ends if words.is_number(x_ends[0]) else None)
        shares = words.percent(y), words.interval(ends, "fraction")
        rows.append([name, words.number(x), between, *shares])
    for p, x, y in curve:
        rows.append([f"flip {words.percent(p)}", words.number(x), "", words.percent(y), ""])
    return {
        "svg": draw_plane(data, pareto),
        "columns": PLACES,
        "rows": rows,
        "curve": bool(curve),
        "json": _download(data),
    }


def _measure(measure: Mapping[str, Any], data: Mapping[str, Any], cards: Cards) -> dict[str, Any]:
    """Give all that the template prints of a measure, as text."""
    card, unit = cards.get(measure["measure"], {}), _unit(measure)
    pairs = [d for d in data["differences"] if d["measure"] == measure["measure"]]
    reference = _reference(measure)
    own = reference == DIFFERS
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
                "reference": words.number(finding["reference"], unit) if own else "",
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
    share = difference["unit"] == "fraction"

    def printed(value: float | None) -> str:
        if value is None:
            return words.NONE
        return (f"{100 * value:.2f}" if share else words.significant(value)).replace("-", "−")

    ends = difference["interval"]
    told = "no interval" if ends is None else "cannot be told apart"
    if difference["apart"]:
        told = "differ, but neither is worse than fresh real rows by it"
    return {
        "a": difference["a"],
        "b": difference["b"],
        "value": printed(difference["value"]) + " points" * share,
        "interval": words.NONE if ends is None else f"[{printed(ends[0])}, {printed(ends[1])}]",
        "paired": "paired" if difference["paired"] else "unpaired, wide",
        "better": difference["better"],
        "told": told,
    }


def draw_plane(plane: Mapping[str, Any], pareto: Sequence[str]) -> Markup:
    """Draw candidates with crosses for their intervals, the holdout and the curve of flip.

    Candidates of the Pareto set are drawn full, the others hollow.
    """
    points, curve, star = plane["points"]["rows"], plane["curve"]["rows"], plane["star"]
    xs = [star["x"], *(v for p in points for v in p[1:4]), *(row[1] for row in curve)]
    ys = [star["y"], *(v for p in points for v in p[4:7]), *(row[2] for row in curve)]
    at_x, x_ticks = _across([v for v in xs if words.is_number(v)])
    at_y, y_ticks = _up([v for v in ys if words.is_number(v)])
    x, y = svg.percent(at_x(star["x"])), at_y(star["y"])
    shapes = [
        *_grid(at_x, x_ticks, at_y, y_ticks),
        svg.upright(at_x(star["x"]), TOP, BOTTOM, "reference"),
        svg.line(LEFT, RIGHT, y, "reference"),
        *_curve(curve, at_x, at_y),
        Markup('<svg x="{}" y="{:.1f}"><title>{}</title><path class="star" d="{}"/></svg>').format(
            x, y, "fresh real rows (holdout)", STAR
        ),
    ]
    marks = [(star["x"], star["y"]), *((p[1], p[4]) for p in points), *(row[1:3] for row in curve)]
    dots = [(at_x(across) / 100 * USUAL_WIDTH, at_y(up)) for across, up in marks]
    taken = [(left - 8, top - 8, left + 8, top + 8) for left, top in dots]
    for point in points:
        shapes.append(_candidate(point, at_x, at_y, point[0] in pareto, taken))
    names = ", ".join(words.visible(point[0]) for point in points)
    said = f"Plane of privacy and fidelity with {names}; the table below has the numbers"
    return svg.picture("plane", said, shapes, HEIGHT)


def _across(values: Sequence[float]) -> tuple[Scale, list[float]]:
    """Scale by the logarithm; what is hardly above 0 stands at the edge."""
    kept = [max(value, LEFTMOST) for value in values]
    low, high = math.log(min(kept) / 1.15), math.log(max(kept) * 1.25)
    ticks = [digit * 10.0**power for power in range(-1, 5) for digit in (1, 2, 5)]

    def at(value: float) -> float:
        place = (math.log(max(value, LEFTMOST)) - low) / (high - low)
        return LEFT + (RIGHT - LEFT) * place

    return at, [tick for tick in ticks if low <= math.log(tick) <= high]


def _up(values: Sequence[float]) -> tuple[Scale, list[float]]:
    low, high = min(values), max(values)
    air = 0.08 * (high - low) or 0.05
    low, high = max(0.0, low - air), min(1.0, high + air)
    steps = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
    step = next((s for s in steps if (high - low) / s <= 7), 0.25)
    first = math.ceil(low / step - 1e-9)
    ticks = [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]
    return lambda value: BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low), ticks


def _grid(
    at_x: Scale, x_ticks: Sequence[float], at_y: Scale, y_ticks: Sequence[float]
) -> list[Markup]:
    shapes = [svg.line(LEFT, RIGHT, BOTTOM, "axis")]
    for tick in y_ticks:
        shapes.append(svg.line(LEFT, RIGHT, at_y(tick), "grid"))
        label = f"{100 * tick:.4g} %"
        shapes.append(svg.words_at(svg.percent(LEFT - 1), at_y(tick) + 4, label, "end", "faint"))
    for tick in x_ticks:
        label = f"{tick:g}×"
        shapes.append(svg.words_at(svg.percent(at_x(tick)), BOTTOM + 17, label, "middle", "faint"))
    across = "F3, times that of fresh real rows"
    middle = svg.percent((LEFT + RIGHT) / 2)
    shapes.append(svg.words_at(middle, BOTTOM + 40, across, "middle", "small"))
    shapes.append(svg.words_at("0%", 14, "share of rows closer to training", "start", "small"))
    return shapes


def _curve(rows: Sequence[Sequence[float]], at_x: Scale, at_y: Scale) -> list[Markup]:
    """Join the places of flip; name the first and the last."""
    places = [(at_x(x), at_y(y)) for _, x, y in rows]
    line = Markup('<line class="curve" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>')
    shapes = [
        line.format(svg.percent(x), y, svg.percent(right), below)
        for (x, y), (right, below) in itertools.pairwise(places)
    ]
    for (x, y), (p, ratio, share) in zip(places, rows, strict=True):
        told = f"flip {words.percent(p)}: {words.number(ratio)} times, {words.percent(share)}"
        dot = '<circle class="dot" cx="{}" cy="{:.1f}" r="3"><title>{}</title></circle>'
        shapes.append(Markup(dot).format(svg.percent(x), y, told))
    for (x, y), row in list(zip(places, rows, strict=True))[:: max(len(rows) - 1, 1)]:
        label = '<text class="faint" x="{}" y="{:.1f}" dx="7" dy="-5">{}</text>'
        shapes.append(Markup(label).format(svg.percent(x), y, f"flip {100 * row[0]:.0f} %"))
    return shapes


def _candidate(
    point: Sequence[Any], at_x: Scale, at_y: Scale, best: bool, taken: list[Box]
) -> Markup:
    name, x, x_low, x_high, y, y_low, y_high = point
    shown = words.visible(name)
    told = f"{shown}: {words.number(x)} times, share {words.percent(y)}"
    inner = [Markup("<title>{}</title>").format(told)]
    if words.is_number(x_low):
        inner.append(svg.line(at_x(x_low), at_x(x_high), at_y(y), "cross"))
    if words.is_number(y_low):
        ends = f"{at_y(y_low):.1f}", f"{at_y(y_high):.1f}"
        inner.append(svg.upright(at_x(x), *ends, "cross"))
    inner.append(svg.circle(at_x(x), f"{at_y(y):.1f}", "value" if best else "hollow"))
    inner.append(_label(svg.short(shown, 18), at_x(x), at_y(y), taken))
    return Markup("<g>{}</g>").format(svg.joined(inner))


def _label(text: str, x: float, y: float, taken: list[Box]) -> Markup:
    """Write a name where it covers least of what is there at the usual width."""
    wide = LETTER * len(text)
    here = x / 100 * USUAL_WIDTH
    places = [
        (dx, dy, anchor)
        for dy in (-9, 19, 4, -24, 34, -39, 49)
        for dx, anchor in ((9, "start"), (-9, "end"))
    ]

    def box(place: tuple[int, int, str]) -> Box:
        dx, dy, anchor = place
        left = here + dx - (wide if anchor == "end" else 0)
        return left, y + dy - LINE + 3, left + wide, y + dy + 3

    best = min(places, key=lambda place: sum(_overlap(box(place), other) for other in taken))
    taken.append(box(best))
    dx, dy, anchor = best
    made = '<text class="strong" x="{}" y="{:.1f}" dx="{}" dy="{}" text-anchor="{}">{}</text>'
    return Markup(made).format(svg.percent(x), y, dx, dy, anchor, text)


def _overlap(one: Box, two: Box) -> float:
    wide = min(one[2], two[2]) - max(one[0], two[0])
    tall = min(one[3], two[3]) - max(one[1], two[1])
    outside = max(0.0, one[2] - USUAL_WIDTH) + max(0.0, -one[0])
    return max(0.0, wide) * max(0.0, tall) + 100 * outside
