"""understudy synthesize as a process: constraints and margins, by options and by schema file."""

from pathlib import Path

import polars as pl
import pytest

from people import people
from process import here, understudy
from understudy.data.tables import read_marker

REAL = people(600, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("constraints")
    REAL.write_csv(folder / "real.csv")
    done = understudy("schema", "real.csv", "--out", "real.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / "real.toml").read_text()
    assert 'constraints = ["start <= end"' in text.split("version")[0]
    listed = 'constraints = ["18 <= age <= 60", "unique person_id"]'
    (folder / "real.toml").write_text(text.replace("version = 1", f"version = 1\n{listed}"))
    return folder


def run(folder: Path, *arguments: object, fails: bool = False) -> str:
    done = (here if fails else understudy)("synthesize", *arguments, cwd=folder)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr


def test_whole_tables(folder, tmp_path):
    said = run(
        folder, "real.csv", "--out", tmp_path / "s.csv", "--schema", "real.toml", "--method",
        "bootstrap", "--constraint", "positive income", "--constraint", "together town, sex",
        "--margin", "smoker=true:0.4", "--rows", 500, "--save", tmp_path / "model",
    )  # fmt: skip
    assert "training rows break the constraint 18 <= age <= 60" in said
    assert "left out" not in said
    made = pl.read_csv(tmp_path / "s.csv")
    assert made["age"].is_between(18, 60).all()
    assert made["person_id"].to_list() == list(range(1_000_001, 1_000_501))
    assert (made["smoker"].cast(pl.String) == "true").sum() == 200
    marker = read_marker(tmp_path / "s.csv")
    assert marker is not None
    assert marker.margins == "smoker: true 0.4"
    assert marker.constraints == (
        "18 <= age <= 60", "unique person_id", "positive income", "together town, sex",
    )  # fmt: skip
    text = (tmp_path / "s.csv.README.md").read_text()
    assert "Shares of the rows were set: smoker: true 0.4." in text
    assert "Constraints that every row meets: 18 <= age <= 60; unique person_id; " in text
    assert "weight the rows back" in text
    run(folder, "--from", tmp_path / "model", "--out", tmp_path / "again.csv", "--rows", 50,
        "--margin", "sex=f:1", "--given", "smoker=true")  # fmt: skip
    again = pl.read_csv(tmp_path / "again.csv")
    assert again["age"].is_between(18, 60).all()
    assert set(again["sex"]) == {"f"}


def test_partial_tables(folder, tmp_path):
    run(folder, "real.csv", "--out", tmp_path / "p.csv", "--keep", "sex,town,day", "--method",
        "cart", "--schema", "real.toml", "--constraint", "income is not missing")  # fmt: skip
    made = pl.read_csv(tmp_path / "p.csv", try_parse_dates=True)
    assert made.select("sex", "town", "day").equals(REAL.select("sex", "town", "day"))
    assert made["age"].is_between(18, 60).all()
    assert made["income"].null_count() == 0
    assert made["person_id"].to_list() == list(range(1_000_001, 1_000_601))
    assert "Constraints that every row meets" in (tmp_path / "p.csv.README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--constraint", "age >"), "constraint age >: a value is expected at the end"),
        (("--constraint", "age > 50", "--constraint", "age < 20"), "contradict each other"),
        (("--constraint", "agee > 50"), "there is no column 'agee'"),
        (("--margin", "sex"), "--margin sex"),
        (("--margin", "sex=x:0.5"), "'sex' is never 'x'"),
        (("--margin", "sex=f:0.5", "--keep", "sex"), "--margin does not go with --replace"),
        (("--keep", "age", "--constraint", "age > 50"), "records break the constraint age > 50"),
    ],
)
def test_bad_input_leaves_nothing_behind(folder, tmp_path, arguments, message):
    out = tmp_path / "s.csv"
    said = run(folder, "real.csv", "--out", out, "--method", "cart", *arguments, fails=True)
    assert message in said
    assert "hint:" in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_a_saved_model_has_its_own(folder, tmp_path):
    said = run(folder, "--from", "x.model", "--out", tmp_path / "s.csv", "--constraint", "age > 3",
               fails=True)  # fmt: skip
    assert "constraints from the model" in said
