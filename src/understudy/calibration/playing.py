"""The runs of a calibration: in processes, until nothing is open or the time is up."""

import json
import pickle
import time
from typing import Any, cast

import numpy as np

from understudy.attacks.workers import Worker
from understudy.calibration.cell import Bench, Cell
from understudy.calibration.schedule import Schedule
from understudy.comparison import Progress

LONGEST = 300.0
GRACE = 60.0


def play(
    bench: Bench,
    schedule: Schedule,
    *,
    start: float,
    budget: float,
    workers: int,
    progress: Progress,
) -> None:
    """Fill a schedule; when the budget of seconds since the start is spent, finish what is needed.

    A run that takes too long, or whose process is lost, is a failure of the measures in it.
    """
    deadline = start + budget
    payload = pickle.dumps(bench)
    crew: list[Any] = [Worker(payload) for _ in range(workers)]
    limits = [LONGEST] * workers
    try:
        while True:
            now = time.monotonic()
            for place, worker in enumerate(crew):
                if worker.task is None:
                    cell = schedule.next(late=now >= deadline)
                    if cell is not None:
                        progress(_label(cell, schedule), int(now - start), int(budget))
                        worker.ask(cell)
                        limits[place] = allowed(worker.since, deadline)
            busy = [place for place, worker in enumerate(crew) if worker.task is not None]
            if not busy:
                return
            # whose run began first is the first to be late
            oldest = min(busy, key=lambda place: crew[place].since)
            for worker in Worker.wait([crew[place] for place in busy], limits[oldest]):
                limit = limits[crew.index(worker)]
                cell, numbers, said = cast("tuple[Cell, Any, str]", worker.answer(limit))
                _take_in(schedule, cell, numbers, said)
    finally:
        for worker in crew:
            worker.stop()


def allowed(began: float, deadline: float) -> float:
    """Give the seconds that a run may take, by when it began.

    Examples
    --------
    >>> allowed(0, 480), allowed(400, 480), allowed(500, 480)
    (300.0, 140.0, 60.0)
    """
    return float(min(LONGEST, max(deadline + GRACE - began, GRACE)))


def _label(cell: Cell, schedule: Schedule) -> str:
    if not cell.count:
        return "no leak"
    return f"{cell.kind}, {cell.count / schedule.rows:.2%}"


def _take_in(schedule: Schedule, cell: Cell, numbers: Any, said: str) -> None:
    if numbers is None:
        schedule.add(cell, np.full((len(cell.measures), 2), [np.nan, 0.0]))
        for name in cell.measures:
            schedule.failed(name, "failed", said)
        return
    schedule.add(cell, numbers)
    for name, (status, note) in json.loads(said).items():
        schedule.failed(name, status, note)
