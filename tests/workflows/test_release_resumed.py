"""A release that goes on: from its own files, whole and of its own method, or not at all."""

import json
from pathlib import Path

import pytest

from people import people
from understudy.errors import OptionError, UnderstudyError
from understudy.synthesizers import SYNTHESIZERS
from understudy.workflows.release import release, stages

MEASURE = "fidelity.univariate"
JUNK = [
    b"", b"{", b"[]", b"3", b"null", b"{}", b"\xff\xfe\0", b"[" * 100_000, b'{"a": NaN}',
    b'{"a": ' + b"9" * 5000 + b"}", b'[["key", "00"]]', b'{"outcome": "PASS"',
]  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(120, 1).select("age", "sex", "town").write_csv("real.csv")
    Path("policy.toml").write_text(f'[[rule]]\nmeasure = "{MEASURE}"\nupper = 1.0\n')
    return tmp_path


def run(**more):
    asked = {"method": "independent", "measures": [MEASURE], "seed": 1, **more}
    return release("real.csv", "policy.toml", "out", **asked)


def stop(*arguments, **more):
    raise KeyboardInterrupt


def refused(path: Path, content: bytes) -> None:
    before = path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(UnderstudyError) as caught:
        run()
    assert caught.value.hint
    assert not Path("out").exists()
    path.write_bytes(before)


def test_a_plan_of_another_form_is_refused(home, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stages, "judge", stop)
        with pytest.raises(KeyboardInterrupt):
            run()
    path = Path("out-steward.unfinished/plan.json")
    plan = json.loads(path.read_text())
    for content in JUNK:
        refused(path, content)
    for name in ("understudy_release", "key", "seed"):
        for value in (None, [], {}, "x", 1.5, -1, "00"):
            refused(path, json.dumps({**plan, name: value}).encode())
    assert run().outcome == "PASS"


def test_a_verdict_and_an_assessment_of_another_form_are_refused(home, monkeypatch):
    monkeypatch.setattr(stages.policies, "worst", lambda outcomes: "INCONCLUSIVE")
    assert run().folder is None  # finished, and not handed over
    folder = Path("out-steward/candidate")
    verdict = json.loads((folder / "verdict.json").read_text())
    for outcome in (None, [], {}, "pass", "MAYBE", 3):
        refused(folder / "verdict.json", json.dumps({**verdict, "outcome": outcome}).encode())
    data = json.loads((folder / "assessment.json").read_text())
    for name in ("version", "findings", "provenance", "verdicts"):
        refused(folder / "assessment.json", json.dumps(data | {name: 3}).encode())
        left = {key: value for key, value in data.items() if key != name}
        refused(folder / "assessment.json", json.dumps(left).encode())
    for content in JUNK:
        refused(folder / "verdict.json", content)
        refused(folder / "assessment.json", content)
    assert run(allow_inconclusive=True).folder == Path("out")


def test_a_method_whose_code_was_changed_does_not_go_on(home, monkeypatch):
    """A method of another package may change while its name stays the same."""
    with monkeypatch.context() as patch:
        patch.setattr(stages, "judge", stop)
        with pytest.raises(KeyboardInterrupt):
            run()

    class Changed(SYNTHESIZERS["independent"]):
        def sample(self, rows, rng):
            return super().sample(rows, rng)[::-1]

    monkeypatch.setitem(SYNTHESIZERS, "independent", Changed)
    with pytest.raises(OptionError, match="differs in: method code"):
        run()
