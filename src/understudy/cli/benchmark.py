"""understudy benchmark."""

import sys
from pathlib import Path
from typing import Any

import click

from understudy.cli import common
from understudy.options import REPLICATES, ROWS


@click.command("benchmark")
@click.argument("train", type=common.FILE)
@click.option("--methods", callback=common.names, required=True, metavar="A,B", help="Their names.")
@click.option("--splits", type=common.WholeNumber(REPLICATES), default=10, show_default=True)
@click.option("--holdout", type=common.FILE, help="Fit TRAIN and this in turn; else random halves.")
@common.target
@click.option("--rows", type=common.WholeNumber(ROWS), help="As many as the control if not given.")
@click.option("--out", type=common.FILE, help="A folder of finished cells, to go on from later.")
@common.relations
@common.schema
@common.options
@common.seed
@common.as_json
@common.quiet
def command(
    train: Path,
    holdout: Path | None,
    out: Path | None,
    schema: Path | None,
    json_file: Path | None,
    quiet: bool,
    relations: str,
    **asked: Any,
) -> None:
    """Try methods on splits of TRAIN: how faithful, how useful, how close, how costly.

    A method that fails is in the table with its reason; the exit status is 2 if none worked.
    """
    from understudy.errors import DataError
    from understudy.report.benchmark import show
    from understudy.workflows.benchmark import benchmark

    common.check_outputs([], [train, holdout, schema], json_file=json_file)
    if out is not None:
        common.make_folder(out)
    if asked["target"] is None:
        common.say("no --target is named, so prediction is not measured", quiet=quiet)
    asked["options"] = common.without_relations(asked["options"], asked["methods"], relations)
    with common.progress_bar(quiet) as progress:
        result = benchmark(
            train, holdout=holdout, schema=schema, out=out, progress=progress, **asked
        )
    data = result.to_dict()
    common.put_out(data, json_file, quiet, lambda found: show(found, file=sys.stdout))
    if result.all_failed:
        reason = data["methods"][0]["reasons"][0]
        raise DataError("no method worked on any split", hint=reason)
