"""What a column may show: nothing that few rows hold, whatever its values."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from few import adversarial, check
from understudy.data import shown as shown_module
from understudy.data.codec import write_values
from understudy.data.schema import Column, Values, read_values
from understudy.data.schema.inference import infer_column
from understudy.data.shown import shown_codec


def shown(series: pl.Series, k: int, column: Column | None = None) -> pl.Series:
    """Give all that a column may show."""
    column = column or infer_column(series)
    made, codes = shown_codec(
        read_values(series, column), column, k, single=series.dtype == pl.Float32
    )
    assert codes.max(initial=0) <= made.size
    assert (np.diff(made.numbers.begin) > 0).all()
    assert np.isfinite(made.numbers.values).all()
    assert (made.numbers.weights > 0).all()
    values = Values(None, pl.Series(made.labels, dtype=pl.String))
    if column.is_numeric:
        numbers = np.concatenate([made.numbers.values, np.full(len(made.labels), np.nan)])
        texts = pl.Series([None] * len(made.numbers.values) + list(made.labels), dtype=pl.String)
        values = Values(numbers, texts)
    written = write_values(values, made.column_shown())
    return written.cast(series.dtype).alias(series.name)


@pytest.mark.parametrize("k", [1, 3, 5, 20])
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_that_a_column_may_show_is_held_by_few(k, seed):
    train = adversarial(seed=seed)
    for name in train.columns:
        if not (k == 1 and name == "huge"):
            check(train[name], shown(train[name], k), k)
    for name, digits in (("micro", 5), ("nano", 9), ("noisy", 1)):
        made = shown(train[name], k)
        assert name == "noisy" or made.equals(made.round(digits))
        check(train[name].round(digits), made.round(digits), k)


numbers = st.one_of(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=8),
    st.lists(st.integers(-30, 30).map(float), min_size=1, max_size=8),
    st.lists(st.decimals(-5, 5, places=2).map(float), min_size=1, max_size=8),
)


@given(numbers, st.integers(0, 10**6), st.sampled_from([1, 2, 5, 9]), st.booleans())
def test_any_numbers(some, seed, k, whole):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(k, 300))
    drawn = rng.choice(some, rows) + rng.integers(0, 40, rows) * rng.choice([0, 0.01, 1, 1e9])
    series = pl.Series("x", np.append(drawn, some))
    if whole:
        series = series.clip(-(2**62), 2**62).round().cast(pl.Int64)
        k = max(k, 2)
    column = infer_column(series)
    if column.kind == "number":
        check(series, shown(series, k), k)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60), st.integers(1, 9))
def test_any_levels(levels, k):
    series = pl.Series("x", [*levels, None])
    check(series, shown(series, k), k)


@pytest.mark.parametrize("decimals", [None, 0, 4])
def test_whole_numbers_however_they_are_declared(decimals):
    train = pl.Series("x", np.random.default_rng(0).permutation(4000)[:1000])
    column = Column("x", "number", stored="integer", decimals=decimals)
    check(train, shown(train, 5, column), 5)


def test_numbers_that_are_declared_coarser_than_they_are():
    train = pl.Series("x", np.random.default_rng(0).uniform(10.4, 14.6, 500))
    check(train, shown(train, 5, Column("x", "number", stored="float", decimals=0)), 5)


def test_floats_of_32_bits_that_are_dense():
    train = pl.Series("x", np.random.default_rng(0).uniform(1, 1.01, 5000), dtype=pl.Float32)
    check(train, shown(train, 5), 5)


def test_the_check_notices_a_value_that_one_row_holds(monkeypatch):
    train = adversarial()
    with monkeypatch.context() as patch:
        patch.setattr(shown_module, "_free", lambda points, grid, *rest: grid.write(points))
        with pytest.raises(AssertionError):
            check(train["age"], shown(train["age"], 5), 5)
    for k, name in ((4, "level"), (4, "age"), (1, "gone"), (2, "code"), (3, "yes")):
        with pytest.raises(AssertionError):
            check(train[name], shown(train[name], k), 5)
