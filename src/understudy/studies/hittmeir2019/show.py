"""The study on a terminal: each figure beside the published one."""

from typing import Any, TextIO

from understudy.studies.hittmeir2019.expected import (
    FIGURES,
    by_seed,
    computed,
    differing,
    misprinted,
    published,
)

DIFFERS = " ≠"
SAME = "  "
SCALED = (
    "Tables II to V scale training and test rows apart, as the paper does; 'scaled by training' is "
    "how a model meets new rows, and what utility.regression does."
)


def show(result: dict[str, Any], file: TextIO) -> None:
    """Print one line a row, and under it the published figures; a sign marks what differs.

    Where the paper scales the rows to test by themselves, the figures with the scaler of training
    stand under both.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=file)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for heading in ("table", "data set", "row"):
        table.add_column(heading, no_wrap=True)
    for heading in ("MAE", "MAPE %", "R²"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result["rows"]:
        wrong = differing(row)
        cells = (
            "±".join(computed(row, figure)) + (DIFFERS if figure in wrong else SAME)
            for figure in FIGURES
        )
        table.add_row(row["table"], row["dataset"], row["row"], *cells)
        under = {"published": [published(row, figure) for figure in FIGURES]}
        if "correct" in row:
            under["scaled by training"] = [computed(row, f, correct=True) for f in FIGURES]
        for what, figures in under.items():
            cells = ("±".join(figure) + SAME for figure in figures)
            table.add_row(
                "", "", Text(f"  {what}", style="dim"), *(Text(c, style="dim") for c in cells)
            )
    console.print(table)
    console.print()
    for line in summary(result):
        console.print(line, highlight=False)


def summary(result: dict[str, Any]) -> list[str]:
    """Say how many printed figures agree, and which do not."""
    rows = result["rows"]
    printed = sum(len(published(row, figure)) for row in rows for figure in FIGURES)
    wrong = [(row, figure) for row in rows for figure in differing(row)]
    off = sum(
        a != b
        for row, figure in wrong
        for a, b in zip(
            (float(x) for x in published(row, figure)),
            (float(x) for x in computed(row, figure)),
            strict=False,
        )
    )
    lines = [f"{printed - off} of {printed} printed figures agree."]
    for row, figure in wrong:
        why = "; the printed figure cannot be right" if misprinted(row, figure) else ""
        why = "; within what other seeds give" if by_seed(row, figure) else why
        lines.append(f"differs: table {row['table']}, {row['row']}: {figure}{why}")
    if any("correct" in row for row in rows):
        lines.append(SCALED)
    return lines
