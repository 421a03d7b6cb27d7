"""Codes: what goes in comes out, whatever stored it and in whatever order."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_series_equal

from understudy.data.bins import Bins, Points
from understudy.data.codec import FIRST, MISSING, UNSEEN, Codec, ColumnCodec
from understudy.data.memory import MemorySource
from understudy.data.schema import Column, Schema, infer
from understudy.data.tables import Table
from understudy.errors import OptionError

NAN = float("nan")
INF = float("inf")
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=i * i) for i in range(30)]


def table(values: Any, column: Column | None = None) -> Table:
    series = values if isinstance(values, pl.Series) else pl.Series(values, strict=False)
    schema = None if column is None else Schema((column,))
    return Table.of(series.alias("x").to_frame(), schema)


def fit(values: Any, column: Column | None = None, **more: Any) -> tuple[Table, ColumnCodec]:
    made = table(values, column)
    return made, Codec.fit(MemorySource(made), **more).columns[0]


def encode(coder: ColumnCodec, values: Any) -> list[int]:
    made = table(values, coder.column)
    return coder.encode(made.values("x")).tolist()


def decode(coder: ColumnCodec, codes: Any, seed: int = 0) -> pl.Series:
    return coder.decode(np.asarray(codes, np.uint16), np.random.default_rng(seed))


NUMBERS = st.lists(
    st.none() | st.floats(-1e6, 1e6) | st.integers(-1000, 1000).map(lambda i: i / 8),
    min_size=1,
    max_size=60,
).filter(lambda values: any(v is not None for v in values))
WHOLE = st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=60).filter(
    lambda values: any(v is not None for v in values)
)
WORDS = st.lists(st.none() | st.sampled_from("abcdefgh") | st.text(max_size=3), max_size=60)
BINS = st.integers(1, 20)
NUMBER = Column("x", "number", "float")


@given(values=NUMBERS, bins=BINS)
def test_numbers_decode_into_their_bin(values: list[float | None], bins: int) -> None:
    made, coder = fit(pl.Series(values, dtype=pl.Float64), NUMBER, bins=bins)
    codes = coder.encode(made.values("x"))
    assert codes.max() < coder.size
    assert coder.bins <= bins
    assert UNSEEN not in codes
    back = decode(coder, codes)
    assert encode(coder, back) == codes.tolist()
    assert back.is_null().to_list() == [v is None for v in values]
    assert coder.column.bounds is None or back.min() >= min(v for v in values if v is not None)


@given(values=WHOLE, bins=BINS, decimals=st.integers(0, 4))
@example(values=[-1, -1, 13, 13], bins=14, decimals=0)
def test_numbers_decode_on_the_grid_of_the_column(
    values: list[int | None], bins: int, decimals: int
) -> None:
    size = 10**decimals
    column = Column("x", "number", "float", decimals=decimals)
    series = pl.Series([None if v is None else v / size for v in values], dtype=pl.Float64)
    made, coder = fit(series, column, bins=bins)
    codes = coder.encode(made.values("x"))
    back = decode(coder, codes)
    assert encode(coder, back) == codes.tolist()
    present = back.drop_nulls().to_numpy()
    assert np.array_equal(np.round(present, decimals), present)


@given(values=WHOLE, bins=BINS)
def test_whole_numbers_stay_whole(values: list[int | None], bins: int) -> None:
    column = Column("x", "number", "integer", decimals=0)
    made, coder = fit(pl.Series(values, dtype=pl.Int64), column, bins=bins)
    codes = coder.encode(made.values("x"))
    back = decode(coder, codes)
    assert back.dtype == pl.Int64
    assert encode(coder, back) == codes.tolist()


def test_a_bin_as_narrow_as_floats_can_be() -> None:
    high = float(np.nextafter(1.0, 2.0))
    _, coder = fit([0.0, 1.0, high], NUMBER, bins=2)
    assert coder.edges.tolist() == [0.0, 1.0, high]
    assert set(decode(coder, [FIRST + 1] * 200)) == {high}


@given(values=WORDS, bins=BINS)
def test_categories_decode_exactly(values: list[str | None], bins: int) -> None:
    series = pl.Series("x", values, dtype=pl.String)
    made, coder = fit(series, Column("x", "category"), bins=bins)
    codes = coder.encode(made.values("x"))
    assert codes.max(initial=0) < coder.size
    assert_series_equal(decode(coder, codes), series, check_names=False)


@given(values=WORDS, most=st.integers(1, 5))
@example(values=["a", "a\0"], most=1)
def test_lumping_keeps_the_most_frequent_levels(values: list[str | None], most: int) -> None:
    made, coder = fit(pl.Series(values, dtype=pl.String), Column("x", "category"), levels=most)
    counts = pl.Series(values, dtype=pl.String).drop_nulls().value_counts()
    by_level = dict(counts.iter_rows())
    assert len(coder.levels) == min(most, len(by_level))
    assert set(coder.levels) | set(coder.rest) == set(by_level)
    if coder.rest:
        assert min(by_level[v] for v in coder.levels) >= max(coder.rest.values())
        rest = coder.size - 1
        codes = coder.encode(made.values("x"))
        assert (codes == rest).sum() == sum(coder.rest.values())
        drawn = decode(coder, [rest] * 50)
        assert set(drawn) <= set(coder.rest)
        assert encode(coder, drawn) == [rest] * 50


def test_the_rest_is_drawn_by_its_counts() -> None:
    values = ["a"] * 100 + ["b"] * 30 + ["c"] * 10
    _, coder = fit(values, Column("x", "category"), levels=1)
    drawn = decode(coder, [coder.size - 1] * 4000)
    assert abs((drawn == "b").mean() - 0.75) < 0.05


@given(values=NUMBERS, order=st.randoms())
def test_codes_do_not_depend_on_the_order_of_rows(values: list[float | None], order: Any) -> None:
    words = [None if v is None else str(v)[:2] for v in values]
    shuffled = list(range(len(values)))
    order.shuffle(shuffled)
    frame = pl.DataFrame({"x": values, "w": words}, schema={"x": pl.Float64, "w": pl.String})
    schema = Schema((NUMBER, Column("w", "category")))
    one, two = Table.of(frame, schema), Table.of(frame[shuffled], schema)
    codecs = [Codec.fit(MemorySource(t), bins=7, levels=3) for t in (one, two)]
    a, b = codecs[0].encode(one, scaled=True), codecs[1].encode(two, scaled=True)
    assert np.array_equal(a.codes[shuffled], b.codes)
    assert np.array_equal(a.numbers[shuffled], b.numbers, equal_nan=True)


@given(values=NUMBERS, bins=BINS)
def test_bins_are_the_published_ones(values: list[float | None], bins: int) -> None:
    """Unique quantiles of training, closed on the right, the lowest value included."""
    pandas = pytest.importorskip("pandas")
    made, coder = fit(pl.Series(values, dtype=pl.Float64), NUMBER, bins=bins)
    present = np.array([v for v in values if v is not None])
    edges = np.unique(np.quantile(present, np.linspace(0, 1, bins + 1)))
    np.testing.assert_array_equal(coder.edges, edges)
    codes = coder.encode(made.values("x"))[made.values("x").numbers == made.values("x").numbers]
    if len(edges) == 1:
        assert set(codes) == {FIRST}
    else:
        cut = pandas.cut(present, edges, labels=False, include_lowest=True)
        np.testing.assert_array_equal(codes - FIRST, cut)


def test_missing_unseen_and_out_of_range() -> None:
    _, coder = fit([i / 8 for i in range(40)], bins=4)
    got = encode(coder, [None, NAN, -0.1, 0.0, 39 / 8, 4.9, INF, -INF])
    assert got == [MISSING, MISSING, UNSEEN, FIRST, FIRST + 3, UNSEEN, UNSEEN, UNSEEN]
    assert decode(coder, [MISSING, UNSEEN]).to_list() == [None, None]


def test_words_and_infinities_have_codes_of_their_own() -> None:
    values = ["N", "inf", "-inf", *(str(i / 8) for i in range(40))]
    _, coder = fit(values, bins=4)
    assert coder.levels == ("-inf", "N", "inf")
    assert encode(coder, ["-inf", "N", "inf", "M", "0", None]) == [6, 7, 8, UNSEEN, 2, 0]
    back = decode(coder, [6, 7, 8])
    assert back.to_list() == ["-inf", "N", "inf"]


def test_infinities_come_back_as_numbers() -> None:
    values = [INF, -INF, None, *(i / 8 for i in range(40))]
    made, coder = fit(values, bins=4)
    back = decode(coder, coder.encode(made.values("x")))
    assert back.dtype == pl.Float64
    assert back[:3].to_list() == [INF, -INF, None]


def test_a_number_column_of_training_without_numbers_has_no_bins() -> None:
    made, coder = fit(pl.Series([None, None], dtype=pl.Float64), NUMBER)
    assert (coder.bins, coder.size) == (0, FIRST)
    assert encode(coder, [1.0, None]) == [UNSEEN, MISSING]
    assert np.isnan(coder.scale(np.array([1.0]))).all()
    assert decode(coder, coder.encode(made.values("x"))).to_list() == [None, None]


STORED: dict[str, list[Any]] = {
    "one": [
        pl.Series([1, 0, None] * 20),
        pl.Series([1.0, 0.0, None] * 20),
        pl.Series([1.0, 0.0, None] * 20, dtype=pl.Float32),
        pl.Series([1, 0, None] * 20, dtype=pl.UInt8),
        pl.Series(["1", "0", None] * 20),
        pl.Series(["1.0", "0.0", None] * 20),
        pl.Series(["1", "0", None] * 20, dtype=pl.Categorical),
    ],
    "true": [
        pl.Series([True, False, None] * 20),
        pl.Series(["True", "False", None] * 20),
        pl.Series(["true", "false", None] * 20),
        pl.Series(["TRUE", "FALSE", None] * 20),
        pl.Series(["true", "false", None] * 20, dtype=pl.Categorical),
    ],
    "tenths": [
        pl.Series([0.1, 0.3, None] * 20),
        pl.Series([0.1, 0.3, None] * 20, dtype=pl.Float32),
        pl.Series(["0.1", "0.3", None] * 20),
        pl.Series(["0.10", "0.30", None] * 20),
        pl.Series(["0.10", "0.30", None] * 20, dtype=pl.Decimal(5, 2)),
    ],
    "numbers": [
        pl.Series([*range(40)] * 2),
        pl.Series([float(i) for i in range(40)] * 2),
        pl.Series([*range(40)] * 2, dtype=pl.Float32),
        pl.Series([str(i) for i in range(40)] * 2),
        pl.Series([f"{i}.00" for i in range(40)] * 2),
    ],
    "fractions": [
        pl.Series([i / 10 for i in range(40)] * 2),
        pl.Series([i / 10 for i in range(40)] * 2, dtype=pl.Float32),
        pl.Series([str(i / 10) for i in range(40)] * 2),
    ],
    "days": [
        pl.Series(DAYS * 2),
        pl.Series(DAYS * 2).cast(pl.Datetime("us")),
        pl.Series(DAYS * 2).cast(pl.Datetime("ns")),
        pl.Series(DAYS * 2).cast(pl.Datetime("ms", "UTC")),
        pl.Series([d.isoformat() for d in DAYS] * 2),
    ],
    "durations": [
        pl.Series([dt.timedelta(hours=i) for i in range(40)], dtype=pl.Duration(unit))
        for unit in ("ms", "us", "ns")
    ],
    "huge": [
        pl.Series([str(2**53 + i) for i in range(30)] * 2),
        pl.Series([str(2**53 + i) for i in range(30)] * 2, dtype=pl.Categorical),
    ],
}
PAIRS = [
    pytest.param(first, second, id=f"{name} {i} {k}")
    for name, series in STORED.items()
    for i, first in enumerate(series)
    for k, second in enumerate(series)
    # A day in a zone is a moment: fitted so, a plain text of it has another form.
    if name != "days" or isinstance(first.dtype, pl.Datetime) <= (k != 4)
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_same_values_have_the_same_codes_in_any_storage(
    first: pl.Series, second: pl.Series
) -> None:
    made, coder = fit(first, bins=5)
    codes = coder.encode(made.values("x")).tolist()
    assert encode(coder, second) == codes
    assert UNSEEN not in codes


def test_other_values_are_not_mistaken_for_known_ones() -> None:
    _, coder = fit(["f", "m"] * 20)
    assert encode(coder, ["F", "f ", "m"]) == [UNSEEN, UNSEEN, 3]
    _, coder = fit(["007", "012"] * 20)
    assert encode(coder, ["7", "07", "007"]) == [UNSEEN, UNSEEN, 2]
    assert encode(coder, [7, 12]) == [UNSEEN, UNSEEN]
    huge = [str(2**53 + i) for i in range(4)]
    _, coder = fit(huge[:3] * 20)
    assert encode(coder, huge) == [2, 3, 4, UNSEEN]


CASES: dict[str, pl.Series] = {
    "date": pl.Series(DAYS),
    "datetime": pl.Series(DAYS).cast(pl.Datetime("us")),
    "zone": pl.Series(DAYS).cast(pl.Datetime("us")).dt.replace_time_zone("Europe/Berlin"),
    "text": pl.Series([d.strftime("%d/%m/%Y") for d in DAYS]),
    "text with a word": pl.Series(["never"] * 9 + [d.isoformat() for d in DAYS]),
    "text with seconds": pl.Series([f"{d.isoformat()}T03:04:05" for d in DAYS]),
    "text with a zone": pl.Series([f"{d.isoformat()}T03:04:05Z" for d in DAYS]),
    "time": pl.Series([dt.time(i % 24, i) for i in range(60)]),
    "duration": pl.Series([dt.timedelta(hours=i) for i in range(60)]),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_dates_times_and_durations(case: str, missing: bool) -> None:
    series = CASES[case].alias("x")
    if missing:
        series = series.clone().extend_constant(None, 3)
    made, coder = fit(series, bins=5)
    codes = coder.encode(made.values("x"))
    back = decode(coder, codes)
    assert back.dtype == series.dtype
    assert encode(coder, back) == codes.tolist()
    assert back.null_count() == 3 * missing
    step = coder.column.step
    numbers = made.values("x").numbers
    again = table(back, coder.column).values("x").numbers
    assert step
    assert numbers is not None
    assert again is not None
    assert np.nanmax(again % step) == np.nanmax(numbers % step) == 0


@pytest.mark.parametrize(
    "value",
    [5, 2.5, "a", "007", True, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 2, 3), dt.time(1, 2),
     dt.timedelta(hours=5), 2**62 + 1, INF],
)  # fmt: skip
def test_constants_come_back_as_they_were(value: Any) -> None:
    series = pl.Series("x", [value] * 4)
    made, coder = fit(series)
    assert made.schema["x"].kind == "constant"
    assert_series_equal(decode(coder, coder.encode(made.values("x"))), series, check_names=False)


def test_a_constant_moment_in_a_zone_comes_back() -> None:
    series = pl.Series("x", [dt.datetime(2020, 7, 1)] * 3).dt.replace_time_zone("Europe/Berlin")
    made, coder = fit(series)
    assert_series_equal(decode(coder, coder.encode(made.values("x"))), series, check_names=False)


@pytest.mark.parametrize(
    "series",
    [pl.Series([True, False, None] * 5), pl.Series([1, 2, None] * 10), pl.Series([0.5, INF] * 20),
     pl.Series([2**63 + 1, 2**63 + 2] * 10, dtype=pl.UInt64),
     pl.Series([2**100 + 1, 2**100 + 2] * 10, dtype=pl.Int128)],
)  # fmt: skip
def test_categories_come_back_in_their_storage(series: pl.Series) -> None:
    made, coder = fit(series)
    assert made.schema["x"].kind == "category"
    back = made.give_back(decode(coder, coder.encode(made.values("x"))).alias("x").to_frame())
    assert_series_equal(back["x"], series, check_names=False)


def test_numbers_beyond_64_bits_with_a_sign_come_back() -> None:
    series = pl.Series("x", [2**63 + 10**6 * i for i in range(60)] * 2, dtype=pl.UInt64)
    made, coder = fit(series)
    back = made.give_back(decode(coder, coder.encode(made.values("x"))).alias("x").to_frame())
    assert back["x"].dtype == pl.UInt64
    assert back["x"].null_count() == 0


@pytest.mark.parametrize(("levels", "dtype"), [(254, np.uint8), (255, np.uint16)])
def test_one_byte_where_256_codes_will_do(levels: int, dtype: Any) -> None:
    frame = pl.DataFrame(
        {"x": [f"v{i:03}" for i in range(levels)] * 6, "y": ["a", "b"] * 3 * levels}
    )
    made = Table.of(frame)
    codec = Codec.fit(MemorySource(made))
    assert codec.sizes == (levels + 2, 4)
    coded = codec.encode(made)
    assert coded.codes.dtype == dtype
    assert coded.codes.max() == levels + 1
    assert codec.decode(coded.codes, np.random.default_rng(0)).equals(frame)


def test_more_levels_than_codes_are_lumped() -> None:
    values = [f"v{i}" for i in range(70_000)] + ["v69999"]
    made, coder = fit(values, Column("x", "category"))
    assert coder.size == 2**16
    assert "v69999" in coder.levels
    assert coder.encode(made.values("x")).max() == 2**16 - 1


@given(values=NUMBERS, bins=BINS)
def test_scaled_numbers_are_ranks(values: list[float | None], bins: int) -> None:
    made = table(pl.Series(values, dtype=pl.Float64), NUMBER)
    scaled = Codec.fit(MemorySource(made), bins=bins).encode(made, scaled=True).numbers[:, 0]
    numbers = made.values("x").numbers
    assert numbers is not None
    present = ~np.isnan(numbers)
    assert np.array_equal(np.isnan(scaled), ~present)
    assert np.all((scaled[present] >= 0) & (scaled[present] <= 1))
    order = np.argsort(numbers[present], kind="stable")
    assert np.all(np.diff(scaled[present][order]) >= 0)


@pytest.mark.parametrize("outlier", [1e9, -1e12])
def test_an_outlier_moves_the_scale_by_its_rank_only(outlier: float) -> None:
    values = np.random.default_rng(0).normal(size=999)
    made = table(pl.Series(values), NUMBER)
    scales = []
    for extra in ([], [outlier]):
        rows = MemorySource(table(pl.Series([*values, *extra]), NUMBER))
        scales.append(Codec.fit(rows, bins=100).encode(made, scaled=True).numbers[:, 0])
    assert np.abs(scales[0] - scales[1]).max() <= 1 / 100 + 2 / 1000


@pytest.mark.parametrize("options", [{"bins": 0}, {"levels": 0}, {"bins": -1}])
def test_impossible_options(options: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=r"bins = .*levels = ") as caught:
        fit([1, 2, 3], **options)
    assert caught.value.hint


def test_decoding_is_seeded() -> None:
    made, coder = fit([i / 8 for i in range(400)], bins=3)
    codes = coder.encode(made.values("x"))
    assert decode(coder, codes, 1).equals(decode(coder, codes, 1))
    assert not decode(coder, codes, 1).equals(decode(coder, codes, 2))


def test_a_table_without_rows_and_without_values() -> None:
    frame = pl.DataFrame({"x": [], "y": []}, schema={"x": pl.Float64, "y": pl.String})
    made = Table.of(frame)
    codec = Codec.fit(MemorySource(made))
    assert codec.encode(made, scaled=True).codes.shape == (0, 2)
    assert codec.decode(np.zeros((0, 2), np.uint8), np.random.default_rng(0)).height == 0
    more = Table.of(pl.DataFrame({"x": [1.0, None], "y": ["a", None]}), infer(frame))
    assert codec.encode(more).codes.tolist() == [[UNSEEN, UNSEEN], [MISSING, MISSING]]


# other layouts of the codes


WORDS_AND_NUMBERS = Column("x", "number", "text", levels=("N", "none"))


def test_any_number_may_have_one_code_before_the_words() -> None:
    coder = ColumnCodec(WORDS_AND_NUMBERS, Bins(np.array([-INF, INF])), ("N", "none"))
    assert encode(coder, ["3", None, "N", "1e300", "none", "else", "-7"]) == [2, 0, 3, 2, 4, 1, 2]
    assert (coder.missing, coder.unseen, coder.size) == (MISSING, UNSEEN, 5)


def test_every_number_may_have_a_code_of_its_own() -> None:
    numbers = np.array([-1.5, 2.0, 30.0])
    points = Points(numbers, np.arange(4), np.ones(3))
    coder = ColumnCodec(WORDS_AND_NUMBERS, points, ("N", "none"), first=1)
    codes = encode(coder, ["2", None, "N", "30", "none", "-1.5", "else"])
    assert codes == [2, 0, 4, 3, 5, 1, coder.size]
    assert decode(coder, codes).to_list() == ["2.0", None, "N", "30.0", "none", "-1.5", None]


@pytest.mark.parametrize("many", [2**16 - 2, 2**16 + 5])
def test_more_values_than_16_bits_can_number(many: int) -> None:
    points = Points(np.arange(many, dtype=float), np.arange(many + 1), np.ones(many))
    coder = ColumnCodec(NUMBER, points, first=1)
    assert encode(coder, pl.Series([0.0, None, many - 1.0, 7.0])) == [1, 0, many, 8]


def test_missing_may_be_one_of_the_labels_and_nothing_unseen() -> None:
    column = Column("x", "number", "integer", decimals=0, bounds=(0.0, 9.0), levels=("N",))
    coder = ColumnCodec.declared(column, 20)
    codes = encode(coder, ["0", "9", "12", "N", None, "refused"])
    assert codes == [0, 9, 9, 10, 11, 11]
    assert coder.missing == coder.unseen == coder.size - 1
    assert encode(coder, decode(coder, np.arange(coder.size))) == list(range(coder.size))
