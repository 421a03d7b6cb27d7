"""What to do next: named parts, numbers of rows worked out by hand, options of the method."""

import pytest

from understudy.workflows.policy.next_steps import RuleNumbers, next_steps

NAME = "privacy.closest_record"


def finding(**more):
    return {
        "measure": NAME, "status": "ok", "unit": "fraction", "better": "lower", "value": 0.51,
        "interval": [0.49, 0.53], "reference": 0.5, "parts": [], **more,
    }  # fmt: skip


def steps(outcome, found, provenance=None, bound=0.52, side=1, measure=NAME):
    given = {"holdout": {"rows": 1000}, **(provenance or {})}
    missed = found and RuleNumbers(found["value"], found["interval"], bound, side)
    return " ".join(next_steps(found, given, measure=measure, outcome=outcome, missed=missed))


def test_rows_that_would_decide_are_worked_out_from_the_interval():
    # the upper end is 0.02 away and must come within 0.01: four times the rows
    said = steps("INCONCLUSIVE", finding())
    assert "about 4.0 times as many rows in every table (about 4,000 holdout rows)" in said
    assert "keeps to the bound" in said


def test_a_value_beyond_its_bound_needs_the_other_end():
    said = steps("INCONCLUSIVE", finding(value=0.53, interval=[0.51, 0.58]))
    assert "breaks the bound" in said
    assert "about 4.0 times" in said


def test_a_lower_bound_is_seen_from_the_other_side():
    said = steps("INCONCLUSIVE", finding(value=0.5, interval=[0.46, 0.52]), bound=0.48, side=-1)
    assert "keeps to the bound" in said
    assert "about 4.0 times" in said
    said = steps("INCONCLUSIVE", finding(value=0.46, interval=[0.4, 0.5]), bound=0.48, side=-1)
    assert "breaks the bound" in said
    assert "about 4.0 times" in said


@pytest.mark.parametrize("value", [0.5199999, 0.52])
def test_a_value_on_the_bound_is_not_promised_a_decision(value):
    said = steps("INCONCLUSIVE", finding(value=value))
    assert "times as many" not in said
    assert said


def test_parts_that_drive_it_are_named_worst_first():
    parts = [
        {"name": "age", "value": 0.3, "reference": 0.1},
        {"name": "sex", "value": 0.6, "reference": 0.1},
        {"name": "fine", "value": 0.1, "reference": 0.2},
        {"name": "in columns", "value": 9.0, "reference": 1.0, "unit": "columns"},
    ]
    assert "What drives it most: sex; age." in steps("FAIL", finding(parts=parts))
    better = [dict(p, value=p["reference"], reference=p["value"]) for p in parts]
    said = steps("FAIL", finding(parts=better, better="higher"))
    assert "What drives it most: sex; age." in said


@pytest.mark.parametrize(
    ("method", "words"),
    [("cart", "cart.minbucket=75"), ("forest", "forest.penalty"), ("theirs", "larger leaves")],
)
def test_a_leak_is_answered_by_a_coarser_generator(method, words):
    said = steps("FAIL", finding(), {"method": method})
    assert words in said
    assert "--register" in said


def test_poor_fidelity_is_answered_by_a_finer_one():
    said = steps("FAIL", finding(), {"method": "forest"}, measure="fidelity.trivariate")
    assert "Make forest finer" in said
    assert "--register" not in said


def test_what_was_not_measured_is_to_be_measured():
    assert f"--measures {NAME}" in steps("INCONCLUSIVE", None)
    assert "what it needs" in steps("INCONCLUSIVE", finding(status="not_applicable"))
    assert "failed" in steps("INCONCLUSIVE", finding(status="failed"))


def test_without_a_reference_a_holdout_is_asked_for():
    assert "Give a holdout" in steps("INCONCLUSIVE", finding(reference=None), {"holdout": None})


def test_options_that_are_named_exist():
    import re

    from understudy.synthesizers import SYNTHESIZERS, options_of

    for name, method in SYNTHESIZERS.items():
        text = method.card.coarser + method.card.finer
        for option in re.findall(rf"-o {name}\.(\w+)=", text):
            assert option in options_of(method)
