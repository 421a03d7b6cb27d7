"""The one runner: what becomes of tasks, in which process, and until when."""

import itertools
import time

import pytest

from chores import Chore, Chores
from understudy.errors import OptionError
from understudy.jobs.journal import Journal
from understudy.jobs.runner import run


def chores(*how):
    return [Chore(each) for each in how]


def of_processes(path, job="own"):
    return Journal.open(
        path, job, read=lambda entry: entry["process"], write=lambda value: {"process": value}
    )


def test_what_becomes_of_tasks_is_told_by_kind():
    outcomes = list(run(Chores(), chores("raise", "die", "hang", "work"), workers=1, limit=1.0))
    assert [(o.task.how, o.kind, o.error) for o in outcomes] == [
        ("raise", "failed", "ValueError: no"),
        ("die", "lost", "its process was lost (exit status 3)"),
        ("hang", "too long", "it did not finish within 1 seconds and was stopped"),
        ("work", "done", ""),
    ]


def test_processes_are_kept_unless_every_task_is_to_have_its_own():
    one = {outcome.value for outcome in run(Chores(), chores(*"abc"), workers=1)}
    own = [outcome.value for outcome in run(Chores(), chores(*"abc"), workers=1, alone=True)]
    assert len(one) == 1
    assert len(set(own)) == 3
    (lost,) = run(Chores(), chores("die"), alone=True)
    assert lost.error == "its process was lost (exit status 3): a last word"


def test_a_task_does_not_read_the_tasks_that_wait():
    eaten, done = run(Chores(), chores("eat", "work"), workers=1)
    assert (eaten.value, done.kind) == (0, "done")


def test_who_gives_the_tasks_may_wait_for_outcomes_and_go_on_after_the_deadline():
    seen, asked, told = [], [], []

    def following(is_late):
        told.append(is_late)
        if len(asked) > len(seen) or len(asked) == 3:
            return None
        asked.append(str(len(asked)))
        return Chore(asked[-1])

    for outcome in run(Chores(), following, workers=2, deadline=time.monotonic() - 1, grace=30):
        seen.append(outcome.task.how)
    assert seen == ["0", "1", "2"]
    assert all(told)
    assert list(run(Chores(), chores("work"), deadline=time.monotonic() - 1)) == []


def test_a_job_that_was_stopped_goes_on_from_its_journal(tmp_path):
    path, tasks = tmp_path / "journal", chores("a", "raise", "b", "c")
    journal = of_processes(path)
    first = list(itertools.islice(run(Chores(), tasks, workers=1, journal=journal), 3))
    journal.close()
    journal = of_processes(path)
    assert journal.spent > 0
    again = list(run(Chores(), tasks, workers=1, journal=journal))
    assert [(o.task.how, o.is_known) for o in again] == [
        ("a", True), ("b", True), ("raise", False), ("c", False)
    ]  # fmt: skip
    assert [o.value for o in again[:2]] == [first[0].value, first[2].value]
    journal.close()
    with pytest.raises(OptionError, match="journal of another attack"):
        of_processes(path, "another")


def test_a_limit_is_above_0():
    with pytest.raises(OptionError, match="limit = 0"):
        list(run(Chores(), [], limit=0))
