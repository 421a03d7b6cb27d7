"""Foreign programs: run under a guard and a time limit, their words kept apart from ours."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.schema import near
from understudy.errors import DataError

GUARD = Path(__file__).with_name("guard.py")
LAST_LINES = 5
LAST_BYTES = 16_384


@dataclass(frozen=True)
class Program:
    """A program, the words that it is started with, and how long it may run.

    Parameters
    ----------
    name : str
        What it is called in messages.
    words : sequence of str
        No shell is involved.
    seconds : float
        After which it and all that it started are ended.
    environment : mapping, optional
        All its environment variables; the caller's own if not given.
    more : str
        How to allow more seconds.
    """

    name: str
    words: Sequence[str]
    seconds: float
    environment: Mapping[str, str] | None = None
    more: str = ""

    def run(self, said: Path) -> None:
        """Run it to its end; what it prints goes into a file. A failure is an error.

        The folder of that file goes if this process is killed: it holds what the program was given.
        """
        with said.open("wb") as heard:
            more = {"stdout": heard, "stderr": subprocess.STDOUT, "env": self.environment}
            with guarded(self.words, said.parent, **more) as guard:
                try:
                    status = guard.wait(self.seconds)
                except subprocess.TimeoutExpired:
                    raise DataError(
                        f"{self.name} did not finish within {self.seconds:g} seconds and was "
                        f"stopped{last_lines(said)}",
                        hint=self.more,
                    ) from None
        if status:
            raise DataError(
                f"{self.name} ended with exit status {status}{last_lines(said)}",
                hint="run it by hand on a small table",
            )


@contextlib.contextmanager
def guarded(words: Sequence[str], folder: Path, **more: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a program that ends, with all it started, when this block does.

    It does too when this process is killed, and the folder goes then, which holds what it was
    given: its guard notices that the pipe between them is closed.
    """
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), str(folder), *words],
        stdin=subprocess.PIPE,
        start_new_session=True,
        **more,
    )
    try:
        yield guard
    finally:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(guard.pid, signal.SIGKILL)
        else:  # on Windows; what it started goes when the guard does
            guard.kill()
        guard.wait()
        if guard.stdin is not None:
            guard.stdin.close()


def last_lines(said: Path) -> str:
    """Give the last words of a program, for a message."""
    with said.open("rb") as file:
        file.seek(max(said.stat().st_size - LAST_BYTES, 0))
        lines = file.read().decode("utf-8", errors="replace").strip().splitlines()
    told = "".join(f"\n  {line[:200]}" for line in lines[-LAST_LINES:])
    return f"; it said:{told}" if told else ""


def check_shape(frame: pl.DataFrame, columns: Sequence[str], rows: int, program: str) -> None:
    """Refuse a table that has other columns or another number of rows than were asked for."""
    for name in columns:
        if name not in frame.columns:
            raise DataError(
                f"{program}: the column '{name}' is missing in its table",
                hint=near(name, frame.columns),
            )
    for name in frame.columns:
        if name not in columns:
            raise DataError(
                f"{program}: the column '{name}' of its table is not in training",
                hint=near(name, columns),
            )
    if frame.height != rows:
        raise DataError(
            f"{program} gave {frame.height:,} rows, and {rows:,} were asked for",
            hint="{rows} in the command stands for their number",
        )
