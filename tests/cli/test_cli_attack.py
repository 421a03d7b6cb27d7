"""understudy attack, as a process: any program as the generator, killed and resumed."""

import json
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import process

PROGRAM = """
import csv, random, sys, time
train, out, rows, seed = sys.argv[1:5]
time.sleep(float(sys.argv[5]))
random.seed(int(seed))
with open(train, newline="") as file:
    head, *body = csv.reader(file)
with open(out, "w", newline="") as file:
    csv.writer(file).writerows([head, *random.choices(body, k=int(rows))])
"""


@pytest.fixture
def train(tmp_path) -> Path:
    rng = np.random.default_rng(5)
    first = rng.choice(["a", "b"], 40)
    frame = pl.DataFrame({"x": [*first, "b"], "y": [*["n"] * 40, "y"]})
    frame.write_csv(tmp_path / "train.csv")
    return tmp_path / "train.csv"


@pytest.fixture
def release(tmp_path, train) -> Path:
    frame = pl.read_csv(train)
    frame[[*range(38), 40, 40, 40]].write_csv(tmp_path / "release.csv")
    return tmp_path / "release.csv"


def program(folder: Path, wait: float = 0.0) -> str:
    (folder / "maker.py").write_text(PROGRAM)
    start = shlex.join([sys.executable, str(folder / "maker.py")])
    return f"{start} {{train}} {{out}} {{rows}} {{seed}} {wait}"


def found(done) -> dict:
    assert done.returncode == 0, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    return finding


def parts(finding: dict) -> dict:
    return {part["name"]: part["value"] for part in finding["parts"]}


def test_a_method_of_ours(train, release, tmp_path):
    page = tmp_path / "attack.html"
    arguments = ("attack", "worlds", train, "--method", "bootstrap", "--release", release)
    finding = found(process.understudy(*arguments, "--json", "-", "--html", page))
    assert finding["status"] == "ok"
    assert finding["value"] > 0.99
    assert finding["reference"] == 0.25
    assert finding["flagged"]
    assert parts(finding)["rank of the real record"] == 1
    text = page.read_text()
    listed = tmp_path / "register.csv"
    done = process.understudy(*arguments, "--quiet", "--register", listed, "--limit", "60")
    assert done.returncode == 0, done.stderr
    first = pl.read_csv(listed).row(0, named=True)
    assert (first["training_row"], first["candidate"]) == (41, "x = b, y = y")
    assert listed.stat().st_mode & 0o077 == 0
    assert "a guess without the release gets 25.00\N{NO-BREAK SPACE}%" in text
    assert "posterior by rank" in text
    shown = process.understudy(*arguments, "--record", "41")
    assert "100 %" in shown.stdout
    assert "A record named by the user" in shown.stdout.replace("\n", " ")


def test_impossible_calls(train, tmp_path):
    for arguments, said in (
        ((), "either --method or --command"),
        (("--method", "cart", "--record", "99"), "record = 99: there is no such row"),
        (("--command", "x {train}"), "{out} does not occur"),
        (("--method", "cart", "-o", "attack.worlds.by_=3"), "has no option 'by_'"),
        (("--method", "cart", "-o", "attack.worlds.columns=3"), "columns = 3 is not a list"),
        (("--method", "cart", "--register", train), "is an input and would be overwritten"),
        (("--method", "cart", "--limit", "0"), "Invalid value for '--limit'"),
    ):
        done = process.here("attack", "worlds", train, *arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_program_killed_in_the_middle_goes_on_where_it_stopped(train, release, tmp_path):
    command = program(tmp_path, wait=0.1)

    def arguments(journal: Path) -> list[object]:
        return [
            "attack", "worlds", train, "--command", command, "--release", release, "--refits", 24,
            "--journal", journal, "--workers", 2,
        ]  # fmt: skip

    journal = tmp_path / "killed"
    running = process.start(*arguments(journal))
    end = time.monotonic() + 60
    while time.monotonic() < end and not (journal.exists() and lines(journal) >= 4):
        time.sleep(0.05)
    running.kill()
    running.wait()
    before = lines(journal)
    assert 4 <= before < 25
    resumed = found(process.understudy(*arguments(journal), "--json", "-"))
    whole = found(process.understudy(*arguments(tmp_path / "whole"), "--json", "-"))
    assert resumed == whole
    assert lines(journal) == lines(tmp_path / "whole") == 25  # nothing was played twice
    assert whole["status"] == "ok"
    assert whole["value"] > 0.5
    assert parts(whole)["refits"] == 24
    assert "24 refits of python" in whole["note"]
    other = process.understudy(*arguments(journal), "-o", "attack.worlds.columns=y")
    assert other.returncode == 2
    assert "journal of another attack" in other.stderr


def lines(path: Path) -> int:
    """Count the whole lines of a file; the first is the head."""
    return path.read_text().count("\n")


def test_a_program_that_fails_is_told_by_its_name(train, tmp_path):
    (tmp_path / "maker.py").write_text("import sys; sys.exit('no licence')")
    command = shlex.join([sys.executable, str(tmp_path / "maker.py")]) + " {train} {out}"
    done = process.understudy("attack", "worlds", train, "--command", command, "--json", "-")
    assert done.returncode == 2
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["status"] == "failed"
    assert "failed to make a release: ended with exit status 1" in finding["note"]
    assert "ended with exit status 1" in done.stderr
    assert "no licence" in done.stderr
    assert "no licence" not in done.stdout  # what a program says may be a person's values
    assert str(tmp_path) not in done.stdout
