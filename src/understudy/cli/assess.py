"""understudy assess."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from understudy.cli import common


@click.command("assess")
@click.argument("train", type=common.FILE)
@click.argument("synthetic", type=common.FILE, nargs=-1, required=True)
@click.option("--holdout", type=common.FILE, help="Fresh real rows that the generator never saw.")
@click.option("--keys", callback=common.names, metavar="A,B", help=common.KEYS)
@click.option("--sensitive", callback=common.names, metavar="C,D", help=common.SENSITIVE)
@click.option("--target", metavar="COLUMN", help="What is to be predicted.")
@click.option("--formula", multiple=True, metavar="Y ~ X", help=common.FORMULA)
@click.option(
    "--aligned",
    is_flag=True,
    help="Row i stands for person i (partial synthesis); files made by --replace say so.",
)
@click.option("--fit", metavar="METHOD", help="The method: some utility is measured over refits.")
@click.option(
    "--by", callback=common.names, metavar="A,B", help="Measure also each of their levels alone."
)
@click.option("--measures", callback=common.names, metavar="NAME,…", help="Names, prefixes or all.")
@common.schema
@common.options
@common.seed
@common.as_json
@click.option("--csv", "csv_file", type=common.FILE, help="Write the findings as CSV.")
@click.option("--html", type=common.FILE, help="Write the report as one HTML file.")
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
    holdout: Path | None,
    keys: tuple[str, ...],
    sensitive: tuple[str, ...],
    target: str | None,
    formula: tuple[str, ...],
    aligned: bool,
    fit: str | None,
    by: tuple[str, ...],
    measures: tuple[str, ...],
    schema: Path | None,
    options: tuple[str, ...],
    seed: int,
    json_file: Path | None,
    csv_file: Path | None,
    html: Path | None,
    steward_html: Path | None,
    register: Path | None,
    receipt: Path | None,
    calibration: Path | None,
    policy: Path | None,
    junit: Path | None,
    quiet: bool,
) -> None:
    """Say how faithful SYNTHETIC is to TRAIN and what it discloses.

    Several SYNTHETIC files are replicates of one release.
    """
    import dataclasses

    from understudy.data.tables import Table, format_of, without_formulas, write_file
    from understudy.measures import MEASURES
    from understudy.workflows import policy as policies
    from understudy.workflows import verify as receipts
    from understudy.workflows.assess import assess
    from understudy.workflows.assessment import cards

    common.check_outputs(
        [csv_file, html, steward_html, register, receipt, junit],
        [train, *synthetic, holdout, schema, policy, calibration],
        json_file=json_file,
    )
    if junit is not None and policy is None:
        raise click.UsageError("--junit is about the verdicts of a policy: give --policy too.")
    text = None if policy is None else policies.text_of(policy)
    rules = None if text is None else policies.loads(text, name=str(policy), measures=MEASURES)
    wanted: Sequence[str] | None = measures or None
    if rules is not None:
        given = {"keys": keys, "sensitive": sensitive, "target": target, "formula": formula}
        wanted = policies.chosen_measures(wanted, rules, **given)
        by = tuple(policies.level_columns(by, rules))
    if register is not None:
        format_of(register)
    real = Table.of(train, schema, name="training table")
    with common.progress_bar(quiet) as progress:
        result = assess(
            real,
            list(synthetic),
            holdout=holdout,
            keys=keys,
            sensitive=sensitive,
            target=target,
            formula=formula,
            aligned=aligned,
            fit=fit,
            by=by,
            measures=wanted,
            options=common.parse_options(options),
            calibration=calibration,
            seed=seed,
            progress=progress,
        )
    verdicts = (
        [] if rules is None else rules.judge((f.to_dict() for f in result), result.provenance)
    )
    result = dataclasses.replace(result, verdicts=tuple(v.to_dict() for v in verdicts))
    data = result.to_dict()
    if junit is not None:
        common.write_text(policies.to_junit(verdicts), junit)
    if json_file is not None:
        common.write_json(data, json_file)
    if csv_file is not None:
        common.write_text(without_formulas(result.to_frame()).write_csv(), csv_file)
        common.say(f"wrote {csv_file}", quiet=quiet)
    if html is not None:
        result.to_html(html)
        common.say(f"wrote {html}", quiet=quiet)
    if steward_html is not None:
        result.to_html(steward_html, steward=True)
        common.say(f"wrote {steward_html} (single records: do not share it)", quiet=quiet)
    if receipt is not None:
        made = receipts.of(result, train, synthetic, holdout, schema=real.schema, policy=text)
        made.write(receipt)
        common.say(f"wrote {receipt} (key and paths: do not share it)", quiet=quiet)
    if register is not None:
        write_file(without_formulas(result.register()), register, for_owner=True)
        common.say(f"wrote {register} (single records: do not share it)", quiet=quiet)
    if str(json_file) != "-" and not quiet:
        from understudy.report import console

        console.show(data, cards(), file=sys.stdout)
    if rules is not None:
        outcome = policies.worst(verdict.outcome for verdict in verdicts)
        passed = outcome == "PASS"
        common.say_verdict(f"policy: {outcome}", passed=passed, quiet=quiet, json_file=json_file)
        click.get_current_context().exit(policies.EXIT[outcome])
