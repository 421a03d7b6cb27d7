"""understudy synthesize as a process: partial synthesis, given values, markers, bad input."""

import json
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest

from people import people
from process import here, understudy
from understudy.data.tables import read_marker

REAL = people(600, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("synthesize")
    REAL.write_csv(folder / "secretname.csv")
    people(500, 2).write_csv(folder / "other.csv")
    REAL.write_parquet(folder / "real.parquet")
    done = understudy(
        "synthesize", "secretname.csv", "--out", "flip.csv", "--method", "flip",
        "--save", "m.model", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (
        zipfile.ZipFile(folder / "m.model") as old,
        zipfile.ZipFile(folder / "v9.model", "w") as new,
    ):
        for name in old.namelist():
            content = old.read(name).replace(b'"understudy_model": 1', b'"understudy_model": 9')
            new.writestr(name, content)
    (folder / "half.model").write_bytes((folder / "m.model").read_bytes()[:-500])
    return folder


def run(folder: Path, *arguments: object) -> str:
    done = understudy("synthesize", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_partial_synthesis_with_replicates(folder, tmp_path):
    said = run(
        folder, "secretname.csv", "--out", tmp_path / "p.csv", "--method", "cart",
        "--replace", "income,age", "--replace-where", "income > 20000 or age < 26",
        "--replicates", 2,
    )  # fmt: skip
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"p_1.csv", "p_2.csv", "p.csv.README.md"}
    assert "replaced: income, age where income > 20000 or age < 26" in said
    assert "left out: person_id (identifier" in said
    hit = (REAL["income"] > 20000).fill_null(False) | (REAL["age"] < 26)
    for number in (1, 2):
        made = pl.read_csv(tmp_path / f"p_{number}.csv", try_parse_dates=True)
        same = ["sex", "age", "income", "town", "day", "children"]
        assert made.filter(~hit).select(same).equals(REAL.filter(~hit).select(same))
        assert not made.filter(hit)["age"].equals(REAL.filter(hit)["age"])
        assert "person_id" not in made.columns
    text = (tmp_path / "p.csv.README.md").read_text()
    assert "secretname" not in text
    assert str(folder) not in text
    assert "v + b / m, for m = 2 files" in text
    assert "`income`, `age` of the records with income > 20000 or age < 26" in text
    marker = read_marker(tmp_path / "p_2.csv")
    assert marker is not None
    assert (marker.aligned, marker.replaced) == (True, ("income", "age"))

    for files, aligned in ((("p_1.csv", "p_2.csv"), True), ((folder / "flip.csv",), False)):
        done = understudy(
            "assess", folder / "secretname.csv", *files, "--measures", "fidelity.hellinger",
            "--json", "-", cwd=tmp_path,
        )  # fmt: skip
        provenance = json.loads(done.stdout)["provenance"]
        assert provenance["aligned"] is aligned
        assert any("row i is taken for person i" in note for note in provenance["notes"]) is aligned


@pytest.mark.slow
def test_alignment_is_not_believed_blindly(folder, tmp_path):
    run(folder, "real.parquet", "--out", tmp_path / "p.parquet", "--keep", "sex,town,day",
        "--method", "cart")  # fmt: skip
    REAL[::-1].write_csv(tmp_path / "turned.csv")
    assess = ("assess", "p.parquet", "--measures", "fidelity.hellinger", "--json", "-")
    found = {}
    for train in (folder / "real.parquet", tmp_path / "turned.csv"):
        done = understudy(assess[0], train, *assess[1:], cwd=tmp_path)
        found[train.name] = json.loads(done.stdout)["provenance"]
    assert found["real.parquet"]["aligned"] is True
    assert found["turned.csv"]["aligned"] is False
    assert any("differ from training" in note for note in found["turned.csv"]["notes"])
    done = understudy(assess[0], "turned.csv", *assess[1:], "--aligned", cwd=tmp_path)
    assert json.loads(done.stdout)["provenance"]["aligned"] is True


def test_training_on_other_records(folder, tmp_path):
    run(folder, "secretname.csv", "--out", tmp_path / "p.csv", "--method", "cart",
        "--replace", "age", "--train-on", "other.csv")  # fmt: skip
    made = pl.read_csv(tmp_path / "p.csv")
    assert made["income"].equals(REAL["income"])
    assert set(made["age"]) <= set(people(500, 2)["age"])
    assert "learnt from other records" in (tmp_path / "p.csv.README.md").read_text()


def test_given_values_from_a_model(folder, tmp_path):
    run(folder, "--from", "m.model", "--given", "sex=f,smoker=false", "--given", "income=",
        "--rows", 70, "--replicates", 2, "--out", tmp_path / "g.parquet")  # fmt: skip
    for number in (1, 2):
        made = pl.read_parquet(tmp_path / f"g_{number}.parquet")
        assert made.height == 70
        assert made.select("sex", "smoker", "income").unique().rows() == [("f", "false", None)]
        marker = read_marker(tmp_path / f"g_{number}.parquet")
        assert marker is not None
        assert (marker.replicate, marker.replicates, marker.rows) == (number, 2, 70)
        assert marker.given == "sex == 'f' and smoker == 'false' and income is missing"
        assert '"seed"' not in marker.to_json()


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "tsv", "parquet", "arrow", "xlsx"])
def test_every_format_is_marked(folder, tmp_path, extension):
    run(folder, "--from", "m.model", "--rows", 5, "--out", tmp_path / f"s.{extension}")
    marker = read_marker(tmp_path / f"s.{extension}")
    assert marker is not None
    assert (marker.method, marker.kind, marker.aligned) == ("flip", "fully synthetic", False)


def test_the_card_says_what_a_model_contains(folder, tmp_path):
    said = run(folder, "secretname.csv", "--method", "bootstrap", "--out", tmp_path / "s.csv",
               "--save", tmp_path / "m.model")  # fmt: skip
    assert "which contains every training row, as it is" in said


SYNTHESIZE = ("synthesize", "secretname.csv", "--out", "o.csv")
CART = (*SYNTHESIZE, "--method", "cart")
FROM = ("synthesize", "--from", "m.model", "--out", "o.csv")
BAD = {
    "unknown column": ((*CART, "--replace", "incme"), "there is no column 'incme'", "'income'?"),
    "left out": ((*CART, "--replace", "person_id"), "is left out of synthesis", ""),
    "all columns": (
        (*CART, "--replace", ",".join(REAL.columns[1:])),
        "every column would be replaced",
        "fully synthetic",
    ),
    "keep all": ((*CART, "--keep", ",".join(REAL.columns[1:])), "none replaced", "fewer"),
    "keep unknown": ((*CART, "--keep", "sexx"), "keep: there is no column 'sexx'", "'sex'?"),
    "both": ((*CART, "--keep", "sex", "--replace", "age"), "both given", "one of the two"),
    "where alone": ((*CART, "--replace-where", "age > 1"), "--replace-where is given", "--replace"),
    "train-on alone": ((*CART, "--train-on", "other.csv"), "--train-on is given", "--replace"),
    "unknown in condition": (
        (*CART, "--replace", "age", "--replace-where", "agee > 5"),
        "there is no column 'agee'",
        "'age'?",
    ),
    "broken condition": (
        (*CART, "--replace", "age", "--replace-where", "age > > 5"),
        "a value is expected at '> 5' (character 7)",
        "write such as",
    ),
    "nobody": (
        (*CART, "--replace", "age", "--replace-where", "age > 500"),
        "no record meets the condition age > 500",
        "check",
    ),
    "method that cannot": (
        (*SYNTHESIZE, "--method", "corrupt", "--replace", "age"),
        "cannot keep some columns and replace others",
        "cart",
    ),
    "rows": ((*CART, "--replace", "age", "--rows", 5), "--rows does not go with", "leave out"),
    "save": ((*CART, "--replace", "age", "--save", "x"), "--save does not go with", "leave out"),
    "given and replace": (
        (*CART, "--replace", "age", "--given", "sex=f"),
        "--given does not go with",
        "leave out",
    ),
    "model and replace": ((*FROM, "--replace", "age"), "--from does not go with", "leave out"),
    "unseen level": ((*FROM, "--given", "sex=F"), "'sex' is never 'F'", "did you mean 'f'?"),
    "unseen level, training": ((*CART, "--given", "sex=F"), "'sex' is never 'F'", "mean 'f'?"),
    "never shown": (
        ("synthesize", "secretname.csv", "--out", "o.csv", "--given", "town=town 0"),
        "never 'town 0' in what forest makes",
        "'town ",
    ),
    "unknown given": ((*FROM, "--given", "sexx=f"), "there is no column 'sexx'", "'sex'?"),
    "out of range": ((*FROM, "--given", "age=200"), "that far out", "between 18 and 89"),
    "no value": ((*FROM, "--given", "sex"), "--given sex", "A=VALUE"),
    "given twice": ((*FROM, "--given", "sex=f,sex=m"), "'sex' twice", "one value"),
    "too rare": (
        (*FROM, "--given", "age=18,town=town 0,children=4,day=2020-01-03", "--rows", 50),
        "rows drawn match, too few to go on",
        "give less",
    ),
    "another version": (
        ("synthesize", "--from", "v9.model", "--out", "o.csv"),
        "a model file of version 9",
        "reads version 1",
    ),
    "truncated": (
        ("synthesize", "--from", "half.model", "--out", "o.csv"),
        "not a whole model file",
        "--save",
    ),
    "not a model": (
        ("synthesize", "--from", "secretname.csv", "--out", "o.csv"),
        "not a whole model file",
        "--save",
    ),
    "its own input": ((*CART[:3], "other.csv", "--replace", "age", "--train-on", "other.csv"),
                      "other.csv is an input", "another"),
    "old excel": (("synthesize", "secretname.csv", "--out", "o.xls"), "not written", ".xlsx"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_status_2_and_two_lines(folder, case):
    arguments, message, hint = BAD[case]
    before = sorted(folder.iterdir())
    done = here(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("understudy: ")
    assert lines[1].startswith("hint: ")
    assert message in lines[0]
    assert hint in lines[1]
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


def test_nothing_is_left_when_the_last_file_fails(folder, tmp_path):
    (tmp_path / "full.csv").symlink_to("/dev/full")
    (tmp_path / "s_2.csv").symlink_to("/dev/full")
    before = sorted(tmp_path.iterdir())
    for out, more in (("full.csv", ()), ("s.csv", ("--replicates", 2))):
        done = understudy(
            "synthesize", "--from", folder / "m.model", "--rows", 5000, "--out", out,
            *more, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert "cannot be written: No space left" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 2
        assert sorted(tmp_path.iterdir()) == before
    done = understudy(
        "synthesize", folder / "secretname.csv", "--out", "t.csv", "--save", "full.csv",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_interrupting_leaves_nothing_half_written(folder, tmp_path, extension):
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", "synthesize", "--from", str(folder / "m.model"),
         "--rows", "90000000", "--out", f"s.{extension}", "--replicates", "2"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    start = time.time()
    while (
        sum(path.stat().st_size for path in tmp_path.rglob("*")) < 1e6 and time.time() < start + 60
    ):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert errors.strip() == "understudy: interrupted, nothing half written"
    assert list(tmp_path.iterdir()) == []


def test_the_window_rule_is_in_readme_and_marker(folder):
    for name, options in (("plain.csv", ()), ("window.csv", ("-o", "forest.window=true"))):
        run(folder, "secretname.csv", "--out", name, "--rows", "50", *options)
    plain, window = (folder / f"{name}.csv.README.md" for name in ("plain", "window"))
    said = "In this release k counts the training rows within one unit of a number's last digit"
    assert said in window.read_text()
    assert said not in plain.read_text()
    assert read_marker(folder / "plain.csv").rule is None
    assert read_marker(folder / "window.csv").rule.startswith("k counts the training rows")
