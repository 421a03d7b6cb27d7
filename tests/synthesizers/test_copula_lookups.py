"""Copula: what follows from another column is looked up, and skipped questions stay so."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.synthesizers.copula.determined import (
    Determined,
    find_determined,
    find_fixed,
    in_order,
    sources,
)


def fit(train, seed: int = 0, **options):
    return us.synthesizer("copula", seed=seed, relations=False, **options).fit(train)


@pytest.mark.slow
def test_a_column_that_follows_from_another_is_looked_up(few_sweeps):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 30, 3000)
    train = pl.DataFrame(
        {
            "town": [f"t{v}" for v in town],
            "country": [f"c{v % 7}" for v in town],
            "number": 2.5 * town,
            "free": rng.choice(["x", "y"], 3000),
        }
    )
    made = fit(train)
    assert [d.column for d in made.method.latent_.lines.determined] == [2, 1]
    drawn = made.sample(5000)
    assert drawn.select("town", "country", "number").unique().height == 30
    assert drawn.join(train, on=["town", "country", "number"], how="anti").is_empty()
    kept = us.replace(train, ["town", "number"], method="copula")
    assert kept["country"].equals(train["country"])
    assert us.replace(train, ["number", "country"], method="copula").equals(train)


def test_what_chance_explains_is_not_looked_up():
    rng = np.random.default_rng(0)
    codes = np.column_stack([np.repeat(np.arange(60), 5), rng.random(300) < 0.005]).astype(
        np.uint16
    )
    assert find_determined(codes, [60, 2]) == []
    codes[:, 1] = codes[:, 0] % 2
    assert [d.by for d in find_determined(codes, [60, 2])] == [0]
    assert find_determined(codes, [60, 2], kept=[1]) == []
    codes[0, 1] = 1
    assert find_determined(codes, [60, 2]) == []


def questions(rows: int, seed: int = 0) -> pl.DataFrame:
    """Draw a question that others hang on, and a sum that is missing where either part is."""
    rng = np.random.default_rng(seed)
    work = rng.choice(["yes", "no"], rows, p=[0.6, 0.4])
    first, second = rng.random((2, rows)) < 0.15
    gone = {
        "hours": (work == "no") | (rng.random(rows) < 0.1),
        "wage": work == "no",
        "first": first,
        "second": second,
        "sum": first | second,
    }
    x = {name: pl.Series(rng.normal(size=rows)).set(pl.Series(g), None) for name, g in gone.items()}
    code = np.where(work == "no", -8.0, np.round(rng.normal(40, 9, rows)))
    return pl.DataFrame({"work": work, **x, "code": code})


@pytest.mark.parametrize("seed", [0, 1])
def test_questions_that_are_skipped_stay_so(seed, tmp_path, few_sweeps):
    train = questions(2000, seed)
    made = fit(train, seed=seed)
    drawn = made.sample(4000)
    no = drawn["work"] == "no"
    gone = drawn.select(pl.all().is_null())
    assert gone["wage"].equals(no.alias("wage"))
    assert (drawn["code"] == -8).equals(no.alias("code"))
    assert gone.filter(no)["hours"].all()
    assert gone.filter(~no)["hours"].mean() == pytest.approx(0.1, abs=0.03)
    assert gone["sum"].equals((gone["first"] | gone["second"]).alias("sum"))
    assert gone["first"].mean() == pytest.approx(train["first"].is_null().mean(), abs=0.03)
    assert (gone["first"] & gone["second"]).mean() == pytest.approx(0.0225, abs=0.015)
    made.save(tmp_path / "m")
    assert us.load(tmp_path / "m").sample(300).equals(made.sample(300, replicate=0))
    kept = us.replace(train, ["wage", "sum", "code"], method="copula")
    assert kept.select(pl.all().is_null()).equals(train.select(pl.all().is_null()))


def astray(many: int) -> pl.DataFrame:
    """Give 300 rows of a level that have another, but for some of them."""
    who = ["wife"] * 300 + ["child"] * 400
    sex = ["m"] * many + ["f"] * (300 - many) + ["f", "m"] * 200
    return pl.DataFrame({"who": who, "sex": sex})


@pytest.mark.parametrize(("many", "k", "shown"), [(0, 5, False), (3, 5, False), (3, 3, True)])
def test_what_fewer_than_k_rows_hold_together_is_not_shown(many, k, shown):
    drawn = fit(astray(many), k=k).sample(20_000)
    assert (drawn.filter(pl.col("who") == "wife")["sex"] == "m").any() == shown
    assert (drawn["sex"] == "m").mean() == pytest.approx(
        (astray(many)["sex"] == "m").mean(), abs=0.02
    )
    others = drawn.filter(pl.col("who") == "child")["sex"]
    assert (others == "m").mean() == pytest.approx(0.5, abs=0.03)


def test_codes_that_fix_others_are_found_beyond_chance():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (600, 6)).astype(np.uint16)
    flags = [np.ones(3, bool)] * 6
    none = [np.zeros(3, bool)] * 6
    assert find_fixed(codes, flags, flags, range(6), [], 5)[0] == []
    codes[:, 4] = np.where(codes[:, 1] == 2, 0, codes[:, 4])
    (found,), left = find_fixed(codes, flags, none, range(6), [], 5)
    assert (found.column, found.by, found.lookup.tolist()) == (4, 1, [3, 3, 0])
    assert np.array_equal(left[:, 4], np.where(codes[:, 1] == 2, 3, codes[:, 4]))
    assert find_fixed(codes, flags, none, range(6), [4], 5)[0] == []
    assert find_fixed(codes, none, none, range(6), [], 5)[0] == []
    assert find_fixed(codes, flags, none, range(6), [], 300)[0] == []


def test_what_only_some_rows_seem_to_tell_does_not_hide_what_all_tell(monkeypatch):
    """Of many rows some are looked at first: few of those that break a rule may be among them."""
    monkeypatch.setattr("understudy.synthesizers.copula.determined.LOOKED_AT", 400)
    first, second = np.arange(2000) % 10 < 7, np.arange(2000) // 10 % 10 < 5
    codes = np.stack([first, second, (first & second) * (1 + np.arange(2000) % 3)], 1)
    codes = codes.astype(np.uint16)
    broken = np.flatnonzero(~second & first & (np.arange(2000) % 5 > 0))[::50][:6]
    codes[broken, 2] = 1
    telling = [np.ones(2, bool), np.ones(2, bool), np.arange(4) == 0]
    empty = [np.zeros(2, bool), np.zeros(2, bool), np.arange(4) == 0]
    (found,), _ = find_fixed(codes, telling, empty, range(3), [0, 1], 5)
    assert (found.column, found.by, found.lookup.tolist()) == (2, 0, [0, 4])


def test_levels_are_fixed_in_half_of_the_rows_at_most():
    """What is fixed relates to other columns only by way of the one that fixes it."""
    rng = np.random.default_rng(0)
    by = rng.choice(4, 900, p=[0.2, 0.3, 0.3, 0.2])
    own = np.where(by == 0, rng.integers(0, 4, 900), by)
    codes = np.column_stack([by, own]).astype(np.uint16)
    flags = [np.ones(4, bool)] * 2
    for empty, expected in (([3], [4, 4, 4, 3]), ([1, 3], [4, 1, 2, 3])):
        (found,), _ = find_fixed(codes, flags, [np.isin(range(4), empty)] * 2, [0, 1], [0], 5)
        assert found.lookup.tolist() == expected


def test_columns_come_after_those_that_they_follow_from():
    lookup = np.zeros(1, np.uint16)
    chain = [Determined(0, 2, lookup), Determined(2, 3, lookup), Determined(0, 1, lookup)]
    assert sources(0, chain) == {1, 2, 3}
    assert in_order(range(4), chain) == [1, 3, 2, 0]
    with pytest.raises(ValueError, match="follows from itself"):
        in_order(range(4), [*chain, Determined(3, 0, lookup)])


@pytest.mark.parametrize("lookup", [[0], [0, 9], [0, 0]])
def test_a_lookup_that_does_not_fit_is_refused(tmp_path, few_sweeps, lookup):
    made = fit(astray(0))
    latent = made.method.latent_
    codes = np.array(lookup, np.uint16)
    found = (Determined(0, 1, codes), *latent.lines.determined)
    lines = dataclasses.replace(latent.lines, determined=found)
    made.method.latent_ = dataclasses.replace(latent, lines=lines)
    made.save(tmp_path / "m")
    with pytest.raises(us.UnderstudyError, match="damaged"):
        us.load(tmp_path / "m")
