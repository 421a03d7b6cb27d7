"""What a release takes over and hands over is what it made itself."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from releases import run, stop
from understudy.errors import DataError
from understudy.workflows.release import folders, stages

pytestmark = pytest.mark.usefixtures("home", "short")

FAKE = pl.DataFrame({"sex": ["f"] * 50, "age": [1] * 50, "income": [1] * 50, "town": ["x"] * 50})


def stopped(monkeypatch, module, name, **more):
    """Run a release and stop it before a stage."""
    with monkeypatch.context() as patch:
        patch.setattr(module, name, stop)
        with pytest.raises(KeyboardInterrupt):
            run(**more)


def refused(path, **more):
    with pytest.raises(
        DataError, match=f"{path}: it was changed after the release had made it"
    ) as e:
        run(**more)
    assert e.value.hint
    assert not Path("out").exists()
    return e.value.hint


@pytest.mark.parametrize(
    "file",
    [
        "candidate/synthetic.csv", "candidate/synthetic.csv.README.md", "release.model",
        "train.parquet", "holdout.parquet", "plan.json",
    ],
)  # fmt: skip
def test_what_an_earlier_stage_made_must_be_as_it_was(monkeypatch, file):
    stopped(monkeypatch, stages, "judge")
    path = Path("out-steward.unfinished") / file
    if file == "plan.json":
        plan = json.loads(path.read_text())
        path.write_text(json.dumps({**plan, "keep": "mine"}))
    elif path.suffix == ".parquet":
        pl.read_parquet(path).reverse().write_parquet(path)
    else:
        path.write_bytes(path.read_bytes() + b"\n")
    assert "--restart" in refused(str(path))
    assert run(restart=True).outcome == "PASS"


def test_real_rows_put_in_the_place_of_the_candidate_are_never_judged(monkeypatch):
    stopped(monkeypatch, stages, "judge")
    candidate = Path("out-steward.unfinished/candidate/synthetic.csv")
    shutil.copy("real.csv", candidate)
    refused(str(candidate))


def test_what_is_gone_is_made_again(monkeypatch):
    stopped(monkeypatch, stages, "judge")
    Path("out-steward.unfinished/candidate/synthetic.csv").unlink()
    assert run().outcome == "PASS"


@pytest.mark.parametrize("file", ["synthetic.csv", "assessment.json", "report.html", "README.md"])
def test_a_finished_candidate_is_handed_over_as_it_was_judged(monkeypatch, file):
    stopped(monkeypatch, folders, "copy_whole")
    path = Path("out-steward/candidate") / file
    kept = path.read_bytes()
    if file == "synthetic.csv":
        FAKE.write_csv(path)
    else:
        path.write_bytes(kept.replace(b"PASS", b"PAST") + b" ")
    assert "another folder" in refused(str(path))
    path.unlink()
    with pytest.raises(DataError, match=f"{path}: it is gone"):
        run()
    path.write_bytes(kept)
    assert run().folder == Path("out")


def test_a_verdict_cannot_be_edited():
    assert run("fail.toml").outcome == "FAIL"
    path = Path("out-steward/candidate/verdict.json")
    path.write_text(path.read_text().replace('"FAIL"', '"PASS"'))
    refused(str(path), policy="fail.toml")


def test_nothing_but_what_was_made_is_handed_over(monkeypatch):
    stopped(monkeypatch, folders, "copy_whole")
    shutil.copy("real.csv", "out-steward/candidate/real.csv")
    Path("out-steward/candidate/more").mkdir()
    shutil.copy("real.csv", "out-steward/candidate/more/real.csv")
    assert run().folder == Path("out")
    assert {"real.csv", "more"}.isdisjoint(path.name for path in Path("out").iterdir())
    assert Path("out/synthetic.csv").is_file()


def test_what_changes_while_it_is_copied_is_not_handed_over(monkeypatch):
    copytree = shutil.copytree

    def changed(source, to, **more):
        copytree(source, to, **more)
        FAKE.write_csv(Path(to) / "synthetic.csv")

    monkeypatch.setattr(shutil, "copytree", changed)
    with pytest.raises(DataError, match="it was changed after the release had made it"):
        run()
    assert not Path("out").exists()
    assert not Path("out.unfinished").exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"candidate/verdict.json": 3}', "\0"])
def test_a_folder_without_a_record_of_its_files_is_refused(monkeypatch, content):
    stopped(monkeypatch, folders, "copy_whole")
    Path("out-steward/files.json").write_text(content)
    with pytest.raises(DataError) as caught:
        run()
    assert caught.value.hint
    Path("out-steward/files.json").unlink()
    with pytest.raises(DataError) as caught:
        run()
    assert caught.value.hint
    assert not Path("out").exists()


def test_what_changes_while_it_is_judged_is_not_recorded_as_made(monkeypatch):
    """A model that is replaced during the assessment is not the one that made the rows."""

    def replaced(work, *rest):
        (work.folder / "release.model").write_bytes(b"another")
        return write(work, *rest)

    write = stages._write_steward
    monkeypatch.setattr(stages, "_write_steward", replaced)
    refused("release.model")
