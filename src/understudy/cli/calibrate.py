"""understudy calibrate."""

import sys
from pathlib import Path
from typing import Any

import click

from understudy.cli import common
from understudy.options import ROWS


@click.command("calibrate")
@click.argument("real", type=common.FILE)
@click.option("--out", type=common.FILE, required=True, help="For understudy assess --calibration.")
@click.option("--method", metavar="NAME", help="Plant in its output instead of in real rows.")
@common.seconds("--budget", 480.0, "Seconds, of all goes together.")
@click.option(
    "--rows", type=common.WholeNumber(ROWS), default=15_000, show_default=True,
    help="Real rows to use at most.",
)  # fmt: skip
@common.listed("--keys", "A,B", common.KEYS + " The default.")
@common.listed(
    "--sensitive",
    "C,D",
    "What must not be learnt; by default what understudy keys proposes, the first three.",
)
@common.measures("Privacy measures; else all.")
@common.workers
@common.journal
@common.schema
@common.options
@common.seed
@click.option("--html", type=common.FILE, help="Write power curves as one HTML file.")
@common.quiet
def command(
    real: Path,
    out: Path,
    keys: tuple[str, ...],
    sensitive: tuple[str, ...],
    measures: tuple[str, ...] | None,
    journal: Path | None,
    schema: Path | None,
    html: Path | None,
    quiet: bool,
    **asked: Any,
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
            keys=keys or "auto",
            sensitive=sensitive or "auto",
            measures=measures or "privacy",
            schema=schema,
            journal=journal,
            progress=progress,
            **asked,
        )
    result.to_json(out)
    common.say(f"wrote {out}", quiet=quiet)
    common.write_html(result, html, quiet)
    if not quiet:
        show(result.to_dict(), file=sys.stdout)
