"""Processes that do tasks: asked for one at a time, and stopped when they take too long."""

import contextlib
import functools
import os
import pickle
import queue
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from understudy.errors import DataError, UnderstudyError
from understudy.jobs.guard import end_without_trace
from understudy.jobs.processes import (
    Process,
    end_group,
    last_lines,
    pipe_errors,
    pipe_of,
    start_group,
)

Kind = Literal["done", "failed", "lost", "too long", "out of time"]

TOO_LONG = "it did not finish within {:g} seconds and was stopped"
NO_TIME = "the budget was used up before it finished"
HEAD = struct.Struct("<Q")
READY = b"ready"
MAIN = "from understudy.jobs.workers import main; main()"
ONE_CORE = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS")
TEMPORARY = ("TMPDIR", "TEMP", "TMP")


class Job(Protocol):
    """What all tasks have in common, and how one is done; every process holds a copy."""

    def do(self, task: Any, /) -> Any:
        """Do a task; an exception is a failure of this task alone."""


@dataclass(frozen=True)
class Outcome:
    """The value of a task; or what became of it, and why.

    ``kind`` is ``failed`` (it raised), ``lost`` (its process ended), ``too long`` (for a single
    task) or ``out of time`` (the deadline of the whole job came first). ``is_known``: it stood in
    the journal. ``cause`` is what was raised in this process.
    """

    task: Any
    value: Any = None
    kind: Kind = "done"
    error: str = ""
    is_known: bool = False
    cause: Exception | None = None

    def result(self) -> Any:
        """Give the value; raise what became of the task if there is none."""
        if self.kind == "done":
            return self.value
        raise self.cause or DataError(self.error, hint="run it again")


@dataclass(frozen=True)
class TimeLimits:
    """How many seconds a task may take, and when the whole job is to be over.

    A task is stopped after ``seconds``, or ``grace`` seconds after the deadline if that is sooner;
    one that begins when the deadline is over has the ``grace`` all the same.
    """

    seconds: float
    deadline: float | None = None
    grace: float = 0.0

    def is_late(self, now: float) -> bool:
        """Whether the deadline is over."""
        return self.deadline is not None and now >= self.deadline

    def end(self, task: Any, now: float) -> tuple[float, Outcome]:
        """Say when a task that begins now is stopped, and what is said of it then."""
        own = now + self.seconds
        if self.deadline is not None and max(self.deadline, now) + self.grace < own:
            late = Outcome(task, None, "out of time", NO_TIME)
            return max(self.deadline, now) + self.grace, late
        return own, Outcome(task, None, "too long", TOO_LONG.format(self.seconds))


def attempt(job: Job, task: Any) -> Outcome:
    """Do a task; an error is an outcome too."""
    try:
        return Outcome(task, job.do(task))
    except UnderstudyError as error:
        return Outcome(task, None, "failed", str(error).replace("\n", "; "), cause=error)
    except Exception as error:
        return Outcome(task, None, "failed", f"{type(error).__name__}: {error}", cause=error)


Inbox = queue.SimpleQueue[tuple["Worker", Process, bytes | None]]


class Worker:
    """A process that holds the job; started again when it is lost, or for every task anew.

    Parameters
    ----------
    payload : bytes
        The job.
    folder : path
        For the process's temporary files; it goes when whoever asks is killed.
    inbox : queue
        Where its answers arrive.
    limits : TimeLimits
    alone : bool
        Every task has a process of its own, all cores, and its last words said if it is lost.
    """

    def __init__(
        self, payload: bytes, folder: Path, inbox: Inbox, limits: TimeLimits, *, alone: bool = False
    ) -> None:
        self.payload, self.folder, self.inbox = payload, folder, inbox
        self.limits, self.alone = limits, alone
        self.task: Any = None
        self.end, self.late = float("inf"), Outcome(None)
        self.process: Process | None = None
        self.start()

    def start(self) -> None:
        """Start the process, and listen to it in a thread."""
        # not by PYTHONPATH: a task may run a program by another Python, which would inherit it
        places = [place for place in sys.path if isinstance(place, str)]
        begin = f"import sys; sys.path[:] = {places!r}; {MAIN}"
        own = {} if self.alone else dict.fromkeys(ONE_CORE, "1")
        own |= dict.fromkeys(TEMPORARY, str(self.folder))
        self.words = None if not self.alone else tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115
        process = start_group(
            [sys.executable, "-c", begin, str(self.folder)],
            stdout=subprocess.PIPE,
            stderr=self.words,
            env={**os.environ, **own},
        )
        self.process, self.is_ready = process, False
        self.listener = threading.Thread(target=self._listen, args=(process,), daemon=True)
        self.listener.start()
        self._send(self.payload)

    def _listen(self, process: Process) -> None:
        with contextlib.closing(pipe_of(process.stdout)) as pipe:
            while (received := _receive(pipe)) is not None:
                self.inbox.put((self, process, received))
        self.inbox.put((self, process, None))

    def _send(self, data: bytes) -> None:
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):  # that it is lost will be heard
                _send(pipe_of(self.process.stdin), data)

    def ask(self, task: Any) -> None:
        """Hand over a task; its time begins when the process has been started and is ready."""
        if self.process is None:
            self.start()
        self.task = task
        self._send(pickle.dumps(task))
        if self.is_ready:
            self._begin()

    def _begin(self) -> None:
        self.end, self.late = self.limits.end(self.task, time.monotonic())

    def hear(self, received: bytes | None) -> Outcome | None:
        """Take in what the process says; give the outcome of the task if it is that."""
        task = self.task
        if received == READY:
            self.is_ready = True
            if task is not None:
                self._begin()
            return None
        self.task, self.end = None, float("inf")
        if received is None:
            status = self._lost()
            return None if task is None else Outcome(task, None, "lost", status)
        if self.alone:
            self.stop()
        value, kind, error = pickle.loads(received)
        return Outcome(task, value, kind, error)

    def give_up(self) -> Outcome:
        """Stop a task that takes too long."""
        self.stop()
        self.task, self.end = None, float("inf")
        return self.late

    def _lost(self) -> str:
        """Say how the process ended, and what it said last."""
        process, last = self.process, ""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if process is not None:
                process.wait(0.5)  # one that ended by itself has a status of its own
        if self.words:
            last = f": {''.join(last_lines(self.words, 1)) or 'it left no message'}"
        self.stop()
        return f"its process was lost (exit status {process and process.returncode}){last}"

    def stop(self) -> None:
        """End the process and all that it started."""
        process, self.process = self.process, None
        if process is None:
            return
        end_group(process)
        self.listener.join(1.0)
        if self.words:
            self.words.close()


def _send(pipe: IO[bytes], data: bytes) -> None:
    with pipe_errors():
        pipe.write(HEAD.pack(len(data)) + data)
        pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    size = HEAD.unpack(head)[0]
    data = pipe.read(size)
    return data if len(data) == size else None


def main() -> None:
    """Do the tasks that come in; whatever a task prints goes to standard error."""
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # a program that a task starts is not to read the tasks

    def listen() -> None:
        """End with all that was started, and leave nothing on disk, when nobody asks any more."""
        while (received := _receive(tasks)) is not None:
            asked.put(received)
        end_without_trace(sys.argv[1])

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    with contextlib.suppress(BrokenPipeError):
        job = pickle.loads(asked.get())
        _send(answers, READY)
        while True:
            outcome = attempt(job, pickle.loads(asked.get()))
            _send(answers, pickle.dumps((outcome.value, outcome.kind, outcome.error)))
    listener.join()


def one_thread(library: Literal["blas", "openmp"] = "blas") -> AbstractContextManager[Any]:
    """Keep a library to one thread: small work is faster so, and sums do not depend on cores."""
    return _thread_pools(len(sys.modules)).limit(limits=1, user_api=library)  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1)
def _thread_pools(modules: int) -> Any:
    """Find the libraries with threads, anew only when modules were loaded since."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped,unused-ignore]

    return ThreadpoolController()
