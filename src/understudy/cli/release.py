"""understudy release."""

from pathlib import Path
from typing import Any

import click

from understudy.cli import common
from understudy.options import REPLICATES, ROWS, SEED


@click.command("release")
@click.argument("real", type=common.FILE)
@click.option("--policy", type=common.FILE, required=True, help="Rules: understudy policy init.")
@click.option("--out", type=common.FILE, required=True, help="The folder to hand over.")
@click.option(
    "--steward-out", type=common.FILE, help="The steward's folder; OUT-steward if not given."
)
@common.method
@click.option("--rows", type=common.WholeNumber(ROWS), help="As many as training if not given.")
@click.option("--replicates", type=common.WholeNumber(REPLICATES), default=1, show_default=True)
@click.option(
    "--holdout-share", type=float, default=0.5, show_default=True, help="Rows kept as control."
)
@common.relations
@common.group
@common.roles
@common.listed(
    "--by", "A,B", "Measure also each of their levels; those that the policy names in any case."
)
@common.measures("Beside what the policy names; all that can be taken if not given.")
@common.schema
@common.options
@click.option("--seed", type=common.WholeNumber(SEED), help="Drawn, and kept secret, if not given.")
@common.ledger
@click.option(
    "--allow-inconclusive",
    is_flag=True,
    help="Hand over even if rules are undecided; the verdict and status 3 stay.",
)
@click.option("--restart", is_flag=True, help="Give up what an earlier run left unfinished.")
@common.quiet
def command(real: Path, policy: Path, out: Path, quiet: bool, relations: str, **asked: Any) -> None:
    """Split REAL, synthesize, assess and judge; make the folder OUT if every rule is kept.

    The steward's folder beside it holds what must not be shared: real rows, model, receipt,
    single records. Stopped at any point, the same command goes on.
    """
    from understudy.workflows.release import release

    asked["options"] = common.without_relations(asked["options"], [asked["method"]], relations)
    with common.stopped(common.GOES_ON, quiet), common.progress_bar(quiet) as progress:
        decision = release(
            real,
            policy,
            out,
            progress=progress,
            tell=lambda text: common.say(f"warning: {text}", quiet=quiet),
            **asked,
        )
    if not quiet:
        common.show_assessment(decision.assessment.to_dict())
    common.say_policy(decision.outcome, quiet=quiet)
    if decision.folder is None:
        why = decision.steward / "README.md"
        common.say(f"{out} was not made; {why} says why", quiet=quiet)
    else:
        common.say(f"wrote {decision.folder}: to hand over", quiet=quiet)
    common.say(f"wrote {decision.steward}: for the steward alone, do not share it", quiet=quiet)
    click.get_current_context().exit(decision.status)
