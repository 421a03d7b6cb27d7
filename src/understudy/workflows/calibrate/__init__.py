"""Plant leaks of known size in real data, and say which of them each measure would notice."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.progress import Progress, reporter, shows_progress, silent
from understudy.judging.comparison import stream
from understudy.measures import MEASURES, choose
from understudy.options import MOST_WORKERS, check_number
from understudy.synthesizers.generators import Ours
from understudy.workflows.advisor import AUTO
from understudy.workflows.calibrate import asked
from understudy.workflows.calibrate.cell import Bench
from understudy.workflows.calibrate.planting import KINDS, Ground
from understudy.workflows.calibrate.playing import play
from understudy.workflows.calibrate.result import Calibration, summary
from understudy.workflows.calibrate.resuming import go_on, open_journal
from understudy.workflows.calibrate.schedule import Schedule
from understudy.workflows.provenance import versions, warn_left_out

__all__ = ["KINDS", "Calibration", "calibrate"]

BUDGET = 480.0
ROWS = 15_000
FEW = 20
UNALIGNED = (
    "Released rows are drawn at random here: none stands for a person, so none can be matched."
)


@shows_progress
def calibrate(
    real: Any,
    *,
    method: str | None = None,
    keys: Sequence[str] | str = AUTO,
    sensitive: Sequence[str] | str = AUTO,
    measures: Iterable[str] = ("privacy",),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    budget: float = BUDGET,
    rows: int = ROWS,
    workers: int | None = None,
    schema: Any = None,
    seed: int = 0,
    journal: str | Path | None = None,
    progress: Progress | bool = silent,
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
    if not budget > 0:
        raise OptionError(f"budget = {budget:g}", hint="give a number of seconds above 0")
    if workers is not None:
        check_number("workers", workers, 1, MOST_WORKERS)
    chosen = list(choose(measures))
    for name in chosen:
        if not name.startswith("privacy."):
            raise OptionError(f"{name} is no privacy measure", hint="leaks are planted for those")
    given, made_by = asked.sorted_out(options or {}, method)
    progress = reporter(progress)
    table = Table.of(real, schema, name="real table").with_rows()
    warn_left_out(table, real, schema)
    known, learnt, notes = asked.roles(table, keys, sensitive)
    frame, few = _capped(table, rows, seed)
    notes += few
    used = {name: {**asked.fewer(name), **given.get(name, {})} for name in chosen}
    ground = _ground(frame, table.schema, method, made_by, seed, progress)
    bench = Bench(ground, known, learnt, used)
    schedule = Schedule(chosen, ground.rows, seed)
    for name in chosen:
        if "aligned" in MEASURES[name].card.needs:
            schedule.failed(name, "not_applicable", UNALIGNED)
    many = workers or os.cpu_count() or 1
    kept = None
    if journal is not None:
        told = {"seed": seed, "method": method, "options": made_by}
        kept = open_journal(Path(journal), bench, told)
        began -= go_on(schedule, kept)
        if kept.known:
            notes.append(f"{len(kept.known):,} tables stood in the journal of an earlier go.")
    _ = ground.apart, ground.alone  # once, before the processes are given the rows
    try:
        play(
            bench,
            schedule,
            start=began,
            budget=budget,
            workers=many,
            progress=progress,
            journal=kept,
        )
    finally:
        if kept is not None:
            kept.close()
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


def _short(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say that the time was short; refuse to give a calibration in which nothing was looked at."""
    good = [told for told in found.values() if told["status"] == "ok"]
    if not good:
        name, told = next(iter(found.items()))
        raise DataError(
            f"no measure could look at this table; {name}: {told['note']}",
            hint="understudy measures says what each needs, such as keys",
        )
    few = sum(told["false_alarms"]["runs"] < FEW for told in good)
    if not few:
        return []
    return [
        f"{few} of {len(good)} measures have fewer than {FEW} runs without a leak: more time "
        "(--budget) or fewer measures would tell more."
    ]


def _capped(table: Table, rows: int, seed: int) -> tuple[pl.DataFrame, list[str]]:
    """Keep so many rows, drawn at random, and say so."""
    if rows < 1:
        raise OptionError(f"rows = {rows}", hint="use at least a few hundred")
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
) -> Ground:
    """Give the rows to be split; with a method, its output for half of them."""
    if method is None:
        return Ground(frame, schema)
    half = frame.height // 2
    order = stream(seed, "calibration", "halves").permutation(frame.height)[: 2 * half]
    progress(f"fitting {method}", 0, 1)
    made = Ours(method, options)(Table(frame[order[:half]], schema), half, 1, seed)[0]
    release = Table.of(made, schema, name=f"the table made by {method}").frame
    return Ground(frame[order], schema, release.select(frame.columns))
