"""Pictures as SVG text, without a plotting library.

Positions across are per cent of the width and heights are pixels, so that a picture narrows with
the page while its letters keep their size. Colours come from the page's style sheet.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from understudy.report import words

BARS = 100
BOXES = 40
ROLES = ("train", "synthetic", "holdout")
LABEL = 18


def strip(finding: Mapping[str, Any], title: str) -> Markup:
    """Draw value, interval and reference of a finding on one line.

    Parameters
    ----------
    finding : mapping
        As in the JSON contract; its value is a number.
    title : str
        What a reader of the screen hears before the numbers.
    """
    unit = str(finding.get("unit") or "")
    short = unit if unit == "fraction" else ""
    value: float = finding["value"]
    reference: Any = finding.get("reference")
    ends = [e for e in finding.get("interval") or [] if words.is_number(e)]
    points = [value, *ends, *([reference] if words.is_number(reference) else [])]
    low, high = _range(points, unit)
    at = _scale(low, high)
    said = f"{title}: {words.number(value, unit)}"
    shapes = [_line(0, 100, 34, "axis")]
    if len(ends) == 2:
        said += f", interval {words.interval(ends, unit)}"
        wide = max(at(ends[1]) - at(ends[0]), 0.4)
        shapes.append(_rect(at(ends[0]), wide, 28, 12, "interval"))
    if words.is_number(reference):
        said += f", reference {words.number(reference, unit)}"
        x = _percent(at(reference))
        shapes.append(
            Markup('<line class="reference" x1="{0}" x2="{0}" y1="22" y2="46"/>').format(x)
        )
        label = f"reference {words.number(reference, short)}"
        shapes.append(_label(at(reference), 60, label, "small"))
    shapes.append(
        Markup('<circle class="value" cx="{}" cy="34" r="5.5"/>').format(_percent(at(value)))
    )
    shapes.append(_label(at(value), 16, words.number(value, unit), "strong"))
    arrow = {"lower": "← {}", "higher": "{} →"}.get(str(finding.get("better")), "{}")
    shapes += [
        _text(0, 80, words.number(low, short), "start", "faint"),
        _text(50, 80, arrow.format(words.direction(finding.get("better"))), "middle", "faint"),
        _text(100, 80, words.number(high, short), "end", "faint"),
    ]
    return _svg(86, said, shapes, "strip")


def bars(table: Mapping[str, Any], title: str) -> Markup:
    """Draw a histogram: training as wide bars, synthetic as narrow ones, holdout as ticks.

    Parameters
    ----------
    table : mapping
        ``columns`` and ``rows``; the first column labels the bins, the others are shares.
    title : str
        The name of what is counted.
    """
    rows = table["rows"][:BARS]
    series = table["columns"][1:4]
    shares = [[s if words.is_number(s) else None for s in row[1:4]] for row in rows]
    top = max((s for row in shares for s in row if s is not None), default=0) or 1
    height, step = 120, 100 / max(len(rows), 1)
    shapes = []
    for i, (row, numbers) in enumerate(zip(rows, shares, strict=True)):
        label = words.scalar(row[0])
        told = ", ".join(
            f"{words.visible(name)} {words.number(s, 'fraction')}"
            for name, s in zip(series, numbers, strict=False)
        )
        inner = [Markup("<title>{}</title>").format(f"{label}: {told}")]
        # an unseen full-height bar, so that the pointer finds the bin
        inner.append(_rect(i * step, step, 0, height, "hit"))
        for place, share in enumerate(numbers):
            if share is None:
                continue
            tall = max(0.0, height * 0.95 * share / top)
            margin = (0.06, 0.28, 0.0)[place]
            left, wide = (i + margin) * step, (1 - 2 * margin) * step
            if place == 2:
                inner.append(_line(left, left + wide, height - tall, "halo"))
                inner.append(_line(left, left + wide, height - tall, "holdout"))
            else:
                inner.append(_rect(left, wide, height - tall, tall, ROLES[place]))
        shapes.append(Markup("<g>{}</g>").format(Markup("").join(inner)))
    shapes.append(_line(0, 100, height, "axis"))
    shapes += _bin_labels([words.scalar(row[0]) for row in rows], step, height + 16)
    names = ", ".join(words.visible(s) for s in series)
    said = f"Histogram of {title}: shares of {names} in {len(rows)} bins; the table has the numbers"
    return _svg(height + 22, said, shapes, "bars")


def boxes(table: Mapping[str, Any], title: str) -> Markup:
    """Draw box plots, one above the other on a common scale.

    Parameters
    ----------
    table : mapping
        Rows of a name and five numbers: smallest, lower quartile, median, upper quartile, largest.
    title : str
        The name of what is drawn.
    """
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
        middle = _percent(x[2])
        inner = [
            Markup("<title>{}</title>").format(told),
            _text(0, y + 13, name, "start", "small"),
            _line(x[0], x[4], y + 28, "whisker"),
            _rect(x[1], max(x[3] - x[1], 0.4), y + 20, 16, "quartiles"),
            Markup('<line class="median" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(
                middle, y + 19, y + 37
            ),
        ]
        shapes.append(Markup("<g>{}</g>").format(Markup("").join(inner)))
    bottom = 44 * len(rows) + 16
    shapes.append(_text(0, bottom, words.number(low), "start", "faint"))
    shapes.append(_text(100, bottom, words.number(high), "end", "faint"))
    parts = "smallest, lower quartile, median, upper quartile, largest"
    return _svg(bottom + 6, f"Box plots of {title} ({parts}): {'; '.join(said)}", shapes, "boxes")


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


def _bin_labels(labels: Sequence[str], step: float, y: float) -> list[Markup]:
    """Label every bin if there is room for it, and otherwise the first and the last."""
    if labels and len(labels) * max(map(len, labels)) <= 40:
        return [
            _text((i + 0.5) * step, y, label, "middle", "faint") for i, label in enumerate(labels)
        ]
    short = [
        t if len(t) <= LABEL else t[: LABEL - 1] + "…" for t in (*labels[:1], *labels[1:][-1:])
    ]
    return [
        _text(100 * i, y, label, "end" if i else "start", "faint") for i, label in enumerate(short)
    ]


def _svg(height: float, said: str, shapes: Sequence[Markup], kind: str) -> Markup:
    start = '<svg class="{0}" role="img" aria-label="{1}" width="100%" height="{2:g}">'
    return Markup(start + "<title>{1}</title>{3}</svg>").format(
        kind, said, height, Markup("").join(shapes)
    )


def _percent(x: float) -> str:
    return f"{x:.2f}%"


def _line(left: float, right: float, y: float, kind: str) -> Markup:
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
        kind, _percent(left), _percent(right), y, y
    )


def _rect(left: float, wide: float, y: float, tall: float, kind: str) -> Markup:
    return Markup('<rect class="{}" x="{}" width="{}" y="{:.1f}" height="{:.1f}"/>').format(
        kind, _percent(left), _percent(wide), y, tall
    )


def _label(x: float, y: float, text: str, kind: str) -> Markup:
    """Write beside a place on the axis, turned inwards near the ends."""
    anchor = "start" if x < 22 else "end" if x > 78 else "middle"
    return _text(x, y, text, anchor, kind)


def _text(x: float, y: float, text: str, anchor: str, kind: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{:g}" text-anchor="{}">{}</text>').format(
        kind, _percent(x), y, anchor, escape(text)
    )
