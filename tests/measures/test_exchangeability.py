"""Is the holdout a fair one: false alarms, power, and holdouts that are not fresh."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.judging.comparison import compare_tables
from understudy.measures import exchangeability as module


def check(train, holdout):
    return module.exchangeability(compare_tables(train, train, holdout))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 6])
def test_random_halves_raise_no_alarm(monkeypatch, columns):
    """Many-level categories and numbers, 60 random splits: at 1 % at most 4 alarms (p < .001)."""
    monkeypatch.setattr(module, "PERMUTATIONS", 99)
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(60):
        frame = pl.DataFrame(
            {f"c{i}": rng.integers(0, 9, 300).astype(str) for i in range(columns)}
            | {f"n{i}": rng.normal(size=300) for i in range(columns)}
        )
        alarms += check(frame[:150], frame[150:]).p_value <= 0.01
    assert alarms <= 4


def test_a_sorted_holdout_is_found_and_said_first():
    real = people(600, 1).sort("age")
    found = check(real[:300], real[300:])
    assert found.p_value <= 0.01
    assert "does not look like a random part" in found.warnings[0]
    result = us.assess(real[:300], real[:300], holdout=real[300:], measures=["fidelity.hellinger"])
    assert result.provenance["warnings"]
    assert result.to_html().index("Read this first") < result.to_html().index("at a glance")


def test_a_holdout_of_training_rows_is_no_control():
    real = people(400, 2)
    result = us.assess(real, people(400, 3), holdout=real, measures=["privacy"])
    assert "not fresh" in result.provenance["warnings"][-1]
    found = result["privacy.closest_record"]
    assert found.status == "not_applicable"
    assert not any(finding.flagged for finding in result if "privacy" in finding.measure)


def test_natural_twins_are_not_taken_for_an_overlap():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 3, 400).astype(str), "b": ["x", "y"] * 200})
    assert check(frame[:200], frame[200:]).fresh
