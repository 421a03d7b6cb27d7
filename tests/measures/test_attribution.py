"""The CAP family: by hand, by a slow count, and with the control."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from people import people
from understudy.comparison import compare_tables
from understudy.errors import OptionError
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
    min_size=1,
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
    found = correct_attribution(compared(frame(["xyx1", "yxy2"]), frame(["xxx1", "yyx1", "zyx2"])))
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


@pytest.mark.slow
def test_false_alarms_over_leak_free_thirds():
    alarms = 0
    for seed in range(200):
        train, holdout, release = (people(200, 3000 + 3 * seed + i) for i in range(3))
        tables = compared(train, release, holdout, **PEOPLE, seed=seed)
        alarms += bool(correct_attribution(tables, permutations=200).flagged)
    assert alarms <= 19


def test_persons_can_be_left_out():
    every, some = (
        correct_attribution(compared(frame(TRAIN), frame(RELEASE)), exclude=exclude)
        for exclude in ("", "t == '2'")
    )
    assert family(every)["CAP 0 (DCAP)"] == pytest.approx(2 / 5)
    assert family(some)["CAP 0 (DCAP)"] == pytest.approx((3 / 4 + 0 + 1) / 3)
    assert "Left out" in some.note
    nobody = correct_attribution(
        compared(frame(TRAIN), frame(RELEASE)), exclude="t == '1' or t == '2'"
    )
    assert nobody.status == "not_applicable"
    with pytest.raises(OptionError, match="target_bins"):
        correct_attribution(compared(frame(TRAIN), frame(RELEASE)), target_bins=1)


def test_no_exact_match_is_no_evidence():
    found = correct_attribution(compared(frame(TRAIN), frame(["qqq1", "rrr2"])))
    assert found.value == 0
    assert "attack too weak" in found.note
    assert family(found)["GCAP"] == pytest.approx(1 / 2)  # all records are as far
    constant = correct_attribution(compared(frame(["xxx1", "xxx2"]), frame(RELEASE)))
    assert constant.status == "not_applicable"
    empty = frame(TRAIN).with_columns(t=pl.lit(None, pl.String))
    assert "no value in training" in correct_attribution(compared(empty, frame(RELEASE))).note
