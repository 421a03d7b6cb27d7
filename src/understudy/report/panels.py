"""Panels of cells side by side: real, synthetic, and the difference.

The cells of one shade are one path, in units of a cell, so that a picture of three panels of ten
by ten cells takes about four thousand letters.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from understudy.report import svg, words

GUTTER = 104
LETTER = 6.6
SHADES = 10
STEPS = 5
TITLES = ("real", "synthetic", "difference")
WITHHELD = "withheld"

Cells = dict[tuple[int, int], Any]
Shade = Callable[[Any], tuple[str, int]]


def difference(real: Cells, synthetic: Cells) -> Cells:
    """Subtract real from synthetic where both are known."""
    return {
        at: synthetic[at] - value
        if words.is_number(value) and words.is_number(synthetic[at])
        else None
        for at, value in real.items()
    }


def sequential(top: float, *, root: bool = True) -> Shade:
    """Shade by size; the square root lets small shares be seen beside large ones."""

    def shade(value: Any) -> tuple[str, int]:
        if not words.is_number(value):
            return WITHHELD, SHADES
        part = min(max(value / top, 0), 1) if top else 0
        # what is there has a shade, however small; a weak association has none
        return "shade", math.ceil(SHADES * math.sqrt(part)) if root else round(SHADES * part)

    return shade


def diverging(top: float) -> Shade:
    """Shade by size and sign."""

    def shade(value: Any) -> tuple[str, int]:
        if not words.is_number(value):
            return WITHHELD, SHADES
        part = min(abs(value) / top, 1) if top else 0
        return "more" if value > 0 else "less", 2 * round(STEPS * part)

    return shade


def _panel(cells: Cells, size: tuple[int, int], shade: Shade, corner: str, cell: str) -> Markup:
    """Draw the cells of one panel: a path for each shade, equal neighbours joined."""
    down, across = size
    runs: dict[tuple[str, int], list[str]] = {}
    for i in range(down):
        looks = [shade(cells[i, j]) if (i, j) in cells else ("", 0) for j in range(across)]
        j = 0
        for look, same in itertools.groupby(looks):
            wide = len(list(same))
            if look[1]:
                runs.setdefault(look, []).append(f"M{j} {i}h{wide}v1h-{wide}z")
            j += wide
    drawn = [
        svg.path(kind, runs[kind, deep], "" if deep == SHADES else f' fill-opacity=".{deep}"')
        for kind, deep in sorted(runs)
    ]
    frame = Markup('<path class="frame" d="M0 0h{0}v{1}h-{0}z"/>').format(across, down)
    start = '<g class="cells" transform="translate({}) scale({})">{}{}</g>'
    return Markup(start).format(corner, cell, frame, Markup("").join(drawn))


def beside(
    panels: Sequence[Cells],
    labels: Sequence[Sequence[str]],
    shades: tuple[Shade, Shade],
    name: str,
    said: str,
    axes: Sequence[str],
    wide: float,
    tall: float,
    marks: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    kind: str = "small",
) -> Markup:
    """Put three panels side by side; the labels are written once and used by the others."""
    down, across = len(labels[0]), len(labels[1])
    cw, ch = min(wide / max(across, 1), 40), min(tall / max(down, 1), 22)
    width = cw * across
    rows, columns, low = _labels(labels, cw, ch, axes)
    cell = f"{svg.figure2(cw)} {svg.figure2(ch)}"
    made = []
    for i, (cells, title) in enumerate(zip(panels, TITLES, strict=True)):
        shapes = [
            svg.words_at(GUTTER, 12, title, "start", "small"),
            _panel(cells, (down, across), shades[i == 2], f"{GUTTER} 20", cell),
        ]
        if i == 0:
            start = '<g class="rows" id="{0}r">{1}</g><g id="{0}c">{2}</g>'
            shapes.append(Markup(start).format(name, rows, columns))
        else:
            use = '<use class="rows" href="#{0}r"/><use href="#{0}c"/>'
            shapes.append(Markup(use).format(name))
        if i == 2 and marks:
            shapes.append(_marks(marks, cw, ch))
        made.append(svg.picture("heat", f"{said}: {title}", shapes, low, GUTTER + width + 1))
    return Markup('<div class="panels {}">{}</div>').format(kind, Markup("").join(made))


def _labels(
    labels: Sequence[Sequence[str]], cw: float, ch: float, axes: Sequence[str]
) -> tuple[Markup, Markup, float]:
    """Label as many rows and columns as there is room for; give where the labels end, too."""
    every = math.ceil(10 / ch)
    rows = [
        Markup('<text x="{}" y="{}">{}</text>').format(
            GUTTER - 4, svg.figure(24 + (i + 0.5) * ch), svg.short(label, 14)
        )
        for i, label in enumerate(labels[0])
        if i % every == 0
    ]
    every = math.ceil(10 / cw)
    places = [
        (GUTTER + (i + 0.5) * cw, svg.short(label))
        for i, label in enumerate(labels[1])
        if i % every == 0
    ]
    bottom = 26 + ch * len(labels[0])
    columns = svg.turned(places, bottom)
    bottom += 6 + LETTER * max((len(label) for _, label in places), default=0)
    if any(axes):
        rows.append(svg.words_at(GUTTER - 4, 12, f"{svg.short(axes[0], 11)} ↓", "end", "side"))
        rows.append(
            svg.words_at(GUTTER, bottom + 8, f"{svg.short(axes[1], 30)} →", "start", "side")
        )
        bottom += 14
    return Markup("").join(rows), columns, bottom


def _marks(marks: Mapping[str, Sequence[tuple[int, int]]], cw: float, ch: float) -> Markup:
    """Mark what was lost by a bar, and what was invented by a cross."""
    reach = min(cw, ch) * 0.3
    half, whole = svg.figure(reach), svg.figure(2 * reach)
    drawn = []
    for kind, places in marks.items():
        steps = []
        for i, j in places:
            x, y = GUTTER + (j + 0.5) * cw, 20 + (i + 0.5) * ch
            steps.append(f"M{svg.figure(x - reach)} {svg.figure(y)}h{whole}")
            if kind == "invented":
                steps.append(f"m-{half} -{half}v{whole}")
        drawn.append(svg.path("mark", steps))
    return Markup("").join(drawn)


def block(
    panels: Sequence[Cells],
    labels: Sequence[Sequence[str]],
    shades: tuple[Shade, Shade],
    said: str,
    level: str,
) -> Markup:
    """Draw the three small panels of one value of the third column."""
    down, across = len(labels[0]), len(labels[1])
    left, side = 74, 72
    cell = f"{svg.figure2(side / max(across, 1))} {svg.figure2(side / max(down, 1))}"
    shapes = [svg.words_at(left, 11, svg.short(level, 36), "start", "strong")]
    for i, (cells, title) in enumerate(zip(panels, TITLES, strict=True)):
        x = left + i * (side + 5)
        shapes.append(_panel(cells, (down, across), shades[i == 2], f"{x} 30", cell))
        shapes.append(svg.words_at(x, 25, title, "start", "faint"))
    for label, y in ((labels[0][0], 39), (labels[0][-1], 30 + side)):
        shapes.append(svg.words_at(left - 3, y, svg.short(label, 10), "end", "faint"))
    ends = [svg.short(labels[1][0], 16), svg.short(labels[1][-1], 16)]
    across_text = f"{ends[0]} … {ends[1]} →" if across > 1 else ends[0]
    shapes.append(svg.words_at(left, 30 + side + 14, across_text, "start", "faint"))
    return svg.picture("heat", said, shapes, 30 + side + 20, left + 3 * (side + 5))
