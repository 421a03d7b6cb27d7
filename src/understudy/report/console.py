"""The sheet for the terminal: a table where it fits, short blocks where it does not."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from understudy.report import words
from understudy.report.words import Cards

HEADINGS = ("measure", "value", "interval", "reference", "direction", "mark")
WIDEST_DIRECTION = max(len(word) for text in words.DIRECTIONS.values() for word in text.split())
GAP = 2
REFERENCE = "reference"
USUAL = 12
STYLES = {
    "flagged": "bold red",
    "flagged, blind here": "bold red",
    "blind here": "bold yellow",
    "failed": "bold magenta",
    "PASS": "bold green",
    "FAIL": "bold red",
}


def show(data: Mapping[str, Any], cards: Cards, *, file: IO[str], width: int | None = None) -> None:
    """Print an assessment's dict (version 1 of the JSON contract) to a file or a terminal.

    Examples
    --------
    >>> import sys
    >>> show({"findings": [], "verdicts": [], "provenance": {}}, {}, file=sys.stdout, width=40)
    No findings.
    """
    print_pieces(lambda most: _pieces(data, cards, most), file, width)


def print_pieces(
    pieces: Callable[[int], Iterable[RenderableType]], file: IO[str], width: int | None
) -> None:
    """Print what fits into the width of a file or a terminal."""
    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False)
    for piece in pieces(console.width):
        console.print(piece)


def plain_table() -> Table:
    """Give a table without lines."""
    return Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), collapse_padding=True)


def text(said: str, style: str = "") -> Text:
    """Give text that is broken where it must be, and never cut."""
    return Text(said, style=style, overflow="fold")


def heading(said: str) -> Text:
    """Give the line above a part."""
    return text(said, "bold underline")


def indented(said: str, style: str = "", *, expand: bool = False) -> Padding:
    """Give text that stands in from the left."""
    return Padding(text(said, style), (0, 0, 0, GAP), expand=expand)


def side_by_side(
    columns: Mapping[str, Mapping[str, str]], reference: Mapping[str, str], width: int
) -> Iterator[RenderableType]:
    """Give a table with a column for each name; where it is too wide, a block a line of it."""
    labels = list(dict.fromkeys(label for column in columns.values() for label in column))
    together = {**columns, REFERENCE: reference}
    if width_of(labels, together) <= width:
        table = plain_table()
        table.add_column("", no_wrap=True)
        for name in together:
            head = Text(words.visible(name), style="bold")
            table.add_column(head, justify="right", no_wrap=True)
        for label in labels:
            table.add_row(label, *(column.get(label, "") for column in together.values()))
        yield table
        return
    longest = max(cell_len(words.visible(name)) for name in together)
    for label in labels:
        yield text(label, "bold")
        for name, column in together.items():
            if label in column:
                shown = words.visible(name)
                yield indented(shown + " " * (longest - cell_len(shown) + GAP) + column[label])


def width_of(labels: Sequence[str], columns: Mapping[str, Mapping[str, str]]) -> int:
    """Give the width of a table with these labels and columns."""
    sizes = [max(map(cell_len, labels))]
    for name, column in columns.items():
        sizes.append(max(cell_len(words.visible(name)), *map(cell_len, column.values()), 0))
    return sum(sizes) + GAP * (len(sizes) - 1)


def _pieces(data: Mapping[str, Any], cards: Cards, width: int) -> Iterator[RenderableType]:
    findings, provenance = data.get("findings") or [], data.get("provenance") or {}
    yield from _listing("Read this first", [(w, "") for w in provenance.get("warnings") or []])
    good = [f for f in findings if f.get("status", "ok") == "ok"]
    if not findings:
        yield text("No findings.")
    if good:
        yield from _findings(good, cards, width)
    yield from _listing("Where the flagged ones stand out", _worst(good))
    noticed = [(f["measure"], words.noticed(f)) for f in good if words.noticed(f)]
    doubts = (provenance.get("calibration") or {}).get("notes") or []
    noticed += [(f"calibration: {note}", "") for note in doubts]
    yield from _listing("What each would notice", noticed)
    about = [
        (f"left out: {entry['column']}", f"{entry['kind']}: {entry['why']}")
        for entry in provenance.get("left_out") or []
    ]
    about += [(note, "") for note in provenance.get("notes") or []]
    yield from _listing("About the tables", about)
    yield from _listing("Notes", [(f["measure"], f["note"]) for f in good if f.get("note")])
    for status, title in (("failed", "Failed"), ("not_applicable", "Not applicable")):
        reasons = [
            (f["measure"], f.get("note") or "no reason was given")
            for f in findings
            if f.get("status") == status
        ]
        yield from _listing(title, reasons)
    yield from _verdicts([words.verdict(v) for v in data.get("verdicts") or []])


def _listing(title: str, items: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    if not items:
        return
    yield heading(title)
    for name, said in items:
        yield text(words.visible(name), STYLES.get(name, "bold"))
        if said:
            yield indented(words.visible(said))
    yield text("")


def _verdicts(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Say the outcome of the policy, then each rule, why, and what to do next."""
    if not verdicts:
        return
    together = words.overall(verdicts)
    yield heading("Verdict of the policy")
    yield text(together["outcome"], STYLES.get(together["outcome"], "bold"))
    yield indented(together["sentence"])
    for verdict in verdicts:
        line = text(verdict["outcome"], STYLES.get(verdict["outcome"], "bold"))
        yield line.append(" " * bool(verdict["outcome"]) + verdict["rule"], style="none")
        for said in filter(None, [verdict["why"], *(f"Next: {step}" for step in verdict["next"])]):
            yield indented(said)
    yield text("")


def _findings(
    findings: Sequence[Mapping[str, Any]], cards: Cards, width: int
) -> Iterator[RenderableType]:
    """Give the findings of each family as a table that holds every name and number on one line.

    Only the direction may wrap; where that is not enough, each finding is a block.
    """
    rows = {id(finding): _row(finding, cards) for finding in findings}
    every = list(rows.values())
    widths = [max(len(h), *(cell_len(row[i]) for row in every)) for i, h in enumerate(HEADINGS)]
    used = sum(widths) + GAP * (len(HEADINGS) - 1)
    fits = used - widths[4] + WIDEST_DIRECTION <= width
    longest = max(cell_len(row[6]) for row in every)
    if longest > 0 and used + GAP + longest <= width:
        widths.append(longest)
    widths[4] -= max(0, used - width)
    for name, group in words.by_family(findings).items():
        lines = [rows[id(finding)] for finding in group]
        yield heading(words.FAMILIES.get(name, words.visible(name)))
        if fits:
            yield _table(lines, widths)
        else:
            yield from _blocks(lines, every, width)
        yield text("")


def _row(finding: Mapping[str, Any], cards: Cards) -> tuple[str, ...]:
    measure = words.visible(finding["measure"])
    return (
        measure,
        *words.cells(finding),
        words.direction(finding.get("better")),
        words.mark(finding),
        words.visible(cards.get(measure, {}).get("title", "")),
    )


def _table(rows: Sequence[tuple[str, ...]], widths: Sequence[int]) -> Table:
    table = plain_table()
    for head, width in zip((*HEADINGS, "title"), widths, strict=False):
        right = head in ("value", "reference")
        table.add_column(
            Text(head, style="dim"),
            justify="right" if right else "left",
            width=width,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(text(cell, STYLES.get(cell, "")) for cell in row[: len(widths)]))
    return table


def _blocks(
    rows: Sequence[tuple[str, ...]], every: Sequence[tuple[str, ...]], width: int
) -> Iterator[RenderableType]:
    """Give one block a finding: its name and mark, then its numbers, aligned where they fit."""
    short = [items for items in map(_items, every) if cell_len(items[0]) <= USUAL]
    sizes = [max((cell_len(items[i]) for items in short), default=0) for i in range(3)]
    for row in rows:
        head = text(row[0], "bold")
        for extra, style in ((row[5].upper(), STYLES["flagged"]), (row[6], "dim")):
            if extra and cell_len(head.plain) + GAP + cell_len(extra) <= width:
                head.append(" " * GAP).append(extra, style=style)
            elif extra and style == STYLES["flagged"]:
                head.append("\n" + " " * GAP).append(extra, style=style)
        yield head
        items = _items(row)
        spaces = [" " * (size - cell_len(item)) for item, size in zip(items, sizes, strict=False)]
        padded = [spaces[0] + items[0], items[1] + spaces[1], items[2] + spaces[2], items[3]]
        for line in _packed(padded if _length(padded) <= width else items, width):
            yield indented(line)


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


def _worst(findings: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Name the first three parts of each flagged finding; parts come worst first."""
    listed = []
    for finding in findings:
        p, parts = finding.get("p_value"), finding.get("parts") or []
        if not finding.get("flagged") or not (parts or p):
            continue
        chance = words.p_value(p)
        said = [f"p {chance}" if chance.startswith("<") else f"p = {chance}"] if p else []
        for part in parts[:3]:
            unit = str(part.get("unit") or finding.get("unit") or "")
            said.append(f"{words.visible(part['name'])} {words.number(part.get('value'), unit)}")
        listed.append((finding["measure"], "; ".join(said)))
    return listed
