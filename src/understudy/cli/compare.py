"""understudy compare."""

import sys
from pathlib import Path

import click

from understudy.cli import common

WRITE = "write NAME=PATH, such as cart=cart.csv"


@click.command("compare")
@click.argument("train", type=common.FILE)
@click.argument("candidates", nargs=-1, required=True, metavar="NAME=PATH…")
@click.option("--holdout", type=common.FILE, help="Fresh real rows that no generator saw.")
@click.option("--keys", callback=common.names, metavar="A,B", help=common.KEYS)
@click.option("--sensitive", callback=common.names, metavar="C,D", help=common.SENSITIVE)
@click.option("--target", metavar="COLUMN", help="What is to be predicted.")
@click.option("--formula", multiple=True, metavar="Y ~ X", help=common.FORMULA)
@click.option(
    "--measures",
    callback=common.names,
    metavar="NAME,…",
    help="Names, prefixes or all; the two measures that decide are always taken.",
)
@click.option("--no-curve", is_flag=True, help="Leave out the reference curve of flip.")
@common.schema
@common.options
@common.seed
@common.as_json
@click.option("--html", type=common.FILE, help="Write the comparison as one HTML file.")
@common.quiet
def command(
    train: Path,
    candidates: tuple[str, ...],
    holdout: Path | None,
    keys: tuple[str, ...],
    sensitive: tuple[str, ...],
    target: str | None,
    formula: tuple[str, ...],
    measures: tuple[str, ...],
    no_curve: bool,
    schema: Path | None,
    options: tuple[str, ...],
    seed: int,
    json_file: Path | None,
    html: Path | None,
    quiet: bool,
) -> None:
    """Compare synthetic tables made from TRAIN, each given as NAME=PATH.

    Says which candidates the evidence puts behind another, and no more than its intervals support.
    """
    from understudy.workflows.compare import compare

    tables = named(candidates)
    common.check_outputs([html], [train, *tables.values(), holdout, schema], json_file=json_file)
    with common.progress_bar(quiet) as progress:
        result = compare(
            train,
            tables,
            holdout=holdout,
            keys=keys,
            sensitive=sensitive,
            target=target,
            formula=formula,
            measures=measures or None,
            options=common.parse_options(options),
            schema=schema,
            curve=not no_curve,
            seed=seed,
            progress=progress,
        )
    data = result.to_dict()
    if json_file is not None:
        common.write_json(data, json_file)
    if html is not None:
        result.to_html(html)
        common.say(f"wrote {html}", quiet=quiet)
    if str(json_file) != "-" and not quiet:
        from understudy.report.compare import show

        show(data, file=sys.stdout)


def named(candidates: tuple[str, ...]) -> dict[str, Path]:
    """Split NAME=PATH at the first equals sign.

    Examples
    --------
    >>> named(("cart=a=1.csv",))["cart"].name
    'a=1.csv'
    """
    tables: dict[str, Path] = {}
    for text in candidates:
        name, equals, path = text.partition("=")
        if not (equals and name.strip() and path):
            raise click.UsageError(f"'{text}' names no candidate: {WRITE}.")
        if name.strip() in tables:
            raise click.UsageError(f"two candidates are called '{name.strip()}'.")
        tables[name.strip()] = Path(path)
    return tables
