"""Pictures of one finding: its value on a line, bars, lines and box plots, as SVG text.

A strip and a box plot are as wide as the page: positions across are per cent, heights are pixels,
so that letters keep their size. Bars and lines have a fixed small size and stand side by side.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from understudy.report import svg, words
from understudy.report.svg import joined

BARS = 100
BOXES = 40
WIDTH = 300
TALL = 112
ROLES = {"train": "train", "training": "train", "synthetic": "synthetic", "holdout": "holdout"}
OTHERS = ("synthetic", "holdout", "train", "fourth", "fifth")


def strip(finding: Mapping[str, Any], title: str) -> Markup:
    """Draw value (a number), interval and reference of a finding on one line.

    The title is what a reader of the screen hears before the numbers.
    """
    unit = str(finding.get("unit") or "")
    plain = unit if unit == "fraction" else ""
    reference: Any = finding.get("reference")
    value = finding["value"]
    ends = [e for e in finding.get("interval") or [] if words.is_number(e)]
    low, high = _range([v for v in (value, *ends, reference) if words.is_number(v)], unit)
    at = _scale(low, high)
    said = f"{title}: {words.number(value, unit)}"
    shapes = [svg.line(0, 100, 34, "axis")]
    if len(ends) == 2:
        said += f", interval {words.interval(ends, unit)}"
        shapes.append(svg.rect(at(ends[0]), at(ends[1]) - at(ends[0]), 28, 12, "interval"))
    if words.is_number(reference):
        said += f", reference {words.number(reference, unit)}"
        shapes.append(svg.upright(at(reference), 22, 46, "reference"))
        label = f"reference {words.number(reference, plain)}"
        shapes.append(svg.beside(at(reference), 60, label, "small"))
    shapes.append(svg.circle(at(value), 34, "value"))
    shapes.append(svg.beside(at(value), 16, words.number(value, unit), "strong"))
    arrow = {"lower": "← {}", "higher": "{} →"}.get(str(finding.get("better")), "{}")
    middle = arrow.format(words.direction(finding.get("better")))
    shapes += [
        svg.words_at("0%", 80, words.number(low, plain), "start", "faint"),
        svg.words_at("50%", 80, middle, "middle", "faint"),
        svg.words_at("100%", 80, words.number(high, plain), "end", "faint"),
    ]
    return svg.picture("strip", said, shapes, 86)


def roles(names: Sequence[object]) -> list[tuple[str, str]]:
    """Give the look of each series beside its name: the known ones keep theirs.

    Examples
    --------
    >>> roles(["training", "holdout"]), roles(["flip", "train"])
    ([('train', 'training'), ('holdout', 'holdout')], [('synthetic', 'flip'), ('train', 'train')])
    """
    known = [ROLES.get(str(name)) for name in names]
    free = itertools.chain((r for r in OTHERS if r not in known), itertools.repeat("fifth"))
    return [
        (role or next(free), words.visible(name)) for role, name in zip(known, names, strict=True)
    ]


def bars(table: Mapping[str, Any], title: str) -> Markup:
    """Draw a histogram: training as wide bars, synthetic as narrow ones, holdout as ticks.

    The first column of the table labels the bins, the others are shares.
    """
    rows = table["rows"][:BARS]
    series = roles(table["columns"][1:4])
    shares = [[s if words.is_number(s) else None for s in row[1:4]] for row in rows]
    top = max((s for row in shares for s in row if s is not None), default=0) or 1
    step = WIDTH / max(len(rows), 1)
    strokes: dict[str, list[str]] = {role: [] for role, _ in series}
    withheld = []
    for i, numbers in enumerate(shares):
        for (role, _), share in zip(series, numbers, strict=False):
            if share is None:
                continue
            y = svg.figure(18 + TALL * (1 - max(share, 0) / top))
            margin = {"train": 0.06, "synthetic": 0.28}.get(role, 0.0)
            left, wide = svg.figure((i + margin) * step), svg.figure((1 - 2 * margin) * step)
            if role in ("train", "synthetic"):
                strokes[role].append(f"M{left} {18 + TALL}V{y}h{wide}V{18 + TALL}z")
            else:
                strokes[role].append(f"M{left} {y}h{wide}")
        if None in numbers:
            withheld.append(f"M{svg.figure((i + 0.1) * step)} {TALL + 13}h{svg.figure(step * 0.8)}")
    order = sorted(strokes, key=["train", "synthetic"].__contains__, reverse=True)
    shapes = [
        svg.words_at(0, 10, f"up to {words.number(top, 'fraction')}", "start", "faint"),
        *(
            svg.path(kind, strokes[role])
            for role in order
            for kind in ([role] if role in ("train", "synthetic") else ["halo", f"{role} tick"])
        ),
        svg.path("withheld", withheld),
        svg.path("axis", [f"M0 {18 + TALL}h{WIDTH}"]),
    ]
    labels, tall = _bin_labels([words.scalar(row[0]) for row in rows], step, 24 + TALL)
    names = ", ".join(name for _, name in series)
    said = f"Histogram of {title}: shares of {names} in {len(rows)} bins; the numbers stand below"
    return svg.picture("bars", said, [*shapes, labels], 24 + TALL + tall, WIDTH)


def _bin_labels(labels: Sequence[str], step: float, y: float) -> tuple[Markup, float]:
    """Label the bins, lying where there is room and otherwise upright; skip some of many."""
    if not labels:
        return Markup(""), 0
    if max(map(len, labels)) * svg.LETTER < step:
        texts = [
            svg.words_at((i + 0.5) * step, y + 8, label, "middle", "faint")
            for i, label in enumerate(labels)
        ]
        return joined(texts), 14
    shown = range(0, len(labels), math.ceil(11 / step))
    chosen = [((i + 0.5) * step, svg.short(labels[i])) for i in shown]
    return svg.turned(chosen, y), 6 + svg.LETTER * max(len(label) for _, label in chosen)


def lines(table: Mapping[str, Any], title: str) -> Markup:
    """Draw series over a number, each with its band where it has one.

    The first column goes across, each further one is a series; ``NAME low`` and ``NAME high`` are
    the ends of a band around ``NAME``.
    """
    columns = [str(c) for c in table["columns"]]
    rows = [row for row in table["rows"] if words.is_number(row[0])]
    across = [row[0] for row in rows]
    every = [v for row in rows for v in row[1:] if words.is_number(v)]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    start, end = (min(across), max(across)) if across else (0.0, 1.0)

    def x(value: float) -> float:
        return 4 + (WIDTH - 8) * (value - start) / ((end - start) or 1)

    def y(value: float) -> float:
        return 20 + TALL * (1 - (value - low) / ((high - low) or 1))

    def points(name: str) -> list[tuple[float, float]]:
        place = columns.index(name)
        return [(x(row[0]), y(row[place])) for row in rows if words.is_number(row[place])]

    shapes = [
        svg.words_at(0, 10, f"{words.number(low)} to {words.number(high)}", "start", "faint"),
        svg.path("axis", [f"M0 {20 + TALL}h{WIDTH}"]),
    ]
    for role, name in line_series(table):
        if {f"{name} low", f"{name} high"} <= set(columns):
            outline = [*points(f"{name} low"), *reversed(points(f"{name} high"))]
            shapes.append(svg.path(f"{role} around", [*_polyline(outline), "z"]))
        shapes.append(svg.path(f"{role} drawn", _polyline(points(name))))
    bottom, of = TALL + 34, words.visible(columns[0])
    shapes += [
        svg.words_at(0, bottom, words.number(start), "start", "faint"),
        svg.words_at(WIDTH / 2, bottom, svg.short(of, 30), "middle", "faint"),
        svg.words_at(WIDTH, bottom, words.number(end), "end", "faint"),
    ]
    names = ", ".join(name for _, name in line_series(table))
    said = f"{title}: {names} over {of}; the numbers stand below"
    return svg.picture("lines", said, shapes, bottom + 8, WIDTH)


def line_series(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give the looks and names of the series, without the ends of their bands."""
    names = [str(c) for c in table["columns"][1:]]
    ends = {f"{name} {end}" for name in names for end in ("low", "high")}
    return roles([name for name in names if name not in ends])


def _polyline(points: Sequence[tuple[float, float]]) -> list[str]:
    places = [f"{svg.figure(x)} {svg.figure(y)}" for x, y in points]
    return [f"M{place}" for place in places[:1]] + [f"L{place}" for place in places[1:]]


def boxes(table: Mapping[str, Any], title: str) -> Markup:
    """Draw box plots of rows of a name and five numbers, one above the other on a common scale."""
    rows = [row for row in table["rows"] if all(map(words.is_number, row[1:6]))][:BOXES]
    low = min((row[1] for row in rows), default=0)
    high = max((row[5] for row in rows), default=1)
    at = _scale(low, high)
    shapes, said = [], []
    for i, (of, *five) in enumerate(rows):
        name, y = words.scalar(of), 44 * i
        x = [at(v) for v in five[:5]]
        told = f"{name}: " + ", ".join(words.number(v) for v in five[:5])
        said.append(told)
        inner = [
            Markup("<title>{}</title>").format(told),
            svg.words_at("0%", y + 13, name, "start", "small"),
            svg.line(x[0], x[4], y + 28, "whisker"),
            svg.rect(x[1], x[3] - x[1], y + 20, 16, "quartiles"),
            svg.upright(x[2], y + 19, y + 37, "median"),
        ]
        shapes.append(Markup("<g>{}</g>").format(joined(inner)))
    bottom = 44 * len(rows) + 16
    shapes += [
        svg.words_at("0%", bottom, words.number(low), "start", "faint"),
        svg.words_at("100%", bottom, words.number(high), "end", "faint"),
    ]
    parts = "smallest, lower quartile, median, upper quartile, largest"
    told = f"Box plots of {title} ({parts}): {'; '.join(said)}"
    return svg.picture("boxes", told, shapes, bottom + 6)


def is_box(table: Mapping[str, Any]) -> bool:
    """Tell whether a table has a name and five numbers in some row."""
    return len(table["columns"]) == 6 and any(
        all(map(words.is_number, row[1:])) for row in table["rows"]
    )


def _range(points: Sequence[float], unit: str) -> tuple[float, float]:
    """Give the ends of an axis with some air around the points; shares stay within 0 and 1."""
    low, high = min(points), max(points)
    if unit == "fraction" and len(points) == 1 and 0 <= low <= 1:
        return 0.0, 1.0
    air = 0.25 * (high - low) or 0.5 * abs(high) or 1.0
    bottom, top = low - air, high + air
    if low >= 0 and bottom < 0.6 * high:
        bottom = 0.0
    if unit == "fraction" and high <= 1:
        top = min(top, 1.0)
    return bottom, top


def _scale(low: float, high: float) -> Callable[[float], float]:
    """Map a number to per cent of the width, with a margin for what is drawn at the ends."""
    return lambda value: 1 + 98 * (value - low) / ((high - low) or 1.0)
