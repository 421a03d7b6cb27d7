"""Heat maps: shares of two or three columns, associations of all pairs, and what differs most.

Panels of cells stand side by side: real, synthetic, and the difference. The cells of one shade are
one path, in units of a cell, so that a picture of three panels of ten by ten cells takes about four
thousand letters.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from markupsafe import Markup

from understudy.report import svg, words
from understudy.report.svg import joined

GUTTER = 104
SHADES = 10
STEPS = 5
LEVELS = 12
STRONG, FAINTEST, LISTED = 0.3, 0.1, 10  # of associations
TITLES = ("real", "synthetic", "difference")
SERIES = ("train", "synthetic", "holdout")
WITHHELD = "withheld"

Cells = dict[tuple[int, int], Any]
Shade = Callable[[Any], tuple[str, int]]


def named(name: object) -> Markup:
    """Give a name inside a sentence: its writing keeps its own direction and turns no other round.

    Examples
    --------
    >>> named("<a>")
    Markup('<bdi>&lt;a&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(words.scalar(name))


def depth(table: Mapping[str, Any]) -> int:
    """Count the columns of labels before the shares; 0 if this is no such table.

    Examples
    --------
    >>> depth({"columns": ["age", "sex", "train", "synthetic"]}), depth({"columns": ["a", "b"]})
    (2, 0)
    """
    columns = [str(c) for c in table["columns"]]
    for series in (SERIES, SERIES[:2]):
        if tuple(columns[-len(series) :]) == series and len(columns) - len(series) in (2, 3):
            return len(columns) - len(series)
    return 0


def span(table: Mapping[str, Any], least: float = 0.0) -> float:
    """Give the difference that gets the strongest colour.

    It is the largest of the table, but at least three times what fresh real rows differ by, so
    that chance looks pale.

    Examples
    --------
    >>> rows = [["x", "y", 0.50, 0.52, 0.51], ["x", "z", 0.50, 0.48, 0.49]]
    >>> round(span({"columns": ["a", "b", "train", "synthetic", "holdout"], "rows": rows}), 3)
    0.03
    """
    at = depth(table)
    return max(*_apart(table["rows"], at, at + 1), 3 * fresh(table), least)


def fresh(table: Mapping[str, Any]) -> float:
    """Give how much fresh real rows differ from training at most; 0 where there are none."""
    at = depth(table)
    return max(_apart(table["rows"], at, at + 2), default=0.0)


def _apart(rows: Sequence[Sequence[Any]], one: int, other: int) -> list[float]:
    """Give the distances between two shares of each cell, where both are known."""
    pairs = [(row[one], row[other]) for row in rows if len(row) > other]
    return [abs(a - b) for a, b in pairs if _known(a, b)]


def _known(*numbers: Any) -> bool:
    return all(map(words.is_number, numbers))


def _chance(table: Mapping[str, Any], unit: str = "") -> str:
    apart = fresh(table)
    return f" Fresh real rows differ by up to {words.number(apart, unit)}." if apart else ""


def heat(table: Mapping[str, Any], name: str) -> Markup:
    """Draw the shares of two columns, and of three for each value of the third.

    The table has two or three columns of labels, then the shares in training, synthetic and
    holdout. The name is an identifier that no other picture of the page has.
    """
    at = depth(table)
    names = [words.visible(c) for c in table["columns"][:at]]
    labels = [_order(table["rows"], i) for i in range(at)]
    shares = [v for row in table["rows"] for v in row[at : at + 2] if words.is_number(v)]
    shades = shaded(max(shares, default=0), root=True), shaded(span(table), signed=True)
    said = f"Shares of {names[0]} (down) by {names[1]} (across)"
    if at == 2:
        cells = _panels(table["rows"], labels, at)
        return beside(cells, labels, shades, name, said, names, 118, 150)
    blocks = []
    for level in labels[2][:LEVELS]:
        rows = [row for row in table["rows"] if words.scalar(row[2]) == level]
        told = f"{said} where {names[2]} is {level}"
        blocks.append(block(_panels(rows, labels, at), labels, shades, told, f"{names[2]} {level}"))
    return Markup('<div class="facets">{}</div>').format(joined(blocks))


def extremes(table: Mapping[str, Any]) -> list[Markup]:
    """Say which cells differ most, in both directions, and how much fresh real rows differ."""
    at, rows = depth(table), table["rows"]
    sure = [row for row in rows if _known(*row[at : at + 2])]
    if not sure:
        return []
    by = sorted(sure, key=lambda r: r[at + 1] - r[at])
    said = []
    for word, row in (("Most overstated", by[-1]), ("most understated", by[0])):
        where = Markup(", ").join(
            Markup("{} {}").format(named(column), named(value))
            for column, value in zip(table["columns"], row[:at], strict=False)
        )
        real, synthetic = (words.number(v, "fraction") for v in row[at : at + 2])
        said.append(Markup("{}: {} ({} where {} is real)").format(word, where, synthetic, real))
    top = words.number(span(table), "fraction")
    text = Markup("; ").join(said) + f".{_chance(table, 'fraction')}"
    return [text + f" The strongest colour is a difference of {top}."]


def _order(rows: Sequence[Sequence[Any]], column: int) -> list[str]:
    """Order the labels of a column of which single rows show parts, each in reading order.

    Examples
    --------
    >>> _order([["x", "1"], ["x", "3"], ["y", "2"], ["y", "3"], ["z", "1"], ["z", "2"]], 1)
    ['1', '2', '3']
    """
    after: dict[str, list[str]] = {words.scalar(row[column]): [] for row in rows}
    for one, other in itertools.pairwise(rows):
        if one[:column] == other[:column] and one[column] != other[column]:
            after[words.scalar(other[column])].append(words.scalar(one[column]))
    try:
        return list(TopologicalSorter(after).static_order())
    except CycleError:
        return list(after)


def _panels(
    rows: Sequence[Sequence[Any]], labels: Sequence[Sequence[str]], first: int
) -> list[Cells]:
    """Give the cells of real and synthetic, which begin at a column."""
    down, across = ({label: i for i, label in enumerate(axis)} for axis in labels[:2])
    return [
        {(down[words.scalar(r[0])], across[words.scalar(r[1])]): r[column] for r in rows}
        for column in (first, first + 1)
    ]


def matrix(table: Mapping[str, Any], name: str) -> Markup:
    """Draw the associations of all pairs of columns; what is lost and invented is marked."""
    pairs = _pairs(table)
    names = list(dict.fromkeys(c for pair in pairs for c in pair))
    place = {c: i for i, c in enumerate(names)}
    cells: list[Cells] = [{}, {}]
    for (a, b), numbers in pairs.items():
        for panel, value in zip(cells, numbers, strict=True):
            panel[place[a], place[b]] = panel[place[b], place[a]] = value
    signed = any(words.is_number(v) and v < 0 for panel in cells for v in panel.values())
    shades = shaded(1.0, signed=signed), shaded(span(table, FAINTEST), signed=True)
    marks = {
        kind: [(place[a], place[b]) for pair in found for a, b in (pair, pair[::-1])]
        for kind, found in changed(table).items()
    }
    said = f"Associations of {len(names)} columns"
    return beside(cells, [names, names], shades, name, said, ["", ""], 216, 216, marks, "large")


def largest(table: Mapping[str, Any]) -> list[Markup]:
    """Say which association differs most, and how much those of fresh real rows differ."""
    known = [row for row in table["rows"] if _known(*row[2:4])]
    if not known:
        return []
    one, other, real, made, *_ = max(known, key=lambda r: abs(r[3] - r[2]))
    said = "Largest difference: {} × {} ({} real, {} synthetic).{} The strongest colour is {}."
    top = words.number(span(table, FAINTEST))
    numbers = words.number(real), words.number(made), _chance(table), top
    return [Markup(said).format(named(one), named(other), *numbers)]


def changed(table: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """List the pairs whose association was lost, and those whose association was invented.

    An association of at least 0.3 that keeps less than half of its size is lost; one of at least
    0.3 that has less than half of its size in training is invented.

    Examples
    --------
    >>> rows = [["a", "b", 0.6, 0.1], ["a", "c", 0.0, 0.5], ["b", "c", 0.6, 0.5]]
    >>> changed({"columns": ["column", "other", "train", "synthetic"], "rows": rows})
    {'lost': [('a', 'b')], 'invented': [('a', 'c')]}
    """
    found: dict[str, list[tuple[float, tuple[str, str]]]] = {"lost": [], "invented": []}
    for pair, (real, made) in _pairs(table).items():
        if pair[0] == pair[1] or not _known(real, made):
            continue
        for kind, strong, other in (("lost", real, made), ("invented", made, real)):
            if abs(strong) >= STRONG and other * math.copysign(1, strong) < abs(strong) / 2:
                found[kind].append((-abs(made - real), pair))
    return {kind: [pair for _, pair in sorted(items)] for kind, items in found.items()}


def changed_words(table: Mapping[str, Any]) -> list[tuple[str, list[Markup]]]:
    """Say which associations were lost and invented, as headings with lines."""
    pairs = _pairs(table)
    made = []
    for kind, found in changed(table).items():
        lines = [
            Markup("{} × {}: {} real, {} synthetic").format(
                *map(named, pair), *(words.number(v) for v in pairs[pair])
            )
            for pair in found[:LISTED]
        ]
        if len(found) > LISTED:
            lines.append(Markup("and {} more").format(len(found) - LISTED))
        made.append((f"Associations {kind}: {len(found)}", lines))
    return made


def _pairs(table: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Read the upper triangle or both; a pair stands once."""
    made: dict[tuple[str, str], tuple[Any, Any]] = {}
    for a, b, real, synthetic, *_ in table["rows"]:
        if (str(b), str(a)) not in made or a == b:
            made[str(a), str(b)] = real, synthetic
    return made


def difference(real: Cells, synthetic: Cells) -> Cells:
    """Subtract real from synthetic where both are known."""
    return {
        at: synthetic[at] - value if _known(value, synthetic[at]) else None
        for at, value in real.items()
    }


def shaded(top: float, *, root: bool = False, signed: bool = False) -> Shade:
    """Shade by size, and by sign; the square root lets small shares be seen beside large ones."""

    def shade(value: Any) -> tuple[str, int]:
        if not words.is_number(value):
            return WITHHELD, SHADES
        if signed:
            part = min(abs(value) / top, 1) if top else 0
            return "more" if value > 0 else "less", 2 * round(STEPS * part)
        part = min(max(value / top, 0), 1) if top else 0
        # what is there has a shade, however small; a weak association has none
        return "shade", math.ceil(SHADES * math.sqrt(part)) if root else round(SHADES * part)

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
    return Markup(start).format(corner, cell, frame, joined(drawn))


def beside(
    cells: Sequence[Cells],
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
    panels = (*cells, difference(*cells))
    for i, (panel, title) in enumerate(zip(panels, TITLES, strict=True)):
        shapes = [
            svg.words_at(GUTTER, 12, title, "start", "small"),
            _panel(panel, (down, across), shades[i == 2], f"{GUTTER} 20", cell),
        ]
        form = '<use class="rows" href="#{0}r"/><use href="#{0}c"/>'
        if i == 0:
            form = '<g class="rows" id="{0}r">{1}</g><g id="{0}c">{2}</g>'
        shapes.append(Markup(form).format(name, rows, columns))
        if i == 2 and marks:
            shapes.append(_marks(marks, cw, ch))
        made.append(svg.picture("heat", f"{said}: {title}", shapes, low, GUTTER + width + 1))
    return Markup('<div class="panels {}">{}</div>').format(kind, joined(made))


def _labels(
    labels: Sequence[Sequence[str]], cw: float, ch: float, axes: Sequence[str]
) -> tuple[Markup, Markup, float]:
    """Label as many rows and columns as there is room for; give where the labels end, too."""
    every, form = math.ceil(10 / ch), Markup('<text x="{}" y="{}">{}</text>')
    rows = [
        form.format(GUTTER - 4, svg.figure(24 + (i + 0.5) * ch), svg.short(labels[0][i], 14))
        for i in range(0, len(labels[0]), every)
    ]
    every = math.ceil(10 / cw)
    shown = range(0, len(labels[1]), every)
    places = [(GUTTER + (i + 0.5) * cw, svg.short(labels[1][i])) for i in shown]
    bottom = 26 + ch * len(labels[0])
    columns = svg.turned(places, bottom)
    bottom += 6 + svg.LETTER * max((len(label) for _, label in places), default=0)
    if any(axes):
        down, across = f"{svg.short(axes[0], 11)} ↓", f"{svg.short(axes[1], 30)} →"
        rows.append(svg.words_at(GUTTER - 4, 12, down, "end", "side"))
        rows.append(svg.words_at(GUTTER, bottom + 8, across, "start", "side"))
        bottom += 14
    return joined(rows), columns, bottom


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
    return joined(drawn)


def block(
    cells: Sequence[Cells],
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
    panels = (*cells, difference(*cells))
    for i, (panel, title) in enumerate(zip(panels, TITLES, strict=True)):
        x = left + i * (side + 5)
        shapes.append(_panel(panel, (down, across), shades[i == 2], f"{x} 30", cell))
        shapes.append(svg.words_at(x, 25, title, "start", "faint"))
    for label, y in ((labels[0][0], 39), (labels[0][-1], 30 + side)):
        shapes.append(svg.words_at(left - 3, y, svg.short(label, 10), "end", "faint"))
    first, last = svg.short(labels[1][0]), svg.short(labels[1][-1])
    across_text = f"{first} … {last} →" if across > 1 else first
    shapes.append(svg.words_at(left, 30 + side + 14, across_text, "start", "faint"))
    return svg.picture("heat", said, shapes, 30 + side + 20, left + 3 * (side + 5))
