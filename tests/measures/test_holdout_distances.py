"""Distances to the nearest records: worked by hand, and against scikit-learn."""

import numpy as np
import polars as pl
import pytest
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import LabelEncoder, StandardScaler

from packaged import patients
from people import people
from understudy.data.schema import Column, Schema
from understudy.judging.comparison import compare_tables
from understudy.measures.privacy.distances import (
    mean_minimal_distance,
    neighbour_ratio,
    too_close,
)


@pytest.fixture
def number_line():
    """One column of numbers; the pool is 0, 1, …, 9, training the even ones."""
    schema = Schema((Column("x", "number", stored="float"),))

    def make(*synthetic: float):
        tables = ([0.0, 2, 4, 6, 8], list(synthetic), [1.0, 3, 5, 7, 9])
        train, made, holdout = (pl.DataFrame({"x": t}, schema={"x": pl.Float64}) for t in tables)
        return compare_tables(train, made, holdout, schema=schema)

    return make


def test_mean_minimal_distance_by_hand(number_line):
    found = mean_minimal_distance(number_line(0.0, 2.5))
    spread = np.std(np.arange(10))
    assert found.value == pytest.approx((0 + 0.5) / 2 / spread)
    assert found.reference == pytest.approx((1 + 0.5) / 2 / spread)
    assert found.unit == "standard deviations"
    back = found.parts[0]
    assert back.value == pytest.approx((0 + 0.5 + 1.5 + 3.5 + 5.5) / 5 / 9, rel=1e-6)
    assert back.reference == pytest.approx((1 + 0.5 + 2.5 + 4.5 + 6.5) / 5 / 9, rel=1e-6)


def test_neighbour_ratio_by_hand(number_line):
    """Numbers are ranks in the pool: 2.5 is 0.5 from 2 and 1.5 from 4; 6 is 0 from 6, 2 from 4."""
    found = neighbour_ratio(number_line(2.5, 6.0))
    assert found.value == pytest.approx((0.5 / 1.5 + 0) / 2, rel=1e-5)
    assert found.reference == pytest.approx((0.5 / 1.5 + 1) / 2, rel=1e-5)


def test_two_equal_neighbours_have_ratio_one():
    train = pl.DataFrame({"a": ["x"] * 30 + ["y"] * 30, "b": ["u", "v"] * 30})
    found = neighbour_ratio(compare_tables(train, train, train))
    assert found.value == 1.0
    assert not found.flagged


@pytest.mark.parametrize(
    ("threshold", "share", "fresh"), [(0.01, 1 / 3, 0), (0.06, 1, 1 / 3), (0.2, 1, 1)]
)
def test_too_close_by_hand(number_line, threshold, share, fresh):
    """0, 2.5 and 7.55 on a scale of 9: 0, .056, .05 from training, .111, .056, .061 else."""
    found = too_close(number_line(0.0, 2.5, 7.55), threshold=threshold)
    assert found.value == pytest.approx(share)
    assert found.reference == pytest.approx(fresh)


def test_too_close_scales_by_the_number_of_columns():
    rng = np.random.default_rng(0)
    made = {f"x{i}": rng.random(50) for i in range(4)}
    ends = {name: [0.0, 1.0] for name in made}
    train = pl.DataFrame(made).vstack(pl.DataFrame(ends))
    holdout = train.with_columns(pl.all().reverse())
    moved = train.with_columns(pl.all() + 0.02)
    assert too_close(compare_tables(train, moved, holdout), threshold=0.021).value == 1
    assert too_close(compare_tables(train, moved, holdout), threshold=0.002).value < 0.1


def test_too_close_histogram():
    train, synthetic, holdout = (people(300, seed) for seed in (1, 2, 3))
    table = too_close(compare_tables(train, synthetic, holdout)).tables["histogram:distance"]
    assert table.columns == ("distance", "training", "holdout")
    assert 10 <= len(table.rows) <= 40
    for column in (1, 2):
        assert sum(row[column] for row in table.rows) == pytest.approx(1, abs=0.1)
        assert all(round(row[column] * 300, 2) % 5 == 0 for row in table.rows)


@pytest.fixture(scope="module")
def persons():
    sex = pl.col("sex").replace_strict({1: "female", 2: "male"})
    real = patients().with_columns(sex).sample(fraction=1, shuffle=True, seed=3)
    train, holdout = real[:221], real[221:]
    return train, train.sample(221, with_replacement=True, seed=4), holdout


def hittmeir(persons) -> list[np.ndarray]:
    """Label encoding, standard scaling over all real rows; numbers as they are."""
    train, synthetic, holdout = persons
    pool = train.vstack(holdout)
    columns = {"train": [], "synthetic": [], "holdout": []}
    for name in train.columns:
        encoder = LabelEncoder().fit(pool[name]) if pool[name].dtype == pl.String else None
        for table, frame in zip(columns, (train, synthetic, holdout), strict=True):
            values = frame[name].to_numpy()
            columns[table].append(encoder.transform(values) if encoder else values)
    points = {table: np.column_stack(made).astype(float) for table, made in columns.items()}
    scaler = StandardScaler().fit(np.concatenate([points["train"], points["holdout"]]))
    return [scaler.transform(points[table]) for table in ("train", "synthetic", "holdout")]


def nearest(queries: np.ndarray, reference: np.ndarray) -> np.ndarray:
    return NearestNeighbors(n_neighbors=1).fit(reference).kneighbors(queries)[0][:, 0]


def test_mean_minimal_distance_as_hittmeir(persons):
    train, synthetic, holdout = hittmeir(persons)
    copied = mean_minimal_distance(compare_tables(*persons))
    assert copied.value == pytest.approx(nearest(synthetic, train).mean(), abs=1e-5) == 0
    assert copied.reference == pytest.approx(nearest(synthetic, holdout).mean(), rel=1e-5)
    assert copied.flagged
    moved = persons[1].with_columns(pl.col("bmi") + 0.7, pl.col("s5") * 1.01)
    again = (persons[0], moved, persons[2])
    train, synthetic, holdout = hittmeir(again)
    found = mean_minimal_distance(compare_tables(*again))
    assert found.value == pytest.approx(nearest(synthetic, train).mean(), rel=1e-5)
    assert found.reference == pytest.approx(nearest(synthetic, holdout).mean(), rel=1e-5)


def test_the_direction_of_the_thesis(persons):
    """From each real record to the nearest synthetic one, scaled to [0, 1]."""
    train, synthetic, holdout = hittmeir(persons)
    pool = np.concatenate([train, holdout])
    low, span = pool.min(axis=0), np.ptp(pool, axis=0) * np.sqrt(pool.shape[1])
    unit = [(points - low) / span for points in (train, synthetic, holdout)]
    back = mean_minimal_distance(compare_tables(*persons)).parts[0]
    assert back.value == pytest.approx(nearest(unit[0], unit[1]).mean(), rel=1e-4)
    assert back.reference == pytest.approx(nearest(unit[2], unit[1]).mean(), rel=1e-4)


@pytest.mark.parametrize("measure", [mean_minimal_distance, too_close])
def test_missing_values_are_one_point_in_all_tables(measure):
    """A copy with missing values is at distance 0, whatever the means of the single tables."""
    train = pl.DataFrame({"x": [1.0, 2.5, None, 4.5], "y": [0.5, None, 1.5, 3.5]})
    holdout = pl.DataFrame({"x": [90.5, 80.0, 70.5, 60.5], "y": [7.5, None, 8.5, 9.5]})
    synthetic = train[[1, 2, 2]]
    found = measure(compare_tables(train, synthetic, holdout))
    assert found.value == (0 if measure is mean_minimal_distance else 1)


def test_levels_that_are_numbers_keep_their_order():
    """10 is farther from 1 than 2 is, though not in the alphabet; and of the 20 nearest rows
    all are holdout rows, which does not hide how far training is.
    """
    months = np.repeat(np.arange(1, 13), 40)
    train = pl.DataFrame({"month": np.random.default_rng(0).permutation(months)})
    holdout = train.sample(fraction=1, shuffle=True, seed=1)
    january = pl.DataFrame({"month": [1, 1]})
    comparison = compare_tables(train.filter(pl.col("month") != 1), january, holdout)
    found = mean_minimal_distance(comparison)
    pool = train.filter(pl.col("month") != 1).vstack(holdout)["month"]
    assert found.value == pytest.approx(1 / pool.std(ddof=0), rel=1e-5)


@pytest.mark.parametrize("measure", [neighbour_ratio, mean_minimal_distance, too_close])
def test_unequal_sizes_compare_with_swapped_labels(measure):
    train, synthetic, holdout = people(600, 1), people(400, 2), people(300, 3)
    found = measure(compare_tables(train, synthetic, holdout))
    assert not found.flagged
    assert "differ in size" in found.note
    low, high = found.interval
    assert low <= found.reference <= high
