"""The program, run as a process."""

import subprocess
import sys


def understudy(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start a command, to be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
