"""understudy release."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import common

if TYPE_CHECKING:
    from understudy.workflows.release import Decision


@click.command("release")
@click.argument("real", type=common.FILE)
@click.option("--policy", type=common.FILE, required=True, help="Rules: understudy policy init.")
@click.option("--out", type=common.FILE, required=True, help="The folder to hand over.")
@click.option(
    "--steward-out", type=common.FILE, help="The steward's folder; OUT-steward if not given."
)
@click.option(
    "--method", default=common.DEFAULT_METHOD, show_default=True, help="See understudy methods."
)
@click.option("--rows", type=click.IntRange(min=1), help="As many as training if not given.")
@click.option("--replicates", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--holdout-share", type=float, default=0.5, show_default=True, help="Rows kept as control."
)
@click.option(
    "--group", metavar="COLUMN", help="Keep the rows of one person or household together."
)
@click.option("--target", metavar="COLUMN", help="What is to be predicted.")
@click.option("--formula", multiple=True, metavar="Y ~ X", help=common.FORMULA)
@click.option("--keys", callback=common.names, metavar="A,B", help=common.KEYS)
@click.option("--sensitive", callback=common.names, metavar="C,D", help=common.SENSITIVE)
@click.option(
    "--by",
    callback=common.names,
    metavar="A,B",
    help="Measure also each of their levels; those that the policy names in any case.",
)
@click.option(
    "--measures",
    callback=common.names,
    metavar="NAME,…",
    help="Beside what the policy names; all that can be taken if not given.",
)
@common.schema
@common.options
@click.option("--seed", type=click.IntRange(min=0), help="Drawn, and kept secret, if not given.")
@click.option("--ledger", type=common.FILE, help="Add up what is spent on the same people.")
@click.option(
    "--allow-inconclusive",
    is_flag=True,
    help="Hand over even if rules are undecided; the verdict and status 3 stay.",
)
@click.option("--restart", is_flag=True, help="Give up what an earlier run left unfinished.")
@common.quiet
def command(
    real: Path,
    policy: Path,
    out: Path,
    steward_out: Path | None,
    method: str,
    rows: int | None,
    replicates: int,
    holdout_share: float,
    group: str | None,
    target: str | None,
    formula: tuple[str, ...],
    keys: tuple[str, ...],
    sensitive: tuple[str, ...],
    by: tuple[str, ...],
    measures: tuple[str, ...],
    schema: Path | None,
    options: tuple[str, ...],
    seed: int | None,
    ledger: Path | None,
    allow_inconclusive: bool,
    restart: bool,
    quiet: bool,
) -> None:
    """Split REAL, synthesize, assess and judge; make the folder OUT if every rule is kept.

    The steward's folder beside it holds what must not be shared: real rows, model, receipt,
    single records. Stopped at any point, the same command goes on.
    """
    from understudy.workflows.release import release

    with common.stopped(common.GOES_ON, quiet), common.progress_bar(quiet) as progress:
        decision = release(
            real,
            policy,
            out,
            method=method,
            rows=rows,
            replicates=replicates,
            holdout_share=holdout_share,
            group=group,
            target=target,
            formula=formula,
            keys=keys,
            sensitive=sensitive,
            by=by,
            measures=measures or None,
            options=common.parse_options(options),
            schema=schema,
            seed=seed,
            ledger=ledger,
            steward_out=steward_out,
            allow_inconclusive=allow_inconclusive,
            restart=restart,
            progress=progress,
            tell=lambda text: common.say(f"warning: {text}", quiet=quiet),
        )
    if not quiet:
        _show(decision)
    passed = decision.outcome == "PASS"
    common.say_verdict(f"policy: {decision.outcome}", passed=passed, quiet=quiet)
    if decision.folder is None:
        why = decision.steward / "README.md"
        common.say(f"{out} was not made; {why} says why", quiet=quiet)
    else:
        common.say(f"wrote {decision.folder}: to hand over", quiet=quiet)
    common.say(f"wrote {decision.steward}: for the steward alone, do not share it", quiet=quiet)
    click.get_current_context().exit(decision.status)


def _show(decision: "Decision") -> None:
    """Print the assessment."""
    from understudy.report import console
    from understudy.workflows.assessment import cards

    console.show(decision.assessment.to_dict(), cards(), file=sys.stdout)
