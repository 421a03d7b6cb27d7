"""understudy demo."""

import sys
from pathlib import Path

import click

from understudy.cli import common


@click.command("demo")
@click.option("--out", type=common.FILE, default=Path("understudy-demo"), show_default=True)
@click.option("--data", "name", default="randhie", show_default=True, help="A data set by name.")
@click.option("--method", default="cart", show_default=True, help="See understudy methods.")
@common.seed
@common.quiet
def command(out: Path, name: str, method: str, seed: int, quiet: bool) -> None:
    """Split, synthesize and assess real microdata, and write a report."""
    from understudy.assessment import assess, cards
    from understudy.datasets import dataset
    from understudy.report import console
    from understudy.synthesizers import synthesizer
    from understudy.tables import split, write_file

    chosen = dataset(name)
    path = chosen.path()
    common.make_folder(out)
    common.say(f"{chosen.source}: {chosen.rows:,} rows, {chosen.columns} columns", quiet=quiet)
    train, holdout = split(path, holdout=0.5, seed=seed)
    with common.progress_bar(quiet) as progress:
        made = synthesizer(method, seed=seed, progress=progress).fit(train)
        synthetic = made.sample()
        result = assess(train, synthetic, holdout=holdout, seed=seed, progress=progress)
    tables = {"train.csv": train, "holdout.csv": holdout, "synthetic.csv": synthetic}
    for file, table in tables.items():
        write_file(table, out / file)
    result.to_json(out / "assessment.json")
    result.to_html(out / "report.html", title=f"{chosen.source}, by {made.method.card.name}")
    if not quiet:
        console.show(result.to_dict(), cards(), file=sys.stdout)
    common.say(
        f"wrote {out}: {', '.join([*tables, 'assessment.json', 'report.html'])}", quiet=quiet
    )
