"""understudy calibrate, and assess --calibration, run as a process."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from people import people
from process import here, start, understudy

MEASURES = "privacy.identical_matches,privacy.replicated_uniques"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    people(900, 1).write_csv(folder / "real.csv")
    for number, name in enumerate(("train", "synthetic", "holdout"), start=2):
        people(300, number).write_csv(folder / f"{name}.csv")
    done = understudy(
        "calibrate", "real.csv", "--measures", MEASURES, "--keys", "age,town", "--budget", 3,
        "--out", "c.json", "--html", "c.html", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "stdout.txt").write_text(done.stdout)
    return folder


def test_the_table_the_file_and_the_page(folder):
    said = " ".join((folder / "stdout.txt").read_text().split())
    assert "privacy.identical_matches" in said
    assert "false alarms" in said
    assert "raises an alarm in 80 % of the runs" in said
    assert "300 rows a table" in said
    text = (folder / "c.json").read_text()
    data = json.loads(text)
    assert set(data["measures"]) == set(MEASURES.split(","))
    assert data["provenance"]["keys"] == ["age", "town"]
    assert str(folder) not in text
    assert "real.csv" not in text
    page = (folder / "c.html").read_text()
    assert '<svg class="lines"' in page
    assert "exact copies" in page
    assert {path.name for path in folder.iterdir()} >= {"c.json", "c.html"}
    assert not [path for path in folder.iterdir() if path.name.startswith(".understudy")]


@pytest.mark.slow
def test_assess_shows_what_each_would_notice(folder):
    data = json.loads((folder / "c.json").read_text())
    data["measures"]["privacy.replicated_uniques"].update(blind=True, why="it missed its control")
    (folder / "blind.json").write_text(json.dumps(data))
    done = understudy(
        "assess", "train.csv", "synthetic.csv", "--holdout", "holdout.csv", "--keys", "age,town",
        "--measures", MEASURES, "--calibration", "blind.json", "--html", "a.html",
        "--receipt", "r.json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "What each would notice" in said
    assert "On data like this it notices leaks" in said
    assert "Blind here: it missed its control." in said
    assert "blind here" in done.stdout.lower()
    page = (folder / "a.html").read_text()
    assert "Blind here: it missed its control." in page
    again = understudy("verify", "r.json", cwd=folder)
    assert again.returncode == 0, again.stdout + again.stderr


def test_a_calibration_of_other_columns_is_refused(folder, tmp_path):
    people(300, 5).drop("town").write_csv(tmp_path / "other.csv")
    done = understudy(
        "assess", tmp_path / "other.csv", tmp_path / "other.csv", "--calibration", "c.json",
        "--measures", "privacy.identical_matches", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 2
    assert "the column 'town' was category there and is absent here" in done.stderr
    assert "hint: calibrate on this data" in done.stderr


def test_wrong_use(folder):
    done = here("calibrate", "real.csv", cwd=folder)
    assert done.returncode == 2
    assert "--out" in done.stderr
    done = here("calibrate", "real.csv", "--out", "real.csv", cwd=folder)
    assert done.returncode == 2
    assert "would be overwritten" in done.stderr
    done = here("calibrate", "real.csv", "--out", "x.json", "--journal", "x.json", cwd=folder)
    assert done.returncode == 2
    assert "x.json is named for two outputs" in done.stderr
    done = here("calibrate", "train.csv", "--rows", 200, "--out", "x.json", cwd=folder)
    assert done.returncode == 2
    assert "too few to calibrate" in done.stderr
    assert not (folder / "x.json").exists()


def entries(path):
    """Read the whole lines of a journal but the first."""
    return [json.loads(line) for line in path.read_text().split("\n")[1:] if line.endswith("}")]


@pytest.mark.slow
def test_who_was_killed_goes_on_and_repeats_nothing(folder, tmp_path):
    journal, out = tmp_path / "journal", tmp_path / "c.json"
    command = (
        "calibrate", folder / "real.csv", "--measures", "privacy.identical_matches",
        "--keys", "age", "--workers", 2, "--journal", journal, "--out", out,
    )  # fmt: skip
    running = start(*command, "--budget", 600)
    end = time.monotonic() + 60
    while time.monotonic() < end and not (journal.exists() and len(entries(journal)) >= 8):
        time.sleep(0.02)
    running.kill()
    running.wait()
    before = entries(journal)
    assert not out.exists()
    other = here(*command, "--seed", 1, cwd=folder)
    assert other.returncode == 2
    assert "is the journal of another calibration (other data, generator" in other.stderr
    assert "hint: name another file, or delete it to begin anew" in other.stderr
    done = understudy(*command, "--budget", before[-1]["spent"] + 2)
    assert done.returncode == 0, done.stderr
    assert f"{len(before)} tables stood in the journal" in done.stdout
    after = entries(journal)
    assert 8 <= len(before) < len(after)
    assert after[: len(before)] == before
    assert len({entry["task"] for entry in after}) == len(after)
    (found,) = json.loads(out.read_text())["measures"].values()
    runs = found["false_alarms"]["runs"] + sum(
        point[1] for kind in found["kinds"].values() for point in kind["points"]
    )
    assert runs == len(after)  # every run counts, once


@pytest.mark.slow
def test_who_interrupts_gets_nothing_half_written(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", "calibrate", "real.csv", "--budget", "60",
         "--measures", "privacy.identical_matches", "--keys", "age", "--out", "stopped.json"],
        cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(10)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "nothing half written" in said
    assert "with --journal FILE, the same command would go on from here" in said
    assert not (folder / "stopped.json").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".understudy")]
