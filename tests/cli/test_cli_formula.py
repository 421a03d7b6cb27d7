"""A formula on its way: command line, markers, provenance, receipt, comparison, release."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from process import understudy
from understudy.data.tables import read_marker
from understudy.measures import choose
from understudy.workflows import verify as receipt
from understudy.workflows.release import release

pytest.importorskip("statsmodels")
NAME = "utility.estimates"
FORMULA = "income ~ age + sex"


def workers(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 60, rows), rng.choice(["f", "m"], rows)
    income = 1000 + 20 * age + 300 * (sex == "m") + rng.normal(0, 200, rows)
    return pl.DataFrame({"age": age, "sex": sex, "income": income.round(2)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Tables, and releases that say how they were made."""
    folder = tmp_path_factory.mktemp("formula")
    for name, seed in (("train", 1), ("holdout", 2)):
        workers(400, seed).write_csv(folder / f"{name}.csv")
    linear = ("--method", "sequential", "-o", "sequential.method=linear")
    for name, more in (
        ("simple.csv", ("--replicates", 2)),
        ("proper.parquet", ("-o", "sequential.proper=true")),
        ("partly.csv", ("--replicates", 2, "--replace", "income")),
    ):
        done = understudy("synthesize", "train.csv", "--out", name, *linear, *more, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        (("simple_1.csv", "simple_2.csv"), "simple"),
        (("proper.parquet",), "proper"),
        (("partly_1.csv", "partly_2.csv"), "partially"),
    ],
)
def test_the_files_say_which_rule_fits(folder, files, rule):
    paths, holdout = [folder / file for file in files], folder / "holdout.csv"
    told = us.assess(folder / "train.csv", paths, holdout=holdout, formula=FORMULA, measures=[NAME])
    assert told[NAME].status == "ok"
    assert f"Rule {rule}:" in told[NAME].note
    assert "Warning" not in told[NAME].note
    assert told[NAME].reference is not None
    marker = read_marker(paths[0])
    assert (marker.models, marker.proper) == (("linear",), rule == "proper")


def test_the_command_takes_formulas_and_a_rule(folder):
    done = understudy(
        "assess", "train.csv", "proper.parquet", "--formula", FORMULA, "--formula", "sex ~ age",
        "-o", f"{NAME}.rule=naive", "--measures", NAME, "--json", "-", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["provenance"]["formula"] == [FORMULA, "sex ~ age"]
    assert "Rule naive:" in told["findings"][0]["note"]


def test_a_formula_alone_asks_for_its_measure():
    assert NAME in choose(given=["formula"])
    assert NAME not in choose()


@pytest.mark.parametrize(
    ("command", "formula", "words"),
    [
        ("assess", "income ~ agee", "did you mean 'age'?"),
        ("compare", "income = age", "cannot be read"),
    ],
)
def test_a_bad_formula_is_bad_input(folder, command, formula, words):
    other = "proper.parquet" if command == "assess" else "a=proper.parquet"
    done = understudy(command, "train.csv", other, "--formula", formula, cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_receipt_repeats_the_same_numbers(folder, tmp_path):
    files = [folder / "simple_1.csv", folder / "simple_2.csv"]
    train, fresh = folder / "train.csv", folder / "holdout.csv"
    result = us.assess(train, files, holdout=fresh, formula=FORMULA, measures=[NAME])
    receipt.of(result, train, files, fresh).write(tmp_path / "run.json")
    check = receipt.verify(tmp_path / "run.json")
    assert check.equal
    assert check.largest == 0
    assert check.result[NAME].value == result[NAME].value

    data = json.loads((tmp_path / "run.json").read_text())
    data["assessment"]["provenance"].pop("formula")  # as written before there were formulas
    data["assessment"]["findings"][0]["measure"] = "fidelity.moments"
    (tmp_path / "old.json").write_text(json.dumps(data))
    assert receipt.verify(tmp_path / "old.json").result["fidelity.moments"].status == "ok"


def test_compare_takes_a_formula(folder):
    made = {"proper": folder / "proper.parquet", "simple": folder / "simple_1.csv"}
    found = us.compare(
        folder / "train.csv", made, holdout=folder / "holdout.csv", formula=FORMULA,
        measures=[NAME], curve=False,
    )  # fmt: skip
    for name in made:
        assert found[name][NAME].status == "ok"
        assert f"Rule {name}:" in found[name][NAME].note
    assert found.provenance["formula"] == [FORMULA]


def test_release_takes_a_formula(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(us.Assessment, "to_html", lambda self, path, **more: Path(path).touch())
    (tmp_path / "p.toml").write_text(f'[[rule]]\nmeasure = "{NAME}"\nlower = 0.1\n')
    asked = {"method": "sequential", "options": {"sequential": {"method": "linear"}}, "seed": 1}
    with pytest.raises(us.UnderstudyError, match="no column 'agee'"):
        release(
            folder / "train.csv", tmp_path / "p.toml", tmp_path / "bad", formula="income ~ agee",
            **asked,
        )  # fmt: skip
    decision = release(
        folder / "train.csv", tmp_path / "p.toml", tmp_path / "out", formula=FORMULA,
        measures=[NAME], **asked,
    )  # fmt: skip
    assert decision.outcome == "PASS"
    assert "Rule simple:" in decision.assessment[NAME].note
    plan = json.loads((tmp_path / "out-steward" / "plan.json").read_text())
    assert plan["formula"] == [FORMULA]
    assert receipt.verify(tmp_path / "out-steward" / "receipt.json").equal
