"""repU and DiSCO: the whole family by hand and by a slow count, with controls and warnings."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.privacy.attribute_disclosure import attribute_disclosure
from understudy.measures.privacy.uniques import replicated_uniques

KEYS, SECRET = ("sex", "age"), "illness"


def frame(*rows):
    return pl.DataFrame(
        list(rows), {"sex": pl.String, "age": pl.Int64, "illness": pl.String}, orient="row"
    )


TRAIN = frame(
    ("f", 30, "flu"),  # alone, and copied once
    ("f", 40, "none"),
    ("f", 40, "none"),  # both told by a key of two records
    ("m", 30, "flu"),  # alone, told wrongly
    ("m", 50, "none"),  # alone, nowhere in the release
    ("m", 60, "flu"),
    ("m", 60, "none"),  # two values in the release: nothing told
    ("f", 70, None),  # missing is a value: alone, and told
)
RELEASE = frame(
    ("f", 30, "flu"),
    ("f", 40, "none"),
    ("f", 40, "none"),
    ("m", 30, "none"),
    ("m", 60, "flu"),
    ("m", 60, "none"),
    ("f", 70, None),
    ("f", 99, "flu"),
)


def compared(train=TRAIN, release=RELEASE, holdout=None, keys=KEYS, sensitive=(SECRET,), **more):
    return compare_tables(train, release, holdout, keys=keys, sensitive=sensitive, **more)


def family(finding, which="training"):
    """Read the family's numbers of the first sensitive column from the table."""
    table = next(iter(finding.tables.values()))
    place, number = table.columns.index(which), table.columns.index("number")
    first = table.rows[0][0] if table.columns[0] == "sensitive" else None
    return {row[number]: row[place] for row in table.rows if first in (None, row[0])}


def test_identity_by_hand():
    found = replicated_uniques(compared())
    assert family(found) == {"UiO": 4 / 8, "UiS": 4 / 8, "UiOiS": 3 / 8, "repU": 3 / 8}
    assert found.value == 3 / 8
    assert found.baselines == {"original": 4 / 8}
    assert found.reference is None
    assert found.p_value is None
    assert not found.flagged
    assert found.interval[0] < 3 / 8 < found.interval[1]
    assert found.register["training_row"].to_list() == [7, 0, 3]  # the rarest value of a key first
    assert "holdout" in found.note


def test_attribute_by_hand():
    found = attribute_disclosure(compared())
    told = family(found)
    assert told == {
        "Dsyn": 6 / 8,
        "Dorig": 6 / 8,
        "iS": 7 / 8,
        "DiS": 5 / 8,
        "DiSCO": 4 / 8,
        "DiSDiO": 4 / 8,
        "smallest group": 1,
        "mean group": 4 / 3,
        "largest group": 2,
    }
    assert found.value == 4 / 8
    assert found.baselines == {"original": 6 / 8, "naive": 4 / 8}
    assert found.reference is None
    assert found.register["training_row"].to_list() == [7, 0, 1, 2]  # alone first, then rare values
    assert set(found.register["attack"]) == {"illness from sex, age"}
    assert found.register["why"][0] == (
        "the 1 synthetic record with these keys give the person's own value; the keys are unique "
        "in training"
    )


def test_the_holdout_meets_the_same_release():
    """The reference is the same count for holdout persons; who they are among matters not."""
    holdout = frame(
        ("f", 40, "none"), ("m", 30, "flu"), ("f", 30, "none"), ("m", 60, "none"), ("m", 9, "flu")
    )
    more = TRAIN.head(5)
    found = attribute_disclosure(compared(more, RELEASE, holdout))
    assert (found.value, found.reference) == (3 / 5, 1 / 5)
    assert family(found, "holdout")["DiS"] == 3 / 5
    uniques = replicated_uniques(compared(more, RELEASE, holdout))
    assert (uniques.value, uniques.reference) == (2 / 5, 2 / 5)
    assert family(uniques, "holdout")["UiO"] == 1


some = st.lists(
    st.tuples(st.sampled_from("fm"), st.integers(1, 4), st.sampled_from(["a", "b", None])),
    min_size=5,
    max_size=25,
)


@given(some, some)
def test_the_family_is_what_a_slow_count_gives(real, made):
    train, release = frame(*real), frame(*made)
    d, s = Counter(r[:2] for r in real), Counter(r[:2] for r in made)
    values = {q: {r[2] for r in made if r[:2] == q} for q in s}
    own = {q: {r[2] for r in real if r[:2] == q} for q in d}
    if len(d) == 1 or len({r[2] for r in real}) == 1:
        return
    n = len(real)
    identity = family(replicated_uniques(compared(train, release)))
    assert identity == {
        "UiO": sum(t == 1 for t in d.values()) / n,
        "UiS": sum(t == 1 for t in s.values()) / len(made),
        "UiOiS": sum(t == 1 and q in s for q, t in d.items()) / n,
        "repU": sum(t == 1 and s.get(q) == 1 for q, t in d.items()) / n,
    }
    told = family(attribute_disclosure(compared(train, release)))
    sure = [r for r in real if len(values.get(r[:2], ())) == 1]
    correct = [r for r in sure if values[r[:2]] == {r[2]}]
    assert told["Dorig"] == sum(len(own[r[:2]]) == 1 for r in real) / n
    assert told["Dsyn"] == sum(len(values[r[:2]]) == 1 for r in made) / len(made)
    assert told["iS"] == sum(r[:2] in s for r in real) / n
    assert told["DiS"] == len(sure) / n
    assert told["DiSCO"] == len(correct) / n
    assert told["DiSDiO"] == sum(len(own[r[:2]]) == 1 for r in correct) / n
    groups = Counter(correct).values()
    assert told["largest group"] == (max(groups) if groups else None)
    assert told["smallest group"] == (min(groups) if groups else None)


# Fewer than five persons.


@pytest.mark.parametrize("measure", [replicated_uniques, attribute_disclosure])
def test_fewer_than_five_persons_are_not_told_about(measure):
    found = measure(compared(TRAIN, RELEASE, TRAIN.head(4)))
    assert (found.status, found.reference, found.p_value) == ("ok", None, None)
    assert found.value == measure(compared()).value
    assert "Fewer than 5 holdout persons" in found.note
    assert all("holdout" not in table.columns for table in found.tables.values())
    assert all(part.reference is None for part in found.parts)
    few = measure(compared(TRAIN.head(4)))
    assert few.status == "not_applicable"
    assert "Fewer than 5 training or holdout persons" in few.note


def test_an_empty_arm_is_never_a_reference_of_zero():
    tables = compared(TRAIN, RELEASE, crowd(20).with_columns(age=pl.lit(90)))
    found = attribute_disclosure(tables, exclude="age == 90")
    assert (found.value, found.reference) == (4 / 8, None)
    assert replicated_uniques(tables, exclude="age == 90").reference is None
    train, holdout, release = parts(1)
    blank = holdout.with_columns(smoker=pl.lit(None, holdout.schema["smoker"]))
    for sensitive in (("smoker", "children"), ("children",)):
        found = attribute_disclosure(
            compared(train, release, blank, PEOPLE["keys"], sensitive), missing=False
        )
        assert [part.name for part in found.parts] == ["children"]
        assert found.reference is not None
        assert ("persons are targets: smoker." in found.note) == (len(sensitive) == 2)


# Controls: copies are found, fresh rows are not.


def parts(seed, rows=500):
    return [people(rows, 10 * seed + i) for i in range(3)]


PEOPLE = {"keys": ("sex", "age", "town"), "sensitive": ("smoker", "children")}
MEASURES = (replicated_uniques, attribute_disclosure)


@pytest.mark.parametrize("measure", MEASURES)
def test_planted_records_are_found(measure):
    train, holdout, release = parts(2)
    assert not measure(compared(train, release, holdout, **PEOPLE)).flagged
    planted = release.head(350).vstack(train.head(150))
    found = measure(compared(train, planted, holdout, **PEOPLE))
    assert found.flagged
    assert found.value > found.reference
    listed = set(found.register["training_row"])
    assert len(listed & set(range(150))) > len(listed) / 2


def test_several_looks_are_corrected_and_said():
    train, holdout, release = parts(1)
    one, two = (
        attribute_disclosure(compared(train, release, holdout, PEOPLE["keys"], sensitive))
        for sensitive in (("smoker",), ("smoker", "children"))
    )
    assert "2 looks were taken" in two.note
    assert "look" not in one.note
    assert one.draws is not None
    assert two.draws is None
    assert [part.name for part in two.parts] == ["smoker", "children"]
    shown = min(two.parts, key=lambda part: part.more["p_value"])
    assert (two.value, two.reference, two.interval) == (
        shown.value,
        shown.reference,
        shown.interval,
    )
    assert two.parts[0].more["p_value"] >= one.p_value
    without = attribute_disclosure(compared(train, release, **PEOPLE))
    assert "2 looks" in without.note
    assert without.value == max(part.value for part in without.parts)


# The checks.


def crowd(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(20, 60, rows),
            "illness": rng.choice(["none", "flu", "measles"], rows),
        }
    )


def test_a_constant_target_raises_disco_and_the_check_warns():
    """The flaw that Latner et al. show: nothing is disclosed, the number rises."""
    train, release, holdout = (crowd(seed=seed) for seed in (1, 2, 3))
    constant = release.with_columns(illness=pl.lit("none"))
    before = attribute_disclosure(compared(train, release, holdout))
    after = attribute_disclosure(compared(train, constant, holdout))
    assert after.value > before.value
    assert family(after)["DiS"] == family(after)["iS"]
    assert "one-way check" in after.tables
    assert (
        "One-way check: 100% of the disclosures of 'illness' are of one level, none" in after.note
    )
    assert "this number is no disclosure" in after.note
    assert "one-way check" not in before.tables
    assert not after.flagged  # the holdout's number rises as well: that is what it is for
    card = attribute_disclosure.card
    assert "rises when the sensitive column of the release is constant" in card.not_shown


def test_the_constant_target_is_told_in_small_tables_too():
    few = attribute_disclosure(compared(TRAIN, RELEASE.with_columns(illness=pl.lit("none"))))
    assert "one-way check" in few.tables
    assert few.tables["one-way check"].rows[0][1] == "(a level of fewer than 5 records)"


def test_a_key_that_decides_the_value_is_named():
    train = crowd(2000).with_columns(
        illness=pl.when(pl.col("sex") == "f").then(pl.lit("none")).otherwise(pl.col("illness"))
    )
    found = attribute_disclosure(compared(train, train))
    table = found.tables["two-way check"]
    assert ("illness", "sex", "above 80%") in table.rows
    assert all(len(row) == 3 and row[2] == "above 80%" for row in table.rows)
    warned = found.note[found.note.index("Two-way check of 'illness'") :]
    assert not set("0123456789%") & set(warned)
    left_out = attribute_disclosure(
        compared(train, train), exclude="sex == 'f' and illness == 'none'"
    )
    assert left_out.value < found.value
    assert left_out.baselines["naive"] < found.baselines["naive"]
    assert "Left out by 'exclude'" in left_out.note
    assert "two-way check" not in left_out.tables


def test_the_checks_give_no_exact_share_of_real_persons():
    """94 of 97 disclosures are of one level: told is that it is above 90 %."""
    rows = [("f", 200 + i // 2, "none") if i < 94 else ("m", i // 2, "flu") for i in range(97)]
    other = [("m", 300 + i // 2, "flu") for i in range(6)]
    found = attribute_disclosure(compared(frame(*rows, *other), frame(*rows)))
    (row,) = found.tables["one-way check"].rows
    assert row == ("illness", "none", round(95 / 103, 6), round(94 / 97, 6), "above 90%")
    assert "above 90% of the disclosures of 'illness' are of one level, none" in found.note
    levels = {row[1]: row[-2:] for row in found.tables["levels"].rows}
    assert levels == {"none": (1, 1), "flu": (round(5 / 10, 6), round(5 / 95, 6))}


def test_levels_of_fewer_than_five_records_are_not_told():
    train = crowd(100).with_columns(
        illness=pl.when(pl.int_range(pl.len()) < 4).then(pl.lit("rare one")).otherwise("illness")
    )
    found = attribute_disclosure(compared(train, train))
    assert "rare one" not in str(found.to_dict())
    levels = found.tables["levels"]
    assert {row[1] for row in levels.rows} == {"none", "flu", "measles"}
    assert all(round(row[2] * 100) % 5 == 0 for row in levels.rows)


# Options.


def test_missing_values_can_be_left_out():
    kept, gone = (attribute_disclosure(compared(), missing=missing) for missing in (True, False))
    assert kept.value - gone.value == pytest.approx(1 / 8)
    assert "missing" in gone.note
    assert "missing" not in kept.note


def test_exclusions_are_conditions_on_persons():
    found = attribute_disclosure(compared(), exclude="illness == 'flu' or age is missing")
    assert found.value == 3 / 8
    assert replicated_uniques(compared(), exclude="age < 35").value == 1 / 8
    with pytest.raises(OptionError, match="no column 'ilness'"):
        attribute_disclosure(compared(), exclude="ilness == 'flu'")
    with pytest.raises(OptionError, match="exclude = 3"):
        attribute_disclosure(compared(), exclude=3)


def test_numbers_can_be_cut():
    train, release = crowd(80, 1), crowd(80, 2)
    fine, coarse = (replicated_uniques(compared(train, release), key_bins=b) for b in (0, 2))
    assert coarse.value == 0 < fine.value
    assert "2 bins" in coarse.note
    income = people(300, 1)
    exact, cut = (
        attribute_disclosure(
            compared(income, people(300, 2), keys=("sex", "town"), sensitive=("income",)),
            target_bins=bins,
        )
        for bins in (0, 2)
    )
    assert cut.value > exact.value
    for bins in (1, -3, True):
        with pytest.raises(OptionError, match="bins"):
            replicated_uniques(compared(), key_bins=bins)


def test_a_key_may_have_to_stand_several_times():
    assert attribute_disclosure(compared(), minimum=2).value == 2 / 8
    assert "from 2 synthetic records on" in attribute_disclosure(compared(), minimum=2).note
    assert attribute_disclosure(compared(), minimum=3).value == 0


# Bad input.


def test_keys_and_sensitive_columns_are_checked():
    with pytest.raises(OptionError, match="no column 'agee'") as caught:
        compared(keys=("agee",))
    assert caught.value.hint == "did you mean 'age'?"
    with pytest.raises(OptionError, match="'age' is among the keys and among the sensitive"):
        compared(sensitive=("age",))
    with pytest.raises(OptionError, match="'age' is named twice"):
        compared(keys=("age", "sex", "age", "sex"))


@pytest.mark.parametrize("measure", MEASURES)
def test_keys_that_tell_nobody_apart(measure):
    train = TRAIN.with_columns(sex=pl.lit("f"))
    found = measure(compared(train, keys=("sex",)))
    assert found.status == "not_applicable"
    assert "one value for all training persons" in found.note
    some = measure(compared(train))
    assert some.status == "ok"
    assert "Of the keys, sex is the same" in some.note


def test_a_sensitive_column_without_values_or_with_one():
    empty = TRAIN.with_columns(illness=pl.lit(None, pl.String))
    found = attribute_disclosure(compared(empty))
    assert found.status == "not_applicable"
    assert "'illness' has no value in training" in found.note
    constant = attribute_disclosure(compared(TRAIN.with_columns(illness=pl.lit("flu"))))
    assert constant.status == "not_applicable"


@pytest.mark.parametrize("measure", MEASURES)
def test_no_exact_match_is_no_evidence(measure):
    release = RELEASE.with_columns(age=pl.col("age") + 1000)
    found = measure(compared(TRAIN, release))
    assert (found.status, found.value) == ("ok", 0)
    assert "attack too weak" in found.note


def test_the_finding_through_assess():
    train, holdout, release = parts(3, 300)
    result = us.assess(
        train,
        release,
        holdout=holdout,
        **PEOPLE,
        measures=["privacy.attribute_disclosure", "privacy.replicated_uniques"],
        options={"privacy.attribute_disclosure": {"minimum": 2, "permutations": 99}},
    )
    assert result["privacy.attribute_disclosure"].status == "ok"
    assert result.provenance["keys"] == list(PEOPLE["keys"])
    assert set(result.register().columns) >= {"measure", "training_row", "attack", "why"}
