"""Many measures at once: what a reader is told of flags that chance would give."""

import numpy as np
import pytest

import understudy as us
from people import people
from understudy.judging.findings import Finding
from understudy.judging.multiplicity import holm, several_tests


def finding(name: str, p: float | None) -> Finding:
    flagged = p is not None and p < 0.05
    return Finding(f"privacy.{name}", value=0.5, p_value=p, flagged=flagged)


def test_holm_by_hand():
    # sorted .001 .01 .02 .2 times 4 3 2 1, never falling
    assert holm([0.02, 0.001, 0.2, 0.01]) == pytest.approx([0.04, 0.004, 0.2, 0.03])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_keeps_the_level_of_the_family():
    rng = np.random.default_rng(0)
    alarms = sum(min(holm(rng.random(12))) < 0.05 for _ in range(1000))
    assert alarms <= 73


def test_what_is_said_of_flags():
    found = [finding("closest_record", 0.001), finding("linkability", 0.04), finding("x", 0.6)]
    said = several_tests(found)
    assert "3 privacy measures were tested, each at 5% over all its looks" in said
    assert "2 are flagged (privacy.closest_record, privacy.linkability)" in said
    assert said.endswith("there remain: privacy.closest_record.")
    assert several_tests([*found[1:], finding("y", None)]).endswith("there remain: none.")


def test_one_test_needs_no_word():
    assert several_tests([finding("closest_record", 0.001), finding("x", None)]) == ""


def test_an_assessment_says_it():
    result = us.assess(
        people(300, 1),
        people(300, 2),
        holdout=people(300, 3),
        keys=["age", "town"],
        measures=["privacy.closest_record", "privacy.replicated_uniques"],
    )
    assert any("2 privacy measures were tested" in note for note in result.provenance["notes"])
