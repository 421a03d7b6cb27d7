"""understudy compare."""

import sys
from pathlib import Path
from typing import Any

import click

from understudy.cli import common

WRITE = "write NAME=PATH, such as cart=cart.csv"


@click.command("compare")
@click.argument("train", type=common.FILE)
@click.argument("candidates", nargs=-1, required=True, metavar="NAME=PATH…")
@click.option("--holdout", type=common.FILE, help="Fresh real rows that no generator saw.")
@common.roles
@click.option("--aligned", is_flag=True, help="Row i of each stands for person i of TRAIN.")
@common.listed("--by", "A,B", "Measure also each of their levels alone.")
@common.measures("Names, prefixes or all; the two measures that decide are always taken.")
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
    no_curve: bool,
    schema: Path | None,
    json_file: Path | None,
    html: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Compare synthetic tables made from TRAIN, each given as NAME=PATH.

    Says which candidates the evidence puts behind another, and no more than its intervals support.
    """
    from understudy.report.compare import show
    from understudy.workflows.compare import compare

    tables = named(candidates)
    common.check_outputs([html], [train, *tables.values(), holdout, schema], json_file=json_file)
    with common.progress_bar(quiet) as progress:
        result = compare(
            train,
            tables,
            holdout=holdout,
            schema=schema,
            curve=not no_curve,
            progress=progress,
            **asked,
        )
    common.write_html(result, html, quiet)
    common.put_out(result.to_dict(), json_file, quiet, lambda found: show(found, file=sys.stdout))


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
