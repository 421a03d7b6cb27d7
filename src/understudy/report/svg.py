"""The strokes that pictures are made of: SVG as text, colours from the page's style sheet."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

SHORT = 16
LETTER = 6.6  # pixels across
NARROWEST = 0.4
joined = Markup("").join


def picture(
    kind: str, said: str, shapes: Sequence[Markup], height: float, width: float = 0
) -> Markup:
    """Give a picture of a kind that the style sheet knows, and what a reader of the screen hears.

    Height and width are pixels; without a width it is as wide as the page lets it be.
    """
    start = '<svg class="{0}" role="img" aria-label="{1}" width="{2}" height="{3:g}">{4}</svg>'
    across = f"{width:g}" if width else "100%"
    return Markup(start).format(kind, said, across, height, joined(shapes))


def short(text: str, most: int = SHORT) -> str:
    """Cut a label that would run into others.

    Examples
    --------
    >>> short("Married-civ-spouse"), short("age")
    ('Married-civ-spo…', 'age')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def figure(value: float) -> str:
    """Print a coordinate with as few letters as it needs.

    Examples
    --------
    >>> figure(0.5), figure(3.0), figure(-10.25), figure(-0.04)
    ('.5', '3', '-10.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    if text.startswith(("0.", "-0.")):
        return text.replace("0.", ".", 1)
    return "0" if text == "-0" else text


def figure2(value: float) -> str:
    """Print a scale, with two digits more than a coordinate."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def path(kind: str, steps: Iterable[str], more: str = "") -> Markup:
    """Give one path for many strokes, or nothing where there are none."""
    drawn = "".join(steps)
    if not drawn:
        return Markup("")
    return Markup('<path class="{}"{} d="{}"/>').format(kind, Markup(more), drawn)


def percent(x: float) -> str:
    """Give a place across the page."""
    return f"{x:.2f}%"


def line(left: float, right: float, y: float, kind: str) -> Markup:
    """Draw across, from per cent to per cent."""
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
        kind, percent(left), percent(right), y, y
    )


def circle(x: float, y: object, kind: str) -> Markup:
    """Draw a dot, at a place in per cent across and in pixels down."""
    return Markup('<circle class="{}" cx="{}" cy="{}" r="5.5"/>').format(kind, percent(x), y)


def upright(x: float, top: object, bottom: object, kind: str) -> Markup:
    """Draw from pixel down to pixel, at a place in per cent."""
    made = '<line class="{0}" x1="{1}" x2="{1}" y1="{2}" y2="{3}"/>'
    return Markup(made).format(kind, percent(x), top, bottom)


def rect(left: float, wide: float, y: float, tall: float, kind: str) -> Markup:
    """Draw a box, per cent across and pixels down; however narrow, it can be seen."""
    made = '<rect class="{}" x="{}" width="{}" y="{:.1f}" height="{:.1f}"/>'
    return Markup(made).format(kind, percent(left), percent(max(wide, NARROWEST)), y, tall)


def beside(x: float, y: float, text: str, kind: str) -> Markup:
    """Write beside a place on an axis in per cent, turned inwards near the ends."""
    anchor = "start" if x < 22 else "end" if x > 78 else "middle"
    return words_at(percent(x), y, text, anchor, kind)


def words_at(x: str | float, y: float, text: str, anchor: str, kind: str) -> Markup:
    """Write at a place: pixels, or per cent where x is text."""
    at = x if isinstance(x, str) else figure(x)
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, at, figure(y), anchor, escape(text)
    )


def turned(places: Iterable[tuple[float, str]], y: float) -> Markup:
    """Write labels upwards, each ending below its place in pixels."""
    texts = joined(
        Markup('<text x="{}" y="{}">{}</text>').format(figure(-y), figure(x + 4), label)
        for x, label in places
    )
    return Markup('<g class="turned" transform="rotate(-90)">{}</g>').format(texts)
