"""What a run ends with: its status, and the one line that says why."""

import json
from pathlib import Path

import pytest

from people import people
from process import here
from understudy.cli import cli, common

HELLINGER = '[[rule]]\nmeasure = "fidelity.hellinger"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("statuses")
    for name, seed in (("train", 1), ("synthetic", 2), ("holdout", 3)):
        people(120, seed).select("sex", "age", "income", "town").write_csv(made / f"{name}.csv")
    return made


class PanicException(BaseException):
    """As polars raises them: no Exception."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TypeError("no\nsuch thing"), "understudy: an error that was not foreseen (TypeError: no)"),
        (PanicException("index out of bounds"), "(PanicException: index out of bounds)"),
        (SystemError("unknown opcode"), "(SystemError: unknown opcode)"),
        (RecursionError("too deep"), "(RecursionError: too deep)"),
        (AssertionError(), "(AssertionError)"),
        (MemoryError(), "understudy: there is not enough memory"),
    ],
)
def test_what_nobody_foresaw_is_bad_input_and_no_verdict(monkeypatch, tmp_path, error, said):
    def broken(**arguments):
        raise error

    monkeypatch.setattr(cli.get_command(None, "measures"), "callback", broken)
    monkeypatch.delenv("UNDERSTUDY_TRACEBACK", raising=False)
    done = here("measures", cwd=tmp_path)
    first, second = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert said in first
    assert second.startswith("hint: ")
    assert not list(tmp_path.iterdir())
    if not isinstance(error, MemoryError):
        assert "UNDERSTUDY_TRACEBACK=FILE" in second
        monkeypatch.setenv("UNDERSTUDY_TRACEBACK", "why.txt")
        done = here("measures", cwd=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)
        assert "the traceback is in why.txt" in done.stderr
        assert "in broken" in (tmp_path / "why.txt").read_text()
        monkeypatch.setenv("UNDERSTUDY_TRACEBACK", "no/such/folder/why.txt")
        done = here("measures", cwd=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)
        assert "cannot be written" in done.stderr


def test_a_program_that_ends_itself_keeps_its_status(monkeypatch, tmp_path):
    def ends(**arguments):
        raise SystemExit(7)

    monkeypatch.setattr(cli.get_command(None, "measures"), "callback", ends)
    assert here("measures", cwd=tmp_path).returncode == 7


@pytest.mark.parametrize("words", [(), ("policy",)])
def test_without_a_command_the_help_is_shown(words, tmp_path):
    done = here(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Usage: {' '.join(('understudy', *words))} ")
    assert "Commands:" in done.stderr
    assert done.stderr.count("Usage:") == 1
    assert "hint: " not in done.stderr


LISTS = [
    (command.name, parameter.opts[0])
    for command in (cli.get_command(None, name) for name in cli.list_commands(None))
    for parameter in command.params
    if parameter.callback in (common.names, common.names_or_none)
]


@pytest.mark.parametrize(("command", "option"), LISTS)
@pytest.mark.parametrize("value", [",", "", " , "])
def test_a_list_without_a_name_is_an_error(command, option, value, tmp_path):
    done = here(command, "a.csv", option, value, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{option}: there is no name in '{value}'" in done.stderr
    assert "hint: " in done.stderr


def test_all_lists_are_tried():
    assert {option for _, option in LISTS} == {
        "--by", "--datasets", "--keep", "--keys", "--measures", "--methods", "--replace",
        "--sensitive",
    }  # fmt: skip


@pytest.mark.parametrize("option", ["--replace-where", "--method"])
def test_an_empty_text_is_not_taken_for_none(folder, option, tmp_path):
    given = ("--replace", "age") if option == "--replace-where" else ()
    out = tmp_path / "s.csv"
    done = here("synthesize", "train.csv", "--out", out, *given, option, "", cwd=folder)
    assert done.returncode == 2, done.stderr
    assert not out.exists()


def assess(folder, rules, *more, measures=("--measures", "fidelity.hellinger")):
    (folder / "policy.toml").write_text(rules)
    files = ("train.csv", "synthetic.csv", "--policy", "policy.toml")
    return here("assess", *files, *measures, *more, cwd=folder)


@pytest.mark.parametrize(
    ("rules", "status", "said"),
    [
        (HELLINGER + "upper = 0.000001", 1, "policy: FAIL\n"),
        ('required = ["privacy.closest_record"]', 3, "policy: INCONCLUSIVE\n"),
        (HELLINGER + "upper = 1", 0, ""),
    ],
)
def test_quiet_says_the_verdict_where_it_is_no_pass(folder, rules, status, said):
    done = assess(folder, rules, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (status, said, "")
    done = assess(folder, rules, "--quiet", "--json", "-")
    assert (done.returncode, done.stderr) == (status, said)
    assert json.loads(done.stdout)["verdicts"]


def test_quiet_says_that_a_receipt_does_not_repeat(folder):
    assess(folder, HELLINGER + "upper = 1", "--receipt", "run.json", "--quiet")
    done = here("verify", "run.json", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    data = json.loads((folder / "run.json").read_text())
    data["assessment"]["findings"][0]["value"] = 0.987
    (folder / "run.json").write_text(json.dumps(data))
    done = here("verify", "run.json", "--quiet", cwd=folder)
    last = "DIFFERENT: 1 of 1 finding compared exactly\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, last, "")
    done = here("verify", "run.json", "--quiet", "--json", "-", cwd=folder)
    assert (done.returncode, done.stderr) == (1, last)
    assert json.loads(done.stdout)["equal"] is False


def test_a_policy_is_measured_whatever_else_is_asked_for(folder):
    rules = HELLINGER + 'upper = 1\n[[rule]]\nmeasure = "fidelity.moments"\nlower = 0\n'
    done = assess(folder, rules, "--json", "-")
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [f["measure"] for f in told["findings"]] == ["fidelity.hellinger", "fidelity.moments"]


def test_the_levels_that_a_policy_names_are_measured(folder, tmp_path):
    for name, seed in (("train", 1), ("synthetic", 2)):
        people(300, seed).select("sex", "age", "town").write_csv(tmp_path / f"{name}.csv")
    done = assess(tmp_path, HELLINGER + 'by = "sex"\nupper = 1\n', "--json", "-")
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told["provenance"]["by"] == ["sex"]
    assert {"sex = f", "sex = m"} <= {part["name"] for part in told["findings"][0]["parts"]}


@pytest.mark.parametrize(
    ("rules", "lacking"),
    [
        ('required = ["privacy.closest_record"]', "(--holdout)"),
        ('[[rule]]\nmeasure = "privacy.closest_record"\nupper = 1', "(--holdout)"),
        ('required = ["privacy.attribute_disclosure"]', "(--keys A,B, or --keys auto)"),
        ('required = ["privacy.correct_attribution"]', "(--sensitive C,D, or --sensitive all)"),
        ('required = ["utility.classification"]', "(--target COLUMN)"),
        ('required = ["utility.estimates"]', "(--formula)"),
    ],
)
def test_what_a_named_measure_lacks_is_said(folder, rules, lacking):
    done = assess(folder, rules, "--json", "-")
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert (done.returncode, verdict["outcome"]) == (3, "INCONCLUSIVE")
    assert "it is not applicable: This needs" in verdict["why"]
    assert lacking in verdict["why"]
    assert verdict["next"]
