"""A calibration that was stopped goes on: as if nothing had been, and from its own runs alone."""

import json
import stat
from types import SimpleNamespace

import numpy as np
import pytest

from people import people
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs import fingerprint as fingerprints
from understudy.jobs import runner
from understudy.jobs.journal import Journal
from understudy.jobs.workers import Outcome
from understudy.workflows.calibrate import calibrate, play
from understudy.workflows.calibrate.planting import CalibrationJob, Cell, CellFindings, RealRows
from understudy.workflows.calibrate.schedule import Schedule, seen_entry, summary

NAME = "privacy.identical_matches"
COSTS = {"cheap": 0.2, "dear": 3.0, "broken": 0.5, "fickle": 1.0}


class Stopped(Exception):
    """The program is killed."""


@pytest.fixture
def clock(monkeypatch):
    """Runs whose answers and seconds are known, one after the other."""
    now = SimpleNamespace(seconds=0.0, most=10**9, asked=[])

    class Known:
        end, process, task = float("inf"), None, None

        def __init__(self, payload, folder, inbox, limits, *, alone):
            self.inbox = inbox

        def ask(self, cell):
            if len(now.asked) >= now.most:
                raise Stopped
            now.asked.append(cell)
            self.task = cell
            self.inbox.put((self, None, b""))

        def hear(self, received):
            cell, self.task = self.task, None
            now.seconds += sum(COSTS[name] for name in cell.measures)
            rng = np.random.default_rng(cell.seed)
            numbers, notes = [], {}
            for name in cell.measures:
                none = name == "broken" or (name == "fickle" and rng.random() < 0.3)
                alarm = rng.random() < (cell.count / 100 if cell.count else 0.05)
                numbers.append([np.nan if none else float(alarm), COSTS[name]])
                if none:
                    notes[name] = ["failed", f"{name} at {cell.seed}"]
            return Outcome(cell, CellFindings(cell, np.array(numbers), notes))

        def stop(self):
            pass

    monkeypatch.setattr(runner, "Worker", Known)
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


def opened(path, schedule, name="the same"):
    return Journal.open(path, name, "calibration", read=schedule.read, write=seen_entry)


def played(path, clock, most=10**9):
    """Play until killed or done, as calibrate() does; give the schedule."""
    schedule = Schedule(COSTS, 1000, 7)
    journal = opened(path, schedule)
    schedule.go_on(journal)
    clock.asked, clock.most, clock.seconds = [], most, 5000.0  # the clock is another one
    start = clock.seconds - journal.spent
    play("a bench", schedule, start, 600, 1, lambda *_: None, journal)
    return schedule


@pytest.mark.slow
def test_a_stopped_calibration_ends_as_one_that_was_not(clock, tmp_path):
    whole = played(tmp_path / "whole", clock)
    cells = list(clock.asked)
    assert len(cells) > 100
    seen = []
    for most in (5, 40, 1):
        with pytest.raises(Stopped):
            played(tmp_path / "stopped", clock, most)
        seen += clock.asked
        with (tmp_path / "stopped").open("a") as file:
            file.write('\n{"task": "copies 3 #1", "numb')  # killed in the middle of a line
    resumed = played(tmp_path / "stopped", clock)
    assert seen + clock.asked == cells  # the same runs, in the same order, none twice
    assert summary(resumed) == summary(whole)
    assert resumed.retired == whole.retired
    assert resumed.failures == whole.failures
    assert {k: vars(lane) for k, lane in resumed.lanes.items()} == {
        k: vars(lane) for k, lane in whole.lanes.items()
    }
    again = played(tmp_path / "stopped", clock)
    assert clock.asked == []  # the budget is that of all goes together
    assert summary(again) == summary(whole)


def test_a_run_that_was_lost_is_tried_again(clock, tmp_path):
    whole = Schedule(COSTS, 1000, 7)
    cell = whole.next()
    journal = opened(tmp_path / "journal", whole)
    journal.add(cell.key, None, "its process was lost", 3.0)
    journal.close()
    again = Schedule(COSTS, 1000, 7)
    journal = opened(tmp_path / "journal", again)
    again.go_on(journal)
    assert journal.spent == 0
    assert again.next() == cell


ENTRY = {
    "task": "copies 3 #5", "numbers": [[1.0, 0.2], [None, 0.1]], "error": "", "kind": "copies",
    "count": 3, "seed": 5, "measures": ["cheap", "broken"],
    "notes": {"broken": ["failed", "no"]}, "spent": 3.5,
}  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "jokes"}, {"kind": 3}, {"kind": None}, {"count": 2.5}, {"count": -1},
        {"count": 10**6}, {"count": True}, {"seed": "5"}, {"seed": -5}, {"measures": "cheap"},
        {"measures": ["cheap"]}, {"measures": ["cheap", "unknown"]}, {"measures": ["cheap", 3]},
        {"measures": ["cheap", "cheap"]}, {"numbers": [1.0, 0.2]}, {"numbers": [[1.0], [0.2]]},
        {"numbers": [[2.0, 0.2], [0.0, 0.1]]}, {"numbers": [[1.0, -1.0], [0.0, 0.1]]},
        {"numbers": [[1.0, None], [0.0, 0.1]]}, {"numbers": [[1.0, "inf"], [0.0, 0.1]]},
        {"notes": "no notes"}, {"notes": []}, {"notes": None}, {"notes": {"broken": 3}},
        {"notes": {"unknown": ["failed", "no"]}}, {"notes": {"broken": ["failed", 3]}},
        {"notes": {"broken": ["failed"]}},
        {"spent": None}, {"spent": "3"}, {"spent": -3.0}, {"task": "copies 3 #6"},
    ],
)  # fmt: skip
def test_an_entry_of_another_form_is_an_error_that_names_its_line(changed, tmp_path):
    schedule = Schedule(COSTS, 1000, 7)
    opened(tmp_path / "journal", schedule).close()
    head = (tmp_path / "journal").read_text()
    (tmp_path / "journal").write_text(head + "\n" + json.dumps(ENTRY))
    good = opened(tmp_path / "journal", schedule)
    schedule.go_on(good)
    assert good.spent == 3.5
    good.close()
    (tmp_path / "journal").write_text(head + "\n" + json.dumps({**ENTRY, **changed}))
    with pytest.raises(DataError, match="line 3 "):
        opened(tmp_path / "journal", schedule)


def test_from_end_to_end_only_the_same_calibration_goes_on(tmp_path, monkeypatch):
    journal = tmp_path / "journal"
    table, given = people(330, 1), {"measures": [NAME], "keys": ["age"], "workers": 1}
    first = calibrate(table, **given, budget=0.5, journal=journal)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    entries = [json.loads(line) for line in journal.read_text().split("\n") if line][1:]
    assert len(entries) >= 4
    modelled = Table.of(table).with_rows()
    bench = CalibrationJob(RealRows(modelled.modelled, modelled.schema), ("age",))
    for entry in entries[:10]:  # what stands there is what the run gives
        cell = Cell(entry["kind"], entry["count"], entry["seed"], tuple(entry["measures"]))
        assert bench.do(cell).numbers[:, 0].tolist() == [alarm for alarm, _ in entry["numbers"]]
    text = journal.read_text()
    again = calibrate(table, **given, budget=0.5, journal=journal)
    assert journal.read_text() == text
    assert again.measures == first.measures
    assert again.provenance["seconds"] >= first.provenance["seconds"] - 0.2
    assert f"{len(entries)} tables stood in the journal" in " ".join(again.provenance["notes"])
    for changed in (
        {"seed": 1},
        {"real": people(330, 2)},
        {"keys": ["age", "town"]},
        {"sensitive": ["smoker"]},
        {"measures": ["privacy.closest_record"]},
        {"rows": 320},
        {"method": "independent"},
        {"options": {NAME: {"permutations": 19}}},
    ):
        with pytest.raises(OptionError, match="journal of another calibration"):
            calibrate(**{"real": table, **given, "journal": journal, **changed})
    monkeypatch.setattr(fingerprints, "__version__", "0.0.1")
    with pytest.raises(OptionError, match="other data, generator, options or version"):
        calibrate(table, **given, journal=journal)
    assert journal.read_text() == text


def test_what_is_no_journal(tmp_path):
    (tmp_path / "letter").write_text("Dear all,\n")
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(OptionError, match="is no journal of a calibration"):
        Journal.open(tmp_path / "letter", "a", "calibration")
    with pytest.raises(DataError, match="the journal is not UTF-8 text"):
        Journal.open(tmp_path / "picture", "a", "calibration")
    Journal.open(tmp_path / "attack", "a").close()
    with pytest.raises(OptionError, match="is no journal of a calibration"):
        Journal.open(tmp_path / "attack", "a", "calibration")
    with pytest.raises(OptionError, match="cannot be a journal: No such file"):
        Journal.open(tmp_path / "nowhere" / "journal", "a")
    (tmp_path / "empty").touch()  # killed before the first line
    Journal.open(tmp_path / "empty", "a").add("one", np.array([0.1, np.nan]))
    known = Journal.open(tmp_path / "empty", "a").known["one"]
    assert np.array_equal(known, [0.1, np.nan], equal_nan=True)
