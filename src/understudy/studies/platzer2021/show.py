"""The study on a terminal: each figure beside the published one."""

from typing import Any, TextIO

from understudy.studies.platzer2021.expected import (
    COUNTS,
    FIGURES,
    agrees,
    differing,
    expected,
    printed,
    published_figures,
)

HEADINGS = ("F1 %", "F2 %", "F3 %", "share %", "to train", "to hold.")
DIFFERS = " ≠"
SAME = "  "


def show(result: dict[str, Any], file: TextIO) -> None:
    """Print one table a data set; a sign marks what differs at the printed digits."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=file)
    for dataset in dict.fromkeys(pair["dataset"] for pair in result["pairs"]):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        table.title, table.title_justify = Text(dataset, style="bold"), "left"
        table.add_column("generator", overflow="fold")
        for heading in HEADINGS:
            table.add_column(heading, justify="right", no_wrap=True)
        for pair in (pair for pair in result["pairs"] if pair["dataset"] == dataset):
            published = published_figures(pair)
            table.add_row(Text(pair["generator"]), *(_cell(pair, name) for name in FIGURES))
            if published:
                cells = (Text(published[name] + SAME, style="dim") for name in FIGURES)
                table.add_row(Text("  published", style="dim"), *cells)
        console.print(table)
        console.print()
    for line in summary(result):
        console.print(line, highlight=False)


def _cell(pair: dict[str, Any], name: str) -> str:
    published = published_figures(pair)
    same = not published or agrees(name, pair[name], published[name])
    return printed(name, pair[name]) + (SAME if same else DIFFERS)


def summary(result: dict[str, Any]) -> list[str]:
    """Say how many figures and counts are the published ones, and which are not."""
    pairs = result["pairs"]
    figures = sum(len(published_figures(pair) or ()) for pair in pairs)
    counts = sum(
        len(expected().counts.get(pair["dataset"], {}).get(pair["generator"], ())) for pair in pairs
    )
    wrong = [(pair, name) for pair in pairs for name in differing(pair)]
    off = sum(name in COUNTS for _, name in wrong)
    lines = []
    if figures:
        agreed = figures - (len(wrong) - off)
        lines.append(f"{agreed} of {figures} printed figures agree with figures 7 and 8.")
    if counts:
        lines.append(f"{counts - off} of {counts} counts agree with the authors' results file.")
    if not (figures or counts):
        lines.append("There are no published figures for these files.")
    lines += [f"differs: {p['dataset']}, {p['generator']}: {name}" for p, name in wrong]
    return lines + ([result["note"]] if "note" in result else [])
