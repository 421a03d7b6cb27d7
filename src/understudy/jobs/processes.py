"""Processes that end with this one, however it ends, and leave nothing of what they were given.

Each is in a group of its own with all that it starts, and reads a pipe of which this process holds
the other end: when that is closed, it removes its folder and ends the group (``guard.py``).
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

GUARD = Path(__file__).with_name("guard.py")
LAST_BYTES = 16_384

Process = subprocess.Popen[bytes]


def start_group(words: Sequence[str], **more: Any) -> Process:
    """Start a process in a group of its own, with a pipe to it."""
    return subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True, **more)


def end_group(process: Process) -> None:
    """End a process and all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:  # on Windows; what it started goes when the pipe is closed
        process.kill()
    process.wait()
    # what was still to be sent is of no use to a process that has ended
    with pipe_errors(), contextlib.suppress(BrokenPipeError):
        pipe_of(process.stdin).close()


@contextlib.contextmanager
def guarded(words: Sequence[str], folder: Path, **more: Any) -> Iterator[Process]:
    """Run a program that ends when this block does, or when this process is killed.

    Its guard then removes the folder, which holds what the program was given.
    """
    guard = start_group([sys.executable, "-I", "-S", str(GUARD), str(folder), *words], **more)
    try:
        yield guard
    finally:
        end_group(guard)


def last_lines(said: IO[bytes], most: int) -> list[str]:
    """Give the last lines of what a process printed to a file."""
    said.seek(max(os.fstat(said.fileno()).st_size - LAST_BYTES, 0))
    return said.read().decode("utf-8", errors="replace").strip().splitlines()[-most:]


def pipe_of(pipe: IO[bytes] | None) -> IO[bytes]:
    """Insist that a process has a pipe."""
    if pipe is None:
        raise RuntimeError("the process has no pipe")
    return pipe


@contextlib.contextmanager
def pipe_errors() -> Iterator[None]:
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
