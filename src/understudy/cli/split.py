"""understudy split."""

from pathlib import Path

import click

from understudy.cli import common


@click.command("split")
@click.argument("real", type=common.FILE)
@click.option("--out", type=common.FILE, required=True, help="Folder for the two files.")
@click.option("--holdout", type=float, default=0.5, show_default=True, help="Share of the rows.")
@click.option("--stratify", metavar="COLUMN", help="Keep the shares of this column's values.")
@common.group
@common.schema
@common.seed
@common.quiet
def command(
    real: Path,
    out: Path,
    holdout: float,
    stratify: str | None,
    group: str | None,
    schema: Path | None,
    seed: int,
    quiet: bool,
) -> None:
    """Split REAL at random into train and holdout, in files of the same format."""
    from understudy.data.schema import as_schema
    from understudy.data.tables import holdout_rows, subject_of, take_in, write_file

    taken = take_in(real)
    group = group or subject_of(as_schema(schema))
    chosen = holdout_rows(taken, holdout=holdout, seed=seed, stratify=stratify, group=group)
    extension = common.extension_of(real)
    extension = ".csv" if extension == ".txt" else extension
    common.make_folder(out)
    files = out / f"train{extension}", out / f"holdout{extension}"
    common.check_outputs(files, [real])
    for file, rows in zip(files, (~chosen, chosen), strict=True):
        write_file(taken.frame.filter(rows), file)
        common.say(f"wrote {file} ({int(rows.sum()):,} rows)", quiet=quiet)
