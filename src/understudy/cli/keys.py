"""understudy keys."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import common

if TYPE_CHECKING:
    from understudy.workflows.advise import Advice

ROLES = {"known": "a likely key", "sensitive": "likely sensitive", "unclear": "unclear"}
WIDEST = 40


@click.command("keys")
@click.argument("data", type=common.FILE)
@click.option(
    "--budget", type=float, default=10.0, show_default=True, help="Seconds to search for sets."
)
@common.schema
@common.as_json
@common.quiet
def command(
    data: Path, budget: float, schema: Path | None, json_file: Path | None, quiet: bool
) -> None:
    """Propose what an attacker may know about the persons in DATA, and what must not be learnt.

    Columns and small sets of columns are ranked by the share of records that they single out; all
    shares are counted on all rows. Whether others know a column is for you to judge.
    """
    from understudy.workflows import advise

    common.check_outputs([], [data, schema], json_file=json_file)
    found = advise.keys(data, schema=schema, budget=budget)
    told = {**found.to_dict(), "line": line(found)}
    common.put_out(told, json_file, quiet, lambda _: _show(found))


def line(found: "Advice") -> str:
    """Write the proposal as options of ``understudy assess``."""
    parts = []
    for option, names in (("--keys", found.keys), ("--sensitive", found.sensitive)):
        if names:
            joined = ",".join(name.replace(",", ",,") for name in names)
            parts.append(f"{option} {shlex.quote(joined)}")
        elif option == "--sensitive" and found.keys:
            parts.append("--sensitive all")
    return " ".join(parts)


def _show(found: "Advice") -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    table = common.table("column", ">values", ">alone", "taken for", "why")
    table.columns[0].max_width = WIDEST
    for column in found.columns:
        alone = f"{100 * column.unique:.1f} %"
        cells = (f"{column.values:,}", alone, ROLES[column.role])
        table.add_row(Text(column.name), *cells, Text(column.why))
    console.print(table)
    if found.sets:
        sets = common.table("columns together", ">alone")
        for each in found.sets:
            sets.add_row(Text(", ".join(each.names)), f"{100 * each.unique:.1f} %")
        console.print()
        console.print(sets)
    console.print()
    for text in _words(found):
        console.print(Text(text))
    if found.keys:
        console.print()
        console.print(Text(line(found), style="bold"), soft_wrap=True)


def _words(found: "Advice") -> list[str]:
    """Say in words what the tables mean and what is proposed."""
    words = [
        f"alone: the share of {found.rows:,} records that no other record shares the value (the "
        "values) with.",
        f"{found.looked:,} columns and sets were counted, each on all rows"
        + ("." if found.complete else "; then the time was up (--budget)."),
    ]
    if not found.keys:
        return [*words, "No column could be proposed as a key: name what an attacker may know."]
    words.append(
        f"Proposed keys: {', '.join(found.keys)}: together they single out "
        f"{100 * found.keys_unique:.1f} % of the records."
    )
    if not found.sensitive:
        words.append("No name suggests a sensitive column: all but the keys are proposed.")
    words.append("Names are a hint, not knowledge: check both lists.")
    return words
