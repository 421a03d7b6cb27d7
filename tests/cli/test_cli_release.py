"""understudy release and understudy verify, run as processes."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from people import people
from process import here, understudy
from releases import content

RULE = '[[rule]]\nmeasure = "fidelity.hellinger"\n'
QUICK = ("--method", "independent", "--measures", "fidelity.hellinger", "--seed", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("release")
    people(240, 1).write_csv(made / "real.csv")
    for name, bound in (("pass", "upper = 1"), ("fail", "upper = 0.000001")):
        (made / f"{name}.toml").write_text(RULE + bound)
    return made


def release(folder, policy, out, *more, **options):
    given = ("real.csv", "--policy", policy, "--out", out)
    return understudy("release", *given, *QUICK, *more, cwd=folder, **options)


@pytest.mark.slow
def test_release_and_verify(folder):
    done = release(folder, "pass.toml", "out")
    assert done.returncode == 0, done.stderr
    assert "Verdict of the policy" in done.stdout
    lines = done.stderr.splitlines()
    assert lines[0] == "policy: PASS"
    assert lines[1] == "wrote out: to hand over"
    assert "for the steward alone" in lines[2]
    done = understudy("verify", "out-steward/receipt.json", cwd=folder)
    *read, last = done.stdout.splitlines()
    assert (done.returncode, last) == (0, "EQUAL: 1 finding compared exactly")
    kept = folder / "out-steward"
    assert read == [
        f"  read train: {kept / 'train.parquet'}",
        f"  read synthetic: {kept / 'candidate' / 'synthetic.csv'}",
        f"  read holdout: {kept / 'holdout.parquet'}",
    ]
    again = release(folder, "pass.toml", "out")
    assert again.returncode == 2
    assert "never overwritten" in again.stderr


def test_by_takes_several_columns(folder):
    done = release(folder, "pass.toml", "by", "--by", "sex,income")
    assert done.returncode == 2
    assert "by: " in done.stderr
    assert not list(folder.glob("by*"))


def test_fail(folder):
    done = release(folder, "fail.toml", "no", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (1, "policy: FAIL\n", "")
    assert not (folder / "no").exists()
    bare = {"COLUMNS": "40", "PATH": "", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = release(folder, "fail.toml", "no", env=bare)
    assert done.returncode == 1
    assert "no was not made; no-steward/README.md says why" in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_assess_receipt_and_verify(folder):
    people(200, 2).write_csv(folder / "a.csv")
    done = understudy(
        "assess", "real.csv", "a.csv", "--measures", "fidelity.hellinger", "--receipt", "run.json",
        "--policy", "pass.toml", "--json", "a.json", "--html", "a.html", "--by", "sex",
        "--register", "a.parquet", "--steward-html", "steward.html", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("run.json", "a.parquet", "steward.html"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert (folder / "a.html").stat().st_mode == (folder / "real.csv").stat().st_mode
    assert "wrote run.json (key and paths: do not share it)" in done.stderr
    data = json.loads((folder / "run.json").read_text())
    for shared in ("a.json", "a.html"):
        assert data["key"] not in (folder / shared).read_text()
    done = understudy("verify", "run.json", "--json", "-", cwd=folder)
    assert (done.returncode, json.loads(done.stdout)["equal"]) == (0, True)
    data["assessment"]["findings"][0]["value"] = 0.987
    (folder / "run.json").write_text(json.dumps(data))
    done = understudy("verify", "run.json", cwd=folder)
    assert done.returncode == 1
    assert "fidelity.hellinger: value: 0.987, now 0." in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "DIFFERENT: 1 of 1 finding compared exactly"
    (folder / "run.json").write_text("{")
    done = understudy("verify", "run.json", cwd=folder)
    assert done.returncode == 2
    assert "not a whole receipt" in done.stderr
    assert "hint: " in done.stderr


def test_a_full_disk_is_an_error_and_leaves_nothing(folder):
    program = [sys.executable, "-m", "understudy", "release", "real.csv", *QUICK]
    program += ["--policy", "pass.toml", "--out", "full"]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *program],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("full*"))


def stopped_at(folder, out, file, number):
    """Start a release, and send it a signal when a file is there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", "release", "real.csv", "--policy", "pass.toml",
         "--out", out, *QUICK],
        cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (folder / f"{out}-steward.unfinished" / file).exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.002)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


@pytest.mark.slow
@pytest.mark.parametrize("file", ["plan.json", "train.parquet", "release.model", "receipt.json"])
def test_killed_it_leaves_no_half_folder_and_goes_on(folder, file):
    whole, out = f"whole-{file}", f"killed-{file}"
    assert release(folder, "pass.toml", whole, "--quiet").returncode == 0
    status, _ = stopped_at(folder, out, file, signal.SIGKILL)
    assert status == -signal.SIGKILL
    assert not (folder / out).exists()
    assert not (folder / f"{out}-steward").exists()
    assert release(folder, "pass.toml", out, "--quiet").returncode == 0
    assert content(folder / out) == content(folder / whole)
    assert content(folder / f"{out}-steward") == content(folder / f"{whole}-steward")


@pytest.mark.slow
def test_ctrl_c_leaves_no_half_folder(folder):
    status, errors = stopped_at(folder, "stopped", "train.parquet", signal.SIGINT)
    assert status == 130, errors
    assert "the same command goes on" in errors
    assert not (folder / "stopped").exists()
    assert not (folder / "stopped-steward").exists()
    assert release(folder, "pass.toml", "stopped", "--quiet").returncode == 0


def test_what_weakens_a_claim_is_a_line_and_no_python_warning(folder):
    given = ("real.csv", "--policy", "pass.toml", "--out", "loud", "--method", "bayes")
    done = here("release", *given, "-o", "bayes.epsilon=20", cwd=folder)
    assert done.returncode == 2  # nothing is declared
    first, second, *_ = done.stderr.splitlines()
    assert first.startswith("warning: Epsilon 20 is above 10: ")
    assert second.startswith("understudy: under epsilon the domain must be declared")
    quiet = here("release", *given, "-o", "bayes.epsilon=20", "--quiet", cwd=folder)
    assert quiet.stderr.startswith("understudy: under epsilon")
