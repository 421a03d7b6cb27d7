"""Given values: the right conditional distribution, and clear errors where there is none."""

from datetime import date

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.errors import OptionError


@pytest.fixture(scope="module")
def made():
    return us.synthesizer("bootstrap", seed=1).fit(people(2000, 1))


def test_the_distribution_is_that_of_matching_rows(made):
    real = people(2000, 1).filter(pl.col("sex") == "f", pl.col("children") == 2)
    some = made.sample(20_000, given={"sex": "f", "children": 2})
    shares = real["smoker"].mean(), some["smoker"].mean()
    assert shares[1] == pytest.approx(shares[0], abs=0.01)
    assert some["age"].mean() == pytest.approx(real["age"].mean(), abs=0.5)
    assert np.isin(some["income"].drop_nulls(), real["income"].drop_nulls()).all()


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"age": 30}, "age", 30),
        ({"age": "30"}, "age", 30),
        ({"age": 30.0}, "age", 30),
        ({"age": np.int64(30)}, "age", 30),
        ({"smoker": True}, "smoker", True),
        ({"smoker": "True"}, "smoker", True),
        ({"town": "town 3"}, "town", "town 3"),
        ({"country": "AT"}, "country", "AT"),
    ],
)
def test_values_of_any_type(made, given, name, value):
    assert set(made.sample(3, given=given)[name]) == {value}


def test_a_date(made):
    day = people(2000, 1)["day"][0]
    for given in (day, str(day)):
        assert set(made.sample(2, given={"day": given})["day"]) == {day}


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({}, "nothing is given", "sex=F"),
        ({"sexx": "f"}, "there is no column 'sexx'", "'sex'?"),
        ({"person_id": 1_000_001}, "'person_id' is left out of synthesis", "identifier"),
        ({"sex": "F"}, "'sex' is never 'F'", "did you mean 'f'?"),
        ({"town": "town 33"}, "'town' is never 'town 33'", "did you mean 'town"),
        ({"age": 17}, "given age=17: no value of 'age' is that far out", "between 18 and 89"),
        ({"age": "old"}, "'old' is not a number", "digits"),
        ({"age": 30.5}, "not that fine", "round it"),
        ({"day": "2019-12-31"}, "that far out", "between 2020-01-01 and 2021-"),
        ({"day": date(2031, 1, 1)}, "that far out", "2020-01-01"),
        ({"day": "soon"}, "not a date", "2020-12-31"),
        ({"age": None}, "'age' is never missing", ""),
        ({"children": 9}, "'children' is never '9'", "0, 1, 2, 3, 4"),
    ],
)
def test_what_can_never_be_made(made, given, message, hint, monkeypatch):
    monkeypatch.setattr(type(made.method), "sample", None)
    with pytest.raises(OptionError) as caught:
        made.sample(5, given=given)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.hint


def test_too_rare(made, monkeypatch):
    monkeypatch.setattr("understudy.synthesizers.drawing.BATCH", 5_000)
    only = people(2000, 1)["income"].drop_nulls()[0]
    with pytest.raises(
        OptionError, match=r"given income == .*: \d of 6,000 rows drawn match"
    ) as caught:
        made.sample(100, given={"income": only})
    assert "ask for no more than" in caught.value.hint
    assert made.sample(1, given={"income": only})["income"].to_list() == [only]


def test_never_made_though_it_could_be(made):
    with pytest.raises(OptionError, match="0 of 101,000 rows drawn match") as caught:
        made.sample(1, given={"income": 12345.67, "age": 18, "town": "town 0", "children": 4})
    assert "hardly ever" in caught.value.hint
