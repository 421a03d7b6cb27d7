"""Plant leaks of known size in real data, and say which of them each measure would notice."""

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from understudy.advisor import AUTO, advise, as_names, resolve
from understudy.calibration.cell import Bench
from understudy.calibration.planting import KINDS, Ground
from understudy.calibration.playing import play
from understudy.calibration.result import Calibration, summary
from understudy.calibration.schedule import Schedule
from understudy.comparison import Progress, silent, stream
from understudy.errors import OptionError
from understudy.generators import Ours
from understudy.measures import MEASURES, choose
from understudy.provenance import versions
from understudy.running import check_options, options_of
from understudy.schema import Schema, near
from understudy.synthesizers import SYNTHESIZERS
from understudy.tables import Table

__all__ = ["KINDS", "Calibration", "calibrate"]

BUDGET = 480.0
ROWS = 15_000
PERMUTATIONS = 199
MOST_SENSITIVE = 3


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
    progress: Progress = silent,
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
    progress : callable, optional
        Called with (label, done, total).

    Returns
    -------
    Calibration
        How many runs there are depends on the machine; each is drawn from its own stream.
    """
    began = time.monotonic()
    if not budget > 0:
        raise OptionError(f"budget = {budget:g}", hint="give a number of seconds above 0")
    chosen = choose(measures)
    for name in chosen:
        if not name.startswith("privacy."):
            raise OptionError(f"{name} is no privacy measure", hint="leaks are planted for those")
    given, made_by = _sorted_out(options or {}, method)
    table = Table.of(real, schema, name="real table").with_rows()
    known, learnt, notes = _roles(table, keys, sensitive)
    frame, kept = _capped(table, rows, seed)
    notes += kept
    used = {name: {**_fewer(name), **given.get(name, {})} for name in chosen}
    ground = _ground(frame, table.schema, method, made_by, seed, progress)
    bench = Bench(ground, known, learnt, used)
    schedule = Schedule(chosen, ground.rows, seed)
    many = workers or os.cpu_count() or 1
    _ = ground.apart, ground.alone  # once, before the processes are given the rows
    play(bench, schedule, start=began, budget=budget, workers=many, progress=progress)
    progress("done", 1, 1)
    return Calibration(
        summary(schedule),
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
    check_options(own)
    try:
        json.dumps(dict(options), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"an option is no plain value: {error}", hint="use numbers, texts and lists of them"
        ) from error
    return own, options.get(method, {}) if method else {}


def _fewer(measure: str) -> dict[str, int]:
    """Permute labels less often: the level of the test stays what it is."""
    option = options_of(MEASURES[measure]).get("permutations")
    return {"permutations": PERMUTATIONS} if option and option.default > PERMUTATIONS else {}


def _roles(
    table: Table, keys: Sequence[str] | str, sensitive: Sequence[str] | str
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Find keys and sensitive columns; say which were proposed."""
    given = {"keys": as_names(keys), "sensitive": as_names(sensitive)}
    asked = [r for r, named in given.items() if named == (AUTO,) and AUTO not in table.schema]
    said = []
    if asked:
        declared = () if "sensitive" in asked else given["sensitive"]
        found = advise(table, sensitive=declared)
        for role in asked:
            other = given["keys" if role == "sensitive" else "sensitive"]
            proposed = [name for name in getattr(found, role) if name not in other]
            given[role] = tuple(proposed if role == "keys" else proposed[:MOST_SENSITIVE])
            few = len(proposed) - len(given[role])
            more = f" ({few} more are proposed and were left out)" if few else ""
            said.append(f"{role} = auto: {', '.join(given[role]) or 'none'}{more}.")
    known, learnt, notes = resolve(table, given["keys"], given["sensitive"])
    return known, learnt, [*said, *notes]


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
