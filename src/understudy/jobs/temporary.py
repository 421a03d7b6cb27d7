"""Temporary folders: for their owner alone, and gone when their run ends, however it ends.

A folder in use holds a lock. What a run that was killed left behind has one that nobody holds: the
next run that starts, or that works in the same place, removes it.
"""

import functools
import hashlib
import os
import platform
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

from understudy.errors import DataError
from understudy.jobs import locks

PREFIX = "understudy-"
HIDDEN = f".{PREFIX}"  # beside a file that is being written
# on a network drive a lock of another machine may not be seen
HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
LOCK = f".lock-{HOST}"
TRIES, PAUSE = 20, 0.1


class TemporaryFolder:
    """A folder that only this user can enter; it goes when it is closed or nobody needs it.

    Parameters
    ----------
    beside : path, optional
        The folder in which to make it, hidden; that of the system if not given.

    Examples
    --------
    >>> with TemporaryFolder() as folder:
    ...     _ = (folder / "rows.csv").write_text("a,b")
    >>> folder.exists()
    False
    """

    def __init__(self, beside: Path | None = None) -> None:
        place = Path(tempfile.gettempdir()) if beside is None else beside.absolute()
        sweep_once(place)
        self._held: list[int] = []
        while not self._held:
            self.path = Path(tempfile.mkdtemp(prefix=HIDDEN if beside else PREFIX, dir=place))
            try:
                handle = locks.take_file(self.path / LOCK)
            except FileNotFoundError:  # it was swept before it was locked
                continue
            except locks.NoLocksError:  # nobody can take it there, a sweep neither
                break
            except OSError:
                shutil.rmtree(self.path, ignore_errors=True)
                raise
            self._held += [] if handle is None else [handle]
        self._forgotten = weakref.finalize(self, _remove, self.path, self._held, 1)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove it with all that is in it; once more, if the first time was interrupted."""
        if self._forgotten.detach() is None:
            return
        try:
            gone = _remove(self.path, self._held, TRIES)
        except KeyboardInterrupt:
            _remove(self.path, self._held, TRIES)
            raise
        if not gone:
            raise DataError(
                f"{self.path} cannot be removed", hint="it may hold real rows: remove it by hand"
            )


def _remove(folder: Path, held: list[int], tries: int) -> bool:
    """Remove a folder, its lock last: programs that are being ended may still write there."""
    for left in reversed(range(tries)):
        for path in _entries(folder):
            if path.name != LOCK:
                _remove_one(path)
        if all(path.name == LOCK for path in _entries(folder)):
            break
        if left:
            time.sleep(PAUSE)
    else:
        return False
    if held:
        locks.give_back(folder / LOCK, held.pop())
    _remove_one(folder / LOCK)
    with suppress(OSError):  # it may be gone already
        folder.rmdir()
    return not folder.exists()


def _remove_one(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def sweep_here() -> None:
    """Remove what dead runs left in the system's folder for temporary files."""
    with suppress(OSError):
        sweep_once(Path(tempfile.gettempdir()))


@functools.cache
def sweep_once(place: Path) -> None:
    """Sweep a folder, once in a run."""
    sweep(place)


def sweep(place: Path) -> None:
    """Remove what runs left in a folder that are dead: theirs are locks that nobody holds.

    Only what this program made, what belongs to this user and what lies there itself is touched:
    no link is followed.
    """
    for path in _entries(place):
        with suppress(OSError, locks.NoLocksError):
            if not path.name.startswith((PREFIX, HIDDEN)) or not _is_own(path):
                continue
            if path.is_dir() and not path.is_symlink():
                handle = locks.take_file(path / LOCK, make=False)
                held = [] if handle is None else [handle]
                if held and not _remove(path, held, 1) and held:
                    os.close(held.pop())
            elif path.name.startswith(HIDDEN) and path.suffix == ".lock":
                handle = locks.take_file(path, make=False)
                if handle is not None:
                    locks.give_back(path, handle)


def _is_own(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()
