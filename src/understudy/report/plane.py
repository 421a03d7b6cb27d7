"""The plane of privacy and fidelity as a picture (Platzer and Reutterer 2021, figure 9)."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from understudy.report import svg, words

HEIGHT, BOTTOM, TOP = 400, 346, 30
LEFT, RIGHT = 9.0, 97.0
USUAL_WIDTH = 480
SMALLEST = 0.1
LETTER, LINE = 7.2, 15
STAR = "M0,-10 2.9,-3.1 10,-3.1 4.4,1.5 6.2,8.5 0,4.4 -6.2,8.5 -4.4,1.5 -10,-3.1 -2.9,-3.1Z"
Scale = Callable[[float], float]
Box = tuple[float, float, float, float]


def draw(plane: Mapping[str, Any], pareto: Sequence[str]) -> Markup:
    """Draw candidates with crosses for their intervals, the holdout and the curve of flip.

    Parameters
    ----------
    plane : mapping
        ``star``, ``points`` and ``curve`` as in a contest's dict.
    pareto : names of candidates
        Drawn full; the others are drawn hollow.
    """
    points, curve, star = plane["points"]["rows"], plane["curve"]["rows"], plane["star"]
    xs = [star["x"], *(v for p in points for v in p[1:4]), *(row[1] for row in curve)]
    ys = [star["y"], *(v for p in points for v in p[4:7]), *(row[2] for row in curve)]
    at_x, x_ticks = _across([v for v in xs if words.is_number(v)])
    at_y, y_ticks = _up([v for v in ys if words.is_number(v)])
    x, y = svg.percent(at_x(star["x"])), at_y(star["y"])
    shapes = [
        *_grid(at_x, x_ticks, at_y, y_ticks),
        Markup('<line class="reference" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(
            x, TOP, BOTTOM
        ),
        svg.line(LEFT, RIGHT, y, "reference"),
        *_curve(curve, at_x, at_y),
        Markup('<svg x="{}" y="{:.1f}"><title>{}</title><path class="star" d="{}"/></svg>').format(
            x, y, "fresh real rows (holdout)", STAR
        ),
    ]
    marks = [(star["x"], star["y"]), *((p[1], p[4]) for p in points), *(row[1:3] for row in curve)]
    taken = [_around(at_x(across), at_y(up)) for across, up in marks]
    for point in points:
        shapes.append(_candidate(point, at_x, at_y, point[0] in pareto, taken))
    names = ", ".join(words.visible(point[0]) for point in points)
    said = f"Plane of privacy and fidelity with {names}; the table below has the numbers"
    return svg.picture("plane", said, shapes, HEIGHT)


def _across(values: Sequence[float]) -> tuple[Scale, list[float]]:
    """Scale by the logarithm; what is hardly above 0 stands at the edge."""
    kept = [max(value, SMALLEST) for value in values]
    low, high = math.log(min(kept) / 1.15), math.log(max(kept) * 1.25)
    ticks = [digit * 10.0**power for power in range(-1, 5) for digit in (1, 2, 5)]

    def at(value: float) -> float:
        place = (math.log(max(value, SMALLEST)) - low) / (high - low)
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
    shapes = [
        Markup('<line class="curve" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>').format(
            svg.percent(x), y, svg.percent(right), below
        )
        for (x, y), (right, below) in itertools.pairwise(places)
    ]
    for (x, y), (p, ratio, share) in zip(places, rows, strict=True):
        told = f"flip {words.percent(p)}: {words.number(ratio)} times, {words.percent(share)}"
        shapes.append(
            Markup(
                '<circle class="dot" cx="{}" cy="{:.1f}" r="3"><title>{}</title></circle>'
            ).format(svg.percent(x), y, told)
        )
    for (x, y), row in list(zip(places, rows, strict=True))[:: max(len(rows) - 1, 1)]:
        label = f"flip {100 * row[0]:.0f} %"
        shapes.append(
            Markup('<text class="faint" x="{}" y="{:.1f}" dx="7" dy="-5">{}</text>').format(
                svg.percent(x), y, label
            )
        )
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
        inner.append(
            Markup('<line class="cross" x1="{0}" x2="{0}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
                svg.percent(at_x(x)), at_y(y_low), at_y(y_high)
            )
        )
    kind = "value" if best else "hollow"
    inner.append(
        Markup('<circle class="{}" cx="{}" cy="{:.1f}" r="5.5"/>').format(
            kind, svg.percent(at_x(x)), at_y(y)
        )
    )
    inner.append(_label(svg.short(shown, 18), at_x(x), at_y(y), taken))
    return Markup("<g>{}</g>").format(Markup("").join(inner))


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


def _around(x: float, y: float) -> Box:
    here = x / 100 * USUAL_WIDTH
    return here - 8, y - 8, here + 8, y + 8


def _overlap(one: Box, two: Box) -> float:
    wide = min(one[2], two[2]) - max(one[0], two[0])
    tall = min(one[3], two[3]) - max(one[1], two[1])
    outside = max(0.0, one[2] - USUAL_WIDTH) + max(0.0, -one[0])
    return max(0.0, wide) * max(0.0, tall) + 100 * outside
