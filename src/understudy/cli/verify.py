"""understudy verify."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import common

if TYPE_CHECKING:
    from understudy.workflows.verify import Verification

MOST_LISTED = 40


@click.command("verify")
@click.argument("receipt", type=common.FILE)
@click.option("--train", type=common.FILE, help="Where the training table is now.")
@click.option(
    "--synthetic", type=common.FILE, multiple=True, help="Where it is now; once for each replicate."
)
@click.option("--holdout", type=common.FILE, help="Where the holdout is now.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0, max=1, max_open=True),
    help="Relative difference that counts as equal; 0 with the same versions, else 1e-6.",
)
@common.as_json
@common.quiet
def command(
    receipt: Path,
    train: Path | None,
    synthetic: tuple[Path, ...],
    holdout: Path | None,
    tolerance: float | None,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Repeat the assessment of RECEIPT and say EQUAL, or what differs.

    Exit status: 0 equal, 1 something differs, 2 it cannot be repeated.
    """
    from understudy.workflows.verify import verify

    common.check_outputs([], [receipt, train, *synthetic, holdout], json_file=json_file)
    with common.progress_bar(quiet) as progress:
        check = verify(
            receipt,
            train=train,
            synthetic=list(synthetic) or None,
            holdout=holdout,
            tolerance=tolerance,
            progress=progress,
        )
    common.put_out(check.to_dict(), json_file, quiet, lambda _: _show(check))
    if (quiet or str(json_file) == "-") and not check.equal:
        common.say_verdict(_last(check), passed=False, quiet=True, json_file=json_file)
    click.get_current_context().exit(0 if check.equal else 1)


def _show(check: "Verification") -> None:
    """Say what was read and what differs, most telling first."""
    for text in check.read:
        click.echo(f"  read {text}")
    for text in (*check.files, *check.notes):
        common.paragraph(text)
    for difference in (
        *check.versions,
        *check.verdicts,
        *check.checks,
        *check.findings[:MOST_LISTED],
    ):
        common.paragraph(str(difference))
    hidden = len(check.findings) - MOST_LISTED
    if hidden > 0:
        common.paragraph(f"… and {hidden:,} more (--json lists them)")
    click.echo(_last(check))


def _last(check: "Verification") -> str:
    """Say whether all is equal, in one line."""
    how = "exactly" if check.tolerance == 0 else f"to a relative {check.tolerance:g}"
    count = len(check.result)
    compared = f"{count} finding{'s' if count != 1 else ''} compared {how}"
    if check.equal:
        apart = f"; largest relative difference {check.largest:.2g}" if check.largest else ""
        return f"EQUAL: {compared}{apart}"
    others = [
        f"{len(found)} {what}{'s' if len(found) != 1 else ''}"
        for found, what in (
            (check.files, "table"),
            (check.verdicts, "verdict"),
            (check.checks, "check"),
        )
        if found
    ]
    places = {difference.where for difference in check.findings}
    others += [f"{len(places)} of {compared}"] if places else [f"none of {compared}"]
    return f"DIFFERENT: {', '.join(others)}"
