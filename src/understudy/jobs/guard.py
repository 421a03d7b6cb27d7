"""Runs a program; when whoever asked for it is gone, ends it and removes the rows it was given.

It is run as a file, without this package: nothing but Python is needed to start it.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading


def end_without_trace(folder: str) -> None:
    """Remove a folder, and end this process with all that it started."""
    shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)  # on Windows


def _watch(folder: str) -> None:
    os.read(0, 1)  # returns when the other end of the pipe is closed
    end_without_trace(folder)


def main() -> None:
    """Run a program in the process group of this one: a folder is given, then its words."""
    folder, *words = sys.argv[1:]
    threading.Thread(target=_watch, args=(folder,), daemon=True).start()
    status = subprocess.call(words, stdin=subprocess.DEVNULL)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
