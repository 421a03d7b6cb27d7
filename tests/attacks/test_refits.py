"""A generator run again and again: what fails is named, what is stopped goes on."""

import functools
import itertools
import os
import queue
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import naughty
from understudy.attacks.refits import Refit, RefitJob, World, refit
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.jobs import runner
from understudy.jobs.runner import portable
from understudy.jobs.workers import TimeLimits, Worker
from understudy.synthesizers.generators import FunctionGenerator, NamedGenerator, generator

HOW = ["fine", "raises", "hangs", "dies", "other columns", "too few"]


@pytest.fixture(scope="module")
def base() -> Table:
    numbers = [i / 10 for i in range(60)]
    return Table.of(pl.DataFrame({"number": numbers, "how": HOW * 10}))


def game(base: Table, fit=naughty.shuffled, copies: int = 1) -> RefitJob:
    return RefitJob(
        FunctionGenerator(fit), Table(base.frame, base.schema), naughty.mean_of_numbers, 30, copies
    )


def world(how: str) -> World:
    return World(how, np.arange(6), pl.DataFrame({"number": [0.5], "how": [how]}))


@pytest.mark.slow
def test_failures_are_answers_by_the_name_of_their_world(base):
    ends = {"hangs", "dies"}  # a process each, so once is enough
    tasks = [Refit(world(how), seed) for how in HOW for seed in ((1,) if how in ends else (1, 2))]
    answers = list(refit(game(base, naughty.by_world), tasks, workers=2, limit=2.0))
    assert {a.task.name for a in answers} == {task.name for task in tasks}
    said = {(a.task.world.name, a.value is None): a.error for a in answers}
    assert said["fine", False] == ""
    assert said["raises", True] == "ValueError: I do not like this table"
    assert said["hangs", True] == "it did not finish within 2 seconds and was stopped"
    assert said["dies", True] == "its process was lost (exit status 7)"
    assert "number" in said["other columns", True]
    assert said["too few", True].startswith("by_world gave 29 rows, and 30 were asked for")


def test_answers_do_not_depend_on_processes_or_order(base):
    tasks = [Refit(World("all"), seed) for seed in range(6)]
    alone = {a.task.seed: a.value for a in refit(game(base), tasks, workers=1)}
    both = {a.task.seed: a.value for a in refit(game(base), tasks[::-1], workers=2)}
    assert sorted(alone) == list(range(6))
    assert all(np.array_equal(alone[seed], both[seed]) for seed in alone)
    played = game(base).do(tasks[3])
    assert np.array_equal(alone[3], played)


def test_what_a_generator_prints_is_not_taken_for_an_answer(base):
    (answer,) = refit(game(base, naughty.talkative), [Refit(World("all"), 1)], workers=1)
    assert answer.error == ""


def test_a_program_that_a_generator_starts_does_not_inherit_our_places(base, monkeypatch):
    """Another Python would take our modules for its own, and fail."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (answer,) = refit(game(base, naughty.inherits), [Refit(World("all"), 1)], workers=1)
    assert answer.error == "ValueError: nothing"


@pytest.mark.slow
def test_a_function_that_cannot_be_sent_is_played_here(base):
    def local(table):
        time.sleep(30 if table["number"].max() > 100 else 0)
        return lambda n: table.sample(n, with_replacement=True, seed=1)

    played = game(base, local)
    assert portable(played) is None
    slow = World("slow", added=pl.DataFrame({"number": [1000.0], "how": ["fine"]}))
    answers = list(refit(played, [Refit(slow, 0), Refit(World("all"), 0)], limit=4))
    assert "did not finish within 4 seconds" in answers[0].error
    assert answers[1].error == ""


def test_a_stopped_game_goes_on_from_its_journal(base, tmp_path):
    journal, tasks = tmp_path / "journal", [Refit(World("all"), seed) for seed in range(6)]
    whole = {a.task.seed: a.value for a in refit(game(base), tasks, workers=1)}
    first = list(itertools.islice(refit(game(base), tasks, workers=1, journal=journal), 3))
    with journal.open("a") as file:
        file.write('\n{"task": "all #5", "numb')  # killed in the middle of a line
    read = []
    again = refit(
        game(base), tasks, workers=1, journal=journal, progress=lambda *now: read.append(now)
    )
    answers = {a.task.seed: a.value for a in again}
    assert len(first) == 3
    assert len(read) == 3  # only what was missing was played
    assert all(np.array_equal(answers[seed], whole[seed]) for seed in whole)


def test_a_journal_in_a_file_that_was_empty_is_for_its_owner(base, tmp_path):
    journal = tmp_path / "journal"
    journal.touch()
    journal.chmod(0o644)
    list(refit(game(base), [Refit(World("all"), 1)], workers=1, journal=journal))
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_generator_beside_an_interactive_session_is_found(tmp_path):
    """There the folder that Python was started in is an empty name among the places."""
    mine = "import naughty\ndef fit(table, seed): return naughty.shuffled(table, seed)\n"
    (tmp_path / "mine.py").write_text(mine)
    text = f"""
import sys
sys.path[1:1] = {[str(Path(naughty.__file__).parent)]!r}
import mine, naughty, polars as pl
from understudy.attacks.refits import Refit, RefitJob, World, refit
from understudy.synthesizers.generators import FunctionGenerator
from understudy.data.tables import Table
assert sys.path[0] == ""
table = Table.of(pl.DataFrame({{"number": [i / 10 for i in range(60)]}}))
table = Table(table.frame, table.schema)
game = RefitJob(FunctionGenerator(mine.fit), table, naughty.mean_of_numbers, 30, 1)
print([answer.error for answer in refit(game, [Refit(World("all"), n) for n in (1, 2)], workers=2)])
"""
    ran = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "['', '']\n"


def test_a_journal_of_another_game_is_refused(base, tmp_path):
    journal = tmp_path / "journal"
    list(refit(game(base), [Refit(World("all"), 1)], workers=1, journal=journal))
    with pytest.raises(OptionError, match="journal of another attack"):
        list(refit(game(base, copies=2), [Refit(World("all"), 1)], journal=journal))
    journal.write_text("a letter\n")
    with pytest.raises(OptionError, match="is no journal of an attack"):
        list(refit(game(base), [Refit(World("all"), 1)], journal=journal))


def test_no_task_begins_after_the_deadline(base):
    tasks = [Refit(World("all"), seed) for seed in range(50)]
    assert list(refit(game(base), tasks, workers=1, deadline=time.monotonic() - 1)) == []


def test_who_stops_asking_stops_the_processes(base, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    started = []
    start = Worker.start
    monkeypatch.setattr(Worker, "start", lambda self: start(self) or started.append(self.process))
    answers = refit(game(base), [Refit(World("all"), seed) for seed in range(50)], workers=2)
    next(answers)
    assert [process.poll() for process in started] == [None, None]
    answers.close()
    assert all(process.poll() is not None for process in started)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_running_tasks_are_stopped_soon_after_the_deadline(base, monkeypatch):
    monkeypatch.setattr(runner, "GRACE", 0.5)
    tasks = [Refit(world("hangs"), seed) for seed in range(3)]
    played = game(base, naughty.by_world)
    (answer,) = refit(played, tasks, workers=1, deadline=time.monotonic() + 3)
    assert answer.error == "the budget was used up before it finished"


def test_what_is_played_here_is_stopped_soon_after_the_deadline_too(base, monkeypatch):
    monkeypatch.setattr(runner, "GRACE", 0.2)

    def local(table):
        time.sleep(30)
        raise AssertionError("it was not stopped")

    deadline = time.monotonic() + 0.3
    (answer,) = refit(game(base, local), [Refit(World("all"), 1)] * 2, deadline=deadline)
    assert answer.error == "the budget was used up before it finished"


def test_a_partial_function_of_a_script_is_played_here(base):
    def local(table, step):
        return lambda n: table.head(n)

    local.__module__ = "__main__"
    assert portable(game(base, functools.partial(local, step=2))) is None
    assert portable(game(base, functools.partial(naughty.shuffled, seed=1))) is not None


def test_a_worker_that_is_lost_while_idle_is_started_again(base):
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as the command line has it
    inbox, task = queue.SimpleQueue(), Refit(World("all"), 1)

    def answer():
        outcome = None
        while outcome is None:
            _, process, received = inbox.get(timeout=60)
            outcome = worker.hear(received) if process is worker.process else None
        return outcome

    try:
        worker = Worker(portable(game(base)), Path(tempfile.gettempdir()), inbox, TimeLimits(60))
        worker.ask(task)
        assert answer().error == ""
        worker.process.kill()
        worker.process.wait()
        worker.ask(task)  # nobody has noticed yet
        assert "its process was lost (exit status -9)" in answer().error
        worker.ask(task)
        assert answer().error == ""
    finally:
        signal.signal(signal.SIGPIPE, before)
        worker.stop()


ORPHAN = """
import pathlib, sys, tempfile, time
tempfile.tempdir = sys.argv[1]
import naughty, polars as pl
from understudy.attacks.refits import Refit, RefitJob, World, refit
from understudy.synthesizers.generators import FunctionGenerator
from understudy.data.tables import Table
base = Table.of(pl.DataFrame({"number": [0.5, 1.5] * 9, "how": ["hangs", "fine"] * 9}))
added = pl.DataFrame({"number": [0.5], "how": ["hangs"]})
base = Table(base.frame, base.schema)
game = RefitJob(FunctionGenerator(naughty.by_world), base, naughty.mean_of_numbers, 9)
list(refit(game, [Refit(World("hangs", None, added), 1)], workers=1))
"""


@pytest.mark.slow
def test_who_is_killed_leaves_no_process_and_no_table(tmp_path):
    places = os.pathsep.join(filter(None, sys.path))
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tmp_path)], env={**os.environ, "PYTHONPATH": places}
    )
    for _ in range(200):
        if list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert list(tmp_path.iterdir())
    time.sleep(1)
    parent.kill()
    parent.wait()
    for _ in range(100):
        if not list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


def test_a_journal_is_for_its_owner_and_knows_worlds_apart(base, tmp_path):
    journal = tmp_path / "journal"
    one, other = (
        World("world 1", None, pl.DataFrame({"number": [number], "how": ["fine"]}))
        for number in (1.0, 2.0)
    )
    (first,) = refit(game(base), [Refit(one, 1)], workers=1, journal=journal)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    read = []
    (second,) = refit(
        game(base), [Refit(other, 1)], workers=1, journal=journal,
        progress=lambda *now: read.append(now),
    )  # fmt: skip
    assert len(read) == 1  # played anew: the name is the same, the record is not
    again = list(refit(game(base), [Refit(one, 1), Refit(other, 1)], workers=1, journal=journal))
    assert np.array_equal(again[0].value, first.value)
    assert np.array_equal(again[1].value, second.value)


def test_a_function_is_the_same_in_every_process():
    code = (
        "import naughty; from understudy.synthesizers.generators import FunctionGenerator; "
        "print(FunctionGenerator(naughty.shuffled).identity)"
    )
    places = os.pathsep.join(filter(None, sys.path))
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": places},
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for _ in range(2)
    }  # fmt: skip
    assert told == {FunctionGenerator(naughty.shuffled).identity}
    assert FunctionGenerator(naughty.talkative).identity not in told


def test_ours_and_functions_are_generators(base):
    own = generator("bootstrap")
    assert own == NamedGenerator("bootstrap")
    assert [frame.height for frame in own(base, 5, 2, 1)] == [5, 5]
    assert generator(naughty.shuffled).name == "shuffled"
    with pytest.raises(OptionError, match="is no generator"):
        generator(3)
    with pytest.raises(OptionError, match="there is no method 'kart'"):
        generator("kart")


def test_a_function_gets_tables_of_the_callers_kind(base):
    pandas = pytest.importorskip("pandas")
    seen = []

    def fit(table):
        seen.append(type(table))
        return lambda n: table.head(n)

    frame = pandas.DataFrame({"number": [1.0, 2.0, 3.0], "how": ["a", "b", "a"]})
    made = generator(fit, like=frame)(Table.of(frame), 2, 1, 0)
    assert seen == [pandas.DataFrame]
    assert len(made[0]) == 2
