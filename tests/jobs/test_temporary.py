"""What a dead run left behind is removed; what is in use, or not ours, never is."""

import os
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import process
from people import people
from understudy import cli
from understudy.jobs import temporary
from understudy.jobs.locks import locked
from understudy.jobs.temporary import LOCK, TemporaryFolder, sweep

SRC = Path(temporary.__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from understudy.jobs.locks import locked
from understudy.data.tables import whole_file
from understudy.jobs.temporary import TemporaryFolder
place = Path(sys.argv[1])
out = place / "out.csv"
with TemporaryFolder() as folder, whole_file(out) as file, locked(place / "x", hint=""):
    (folder / "train.arrow").write_text("rows")
    file.write_text("rows")
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def dead(place: Path, name: str = "understudy-dead") -> Path:
    """Make a folder as a run leaves it that was killed."""
    folder = place / name
    folder.mkdir(mode=0o700)
    (folder / LOCK).touch()
    (folder / "train.arrow").write_text("rows")
    (folder / "more").mkdir()
    (folder / "more" / "control.arrow").write_text("rows")
    return folder


def test_a_folder_is_for_its_owner_and_goes_when_it_is_closed(place):
    with TemporaryFolder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.parent == place
        assert folder.name.startswith("understudy-")
        (folder / "rows").write_text("1")
    assert not list(place.iterdir())
    forgotten = TemporaryFolder()
    assert forgotten.path.is_dir()
    del forgotten
    assert not list(place.iterdir())


def test_what_is_in_use_is_not_swept_and_what_is_dead_is(place):
    dead(place), dead(place, ".understudy-dead")
    (place / ".understudy-ledger.json.lock").touch()
    with TemporaryFolder() as used, TemporaryFolder(place) as hidden, locked(place / "x", hint=""):
        (used / "rows").write_text("1")
        sweep(place)
        there = {path.name for path in place.iterdir()}
        assert there == {used.name, hidden.name, ".understudy-x.lock"}
        assert (used / "rows").read_text() == "1"


def test_only_what_this_program_made_is_swept(place, monkeypatch):
    elsewhere = dead(place, "elsewhere")
    (place / "understudy-link").symlink_to(elsewhere)
    (place / ".understudy-link.lock").symlink_to(elsewhere / "train.arrow")
    (place / "understudy-notes").mkdir()  # without a lock: somebody else's, or being made
    (place / "understudy-notes" / "text").write_text("mine")
    (place / "understudy-notes.txt").write_text("mine")
    (place / ".understudy-copy").touch()
    before = sorted(path for path in place.rglob("*"))
    sweep(place)
    assert sorted(path for path in place.rglob("*")) == before
    others = dead(place)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    sweep(place)
    assert (others / "train.arrow").is_file()


def test_a_dead_folder_that_cannot_be_removed_stops_nobody(place, monkeypatch):
    """A program that is being ended may write one more file there."""
    folder = dead(place)

    def refuse(path):
        raise OSError("not empty")

    monkeypatch.setattr(Path, "rmdir", refuse)
    sweep(place)
    assert not list(folder.iterdir())


def test_a_link_within_a_dead_folder_is_removed_and_not_followed(place):
    (place / "mine").mkdir()
    (place / "mine" / "rows").write_text("1")
    (dead(place) / "link").symlink_to(place / "mine")
    sweep(place)
    assert [path.name for path in place.iterdir()] == ["mine"]
    assert (place / "mine" / "rows").read_text() == "1"


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(place, monkeypatch):
    make, made = tempfile.mkdtemp, []

    def swept_once(**options):
        made.append(make(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept_once)
    with TemporaryFolder() as folder:
        assert len(made) == 2
        assert (folder / LOCK).is_file()


def test_what_a_killed_process_left_goes_at_the_next_start(tmp_path):
    """A live one keeps all that it has; killed, all of it goes when the next one begins."""
    (tmp_path / "temp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temp"), "PYTHONPATH": str(SRC)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert holder.stdout.readline() == b"ready\n"

    def left() -> list[str]:
        return sorted(p.name for p in [*tmp_path.iterdir(), *(tmp_path / "temp").iterdir()])

    there = left()
    assert len(there) == 4
    people(30, 1).write_csv(tmp_path / "real.csv")
    words = ("split", tmp_path / "real.csv", "--out", tmp_path)
    done = process.understudy(*words, env=environment)
    assert done.returncode == 0, done.stderr
    assert set(there) <= set(left())
    holder.kill()
    holder.communicate()
    done = process.understudy(*words, env=environment)
    assert done.returncode == 0, done.stderr
    assert left() == ["holdout.csv", "real.csv", "temp", "train.csv"]


def benchmarking(folder: Path) -> "subprocess.Popen[str]":
    """Start a benchmark of a program that does not end, and wait until it is at work."""
    (folder / "temp").mkdir()
    people(60, 1).write_csv(folder / "real.csv")
    (folder / "slow.py").write_text(
        f"import os, time; open({str(folder / 'pid')!r}, 'w').write(str(os.getpid()));"
        "time.sleep(60)"
    )
    (folder / "cells").mkdir()
    command = shlex.join([sys.executable, str(folder / "slow.py")]) + " {train} {out}"
    running = subprocess.Popen(
        [
            sys.executable, "-m", "understudy", "benchmark", "real.csv", "--methods", "command",
            "--splits", "1", "-o", f"command.command={command}", "--out", "cells",
        ],
        cwd=folder, env={**os.environ, "TMPDIR": str(folder / "temp")},
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # it may be ignored here
    )  # fmt: skip
    end = time.monotonic() + 60
    while not (folder / "pid").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert list((folder / "temp").rglob("train.*"))
    return running


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_leaves_no_rows_and_no_process(number, tmp_path):
    running = benchmarking(tmp_path)
    running.send_signal(number)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 128 + number
    how = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert said.splitlines()[-1] == f"understudy: {how}, nothing half written"
    assert "Traceback" not in said
    assert not list((tmp_path / "temp").iterdir())
    assert not list((tmp_path / "cells").glob(".*"))
    process.wait_until_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
def test_a_killed_benchmark_leaves_no_process_and_soon_no_rows(tmp_path):
    running = benchmarking(tmp_path)
    running.kill()
    running.communicate()
    process.wait_until_gone(int((tmp_path / "pid").read_text()))
    end = time.monotonic() + 60
    while list((tmp_path / "temp").iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not list((tmp_path / "temp").iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_while_an_object_is_removed_is_not_lost(number):
    class Removed:
        def __del__(self):
            os.kill(os.getpid(), number)
            time.sleep(0.01)  # here it is taken, where nothing can be raised

    def wait():
        Removed()
        time.sleep(20)

    with cli.heeding(), pytest.raises(KeyboardInterrupt) as caught:
        wait()
    assert cli.status_and_words(caught.value)[0] == 128 + number


def test_who_is_to_outlive_the_terminal_does(tmp_path):
    """What nohup ignores stays ignored."""
    text = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from understudy.cli import heeding\n"
        "with heeding(): os.kill(os.getpid(), signal.SIGHUP)\n"
        "sys.exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 7
