"""Locks: one run at a time works on a file or a folder; a run that is killed keeps nobody off."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.errors import DataError
from understudy.tables.output import OWNER

PAUSE = 0.02


@contextmanager
def locked(path: Path, *, hint: str, wait: float = 0.0) -> Iterator[None]:
    """Keep other runs off a path, which need not be there; wait some seconds for it to be free.

    Its folder must be there and writable: the lock is a file beside it. A link is followed, so
    that whoever comes by another name waits too.
    """
    real = path.resolve()
    file = real.parent / f".understudy-{real.name}.lock"
    until = time.monotonic() + wait
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, OWNER)
        if _taken(handle, file):
            break
        os.close(handle)
        if time.monotonic() >= until:
            raise DataError(f"{path}: another run is at work on it", hint=hint)
        time.sleep(PAUSE)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


def _taken(handle: int, file: Path) -> bool:
    """Take a lock if it is free; one whose file is gone was another run's, which has just ended."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), file.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
