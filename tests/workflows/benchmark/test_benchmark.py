"""Methods on splits: what is kept, what is done again, what a failure looks like."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import process
import understudy as us
from people import people
from understudy.data.tables import Table
from understudy.jobs import workers
from understudy.jobs.locks import locked
from understudy.jobs.workers import Outcome
from understudy.report.benchmark import show
from understudy.workflows import benchmark as home
from understudy.workflows.benchmark.cell import CellTask

SPARE = ("-o", "fidelity.detection.iterations=5")
QUICK = {"fidelity.detection": {"iterations": 5}, "utility.classification": {"iterations": 5}}
COSTS = {"cpu_seconds": 0.1, "wall_seconds": 0.2, "peak_mib": 3.0}
FINDING = {
    "status": "ok", "value": 0.5, "interval": [0.1, None], "reference": None, "flagged": False,
    "better": "lower", "unit": "fraction", "note": "",
}  # fmt: skip
FINISHED = {
    "status": "ok", "sizes": {"train": 3, "synthetic": 3, "control": 3}, "warnings": ["few"],
    "findings": {"fidelity.univariate": FINDING}, "fit": COSTS, "sample": COSTS,
}  # fmt: skip


def understudy(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return process.understudy("benchmark", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def result() -> us.Benchmark:
    """One method that works and one that fails, on a pair of tables and their swap."""

    def spoilt(cell, *more):
        return CellTask(
            {**cell, "options": {"p": 7.0}} if cell["method"] == "flip" else cell, *more
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "CellTask", spoilt)
        return us.benchmark(
            people(90, 1),
            holdout=people(80, 2),
            methods=["bootstrap", "flip"],
            splits=2,
            target="sex",
            options=QUICK,
            seed=3,
        )


def test_a_pair_of_tables_is_swapped_and_sizes_match(result):
    sizes = [cell["sizes"] for cell in result.cells if cell["status"] == "ok"]
    assert sizes == [
        {"train": 90, "synthetic": 80, "control": 80},
        {"train": 80, "synthetic": 90, "control": 90},
    ]
    seeds = {cell["seed"] for cell in result.cells}
    assert len(seeds) == 2


def test_mean_and_spread_beside_the_reference(result):
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    good = data["methods"][0]
    assert set(good["measures"]) == set(data["references"]) == set(home.MEASURED)
    assert good["measures"]["privacy.identical_matches"]["mean"] == 1.0
    assert good["measures"]["privacy.identical_matches"]["sd"] == 0.0
    assert data["references"]["privacy.identical_matches"]["mean"] == 0.0
    for phase in ("fit", "sample"):
        assert good[phase]["cpu_seconds"]["mean"] >= 0
        assert 20 < good[phase]["peak_mib"]["mean"] < 2000


def test_a_method_that_fails_is_a_row_that_says_so(result):
    failed = result.to_dict()["methods"][1]
    assert (failed["splits"], failed["failed"]) == (0, 2)
    assert "p = 7" in failed["reasons"][0]
    assert not result.all_failed


def test_frame(result):
    frame = result.frame()
    assert frame.filter(method="flip")["status"].to_list() == ["failed"] * 2
    assert frame.filter(measure="privacy.identical_matches")["value"].to_list() == [1.0, 1.0]
    assert frame.filter(measure="fit.cpu_seconds").height == 2


@pytest.mark.parametrize("width", [20, 60, 100])
def test_it_is_shown_at_any_width(result, width):
    file = io.StringIO()
    show(result.to_dict(), file=file, width=width)
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "bootstrap" in text
    flat = " ".join(text.split())
    assert "flip failed on 2 of 2 splits" in flat
    assert "100.00 ± 0.00 %" in flat


@pytest.mark.slow
def test_the_command_goes_on_from_finished_cells(tmp_path):
    people(100, 1).write_csv(tmp_path / "real.csv")
    head = ("real.csv", "--methods", "bootstrap,flip", "--splits", 1, "--out", "cells", *SPARE)
    first = understudy(*head, "--json", "a.json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "no --target" in first.stderr
    assert "privacy.closest_record" in first.stdout
    cells = sorted((tmp_path / "cells").glob("*.json"))
    assert [cell.name for cell in cells] == ["bootstrap-001.json", "flip-001.json"]
    before = [cell.stat().st_mtime_ns for cell in cells]
    again = understudy(*head, "--json", "b.json", cwd=tmp_path)
    assert again.stdout == first.stdout
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    assert [cell.stat().st_mtime_ns for cell in cells] == before
    changed = understudy(*head, "-o", "flip.p=0.1", "--quiet", cwd=tmp_path)
    assert (changed.stdout, changed.stderr) == ("", "")
    after = [cell.stat().st_mtime_ns for cell in cells]
    assert after[0] == before[0]
    assert after[1] > before[1]
    assert (tmp_path / "cells" / "key").stat().st_mode & 0o777 == 0o600
    handed_on = (tmp_path / "a.json").read_text()
    assert not any(json.loads(cell.read_text())["key"] in handed_on for cell in cells)
    other = [
        home._finished_before(tmp_path / "cells", json.loads(c.read_text()) | {"key": "x"})
        for c in cells
    ]
    assert other == [None, None]


@pytest.mark.slow
def test_cells_hold_no_row_values(tmp_path):
    real = people(60, 1)
    us.benchmark(real, methods=["bootstrap"], splits=1, out=tmp_path, options=QUICK)
    text = (tmp_path / "bootstrap-001.json").read_text()
    assert not any(str(value) in text for value in real["income"].drop_nulls())
    assert "town 2" not in text


@pytest.mark.slow
def test_an_interrupt_leaves_whole_cells_only(tmp_path):
    people(400, 1).write_csv(tmp_path / "real.csv")
    head = [sys.executable, "-m", "understudy", "benchmark", "real.csv"]
    rest = ["--methods", "bootstrap", "--splits", "50", "--out", "cells"]
    running = subprocess.Popen(
        [*head, *rest], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("cells/*.json"))) < 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    names = sorted(path.name for path in (tmp_path / "cells").glob("*.json"))
    assert names == [f"bootstrap-{number:03d}.json" for number in range(1, len(names) + 1)]
    for name in names:
        assert json.loads((tmp_path / "cells" / name).read_text())["status"] == "ok"


def test_a_spoilt_or_failed_cell_is_done_again(tmp_path):
    cell = {"method": "flip", "split": 1, "key": "k"}
    file = tmp_path / "flip-001.json"
    assert home._finished_before(tmp_path, cell) is None
    for text in ("", "[]", '{"key": "k", "status": "failed"}', '{"key": "j", "status": "ok"}'):
        file.write_text(text)
        assert home._finished_before(tmp_path, cell) is None
    whole = {**cell, **FINISHED}
    file.write_text(json.dumps(whole))
    assert home._finished_before(tmp_path, cell) == whole


@pytest.mark.parametrize(
    "changed",
    [
        {"findings": None}, {"findings": []}, {"findings": {"a": 3}}, {"findings": {"a": {}}},
        {"findings": {"a": {**FINDING, "value": "high"}}},
        {"findings": {"a": {**FINDING, "interval": [1]}}},
        {"findings": {"a": {**FINDING, "interval": ["a", "b"]}}},
        {"findings": {"a": {**FINDING, "status": None}}}, {"fit": None}, {"fit": {}},
        {"sample": [1, 2]}, {"sample": {**COSTS, "peak_mib": "much"}}, {"warnings": 3},
        {"warnings": [3]}, {"sizes": None}, {"status": ["ok"]}, {"key": ["k"]},
    ],
)  # fmt: skip
def test_a_cell_of_another_form_is_done_again(changed, tmp_path):
    cell = {"method": "flip", "split": 1, "key": "k"}
    (tmp_path / "flip-001.json").write_text(json.dumps({**cell, **FINISHED, **changed}))
    assert home._finished_before(tmp_path, cell) is None


@pytest.mark.parametrize("key", [b"", b"\xff\xfe", b"secret", b"0" * 63, b"0" * 10**6, b"\0" * 64])
def test_a_spoilt_key_is_an_error(key, tmp_path):
    (tmp_path / "key").write_bytes(key)
    with pytest.raises(us.UnderstudyError, match="key of finished cells") as caught:
        us.benchmark(people(60, 1), methods=["bootstrap"], out=tmp_path)
    assert "name another folder" in caught.value.hint


def test_an_edited_program_is_tried_again(tmp_path, monkeypatch):
    ran = []

    def finished(job, tasks, **more):
        for task in tasks:
            ran.append(task)
            yield Outcome(task, FINISHED)

    monkeypatch.setattr(home, "run", finished)
    program = tmp_path / "maker.py"

    def tried(text, **more):
        program.write_text(text)
        options = {"command": {"command": f"python {program} {{train}} {{out}}", **more}}
        us.benchmark(
            people(60, 1), methods=["command"], splits=1, out=tmp_path / "cells", options=options
        )
        return len(ran)

    (tmp_path / "cells").mkdir()
    assert tried("one") == 1
    assert tried("one") == 1
    assert tried("two") == 2
    assert tried("two", version="3") == 3
    assert tried("any", version="3") == 3
    unknown = {"command": {"command": "python -m maker {train} {out}"}}
    with pytest.raises(us.UnderstudyError, match="still the program that it was") as caught:
        us.benchmark(
            people(60, 1), methods=["command"], splits=1, out=tmp_path / "cells", options=unknown
        )
    assert "-o command.version=TEXT" in caught.value.hint
    us.benchmark(people(60, 1), methods=["command"], splits=1, options=unknown)  # nothing is kept


def test_a_process_that_dies_is_a_failure(monkeypatch):
    monkeypatch.setattr(workers, "MAIN", "sys.exit('it hurts')")
    (cell,) = us.benchmark(people(60, 1), methods=["bootstrap"], splits=1).cells
    assert cell["status"] == "failed"
    assert cell["reason"] == "its process was lost (exit status 1): it hurts"


def test_one_run_at_a_time_keeps_cells_in_a_folder(tmp_path):
    with (
        locked(tmp_path / "key", hint="wait"),
        pytest.raises(us.UnderstudyError, match="another run is at work on it") as caught,
    ):
        us.benchmark(people(60, 1), methods=["bootstrap"], splits=1, out=tmp_path)
    assert "name another folder" in caught.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["cartt"]}, "there is no method 'cartt'"),
        ({"methods": []}, "there is no method to try"),
        ({"splits": 0}, "splits = 0"),
        ({"rows": 0}, "rows = 0"),
        ({"target": "seks"}, "there is no column 'seks'"),
        ({"options": {"flip": {"p": 0.1}}}, "not among the methods"),
        ({"options": {"bootstrap": {"p": 0.1}}}, "no option 'p'"),
        ({"options": {"fidelity.detektion": {"p": 0.1}}}, "no method or measure"),
        ({"options": {"fidelity.detection": {"p": 0.1}}}, "no option 'p'"),
        ({"options": {"privacy.closest_record": {"distance": max}}}, "no plain value"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_work(options, message):
    with pytest.raises(us.UnderstudyError, match=message) as caught:
        us.benchmark(people(60, 1), **{"methods": ["bootstrap"], **options})
    assert caught.value.hint


def test_few_rows_cannot_be_split():
    with pytest.raises(us.UnderstudyError, match="too few to split"):
        us.benchmark(people(20, 1), methods=["bootstrap"])


def test_bad_usage_ends_with_status_2(tmp_path):
    people(60, 1).write_csv(tmp_path / "real.csv")
    for given in (("--methods", "nonsense"), ("--methods", "flip", "--splits", 0), ()):
        done = understudy("real.csv", *given, cwd=tmp_path)
        assert done.returncode == 2
        assert "hint: " in done.stderr
        assert "Traceback" not in done.stderr


def test_no_method_worked_is_status_2(tmp_path):
    people(60, 1).write_csv(tmp_path / "real.csv")
    wrong = ("-o", 'cart.keep=["nonsense"]')
    done = understudy("real.csv", "--methods", "cart", "--splits", 1, *wrong, cwd=tmp_path)
    assert done.returncode == 2
    assert "cart failed on 1 of 1 splits" in done.stdout
    assert "no method worked" in done.stderr


@pytest.mark.parametrize(
    ("target", "measured"),
    [("sex", "utility.classification"), ("age", "utility.regression"), (None, None)],
)
def test_what_is_predicted_decides_how_it_is_measured(target, measured):
    plan = home._Plan(Table.of(people(60, 1)), None, {}, target, None, 0, "")
    utility = [name for name in plan.cell("cart", 0)["measures"] if name.startswith("utility")]
    assert utility == ([] if measured is None else [measured])
