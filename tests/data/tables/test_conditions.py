"""Conditions: what they select, what they refuse, and that they survive being written."""

from contextlib import suppress
from datetime import date, datetime, time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.grammar import ORDER, Joined, Not, Test
from understudy.data.schema import Column, Schema, infer
from understudy.data.tables import Condition, Table
from understudy.errors import OptionError

FRAME = pl.DataFrame(
    {
        "age": ["25", "26", None, "N"] * 6,
        "income": [80_000.5, 10.0, 70_000.0, None] * 6,
        "sex": ["F", "M", None, "F"] * 6,
        "birth place": ["in", "Never-married", "it's", "x"] * 6,
        "code": [1, 2, 3, 1] * 6,
        "born": [date(2020, 1, 1), date(2021, 1, 1), None, date(2022, 1, 1)] * 6,
        "seen": ["01.02.2020", "02.02.2020", "03.02.2021", None] * 6,
        "noon": [time(12), time(13, 30), None, time(1)] * 6,
        "flag": [True, False, None, True] * 6,
        "text": [f"row number {i} is told at some length here" for i in range(24)],
    }
)
SCHEMA = infer(FRAME).replace("age", kind="number", levels=("N",))
PEOPLE = Table.of(FRAME, SCHEMA)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("a < b", "1000", "0110"),
        ("a <= b", "1100", "0010"),
        ("a == b", "0100", "1010"),
        ("a != b", "1010", "0100"),
        (f"a > {2**60}", "0110", "1000"),
        (f"a == {2**60 + 1}", "0100", "1010"),
        (f"a in (3, {2**60})", "1000", "0110"),
    ],
)
def test_whole_numbers_beyond_what_floats_tell_apart(text, yes, no):
    big = 2**60
    frame = pl.DataFrame({"a": [big, big + 1, big + 2, None], "b": [big + 1, big + 1, big, 1]})
    schema = Schema(tuple(Column(n, "number", stored="integer", decimals=0) for n in "ab"))
    condition = Condition.parse(text, schema.names)
    table = Table.of(frame, schema)
    assert "".join(map(str, condition.mask(table).astype(int))) == yes
    assert "".join(map(str, condition.fails(table).astype(int))) == no


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("income > 70000 or age < 26", "1000"),
        ("income>=70000", "1010"),
        ("income <= 1e1", "0100"),
        ("age == 26", "0100"),
        ("age = '26'", "0100"),
        ("age == N", "0001"),
        ("age != 26", "1001"),
        ("not age < 26", "0100"),
        ("not (age < 26 and sex == F)", "0100"),
        ("not (age < 26 and sex == M)", "1101"),
        ("not (age < 26 or sex == F)", "0100"),
        ("age is missing", "0010"),
        ("age is not missing and income IS MISSING", "0001"),
        ("sex == F", "1001"),
        ("sex != 'F'", "0100"),
        ('sex == "F"', "1001"),
        ("sex in ('F', M)", "1101"),
        ("sex not in (F)", "0100"),
        ("`birth place` == 'in'", "1000"),
        ("\"birth place\" in (Never-married, 'it''s')", "0110"),
        ("code < 2", "1001"),
        ("code == 1.0", "1001"),
        ("code in (1, 3) and not code == 3", "1001"),
        ("born >= '2021-01-01'", "0101"),
        ("born == '2020-01-01'", "1000"),
        ("seen < '2020-02-02'", "1000"),
        ("seen < '02.02.2020 '", "1000"),
        ("noon > '12:30'", "0100"),
        ("noon == '12:00:00'", "1000"),
        ("flag == TRUE", "1001"),
        ("sex == M or sex == F and code == 1", "1101"),
        ("(sex == M or sex == F) and code == 1", "1001"),
        ("not sex == M or code == 3", "1011"),
        ("not not sex == M", "0100"),
    ],
)
def test_what_is_selected(text: str, expected: str) -> None:
    mask = Condition.parse(text).mask(PEOPLE)
    assert mask.tolist() == [c == "1" for c in expected * 6]


def test_free_text_is_compared_as_it_is() -> None:
    assert Condition.parse("text == 'Row number 1'").mask(PEOPLE).sum() == 0
    whole = "text == 'row number 1 is told at some length here'"
    assert Condition.parse(whole).mask(PEOPLE).sum() == 1


def test_dates_with_a_zone_are_those_of_the_zone() -> None:
    moments = [datetime(2020, 1, 1, hour) for hour in range(4)]
    zoned = pl.DataFrame({"t": moments}).with_columns(
        pl.col("t").dt.replace_time_zone("Asia/Tokyo")
    )
    table = Table.of(zoned)
    assert (
        Condition.parse("t >= '2020-01-01 02:00'").mask(table).tolist() == [False] * 2 + [True] * 2
    )
    assert Condition.parse("t >= '2020-01-01T02:00:00Z'").mask(table).sum() == 0


def test_names_are_each_once_in_order() -> None:
    assert Condition.parse("b > 1 and (a == 2 or not b is missing)").names == ("b", "a")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "a column is expected at the end", "write such as"),
        ("income >", "a value is expected at the end", ""),
        ("income >> 5", "a value is expected at '> 5' (character 9)", ""),
        ("income 5", "a comparison (==, !=, <, in, is missing) is expected at '5'", ""),
        ("70000 < income", "a column is expected at '70000", ""),
        ("sex == F M", "'and', 'or' or the end is expected at 'M'", ""),
        ("(sex == F", "')' is expected at the end", ""),
        ("sex in F", "'(' is expected", ""),
        ("sex in ()", "a value is expected at ')'", ""),
        ("sex in (F M)", "',' or ')' is expected at 'M)'", ""),
        ("sex is F", "'missing' is expected", ""),
        ("sex not F", "'in' is expected", ""),
        ("sex == 'F", "a quote is open) at ''F' (character 8)", ""),
        ("sex == F; drop", "this cannot be read at '; drop'", ""),
        ("age > 10th", "this cannot be read at '10th'", ""),
        ("and == 1", "a column is expected at 'and", ""),
        ("(" * 999 + "a == 1" + ")" * 999, "too many parentheses", ""),
        ("not " * 999 + "a == 1", "too many parentheses", ""),
    ],
)
def test_what_cannot_be_read(text: str, message: str, hint: str) -> None:
    with pytest.raises(OptionError) as caught:
        Condition.parse(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.hint
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("incme > 5", "there is no column 'incme'", "did you mean 'income'?"),
        ("sex < F", "'sex' is a category, without an order", "use == or in"),
        ("text > 5", "'text' is a text, without an order", "use == or in"),
        ("income > high", "'high' is not a number", "digits"),
        ("age == 'n'", "'n' is not a number", "did you mean 'N'?"),
        ("born > 2020", "'2020' is not a date", "2020-12-31"),
        ("born == '31.12.2020'", "not a date", "2020-12-31"),
        ("sex == female", "'sex' is never 'female'", "there are: F, M"),
        ("sex in (F, W)", "'sex' is never 'W'", "F, M"),
        ("`birth place` != never-married", "is never 'never-married'", "'Never-married'?"),
        ("code == 4", "'code' is never '4'", "1, 2, 3"),
        ("age > 1 or not (sex == X)", "condition sex == 'X': ", "F, M"),
    ],
)
def test_comparisons_that_cannot_be_meant(text: str, message: str, hint: str) -> None:
    condition = Condition.parse(text)
    with pytest.raises(OptionError) as caught:
        condition.check(PEOPLE.schema)
    assert message in caught.value.message
    assert hint in caught.value.hint
    with pytest.raises(OptionError):
        condition.mask(PEOPLE)


ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
LITERAL = ANY_TEXT | st.floats(allow_nan=False, allow_infinity=False).map(str) | st.just("in")
TESTS = (
    st.builds(Test, ANY_TEXT, st.sampled_from(["==", "!=", *ORDER]), st.tuples(LITERAL))
    | st.builds(Test, ANY_TEXT, st.just("in"), st.lists(LITERAL, min_size=1, max_size=3).map(tuple))
    | st.builds(Test, ANY_TEXT, st.just("missing"))
)
NODES = st.recursive(
    TESTS,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(
            Joined,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        )
    ),
    max_leaves=8,
)


@given(NODES)
def test_a_written_condition_reads_back_as_itself(node: Test | Joined | Not) -> None:
    assert Condition.parse(str(Condition(node))) == Condition(node)


@given(ANY_TEXT)
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    with suppress(OptionError):
        assert Condition.parse(text).names
