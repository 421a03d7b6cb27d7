"""Every kind of frame comes in unchanged and goes back as its own kind."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import understudy as us
from understudy.data.schema import Schema
from understudy.data.tables import Table, split, take_in
from understudy.errors import DataError

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

ROWS = {
    "whole": [3, 1, 2, 3, 5],
    "part": [0.5, None, 2.25, 1.0, -1.5],
    "word": ["x", "y", None, "x", "é 🎭"],
    "yes": [True, False, True, True, False],
}


class Stream:
    """An object that has an Arrow stream and nothing else."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


KINDS = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas nullable": lambda: pd.DataFrame(ROWS).convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas arrow": lambda: pa.table(ROWS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars lazy": lambda: pl.LazyFrame(ROWS),
    "narwhals": lambda: nw.from_native(pl.DataFrame(ROWS)),
    "pyarrow": lambda: pa.table(ROWS),
    "stream": lambda: Stream(pa.table(ROWS)),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def plain(frame: Any) -> dict[str, list[Any]]:
    """The values of any frame."""
    return take_in(frame).frame.to_dict(as_series=False)


def same(given: Any, back: Any) -> None:
    """Insist on the same kind, types, order and values."""
    if isinstance(given, pd.DataFrame):
        assert isinstance(back, pd.DataFrame)
        pd.testing.assert_frame_equal(back, given.reset_index(drop=True))
    elif isinstance(given, pa.Table):
        assert isinstance(back, pa.Table)
        assert back.schema == given.schema
        assert back.equals(given)
    else:
        if isinstance(given, nw.DataFrame):
            given = given.to_native()
        want = given.collect() if isinstance(given, pl.LazyFrame) else pl.DataFrame(given)
        assert isinstance(back, pl.DataFrame)
        assert_frame_equal(back, want, categorical_as_str=False)


def test_give_back_is_what_came_in(kind: str) -> None:
    frame = KINDS[kind]()
    taken = take_in(frame)
    assert taken.frame.to_dict(as_series=False) == ROWS
    same(frame, taken.give_back(taken.frame))


def test_rows_and_columns_can_be_fewer_and_in_another_order(kind: str) -> None:
    frame = KINDS[kind]()
    taken = take_in(frame)
    for rows in (0, 2):
        back = taken.give_back(taken.frame.select("word", "whole").head(rows))
        assert plain(back) == {"word": ROWS["word"][:rows], "whole": ROWS["whole"][:rows]}
        if isinstance(frame, pd.DataFrame):
            assert back.dtypes.to_dict() == frame[["word", "whole"]].dtypes.to_dict()


def test_the_callers_frame_is_never_changed(kind: str) -> None:
    frame, before = KINDS[kind](), plain(KINDS[kind]())
    taken = take_in(frame)
    back = taken.give_back(taken.frame)
    Table.of(frame)
    split(frame, holdout=0.4, stratify="yes")
    if isinstance(back, pd.DataFrame):
        back.loc[0, "whole"] = 99
        back["new"] = 1
    assert plain(frame) == before


def test_changing_the_callers_frame_later_changes_nothing_here() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, 3.5]})
    taken = take_in(frame)
    frame.loc[:, "a"] = 9
    frame["b"].to_numpy(copy=False)
    assert taken.frame["a"].to_list() == [1, 2, 3]


def one(values: Any, **more: Any) -> Any:
    return pd.DataFrame({"x": pd.Series(values, **more)})


MOMENTS = np.array(["2020-01-31T01:02:03", "1969-07-20", "NaT"], "M8[us]")
PANDAS_COLUMNS = {
    **{d: one([1, 0, 1], dtype=d) for d in ("int8", "int64", "uint8", "uint64", "bool")},
    **{d: one([1.5, None, 0], dtype=d) for d in ("float16", "float32", "float64")},
    **{d: one([1, 0, None], dtype=d) for d in ("Int8", "Int64", "UInt64", "Float32", "boolean")},
    **{d: one(["a", None, ""], dtype=d) for d in ("string", "object", "string[pyarrow]")},
    "large UInt64": one([2**64 - 1, None], dtype="UInt64"),
    "big-endian": one(np.array([1, 2], ">i4")),
    "category": one(pd.Categorical(["b", "a", None], categories=["b", "a", "c"])),
    "category of integers": one(pd.Categorical([3, 1, None], categories=[3, 1, 2])),
    "category of floats": one(pd.Categorical([1.0, 2.5, None])),
    "category of booleans": one(pd.Categorical([True, False, None])),
    "category of moments": one(pd.Categorical(MOMENTS)),
    "category of intervals": one(pd.cut(pd.Series([1, 2, 3, 4]), 2)),
    "ordered": one(pd.Categorical(["lo", "hi"], categories=["lo", "hi", "top"], ordered=True)),
    "category, all missing": one(pd.Categorical([None, None], categories=["a"])),
    **{f"moments {u}": one(MOMENTS.astype(f"M8[{u}]")) for u in ("s", "ms", "us", "ns")},
    **{
        f"durations {u}": one(np.array([90_000_000, -1, "NaT"], f"m8[{u}]"))
        for u in ("s", "ms", "us", "ns")
    },
    **{
        f"zone {zone}": one(pd.DatetimeIndex(MOMENTS).tz_localize(zone))
        for zone in ("UTC", "Europe/Berlin", dt.timezone(dt.timedelta(hours=5, minutes=30)))
    },
    **{
        f"zone, by {u}": one(pd.DatetimeIndex(MOMENTS).as_unit(u).tz_localize("Asia/Tokyo"))
        for u in ("s", "ms", "ns")
    },
    "nanoseconds in a zone": one(
        pd.DatetimeIndex(["2020-01-01 01:02:03.123456789"]).as_unit("ns").tz_localize("Asia/Tokyo")
    ),
    "mixed": one([1, "a", None, 2.5, True], dtype=object),
    "decimals": one([Decimal("1.10"), None, Decimal("2.25")], dtype=object),
    "long decimals": one([Decimal("1E+40"), Decimal("NaN"), Decimal("0.1")], dtype=object),
    "dates": one([dt.date(2020, 1, 1), None], dtype=object),
    "times": one([dt.time(1, 2, 3), None], dtype=object),
    "bytes": one([b"M", b"F"], dtype=object),
    "lists": one([[1], [2, 3]], dtype=object),
    "None": one(["a", None], dtype=object),
    "nan": one(["a", np.nan], dtype=object),
    "NA": one(["a", pd.NA], dtype=object),
    "integers and None": one([1, None], dtype=object),
    "beyond 2^63": one([2**63, 2**70, -(2**65)], dtype=object),
    "beyond 2^53": one([2**53 + 1, 2**62 + 1]),
    "all None": one([None, None], dtype=object),
    "no rows": one([], dtype=object),
    "periods": one(pd.PeriodIndex(["2020-01", None], freq="M")),
    "intervals": one(pd.interval_range(0, 3)),
    "sparse": one(pd.arrays.SparseArray([0, 0, 1])),
    "sparse floats": one(pd.arrays.SparseArray([np.nan, 0.5])),
    "integer names": pd.DataFrame([[1, 2.5]], columns=[0, 1]),
    "mixed names": pd.DataFrame([[1, 2.5]], columns=[0, "a"]),
    "named names": pd.DataFrame([[1, 2]], columns=pd.Index(["a", "b"], name="q")),
    "two levels of names": pd.DataFrame(
        [[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["p", "q"])
    ),
    **{
        f"arrow {array.type}": one(pd.arrays.ArrowExtensionArray(array))
        for array in (
            pa.array([1, None], pa.int8()),
            pa.array([0.5, None], pa.float32()),
            pa.array(["a", None]),
            pa.array(["a", None]).dictionary_encode(),
            pa.array([Decimal("1.10"), None]),
            pa.array([dt.datetime(2020, 1, 1), None], pa.timestamp("us", "Europe/Berlin")),
            pa.array([dt.date(2020, 1, 1), None]),
            pa.array([dt.time(1), None]),
            pa.array([dt.timedelta(1), None]),
            pa.array([[1], None]),
            pa.array([None, None]),
        )
    },
}


@pytest.mark.parametrize("name", PANDAS_COLUMNS)
def test_pandas_columns_go_back_as_they_came(name: str) -> None:
    frame = PANDAS_COLUMNS[name]
    before = frame.copy(deep=True)
    taken = take_in(frame)
    back = taken.give_back(taken.frame)
    same(frame, back)
    if "x" in frame and frame["x"].dtype == object:
        pairs = zip(frame["x"], back["x"], strict=True)
        assert all(type(a) is type(b) for a, b in pairs)
    assert (taken.give_back(taken.frame.head(0)).dtypes == frame.dtypes).all()
    pd.testing.assert_frame_equal(frame, before)


def test_several_marks_of_missing_become_the_first() -> None:
    taken = take_in(one(["a", np.nan, None, pd.NA], dtype=object))
    back = taken.give_back(taken.frame)["x"]
    assert back[0] == "a"
    assert all(isinstance(value, float) and np.isnan(value) for value in back[1:])


def test_pandas_rows_are_numbered_anew() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    taken = take_in(frame)
    assert taken.give_back(taken.frame).index.tolist() == [0, 1]


def test_floats_become_decimals_again() -> None:
    taken = take_in(one([Decimal("1.10"), Decimal("2.25")], dtype=object))
    back = taken.give_back(pl.DataFrame({"x": [1.15]}))
    assert back["x"].tolist() == [Decimal("1.15")]


@pytest.mark.parametrize(
    "dtype",
    [pl.Int8, pl.UInt64, pl.Float32, pl.Categorical, pl.Enum(["x", "y"]), pl.Duration("ns"),
     pl.Datetime("ms", "Europe/Berlin"), pl.Decimal(10, 2), pl.Time],
)  # fmt: skip
def test_polars_types_go_back_as_they_came(dtype: Any) -> None:
    words = dtype in (pl.Categorical, pl.Enum)
    frame = pl.DataFrame({"a": pl.Series(["x", None, "y"] if words else [1, None, 2]).cast(dtype)})
    taken = take_in(frame)
    same(frame, taken.give_back(taken.frame))


def test_polars_types_are_kept_where_values_were_made_in_a_wider_one() -> None:
    frame = pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int8)})
    back = take_in(frame).give_back(pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int64)}))
    assert back.schema == frame.schema


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' stands twice"),
        (pd.DataFrame([[1, 2]], columns=[0, "0"]), "'0' stands twice"),
        (pa.table([[1], [2]], names=["a", "a"]), "'a' stands twice"),
        (pd.DataFrame(index=[1, 2]), "no columns"),
        (pl.DataFrame(), "no columns"),
        (one(pd.Categorical([1, "1"])), "differ in their type only"),
        (one(["a\ud800"], dtype=object), "not valid Unicode"),
        ([1, 2], "type list is not a table"),
        (None, "type NoneType is not a table"),
        (np.ones((2, 2)), "type ndarray is not a table"),
    ],
)
def test_what_cannot_be_a_table(frame: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        take_in(frame, "holdout")
    assert caught.value.message.startswith("holdout: ")
    assert caught.value.hint


EXTREMES = {
    "largest": (pl.UInt64, [2**64 - 1 - (i % 60) * 2**50 for i in range(120)]),
    "beyond 2^63": (pl.UInt64, [2**63 + (i % 60) * 2**50 for i in range(120)]),
    "highest": (pl.Int64, [2**63 - 1 - (i % 60) * 2**50 for i in range(120)]),
    "lowest": (pl.Int64, [-(2**63) + (i % 60) * 2**50 for i in range(120)]),
}


@pytest.mark.parametrize("method", ["cart", "independent"])
@pytest.mark.parametrize("kind", ["polars", "pandas", "nullable", "pyarrow"])
@pytest.mark.parametrize("case", EXTREMES)
def test_extreme_integers_come_back_in_their_type(case: str, kind: str, method: str) -> None:
    """Rounded to a float, the largest integer is beyond its type."""
    dtype, numbers = EXTREMES[case]
    frame = pl.DataFrame({"x": pl.Series(numbers, dtype=dtype), "y": ["a", "b"] * 60})
    if kind == "polars":
        data = frame
    elif kind == "pyarrow":
        data = frame.to_arrow()
    else:
        name = str(dtype) if kind == "nullable" else str(dtype).lower()
        data = pd.DataFrame({"x": pd.array(numbers, dtype=name), "y": frame["y"].to_list()})
    made = us.synthesizer(method, seed=1).fit(data).sample(80)
    before, after = (take_in(each).frame for each in (data, made))
    assert after.schema == before.schema
    assert after["x"].null_count() == 0


@pytest.mark.parametrize("day", [-800_000, 3_000_000, 2**31 - 1, -(2**31)])
def test_dates_that_no_calendar_has_are_refused(day: int, tmp_path: Path) -> None:
    frame = pl.DataFrame({"born": pl.Series([0, day]).cast(pl.Int32).cast(pl.Date)})
    frame.write_parquet(tmp_path / "t.parquet")
    for data in (frame, tmp_path / "t.parquet", frame.to_arrow()):
        with pytest.raises(
            DataError, match="'born' holds dates before the year 1 or after"
        ) as told:
            take_in(data)
        assert told.value.hint
        kept = take_in(data, alone=Schema(())).frame["born"]
        assert kept.null_count() == 1
    moments = pl.DataFrame({"at": pl.Series([0, 2**62]).cast(pl.Datetime("us"))})
    with pytest.raises(DataError, match="'at' holds dates"):
        take_in(moments)
