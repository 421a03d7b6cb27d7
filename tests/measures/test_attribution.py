"""The CAP family: by hand, by a slow count, and with the control."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.privacy.attribution import correct_attribution

KEYS, SECRET = ("a", "b", "c"), "t"


def frame(rows):
    kinds = dict.fromkeys((*KEYS, SECRET), pl.String)
    return pl.DataFrame([tuple(row) for row in rows], kinds, orient="row")


def compared(train, release, holdout=None, keys=KEYS, sensitive=(SECRET,), **more):
    return compare_tables(train, release, holdout, keys=keys, sensitive=sensitive, **more)


def family(finding, which="training"):
    table = finding.tables["attribution"]
    place = table.columns.index(which)
    return {row[1]: row[place] for row in table.rows}


TRAIN = ["xxx1", "xxx2", "xxy1", "yyy1", "yyx2"]
RELEASE = ["xxx1", "xxx1", "xxx1", "xxx2", "xxy2", "yyy1", "zzz2"]


def test_the_family_by_hand():
    found = correct_attribution(compared(frame(TRAIN), frame(RELEASE)))
    told = family(found)
    # xxx: 3/4 and 1/4; xxy: 0; yyy: 1; yyx: no match
    assert told["CAP 0 (DCAP)"] == pytest.approx((3 / 4 + 1 / 4 + 0 + 1 + 0) / 5)
    assert told["CAP undefined"] == pytest.approx((3 / 4 + 1 / 4 + 0 + 1) / 4)
    # yyx2 shares two keys with yyy1 alone
    assert told["GCAP"] == pytest.approx((3 / 4 + 1 / 4 + 0 + 1 + 0) / 5)
    # synthetic records of one value whose keys a person has: xxy2 (wrong), yyy1 (right)
    assert told["TCAP (Taub–Elliot)"] == pytest.approx(1 / 2)
    # DiSCO 1/5, iS 4/5
    assert told["TCAP (synthpop)"] == pytest.approx(1 / 4)
    assert told["CAP original"] == pytest.approx((1 / 2 + 1 / 2 + 1 + 1 + 1) / 5)
    assert told["baseline"] == pytest.approx((3 / 5) ** 2 + (2 / 5) ** 2)
    assert found.value == told["CAP 0 (DCAP)"]
    assert found.baselines == {"original": told["CAP original"], "naive": told["baseline"]}
    assert found.reference is None
    assert found.register["training_row"].to_list() == [3, 0]
    assert found.register["why"][0] == "chance 1.00, 0.6000 of all training persons"


rows = st.lists(
    st.tuples(*[st.sampled_from("xyz")] * 3, st.sampled_from("12")).map("".join),
    min_size=5,
    max_size=20,
)


@given(rows, rows)
def test_the_family_is_what_a_slow_count_gives(real, made):
    if len({r[:3] for r in real}) == 1 or len({r[3] for r in real}) == 1:
        return
    told = family(correct_attribution(compared(frame(real), frame(made))))

    def chance(records, person):
        return sum(r[3] == person[3] for r in records) / len(records) if records else None

    matched = [chance([r for r in made if r[:3] == p[:3]], p) for p in real]
    nearest = []
    for p in real:
        apart = [sum(x != y for x, y in zip(r[:3], p[:3], strict=True)) for r in made]
        nearest.append(chance([r for r, d in zip(made, apart, strict=True) if d == min(apart)], p))
    known = [c for c in matched if c is not None]
    assert told["CAP 0 (DCAP)"] == pytest.approx(sum(known) / len(real))
    assert told["CAP undefined"] == pytest.approx(np.mean(known) if known else np.nan, nan_ok=True)
    assert told["GCAP"] == pytest.approx(np.mean(nearest))
    sure = [r for r in made if len({x[3] for x in made if x[:3] == r[:3]}) == 1]
    right = [chance([p for p in real if p[:3] == r[:3]], r) for r in sure]
    right = [c for c in right if c is not None]
    taub = np.mean(right) if right else np.nan
    assert told["TCAP (Taub–Elliot)"] == pytest.approx(taub, nan_ok=True)
    disco = sum(
        len({x[3] for x in made if x[:3] == p[:3]}) == 1 and c == 1
        for p, c in zip(real, matched, strict=True)
    )
    tcap = disco / len(known) if known else np.nan
    assert told["TCAP (synthpop)"] == pytest.approx(tcap, nan_ok=True)
    own = [chance([r for r in real if r[:3] == p[:3]], p) for p in real]
    assert told["CAP original"] == pytest.approx(np.mean(own))
    shares = np.array(list(Counter(r[3] for r in real).values())) / len(real)
    assert told["baseline"] == pytest.approx(shares @ shares)


def test_of_a_crowd_of_nearest_keys_a_part_is_taken_and_said(monkeypatch):
    from understudy.measures.privacy import attribution

    monkeypatch.setattr(attribution, "MOST_NEAREST", 2)
    train = frame(["xyx1", "yxy2"] * 3)
    found = correct_attribution(compared(train, frame(["xxx1", "yyx1", "zyx2"])))
    assert "more than 2 nearest" in found.note


PEOPLE = {"keys": ("sex", "age", "town"), "sensitive": ("smoker", "children")}


def test_planted_records_are_found_and_fresh_ones_are_not():
    train, holdout, release = (people(500, seed) for seed in (1, 2, 3))
    clean = correct_attribution(compared(train, release, holdout, **PEOPLE))
    assert not clean.flagged
    planted = release.head(350).vstack(train.head(150))
    found = correct_attribution(compared(train, planted, holdout, **PEOPLE))
    assert found.flagged
    assert found.value > found.reference
    assert "2 looks were taken" in found.note
    assert {part.name for part in found.parts} == {"smoker", "children"}
    assert all(part.interval and part.more["p_value"] for part in found.parts)
    assert found.interval[0] <= found.value <= found.interval[1]


def test_without_a_holdout_the_number_is_told_without_a_reference():
    train, release = people(300, 1), people(300, 2)
    found = correct_attribution(compared(train, release, **PEOPLE))
    assert (found.status, found.reference, found.p_value) == ("ok", None, None)
    assert not found.flagged
    assert "holdout" in found.note
    assert found.interval[0] < found.value < found.interval[1]


def test_persons_can_be_left_out():
    every, some = (
        correct_attribution(compared(frame(TRAIN * 2), frame(RELEASE)), exclude=exclude)
        for exclude in ("", "t == '2'")
    )
    assert family(every)["CAP 0 (DCAP)"] == pytest.approx(2 / 5)
    assert family(some)["CAP 0 (DCAP)"] == pytest.approx((3 / 4 + 0 + 1) / 3)
    # the others' value is guessed at its share of all persons
    assert family(some)["baseline"] == some.baselines["naive"] == pytest.approx(3 / 5)
    # xxy2 (wrong), yyy1 (right), as before; without the persons of y…, xxy2 alone
    assert family(some)["TCAP (Taub–Elliot)"] == pytest.approx(1 / 2)
    less = correct_attribution(compared(frame(TRAIN * 2), frame(RELEASE)), exclude="a == 'y'")
    assert family(less)["TCAP (Taub–Elliot)"] == 0
    assert family(less)["baseline"] == pytest.approx((3 / 5 + 2 / 5 + 3 / 5) / 3)
    assert "Left out" in some.note
    nobody = correct_attribution(
        compared(frame(TRAIN), frame(RELEASE)), exclude="t == '1' or t == '2'"
    )
    assert nobody.status == "not_applicable"
    with pytest.raises(OptionError, match="target_bins"):
        correct_attribution(compared(frame(TRAIN), frame(RELEASE)), target_bins=1)


def test_fewer_than_five_persons_are_not_told_about():
    found = correct_attribution(compared(frame(TRAIN), frame(RELEASE), frame(TRAIN[:4])))
    assert (found.status, found.reference, found.p_value) == ("ok", None, None)
    assert found.value == pytest.approx(2 / 5)
    assert "Fewer than 5 holdout persons" in found.note
    assert "holdout" not in found.tables["attribution"].columns
    few = correct_attribution(compared(frame(TRAIN[:4]), frame(RELEASE), frame(TRAIN)))
    assert few.status == "not_applicable"


def test_only_the_look_with_an_empty_arm_is_left_out():
    train, holdout, release = (people(200, seed) for seed in (1, 2, 3))
    for blank in ("train", "holdout"):
        none = pl.col("smoker").is_null() if blank == "holdout" else pl.int_range(pl.len()) < 4
        kept = pl.when(none).then("smoker")
        real = {"train": train, "holdout": holdout}
        real[blank] = real[blank].with_columns(smoker=kept)
        tables = compared(real["train"], release, real["holdout"], **PEOPLE)
        found = correct_attribution(tables, missing=False, permutations=19)
        assert [part.name for part in found.parts] == ["children"]
        assert found.reference > 0
        assert "persons are targets: smoker." in found.note


def test_groups_are_swapped_as_a_whole():
    homes = pl.DataFrame(
        {
            "home": np.repeat(np.arange(12), 10).astype(str),
            "a": (np.arange(120) // 2).astype(str),
            "b": ["x", "y"] * 60,
            "t": ["1", "1", "2"] * 40,
        }
    )
    train, holdout = homes.head(60), homes.tail(60)
    tables = compared(train, train.head(20), holdout, ("a", "b"))
    assert correct_attribution(tables).p_value < 0.01
    assert correct_attribution(tables, group="home").p_value > 0.1
    assert correct_attribution(tables, strata="home").p_value == 1


def test_nearest_records_in_blocks_give_the_same(monkeypatch):
    from understudy.measures.privacy import attribution

    tables = compared(people(150, 1), people(40, 2), **PEOPLE)
    whole = correct_attribution(tables)
    monkeypatch.setattr(attribution, "AT_ONCE", 7)
    assert correct_attribution(tables).tables == whole.tables


def test_no_exact_match_is_no_evidence():
    found = correct_attribution(compared(frame(TRAIN), frame(["qqq1", "rrr2"])))
    assert found.value == 0
    assert "attack too weak" in found.note
    assert family(found)["GCAP"] == pytest.approx(1 / 2)  # all records are as far
    constant = correct_attribution(compared(frame(["xxx1", "xxx2"]), frame(RELEASE)))
    assert constant.status == "not_applicable"
    empty = frame(TRAIN).with_columns(t=pl.lit(None, pl.String))
    assert "no value in training" in correct_attribution(compared(empty, frame(RELEASE))).note
