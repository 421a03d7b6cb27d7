"""Locks on every system: without fcntl, as on Windows, those of msvcrt are taken."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import understudy
from understudy.errors import DataError
from understudy.jobs.journal import _open_alone
from understudy.jobs.locks import locked, one_name
from understudy.jobs.temporary import TemporaryFolder
from understudy.synthesizers import ledger as ledgers

WINDOWS = """
import os, subprocess, sys, types
sys.modules["fcntl"] = None
held = {}
def locking(handle, mode, size):
    assert size == 1 and os.lseek(handle, 0, os.SEEK_CUR) > 10**9
    name = os.fstat(handle).st_ino
    if name in held:
        raise PermissionError(13, "Permission denied")
    held[name] = handle
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
closed = os.close
def close(handle):
    if held.get(os.fstat(handle).st_ino) == handle:
        del held[os.fstat(handle).st_ino]
    closed(handle)
os.close = close
import understudy.workflows.release
from pathlib import Path
from understudy import errors
from understudy.jobs import locks
from understudy.jobs import temporary
from understudy.synthesizers import ledger
folder = Path(sys.argv[1])
with locks.locked(folder / "a", hint="wait"):
    try:
        with locks.locked(folder / "a", hint="wait"):
            print("two at once")
    except errors.DataError as error:
        print(error.message.rpartition(": ")[2])
ledger.set_limit(folder / "ledger.json", 2.0)
with temporary.TemporaryFolder(folder) as made:
    (made / "rows").write_text("1")
    temporary.sweep(folder)
    print((made / "rows").read_text())
print(sorted(path.name for path in folder.iterdir()))
"""


def test_without_fcntl(tmp_path):
    environment = {"PYTHONPATH": str(Path(understudy.__file__).parents[1]), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS, str(tmp_path)],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "another run is at work on it\n1\n['ledger.json']\n"


def test_one_at_a_time(tmp_path):
    with (
        locked(tmp_path / "a", hint="wait"),
        pytest.raises(DataError, match="another run is at work on it") as caught,
        locked(tmp_path / "a", hint="wait"),
    ):
        pass
    if Path("/proc/locks").is_file():
        assert caught.value.message.endswith(f"at work on it (process {os.getpid()})")
    assert not list(tmp_path.iterdir())


def test_a_ledger_with_two_names_is_refused(tmp_path):
    """Written under one name, it would stay as it was under the other."""
    first, second = tmp_path / "ledger.json", tmp_path / "same.json"
    ledgers.set_limit(first, 3.0)
    second.hardlink_to(first)
    for path in (first, second):
        with pytest.raises(DataError, match="has another name too") as caught:
            ledgers.set_limit(path, 5.0)
        assert "symbolic link" in caught.value.hint
    assert ledgers.read(first).limit == ledgers.read(second).limit == 3.0
    second.unlink()
    second.symlink_to(first)
    assert ledgers.set_limit(second, 5.0).limit == ledgers.read(first).limit == 5.0
    one_name(tmp_path / "nothing")


def test_a_link_in_a_circle_can_be_locked_like_any_name(tmp_path):
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with locked(circle, hint="wait"):
        assert circle.is_symlink()


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("understudy.jobs.locks.fcntl.flock", refuse)
    with pytest.raises(DataError, match="no locks") as caught, locked(tmp_path / "a", hint=""):
        pass
    assert "local disk" in caught.value.hint
    with pytest.raises(DataError, match="no locks"):
        _open_alone(tmp_path / "journal")
    with TemporaryFolder(tmp_path) as folder:
        assert folder.is_dir()
