"""Processes that play a game: asked one task at a time, stopped when they take too long."""

import contextlib
import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from understudy.attacks.games import Task

TOO_LONG = "it did not finish within {:g} seconds and was stopped"
HEAD = struct.Struct("<Q")
READY = b"ready"
ONE_CORE = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS")


class Worker:
    """A process of its own, which holds the game; started again when it is lost."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.task: Task | None = None
        self.since = 0.0
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        places = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, **dict.fromkeys(ONE_CORE, "1"), "PYTHONPATH": places}
        process = subprocess.Popen(
            [sys.executable, "-c", "from understudy.attacks.workers import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self.ready = False
        _send(process.stdin, self.payload)
        return process

    def ask(self, task: "Task") -> None:
        """Hand over a task; its time begins when the process has been started and is ready."""
        if not self.ready:
            _receive(self.process.stdout)
            self.ready = True
        self.task, self.since = task, time.monotonic()
        try:
            _send(self.process.stdin, pickle.dumps(task))
        except BrokenPipeError:
            return  # the answer will say that the process is lost

    @staticmethod
    def wait(workers: Sequence["Worker"], limit: float) -> list["Worker"]:
        """Wait until some have an answer, are lost, or have taken too long."""
        first = min(worker.since for worker in workers) + limit
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                if worker.process.stdout is not None:
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            ready = selector.select(max(first - time.monotonic(), 0.0))
        if ready:
            return [key.data for key, _ in ready]
        return [worker for worker in workers if worker.since + limit <= time.monotonic()]

    def answer(self, limit: float) -> "tuple[Task, NDArray[np.float64] | None, str]":
        """Take the answer; a process that is late or lost is replaced."""
        task, self.task = self.task, None
        if task is None:
            raise RuntimeError("a worker that was asked nothing has no answer")
        if self.since + limit <= time.monotonic() and not self._has_answer():
            self._replace()
            return task, None, TOO_LONG.format(limit)
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
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _send(pipe: IO[bytes] | None, data: bytes) -> None:
    if pipe is None:
        raise RuntimeError("the process has no pipe")
    pipe.write(HEAD.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes] | None) -> bytes | None:
    head = b"" if pipe is None else pipe.read(HEAD.size)
    if pipe is None or len(head) < HEAD.size:
        return None
    size = HEAD.unpack(head)[0]
    data = pipe.read(size)
    return data if len(data) == size else None


def main() -> None:
    """Play the tasks that come in; whatever the generator prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    game: Any = None
    while (received := _receive(sys.stdin.buffer)) is not None:
        if game is None:
            game = pickle.loads(received)
            _send(answers, READY)
            continue
        _send(answers, pickle.dumps(game.answer(pickle.loads(received))))
