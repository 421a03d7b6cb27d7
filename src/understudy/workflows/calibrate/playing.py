"""The runs of a calibration: in processes, until nothing is open or the time is up."""

import pickle
import time
from typing import Any, cast

from understudy.attacks.journal import Journal
from understudy.attacks.workers import Worker
from understudy.judging.comparison import Progress
from understudy.workflows.calibrate.cell import Bench, Cell
from understudy.workflows.calibrate.resuming import write_down
from understudy.workflows.calibrate.schedule import Schedule

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
    journal: Journal | None = None,
) -> None:
    """Fill a schedule; when the budget of seconds since the start is spent, finish what is needed.

    A run that takes too long, or whose process is lost, is a failure of the measures in it. Each is
    written down in the journal at once.
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
                schedule.take_in(cell, numbers, said)
                if journal is not None:
                    write_down(journal, cell, numbers, said, time.monotonic() - start)
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
    return f"{cell.kind}, {100 * cell.count / schedule.rows:.2f} %"
