"""understudy attack."""

from pathlib import Path
from typing import Any

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
@common.seconds("--budget", 300.0, "Seconds for refits.")
@click.option("--refits", type=click.IntRange(min=1), help="The most refits.")
@common.workers
@common.seconds("--limit", 600.0, "Seconds after which a single refit is given up.")
@common.journal
@common.schema
@common.options
@common.seed
@common.as_json
@common.html
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
    journal: Path | None,
    schema: Path | None,
    options: dict[str, dict[str, Any]],
    json_file: Path | None,
    html: Path | None,
    register: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Play a GAME against the generator that learnt TRAIN.

    worlds: which value had the last record? membership: was a record in the data? audit: how
    much epsilon does it spend at least? The exit status is 2 if there is no answer.
    """
    from understudy.errors import DataError
    from understudy.synthesizers.generators import NamedGenerator
    from understudy.workflows.attack import attack

    common.check_outputs(
        [html, journal], [train, *release, schema], json_file=json_file, register=register
    )
    if (method is None) == (program is None):
        raise click.UsageError("Name the generator: either --method or --command.")
    own = options.pop(f"attack.{game}", {})
    if record is not None:
        own["record"] = record
    name = "command" if method is None else method
    common.only(options, name)
    chosen = {**options.get(name, {}), **({} if program is None else {"command": program})}
    errors: list[str] = []
    with common.stopped(common.goes_on(journal), quiet), common.progress_bar(quiet) as progress:
        result = attack(
            game,
            train,
            NamedGenerator(name, chosen),
            release=list(release),
            schema=schema,
            journal=journal,
            options=own,
            progress=progress,
            tell=errors.append,
            **asked,
        )
    if errors:
        # on the steward's screen alone: a generator may quote the rows that it was given
        common.say(f"refits that failed: {len(errors):,}; the first: {errors[0]}")
    common.write_html(result, html, quiet, title=f"Attack: {game}")
    common.write_register(result, register, quiet)
    common.put_out(result.to_dict(), json_file, quiet, common.show_assessment)
    (finding,) = result
    if finding.status == "failed":
        raise DataError(
            f"the attack failed: {finding.note}", hint="no answer says nothing of the risk"
        )
