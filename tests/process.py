"""The program, run as a process."""

import contextlib
import io
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

from understudy.cli import main


def understudy(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def here(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, which is faster: for those that end before any work."""
    words = ["understudy", *map(str, arguments)]
    out, err, status = io.StringIO(), io.StringIO(), 0
    before = signal.getsignal(signal.SIGPIPE)
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", words),
    ):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            signal.signal(signal.SIGPIPE, before)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start a command, to be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
