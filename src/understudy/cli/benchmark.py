"""understudy benchmark."""

import sys
from pathlib import Path

import click

from understudy.cli import common


@click.command("benchmark")
@click.argument("train", type=common.FILE)
@click.option("--methods", callback=common.names, required=True, metavar="A,B", help="Their names.")
@click.option("--splits", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--holdout", type=common.FILE, help="Fit TRAIN and this in turn; else random halves.")
@click.option("--target", metavar="COLUMN", help="What is to be predicted.")
@click.option("--rows", type=click.IntRange(min=1), help="As many as the control if not given.")
@click.option("--out", type=common.FILE, help="A folder of finished cells, to go on from later.")
@common.schema
@common.options
@common.seed
@common.as_json
@common.quiet
def command(
    train: Path,
    methods: tuple[str, ...],
    splits: int,
    holdout: Path | None,
    target: str | None,
    rows: int | None,
    out: Path | None,
    schema: Path | None,
    options: tuple[str, ...],
    seed: int,
    json_file: Path | None,
    quiet: bool,
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
    if target is None:
        common.say("no --target is named, so prediction is not measured", quiet=quiet)
    with common.progress_bar(quiet) as progress:
        result = benchmark(
            train,
            methods=methods,
            splits=splits,
            holdout=holdout,
            target=target,
            rows=rows,
            options=common.parse_options(options),
            schema=schema,
            out=out,
            seed=seed,
            progress=progress,
        )
    data = result.to_dict()
    if json_file is not None:
        common.write_json(data, json_file)
    if str(json_file) != "-" and not quiet:
        show(data, file=sys.stdout)
    if result.all_failed:
        reason = data["methods"][0]["reasons"][0]
        raise DataError("no method worked on any split", hint=reason)
