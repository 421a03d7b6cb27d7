"""What options of the command line say, read or refused."""

import pytest

from understudy.cli.synthesize import given_values, margin_shares
from understudy.errors import OptionError


@pytest.mark.parametrize(
    "text", ["sex", "=f:1", "sex=f", "sex=f:x", "sex=f:nan", "sex=f:0.5,f:0.2", "sex=f:0.5,"]
)
def test_margins_that_cannot_be_read(text):
    with pytest.raises(OptionError, match="--margin"):
        margin_shares([text])


def test_margins_as_text():
    assert margin_shares(["a=x:y:0.5,p,,q:0.5", "b=:1"]) == {
        "a": {"x:y": 0.5, "p,q": 0.5},
        "b": {None: 1.0},
    }
    assert margin_shares([]) is None


def test_commas_in_names_and_values():
    assert given_values(["a,,b=x,,y,c="]) == {"a,b": "x,y", "c": None}
    assert given_values([]) is None


@pytest.mark.parametrize("text", ["sex", "=F", "sex=F,", "sex=F,sex=M"])
def test_given_values_that_cannot_be_read(text):
    with pytest.raises(OptionError, match="--given"):
        given_values([text])
