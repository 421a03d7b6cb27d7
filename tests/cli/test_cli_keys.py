"""understudy keys, and the words auto and all of understudy assess, run as a process."""

import json

import polars as pl
import pytest

from people import people
from process import here, understudy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    people(400, 1).write_csv(folder / "train.csv")
    people(400, 2).write_csv(folder / "synthetic.csv")
    people(400, 3).write_csv(folder / "holdout.csv")
    return folder


def test_keys_ranks_and_proposes(folder):
    done = understudy("keys", "train.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "likely sensitive" in done.stdout
    assert "columns together" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("--keys ")
    assert "--sensitive income,smoker" in last
    assert "Names are a hint, not knowledge" in " ".join(done.stdout.split())


def test_the_proposed_line_can_be_pasted(folder):
    done = understudy("keys", "train.csv", "--json", "-", "--budget", 5, cwd=folder)
    data = json.loads(done.stdout)
    assert data["version"] == 1
    assert data["complete"] is True
    measured = understudy(
        "assess", "train.csv", "synthetic.csv", "--measures", "privacy.replicated_uniques",
        *data["line"].split(), "--json", "-", cwd=folder,
    )  # fmt: skip
    assert measured.returncode == 0, measured.stderr
    assert json.loads(measured.stdout)["provenance"]["keys"] == data["keys"]


def test_names_with_commas_are_written_so_that_they_can_be_read(tmp_path):
    frame = people(200, 1).select(
        pl.col("sex").alias("sex, as told"), pl.col("age"), pl.col("town").alias("income (€)")
    )
    frame.write_csv(tmp_path / "a.csv")
    line = json.loads(understudy("keys", "a.csv", "--json", "-", cwd=tmp_path).stdout)["line"]
    assert "'age,sex,, as told'" in line or "'sex,, as told,age'" in line
    assert "--sensitive 'income (€)'" in line


def test_auto_and_all(folder):
    done = understudy(
        "assess", "train.csv", "synthetic.csv", "--holdout", "holdout.csv", "--keys", "auto",
        "--sensitive", "all", "--measures", "privacy.attribute_disclosure", "--json", "-",
        "--register", "register.csv", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["provenance"]["keys"]
    assert data["provenance"]["notes"][0].startswith("keys = auto")
    assert data["findings"][0]["status"] == "ok"
    listed = pl.read_csv(folder / "register.csv")
    assert set(listed.columns) >= {"measure", "training_row", "attack", "why"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("keys", "nowhere.csv"), "there is no such file"),
        (("keys", "train.csv", "--budget", "0"), "budget = 0"),
        (("keys", "train.csv", "--json", "train.csv"), "is an input and would be overwritten"),
        (("assess", "train.csv", "synthetic.csv", "--keys", "agee"), "no column 'agee'"),
        (
            ("assess", "train.csv", "synthetic.csv", "--keys", "age", "--sensitive", "age"),
            "'age' is among the keys and among the sensitive",
        ),
        (("assess", "train.csv", "synthetic.csv", "--keys", "age,age"), "'age' is named twice"),
    ],
)
def test_bad_input_ends_in_a_message_and_a_hint(folder, arguments, message):
    done = here(*arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr
