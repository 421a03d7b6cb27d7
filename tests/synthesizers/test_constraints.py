"""Constraints as text: what can be written, what is refused and why, that they survive writing."""

from contextlib import suppress
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.data.schema import infer
from understudy.data.tables import Table
from understudy.errors import OptionError, UnderstudyError
from understudy.synthesizers.constraints import Constraint, read_constraints
from understudy.synthesizers.partial import replace

ROWS = 24
FRAME = pl.DataFrame(
    {
        "id": [1000 + i for i in range(ROWS)],
        "age": [17, 40, None, 99] * 6,
        "low": ["1.5", "2", None, "N"] * 6,
        "high": [2.5, 1.5, 3.0, np.inf] * 6,
        "start": [date(2020, 1, d) for d in (1, 2, 3, 4)] * 6,
        "end": ["01.01.2020", "01.02.2020", "01.01.2020", None] * 6,
        "sex": ["F", "M", None, "F"] * 6,
        "other sex": ["F", "F", "M", None] * 6,
        "unique": [0.5 + i for i in range(ROWS)],
    }
)
SCHEMA = infer(FRAME)
for _name in ("age", "low", "high"):
    SCHEMA = SCHEMA.replace(
        _name, kind="number", bounds=None, levels=("N",) if _name == "low" else ()
    )
PEOPLE = Table.of(FRAME, SCHEMA)


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("age >= 18", "1000"),
        ("18 <= age", "1000"),
        ("18 <= age <= 98", "1001"),
        ("99 > age > 17", "1001"),
        ("17 < age", "1000"),
        ("low <= high", "0100"),
        ("high > low", "0100"),
        ("high < 3", "0011"),
        ("high >= 2", "0100"),
        ("start <= end", "0010"),
        ("end >= start", "0010"),
        ("start == end", "0110"),
        ("start != end", "1000"),
        ("start < '2020-01-03'", "0011"),
        ("'2020-01-02' <= start <= end", "1010"),
        ("sex == `other sex`", "0100"),
        ("sex != `other sex`", "1000"),
        ("sex == F", "0100"),
        ("sex in (F) or age > 40", "0100"),
        ("not age < 18", "1000"),
        ("sex is not missing", "0010"),
        ("positive age", "0000"),
        ("positive age, high", "0000"),
        ("unique >= 1", "1000"),
        ("low == N or low < 2", "0100"),
    ],
)
def test_who_breaks_it(text: str, fails: str) -> None:
    found = Constraint.parse(text, SCHEMA).fails(PEOPLE)[:4]
    assert found.tolist() == [c == "1" for c in fails]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "a column is expected", "start <= end"),
        ("age", "a comparison", "start <= end"),
        ("age >", "a value is expected at the end", "start <= end"),
        ("18 <= 19", "a column is expected", ""),
        ("agee > 1", "there is no column 'agee'", "'age'?"),
        ("start <= edn", "'edn' is no column and no date", "'end'?"),
        ("start <= age", "'start' holds dates, 'age' numbers", "one kind"),
        ("sex < `other sex`", "'sex' is a category, without an order", "use == or !="),
        ("sex == age", "'sex' holds words, 'age' numbers", "one kind"),
        ("sex == X", "'sex' is never 'X'", "F, M"),
        ("id > 3", "the column 'id' is left out of synthesis", "identifier"),
        ("positive sex", "without an order", ""),
        ("positive agee", "there is no column 'agee'", "'age'?"),
        ("together sex", "one column alone", "two columns"),
        ("together sex, sex", "stands twice", "once"),
        ("together sex, id", "left out of synthesis", ""),
        ("together sex age", "',' or the end is expected", ""),
        ("unique id, age", "several columns", "one constraint"),
        ("unique start", "no identifiers", "whole number"),
        ("always sex", "'always' is no constraint", "together city"),
        ("18 <= age <= ", "a value is expected", ""),
        ("age < 'x", "a quote is open", ""),
    ],
)
def test_what_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(OptionError) as caught:
        Constraint.parse(text, SCHEMA)
    assert caught.value.message.startswith("constraint ")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.hint


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["age > 50", "age < 20"], ["age > 50", "age < 20"]),
        (["low < high", "high < low"], ["low < high", "high < low"]),
        (["low <= high", "high < low"], ["low <= high", "high < low"]),
        (["start <= end", "end <= '2019-01-01'", "start > '2019-06-01'"], ["start <= end", "2019"]),
        (["low < high", "high < unique", "unique <= low", "age > 3"], ["low < high", "unique"]),
        (["age == 4", "age > 4"], ["age == 4", "age > 4"]),
        (["sex == F", "age > 3", "sex == M"], ["sex == F and sex == M"]),
        (["age in (3, 4)", "age == 4.0", "age in (3, 5)"], ["age in (3, 4)", "age in (3, 5)"]),
        (["age < age"], ["age < age: no value can meet it"]),
        (["9 <= age <= 3"], ["9 <= age <= 3: no value can meet it"]),
        (["unique > 5000"], ["the bounds of 'unique'"]),
        (["together sex, age", "together age, low"], ["together age, low", "both are about 'age'"]),
        (["unique unique", "together unique, sex"], ["unique unique", "both are about 'unique'"]),
        (["unique unique", "unique > 3"], ["'unique' is made anew"]),
    ],
)
def test_contradictions(texts: list[str], named: list[str]) -> None:
    schema = SCHEMA.replace("unique", bounds=(0.0, 100.0))
    with pytest.raises(OptionError) as caught:
        read_constraints(texts, schema)
    assert all(part in caught.value.message for part in named)
    assert "age > 3" not in caught.value.message


def test_what_is_no_contradiction() -> None:
    texts = [
        "sex in ('F', 'M')",
        "sex == F",
        "low <= high",
        "high <= low",
        "18 <= age <= 18",
        "age > 20 or age < 10",
        "age != 3",
    ]
    assert len(read_constraints([*texts, *texts], SCHEMA)) == len(texts)


def test_a_text_is_no_list() -> None:
    with pytest.raises(OptionError, match=r"is no(t a)? list"):
        us.synthesizer("independent", constraints="age > 3").fit(PEOPLE)
    with pytest.raises(OptionError, match=r"is no(t a)? list"):
        replace(PEOPLE, ["age"], method="cart", constraints="age > 3")


WORDS = st.sampled_from(
    [*SCHEMA.names, "together", "positive", "unique", "and", "or", "not", "in", "is", "missing",
     "(", ")", ",", "<=", ">", "==", "!=", "3", "-1e3", "'x'", "'2020-01-01'", "`other sex`", "F"]
)  # fmt: skip


@given(st.one_of(st.text(max_size=30), st.lists(WORDS, max_size=9).map(" ".join)))
def test_any_text_is_read_or_refused_and_survives_writing(text: str) -> None:
    with suppress(UnderstudyError):
        made = Constraint.parse(text, SCHEMA)
        again = Constraint.parse(str(made), SCHEMA)
        assert again.names == made.names or set(again.names) == set(made.names)
        assert (again.kind, again.condition) == (made.kind, made.condition)
        assert (again.fails(PEOPLE) == made.fails(PEOPLE)).all()
