"""A release: three outcomes, two folders, and what is stopped goes on."""

import dataclasses
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from people import people
from releases import COLUMNS, HANDED, KEPT, MEASURE, content, names, policy, run, stop
from understudy.data.schema import infer
from understudy.data.tables import read_marker
from understudy.errors import DataError, OptionError
from understudy.measures import MEASURES
from understudy.workflows import policy as policies
from understudy.workflows import verify as receipt
from understudy.workflows.release import Decision, folders, release, stages
from understudy.workflows.request import Request


def test_a_pass_makes_both_folders(home):
    decision = run()
    assert (decision.outcome, decision.status) == ("PASS", 0)
    assert (decision.folder, decision.steward) == (Path("out"), Path("out-steward"))
    assert names("out") == HANDED
    assert names("out-steward") == KEPT
    assert names(".") == {"real.csv", "pass.toml", "fail.toml", "out", "out-steward"}
    assert [finding.measure for finding in decision.assessment] == [MEASURE]
    assert read_marker("out/synthetic.csv").method == "independent"
    readme = Path("out/README.md").read_text()
    for words in ("## Verdict: PASS", "What it is not good for", "How it was made", "n = 120, and"):
        assert words in readme
    assert Path("out/synthetic.csv.README.md").read_text() == readme
    assert json.loads(Path("out/verdict.json").read_text())["outcome"] == "PASS"
    assert ElementTree.parse("out/junit.xml").getroot().get("failures") == "0"
    assert oct(Path("out-steward").stat().st_mode)[-3:] == "700"


def test_training_and_holdout_are_the_real_rows_and_the_release_learns_from_training(home, short):
    run(method="bootstrap")
    train, holdout = (pl.read_parquet(f"out-steward/{n}.parquet") for n in ("train", "holdout"))
    real, made = pl.read_csv("real.csv", infer_schema=False), pl.read_csv("out/synthetic.csv")
    assert (train.height, holdout.height, made.height) == (120, 120, 120)
    assert pl.concat([train, holdout]).sort("person_id").equals(real.sort("person_id"))
    both = ["age", "income"]
    shown = set(pl.read_csv("out/synthetic.csv", infer_schema=False).select(both).iter_rows())
    assert shown <= set(train.select(both).iter_rows())
    assert made["person_id"][0] == 1_000_001  # counted, not copied
    assert "though a real row may have the same: `person_id`" in Path("out/README.md").read_text()


def test_a_fail_leaves_the_reasons_with_the_steward_and_nothing_to_hand_over(home, short):
    decision = run("fail.toml")
    assert (decision.outcome, decision.status, decision.folder) == ("FAIL", 1, None)
    assert not Path("out").exists()
    assert names("out-steward") == KEPT
    told = Path("out-steward/README.md").read_text()
    assert "## Verdict: FAIL" in told
    assert f"FAIL: {MEASURE}: at most 1e-06; the interval is" in told
    again = run("fail.toml")
    assert again.outcome == "FAIL"
    with pytest.raises(OptionError, match="differs in: policy") as caught:
        run("pass.toml")
    assert "another folder" in caught.value.hint


def test_inconclusive_is_no_pass_and_is_handed_over_by_decision_only(home, short):
    policy(home, "undecided", f"lower = {run(out='first').assessment[MEASURE].value}")
    decision = run("undecided.toml")
    assert (decision.outcome, decision.status, decision.folder) == ("INCONCLUSIVE", 3, None)
    assert not Path("out").exists()
    before = content("out-steward")
    decision = run("undecided.toml", allow_inconclusive=True)
    assert (decision.outcome, decision.status) == ("INCONCLUSIVE", 3)
    assert decision.folder == Path("out")
    assert content("out-steward") == before
    assert "this is not a pass" in Path("out/README.md").read_text()
    failed = run("fail.toml", "failed", allow_inconclusive=True)
    assert (failed.outcome, failed.folder) == ("FAIL", None)


def test_an_interval_that_ends_on_the_bound_passes(home, short):
    _, high = run(out="first").assessment[MEASURE].interval
    policy(home, "exact", f"upper = {high!r}")
    policy(home, "below", f"upper = {float(np.nextafter(high, 0))!r}")
    assert run("exact.toml", "exact").outcome == "PASS"
    assert run("below.toml", "below").outcome == "INCONCLUSIVE"


def test_nothing_of_the_house_is_handed_over(home):
    people(240, 1).write_csv("secret-place.csv")
    asked = {"method": "independent", "measures": [MEASURE], "seed": 736_251_987}
    release(home / "secret-place.csv", home / "pass.toml", home / "out", **asked)
    key = json.loads(Path("out-steward/receipt.json").read_text())["key"]
    plan = json.loads(Path("out-steward/plan.json").read_text())
    assert plan["seed"] == 736_251_987
    secrets = [str(home), "secret-place", "unfinished", "736251987", key, plan["key"]]
    for path in Path("out").iterdir():
        text = path.read_bytes()
        for secret in secrets:
            assert secret.encode() not in text, (path, secret)


def test_the_receipt_can_be_verified_also_after_the_folders_were_moved(home, short):
    run()
    Path("elsewhere").mkdir()
    Path("out-steward").rename("elsewhere/kept")
    shutil.rmtree("out")
    check = receipt.verify("elsewhere/kept/receipt.json")
    assert check.equal, check.to_dict()
    entry = receipt.read("elsewhere/kept/receipt.json").files["synthetic"][0]
    assert entry["path"] == os.path.join("candidate", "synthetic.csv")
    assert entry["absolute"] == str(home / "out-steward" / "candidate" / "synthetic.csv")


def test_replicates_rows_group_and_format(home, short):
    frame = people(240, 1).with_columns(house=pl.int_range(240) // 4)
    frame.write_parquet("real.parquet")
    decision = release(
        "real.parquet", "pass.toml", "out", method="independent", measures=[MEASURE], rows=50,
        replicates=2, group="house", holdout_share=0.25, schema=None, seed=3,
    )  # fmt: skip
    assert decision.outcome == "PASS"
    files = [Path(f"out/synthetic_{n}.parquet") for n in (1, 2)]
    assert [pl.read_parquet(file).height for file in files] == [50, 50]
    assert [read_marker(file).replicate for file in files] == [1, 2]
    train, holdout = (pl.read_parquet(f"out-steward/{n}.parquet") for n in ("train", "holdout"))
    assert not set(train["house"]) & set(holdout["house"])
    assert holdout.height == 60
    assert receipt.verify("out-steward/receipt.json").equal


def test_the_policy_is_measured_whatever_else_is_asked_for(home, short):
    policy(home, "other", 'upper = 1\n[[rule]]\nmeasure = "fidelity.moments"\nlower = 0')
    decision = run("other.toml")
    assert {finding.measure for finding in decision.assessment} == {MEASURE, "fidelity.moments"}
    assert decision.outcome == "PASS"


def test_without_a_seed_one_is_drawn_and_kept_for_going_on(home, short, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stages, "judge", stop)
        with pytest.raises(KeyboardInterrupt):
            run(seed=None)
    begun = json.loads(Path("out-steward.unfinished/plan.json").read_text())["seed"]
    run(seed=None)
    assert json.loads(Path("out-steward/plan.json").read_text())["seed"] == begun
    run(seed=None, out="second")
    assert json.loads(Path("second-steward/plan.json").read_text())["seed"] != begun


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (stages, "split"),
        (stages, "synthesize"),
        (stages, "judge"),
        (folders, "put_in_place"),
        (folders, "copy_whole"),
    ],
)
def test_stopped_before_any_stage_it_goes_on_to_the_same(home, short, monkeypatch, module, name):
    run(out="whole")
    with monkeypatch.context() as patch:
        patch.setattr(module, name, stop)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert not Path("out").exists()
    assert Path("out-steward").exists() == (name == "copy_whole")
    half = Path("out-steward" if name == "copy_whole" else "out-steward.unfinished")
    if half.name != "out-steward":
        (half / ".understudy-half.parquet").write_text("half")
    done = {path: path.stat().st_mtime_ns for path in half.rglob("*.parquet")}
    assert run().outcome == "PASS"
    assert content("out") == content("whole")
    assert content("out-steward") == content("whole-steward")
    assert not list(home.glob("*.unfinished"))
    for path, moment in done.items():
        if not path.name.startswith(".understudy"):
            there = Path("out-steward") / path.relative_to(half)
            assert there.stat().st_mtime_ns == moment, "done again"


@pytest.mark.slow
def test_stopped_after_any_file_it_goes_on_to_the_same(home, short, monkeypatch):
    run(out="whole")
    move, attempts = Path.replace, 0
    while not Path("out").exists():
        attempts += 1
        left = [attempts]

        def replace(self, target, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return move(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", replace)
            try:
                run()
            except KeyboardInterrupt:
                assert not Path("out").exists()
                assert not Path("out-steward").exists()
    assert attempts > 5
    assert content("out") == content("whole")
    assert content("out-steward") == content("whole-steward")
    assert receipt.verify("out-steward/receipt.json").equal


def test_another_plan_is_refused_or_begun_afresh(home, short, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stages, "judge", stop)
        with pytest.raises(KeyboardInterrupt):
            run()
    with pytest.raises(
        OptionError, match="unfinished is of a release that differs in: seed"
    ) as caught:
        run(seed=2)
    assert "--restart" in caught.value.hint
    people(241, 1).select(COLUMNS).write_csv("real.csv")
    with pytest.raises(OptionError, match="differs in: real table"):
        run()
    assert run(restart=True).outcome == "PASS"
    assert pl.read_parquet("out-steward/train.parquet").height in (120, 121)


def test_what_is_there_is_never_overwritten(home, short):
    Path("out").mkdir()
    with pytest.raises(OptionError, match="never overwritten"):
        run()
    Path("mine-steward").mkdir()
    Path("mine-steward/thesis.txt").write_text("years")
    Path("other-steward.unfinished").mkdir()
    Path("other-steward.unfinished/thesis.txt").write_text("years")
    for out in ("mine", "other"):
        with pytest.raises(DataError, match="is no release of this version"):
            run(out=out, restart=True)
    assert Path("mine-steward/thesis.txt").read_text() == "years"
    assert Path("other-steward.unfinished/thesis.txt").read_text() == "years"
    Path("third.unfinished").mkdir()
    Path("third.unfinished/thesis.txt").write_text("years")
    with pytest.raises(DataError, match="in the way"):
        run(out="third")
    shutil.rmtree("third.unfinished")
    assert run(out="third").outcome == "PASS"
    for inside in ("new", "new/steward", ".", "/", "other/../new/steward", "new.unfinished"):
        with pytest.raises(OptionError, match="holds real rows"):
            run(out="new", steward_out=inside)
    with pytest.raises(OptionError, match="holds real rows"):
        run(out="q.unfinished", steward_out="q")
    Path("room").mkdir()
    Path("door").symlink_to("room")
    with pytest.raises(OptionError, match="holds real rows"):
        run(out="room/new", steward_out="door/new/steward")
    assert not list(Path("room").iterdir())


@pytest.mark.parametrize("name", ["out", "out-steward", "out-steward.unfinished", "out.unfinished"])
def test_a_link_to_nowhere_is_noticed_before_any_work(home, monkeypatch, name):
    monkeypatch.setattr(stages, "synthesize", lambda *_: pytest.fail("work was begun"))
    Path(name).symlink_to("nowhere")
    with pytest.raises((OptionError, DataError)):
        run()
    assert names(".") == {"real.csv", "pass.toml", "fail.toml", name}


def test_only_what_was_made_for_copying_is_removed(home, short, monkeypatch):
    Path("out.unfinished").mkdir()
    Path("out.unfinished/README.md").write_text("mine, though it is called as yours is")
    with pytest.raises(DataError, match="in the way"):
        run()
    assert Path("out.unfinished/README.md").read_text().startswith("mine")
    shutil.rmtree("out.unfinished")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **more: None)  # killed: nobody cleans up
        patch.setattr(folders, "put_in_place", lambda folder, to: (
            folder.rename(to) if to.name == "out-steward" else stop()
        ))  # fmt: skip
        with pytest.raises(KeyboardInterrupt):
            run()
    assert Path("out.unfinished/out/README.md").is_file()
    assert run().folder == Path("out")
    assert names("out") == HANDED
    assert not Path("out.unfinished").exists()


def test_a_hand_over_that_fails_leaves_no_half_copy(home, short, monkeypatch):
    def late(folder, to, put=folders.put_in_place):
        if to.name == "out":
            Path("out").write_text("somebody was faster")
        put(folder, to)

    monkeypatch.setattr(folders, "put_in_place", late)
    with pytest.raises(DataError, match="cannot be put in place"):
        run()
    assert not Path("out.unfinished").exists()
    assert Path("out").read_text() == "somebody was faster"


def test_two_runs_do_not_share_a_folder(home, short, monkeypatch):
    said = []

    def other(*_):
        for more in ({}, {"steward_out": "elsewhere"}, {"out": "b", "steward_out": "out-steward"}):
            with pytest.raises(DataError, match="another run is at work on it") as caught:
                run(**more)
            said.append(caught.value.hint)

    with monkeypatch.context() as patch:
        patch.setattr(stages, "synthesize", other)
        patch.setattr(stages, "judge", stop)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert said == ["wait until it has ended, or name another folder (--out)"] * 3
    Path(".understudy-out.lock").touch()  # left by a run that was killed
    assert run().outcome == "PASS"
    assert names(".") == {"real.csv", "pass.toml", "fail.toml", "out", "out-steward"}


def test_what_the_steward_keeps_is_for_its_owner(home, short):
    run()
    files = [path for path in Path("out-steward").rglob("*") if path.is_file()]
    assert {oct(path.stat().st_mode)[-3:] for path in files} == {"600"}
    free = Path("free")
    free.touch()
    for path in Path("out").iterdir():
        assert path.stat().st_mode == free.stat().st_mode, "what is handed over can be read"


def test_levels_of_every_column_that_rules_name_are_measured(home, short):
    side = pl.Series(["left", "right"] * 300)
    people(600, 1).select(*COLUMNS, side=side).write_csv("real.csv")
    rules = [f'measure = "{MEASURE}"\nupper = 1\nby = "{by}"' for by in ("sex", "side", "sex")]
    Path("levels.toml").write_text("".join(f"[[rule]]\n{rule}\n" for rule in rules))
    decision = run("levels.toml")
    assert decision.outcome == "PASS", decision.assessment.verdicts
    parts = {part.name for part in decision.assessment[MEASURE].parts}
    assert {"sex = f", "sex = m", "side = left", "side = right"} <= parts
    assert json.loads(Path("out-steward/plan.json").read_text())["by"] == ["sex", "side"]
    assert receipt.verify("out-steward/receipt.json").equal
    rules = policies.read(Path("levels.toml"), MEASURES)
    assert Request.of(by=["half", "sex"], policy=rules).by == ("half", "sex", "side")
    assert Request.of(by="half", policy="levels.toml").by == ("half", "sex", "side")


@pytest.mark.parametrize("modules", ["first", "after", "never"])
def test_the_names_of_the_package_can_be_called_whatever_was_imported(home, modules):
    loaded = "import understudy.workflows.release, understudy.workflows.benchmark"
    lines = {
        "first": [loaded, "import understudy as us"],
        "after": ["import understudy as us", loaded],
        "never": ["import understudy as us"],
    }[modules]
    for call in ("us.release('none.csv', 'pass.toml', 'out')",
                 "us.benchmark('none.csv', methods=['flip'])") * 2:  # fmt: skip
        lines += ["try:", f"    {call}", "except us.UnderstudyError as error:", "    print(error)"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert done.stdout.count("none.csv") == 4, done.stderr


def test_no_space_and_no_rights_are_said(home, short, monkeypatch):
    def full(*arguments, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DataError, match="cannot be made a folder"):
        run(out="real.csv/out")
    with monkeypatch.context() as patch:
        patch.setattr(stages, "write_batches", full)
        with pytest.raises(DataError, match="No space left on device"):
            run()
    assert not list(home.glob("out*")), "nothing is left where nothing was done"
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", full)
        with pytest.raises(DataError, match="No space left on device"):
            run()
    assert not Path("out").exists()
    assert not Path("out.unfinished").exists()
    assert run().folder == Path("out")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"target": "incom"}, "target: there is no column 'incom'"),
        (
            {"keys": ["person_id"]},
            "keys: the column 'person_id' is left out: it is taken for identifier",
        ),
        ({"method": "foerst"}, "there is no method 'foerst'"),
        ({"options": {"cart": {"cp": 1}}}, "cart has options, but the method is independent"),
        ({"options": {MEASURE: {"bnis": 1}}}, "no option 'bnis'"),
        ({"replicates": 0}, "replicates = 0"),
        ({"holdout_share": 1.5}, "holdout_share = 1.5"),
        ({"holdout_share": 1e-9}, "a control of 1 row: too few to judge by, 30 at least"),
        ({"holdout_share": 0.12}, "a control of 29 rows: too few to judge by, 30 at least"),
        ({"holdout_share": 0.99}, "2 rows to learn from: too few, 30 at least"),
        ({"measures": ["fidelitty"]}, "there is no measure"),
        ({"group": "huose"}, "no column 'huose'"),
        ({"by": "income"}, "by: 'income' is no category"),
        ({"by": ["sex", "age"]}, "by: "),
        ({"by": "town"}, "by: no level of 'town' has 100 rows"),
        ({"by": "sxe"}, "by: there is no column 'sxe'"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(home, more, message):
    with pytest.raises((OptionError, DataError), match=message):
        run(**more)
    assert not list(home.glob("out*"))


def test_an_error_after_the_model_keeps_it(home, short, monkeypatch):
    def failing(*arguments, **more):
        raise DataError("no luck")

    with monkeypatch.context() as patch:
        patch.setattr(stages, "assess_tables", failing)
        with pytest.raises(DataError, match="no luck"):
            run()
    assert Path("out-steward.unfinished/release.model").is_file()
    assert run().outcome == "PASS"


def test_a_frame_can_be_released(home, short):
    made = release(
        people(200, 2), "pass.toml", home / "out", method="independent", measures=[MEASURE], seed=1
    )
    assert made.outcome == "PASS"
    assert pl.read_parquet("out/synthetic.parquet").height == 100
    assert Decision is type(made)


def test_rows_that_break_a_constraint_are_told(home, short):
    schema, told = infer(pl.read_csv("real.csv")), []
    run(schema=dataclasses.replace(schema, constraints=("age <= 60",)), tell=told.append)
    (text,) = told
    assert re.fullmatch(r"\d+ of 120 training rows break the constraint age <= 60; .*", text)
