"""The journal of a calibration: its runs, and where its schedule stood."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from understudy.attacks.journal import Journal
from understudy.data.schema import dumps
from understudy.documents import loads_json
from understudy.jobs.fingerprint import fingerprint
from understudy.workflows.calibrate.cell import Bench, Cell
from understudy.workflows.calibrate.planting import KINDS
from understudy.workflows.calibrate.schedule import Schedule


def open_journal(path: Path, bench: Bench, told: Mapping[str, Any]) -> Journal:
    """Read a journal of the same runs, or begin one.

    ``told`` is what the bench does not hold: seed, method and its options. The method's output is
    part of the bench: one that gives another table each time cannot go on.
    """
    ground = bench.ground
    asked = bench.keys, bench.sensitive, bench.options, told, dumps(ground.schema)
    return Journal.open(path, fingerprint(*asked, ground.real, ground.release), "calibration")


def go_on(schedule: Schedule, journal: Journal) -> float:
    """Take in the runs of a journal, in the order in which they ended; give the seconds spent.

    Each counts with the seconds that it took then, so that the schedule is where it was.
    """
    spent = 0.0
    for name, entry in journal.known.items():
        if not _is_run(entry, schedule):
            raise journal.wrong(entry["line"], "is no run of this calibration")
        cell = Cell(entry["kind"], entry["count"], entry["seed"], tuple(entry["measures"]))
        schedule.done_before(cell)
        schedule.take_in(cell, journal.found(name), entry["said"])
        spent = float(entry["spent"])
    return spent


def _is_run(entry: Mapping[str, Any], schedule: Schedule) -> bool:
    """Whether an entry is what a run of this schedule leaves: form, names, ranges."""
    kind, count, seed = entry.get("kind"), entry.get("count"), entry.get("seed")
    measures, said, spent = entry.get("measures"), entry.get("said"), entry.get("spent")
    if not (
        kind in KINDS
        and type(count) is int
        and (count == 0 or count in schedule.counts)
        and type(seed) is int
        and seed >= 0
        and isinstance(measures, list)
        and all(isinstance(name, str) for name in measures)
        and isinstance(said, str)
        and isinstance(spent, int | float)
        and spent >= 0
    ):
        return False
    names, numbers = schedule.measures, entry["numbers"]
    if numbers.shape != (len(set(measures)), 2) or not set(measures) <= names:
        return False
    alarms, seconds = numbers.T
    try:
        notes = loads_json(said)
    except ValueError:
        return False
    return (
        entry["task"] == f"{kind} {count} #{seed}"
        and len(set(measures)) == len(measures)
        and bool(np.isin(alarms[~np.isnan(alarms)], (0, 1)).all())
        and bool((np.isfinite(seconds) & (seconds >= 0)).all())
        and isinstance(notes, dict)
        and all(name in measures and _is_note(note) for name, note in notes.items())
    )


def _is_note(note: Any) -> bool:
    return isinstance(note, list) and [type(part) for part in note] == [str, str]


def write_down(journal: Journal, cell: Cell, numbers: Any, said: str, spent: float) -> None:
    """Keep a run, and the seconds spent until it ended; one that failed is tried again."""
    error = said if numbers is None else ""
    journal.add(cell.name, numbers, error, **asdict(cell), said=said, spent=spent)
