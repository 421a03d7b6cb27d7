"""Margins: whole numbers of rows in the shares asked for, and the model's own rows in each cell."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import understudy as us
from people import people
from understudy.data.schema import infer
from understudy.errors import OptionError
from understudy.synthesizers.drawing import Margins, _apportion, _whole

REAL = people(2000, 1)


@pytest.fixture(scope="module")
def made():
    return us.synthesizer("bootstrap", seed=1).fit(REAL)


@pytest.mark.parametrize("rows", [0, 1, 7, 999, 3000])
def test_one_column_is_exact(made, rows):
    some = made.sample(rows, margins={"sex": {"f": 0.7, "m": 0.3}}, seed=1)
    assert some.height == rows
    assert abs((some["sex"] == "f").sum() - 0.7 * rows) <= 0.5
    assert some.equals(made.sample(rows, margins={"sex": {"f": 0.7, "m": 0.3}}, seed=1))


@pytest.mark.parametrize("rows", [10, 997, 4000])
def test_two_columns_are_exact_to_rounding(made, rows):
    wanted = {"sex": {"f": 0.25}, "children": {0: 0.1, "1": 0.2, 2: 0.3}}
    some = made.sample(rows, margins=wanted)
    assert some.height == rows
    assert abs((some["sex"] == "f").sum() - 0.25 * rows) < 1
    for level, share in ((0, 0.1), (1, 0.2), (2, 0.3)):
        assert abs((some["children"] == level).sum() - share * rows) < 1
    assert abs((some["children"] > 2).sum() - 0.4 * rows) < 1


def test_values_not_named_share_the_rest_as_the_model_has_them(made):
    some = made.sample(20_000, margins={"children": {0: 0.05}})
    real = REAL.filter(pl.col("children") > 0)["children"]
    for level in (1, 2, 3):
        share = (some["children"] == level).sum() / 19_000
        assert share == pytest.approx((real == level).mean(), abs=0.012)


def test_within_a_cell_rows_are_those_of_the_model(made):
    some = made.sample(20_000, margins={"sex": {"f": 0.9}, "smoker": {"true": 0.5}})
    for sex, smoker in itertools.product("fm", (True, False)):
        same = (pl.col("sex") == sex) & (pl.col("smoker") == smoker)
        one, other = REAL.filter(same), some.filter(same)
        assert other["age"].mean() == pytest.approx(one["age"].mean(), abs=2.5)
        assert other["income"].mean() == pytest.approx(one["income"].mean(), rel=0.15)
    odds = [
        np.prod([f.filter((f["sex"] == s) & (f["smoker"] == k)).height for s, k in pairs])
        for f in (REAL, some)
        for pairs in ((("f", True), ("m", False)), (("f", False), ("m", True)))
    ]
    # raking keeps the odds ratio (Deming and Stephan 1940)
    assert odds[2] / odds[3] == pytest.approx(odds[0] / odds[1], rel=0.15)


def test_rows_are_in_no_order(made):
    some = made.sample(4000, margins={"sex": {"f": 0.95}})
    halves = [(half["sex"] == "f").mean() for half in (some.head(2000), some.tail(2000))]
    assert abs(halves[0] - halves[1]) < 0.03


def test_many_batches(made, monkeypatch):
    monkeypatch.setattr("understudy.synthesizers.drawing.BATCH", 500)
    monkeypatch.setattr("understudy.synthesizers.drawing.FIRST_POOL", 100)
    frames = list(made.batches(1999, margins={"sex": {"f": 0.9}}))
    assert max(frame.height for frame in frames) <= 500
    whole = pl.concat(frames)
    assert (whole.height, (whole["sex"] == "f").sum()) == (1999, 1799)
    assert all(0.85 < (frame["sex"] == "f").mean() < 0.95 for frame in frames if frame.height > 400)


def test_missing_values_numbers_dates_and_constraints(made):
    real = people(2000, 1)
    day = real["day"][0]
    both = us.synthesizer("independent", constraints=["age <= 60"], seed=1).fit(real)
    some = both.sample(
        1000,
        margins={"income": {None: 0.5}, "day": {day: 0.02}, "age": {"30": 0.25}},
        given={"sex": "f"},
    )
    assert some["income"].null_count() == 500
    assert ((some["day"] == day).sum(), (some["age"] == 30).sum()) == (20, 250)
    assert some["age"].max() == 60
    assert set(some["sex"]) == {"f"}


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        ({}, "no column is named", "sex=F:0.5"),
        ({"sex": {}}, "no share of a value of 'sex'", "sex=F:0.5"),
        ({"sexx": {"f": 0.5}}, "margins: there is no column 'sexx'", "'sex'?"),
        ({"sex": {"x": 0.5}}, "'sex' is never 'x'", "f, m"),
        ({"sex": {"f": 0.7, "m": 0.4}}, "the shares of 'sex' sum to 1.1", "1 at most"),
        ({"sex": {"f": -0.1}}, "sex=f:-0.1 is no share", ""),
        ({"sex": {"f": float("nan")}}, "is no share", ""),
        ({"sex": {"f": True}}, "is no share", ""),
        ({"age": {7: 0.5}}, "no value of 'age' is that far out", "between"),
        ({"age": {30: 0.5, "30": 0.1}}, "a value of 'age' stands twice", "one share"),
        ({"sex": {None: 0.1}}, "'sex' is never missing", ""),
        ({"sex": {"f": 0.5, "m": 0.4}}, "another value of 'sex' is in none of 1", "no share"),
        ({"person_id": {1_000_001: 1}}, "left out of synthesis", ""),
    ],
)
def test_what_cannot_be_met(made, wanted, message, hint):
    with pytest.raises(OptionError) as caught:
        made.sample(10, margins=wanted)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_values_that_never_occur_together():
    real = pl.DataFrame({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50})
    made = us.synthesizer("bootstrap").fit(real)
    with pytest.raises(OptionError, match="no shares of what the method makes meet all of them"):
        made.sample(10, margins={"a": {"x": 0.9}, "b": {"p": 0.2}})
    same = made.sample(10, margins={"a": {"x": 0.9}, "b": {"p": 0.9}})
    assert same.filter(a="x", b="p").height == 9


def test_cells_that_are_too_rare(monkeypatch):
    monkeypatch.setattr("understudy.synthesizers.drawing.BATCH", 20_000)
    real = pl.DataFrame({"a": ["x", *["y"] * 3999], "b": [*range(4000)]})
    made = us.synthesizer("bootstrap").fit(real)
    with pytest.raises(OptionError, match=r"margins: a == 'x' is in \d+ of 30,000 rows drawn"):
        made.sample(2000, margins={"a": {"x": 0.5}})


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 500),
    st.lists(st.lists(st.floats(0.01, 1), min_size=2, max_size=5), min_size=2, max_size=2),
)
@example(4, [[0.5, 0.0625, 0.015625]] * 2)  # 4, 0, 0 twice: no cell may be rounded up that far
def test_two_margins_are_missed_by_a_row_at_most(rows, sides):
    shares = [np.array(side) / sum(side) for side in sides]
    exact = np.multiply.outer(*shares) * rows
    wanted = [_apportion(side * rows, rows) for side in shares]
    whole = _whole(exact, wanted, rows)
    assert whole.sum() == rows
    assert np.abs(whole.sum(axis=1) - wanted[0]).max() <= 1
    assert np.abs(whole.sum(axis=0) - wanted[1]).max() <= 1
    assert np.abs(whole - exact).max() < 1 + 1e-6
    assert all(np.abs(w - s * rows).max() < 1 for w, s in zip(wanted, shares, strict=True))


def test_raking_a_table_worked_by_hand():
    """Rows 1:1, columns 1:3 from a table with odds ratio 4; its solution has that odds ratio."""
    schema = infer(pl.DataFrame({"a": ["x", "y"] * 5, "b": ["p", "q"] * 5}))
    margins = Margins.of({"a": {"x": 0.5, "y": 0.5}, "b": {"p": 0.25, "q": 0.75}}, schema)
    table = np.zeros((3, 3))
    table[:2, :2] = [[0.4, 0.2], [0.2, 0.4]]
    fitted = margins._rake(table)
    assert fitted[0, 0] * fitted[1, 1] / (fitted[0, 1] * fitted[1, 0]) == pytest.approx(4)
    # p(1/4 + p)... : u = cell (x, p) solves u (1/4 + u) = 4 (1/2 - u) (1/4 - u)
    u = (3.25 - np.sqrt(3.25**2 - 4 * 3 * 0.5)) / 6
    assert fitted[0, 0] == pytest.approx(u)
    assert str(margins) == "a: x 0.5, y 0.5; b: p 0.25, q 0.75"
