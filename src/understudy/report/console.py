"""The sheet for the terminal: a table where it fits, short blocks where it does not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from understudy.report import noticing, outline, words

HEADINGS = ("measure", "value", "interval", "reference", "direction", "mark")
WIDEST_DIRECTION = max(len(word) for text in words.DIRECTIONS.values() for word in text.split())
GAP = 2
USUAL = 12
STYLES = {
    "flagged": "bold red",
    "flagged, blind here": "bold red",
    "blind here": "bold yellow",
    "failed": "bold magenta",
    "PASS": "bold green",
    "FAIL": "bold red",
}


def render(
    data: Mapping[str, Any], cards: Mapping[str, Mapping[str, Any]], *, width: int | None = None
) -> RenderableType:
    """Give an assessment's dict as something that rich can print.

    Parameters
    ----------
    data : mapping
        Version 1 of the JSON contract.
    cards : mapping
        ``Card.to_dict()`` by the name of the measure; unknown measures may be absent.
    width : int, optional
        Columns to use at most; otherwise what the console has.
    """
    return _Sheet(data, cards, width)


def show(
    data: Mapping[str, Any],
    cards: Mapping[str, Mapping[str, Any]],
    *,
    file: IO[str],
    width: int | None = None,
) -> None:
    """Print an assessment's dict to a file or a terminal.

    Examples
    --------
    >>> import sys
    >>> show({"findings": [], "verdicts": [], "provenance": {}}, {}, file=sys.stdout, width=40)
    No findings.
    """
    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False)
    console.print(render(data, cards, width=width))


@dataclass(frozen=True)
class _Sheet:
    data: Mapping[str, Any]
    cards: Mapping[str, Mapping[str, Any]]
    width: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(self.width or options.max_width, options.max_width)
        for piece in _pieces(self.data, self.cards, width):
            yield from console.render(piece, options.update(width=width))


def _pieces(
    data: Mapping[str, Any], cards: Mapping[str, Mapping[str, Any]], width: int
) -> Iterator[RenderableType]:
    findings = data.get("findings") or []
    warnings = (data.get("provenance") or {}).get("warnings") or []
    yield from _listing("Read this first", [(warning, "") for warning in warnings])
    good = [f for f in findings if f.get("status", "ok") == "ok"]
    if not findings:
        yield _text("No findings.")
    if good:
        rows = {id(f): _row(f) for f in good}
        table = _fits(list(rows.values()), width)
        for name, group in outline.by_family(good).items():
            lines = [rows[id(f)] for f in group]
            yield _heading(outline.FAMILIES.get(name, words.visible(name)))
            if table:
                yield _table(lines, list(rows.values()), cards, width)
            else:
                yield from _blocks(lines, list(rows.values()), cards, width)
            yield _text("")
    yield from _listing("Where the flagged ones stand out", _worst(good))
    noticed = [(f["measure"], noticing.beside(f)) for f in good if noticing.beside(f)]
    yield from _listing("What each would notice", [*noticed, *_about_calibration(data)])
    yield from _listing("About the tables", _about_tables(data.get("provenance") or {}))
    yield from _listing("Notes", [(f["measure"], f["note"]) for f in good if f.get("note")])
    for status, heading in (("failed", "Failed"), ("not_applicable", "Not applicable")):
        reasons = [
            (f["measure"], f.get("note") or "no reason was given")
            for f in findings
            if f.get("status") == status
        ]
        yield from _listing(heading, reasons)
    yield from _verdicts([outline.verdict(v) for v in data.get("verdicts") or []])


def _verdicts(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Say the outcome of the policy, then each rule, why, and what to do next."""
    if not verdicts:
        return
    together = outline.overall(verdicts)
    yield _heading("Verdict of the policy")
    yield _text(together["outcome"], STYLES.get(together["outcome"], "bold"))
    yield _indented(together["sentence"])
    for verdict in verdicts:
        line = _text(verdict["outcome"], STYLES.get(verdict["outcome"], "bold"))
        yield line.append(" " * bool(verdict["outcome"]) + verdict["rule"], style="none")
        for text in filter(None, [verdict["why"], *(f"Next: {step}" for step in verdict["next"])]):
            yield _indented(text)
    yield _text("")


def _row(finding: Mapping[str, Any]) -> tuple[str, ...]:
    unit = str(finding.get("unit") or "")
    return (
        words.visible(finding["measure"]),
        words.number(finding.get("value"), unit),
        words.interval(finding.get("interval"), unit),
        words.number(finding.get("reference"), unit if unit == "fraction" else ""),
        words.direction(finding.get("better")),
        words.mark(finding),
    )


def _widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    return [
        max(len(heading), *(cell_len(row[i]) for row in rows)) for i, heading in enumerate(HEADINGS)
    ]


def _fits(rows: Sequence[tuple[str, ...]], width: int) -> bool:
    """Tell whether a table holds every name and number on one line; only the direction wraps."""
    widths = _widths(rows)
    widths[4] = WIDEST_DIRECTION
    return sum(widths) + GAP * (len(HEADINGS) - 1) <= width


def _table(
    rows: Sequence[tuple[str, ...]],
    every: Sequence[tuple[str, ...]],
    cards: Mapping[str, Mapping[str, Any]],
    width: int,
) -> Table:
    widths = _widths(every)
    used = sum(widths) + GAP * (len(HEADINGS) - 1)
    if used > width:
        widths[4] -= used - width
    titles = [words.visible(cards.get(row[0], {}).get("title", "")) for row in every]
    longest = max(map(cell_len, titles))
    titled = longest > 0 and used + GAP + longest <= width
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), collapse_padding=True)
    for i, heading in enumerate(HEADINGS):
        table.add_column(
            Text(heading, style="dim"),
            justify="right" if heading in ("value", "reference") else "left",
            width=widths[i],
            overflow="fold",
        )
    if titled:
        table.add_column(Text("title", style="dim"), width=longest, overflow="fold")
    for row in rows:
        cells = [*row, words.visible(cards.get(row[0], {}).get("title", ""))][: 7 if titled else 6]
        table.add_row(*(_text(c, STYLES.get(c, "")) for c in cells))
    return table


def _blocks(
    rows: Sequence[tuple[str, ...]],
    every: Sequence[tuple[str, ...]],
    cards: Mapping[str, Mapping[str, Any]],
    width: int,
) -> Iterator[RenderableType]:
    """Give one block a finding: its name and mark, then its numbers, aligned where they fit."""
    short = [items for items in map(_items, every) if cell_len(items[0]) <= USUAL]
    sizes = [max((cell_len(items[i]) for items in short), default=0) for i in range(3)]
    for row in rows:
        head = Text(row[0], style="bold", overflow="fold")
        for extra, style in ((row[5].upper(), STYLES["flagged"]), (_title(cards, row[0]), "dim")):
            if extra and cell_len(head.plain) + GAP + cell_len(extra) <= width:
                head.append(" " * GAP).append(extra, style=style)
            elif extra and style == STYLES["flagged"]:
                head.append("\n" + " " * GAP).append(extra, style=style)
        yield head
        items = _items(row)
        padded = [
            " " * (size - cell_len(item)) + item if i == 0 else item + " " * (size - cell_len(item))
            for i, (item, size) in enumerate(zip(items[:3], sizes, strict=True))
        ]
        for line in _packed(
            [*padded, items[3]] if _length([*padded, items[3]]) <= width else items, width
        ):
            yield _indented(line)


def _items(row: tuple[str, ...]) -> list[str]:
    between = "no interval" if row[2] == words.NONE else row[2]
    return [row[1], between, f"reference {row[3]}", row[4]]


def _length(items: Sequence[str]) -> int:
    return sum(GAP + cell_len(item) for item in items)


def _packed(items: Sequence[str], width: int) -> Iterator[str]:
    """Put as many items on a line as it holds, and break between items only."""
    line: list[str] = []
    for item in items:
        if line and _length([*line, item]) > width:
            yield (" " * GAP).join(line)
            line = []
        line.append(item)
    yield (" " * GAP).join(line)


def _title(cards: Mapping[str, Mapping[str, Any]], measure: str) -> str:
    return words.visible(cards.get(measure, {}).get("title", ""))


def _worst(findings: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Name the first three parts of each flagged finding; parts come worst first."""
    return [
        (
            finding["measure"],
            "; ".join(
                [
                    *([_p(p)] if (p := finding.get("p_value")) else []),
                    *(_part(part, finding) for part in finding["parts"][:3]),
                ]
            ),
        )
        for finding in findings
        if finding.get("flagged") and (finding.get("parts") or finding.get("p_value"))
    ]


def _p(value: float) -> str:
    text = words.p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _part(part: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    unit = str(part.get("unit") or finding.get("unit") or "")
    return f"{words.visible(part['name'])} {words.number(part.get('value'), unit)}"


def _about_tables(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say what was left out and what could not be read."""
    left_out = [
        (f"left out: {entry['column']}", f"{entry['kind']}: {entry['why']}")
        for entry in provenance.get("left_out") or []
    ]
    return [*left_out, *((note, "") for note in provenance.get("notes") or [])]


def _about_calibration(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say in what the calibration differs from what was assessed."""
    told = (data.get("provenance") or {}).get("calibration") or {}
    return [(f"calibration: {note}", "") for note in told.get("notes") or []]


def _listing(heading: str, items: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    if not items:
        return
    yield _heading(heading)
    for name, text in items:
        yield _text(words.visible(name), STYLES.get(name, "bold"))
        if text:
            yield _indented(words.visible(text))
    yield _text("")


def _indented(text: str) -> Padding:
    return Padding(_text(text), (0, 0, 0, GAP), expand=False)


def _heading(text: str) -> Text:
    return _text(text, "bold underline")


def _text(text: str, style: str = "") -> Text:
    return Text(text, style=style, overflow="fold")
