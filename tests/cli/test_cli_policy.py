"""understudy assess --policy: exit status, JUnit, verdicts in JSON."""

import json
from xml.etree import ElementTree

import pytest

from people import people
from process import understudy
from understudy.measures import MEASURES
from understudy.workflows.policy import read

RULE = '[[rule]]\nmeasure = "fidelity.univariate"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("policy")
    for name, seed in (("train", 1), ("synthetic", 2), ("holdout", 3)):
        people(200, seed).write_csv(made / f"{name}.csv")
    return made


def assess(folder, rules, *more):
    (folder / "policy.toml").write_text(rules)
    files = ("train.csv", "synthetic.csv", "--holdout", "holdout.csv", "--policy", "policy.toml")
    only = ("--measures", "fidelity.univariate")
    return understudy("assess", *files, *only, *more, cwd=folder)


@pytest.mark.parametrize(
    ("rules", "status", "outcome"),
    [
        (RULE + "upper = 1.0", 0, "PASS"),
        (RULE + "upper = 0.000001", 1, "FAIL"),
        ('[[rule]]\nmeasure = "privacy.correct_attribution"\nupper = 1', 3, "INCONCLUSIVE"),
    ],
)
def test_exit_status_json_and_junit(folder, rules, status, outcome):
    done = assess(folder, rules, "--json", "a.json", "--junit", "a.xml")
    assert done.returncode == status, done.stderr
    assert f"policy: {outcome}" in done.stderr
    assert outcome in done.stdout
    verdicts = json.loads((folder / "a.json").read_text())["verdicts"]
    assert [v["outcome"] for v in verdicts] == [outcome]
    assert len(ElementTree.parse(folder / "a.xml").getroot()) == 1


def test_bad_policies_stop_before_any_work(folder):
    done = assess(folder, RULE + "uper = 1", "--json", "never.json")
    assert done.returncode == 2
    assert "line 3: unknown key 'uper'" in done.stderr
    assert not (folder / "never.json").exists()
    done = understudy("assess", "train.csv", "synthetic.csv", "--junit", "a.xml", cwd=folder)
    assert done.returncode == 2
    assert "give --policy too" in done.stderr


def test_the_starting_policy_is_a_policy_and_overwrites_nothing(folder):
    done = understudy("policy", "init", "--out", "start.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    started = read(folder / "start.toml", MEASURES)
    assert started.rules[0].measure == "privacy.closest_record"
    again = understudy("policy", "init", "--out", "start.toml", cwd=folder)
    assert again.returncode == 2
    assert "is there already" in again.stderr
