"""One runner for work that takes long: tasks in processes, within limits, and resumable.

Outcomes are written to a journal as they come: a job that was killed goes on where it stopped. A
task that raises, hangs or loses its process is an outcome that says so; the others go on.
"""

import contextlib
import functools
import io
import math
import os
import pickle
import queue
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from types import FrameType
from typing import Any

from understudy.errors import OptionError
from understudy.jobs.journal import Journal
from understudy.jobs.temporary import TemporaryFolder
from understudy.jobs.workers import Inbox, Job, Outcome, TimeLimits, Worker, attempt

MOST_SECONDS = 600.0
GRACE = 5.0
STEP = 1.0  # second; on Windows an interrupt is heard between waits only

Next = Callable[[bool], Any]


def run(
    job: Job,
    tasks: Iterable[Any] | Next,
    *,
    workers: int | None = None,
    limit: float = MOST_SECONDS,
    start: float | None = None,
    deadline: float | None = None,
    grace: float | None = None,
    journal: Journal | None = None,
    alone: bool = False,
) -> Generator[Outcome]:
    """Do all tasks, and give outcomes as they come; whoever stops asking stops the work.

    Parameters
    ----------
    job : Job
        Its ``do(task)`` gives the value of a task. What cannot be sent to a process (a function of
        an interactive session) does its tasks here, one after the other.
    tasks : iterable or callable
        Of an iterable, no further task begins after the deadline. A callable decides itself: it is
        asked whenever a process is free, told whether the deadline is over, and gives a task, or
        None if there is none now.
    workers : int, optional
        Processes; as many as there are cores if not given. With 0 the tasks are done here.
    limit : float
        Seconds after which a single task is given up.
    start, deadline : float, optional
        When the work began and when it is to be over (``time.monotonic``).
    grace : float, optional
        Seconds that tasks under way have at the deadline.
    journal : Journal, optional
        Outcomes are kept there, by the ``key`` of their tasks; of an iterable, what is known is
        given first. A failure is written down too, and tried again when the journal is opened next.
    alone : bool
        Every task has a process of its own, and all cores.
    """
    if limit <= 0:
        raise OptionError(f"limit = {limit}", hint="give a number of seconds")
    many = workers or os.cpu_count() or 1
    if not callable(tasks):
        if journal is not None:
            waiting = []
            for task in tasks:
                key = task.key
                if key in journal.known:
                    yield Outcome(task, journal.known[key], is_known=True)
                else:
                    waiting.append(task)
            tasks = waiting
        many = min(many, len(tasks)) if isinstance(tasks, Sized) else many
        tasks = functools.partial(_in_time, iter(tasks))
    limits = TimeLimits(limit, deadline, GRACE if grace is None else grace)
    payload = None if workers == 0 else portable(job)
    outcomes = (
        _here(job, tasks, limits)
        if payload is None
        else _in_processes(payload, tasks, many, limits, alone)
    )
    began = time.monotonic() if start is None and journal is not None else start or 0.0
    with contextlib.closing(outcomes):
        for outcome in outcomes:
            if journal is not None:
                spent = time.monotonic() - began
                journal.add(outcome.task.key, outcome.value, outcome.error, spent)
            yield outcome


def _in_time(tasks: Iterator[Any], is_late: bool) -> Any:
    return None if is_late else next(tasks, None)


def portable(job: Job) -> bytes | None:
    """Give the job as bytes for another process; none where it cannot be read there."""
    made = io.BytesIO()
    try:
        _Sent(made).dump(job)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return made.getvalue()


class _Sent(pickle.Pickler):
    """Refuses what is defined in the script that runs, or typed in: no other process has it."""

    def reducer_override(self, obj: Any) -> Any:
        if getattr(obj, "__module__", None) == "__main__":
            raise pickle.PicklingError(f"{obj!r} is defined in __main__")
        return NotImplemented


def _in_processes(
    payload: bytes, ask: Next, many: int, limits: TimeLimits, alone: bool
) -> Generator[Outcome]:
    inbox: Inbox = queue.SimpleQueue()
    folder = TemporaryFolder()
    workers: list[Worker] = []
    try:
        for _ in range(many):
            workers.append(Worker(payload, folder.path, inbox, limits, alone=alone))
        while True:
            for worker in workers:
                if worker.task is None:
                    task = ask(limits.is_late(time.monotonic()))
                    if task is not None:
                        worker.ask(task)
            busy = [worker for worker in workers if worker.task is not None]
            if not busy:
                return
            yield from _heard(inbox, busy)
    finally:
        for worker in workers:
            worker.stop()
        folder.close()


def _heard(inbox: Inbox, busy: list[Worker]) -> Iterator[Outcome]:
    """Wait until some process says something, or has taken too long."""
    left = min(worker.end for worker in busy) - time.monotonic()
    try:
        worker, process, received = inbox.get(timeout=min(max(left, 0.0), STEP))
    except queue.Empty:
        now = time.monotonic()
        yield from (worker.give_up() for worker in busy if worker.end <= now)
        return
    if process is worker.process:  # else it was stopped
        outcome = worker.hear(received)
        if outcome is not None:
            yield outcome


def _here(job: Job, ask: Next, limits: TimeLimits) -> Generator[Outcome]:
    while True:
        now = time.monotonic()
        task = ask(limits.is_late(now))
        if task is None:
            return
        end, outcome = limits.end(task, now)
        with contextlib.suppress(TimeoutError), _alarm(end - now):
            outcome = attempt(job, task)
        yield outcome


class _Late(BaseException):
    """The time of a task is over; no code catches it by mistake."""


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Stop work in this thread after a while, where the system can."""
    here = threading.current_thread() is threading.main_thread()
    if not (here and hasattr(signal, "setitimer") and math.isfinite(seconds)):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _Late:
        raise TimeoutError from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
