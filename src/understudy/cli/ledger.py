"""understudy ledger."""

from pathlib import Path

import click

from understudy.cli import common

SHORT = 12


@click.command("ledger")
@click.argument("file", type=common.FILE)
@click.option("--limit", type=float, help="Refuse fits beyond this epsilon in all.")
@common.as_json
def command(file: Path, limit: float | None, json_file: Path | None) -> None:
    """Show what the fits entered in FILE spent; with --limit, also how much they may.

    A fit is entered by understudy synthesize --epsilon E --ledger FILE.
    """
    from understudy.synthesizers import ledger as ledgers

    common.check_outputs([], [file], json_file=json_file)
    ledger = ledgers.read(file) if limit is None else ledgers.set_limit(file, limit)
    if json_file is not None:
        told = {name: value for name, value in ledger.to_dict().items() if name != "key"}
        common.write_json(told, json_file)
    if str(json_file) == "-":
        return
    for entry in ledger.entries:
        click.echo(
            f"{entry.date}  table {entry.table[:SHORT]}  {entry.method}  epsilon "
            f"{entry.epsilon:g}  {entry.state}"
        )
    for table in ledger.tables:
        click.echo(f"table {table[:SHORT]}: {ledger.spent_on(table):g} in all")
    most = "no limit" if ledger.limit is None else f"the limit is {ledger.limit:g}"
    click.echo(f"all together: {ledger.spent:g}; {most}")
