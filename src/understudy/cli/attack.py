"""understudy attack."""

import sys
from pathlib import Path

import click

from understudy.cli import common

GAMES = ("worlds", "membership", "audit")


@click.command("attack")
@click.argument("game", type=click.Choice(GAMES))
@click.argument("train", type=common.FILE)
@click.option("--method", metavar="NAME", help="One of ours: see understudy methods.")
@click.option(
    "--command",
    "program",
    metavar="'… {train} … {out} …'",
    help="Any program that reads {train} and writes {out}; {rows} and {seed} if it can.",
)
@click.option("--release", type=common.FILE, multiple=True, help="What was released; repeatable.")
@click.option("--record", type=click.IntRange(min=1), help="The row attacked, from 1; else chosen.")
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True,
    help="Seconds for refits.",
)  # fmt: skip
@click.option("--refits", type=click.IntRange(min=1), help="The most refits.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; all cores if not given.")
@click.option(
    "--limit", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
    help="Seconds after which a single refit is given up.",
)  # fmt: skip
@click.option("--journal", type=common.FILE, help="A file to go on from; for its owner alone.")
@common.schema
@common.options
@common.seed
@common.as_json
@click.option("--html", type=common.FILE, help="Write the report as one HTML file.")
@click.option(
    "--register", type=common.FILE, help="Write the record attacked; for the steward alone."
)
@common.quiet
def command(
    game: str,
    train: Path,
    method: str | None,
    program: str | None,
    release: tuple[Path, ...],
    record: int | None,
    budget: float,
    refits: int | None,
    workers: int | None,
    limit: float,
    journal: Path | None,
    schema: Path | None,
    options: tuple[str, ...],
    seed: int,
    json_file: Path | None,
    html: Path | None,
    register: Path | None,
    quiet: bool,
) -> None:
    """Play a GAME against the generator that learnt TRAIN.

    worlds: which value had the last record? membership: was a record in the data? audit: how
    much epsilon does it spend at least? The exit status is 2 if there is no answer.
    """
    from understudy.data.tables import format_of, without_formulas, write_file
    from understudy.errors import DataError
    from understudy.synthesizers.generators import Ours
    from understudy.workflows.assessment import cards
    from understudy.workflows.attack import attack

    common.check_outputs([html, register, journal], [train, *release, schema], json_file=json_file)
    if register is not None:
        format_of(register)
    if (method is None) == (program is None):
        raise click.UsageError("Name the generator: either --method or --command.")
    given = common.parse_options(options)
    own = given.pop(f"attack.{game}", {})
    if record is not None:
        own["record"] = record
    name = "command" if method is None else method
    common.only(given, name)
    chosen = {**given.get(name, {}), **({} if program is None else {"command": program})}
    errors: list[str] = []
    with common.stopped(common.goes_on(journal), quiet), common.progress_bar(quiet) as progress:
        result = attack(
            game,
            train,
            Ours(name, chosen),
            release=list(release),
            schema=schema,
            seed=seed,
            budget=budget,
            refits=refits,
            workers=workers,
            limit=limit,
            journal=journal,
            options=own,
            progress=progress,
            tell=errors.append,
        )
    if errors:
        # on the steward's screen alone: a generator may quote the rows that it was given
        common.say(f"refits that failed: {len(errors):,}; the first: {errors[0]}")
    data = result.to_dict()
    if json_file is not None:
        common.write_json(data, json_file)
    if html is not None:
        result.to_html(html, title=f"Attack: {game}")
        common.say(f"wrote {html}", quiet=quiet)
    if register is not None:
        write_file(without_formulas(result.register()), register, for_owner=True)
        common.say(f"wrote {register} (single records: do not share it)", quiet=quiet)
    if str(json_file) != "-" and not quiet:
        from understudy.report import console

        console.show(data, cards(), file=sys.stdout)
    (finding,) = result
    if finding.status == "failed":
        raise DataError(
            f"the attack failed: {finding.note}", hint="no answer says nothing of the risk"
        )
