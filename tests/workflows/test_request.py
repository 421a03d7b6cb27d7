"""One request: checked before any work is done, and the same after it was written down."""

import json

import pytest

import understudy as us
from people import people
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.workflows import verify as receipts
from understudy.workflows.policy import loads
from understudy.workflows.request import Request

NAME = "fidelity.hellinger"
RULE = f'[[rule]]\nmeasure = "{NAME}"\nupper = 1\nby = "sex"'
FAST = {NAME: {"resamples": 5, "pairs": 0}}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"measures": "fidelity.helinger"}, "did you mean 'fidelity.hellinger'"),
        ({"options": {"fidelity.helinger": {}}}, "there is no measure"),
        ({"options": {NAME: {"resamples": 1}}}, "use 2 or more"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": 1.5}, "seed = 1.5"),
        ({"policy": "nowhere.toml"}, "there is no such policy"),
        ({"calibration": {}}, "calibration"),
    ],
)
def test_what_cannot_be_is_refused_at_birth(asked, words):
    with pytest.raises(us.UnderstudyError) as caught:
        Request.of(**asked)
    assert words in str(caught.value)
    assert caught.value.hint


def test_a_policy_adds_what_it_names():
    request = Request.of(measures="fidelity.moments", by="smoker", policy=loads(RULE))
    assert list(request.measures) == [NAME, "fidelity.moments"]
    assert request.by == ("smoker", "sex")


def test_roles_choose_measures():
    plain, keyed = Request.of(), Request.of(keys="sex", sensitive="all")
    assert "privacy.correct_attribution" not in plain.measures
    assert set(keyed.measures) - set(plain.measures) >= {"privacy.correct_attribution"}


@pytest.mark.parametrize("role", ["keys", "sensitive", "by", "target"])
def test_columns_that_are_not_there_are_named_with_their_role(role):
    schema = Table.of(people(50, 1)).schema
    Request.of(keys="auto", sensitive="all", by="sex").check_columns(schema)
    with pytest.raises(OptionError, match=f"{role}: there is no column 'sexx'") as caught:
        Request.of(**{role: "sexx"}).check_columns(schema)
    assert caught.value.hint == "did you mean 'sex'?"


def test_written_down_and_read_it_is_the_same():
    request = Request.of(
        keys="sex", sensitive=["income"], formula="age ~ sex", aligned=True, fit="cart", by="sex",
        measures="fidelity", options=FAST, seed=3,
    )  # fmt: skip
    assert Request.from_dict(json.loads(json.dumps(request.to_dict()))) == request


def test_a_receipt_holds_the_request(tmp_path):
    tables = people(300, 1), people(300, 2)
    asked = {"by": "sex", "measures": NAME, "options": FAST, "seed": 4}
    result = us.assess(*tables, **asked)
    receipts.of(result, *tables).write(tmp_path / "receipt.json")
    assert receipts.read(tmp_path / "receipt.json").request == Request.of(**asked)


def test_an_assessment_is_judged_by_its_policy(tmp_path):
    (tmp_path / "policy.toml").write_text(RULE)
    tables = people(300, 1), people(300, 2)
    result = us.assess(*tables, options=FAST, measures=NAME, policy=tmp_path / "policy.toml")
    (verdict,) = result.verdicts
    assert (verdict["outcome"], verdict["measure"]) == ("PASS", NAME)
    assert result.provenance["by"] == ["sex"]
    assert us.assess(*tables, options=FAST, measures=NAME).verdicts == ()


@pytest.mark.parametrize(
    "given",
    [
        {"keys": 3}, {"sensitive": 3}, {"by": 3}, {"formula": 3}, {"target": 3}, {"aligned": "x"},
        {"options": 3}, {"options": {"fidelity.univariate": 3}}, {"policy": 3}, {"measures": 3},
    ],
)  # fmt: skip
def test_what_is_of_another_kind_is_refused(given):
    with pytest.raises(OptionError, match=r"3|'x'") as caught:
        Request.of(**given)
    assert caught.value.hint
