"""understudy demo."""

import sys
from pathlib import Path
from typing import Any

import click

from understudy.cli import common

BESIDE = (common.DEFAULT_METHOD, "cart", "bootstrap")
WRITTEN = ("synthetic.csv", "synthetic.csv.README.md", "assessment.json", "report.html")
DEMO_MEASURES = (
    "fidelity.trivariate",
    "fidelity.detection",
    "privacy.identical_matches",
    "privacy.closest_record",
)


@click.command("demo")
@click.option("--out", type=common.FILE, default=Path("understudy-demo"), show_default=True)
@click.option("--data", "name", default="randhie", show_default=True, help="A data set by name.")
@common.method
@common.seed
@common.quiet
def command(out: Path, name: str, method: str, seed: int, quiet: bool) -> None:
    """Split, synthesize and assess real microdata, and write a report.

    The end of the sheet sets the method beside others: the default, cart and a plain copy.
    """
    from understudy.data.datasets import dataset
    from understudy.data.tables import split, write_file
    from understudy.report import benchmark
    from understudy.synthesizers import synthesizer
    from understudy.synthesizers.handover import Release, note_for
    from understudy.workflows.assess import assess

    chosen = dataset(name)
    path = chosen.path()
    common.make_folder(out)
    common.say(f"{chosen.source}: {chosen.rows:,} rows, {chosen.columns} columns", quiet=quiet)
    train, holdout = split(path, holdout=0.5, seed=seed)

    def judge(table: Any, measures: tuple[str, ...] | None) -> Any:
        return assess(
            train, table, holdout=holdout, measures=measures, seed=seed, progress=progress
        )

    with common.progress_bar(quiet) as progress:
        made = synthesizer(method, seed=seed, progress=progress).fit(train)
        synthetic = made.sample()
        result = judge(synthetic, None)
        beside = {method: result.to_dict()}
        for other in BESIDE if not quiet else ():
            if other != method:
                table = synthesizer(other, seed=seed, progress=progress).fit(train).sample()
                beside[other] = judge(table, DEMO_MEASURES).to_dict()
    tables = {"train.csv": train, "holdout.csv": holdout}
    for file, table in tables.items():
        write_file(table, out / file)
    shown = out / "synthetic.csv"
    Release.of_rows(made).write([shown], note=note_for(shown))
    result.to_json(out / "assessment.json")
    result.to_html(out / "report.html", title=f"{chosen.source}, by {made.method.card.name}")
    if not quiet:
        common.show_assessment(result.to_dict())
        benchmark.show_beside(beside, DEMO_MEASURES, file=sys.stdout)
    common.say(f"wrote {out}: {', '.join([*tables, *WRITTEN])}", quiet=quiet)
