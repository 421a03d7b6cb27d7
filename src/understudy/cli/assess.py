"""understudy assess."""

from pathlib import Path
from typing import Any

import click

from understudy.cli import common


@click.command("assess")
@click.argument("train", type=common.FILE)
@click.argument("synthetic", type=common.FILE, nargs=-1, required=True)
@click.option("--holdout", type=common.FILE, help="Fresh real rows that the generator never saw.")
@common.roles
@click.option(
    "--aligned",
    is_flag=True,
    help="Row i stands for person i (partial synthesis); files made by --replace say so.",
)
@click.option("--fit", metavar="METHOD", help="The method: some utility is measured over refits.")
@common.listed("--by", "A,B", "Measure also each of their levels alone.")
@common.measures("Names, prefixes or all.")
@common.schema
@common.options
@common.seed
@common.as_json
@click.option("--csv", "csv_file", type=common.FILE, help="Write the findings as CSV.")
@common.html
@click.option(
    "--steward-html", type=common.FILE, help="The report with single records; for the steward."
)
@click.option(
    "--register", type=common.FILE, help="Write single records at risk; for the steward alone."
)
@click.option(
    "--receipt", type=common.FILE, help="Write what understudy verify needs; for the steward."
)
@click.option(
    "--calibration", type=common.FILE, help="Show what each measure would notice; see calibrate."
)
@click.option("--policy", type=common.FILE, help="Rules; status 1 if one fails, 3 if undecided.")
@click.option("--junit", type=common.FILE, help="Write the verdicts of the policy as JUnit XML.")
@common.quiet
def command(
    train: Path,
    synthetic: tuple[Path, ...],
    schema: Path | None,
    json_file: Path | None,
    csv_file: Path | None,
    html: Path | None,
    steward_html: Path | None,
    register: Path | None,
    receipt: Path | None,
    policy: Path | None,
    junit: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Say how faithful SYNTHETIC is to TRAIN and what it discloses.

    Several SYNTHETIC files are replicates of one release.
    """
    from understudy.data.tables import Table, without_formulas
    from understudy.errors import OptionError
    from understudy.measures import MEASURES
    from understudy.workflows import policy as policies
    from understudy.workflows import verify as receipts
    from understudy.workflows.assess import assess

    holdout = asked["holdout"]
    if csv_file is not None and csv_file.suffix.lower() != ".csv":
        raise OptionError(f"--csv {csv_file}: findings are written as CSV", hint="name it .csv")
    common.check_outputs(
        [csv_file, html, steward_html, receipt, junit],
        [train, *synthetic, holdout, schema, policy, asked["calibration"]],
        json_file=json_file,
        register=register,
    )
    if junit is not None and policy is None:
        raise click.UsageError("--junit is about the verdicts of a policy: give --policy too.")
    rules = None if policy is None else policies.read(policy, MEASURES)
    real = Table.of(train, schema, name="training table")
    with common.progress_bar(quiet) as progress:
        result = assess(real, list(synthetic), policy=rules, progress=progress, **asked)
    if junit is not None:
        common.write_text(policies.to_junit(result.verdicts), junit)
    if csv_file is not None:
        common.write_text(without_formulas(result.to_frame()).write_csv(), csv_file)
        common.say(f"wrote {csv_file}", quiet=quiet)
    common.write_html(result, html, quiet)
    common.write_html(result, steward_html, quiet, steward=True)
    if receipt is not None:
        text = None if rules is None else rules.text
        made = receipts.of(result, train, synthetic, holdout, schema=real.schema, policy=text)
        made.write(receipt)
        common.say(f"wrote {receipt} (key and paths: do not share it)", quiet=quiet)
    common.write_register(result, register, quiet)
    common.put_out(result.to_dict(), json_file, quiet, common.show_assessment)
    if rules is not None:
        outcome = policies.worst(verdict["outcome"] for verdict in result.verdicts)
        common.say_policy(outcome, quiet=quiet, json_file=json_file)
        click.get_current_context().exit(policies.EXIT[outcome])
