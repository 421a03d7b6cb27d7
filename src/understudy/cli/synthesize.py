"""understudy synthesize."""

from pathlib import Path

import click

from understudy.cli import common


@click.command("synthesize")
@click.argument("train", type=common.FILE, required=False)
@click.option("--out", type=common.FILE, required=True, help="The synthetic table.")
@click.option("--method", metavar="NAME", help="See understudy methods.  [default: independent]")
@click.option("--rows", type=click.IntRange(min=0), help="As many as training if not given.")
@click.option("--replicates", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--save", type=common.FILE, help="Write the fitted model.")
@click.option("--from", "model", type=common.FILE, help="Sample from a saved model; no real data.")
@common.schema
@common.options
@click.option("--seed", type=click.IntRange(min=0), help="The model's own with --from, else 0.")
@common.quiet
def command(
    train: Path | None,
    out: Path,
    method: str | None,
    rows: int | None,
    replicates: int,
    save: Path | None,
    model: Path | None,
    schema: Path | None,
    options: tuple[str, ...],
    seed: int | None,
    quiet: bool,
) -> None:
    """Make a synthetic table like TRAIN, or from a saved model."""
    from understudy.synthesizers import DEFAULT, load, synthesizer
    from understudy.tables import format_of, write_file

    if (train is None) == (model is None):
        raise click.UsageError("Give TRAIN or --from MODEL, one of the two.")
    if model is not None and (method or options or schema):
        raise click.UsageError("--from takes method, options and schema from the model.")
    format_of(out)
    outputs = replicate_paths(out, replicates)
    common.check_outputs([*outputs, save], [train, model, schema])
    with common.progress_bar(quiet) as progress:
        if model is not None:
            made = load(model)
            made.seed = made.seed if seed is None else seed
        else:
            name = method or DEFAULT
            given = common.parse_options(options)
            common.only(given, name)
            made = synthesizer(name, seed=seed or 0, progress=progress, **given.get(name, {}))
            made.fit(train, schema=schema)
        tables = [made.sample(rows, replicate=number) for number in range(replicates)]
    for path, table in zip(outputs, tables, strict=True):
        write_file(table, path)
        common.say(f"wrote {path} ({table.height:,} rows by {made.method.card.name})", quiet=quiet)
    if save is not None:
        made.save(save)
        common.say(f"wrote {save}, which contains {made.method.card.file}", quiet=quiet)
    for column in made.schema_.left_out if made.schema_ else ():
        common.say(f"left out: {column.name} ({column.kind}: {column.why})", quiet=quiet)


def replicate_paths(out: Path, replicates: int) -> list[Path]:
    """Number the files of several replicates.

    Examples
    --------
    >>> [p.name for p in replicate_paths(Path("v1.2.csv.gz"), 2)]
    ['v1.2_1.csv.gz', 'v1.2_2.csv.gz']
    """
    if replicates == 1:
        return [out]
    extension = common.extension_of(out)
    stem = out.name[: len(out.name) - len(extension)]
    return [out.with_name(f"{stem}_{number}{extension}") for number in range(1, replicates + 1)]
