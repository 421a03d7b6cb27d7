"""What each column is taken for, and why."""

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from understudy.data.codec import UNSEEN, Codec
from understudy.data.memory import MemorySource
from understudy.data.schema import Column, Schema, dumps, infer, loads, read_values
from understudy.data.tables import Table, read_file
from understudy.errors import DataError

DRAW = random.Random(1)
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=5 * i) for i in range(40)]
MOMENTS = [dt.datetime(2020, 1, 1 + i, 3, 4, 5) for i in range(20)]
INF = float("inf")
NAN = float("nan")
SPREAD = [i * 3 for i in range(40)] * 2


def column(values: Any, name: str = "x", **more: Any) -> Column:
    series = values if isinstance(values, pl.Series) else pl.Series(values, **more, strict=False)
    return infer(series.alias(name).to_frame())[name]


def texts(values: Any) -> list[str]:
    return [str(value) for value in values]


KINDS: dict[str, tuple[Any, str]] = {
    "whole numbers": (SPREAD, "number"),
    "numbers": ([i / 7 for i in range(40)], "number"),
    "numbers in text": (texts(i / 8 for i in range(40)), "number"),
    "numbers with blanks around": ([f" {i} " for i in SPREAD], "number"),
    "numbers with exponents": ([f"{i}e-3" for i in SPREAD], "number"),
    "numbers with a word": (["N"] * 30 + texts(SPREAD), "number"),
    "numbers with infinities": ([INF, -INF, *(i / 7 for i in range(40))], "number"),
    "decimals": ([Decimal(i) / 100 for i in range(60)], "number"),
    "words with some numbers": (["N"] * 90 + texts(range(10)), "category"),
    "words": (["yes", "no"] * 20, "category"),
    "empty words": (["", "a"] * 20, "category"),
    "booleans": ([True, False, None] * 5, "category"),
    "booleans in text": (["True", "False"] * 20, "category"),
    "zero and one": ([0, 1] * 20, "category"),
    "small domain": ([1, 2, 3, 4, 5] * 5, "category"),
    "small domain of floats": ([0.5, 1.5] * 20, "category"),
    "few rows of few numbers": ([1, 2, 3, 4, 5], "number"),
    "eleven numbers": (list(range(11)) * 20, "number"),
    "leading zeros": (["007", "012", "100"] * 20, "category"),
    "one leading zero": (["07", *texts(SPREAD)], "category"),
    "only infinities": ([INF, -INF], "category"),
    "called categorical": (pl.Series(texts(range(50)), dtype=pl.Categorical), "category"),
    "enumeration": (pl.Series(["a", "b"], dtype=pl.Enum(["b", "a", "c"])), "category"),
    "few names": (["ann", "bob", "eve"], "category"),
    "huge numbers in text": (texts(2**53 + i for i in range(30)) * 2, "category"),
    "huge integers": ([2**53 + 2 * i for i in range(30)] * 2, "number"),
    "huge unsigned": (pl.Series([2**63 + 5 * i for i in range(30)] * 2, dtype=pl.UInt64), "number"),
    "huge floats": ([2.0**60 + 2.0**20 * i for i in range(30)] * 2, "number"),
    "dates": (DAYS, "date"),
    "moments": (MOMENTS, "date"),
    "times": ([dt.time(i % 24, 3) for i in range(60)], "number"),
    "durations": ([dt.timedelta(days=i) for i in range(30)], "number"),
    "dense keys": (DRAW.sample(range(1000), 900), "identifier"),
    "sparse numbers": (DRAW.sample(range(10**9), 900), "number"),
    "keys in text": ([f"u{i}@example.org" for i in range(50)], "identifier"),
    "free text": ([" ".join(DRAW.choices(["a", "cat", "dog"], k=9)) for _ in range(60)], "text"),
    "texts that hardly repeat": ([f"w{i}" for i in range(100)] + ["w1"] * 20, "name"),
    "names of few rows each": ([f"w{i}" for i in range(60)] * 4, "name"),
    "names of five rows": ([f"w{i}" for i in range(60)] * 5, "category"),
    "lists": ([[1], [2]], "text"),
    "structures": ([{"a": 1}, {"a": 2}], "text"),
    "binary": ([b"a", b"b"], "text"),
    "objects": (pl.Series([object(), object()], dtype=pl.Object), "text"),
    "one number": ([5], "constant"),
    "one word": (["a"], "constant"),
    "one infinity": ([INF], "constant"),
    "one date": ([dt.date(2020, 1, 1)], "constant"),
    "always the same": (["a"] * 50, "constant"),
    "all missing": ([None, None], "constant"),
    "all missing text": (pl.Series([None], dtype=pl.String), "constant"),
    "all nan": ([NAN, NAN], "constant"),
    "no rows": (pl.Series([], dtype=pl.Int64), "constant"),
    "no rows of lists": (pl.Series([], dtype=pl.List(pl.Int64)), "constant"),
}


@pytest.mark.parametrize("case", KINDS)
def test_kind_and_its_reason(case: str) -> None:
    values, kind = KINDS[case]
    found = column(values)
    assert found.kind == kind, found.why
    assert found.why.endswith(".")
    assert len(found.why) > 5
    assert found.source("kind") == "data"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("id", "identifier"), ("customer_id", "identifier"), ("userId", "identifier"),
     ("ROW INDEX", "identifier"), ("unnamed_1", "identifier"), ("paid", "number"),
     ("Madrid", "number"), ("index_of_prices", "number"), ("idea", "number")],
)  # fmt: skip
def test_keys_by_name(name: str, kind: str) -> None:
    assert column(DRAW.sample(range(10**9), 50), name).kind == kind


def test_a_key_by_name_that_repeats_is_no_key() -> None:
    assert column(SPREAD, "person_id").kind == "number"


@pytest.mark.parametrize(
    ("values", "decimals"),
    [(SPREAD, 0), ([float(i) for i in SPREAD], 0), ([i * 1.25 for i in range(40)], 2),
     ([i / 10 for i in range(40)], 1), ([0.1 + 0.2, *(i / 10 for i in range(40))], 1),
     ([i / 7 for i in range(40)], None), (texts(i / 1000 for i in range(40)), 3)],
)  # fmt: skip
def test_decimals(values: list[Any], decimals: int | None) -> None:
    assert column(values).decimals == decimals


def test_floats_of_32_bits_have_the_decimals_they_were_written_with() -> None:
    found = column(pl.Series([i / 10 for i in range(40)], dtype=pl.Float32))
    assert found.decimals == 1
    assert found.bounds == (0.0, 3.9)


def test_bounds_leave_infinities_out_and_missing_is_seen() -> None:
    found = column([INF, None, NAN, *(i / 7 for i in range(1, 41))])
    assert found.bounds == (1 / 7, 40 / 7)
    assert found.levels == ("inf",)
    assert found.missing


def test_words_among_numbers_are_named() -> None:
    found = column(["N"] * 30 + ["13.9.58"] + texts(SPREAD))
    assert found.levels == ("13.9.58", "N")
    assert "31 of 111 values are words and kept as such: '13.9.58', 'N'." in found.why
    assert found.stored == "integer"


def test_levels_are_sorted_as_numbers_where_they_are() -> None:
    assert column([10, 9, 2] * 10).levels == ("2", "9", "10")
    assert column(["b", "a", "10"] * 10).levels == ("10", "a", "b")


def test_huge_numbers_say_that_they_are_rounded_or_kept() -> None:
    assert "rounded" in column([2**53 + 2 * i for i in range(30)] * 2).why
    kept = column(texts(2**53 + i for i in range(30)) * 2)
    assert "kept to the last digit" in kept.why
    assert "9007199254740993" in kept.levels


def test_integers_of_128_bits() -> None:
    series = pl.Series([2**100 + i for i in range(3)] * 20, dtype=pl.Int128)
    assert len(column(series).levels) == 3


@pytest.mark.parametrize(
    ("form", "written"),
    [(f, f) for f in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y",
                      "%m-%d-%Y", "%d %b %Y")],
)  # fmt: skip
def test_date_formats(form: str, written: str) -> None:
    found = column([day.strftime(form) for day in DAYS] * 2)
    assert (found.kind, found.format, found.unit) == ("date", written, "day")
    assert found.bounds == column(DAYS * 2).bounds
    assert written in found.why


@pytest.mark.parametrize(
    ("form", "unit"),
    [("%Y-%m-%dT%H:%M:%S", "second"), ("%Y-%m-%d %H:%M:%S.123456", "microsecond"),
     ("%Y-%m-%d %H:%M", "minute"), ("%d.%m.%Y %H:%M", "minute"), ("%d/%m/%Y %H:%M:%S", "second"),
     ("%m/%d/%Y %H:%M:%S", "second"), ("%m/%d/%Y %H:%M", "minute")],
)  # fmt: skip
def test_moment_formats(form: str, unit: str) -> None:
    found = column([moment.strftime(form) for moment in MOMENTS] * 2)
    assert (found.kind, found.unit, found.time_zone) == ("date", unit, None)


@pytest.mark.parametrize("zone", ["Z", "+00:00", "+02:00", "-0530"])
def test_zones_in_text(zone: str) -> None:
    found = column([moment.strftime("%Y-%m-%dT%H:%M:%S") + zone for moment in MOMENTS] * 2)
    assert (found.kind, found.time_zone) == ("date", "UTC")
    hours = {"+02:00": 2, "-0530": -5.5}.get(zone, 0)
    naive = column(MOMENTS * 2).bounds
    assert naive
    assert found.bounds == tuple(bound - hours * 3600e6 for bound in naive)


def test_zone_of_a_type() -> None:
    series = pl.Series(MOMENTS).dt.replace_time_zone("Europe/Berlin")
    assert column(series).time_zone == "Europe/Berlin"


def test_day_before_month_where_both_would_do() -> None:
    assert column(["01/02/2020", "03/04/2020", "05/06/2021"] * 5).format == "%d/%m/%Y"
    assert column(["01/13/2020", "03/04/2020", "05/06/2021"] * 5).format == "%m/%d/%Y"
    assert column(["13/01/2020", "03/04/2020", "05/06/2021"] * 5).format == "%d/%m/%Y"


@pytest.mark.parametrize("text", ["01/02/20", "1.2.34", "10.0.0.1", "20-01-05"])
def test_two_digits_are_no_year(text: str) -> None:
    assert column([text, text[:-1] + "7"] * 20).kind == "category"


def test_words_among_dates() -> None:
    found = column(["never"] * 10 + [day.isoformat() for day in DAYS])
    assert (found.kind, found.levels) == ("date", ("never",))


@pytest.mark.parametrize(
    ("values", "unit"),
    [([dt.timedelta(days=i) for i in range(30)], "day"),
     ([dt.timedelta(seconds=i) for i in range(30)], "second"),
     ([dt.time(i % 24, i) for i in range(60)], "minute")],
)  # fmt: skip
def test_times_and_durations_have_a_step(values: list[Any], unit: str) -> None:
    found = column(values)
    assert found.unit == unit
    assert unit in found.why
    assert found.bounds


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_durations_are_microseconds_whatever_counts_them(unit: Any) -> None:
    series = pl.Series([dt.timedelta(seconds=i) for i in range(30)], dtype=pl.Duration(unit))
    assert column(series).bounds == (0.0, 29e6)


def test_a_table_without_rows_and_one_with_a_single_row() -> None:
    frame = pl.DataFrame({"a": [1], "b": ["x"], "c": [None]})
    for rows in (0, 1):
        assert [c.kind for c in infer(frame.head(rows))] == ["constant"] * 3
    with pytest.raises(DataError, match="no rows"):
        Table.of(frame.head(0)).with_rows()


def test_only_keys_and_free_text_is_an_error() -> None:
    with pytest.raises(DataError, match="nothing to work on") as caught:
        Table.of(pl.DataFrame({"id": range(100)}))
    assert "schema" in caught.value.hint


ANY_CELL = st.one_of(
    st.none(), st.text(max_size=5), st.integers(-(10**20), 10**20).map(str), st.floats().map(str)
)


@given(cells=st.lists(ANY_CELL, max_size=40), name=st.text(max_size=5))
@example(cells=[".1", "1.7976931348623157e+308"], name="")
def test_any_text_gets_a_kind_and_reads_back(cells: list[str | None], name: str) -> None:
    series = pl.Series(name, cells, dtype=pl.String)
    found = infer(series.to_frame())[name]
    assert found.why.endswith(".")
    values = read_values(series, found)
    gone = values.labels.is_null().to_numpy()
    if values.numbers is not None:
        gone &= values.numbers != values.numbers
    assert gone.tolist() == [cell is None for cell in cells]


@pytest.mark.parametrize("bad", ["13.9.58", "", "2020-02-31", "١٢", "1,5", "inf", "N"])
@pytest.mark.parametrize("kind", ["number", "date", "category"])
def test_a_value_that_does_not_parse_is_unseen_and_no_error(kind: str, bad: str) -> None:
    good = {
        "number": texts(i / 8 for i in range(40)),
        "date": [day.isoformat() for day in DAYS],
        "category": ["a", "b"] * 20,
    }[kind]
    train = Table.of(pl.DataFrame({"x": good}))
    assert train.schema["x"].kind == kind
    made = Table.of(pl.DataFrame({"x": [good[3], bad, None]}), train.schema)
    codes = Codec.fit(MemorySource(train)).encode(made).codes[:, 0].tolist()
    assert codes[0] > UNSEEN
    assert codes[1:] == [UNSEEN, 0]


def test_other_types_than_in_training_are_unseen_and_no_error() -> None:
    train = Table.of(pl.DataFrame({"x": [i / 8 for i in range(40)], "d": DAYS}))
    others = [["a"], [[1]], [b"x"], [dt.time(1)], [True], [None], [dt.datetime(1900, 1, 1)]]
    codec = Codec.fit(MemorySource(train))
    for values in others:
        made = Table.of(pl.DataFrame({"x": values, "d": values}), train.schema)
        assert codec.encode(made).codes.max() <= UNSEEN or values == [True]


def test_real_files_have_a_kind_for_every_column(real_data: Callable[[str], Path]) -> None:
    schema = infer(read_file(real_data("sd2011")))
    assert len(schema) == 35
    assert {c.kind for c in schema} >= {"number", "category"}
    assert all(c.why.endswith(".") for c in schema)
    acs = infer(read_file(real_data("acs_national2019_nist")).head(3000))
    assert any("N" in c.levels for c in acs)


def test_unique_huge_numbers_in_text_are_no_small_domain() -> None:
    """As floats, 300 of them are three numbers."""
    found = column(texts(10**18 + i for i in range(300)))
    assert found.kind == "identifier"
    assert "small domain" not in found.why
    assert column(texts(10**18 + i for i in range(3)) * 100).kind == "category"


@pytest.mark.parametrize(
    "writing",
    ["1.{:03},50", "${},234.00", "€ {}", "{} €", "{}%", "{},5 %", "1'{:03}.5", "-{},75"],
)
def test_numbers_in_another_writing_are_numbers(writing: str) -> None:
    values = [writing.format(i) for i in range(100, 140)] * 2
    found = column([*values, "n.a.", "7"])
    assert (found.kind, found.stored, found.levels) == ("number", "text", ("n.a.",))
    assert found.writing is not None
    assert f"Written as {found.format}." in found.why
    read = read_values(pl.Series(values), found)
    assert read.labels.is_null().all()
    assert found.writing.write(pl.Series(read.numbers)).to_list() == values


def test_numbers_in_several_writings_are_told() -> None:
    values = [f"${i},50" for i in range(100, 140)] + [f"{i}.5 €" for i in range(100, 140)]
    found = column(values * 2)
    assert found.kind not in ("number", "date")
    assert "numbers in several writings, such as '$100,50', and are taken as text" in found.why


@pytest.mark.parametrize("text", ["10.0.0.{}", "v{}", "A-{}", "{}:30", "{}-{}"])
def test_other_text_is_not_taken_for_numbers(text: str) -> None:
    found = column([text.format(i, i) for i in range(90)])
    assert found.kind != "number"
    assert "several writings" not in found.why


@pytest.mark.parametrize("text", ["0000-01-{:02}", "-0005-01-{:02}", "+12345-01-{:02}"])
def test_years_that_no_calendar_has_make_no_dates(text: str) -> None:
    assert column([text.format(day) for day in range(1, 29)] * 2).kind == "category"


def test_the_last_moment_of_the_year_9999() -> None:
    last = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)
    for values in ([last, *(dt.datetime(2000, 1, day) for day in range(1, 29))],):
        for series in (pl.Series(values), pl.Series([str(value) for value in values])):
            found = column(series)
            assert found.kind == "date"
            assert loads(dumps(Schema((found,))))["x"].bounds == found.bounds
