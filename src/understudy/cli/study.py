"""understudy study."""

import sys
from pathlib import Path

import click

from understudy.cli import common


@click.command("study")
@click.argument("name")
@click.option("--data", type=common.FILE, help="Folder of the files; else from UNDERSTUDY_DATA.")
@common.listed("--datasets", "A,B", "All in the folder if none.")
@click.option("--quick", is_flag=True, help="A few generators of each data set.")
@common.journal
@common.as_json
@common.quiet
def command(
    name: str,
    data: Path | None,
    datasets: tuple[str, ...],
    quick: bool,
    journal: Path | None,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Compute the figures of a published study again.

    NAME is the study, such as platzer2021.
    """
    from understudy.studies import study

    chosen = study(name)
    common.check_outputs([journal], json_file=json_file)
    with common.stopped(common.goes_on(journal), quiet), common.progress_bar(quiet) as progress:
        result = chosen.run(
            data=data, datasets=datasets, quick=quick, progress=progress, journal=journal
        )
    if json_file is not None:
        common.write_json(result, json_file)
    if str(json_file) == "-":
        common.say(result.get("note", ""), quiet=quiet or "note" not in result)
    elif not quiet:
        chosen.show(result, file=sys.stdout)
