"""Processes that play a game: asked one task at a time, stopped when they take too long."""

import contextlib
import os
import pickle
import selectors
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from understudy.attacks.games import Task

TOO_LONG = "it did not finish within {:g} seconds and was stopped"
NO_TIME = "the budget was used up before it finished"
HEAD = struct.Struct("<Q")
READY = b"ready"
MAIN = "from understudy.attacks.workers import main; main()"
ONE_CORE = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS")


class Worker:
    """A process of its own, which holds the game; started again when it is lost."""

    def __init__(self, payload: bytes, folder: Path | None = None) -> None:
        self.payload = payload
        self.folder = folder
        self.task: Task | None = None
        self.since = 0.0
        self.until: float | None = None
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        # not by PYTHONPATH: a generator may run a program by another Python, which would inherit it
        places = [place for place in sys.path if isinstance(place, str)]
        begin = f"import sys; sys.path[:] = {places!r}; {MAIN}"
        environment = {**os.environ, **dict.fromkeys(ONE_CORE, "1")}
        words = [str(os.getpid())]
        if self.folder is not None:
            words.append(str(self.folder))
            environment["TMPDIR"] = str(self.folder)
        process = subprocess.Popen(
            [sys.executable, "-c", begin, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self.ready = False
        with contextlib.suppress(BrokenPipeError):  # the first answer will say that it is lost
            _send(process.stdin, self.payload)
        return process

    def ask(self, task: "Task", latest: float | None = None) -> None:
        """Hand over a task; its time begins when the process has been started and is ready.

        ``latest`` is the time (``time.monotonic``) at which it is stopped whatever the limit.
        """
        if not self.ready:
            _receive(self.process.stdout)
            self.ready = True
        self.task, self.since, self.until = task, time.monotonic(), latest
        with contextlib.suppress(BrokenPipeError):  # the answer will say that it is lost
            _send(self.process.stdin, pickle.dumps(task))

    def _end(self, limit: float) -> float:
        own = self.since + limit
        return own if self.until is None else min(own, self.until)

    @staticmethod
    def wait(workers: Sequence["Worker"], limit: float) -> list["Worker"]:
        """Wait until some have an answer, are lost, or have taken too long."""
        first = min(worker._end(limit) for worker in workers)
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                if worker.process.stdout is not None:
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            ready = selector.select(max(first - time.monotonic(), 0.0))
        if ready:
            return [key.data for key, _ in ready]
        return [worker for worker in workers if worker._end(limit) <= time.monotonic()]

    def answer(self, limit: float) -> "tuple[Task, NDArray[np.float64] | None, str]":
        """Take the answer; a process that is late or lost is replaced."""
        task, self.task = self.task, None
        if task is None:
            raise RuntimeError("a worker that was asked nothing has no answer")
        if self._end(limit) <= time.monotonic() and not self._has_answer():
            why = TOO_LONG.format(limit) if self._end(limit) == self.since + limit else NO_TIME
            self.stop()
            self.process = self._start()
            return task, None, why
        received = _receive(self.process.stdout)
        if received is None:
            status = self._replace()
            return task, None, f"its process was lost (exit status {status})"
        numbers, error = pickle.loads(received)
        return task, numbers, error

    def _has_answer(self) -> bool:
        with selectors.DefaultSelector() as selector:
            if self.process.stdout is not None:
                selector.register(self.process.stdout, selectors.EVENT_READ)
            return bool(selector.select(0))

    def _replace(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.5)  # one that ended by itself has a status of its own
        self.stop()
        status = self.process.returncode
        self.process = self._start()
        return status

    def stop(self) -> None:
        """End the process and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                # what was still to be sent is of no use to a process that has ended
                with _errors_for_signals(), contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _send(pipe: IO[bytes] | None, data: bytes) -> None:
    if pipe is None:
        raise RuntimeError("the process has no pipe")
    with _errors_for_signals():
        pipe.write(HEAD.pack(len(data)) + data)
        pipe.flush()


@contextlib.contextmanager
def _errors_for_signals() -> Iterator[None]:
    """Let a closed pipe be an error, also where the command line lets it end the program."""
    here = threading.current_thread() is threading.main_thread()
    if not (here and hasattr(signal, "SIGPIPE")):
        yield
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def _receive(pipe: IO[bytes] | None) -> bytes | None:
    head = b"" if pipe is None else pipe.read(HEAD.size)
    if pipe is None or len(head) < HEAD.size:
        return None
    size = HEAD.unpack(head)[0]
    data = pipe.read(size)
    return data if len(data) == size else None


def _watch(parent: int) -> None:
    """End with all that was started, and leave nothing on disk, when whoever asked is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    for folder in sys.argv[2:]:
        shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Play the tasks that come in; whatever the generator prints goes to standard error."""
    watch = threading.Thread(target=_watch, args=(int(sys.argv[1]),), daemon=True)
    watch.start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    game: Any = None
    with contextlib.suppress(BrokenPipeError):
        while (received := _receive(sys.stdin.buffer)) is not None:
            if game is None:
                game = pickle.loads(received)
                _send(answers, READY)
                continue
            _send(answers, pickle.dumps(game.answer(pickle.loads(received))))
    watch.join()  # who ends a worker kills it; a pipe that was closed means that nobody is left
