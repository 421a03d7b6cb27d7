"""understudy schema."""

import dataclasses
from pathlib import Path

import click

from understudy.cli import common


@click.command("schema")
@click.argument("data", type=common.FILE)
@click.option("--out", type=common.FILE, help="Write the schema as TOML, to be edited.")
@common.as_json
@common.quiet
def command(data: Path, out: Path | None, json_file: Path | None, quiet: bool) -> None:
    """Say what the columns of DATA are, and why."""
    from understudy.data.schema import dumps, infer
    from understudy.data.tables import read_file, whole_file

    common.check_outputs([out], [data], json_file=json_file)
    inferred = infer(read_file(data))
    if out is not None:
        with whole_file(out) as temporary:
            temporary.write_text(dumps(inferred), encoding="utf-8")
        common.say(f"wrote {out}", quiet=quiet)
    if json_file is not None:
        columns = [
            {**dataclasses.asdict(column), "inferred": sorted(column.inferred)}
            for column in inferred
        ]
        common.write_json({"version": 1, "columns": columns}, json_file)
    elif not quiet:
        _show([(column.name, column.kind, column.why) for column in inferred])


def _show(rows: list[tuple[str, str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("column", overflow="fold")
    table.add_column("kind", no_wrap=True)
    table.add_column("why", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
