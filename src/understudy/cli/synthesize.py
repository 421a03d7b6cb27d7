"""understudy synthesize."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.cli import common
from understudy.errors import OptionError, UnderstudyError
from understudy.options import REPLICATES, ROWS_OR_NONE, SEED

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
GIVEN = "write --given A=VALUE, such as sex=F"
MARGIN = "write such as sex=F:0.5,M:0.5"


@click.command("synthesize")
@click.argument("train", type=common.FILE, required=False)
@click.option("--out", type=common.FILE, required=True, help="The synthetic table.")
@click.option(
    "--method",
    metavar="NAME",
    help=f"See understudy methods; {common.DEFAULT_METHOD} if not given.",
)
@click.option(
    "--rows", type=common.WholeNumber(ROWS_OR_NONE), help="As many as training if not given."
)
@click.option("--replicates", type=common.WholeNumber(REPLICATES), default=1, show_default=True)
@click.option(
    "--given", multiple=True, metavar="A=VALUE", help="Only rows with this value; A= is missing."
)
@click.option(
    "--margin", multiple=True, metavar="A=VALUE:SHARE,…", help="Rows in these shares, sex=F:0.5."
)
@click.option(
    "--constraint", multiple=True, metavar="EXPR", help="What every row meets, 'start <= end'."
)
@common.relations
@common.listed("--replace", "A,B", "Draw only these columns, in order.")
@common.listed("--keep", "A,B", "Draw all columns but these.")
@click.option("--replace-where", metavar="EXPR", help="Only for records that meet a condition.")
@click.option("--train-on", type=common.FILE, help="Learn what is replaced from other records.")
@click.option("--epsilon", type=float, help="Spend this much of differential privacy.")
@common.ledger
@click.option("--save", type=common.FILE, help="Write the fitted model.")
@click.option("--from", "model", type=common.FILE, help="Sample from a saved model; no real data.")
@common.schema
@common.options
@click.option(
    "--seed",
    type=common.WholeNumber(SEED),
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
    relations: str,
    replace: tuple[str, ...],
    keep: tuple[str, ...],
    replace_where: str | None,
    train_on: Path | None,
    epsilon: float | None,
    ledger: Path | None,
    save: Path | None,
    model: Path | None,
    schema: Path | None,
    options: dict[str, dict[str, Any]],
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
    if model is not None and (method or options or schema or constraint or relations == "off"):
        raise click.UsageError(
            "--from takes method, options, schema, relations, constraints from the model."
        )
    if model is not None and (epsilon is not None or ledger is not None):
        raise click.UsageError("--from spends nothing: its epsilon was spent when it was fitted.")
    whole = {
        "--from": model,
        "--rows": rows,
        "--given": given,
        "--margin": margin,
        "--save": save,
        "--ledger": ledger,
    }
    if replace or keep:
        _check_partial(replace, keep, whole)
    elif replace_where or train_on:
        option = "--replace-where" if replace_where else "--train-on"
        raise OptionError(
            f"{option} is given, but no column to replace", hint="add --replace A,B or --keep A,B"
        )
    check_writable(out)
    outputs, note = replicate_paths(out, replicates), note_for(out)
    common.check_outputs([*outputs, note, save, ledger], [train, model, schema, train_on])
    common.check_outputs([*outputs, note, save], [ledger])
    conditions = {"given": given_values(given), "margins": margin_shares(margin)}
    if epsilon is not None:
        options = _with_epsilon(options, method, epsilon, partial=bool(replace or keep))
    with common.progress_bar(quiet) as progress:
        learnt: dict[str, Any] = {"seed": seed, "progress": progress}
        learnt |= {"method": method, "options": options, "constraints": constraint}
        learnt["relations"] = relations == "on"
        if model is not None:
            release = _from_model(model, rows, conditions, seed, progress)
        elif replace or keep:
            partly: dict[str, Any] = {"replace": replace, "keep": keep, "where": replace_where}
            release = _partial(train, schema, train_on=train_on, **partly, **learnt)
        else:
            release = _full(
                train,
                schema,
                rows,
                conditions,
                ledger=ledger,
                saves=save is not None,
                tell=lambda text: common.say(f"warning: {text}", quiet=quiet),
                **learnt,
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
    model: Path, rows: int | None, conditions: Any, seed: int | None, progress: common.Progress
) -> "Release":
    from understudy.synthesizers import load
    from understudy.synthesizers.handover import Release

    made = load(model)
    made.seed, made.progress = made.seed if seed is None else seed, progress
    return Release.of_rows(made, rows, **conditions)


def _full(
    train: Any,
    schema: Any,
    rows: int | None,
    conditions: Any,
    *,
    method: str | None,
    options: Any,
    ledger: Path | None,
    saves: bool,
    tell: Callable[[str], None],
    constraints: tuple[str, ...],
    **made_by: Any,
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
    made = synthesizer(name, constraints=constraints, **made_by, **own).ready()
    made.tell = tell
    if saves:
        made.check_saving()
    under_epsilon = claimed(made.method) is not None
    table = Table.of(train, schema, alone=under_epsilon)
    if under_epsilon:
        refuse_typed_by_rows(train, table.schema)
    known = with_identifiers(table, all_constraints(table.schema, constraints)).schema
    if conditions["given"] is not None:
        given_condition(conditions["given"], known)
    if conditions["margins"] is not None:
        Margins.of(conditions["margins"], known)
    made.fit(table, ledger=ledger)
    try:
        return Release.of_rows(made, rows, train=table, **conditions)
    except OptionError as error:  # TRAIN has the values, so it is the method that never shows them
        told = OptionError(f"{error.message} in what {name} makes: too rare", hint=error.hint)
        raise _still_spent(told, made) from error


def _partial(
    train: Any,
    schema: Any,
    *,
    replace: tuple[str, ...],
    keep: tuple[str, ...],
    where: str | None,
    train_on: Path | None,
    method: str | None,
    options: Any,
    constraints: tuple[str, ...],
    relations: bool,
    seed: int | None,
    progress: common.Progress,
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
        relations=relations,
        fixed=keep,
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
    if release.anew:
        common.say(f"made anew: {', '.join(release.anew)}", quiet=quiet)
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


def given_values(texts: Iterable[str]) -> dict[str, str | None] | None:
    """Read ``A=VALUE`` pairs; a comma within a value is written twice.

    Examples
    --------
    >>> given_values(["sex=F,age=30", "income="])
    {'sex': 'F', 'age': '30', 'income': None}
    """
    given: dict[str, str | None] = {}
    for text in texts:
        for part in common.parts(text):
            name, equals, value = part.partition("=")
            name = name.strip()
            if not equals or not name:
                raise OptionError(f"--given {text}", hint=GIVEN)
            if name in given:
                raise OptionError(f"--given names '{name}' twice", hint="give one value")
            given[name] = value.strip() or None
    return given or None


def margin_shares(texts: Iterable[str]) -> dict[str, dict[str | None, float]] | None:
    """Read ``A=VALUE:SHARE,VALUE:SHARE``; a comma within a value is written twice.

    Examples
    --------
    >>> margin_shares(["sex=F:0.5,M:0.5", "income=:0.1"])
    {'sex': {'F': 0.5, 'M': 0.5}, 'income': {None: 0.1}}
    """
    made: dict[str, dict[str | None, float]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"--margin {text}", hint=MARGIN)
        own = made.setdefault(name.strip(), {})
        for part in common.parts(listed):
            value, colon, share = part.rpartition(":")
            level = value.strip() or None
            try:
                number = float(share)
            except ValueError:
                number = math.nan
            if not colon or not math.isfinite(number):
                raise OptionError(f"--margin {text}: '{part}' names no share", hint=MARGIN)
            if level in own:
                raise OptionError(f"--margin {text}: '{value}' stands twice", hint="name it once")
            own[level] = number
    return made or None


def replicate_paths(out: Path, replicates: int) -> list[Path]:
    """Number the files of several replicates.

    Examples
    --------
    >>> [p.name for p in replicate_paths(Path("v1.2.csv.gz"), 2)]
    ['v1.2_1.csv.gz', 'v1.2_2.csv.gz']
    """
    if replicates == 1:
        return [out]
    extension = common.extension_of(out)
    stem = out.name[: len(out.name) - len(extension)]
    return [out.with_name(f"{stem}_{number}{extension}") for number in range(1, replicates + 1)]
