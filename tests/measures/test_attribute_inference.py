"""Guessing what is sensitive: by hand, calibrated, and with planted copies."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.privacy.inference import attribute_inference

FAST = {"iterations": 10, "permutations": 199}


@pytest.fixture
def any_number(monkeypatch):
    """Show rates of fewer persons than are ever shown, so that they can be worked by hand."""
    monkeypatch.setattr("understudy.judging.register.K", 1)


by_hand = pytest.mark.usefixtures("any_number")


def play(train, synthetic, holdout=None, sensitive=("children",), keys=(), **options):
    comparison = compare_tables(train, synthetic, holdout, sensitive=sensitive, keys=keys)
    return attribute_inference(comparison, **{**FAST, **options})


def parts(finding):
    return {part.name: part for part in finding.parts}


def persons(key, secret):
    return pl.DataFrame({"key": list(key), "secret": list(secret)})


@by_hand
def test_nearest_records_by_hand():
    synthetic = persons("aaabbcd", "xxyzzww")
    # a: x by vote; b: z; e is as far from all: x by vote of ten records in a fixed order, or other
    train = persons("aabc", "xyzw")
    holdout = persons("aabd", "yyyy")
    found = play(train, synthetic, holdout, sensitive=("secret",))
    nearest = parts(found)["secret by nearest records"]
    assert nearest.value == 0.75
    assert nearest.reference == 0
    assert nearest.more["naive"] == 0.25  # always x, as often in the release as z and w


@by_hand
def test_numbers_are_right_within_the_tolerance():
    synthetic = pl.DataFrame({"key": list("abcd"), "secret": [100.0, 200.0, 0.0, -50.0]})
    train = pl.DataFrame({"key": list("abcd"), "secret": [104.0, 212.0, 0.0, -51.0]})
    for tolerance, share in ((0.0, 0.25), (0.05, 0.75), (0.1, 1.0)):
        found = play(train, synthetic, sensitive=("secret",), tolerance=tolerance)
        assert parts(found)["secret by nearest records"].value == share


def test_dates_are_right_within_a_part_of_their_spread():
    day = dt.date(2020, 1, 1)

    def days(*numbers):
        return pl.DataFrame(
            {"key": list("abcdefgh"), "secret": [day + dt.timedelta(days=n) for n in numbers]}
        )

    found = play(
        days(0, 100, 200, 300, 400, 500, 600, 700),
        days(1, 101, 201, 301, 450, 550, 650, 750),
        sensitive=("secret",),
    )
    assert parts(found)["secret by nearest records"].value == 0.5


def test_both_attackers_learn_what_there_is_to_learn():
    rng = np.random.default_rng(0)

    def draw(rows):
        key = rng.choice(list("abcd"), rows)
        return pl.DataFrame({"key": key, "noise": rng.random(rows), "secret": np.char.upper(key)})

    found = play(draw(300), draw(300), draw(300), sensitive=("secret",))
    assert parts(found)["secret by model"].value == 1
    assert not found.flagged  # true of people in general: the control wins as often
    assert found.value > found.baselines["naive"]


def test_planted_copies_are_found_and_listed():
    train = people(600, 1)
    synthetic = people(600, 2).vstack(train.head(120))
    found = play(train, synthetic, people(600, 3), sensitive=("town",), permutations=499)
    assert found.flagged
    assert "town by nearest records" in found.note
    assert (found.register["training_row"] < 120).sum() >= 100
    assert found.baselines["original"] == 1


def test_too_weak_an_attack_is_no_evidence():
    rng = np.random.default_rng(1)

    def noise():
        often = rng.random(300) < 0.8
        return pl.DataFrame({"key": rng.random(300), "secret": np.where(often, "no", "yes")})

    found = play(noise(), noise(), noise(), sensitive=("secret",))
    assert parts(found)["secret by nearest records"].value < found.baselines["naive"]
    assert "Attack too weak: no evidence" in found.note


def test_several_sensitive_columns_are_several_looks():
    tables = [people(200, i) for i in (1, 2, 3)]
    found = play(*tables, sensitive=("town", "income"), keys=("sex", "age"))
    assert "4 looks" in found.note
    assert {"town by model", "income by nearest records"} <= set(parts(found))
    assert found.draws is None


def test_order_does_not_matter():
    tables = [people(200, i) for i in (1, 2, 3)]
    shuffled = [
        t.sample(fraction=1, shuffle=True, seed=4).select(reversed(t.columns)) for t in tables
    ]
    a, b = (play(*some, attacks=100, rows=150) for some in (tables, shuffled))
    assert (a.value, a.reference) == (b.value, b.reference)
    assert "100 of 200" in a.note
    assert "150 of 200" in a.note


def test_without_a_holdout_there_is_no_reference():
    found = play(people(100, 1), people(100, 2))
    assert (found.reference, found.p_value) == (None, None)
    assert "holdout" in found.note


def test_bad_input():
    real = people(60, 1)
    with pytest.raises(OptionError, match="'age' is among the keys"):
        play(real, real, sensitive=("age",), keys=("sex", "age"))
    with pytest.raises(OptionError, match="tolerance"):
        play(real, real, tolerance=1.5)
    for option in ("rows", "iterations", "attacks"):
        with pytest.raises(OptionError, match=f"{option} = -5") as caught:
            play(real, real, **{option: -5})
        assert caught.value.hint
    empty = play(real.with_columns(children=pl.lit(None, pl.Int64)), real)
    assert empty.status == "not_applicable"
    assert "'children'" in empty.note
    constant = play(real, real.with_columns(sex=pl.lit("f")), keys=("sex",))
    assert constant.status == "not_applicable"
    assert "keys" in constant.note


def test_many_levels_go_without_a_model():
    names = [f"n{i % 150}" if i < 150 else f"n{i % 40}" for i in range(600)]
    real = people(600, 1).with_columns(name=pl.Series(names))
    found = play(real, real, sensitive=("name",), attacks=50)
    assert "too many levels" in found.note
    assert "name by model" not in parts(found)


def test_fewer_than_five_persons_in_an_arm_have_no_rate():
    real, release, holdout = (people(60, i) for i in (1, 2, 3))
    few = play(real, release, holdout.head(4))
    assert few.status == "not_applicable"
    assert "Fewer than 5 training or holdout persons" in few.note
    # four holdout persons have a number of children, all have a town
    four = holdout.with_columns(children=pl.when(pl.arange(0, 60) < 4).then("children"))
    found = play(real, release, four, sensitive=("children", "town"), keys=("sex", "age"))
    assert {name.split(" by ")[0] for name in parts(found) if " by " in name} == {"town"}
    assert "2 of 4 looks left out" in found.note
