"""The journal of a calibration: its runs, and where its schedule stood."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from understudy.attacks.journal import Journal, fingerprint
from understudy.calibration.cell import Bench, Cell
from understudy.calibration.schedule import Schedule
from understudy.schema import dumps


def open_journal(path: Path, bench: Bench, told: Mapping[str, Any]) -> Journal:
    """Read a journal of the same runs, or begin one.

    ``told`` is what the bench does not hold: seed, method and its options. The method's output is
    part of the bench: one that gives another table each time cannot go on.
    """
    ground = bench.ground
    frames = [ground.real] if ground.release is None else [ground.real, ground.release]
    words = json.dumps([bench.keys, bench.sensitive, bench.options, told])
    return Journal.open(path, fingerprint([words, dumps(ground.schema)], *frames), "calibration")


def go_on(schedule: Schedule, journal: Journal) -> float:
    """Take in the runs of a journal, in the order in which they ended; give the seconds spent.

    Each counts with the seconds that it took then, so that the schedule is where it was.
    """
    spent = 0.0
    for name, entry in journal.known.items():
        cell = Cell(entry["kind"], entry["count"], entry["seed"], tuple(entry["measures"]))
        schedule.done_before(cell)
        schedule.take_in(cell, journal.found(name), entry["said"])
        spent = entry["spent"]
    return spent


def write_down(journal: Journal, cell: Cell, numbers: Any, said: str, spent: float) -> None:
    """Keep a run, and the seconds spent until it ended; one that failed is tried again."""
    error = said if numbers is None else ""
    journal.add(cell.name, numbers, error, **asdict(cell), said=said, spent=spent)
