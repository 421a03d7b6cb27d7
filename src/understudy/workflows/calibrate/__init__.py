"""Plant leaks of known size in real data, and say which of them each measure would notice."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from understudy.data.schema import Schema, dumps
from understudy.data.source import source_of
from understudy.data.tables import Table, warn_left_out
from understudy.errors import DataError, OptionError, near
from understudy.jobs.fingerprint import fingerprint
from understudy.jobs.journal import Journal, opened
from understudy.jobs.progress import Progress, ProgressOrBar, reporter, shows_progress, silent
from understudy.jobs.runner import run
from understudy.judging.comparison import Comparison, stream
from understudy.measures import MEASURES, check_some, choose
from understudy.options import (
    MOST_ROWS,
    Between,
    OptionsByName,
    Seconds,
    Seed,
    Texts,
    Workers,
    by_name,
    check_arguments,
    check_each,
    check_plain,
    declared,
)
from understudy.synthesizers import SYNTHESIZERS
from understudy.synthesizers.generators import NamedGenerator
from understudy.workflows import advise
from understudy.workflows.advise import AUTO, as_names, resolve
from understudy.workflows.calibrate.calibration import Calibration
from understudy.workflows.calibrate.planting import LEAK_KINDS, CalibrationJob, RealRows
from understudy.workflows.calibrate.schedule import Schedule, seen_entry, summary
from understudy.workflows.provenance import versions

__all__ = ["LEAK_KINDS", "Calibration", "calibrate"]

BUDGET = 480.0
ROWS = 15_000
FEW_RUNS = 20
LONGEST, GRACE = 300.0, 60.0  # seconds for a run, and at the end of the budget
PERMUTATIONS = 199
MOST_SENSITIVE = 3
UNALIGNED = (
    "Released rows are drawn at random here: none stands for a person, so none can be matched."
)


@shows_progress
def calibrate(
    real: Any,
    *,
    method: str | None = None,
    keys: Texts = AUTO,
    sensitive: Texts = AUTO,
    measures: Texts = ("privacy",),
    options: OptionsByName = None,
    budget: Seconds = BUDGET,
    rows: Annotated[int, Between(1, MOST_ROWS)] = ROWS,
    workers: Workers = None,
    schema: Schema | str | Path | None = None,
    seed: Seed = 0,
    journal: str | Path | None = None,
    progress: ProgressOrBar = silent,
) -> Calibration:
    """Say of each privacy measure how small a leak it would notice on data like this.

    Real rows are split at random in training, control and a third that is released: a release that
    knows nothing of training. Leaks of known kind and size are planted in it, and every measure
    looks whether it raises an alarm. Each run splits and plants anew.

    Parameters
    ----------
    real : path or frame
    method : name of a method, optional
        Plant in its output instead: it is fitted once to half of the rows, and the labels
        training and control are drawn anew over both halves.
    keys, sensitive : names of columns
        As for ``assess``; "auto" is what the advisor proposes, of sensitive columns the first
        three.
    measures : names or prefixes
    options : mapping, optional
        Options by name of the measure or of the method. Measures that permute labels do so 199
        times if nothing else is said.
    budget : float
        Seconds; the last runs may go on a little. Cheap measures get more runs than costly ones.
    rows : int
        Real rows to use at most, drawn at random.
    workers : int, optional
        Processes; as many as there are cores if not given.
    schema : Schema or path, optional
    seed : int
    journal : path, optional
        A file to go on from when the calibration was stopped. It is for its owner alone.
        The budget is that of all goes together.
    progress : True or callable, optional
        True shows a bar; a function is called with (label, done, total).

    Returns
    -------
    Calibration
        How many runs there are depends on the machine; each is drawn from its own stream.
    """
    began = time.monotonic()
    check_arguments(calibrate, locals())
    chosen = list(choose(measures))
    check_some(chosen)
    for name in chosen:
        if not name.startswith("privacy."):
            raise OptionError(f"{name} is no privacy measure", hint="leaks are planted for those")
    given, made_by = _sorted_out(by_name(options), method)
    progress = reporter(progress)
    table = Table.of(real, schema, name="real table").with_rows()
    warn_left_out(table, real, schema)
    known, learnt, notes = _roles(table, keys, sensitive)
    frame, few = _capped(table, rows, seed)
    notes += few
    used = {name: {**_fewer(name), **given.get(name, {})} for name in chosen}
    ground = _ground(frame, table.schema, method, made_by, seed, progress)
    bench = CalibrationJob(ground, known, learnt, used)
    schedule = Schedule(chosen, ground.rows, seed)
    for name in chosen:
        if "aligned" in MEASURES[name].card.needs:
            schedule.failed(name, "not_applicable", UNALIGNED)
    many = workers or os.cpu_count() or 1
    # the method's output is in the ground: one that gives another table cannot go on
    decided_by = known, learnt, used, {"seed": seed, "method": method, "options": made_by}
    with opened(
        journal,
        lambda: fingerprint(*decided_by, dumps(ground.schema), ground.real, ground.release),
        "calibration",
        read=schedule.read,
        write=seen_entry,
    ) as kept:
        if kept is not None and kept.known:
            schedule.go_on(kept)
            began -= kept.spent
            notes.append(f"{len(kept.known):,} tables stood in the journal of an earlier go.")
        _ = ground.apart, ground.alone  # once, before the processes are given the rows
        play(bench, schedule, began, budget, many, progress, kept)
    progress("done", 1, 1)
    found = summary(schedule)
    notes += _short(found)
    return Calibration(
        found,
        {
            **versions(),
            "seed": seed,
            "rows": {"given": table.height, "used": frame.height, "each": ground.rows},
            "columns": {column.name: column.kind for column in table.schema},
            "keys": list(known),
            "sensitive": list(learnt),
            "method": method,
            "options": {n: dict(o) for n, o in {**used, str(method): made_by}.items() if o},
            "budget": budget,
            "seconds": round(time.monotonic() - began, 1),
            "workers": many,
            "notes": notes,
        },
    )


def play(
    bench: CalibrationJob,
    schedule: Schedule,
    start: float,
    budget: float,
    workers: int,
    progress: Progress,
    journal: Journal | None = None,
) -> None:
    """Fill a schedule; when the budget of seconds since the start is spent, finish what is needed.

    A run that takes too long, or whose process is lost, is a failure of the measures in it.
    """

    def following(is_late: bool) -> Any:
        cell = schedule.next(late=is_late)
        if cell is not None:
            leak = f"{cell.kind}, {100 * cell.count / schedule.rows:.2f} %"
            now = int(time.monotonic() - start)
            progress(leak if cell.count else "no leak", now, int(budget))
        return cell

    for outcome in run(
        bench,
        following,
        workers=workers,
        limit=LONGEST,
        start=start,
        deadline=start + budget,
        grace=GRACE,
        journal=journal,
    ):
        schedule.take_in(outcome)


def _sorted_out(
    options: Mapping[str, Mapping[str, Any]], method: str | None
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Tell options of measures from those of the method."""
    if method is not None and method not in SYNTHESIZERS:
        raise OptionError(f"there is no method '{method}'", hint=near(method, SYNTHESIZERS))
    for name in options:
        if name not in MEASURES and name != method:
            hint = near(name, [*MEASURES, *([method] if method else [])])
            raise OptionError(f"there is no measure '{name}'", hint=hint)
    own = {name: given for name, given in options.items() if name in MEASURES}
    check_each(own, MEASURES, "measure")
    check_plain(options)
    return own, options.get(method, {}) if method else {}


def _fewer(measure: str) -> dict[str, int]:
    """Permute labels less often: the level of the test stays what it is."""
    option = declared(MEASURES[measure]).get("permutations")
    return {"permutations": PERMUTATIONS} if option and option.default > PERMUTATIONS else {}


def _roles(
    table: Table, keys: Texts, sensitive: Texts
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Find keys and sensitive columns; say which were proposed."""
    given = {"keys": as_names(keys), "sensitive": as_names(sensitive)}
    asked = [r for r, named in given.items() if named == (AUTO,) and AUTO not in table.schema]
    said = []
    if asked:
        found = advise.keys(table, sensitive=() if "sensitive" in asked else given["sensitive"])
        for role in asked:
            other = given["keys" if role == "sensitive" else "sensitive"]
            proposed = [name for name in getattr(found, role) if name not in other]
            given[role] = tuple(proposed if role == "keys" else proposed[:MOST_SENSITIVE])
            few = len(proposed) - len(given[role])
            more = f" ({few} more are proposed and were left out)" if few else ""
            said.append(f"{role} = auto: {', '.join(given[role]) or 'none'}{more}.")
    known, learnt, notes = resolve(table, given["keys"], given["sensitive"])
    source = source_of(table)
    Comparison(source, (source,), keys=known, sensitive=learnt)  # refuses wrong names at once
    return known, learnt, [*said, *notes]


def _short(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say that the time was short; refuse to give a calibration in which nothing was looked at."""
    good = [told for told in found.values() if told["status"] == "ok"]
    if not good:
        name, told = next(iter(found.items()))
        raise DataError(
            f"no measure could look at this table; {name}: {told['note']}",
            hint="understudy measures says what each needs, such as keys",
        )
    few = sum(told["false_alarms"]["runs"] < FEW_RUNS for told in good)
    if not few:
        return []
    return [
        f"{few} of {len(good)} measures have fewer than {FEW_RUNS} runs without a leak: more time "
        "(--budget) or fewer measures would tell more."
    ]


def _capped(table: Table, rows: int, seed: int) -> tuple[pl.DataFrame, list[str]]:
    """Keep so many rows, drawn at random, and say so."""
    frame = table.modelled
    if frame.height <= rows:
        return frame, []
    drawn = stream(seed, "calibration", "rows").choice(frame.height, rows, replace=False)
    note = f"{rows:,} of {frame.height:,} real rows were used, drawn at random (rows = {rows})."
    return frame[np.sort(drawn)], [note]


def _ground(
    frame: pl.DataFrame,
    schema: Schema,
    method: str | None,
    options: Mapping[str, Any],
    seed: int,
    progress: Progress,
) -> RealRows:
    """Give the rows to be split; with a method, its output for half of them."""
    if method is None:
        return RealRows(frame, schema)
    half = frame.height // 2
    order = stream(seed, "calibration", "halves").permutation(frame.height)[: 2 * half]
    progress(f"fitting {method}", 0, 1)
    made = NamedGenerator(method, options)(Table(frame[order[:half]], schema), half, 1, seed)[0]
    release = Table.of(made, schema, name=f"the table made by {method}").frame
    return RealRows(frame[order], schema, release.select(frame.columns))
