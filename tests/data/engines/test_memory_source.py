"""The source in memory against slow oracles."""

import datetime as dt
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.schema import Column, Schema
from understudy.data.source import Source
from understudy.data.tables import Table

CELLS = {
    "a": st.none() | st.integers(0, 3),
    "b": st.none() | st.sampled_from([0.5, 1.0, 2.5, -1.0]),
    "c": st.none() | st.sampled_from(["x", "y", ""]),
}
TYPES = {"a": pl.Int64, "b": pl.Float64, "c": pl.String}
SCHEMA = Schema(
    (
        Column("a", "category", "integer"),
        Column("b", "number", "float"),
        Column("c", "category"),
    )
)
ROWS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=30)


def source(rows: list[dict[str, Any]]) -> MemorySource:
    return MemorySource(Table.of(pl.DataFrame(rows, schema=TYPES), SCHEMA))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_it_is_a_source() -> None:
    made: Source = source([{"a": 1, "b": 2.5, "c": "x"}])
    assert made.height == 1
    assert made.schema.names == ("a", "b", "c")


@pytest.mark.parametrize("names", [["a"], ["c", "b"], ["b", "a", "c"]])
@given(rows=ROWS)
def test_counts(names: list[str], rows: list[dict[str, Any]]) -> None:
    made = source(rows)
    codec = Codec.fit(made, bins=3)
    got = made.counts(names, codec)
    codes = codec.encode(made.table).codes
    columns = [codec.names.index(name) for name in names]
    want = Counter(tuple(row[columns].tolist()) for row in codes)
    assert got.shape == tuple(codec[name].size for name in names)
    assert {cell: got[cell] for cell in zip(*np.nonzero(got), strict=True)} == want
    assert got.sum() == len(rows)


@given(rows=ROWS, seed=st.integers(0, 5))
def test_resample(rows: list[dict[str, Any]], seed: int) -> None:
    made = source(rows)
    codec = Codec.fit(made, bins=3)
    one, two = made.resample(rng(seed)), made.resample(rng(seed))
    counts = one.counts(["a", "b"], codec)
    assert counts.sum() == len(rows)
    assert np.array_equal(counts, two.counts(["a", "b"], codec))
    drawn = rng(seed).integers(0, len(rows), len(rows))
    again = source([rows[i] for i in drawn])
    assert np.array_equal(counts, again.counts(["a", "b"], codec))
    here, there = one.moments("b"), again.moments("b")
    assert (here is None) == (there is None)
    if here and there:
        assert here.count == there.count
        assert here.mean == pytest.approx(there.mean)
        assert here.deviation == pytest.approx(there.deviation, abs=1e-9)


def test_resamples_differ() -> None:
    made = source([{"a": i % 4, "b": 1.0, "c": "x"} for i in range(100)])
    codec = Codec.fit(made)
    one, two = (made.resample(rng(seed)).counts(["a"], codec) for seed in (1, 2))
    assert not np.array_equal(one, two)


@given(values=st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_moments(values: list[float | None]) -> None:
    frame = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
    made = MemorySource(Table.of(frame, Schema((Column("x", "number", "float"),))))
    present = np.array([v for v in values if v is not None])
    got = made.moments("x")
    if not len(present):
        assert got is None
        return
    assert got is not None
    assert got.count == len(present)
    assert got.mean == pytest.approx(present.mean(), abs=1e-6)
    assert got.deviation == pytest.approx(present.std(), abs=1e-6)


def test_moments_of_large_numbers_keep_their_digits() -> None:
    values = 1e9 + np.arange(1000) / 7
    made = MemorySource(Table.of(pl.DataFrame({"x": values})))
    got = made.moments("x")
    assert got is not None
    assert got.deviation == pytest.approx(values.std(), rel=1e-9)


@pytest.mark.parametrize(
    ("values", "mean"),
    [([1, 2, None] * 20, 1.5), (["1", "2", "N"] * 20, 1.5), (["a", "b"] * 20, None),
     (["inf", "1"] * 20, 1), ([True, False], None), ([None, None], None)],
)  # fmt: skip
def test_moments_of_categories_whose_levels_are_numbers(values: Any, mean: float | None) -> None:
    got = MemorySource(Table.of(pl.DataFrame({"x": values}))).moments("x")
    assert (None if got is None else got.mean) == mean


@given(values=st.lists(st.none() | st.floats(-10, 10), min_size=1, max_size=30))
def test_quantiles(values: list[float | None]) -> None:
    frame = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
    made = MemorySource(Table.of(frame, Schema((Column("x", "number", "float"),))))
    shares = np.linspace(0, 1, 5)
    present = np.array([v for v in values if v is not None])
    want = np.quantile(present, shares) if len(present) else np.empty(0)
    for _ in range(2):
        assert np.array_equal(made.quantiles("x", shares), want)
    assert frame["x"].to_list() == values


def test_levels_are_counted_and_words_of_numbers_too() -> None:
    frame = pl.DataFrame({"c": ["x", "y", "x", None] * 20, "n": ["N", "M", "1", "2"] * 20})
    frame = frame.with_columns(n=pl.Series(["N", "N", *(str(i) for i in range(78))]))
    made = MemorySource(Table.of(frame))
    assert made.levels("c") == {"x": 40, "y": 20}
    assert made.levels("n") == {"N": 2}


@given(own=ROWS, others=ROWS)
def test_copies(own: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    got = source(own).copies(source(others).rows())
    want = Counter((row["a"], row["b"], row["c"]) for row in own)
    assert got.tolist() == [want[row["a"], row["b"], row["c"]] for row in others]


STORAGES: list[dict[str, Any]] = [
    {"n": [1, 20, None], "c": [1, 0, None], "b": [True, False, None], "d": [dt.date(2020, 1, 31)]},
    {"n": [1.0, 20.0, None], "c": [1.0, 0.0, None], "b": ["True", "False", None],
     "d": ["2020-01-31"]},
    {"n": ["1", "20", None], "c": ["1", "0", None], "b": ["true", "false", None],
     "d": [dt.datetime(2020, 1, 31)]},
    {"n": [" 1.00", "2e1", None], "c": ["1.0", "0.0", None], "b": ["TRUE", "FALSE", None],
     "d": [" 2020-01-31"]},
]  # fmt: skip
STORED_SCHEMA = Schema(
    (
        Column("n", "number", "integer", decimals=0),
        Column("c", "category", levels=("0", "1")),
        Column("b", "category", levels=("false", "true")),
        Column("d", "date", format="%Y-%m-%d", unit="day"),
    )
)


def stored(which: int) -> MemorySource:
    columns = {k: (v * 3)[:3] for k, v in STORAGES[which].items()}
    return MemorySource(Table.of(pl.DataFrame(columns, strict=False), STORED_SCHEMA))


@pytest.mark.parametrize("one", range(4))
@pytest.mark.parametrize("two", range(4))
def test_copies_and_digest_do_not_depend_on_storage(one: int, two: int) -> None:
    assert stored(one).copies(stored(two).rows()).tolist() == [1, 1, 1]
    assert stored(one).digest(b"key") == stored(two).digest(b"key")


def test_equal_up_to_the_last_digit_only() -> None:
    huge = [str(2**53 + i) for i in range(4)] * 10
    own = MemorySource(Table.of(pl.DataFrame({"x": huge[:2] * 10})))
    other = MemorySource(Table.of(pl.DataFrame({"x": huge}), own.schema))
    assert own.copies(other.rows()).tolist() == [10, 10, 0, 0] * 10
    whole = MemorySource(Table.of(pl.DataFrame({"x": [2**53 + 2 * i for i in range(40)] * 2})))
    near = MemorySource(Table.of(pl.DataFrame({"x": [2**53 + 1, 2**53 + 2]}), whole.schema))
    assert whole.copies(near.rows()).tolist() == [0, 2]


@given(rows=ROWS, position=st.integers(0, 29), column=st.sampled_from("abc"))
def test_digest_changes_with_a_value_and_with_the_key(
    rows: list[dict[str, Any]], position: int, column: str
) -> None:
    made = source(rows)
    assert made.digest(b"k") == source(rows).digest(b"k")
    assert made.digest(b"k") != made.digest(b"other")
    changed = [dict(row) for row in rows]
    row = changed[position % len(rows)]
    row[column] = {"a": 9, "b": 9.5, "c": "other"}[column]
    assert made.digest(b"k") != source(changed).digest(b"k")


def test_digest_tells_missing_from_empty() -> None:
    rows = [{"a": 1, "b": 1.0, "c": "x"}]
    both = [source([{**rows[0], "c": c}]).digest(b"k") for c in (None, "")]
    assert both[0] != both[1]


def test_rows_and_limit() -> None:
    made = source([{"a": i % 4, "b": i / 2, "c": "x"} for i in range(50)])
    whole = made.rows()
    assert whole.height == 50
    assert made.rows(50, rng()).equals(whole)
    assert made.rows(99).equals(whole)
    some = made.rows(10, rng(1))
    assert some.height == 10
    assert some.equals(made.rows(10, rng(1)))
    assert not some.equals(made.rows(10, rng(2)))
    places = [whole["b"].to_list().index(value) for value in some["b"]]
    assert places == sorted(set(places))
    with pytest.raises(ValueError, match="stream"):
        made.rows(10)


def test_rows_leave_keys_out() -> None:
    frame = pl.DataFrame({"id": range(100), "x": ["a", "b"] * 50})
    assert MemorySource(Table.of(frame)).rows().columns == ["x"]


@given(own=ROWS, queries=ROWS)
def test_nearest(own: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    made, asked = source(own), source(queries)
    codec = Codec.fit(made, bins=3)
    got = made.nearest(asked.coded(codec))
    a, b = codec.encode(asked.table).codes, codec.encode(made.table).codes
    differing = (a[:, None, :] != b[None, :, :]).sum(axis=2)
    assert got.distance.tolist() == differing.min(axis=1).tolist()
    assert got.count.tolist() == (differing == differing.min(axis=1)[:, None]).sum(axis=1).tolist()


def test_coding_is_done_once_for_each_codec() -> None:
    made = source([{"a": 1, "b": i / 4, "c": "x"} for i in range(40)])
    one, two = Codec.fit(made, bins=2), Codec.fit(made, bins=3)
    assert made.coded(one) is made.coded(one)
    assert made.coded(two).codec is two
    assert made.coded(Codec.fit(made, bins=2)) is made.coded(one), "an equal codec is the same"
