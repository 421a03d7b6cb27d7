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
@click.option("--journal", type=common.FILE, help="A file to go on from; for its owner alone.")
@common.schema
@common.options
@common.seed
@common.as_json
@click.option("--html", type=common.FILE, help="Write the report as one HTML file.")
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
    journal: Path | None,
    schema: Path | None,
    options: tuple[str, ...],
    seed: int,
    json_file: Path | None,
    html: Path | None,
    quiet: bool,
) -> None:
    """Play a GAME against the generator that learnt TRAIN.

    worlds: which value had the last record? membership: was a record in the data? audit: how
    much epsilon does it spend at least?
    """
    from understudy.assessment import cards
    from understudy.attacking import attack
    from understudy.generators import Ours

    common.check_outputs([html], [train, *release, schema], json_file=json_file)
    common.check_outputs([journal], [train, *release, schema])
    if (method is None) == (program is None):
        raise click.UsageError("Name the generator: either --method or --command.")
    given = common.parse_options(options)
    own = given.pop(f"attack.{game}", {})
    if record is not None:
        own["record"] = record
    name = "command" if method is None else method
    common.only(given, name)
    chosen = {**given.get(name, {}), **({} if program is None else {"command": program})}
    with common.progress_bar(quiet) as progress:
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
            journal=journal,
            options=own,
            progress=progress,
        )
    data = result.to_dict()
    if json_file is not None:
        common.write_json(data, json_file)
    if html is not None:
        result.to_html(html, title=f"Attack: {game}")
        common.say(f"wrote {html}", quiet=quiet)
    if str(json_file) != "-" and not quiet:
        from understudy.report import console

        console.show(data, cards(), file=sys.stdout)
