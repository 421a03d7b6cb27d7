"""understudy synthesize."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.cli import common
from understudy.cli.texts import given_values, margin_shares, replicate_paths
from understudy.errors import OptionError, UnderstudyError
from understudy.options import MOST_ROWS, check_number

if TYPE_CHECKING:
    from understudy.synthesizers import Synthesizer
    from understudy.synthesizers.handover import Release

NOT_WITH_REPLACE = {
    "--from": "a saved model makes whole rows",
    "--rows": "the records are those of TRAIN",
    "--given": "the records are those of TRAIN",
    "--margin": "the records are those of TRAIN",
    "--save": "a model of some columns makes no rows",
    "--ledger": "the columns that are kept are real values, whatever is spent on the others",
}


@click.command("synthesize")
@click.argument("train", type=common.FILE, required=False)
@click.option("--out", type=common.FILE, required=True, help="The synthetic table.")
@click.option(
    "--method",
    metavar="NAME",
    help=f"See understudy methods; {common.DEFAULT_METHOD} if not given.",
)
@click.option("--rows", type=click.IntRange(min=0), help="As many as training if not given.")
@click.option("--replicates", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--given", multiple=True, metavar="A=VALUE", help="Only rows with this value; A= is missing."
)
@click.option(
    "--margin", multiple=True, metavar="A=VALUE:SHARE,…", help="Rows in these shares, sex=F:0.5."
)
@click.option(
    "--constraint", multiple=True, metavar="EXPR", help="What every row meets, 'start <= end'."
)
@click.option(
    "--replace", callback=common.names, metavar="A,B", help="Draw only these columns, in order."
)
@click.option("--keep", callback=common.names, metavar="A,B", help="Draw all columns but these.")
@click.option("--replace-where", metavar="EXPR", help="Only for records that meet a condition.")
@click.option("--train-on", type=common.FILE, help="Learn what is replaced from other records.")
@click.option("--epsilon", type=float, help="Spend this much of differential privacy.")
@click.option("--ledger", type=common.FILE, help="Add up what is spent on the same people.")
@click.option("--save", type=common.FILE, help="Write the fitted model.")
@click.option("--from", "model", type=common.FILE, help="Sample from a saved model; no real data.")
@common.schema
@common.options
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="The model's own with --from, else 0; with --epsilon, drawn and kept from everybody.",
)
@common.quiet
def command(
    train: Path | None,
    out: Path,
    method: str | None,
    rows: int | None,
    replicates: int,
    given: tuple[str, ...],
    margin: tuple[str, ...],
    constraint: tuple[str, ...],
    replace: tuple[str, ...],
    keep: tuple[str, ...],
    replace_where: str | None,
    train_on: Path | None,
    epsilon: float | None,
    ledger: Path | None,
    save: Path | None,
    model: Path | None,
    schema: Path | None,
    options: tuple[str, ...],
    seed: int | None,
    quiet: bool,
) -> None:
    """Make a synthetic table like TRAIN, or from a saved model.

    With --replace or --keep, only some columns of TRAIN are drawn anew and its records stay in
    their order.
    """
    from understudy.data.tables import check_writable
    from understudy.synthesizers.handover import note_for

    if (train is None) == (model is None):
        raise click.UsageError("Give TRAIN or --from MODEL, one of the two.")
    if model is not None and (method or options or schema or constraint):
        raise click.UsageError("--from takes method, options, schema, constraints from the model.")
    if model is not None and (epsilon is not None or ledger is not None):
        raise click.UsageError("--from spends nothing: its epsilon was spent when it was fitted.")
    if replace or keep:
        _check_partial(
            replace,
            keep,
            {
                "--from": model,
                "--rows": rows,
                "--given": given,
                "--margin": margin,
                "--save": save,
                "--ledger": ledger,
            },
        )
    elif replace_where or train_on:
        option = "--replace-where" if replace_where else "--train-on"
        raise OptionError(
            f"{option} is given, but no column to replace", hint="add --replace A,B or --keep A,B"
        )
    check_writable(out)
    if rows is not None:
        check_number("rows", rows, 0, MOST_ROWS)
    outputs, note = replicate_paths(out, replicates), note_for(out)
    common.check_outputs([*outputs, note, save, ledger], [train, model, schema, train_on])
    common.check_outputs([*outputs, note, save], [ledger])
    asked = common.parse_options(options)
    values, shares = given_values(given), margin_shares(margin)
    if epsilon is not None:
        asked = _with_epsilon(asked, method, epsilon, partial=bool(replace or keep))
    with common.progress_bar(quiet) as progress:
        if model is not None:
            release = _from_model(model, rows, values, shares, seed, progress)
        elif replace or keep:
            release = _partial(
                train,
                schema,
                method,
                asked,
                seed,
                progress,
                replace=replace,
                keep=keep,
                where=replace_where,
                train_on=train_on,
                constraints=constraint,
            )
        else:
            release = _full(
                train,
                schema,
                method,
                asked,
                seed,
                progress,
                rows=rows,
                given=values,
                margins=shares,
                constraints=constraint,
                ledger=ledger,
                saves=save is not None,
                tell=lambda text: common.say(f"warning: {text}", quiet=quiet),
            )
        try:
            release.write(outputs, note=note, save=save)
        except UnderstudyError as error:
            if model is None:
                raise _still_spent(error, release.made) from error
            raise
    _say(release, outputs, note, save, quiet)
    if release.made.spending_ is not None:
        _say_spent(release, ledger, quiet)


def _check_partial(replace: tuple[str, ...], keep: tuple[str, ...], others: dict[str, Any]) -> None:
    if replace and keep:
        raise OptionError("--replace and --keep are both given", hint="give one of the two")
    for option, value in others.items():
        if value not in (None, ()):
            raise OptionError(
                f"{option} does not go with --replace and --keep: {NOT_WITH_REPLACE[option]}",
                hint=f"leave out {option}",
            )


def _with_epsilon(asked: Any, method: str | None, epsilon: float, *, partial: bool) -> Any:
    """Set the option epsilon of the method, if it has one."""
    from understudy.synthesizers import DEFAULT, SYNTHESIZERS
    from understudy.synthesizers.claims import can_claim

    name = DEFAULT if method is None else method
    if name in SYNTHESIZERS and not partial and not can_claim(SYNTHESIZERS[name]):
        others = [other for other, known in SYNTHESIZERS.items() if can_claim(known)]
        raise OptionError(
            f"--epsilon: the method '{name}' can claim none",
            hint=f"use --method {' or '.join(others)}",
        )
    own = asked.get(name, {})
    if "epsilon" in own:
        raise OptionError(
            f"--epsilon and -o {name}.epsilon are both given", hint="give one of the two"
        )
    return {**asked, name: {**own, "epsilon": epsilon}}


def _from_model(
    model: Path,
    rows: int | None,
    given: Any,
    margins: Any,
    seed: int | None,
    progress: common.Progress,
) -> "Release":
    from understudy.synthesizers import load
    from understudy.synthesizers.handover import Release

    made = load(model)
    made.seed, made.progress = made.seed if seed is None else seed, progress
    return Release.of_rows(made, rows, given=given, margins=margins)


def _full(
    train: Any,
    schema: Any,
    method: str | None,
    options: Any,
    seed: int | None,
    progress: common.Progress,
    *,
    rows: int | None,
    given: Any,
    margins: Any,
    constraints: tuple[str, ...],
    ledger: Path | None,
    saves: bool,
    tell: Callable[[str], None],
) -> "Release":
    from understudy.data.tables import Table
    from understudy.synthesizers import DEFAULT, synthesizer
    from understudy.synthesizers.claims import claimed, refuse_typed_by_rows
    from understudy.synthesizers.constraints import all_constraints, given_condition
    from understudy.synthesizers.drawing import Margins
    from understudy.synthesizers.handover import Release
    from understudy.synthesizers.holding import with_identifiers

    name = DEFAULT if method is None else method
    common.only(options, name)
    own = options.get(name, {})
    made = synthesizer(name, seed=seed, progress=progress, constraints=constraints, **own).ready()
    made.tell = tell
    if saves:
        made.check_saving()
    under_epsilon = claimed(made.method) is not None
    table = Table.of(train, schema, alone=under_epsilon)
    if under_epsilon:
        refuse_typed_by_rows(train, table.schema)
    known = with_identifiers(table, all_constraints(table.schema, constraints)).schema
    if given is not None:
        given_condition(given, known)
    if margins is not None:
        Margins.of(margins, known)
    made.fit(table, ledger=ledger)
    try:
        return Release.of_rows(made, rows, given=given, margins=margins, train=table)
    except OptionError as error:  # TRAIN has the values, so it is the method that never shows them
        told = OptionError(f"{error.message} in what {name} makes: too rare", hint=error.hint)
        raise _still_spent(told, made) from error


def _partial(
    train: Any,
    schema: Any,
    method: str | None,
    options: Any,
    seed: int | None,
    progress: common.Progress,
    *,
    replace: tuple[str, ...],
    keep: tuple[str, ...],
    where: str | None,
    train_on: Path | None,
    constraints: tuple[str, ...],
) -> "Release":
    from understudy.data.tables import Table
    from understudy.synthesizers.constraints import all_constraints
    from understudy.synthesizers.handover import Release
    from understudy.synthesizers.holding import with_identifiers
    from understudy.synthesizers.partial import Replacement, all_but, default_method

    name = default_method() if method is None else method
    common.only(options, name)
    table = Table.of(train, schema)
    table = with_identifiers(table, all_constraints(table.schema, constraints))
    made = Replacement.of(
        table,
        replace or all_but(keep, table.schema),
        where=where,
        train_on=train_on,
        method=name,
        seed=seed or 0,
        progress=progress,
        options=options.get(name, {}),
    )
    return Release.of_replacement(made)


def _say(
    release: "Release", outputs: list[Path], note: Path | None, save: Path | None, quiet: bool
) -> None:
    marker, card = release.marker, release.made.method.card
    what = f"{marker.rows:,} rows by {card.name}"
    if marker.replaced:
        what += f", replaced: {', '.join(marker.replaced)}"
        what += f" where {marker.where}" if marker.where else ""
    for path in outputs:
        common.say(f"wrote {path} ({what})", quiet=quiet)
    if note is not None:
        common.say(f"wrote {note}: how it was made, how to analyse it", quiet=quiet)
    if save is not None:
        common.say(f"wrote {save}, which contains {card.file}", quiet=quiet)
    for sentence in release.made.notes:
        common.say(sentence, quiet=quiet)
    for column in release.left_out:
        why = f": {column.why}" if column.why else ""
        common.say(f"left out: {column.name} ({column.kind}{why})", quiet=quiet)


def _still_spent(error: UnderstudyError, made: "Synthesizer") -> UnderstudyError:
    """Add to an error that came after a fit under epsilon what the fit has spent."""
    if made.epsilon_spent is None:
        return error
    text = f"{error.message}; the fit has spent epsilon {made.epsilon_spent:g} all the same"
    return type(error)(text, hint=error.hint)


def _say_spent(release: "Release", ledger: Path | None, quiet: bool) -> None:
    from understudy.synthesizers.budget import NEIGHBOURS

    spent, steps = release.marker.epsilon, release.made.spending_ or ()
    many = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    text = f"epsilon {spent:g} was spent in {many} (neighbours: {NEIGHBOURS})"
    common.say(text, quiet=quiet)
    if ledger is not None:
        common.say(f"{ledger}: {release.made.ledger_}", quiet=quiet)
