"""Digests of rows: the same in every kind of file, another after any change."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.data.tables import write_batches, write_file
from understudy.data.tables.markers import RowDigest, digest_file, in_one_way

KINDS = {
    "whole": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(),
    "short": st.floats(width=32),
    "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    "word": st.sampled_from(
        ["NA", "", "1.0", "007", "1e3", "inf", "-0", " 1", "12:00:00.500", "x"]
    ),
    "truth": st.booleans(),
    "day": st.dates(dt.date(1000, 1, 1)),
    "moment": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),
    "clock": st.times(),
}
TYPES = {
    "whole": pl.Int64, "number": pl.Float64, "short": pl.Float32, "text": pl.String,
    "word": pl.String, "truth": pl.Boolean, "day": pl.Date, "moment": pl.Datetime("us"),
    "clock": pl.Time,
}  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | kind for name, kind in KINDS.items()}), max_size=8
)


def digest(*frames: pl.DataFrame) -> str:
    made = RowDigest()
    for frame in frames:
        made.update(frame)
    return made.text


@settings(max_examples=20)
@given(rows=ROWS, cut=st.integers(0, 8), names=st.sets(st.sampled_from(list(KINDS)), min_size=1))
def test_any_file_holds_the_same_rows(tmp_path_factory, rows, cut, names):
    frame = pl.DataFrame(rows, schema=TYPES).select(sorted(names))
    expected = digest(frame)
    assert digest(frame.head(cut), frame.slice(cut)) == expected
    folder = tmp_path_factory.mktemp("digest")
    for extension in ("csv", "csv.gz", "tsv", "parquet", "arrow"):
        path = folder / f"t.{extension}"
        write_batches([frame.head(cut), frame.slice(cut)], path, like=path)
        assert digest_file(path) == expected, extension


PEOPLE = pl.DataFrame(
    {
        "name": ["Ann", "Bo", None, "Dee"],
        "age": [31, None, 44, 19],
        "income": [1.5, 2.0, None, 0.1],
        "born": [dt.date(1990, 1, 1), None, dt.date(1980, 5, 5), dt.date(2005, 12, 31)],
    }
)


@pytest.mark.parametrize(
    "other",
    [
        PEOPLE.head(3),
        pl.concat([PEOPLE, PEOPLE.tail(1)]),
        PEOPLE.reverse(),
        PEOPLE.rename({"age": "Age"}),
        PEOPLE.select("age", "name", "income", "born"),
        PEOPLE.drop("born"),
        PEOPLE.clear(),
        *(
            PEOPLE.with_columns(
                pl.when(pl.int_range(pl.len()) == row).then(value).otherwise(name).alias(name)
            )
            for row in range(4)
            for name, value in (
                ("name", pl.lit("Eve")), ("age", pl.lit(99)), ("income", pl.lit(0.100000000000001)),
                ("born", pl.lit(dt.date(1990, 1, 2))), ("name", pl.lit(" Ann")),
            )
        ),
        PEOPLE.with_columns(name=pl.Series(["An", "nBo", None, "Dee"])),
        PEOPLE.with_columns(name=pl.Series(["Ann", None, "Bo", "Dee"])),
    ],
)  # fmt: skip
def test_any_change_is_another_digest(other):
    assert digest(other) != digest(PEOPLE)


@pytest.mark.parametrize(
    ("same", "values"),
    [
        (["1", "1.0", "1.00", "1e0"], [1, 1.0]),
        (["0.1", "1e-1", "0.10"], [0.1]),
        (["2024-05-01T12:00:00", "2024-05-01 12:00:00.000"], [dt.datetime(2024, 5, 1, 12)]),
        (["12:30:00.5", "12:30:00.500000"], [dt.time(12, 30, 0, 500_000)]),
        (["2024-05-01T12:00:00+0200", "2024-05-01 12:00:00.0+02:00"], []),
        (["2024-05-01"], [dt.date(2024, 5, 1)]),
        (["true"], [True]),
        (["inf"], [float("inf")]),
        (["", "NA", "NaN", "null", None], [float("nan")]),
    ],
)
def test_one_value_is_one_text(same, values):
    texts = {in_one_way(pl.Series([text], dtype=pl.String)).item() for text in same}
    texts |= {in_one_way(pl.Series([value])).item() for value in values}
    assert len(texts) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "7"], ["1,5", "1.5"], ["True", "true"], ["a ", "a"], ["1" * 20, "1" * 19 + "2"],
        ["9007199254740993", "9007199254740992"], ["12:00:00.5", "12:00:00.05"],
        ["bits 1", "0.1"], ["2024-05-01", "2024-05-01T00:00:00"],
    ],
)  # fmt: skip
def test_two_values_are_two_texts(texts):
    assert in_one_way(pl.Series(texts)).n_unique() == len(texts)


def test_columns_with_many_equal_texts_are_read_alike():
    texts = pl.Series(["1.0", "x", None, "NA"] * 20)
    assert in_one_way(texts).to_list() == in_one_way(texts.head(4)).to_list() * 20


def test_excel_keeps_what_it_can(tmp_path: Path):
    for name in ("a", "b"):
        write_file(PEOPLE, tmp_path / f"{name}.xlsx")
    assert digest_file(tmp_path / "a.xlsx") == digest_file(tmp_path / "b.xlsx")
