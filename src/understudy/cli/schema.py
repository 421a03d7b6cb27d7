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
    """Say what the columns of DATA are, why, and which relations hold between them."""
    from understudy.data.relations.schemas import schema
    from understudy.data.schema import dumps

    common.check_outputs([out], [data], json_file=json_file)
    inferred = schema(data)
    if out is not None:
        common.write_text(dumps(inferred), out)
        common.say(f"wrote {out}", quiet=quiet)
    if json_file is not None:
        columns = [
            {**dataclasses.asdict(column), "inferred": sorted(column.inferred)}
            for column in inferred
        ]
        relations = [dataclasses.asdict(relation) for relation in inferred.relations]
        common.write_json({"version": 1, "columns": columns, "relations": relations}, json_file)
    elif not quiet:
        from rich.console import Console
        from rich.text import Text

        table = common.table("column", "kind", "why")
        table.columns[1].no_wrap = True
        for column in inferred:
            table.add_row(Text(column.name), column.kind, Text(column.why))
        console = Console()
        console.print(table)
        if inferred.relations:
            table = common.table("relation", "kind", "rows", "broken")
            for relation in inferred.relations:
                counts = [
                    f"{n:,}" if n is not None else "" for n in (relation.rows, relation.broken)
                ]
                table.add_row(Text(relation.text), relation.kind, *counts)
            console.print(table)
