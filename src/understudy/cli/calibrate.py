"""understudy calibrate."""

import sys
from pathlib import Path

import click

from understudy.cli import common


@click.command("calibrate")
@click.argument("real", type=common.FILE)
@click.option("--out", type=common.FILE, required=True, help="For understudy assess --calibration.")
@click.option("--method", metavar="NAME", help="Plant in its output instead of in real rows.")
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), default=480.0, show_default=True,
    help="Seconds, of all goes together.",
)  # fmt: skip
@click.option(
    "--rows", type=click.IntRange(min=1), default=15_000, show_default=True,
    help="Real rows to use at most.",
)  # fmt: skip
@click.option("--keys", callback=common.names, metavar="A,B", help=common.KEYS + " The default.")
@click.option(
    "--sensitive", callback=common.names, metavar="C,D",
    help="What must not be learnt; by default what understudy keys proposes, the first three.",
)  # fmt: skip
@click.option(
    "--measures", callback=common.names, metavar="NAME,…", help="Privacy measures; else all."
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes; all cores if not given.")
@click.option("--journal", type=common.FILE, help="A file to go on from; for its owner alone.")
@common.schema
@common.options
@common.seed
@click.option("--html", type=common.FILE, help="Write power curves as one HTML file.")
@common.quiet
def command(
    real: Path,
    out: Path,
    method: str | None,
    budget: float,
    rows: int,
    keys: tuple[str, ...],
    sensitive: tuple[str, ...],
    measures: tuple[str, ...],
    workers: int | None,
    journal: Path | None,
    schema: Path | None,
    options: tuple[str, ...],
    seed: int,
    html: Path | None,
    quiet: bool,
) -> None:
    """Say how small a leak each privacy measure would notice on data like REAL.

    Leaks of known size are planted in real rows that are free of them, over and over. Stopped at
    any point, the same command goes on if it has a --journal.
    """
    from understudy.report.calibration import show
    from understudy.workflows.calibrate import calibrate

    common.check_outputs([out, html, journal], [real, schema])
    with common.stopped(common.goes_on(journal), quiet), common.progress_bar(quiet) as progress:
        result = calibrate(
            real,
            method=method,
            keys=keys or "auto",
            sensitive=sensitive or "auto",
            measures=measures or ("privacy",),
            options=common.parse_options(options),
            budget=budget,
            rows=rows,
            workers=workers,
            schema=schema,
            seed=seed,
            journal=journal,
            progress=progress,
        )
    result.to_json(out)
    common.say(f"wrote {out}", quiet=quiet)
    if html is not None:
        result.to_html(html)
        common.say(f"wrote {html}", quiet=quiet)
    if not quiet:
        show(result.to_dict(), file=sys.stdout)
