"""understudy compare: candidates named on the command line, errors in one line."""

import json

import pytest

from people import people
from process import here, understudy

FAST = (
    "--measures",
    "fidelity.trivariate",
    "-o",
    "fidelity.trivariate.resamples=5",
    "-o",
    "privacy.closest_record.permutations=16",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("compare")
    for name, seed in (("train", 1), ("holdout", 2), ("a", 3), ("b=2", 4)):
        people(120, seed).drop("person_id", "day").write_csv(made / f"{name}.csv")
    people(120, 5).select("sex").write_csv(made / "short.csv")
    return made


def compare(folder, *arguments):
    return understudy("compare", "train.csv", *arguments, cwd=folder)


def test_console_json_and_page(folder):
    files = ("--html", "c.html", "--json", "c.json")
    done = compare(folder, "--holdout", "holdout.csv", "a=a.csv", "two=b=2.csv", *FAST, *files)
    assert done.returncode == 0, done.stderr
    assert "wrote c.html" in done.stderr
    assert "privacy.closest_record" in done.stdout
    assert "What the intervals support" in done.stdout
    data = json.loads((folder / "c.json").read_text())
    assert [c["name"] for c in data["candidates"]] == ["a", "two"], "a path may hold an equals sign"
    assert len(data["plane"]["curve"]["rows"]) == 9
    assert (folder / "c.html").read_text().startswith("<!DOCTYPE html>")


def test_json_alone_on_standard_output_without_holdout_and_curve(folder):
    done = compare(folder, "a=a.csv", *FAST, "--no-curve", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plane"] is None
    holdout = ("--holdout", "holdout.csv")
    done = compare(folder, "a=a.csv", *holdout, *FAST, "--no-curve", "--quiet", "--json", "-")
    assert json.loads(done.stdout)["plane"]["curve"]["rows"] == []
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.csv",), "'a.csv' names no candidate: write NAME=PATH, such as cart=cart.csv."),
        (("=a.csv",), "'=a.csv' names no candidate"),
        (("a=",), "'a=' names no candidate"),
        (("a=a.csv", "a=b=2.csv"), "two candidates are called 'a'."),
        ((), "Missing argument"),
        (("a=nowhere.csv",), "nowhere.csv"),
        (("a=short.csv",), "short.csv: the column 'age' is missing"),
        (("a=a.csv", "--html", "a.csv"), "a.csv is an input and would be overwritten"),
        (("a=a.csv", "--measures", "fidelity.f3"), "there is no measure 'fidelity.f3'"),
        (("a=a.csv", "--keys", "agee"), "there is no column 'agee'"),
    ],
)
def test_bad_input_is_said_in_one_line(folder, arguments, message):
    done = here("compare", "train.csv", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
