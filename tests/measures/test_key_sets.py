"""Several sets of keys are several looks: each as by itself, corrected for all, and counted."""

import polars as pl
import pytest

from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures import MEASURES
from understudy.measures.privacy.keys import key_sets

KEYS = ("age", "town", "sex")
NAMES = [
    "privacy.replicated_uniques",
    "privacy.attribute_disclosure",
    "privacy.correct_attribution",
    "privacy.linkability",
    "privacy.radius_attribution",
]


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    made = {"train": people(400, 1), "holdout": people(400, 2)}
    # every tenth person is copied, so that there is something to see
    fresh = people(400, 3)
    return {**made, "synthetic": pl.concat([fresh[:360], made["train"][::10]])}


def measured(name: str, tables, keys=KEYS, **options):
    comparison = compare_tables(
        tables["train"],
        tables["synthetic"],
        tables.get("holdout"),
        keys=keys,
        sensitive=("children",),
    )
    return MEASURES[name](comparison, **options)


def by_set(found, keys: tuple[str, ...]):
    """Find the part of one set of keys."""
    words = set(keys)
    for part in found.parts:
        heads = part.name.removeprefix("children from ").removesuffix(": children").split(" and ")
        if {word.strip() for word in heads[0].split(",")} == words:
            return part
    raise AssertionError(f"{keys} is not among {[part.name for part in found.parts]}")


@pytest.mark.parametrize("name", NAMES)
def test_each_set_is_as_if_it_were_the_only_one(name, tables):
    several = measured(name, tables, length=2)
    assert "3 looks were taken" in several.note
    for keys in (("age", "town"), ("age", "sex"), ("town", "sex")):
        part = by_set(several, keys)
        if name == "privacy.linkability":
            second = ",".join(c for c in tables["train"].columns if c not in (*KEYS, "person_id"))
            alone = measured(name, tables, keys=keys, second=second)
        else:
            alone = measured(name, tables, keys=keys)
        assert part.value == pytest.approx(alone.value)
        assert part.reference == pytest.approx(alone.reference)
        # corrected for the other looks, with the noise of 1,000 swaps
        assert part.more["p_value"] >= alone.p_value - 0.05
        width = alone.interval[1] - alone.interval[0]
        assert part.interval[1] - part.interval[0] >= 0.9 * width


@pytest.mark.parametrize("name", NAMES)
def test_the_headline_is_the_strongest_look(name, tables):
    found = measured(name, tables, length=2)
    looks = [part for part in found.parts if "p_value" in part.more]
    assert found.p_value == min(part.more["p_value"] for part in looks)
    assert found.value in [part.value for part in looks]


@pytest.mark.parametrize("name", NAMES)
def test_looks_are_counted_without_a_holdout_too(name, tables):
    without = {which: table for which, table in tables.items() if which != "holdout"}
    found = measured(name, without, length=1)
    assert "3 looks were taken, each by itself" in found.note
    assert found.reference is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("length", "words"),
    [(0, "with 3 keys"), (4, "with 3 keys"), (True, "whole number"), (1.5, "whole number")],
)
def test_a_length_that_makes_no_sense_is_refused(name, length, words, tables):
    with pytest.raises(OptionError, match=words):
        measured(name, tables, length=length)


def test_sets_are_drawn_where_there_are_many_and_it_is_said(tables):
    comparison = compare_tables(tables["train"], tables["synthetic"], keys=KEYS)
    sets, said = key_sets(comparison, 2, 2, name="x")
    assert len(set(sets)) == 2
    assert said == "2 of 3 sets of 2 keys were drawn at random (subsets)."
    assert key_sets(comparison, None, 1, name="x") == ([KEYS], "")


def test_a_set_of_constant_keys_is_left_out_and_said(tables):
    same = {which: table.with_columns(town=pl.lit("x")) for which, table in tables.items()}
    for name in NAMES[:3]:
        found = measured(name, same, length=1)
        assert "2 looks were taken" in found.note
        assert "Left out, the same for all training persons: town." in found.note


def test_the_leak_is_found_by_the_set_of_keys_that_shows_it():
    train, holdout, fresh = (people(600, seed) for seed in (1, 2, 3))
    # the release holds the ages and towns of training persons, and nothing else of them
    released = fresh.with_columns(age=train["age"], town=train["town"])
    found = measured(
        "privacy.replicated_uniques",
        {"train": train, "holdout": holdout, "synthetic": released},
        keys=("age", "town", "income"),
        length=2,
    )
    assert found.flagged
    assert "age, town" in found.note
