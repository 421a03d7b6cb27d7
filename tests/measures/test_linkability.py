"""Linking two halves of a person: worked by hand, calibrated, and with planted copies."""

import numpy as np
import polars as pl
import pytest

from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.privacy.linkability import linkability

KEYS = ("sex", "age", "town")


@pytest.fixture
def any_number(monkeypatch):
    """Show rates of fewer persons than are ever shown, so that they can be worked by hand."""
    monkeypatch.setattr("understudy.judging.register.K", 1)


by_hand = pytest.mark.usefixtures("any_number")


def play(train, synthetic, holdout=None, keys=KEYS, **options):
    return linkability(compare_tables(train, synthetic, holdout, keys=keys), **options)


def letters(a, b):
    return pl.DataFrame({"a": list(a), "b": list(b)})


@by_hand
def test_links_by_hand():
    synthetic = letters("xxyz", "pqqr")
    # x,p: record 0 is nearest to both halves. z,q: records by a {3}, by b {1, 2}: none in common.
    # x,q: {0, 1} and {1, 2} have record 1 in common. w,r: all are as near by a, so 3 is common
    train = letters("xzxw", "pqqr")
    found = play(train, synthetic, letters("zzzz", "pqqp"), keys=("a",), permutations=99)
    assert found.value == 0.75
    assert found.reference == 0
    assert found.parts[0].name == "residual risk"
    assert found.parts[0].value == 0.75
    assert set(found.register["training_row"]) == {0, 2, 3}


@by_hand
def test_copies_of_a_record_are_one_record():
    train, holdout = letters("xy", "pq"), letters("yx", "pq")
    once = play(train, letters("xy", "pq"), holdout, keys=("a",), permutations=9)
    often = play(train, letters("xyxyx", "pqpqp"), holdout, keys=("a",), permutations=9)
    assert (once.value, once.reference) == (often.value, often.reference) == (1, 0)


def test_the_arms_are_counted():
    found = play(people(300, 1), people(300, 2), people(300, 3), permutations=99)
    rows = {row[1]: row[2:] for row in found.tables["arms"].rows}
    assert rows["main"] == (found.value * 300, 300, found.value)
    assert rows["control"] == (found.reference * 300, 300, found.reference)
    assert rows["baseline"][2] == found.baselines["naive"]


def test_planted_copies_are_found_and_listed():
    train = people(600, 1)
    synthetic = people(600, 2).vstack(train.head(60))
    found = play(train, synthetic, people(600, 3), permutations=499)
    assert found.flagged
    assert found.value > found.reference + 0.05
    planted = found.register.filter(pl.col("training_row") < 60)
    assert planted.height == 60
    assert found.register["training_row"][:60].max() < 60  # at distance 0, so they come first


def test_too_weak_an_attack_is_no_evidence():
    rng = np.random.default_rng(0)

    def noise():
        return pl.DataFrame({"a": rng.choice(list("xy"), 200), "b": rng.choice(list("pq"), 200)})

    # every combination is there, so every half fits every other
    found = play(noise(), noise(), noise(), keys=("a",), permutations=99)
    assert found.value == found.baselines["naive"] == 1
    assert "Attack too weak: no evidence" in found.note
    assert found.parts[0].value is None  # nothing is left to add where the control cannot lose


def test_without_a_holdout_there_is_no_reference():
    found = play(people(100, 1), people(100, 2))
    assert found.reference is None
    assert found.p_value is None
    assert "holdout" in found.note
    assert found.interval[0] <= found.value <= found.interval[1]


def test_fewer_attacks_are_said_and_do_not_depend_on_the_order():
    tables = [people(200, i) for i in (1, 2, 3)]
    found = play(*tables, attacks=50, permutations=99)
    assert "50 of 200" in found.note
    shuffled = [t.sample(fraction=1, shuffle=True, seed=9) for t in tables]
    again = play(*shuffled, attacks=50, permutations=99)
    assert (again.value, again.reference) == (found.value, found.reference)


def test_the_second_half_can_be_named():
    tables = [people(200, i) for i in (1, 2, 3)]
    found = play(*tables, second="income, children", permutations=99)
    assert "3 keys and 2 other columns" in [part.name for part in found.parts]
    with pytest.raises(OptionError, match="no column 'incme'"):
        play(*tables, second="incme")
    with pytest.raises(OptionError, match="'age' is a key"):
        play(*tables, second="income, age")


def test_bad_input():
    some = people(50, 1).select("sex", "age")
    assert "no second half" in play(some, some, keys=("sex", "age")).note
    constant = people(50, 1).with_columns(sex=pl.lit("f"))
    found = play(people(50, 2), constant, keys=("sex",))
    assert found.status == "not_applicable"
    assert "alike" in found.note
    with pytest.raises(OptionError, match="attacks"):
        play(people(50, 2), people(50, 1), attacks=0)
    with pytest.raises(OptionError, match="neighbours = 0") as caught:
        play(people(50, 2), people(50, 1), neighbours=0)
    assert caught.value.hint


def test_fewer_than_five_persons_in_an_arm_have_no_rate():
    train, release, holdout = (people(50, i) for i in (1, 2, 3))
    assert play(train, release, holdout.head(5), permutations=9).reference is not None
    for few in (play(train, release, holdout.head(4)), play(train, release, attacks=4)):
        assert few.status == "not_applicable"
        assert "Fewer than 5 training or holdout persons" in few.note
