"""The command line, run as a process."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from rich.file_proxy import FileProxy

from people import people
from process import alone, assert_demo, here, understudy
from understudy.cli import cli, common, main


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a real table, split and synthesized by the command line itself."""
    folder = tmp_path_factory.mktemp("cli")
    people(600, 1).write_csv(folder / "real.csv")
    assert understudy("split", "real.csv", "--out", ".", "--seed", 1, cwd=folder).returncode == 0
    done = understudy("synthesize", "train.csv", "--out", "synthetic.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


ASSESS = ("assess", "train.csv", "synthetic.csv", "--holdout", "holdout.csv")


def test_split_keeps_every_cell_as_it_was_written(folder, tmp_path):
    (tmp_path / "a.csv").write_text("code,x\n007,1.50\n008,2.0\n,3\n010,4e0\n")
    assert (
        understudy("split", "a.csv", "--out", "out", "--holdout", 0.5, cwd=tmp_path).returncode == 0
    )
    lines = [(tmp_path / "out" / f).read_text().splitlines() for f in ("train.csv", "holdout.csv")]
    assert all(part[0] == "code,x" for part in lines)
    assert sorted(lines[0][1:] + lines[1][1:]) == sorted(["007,1.50", "008,2.0", ",3", "010,4e0"])


def test_split_by_group(folder, tmp_path):
    done = understudy("split", "real.csv", "--out", tmp_path, "--group", "town", cwd=folder)
    assert done.returncode == 0
    train, holdout = (pl.read_csv(tmp_path / f"{p}.csv") for p in ("train", "holdout"))
    assert not set(train["town"]) & set(holdout["town"])
    assert train.height + holdout.height == 600


def test_assess_prints_a_table(folder):
    done = understudy(*ASSESS, cwd=folder)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "privacy.identical_matches" in done.stdout
    assert "lower is better" in done.stdout


def test_json_to_standard_output_is_all_there_is(folder):
    few = ("--json", "-", "--seed", 3, "--measures", "fidelity.univariate,privacy.closest_record")
    done = alone(*ASSESS, *few, cwd=folder)
    data = json.loads(done.stdout)
    assert data["provenance"]["seed"] == 3
    assert done.stderr == ""
    again = json.loads(understudy(*ASSESS, *few, cwd=folder).stdout)
    assert again["findings"] == data["findings"]


def test_files_are_written(folder, tmp_path):
    out = tmp_path / "a.json", tmp_path / "a.html"
    few = ("--measures", "fidelity.univariate,privacy.identical_matches")
    done = understudy(*ASSESS, *few, "--json", out[0], "--html", out[1], "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(out[0].read_text())["version"] == 1
    assert str(folder) not in out[1].read_text()
    assert "train.csv" not in out[1].read_text()


def test_options_measures_and_schema(folder, tmp_path):
    schema = tmp_path / "schema.toml"
    assert understudy("schema", "train.csv", "--out", schema, cwd=folder).returncode == 0
    schema.write_text(schema.read_text().replace('"number"', '"category"', 1))
    done = understudy(
        *ASSESS, "--json", "-", "--schema", schema,
        "--measures", "fidelity.hellinger,privacy.too_close", "-o", "fidelity.hellinger.bins=3",
        cwd=folder,
    )  # fmt: skip
    data = json.loads(done.stdout)
    assert [f["measure"] for f in data["findings"]] == [
        "fidelity.hellinger",
        "privacy.too_close",
    ]
    assert data["provenance"]["options"] == {"fidelity.hellinger": {"bins": 3}}


def test_replicates_and_models(folder, tmp_path):
    done = understudy(
        "synthesize", "train.csv", "--out", tmp_path / "s.parquet", "--replicates", 2, "--rows", 50,
        "--method", "flip", "-o", "flip.p=0.3", "--save", tmp_path / "m.model", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "made anew: person_id" in done.stderr
    first, second = (pl.read_parquet(tmp_path / f"s_{i}.parquet") for i in (1, 2))
    assert first.height == 50
    assert not first.equals(second)
    again = understudy(
        "synthesize", "--from", "m.model", "--out", "t.parquet", "--rows", 50, cwd=tmp_path
    )
    assert again.returncode == 0, again.stderr
    assert pl.read_parquet(tmp_path / "t.parquet").equals(first)
    both = understudy("assess", "train.csv", tmp_path / "s_1.parquet", tmp_path / "s_2.parquet",
                      "--measures", "fidelity.univariate",
                      "--json", "-", cwd=folder)  # fmt: skip
    assert len(json.loads(both.stdout)["provenance"]["synthetic"]) == 2


@pytest.mark.parametrize("command", ["measures", "methods"])
def test_lists(command):
    done = understudy(command, "--json", "-")
    listed = json.loads(done.stdout)[command]
    shown = understudy(command)
    assert listed
    assert all(entry["name"] in shown.stdout for entry in listed)


def test_schema_says_why(folder):
    done = understudy("schema", "real.csv", cwd=folder)
    assert "person_id" in done.stdout
    assert "identifier" in done.stdout
    assert json.loads(understudy("schema", "real.csv", "--json", "-", cwd=folder).stdout)["columns"]


BAD = {
    "no such file": ("assess", "nowhere.csv", "synthetic.csv"),
    "unknown extension": ("assess", "train.doc", "synthetic.csv"),
    "unknown measure": (*ASSESS, "--measures", "fidelity.helinger"),
    "unknown option": (*ASSESS, "-o", "fidelity.hellinger.bin=3"),
    "malformed option": (*ASSESS, "-o", "bins"),
    "unknown key": (*ASSESS, "--keys", "aeg"),
    "other columns": ("assess", "train.csv", "other.csv"),
    "no rows": ("assess", "empty.csv", "synthetic.csv"),
    "not utf-8": ("assess", "latin.csv", "synthetic.csv"),
    "twice the same column": ("schema", "twice.csv"),
    "overwrites its input": ("synthesize", "train.csv", "--out", "train.csv"),
    "folder missing": ("synthesize", "train.csv", "--out", "no/such/folder.csv"),
    "unknown method": ("synthesize", "train.csv", "--out", "o.csv", "--method", "forrest"),
    "impossible option": (
        "synthesize",
        "train.csv",
        "--out",
        "o.csv",
        "--method",
        "flip",
        "-o",
        "flip.p=2",
    ),
    "not a model": ("synthesize", "--from", "train.csv", "--out", "o.csv"),
    "share of one": ("split", "real.csv", "--out", "x", "--holdout", "1"),
    "unknown group": ("split", "real.csv", "--out", "x", "--group", "household"),
    "broken schema": (*ASSESS, "--schema", "train.csv"),
    "unknown data set": ("demo", "--data", "adultt"),
}


@pytest.fixture(scope="module")
def bad_folder(folder) -> Path:
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "empty.csv").write_text("sex,age\n")
    (folder / "latin.csv").write_bytes("näme\n1\n".encode("latin1"))
    (folder / "twice.csv").write_text("a,a\n1,2\n")
    return folder


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_status_2_and_two_lines(bad_folder, case):
    before = sorted(bad_folder.iterdir())
    done = here(*BAD[case], cwd=bad_folder)
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("understudy: ")
    assert lines[1].startswith("hint: ")
    assert len(lines[1]) > len("hint: ")
    assert done.stdout == ""
    assert sorted(bad_folder.iterdir()) == before


def test_usage_errors_are_status_2():
    assert understudy("assess").returncode == 2
    assert understudy("nonsense").returncode == 2
    assert understudy("synthesize", "--out", "x.csv").returncode == 2


def test_version_and_help():
    import understudy as us

    assert us.__version__ in understudy("--version").stdout
    for command in ("schema", "split", "synthesize", "assess", "measures", "methods", "demo"):
        assert command in understudy("--help").stdout
        assert understudy(command, "--help").returncode == 0


def test_interrupting_leaves_nothing_half_written(folder, tmp_path):
    out = tmp_path / "report.html"
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", *ASSESS, "--html", str(out), "--seed", "1",
         "-o", "fidelity.moments.resamples=200000"],
        cwd=folder, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 120
    while "llvmlite" not in Path(f"/proc/{process.pid}/maps").read_text():
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors.strip() == "understudy: interrupted, nothing half written"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_within_compiled_code_is_no_traceback(monkeypatch, capsys):
    def stopped(**options):
        raise SystemError("a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(cli, "main", stopped)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "understudy: interrupted, nothing half written\n"


@pytest.mark.slow
def test_demo(real_data, tmp_path):
    """On a named data set; the test of the README looks at the usual one."""
    real_data("pima_indians_diabetes")
    home = {**os.environ, "HOME": str(tmp_path)}
    words = ("demo", "--data", "pima_indians_diabetes", "--out", tmp_path / "demo")
    done = understudy(*words, env=home)
    assert done.returncode == 0, done.stderr
    assert_demo(tmp_path / "demo", done.stdout, (384, 9))


def test_a_full_standard_output_is_status_2(folder):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "understudy",
                *ASSESS,
                "--json",
                "-",
                "--measures",
                "privacy.identical_matches",
            ],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 2


def test_a_reader_that_goes_away_is_no_error(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", "measures"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    _, errors = process.communicate(timeout=30)
    assert errors == ""
    assert process.returncode in (0, -signal.SIGPIPE)


def test_an_empty_column_name(tmp_path):
    pl.DataFrame({"": [1.5, 2.5, 2.5] * 20, "b": ["x", "y", "z"] * 20}).write_parquet(
        tmp_path / "a.parquet"
    )
    for method in ("independent", "bootstrap", "flip", "corrupt"):
        done = understudy(
            "synthesize", "a.parquet", "--out", "s.parquet", "--method", method, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert pl.read_parquet(tmp_path / "s.parquet").columns == ["", "b"]


def test_what_is_said_beside_a_progress_bar_does_not_go_beneath_it():
    shown, beneath = io.StringIO(), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stderr(FileProxy(Console(file=shown), beneath)):
        common.say("a word")
    assert shown.getvalue() == "a word\n"
