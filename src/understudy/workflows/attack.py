"""attack(): play a game against a generator and keep what was found."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from understudy.attacks import ATTACKS
from understudy.attacks.refits import BUDGET, AttackSetting, Refits, unheard
from understudy.data.relations import with_relations
from understudy.data.schema import Schema
from understudy.data.source import source_of
from understudy.data.tables import Table, warn_left_out
from understudy.errors import OptionError, near
from understudy.jobs.progress import ProgressOrBar, reporter, shows_progress, silent
from understudy.jobs.runner import MOST_SECONDS
from understudy.options import Seconds, Seed, Workers, check, check_arguments
from understudy.synthesizers.generators import NamedGenerator
from understudy.synthesizers.generators import generator as as_generator
from understudy.workflows.assessment import Assessment
from understudy.workflows.provenance import versions


@shows_progress
def attack(
    game: Annotated[str, "give the name of an attack: worlds, membership or audit"],
    train: Any,
    generator: Any,
    *,
    release: Any = (),
    schema: Schema | str | Path | None = None,
    seed: Seed = 0,
    budget: Seconds = BUDGET,
    refits: Refits = None,
    workers: Workers = None,
    limit: Seconds = MOST_SECONDS,
    journal: str | Path | None = None,
    version: str = "",
    options: Mapping[str, Any] | None = None,
    progress: ProgressOrBar = silent,
    tell: Callable[[str], None] = unheard,
) -> Assessment:
    """Say what could be learnt from a generator by someone who can run it.

    Parameters
    ----------
    game : {"worlds", "membership", "audit"}
    train : path or frame
        The real table.
    generator : name of a method, Synthesizer or function
        A function is ``fit(table) -> sample(n)``; one that takes a ``seed`` can be repeated.
    release : path, frame or list of them, optional
        What was released; without it the attack makes a release of its own.
    budget, refits : numbers, optional
        Seconds for refits, and the most refits.
    workers : int, optional
        Processes; as many as there are cores if not given.
    limit : float
        Seconds after which a single refit is given up.
    journal : path, optional
        A file to go on from when the attack was stopped. It is for its owner alone, and of this
        table, generator, options and version of the program: another is refused.
    version : str, optional
        What tells the generator from others in a journal, in place of its code and state; change it
        whenever the generator changes. Needed where these cannot be told: an open file, a database.
    options : mapping, optional
        Options of the attack: ``{"record": 17}``.
    progress : True or callable, optional
        True shows a bar; a function is called with (label, done, total).
    tell : callable, optional
        Is given the generator's own words about every refit that failed. They may quote a person's
        values: the finding, which may be shared, says only of what kind the error was.

    Examples
    --------
    >>> attack("chess", None, "cart")
    Traceback (most recent call last):
    understudy.errors.OptionError: there is no attack 'chess'
    hint: ...
    """
    check_arguments(attack, locals())
    name = game if game.startswith("attack.") else f"attack.{game}"
    if name not in ATTACKS:
        raise OptionError(f"there is no attack '{game}'", hint=near(game, ATTACKS))
    check(name, ATTACKS[name], options or {})
    given = () if release is None else release
    real = with_relations(Table.of(train, schema, name="training table").with_rows())
    warn_left_out(real, train, schema)
    released = tuple(
        Table.of(table, real.schema, name="release").with_rows()
        for table in (given if isinstance(given, list | tuple) else [given])
    )
    made_by = as_generator(generator, like=train, version=version)
    if journal is not None:
        _ = made_by.identity  # before any work is done, and before it changes by being used
    setting = AttackSetting(
        made_by,
        real,
        released,
        seed=seed,
        budget=budget,
        refits=refits,
        workers=workers,
        limit=limit,
        journal=None if journal is None else Path(journal),
        progress=reporter(progress),
        tell=tell,
    )
    start = time.perf_counter()
    with setting:
        found = ATTACKS[name](setting, **(options or {}))
    key = secrets.token_bytes(32)
    told = {
        **versions(),
        "seed": seed,
        "options": {name: _shareable(options or {})},
        "generator": setting.generator.name,
        "generator_options": _generator_options(setting.generator),
        "train": _described(real, key),
        "release": [_described(table, key) for table in released],
        "seconds": {name: round(time.perf_counter() - start, 3)},
        "warnings": [],
        "notes": [],
    }
    return Assessment((found,), told, key=key).with_frames_like(train)


def _generator_options(generator: Any) -> dict[str, Any]:
    """Give the options of a method of ours; of a program only its name: the rest may be secret."""
    options = generator.options if isinstance(generator, NamedGenerator) else {}
    told = {name: value for name, value in options.items() if name != "environment"}
    return {**told, **({"command": generator.name} if "command" in told else {})}


def _shareable(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options without the row that they name: it is a person."""
    return {k: "named" if k == "record" else v for k, v in options.items()}


def _described(table: Table, key: bytes) -> dict[str, Any]:
    return {
        "rows": table.height,
        "columns": len(table.schema),
        "hash": source_of(table).digest(key),
    }


__all__: Sequence[str] = ["attack"]
