"""Runs a program, and ends it with all that it started when whoever asked for it is gone."""

import os
import signal
import subprocess
import sys
import threading


def _watch() -> None:
    os.read(0, 1)  # returns when the other end of the pipe is closed
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Run the words given as a program, in the process group of this one."""
    threading.Thread(target=_watch, daemon=True).start()
    status = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
