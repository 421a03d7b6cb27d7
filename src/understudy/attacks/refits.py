"""A generator run again and again on tables that differ a little: in processes, and resumable.

Each refit is one line of a journal: who was killed goes on where they stopped. A refit that
raises, hangs or gives other columns is an answer that says so, by the name of its world; the rest
goes on.
"""

import contextlib
import io
import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Generator as Answers
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from understudy.attacks.games import Answer, Game, Task
from understudy.attacks.journal import Journal, of_game, of_task
from understudy.attacks.workers import NO_TIME, TOO_LONG, Worker
from understudy.errors import OptionError
from understudy.jobs.temporary import TemporaryFolder
from understudy.judging.comparison import Progress, silent

MOST_SECONDS = 600.0
GRACE = 5.0


def refit(
    game: Game,
    tasks: Iterable[Task],
    *,
    workers: int | None = None,
    limit: float = MOST_SECONDS,
    deadline: float | None = None,
    journal: Path | None = None,
    progress: Progress = silent,
    total: int = 0,
) -> Iterator[Answer]:
    """Play all tasks, and give answers as they come; who stops asking stops the work.

    Parameters
    ----------
    workers : int, optional
        Processes; as many as there are cores if not given. What cannot be sent to a process (a
        function of an interactive session) is played here, one task after the other.
    limit : float
        Seconds after which a single refit is given up.
    deadline : float, optional
        The time (``time.monotonic``) after which no further task begins; those under way are
        given a few seconds more.
    journal : path, optional
        Answers are kept there, and taken from there if the game is the same.
    """
    if limit <= 0:
        raise OptionError(f"limit = {limit}", hint="give a number of seconds")
    with _opened(journal, game) as kept:
        waiting = []
        done = 0
        for task in tasks:
            found = kept.found(of_task(task)) if kept else None
            if found is None:
                waiting.append(task)
                continue
            done += 1
            yield Answer(task, found)
        total = total or done + len(waiting)
        payload = portable(game)
        many = min(workers or os.cpu_count() or 1, max(len(waiting), 1))
        answers = (
            _here(game, waiting, limit, deadline)
            if payload is None
            else _in_processes(payload, waiting, many, limit, deadline)
        )
        with contextlib.closing(answers):
            for answer in answers:
                if kept:
                    kept.add(of_task(answer.task), answer.numbers, answer.error)
                done += 1
                progress(f"refits of {game.generator.name}", done, total)
                yield answer


@contextlib.contextmanager
def _opened(journal: Path | None, game: Game) -> Iterator[Journal | None]:
    """Open the journal of a game, if there is one; other runs are kept off it."""
    if journal is None:
        yield None
        return
    with contextlib.closing(Journal.open(journal, of_game(game))) as kept:
        if kept.known:
            kept.check((game.width,))
        yield kept


def portable(game: Game) -> bytes | None:
    """Give the game as bytes for another process; none where it cannot be read there."""
    made = io.BytesIO()
    try:
        _Sent(made).dump(game)
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
    payload: bytes, tasks: Sequence[Task], many: int, limit: float, deadline: float | None
) -> Answers[Answer]:
    waiting = list(reversed(tasks))
    latest = None if deadline is None else deadline + GRACE
    if not waiting:
        return
    folder = TemporaryFolder()
    workers = [Worker(payload, folder.path) for _ in range(many)]
    try:
        while True:
            late = deadline is not None and time.monotonic() >= deadline
            for worker in workers:
                if worker.task is None and waiting and not late:
                    worker.ask(waiting.pop(), latest)
            busy = [worker for worker in workers if worker.task is not None]
            if not busy:
                return
            for worker in Worker.wait(busy, limit):
                task, numbers, error = worker.answer(limit)
                yield Answer(task, numbers, error)
    finally:
        for worker in workers:
            worker.stop()
        folder.close()


def _here(
    game: Game, tasks: Sequence[Task], limit: float, deadline: float | None
) -> Answers[Answer]:
    for task in tasks:
        left = math.inf if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return
        try:
            with _alarm(min(limit, left + GRACE)):
                numbers, error = game.answer(task)
        except TimeoutError:
            numbers, error = None, TOO_LONG.format(limit) if limit <= left + GRACE else NO_TIME
        yield Answer(task, numbers, error)


class _Late(BaseException):
    """The time of a refit is over; no generator catches it by mistake."""


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Stop work in this thread after a while, where the system can."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
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
