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
    from understudy.data.tables import read_file

    common.check_outputs([out], [data], json_file=json_file)
    inferred = infer(read_file(data))
    if out is not None:
        common.write_text(dumps(inferred), out)
        common.say(f"wrote {out}", quiet=quiet)
    if json_file is not None:
        columns = [
            {**dataclasses.asdict(column), "inferred": sorted(column.inferred)}
            for column in inferred
        ]
        common.write_json({"version": 1, "columns": columns}, json_file)
    elif not quiet:
        from rich.console import Console
        from rich.text import Text

        table = common.table("column", "kind", "why")
        table.columns[1].no_wrap = True
        for column in inferred:
            table.add_row(Text(column.name), column.kind, Text(column.why))
        Console().print(table)
