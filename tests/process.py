"""The program, run here or as a process."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import polars as pl

from understudy.cli import main

SIGNALS = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


SHUFFLER = """
import csv, random, sys
train, out, rows, seed = sys.argv[1:5]
random.seed(int(seed))
with open(train, newline="") as file:
    head, *body = csv.reader(file)
with open(out, "w", newline="") as file:
    csv.writer(file).writerows([head, *random.choices(body, k=int(rows))])
"""


def understudy(
    *arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it prints: in this process, which is faster, if all else is it.

    An environment of its own needs a process of its own.
    """
    if env is not None:
        return alone(*arguments, cwd=cwd, env=env)
    words = ["understudy", *map(str, arguments)]
    out, err, status = io.StringIO(), io.StringIO(), 0
    before = {number: signal.getsignal(number) for number in SIGNALS}
    with (
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", words),
    ):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def alone(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


here = understudy


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start a command, to be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def assert_demo(folder: Path, printed: str, shape: tuple[int, int]) -> None:
    """Look at what a demo wrote and printed: its files, training, and methods side by side."""
    names = {path.name for path in folder.iterdir()}
    tables = {"train.csv", "holdout.csv", "synthetic.csv", "synthetic.csv.README.md"}
    assert names == tables | {"assessment.json", "report.html"}
    assert pl.read_csv(folder / "train.csv").shape == shape
    assert "privacy.identical_matches" in printed
    _, _, beside = printed.partition("Beside other methods")
    assert all(name in beside for name in ("forest", "cart", "bootstrap", "reference"))


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended; one that does not is an error."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError("a process was left behind")
