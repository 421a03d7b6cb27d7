"""Matching of aligned records: worked by hand, and by Reiter and Mitra's definition."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import OptionError, UnderstudyError
from understudy.judging.comparison import compare_tables
from understudy.measures import MEASURES
from understudy.measures.privacy.matching import match_rate
from understudy.workflows.measuring import run_measure as run


@pytest.fixture
def any_number(monkeypatch):
    """Show rates of fewer persons than are ever shown, so that they can be worked by hand."""
    monkeypatch.setattr("understudy.judging.register.K", 1)


by_hand = pytest.mark.usefixtures("any_number")


def frame(age, born, income=None):
    return pl.DataFrame(
        {"age": age, "born": born, "income": income or [100 * i for i in range(len(age))]}
    )


def aligned(train, *releases, keys=("age", "born"), **more):
    return compare_tables(train, list(releases), keys=keys, aligned=True, **more)


def parts(finding):
    return {part.name: part.value for part in finding.parts}


REAL = frame([20, 20, 40, 60], ["US", "US", "US", "UK"])


@by_hand
def test_one_replicate_by_hand():
    # person 0 and 1 share their keys, 2 finds person 3's record, 3 finds none
    found = match_rate(aligned(REAL, frame([20, 20, 41, 40], ["US", "US", "UK", "US"])))
    assert found.value == 0
    assert parts(found) == {
        "true match rate": 0,
        "false match rate": 1,
        "expected match risk": (1 / 2 + 1 / 2) / 4,
        "targets with a match": 1 / 4,
        "targets that no record fits": 1 / 4,
    }
    # released as they are, persons 2 and 3 are found and the first two share theirs
    assert found.baselines["original"] == 0.5


@by_hand
def test_replicates_are_averaged_before_the_largest_is_taken():
    # person 0 (20, US): first replicate fits records 0 and 1, second fits record 1 alone
    first = frame([20, 20, 1, 1], ["US", "US", "x", "x"])
    second = frame([9, 20, 1, 1], ["US", "US", "x", "x"])
    together = match_rate(aligned(REAL, first, second))
    # record 1 has (1/2 + 1) / 2, record 0 has 1/4: true for person 1, false for person 0
    assert together.value == 0.25
    assert parts(together)["false match rate"] == 0.5
    assert together.register["training_row"].to_list() == [1]
    assert together.register["probability"].to_list() == [0.75]
    alone = match_rate(aligned(REAL, first))
    assert alone.value == 0
    assert "2 replicates together" in together.note


@by_hand
def test_the_program_hands_over_all_replicates_at_once():
    first = frame([20, 20, 1, 1], ["US", "US", "x", "x"])
    second = frame([9, 20, 1, 1], ["US", "US", "x", "x"])
    found = us.assess(
        REAL, [first, second], keys=["age", "born"], aligned=True, measures=["privacy.match_rate"]
    )["privacy.match_rate"]
    assert found.value == 0.25
    assert "replicates" not in found.tables


@by_hand
def test_targets_and_records_meet_the_condition():
    # as in Dandekar et al.: born in the US, rich, and of about the same age
    real = frame([30, 50, 51, 70], ["US", "US", "US", "UK"], [300, 300, 20, 300])
    made = frame([32, 50, 51, 30], ["US", "US", "US", "UK"], [290, 100, 280, 300])
    rich = "born == 'US' and income > 250"
    found = match_rate(aligned(real, made, keys=("age",)), where=rich, tolerance="age=2")
    # target 0 (30): record 0 alone fits; target 1 (50): record 2 (51) alone is rich enough
    assert found.value == 0.5
    assert parts(found)["false match rate"] == 0.5
    assert "2 targets" in found.note
    # both have a match, and an intruder may find records 0 and 2 alone
    assert found.baselines["naive"] == 1 / 2


@pytest.mark.parametrize(
    ("tolerance", "value"), [("", 0), ("age=1", 0), ("age=2", 1 / 3), ("age=10%", 2 / 3)]
)
@by_hand
def test_tolerances(tolerance, value):
    real = frame([20, 40, 60], ["US"] * 3)
    made = frame([22, 44, 90], ["US"] * 3)
    assert match_rate(aligned(real, made), tolerance=tolerance).value == pytest.approx(value)


@by_hand
def test_a_missing_value_matches_a_missing_one_only():
    real, made = frame([None, 40, 41], ["US"] * 3), frame([None, 39, None], ["US"] * 3)
    found = match_rate(aligned(real, made), tolerance="age=1")
    # person 0 shares with record 2; persons 1 (40) and 2 (41): record 1 fits 40 alone
    assert found.value == pytest.approx(1 / 3)
    assert parts(found)["expected match risk"] == pytest.approx((1 / 2 + 1) / 3)


def test_the_definition_on_random_tables():
    rng = np.random.default_rng(3)

    def draw():
        return frame(rng.integers(20, 30, 60).tolist(), rng.choice(["a", "b"], 60).tolist())

    real, releases = draw(), [draw() for _ in range(3)]
    true = risk = 0.0
    for person in range(60):
        mean = np.zeros(60)
        for release in releases:
            fits = ((release["age"] - real["age"][person]).abs() <= 1) & (
                release["born"] == real["born"][person]
            )
            mean += fits.to_numpy() / max(1, fits.sum()) / 3
        best = mean > mean.max() - 1e-12 if mean.max() else np.zeros(60, bool)
        true += best.sum() == 1 and best[person]
        risk += best[person] / max(1, best.sum())
    found = match_rate(aligned(real, *releases), tolerance="age=1")
    assert found.value == pytest.approx(true / 60)
    assert parts(found)["expected match risk"] == pytest.approx(risk / 60)


def test_without_aligned_rows_it_says_how():
    finding = run(MEASURES["privacy.match_rate"], compare_tables(REAL, REAL, keys=("age",)))
    assert finding.status == "not_applicable"
    assert "--aligned" in finding.note
    assert "keys" in run(MEASURES["privacy.match_rate"], compare_tables(REAL, REAL)).note


def test_bad_input():
    comparison = aligned(REAL, REAL)
    for tolerance, word in (
        ("agee=2", "age"),
        ("born=2", "no numbers"),
        ("age", "write such as"),
        ("age=x", "no number"),
        ("age=-1", "0 up"),
    ):
        with pytest.raises(OptionError, match="tolerance") as caught:
            match_rate(comparison, tolerance=tolerance)
        assert word in str(caught.value)
    with pytest.raises(OptionError, match="condition"):
        match_rate(comparison, where="wage > 3")
    with pytest.raises(UnderstudyError, match="cannot be aligned"):
        match_rate(aligned(REAL, REAL.head(3)))


@by_hand
def test_nobody_to_look_for_and_nobody_found():
    assert match_rate(aligned(REAL, REAL), where="age > 100").status == "not_applicable"
    nobody = match_rate(aligned(REAL, REAL.with_columns(age=pl.lit(1))))
    assert nobody.value == 0
    assert "No target has a match" in nobody.note
    constant = REAL.with_columns(born=pl.lit("US"))
    assert "constant" in match_rate(aligned(constant, constant, keys=("born",))).note


@by_hand
def test_a_release_of_training_is_found_as_the_original_is():
    found = match_rate(aligned(REAL, REAL))
    assert found.value == found.baselines["original"] == 0.5
    assert set(found.register["training_row"]) == {2, 3}


def test_fewer_than_five_targets_have_no_rate():
    real = frame(list(range(20, 30)), ["US"] * 10)
    assert match_rate(aligned(real, real), where="age < 25").value == 1
    few = match_rate(aligned(real, real), where="age < 24")
    assert few.status == "not_applicable"
    assert "Fewer than five" in few.note
