"""Locks: one run at a time works on a file or a folder; a run that is killed keeps nobody off."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.errors import DataError

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # on Windows
    import msvcrt

    fcntl = None

OWNER = 0o600  # read and written by the owner alone
PAUSE = 0.02
SHORTLY = 0.2  # a sweep may hold a lock for a moment
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
FAR = 0x7FFFFFFE  # on Windows a locked byte cannot be read: one that no file here has


class NoLocksError(DataError):
    """Nobody can keep others off a file there."""


def take(handle: int) -> bool:
    """Take the lock of an open file, if it is free; it is held until the file is closed."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        here = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, here, os.SEEK_SET)
        return True
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        if error.errno in NO_LOCKS:
            raise NoLocksError(
                "this file system has no locks", hint="use a folder on a local disk"
            ) from error
        raise


def take_file(file: Path, *, make: bool = True) -> int | None:
    """Take a lock that is a file of its own; give its handle, or none if another run has it.

    One whose file is gone was another run's, which has just ended. A link is not followed.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | (os.O_CREAT if make else 0)
    handle = os.open(file, flags, OWNER)
    try:
        if take(handle) and os.path.samestat(os.fstat(handle), file.stat()):
            return handle
    except FileNotFoundError:
        pass
    except (OSError, NoLocksError):
        os.close(handle)
        raise
    os.close(handle)
    return None


def give_back(file: Path, handle: int) -> None:
    """Remove the file of a lock, and let others have it."""
    if fcntl is not None:
        file.unlink(missing_ok=True)
        os.close(handle)
        return
    os.close(handle)  # a file that is open cannot be removed on Windows
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, hint: str, wait: float = 0.0) -> Iterator[None]:
    """Keep other runs off a path, which need not be there; wait some seconds for it to be free.

    Its folder must be there and writable: the lock is a file beside it. A link is followed, so
    that whoever comes by another name waits too.
    """
    real = Path(os.path.realpath(path))  # a link in a circle is itself
    file = real.parent / f".understudy-{real.name}.lock"
    until = time.monotonic() + max(wait, SHORTLY)
    while (handle := take_file(file)) is None:
        if time.monotonic() >= until:
            raise in_use(path, file, hint)
        time.sleep(PAUSE)
    try:
        yield
    finally:
        give_back(file, handle)


def in_use(path: Path, lock: Path, hint: str) -> DataError:
    """Say that another run has a path; which, where the system tells who holds its lock (Linux)."""
    holder = ""
    with contextlib.suppress(OSError):
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        place = lock.stat()
        device = f"{os.major(place.st_dev):02x}:{os.minor(place.st_dev):02x}:{place.st_ino}"
        found = [words[4] for words in lines if words[1] == "FLOCK" and words[5] == device]
        holder = f" (process {found[0]})" if found else ""
    return DataError(f"{path}: another run is at work on it{holder}", hint=hint)


def one_name(path: Path) -> None:
    """Refuse a file that has another name too (a hard link): writing would part the two."""
    if path.is_file() and path.stat().st_nlink > 1:
        raise DataError(
            f"{path}: this file has another name too (a hard link), which would keep what is old",
            hint="remove the other name, or make it a symbolic link (ln -s)",
        )
