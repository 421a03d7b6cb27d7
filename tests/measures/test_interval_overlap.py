"""Overlap of the intervals of means and shares, against hand-worked tables."""

import json
import math

import numpy as np
import polars as pl
import pytest

import understudy as us
from intervals import overlap
from people import people
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding, Z
from understudy.measures.fidelity.interval_overlap import interval_overlap

NAME = "fidelity.interval_overlap"


def find(*tables: pl.DataFrame, **options) -> Finding:
    return interval_overlap(compare_tables(*tables), **{"resamples": 20, **options})


def ends(centre: float, error: float) -> tuple[float, float]:
    return centre - Z * error, centre + Z * error


def test_a_mean_has_its_standard_error_and_not_its_deviation():
    rng = np.random.default_rng(1)
    a, b = rng.normal(10, 2, 400), rng.normal(10.2, 3, 900)
    found = find(pl.DataFrame({"x": a}), pl.DataFrame({"x": b}))
    intervals = [ends(x.mean(), x.std(ddof=1) / math.sqrt(len(x))) for x in (a, b)]
    assert found.value == pytest.approx(overlap(*intervals))
    assert found.parts[0].value == pytest.approx(found.value, abs=0.011)
    width = (b.std(ddof=1) / 30) / (a.std(ddof=1) / 20)
    assert found.parts[0].more["width_ratio"] == pytest.approx(width, abs=0.006)
    apart = (b.mean() - a.mean()) / (a.std(ddof=1) / 20)
    assert found.parts[0].more["difference"] == pytest.approx(abs(apart), abs=0.06)
    assert found.tables["estimates"].rows[0][:2] == ("x", "mean")


def test_shares_of_levels_by_hand():
    """Training 50 of 100 a, synthetic 60 of 100; c has 4 records and is not looked at."""
    train = pl.DataFrame({"g": ["a"] * 50 + ["b"] * 46 + ["c"] * 4})
    made = pl.DataFrame({"g": ["a"] * 60 + ["b"] * 40})
    found = find(train, made)

    def share(p: float) -> tuple[float, float]:
        return ends(p, math.sqrt(p * (1 - p) / 100))

    expected = (overlap(share(0.5), share(0.6)) + overlap(share(0.46), share(0.4))) / 2
    assert found.value == pytest.approx(expected)
    assert [row[1] for row in found.tables["estimates"].rows] == ["share of a", "share of b"]
    assert "c" not in {row[1][-1] for row in found.tables["estimates"].rows}


def test_the_share_missing_is_an_estimate():
    train = pl.DataFrame({"g": ["a"] * 40 + ["b"] * 40 + [None] * 20})
    found = find(train, train.with_columns(pl.col("g").fill_null("a")))
    rows = {row[1]: row[2] for row in found.tables["estimates"].rows}
    assert rows["share missing"] == 0
    assert rows["share of b"] == 1
    few = pl.DataFrame({"g": ["a"] * 50 + ["b"] * 47 + [None] * 3})
    assert len(find(few, few).tables["estimates"].rows) == 2


def test_a_uselessly_wide_interval_shows_beside_it():
    rng = np.random.default_rng(2)
    train = pl.DataFrame({"x": rng.normal(0, 1, 10_000)})
    made = pl.DataFrame({"x": rng.normal(0, 30, 10_000)})
    part = find(train, made).parts[0]
    assert part.value == pytest.approx(0.5, abs=0.03)
    assert part.more["width_ratio"] == pytest.approx(30, rel=0.05)


@pytest.mark.slow
def test_two_samples_of_one_size_get_what_theory_gives():
    """The mean of 1 - |d|/(2 · 1.96 s), d of variance 2 s², is 1 - 1/(1.96 √π) = 0.712."""
    rng = np.random.default_rng(3)
    found = [
        find(*(pl.DataFrame(rng.normal(size=(200, 12))) for _ in range(2)), resamples=2).value
        for _ in range(20)
    ]
    assert np.mean(found) == pytest.approx(1 - 1 / (math.sqrt(math.pi) * Z), abs=0.02)


@pytest.mark.slow
def test_the_reference_is_what_fresh_rows_of_that_size_get():
    rng = np.random.default_rng(4)
    values, references = [], []
    for _ in range(20):
        tables = [pl.DataFrame(rng.normal(size=(n, 12))) for n in (200, 800, 200)]
        found = find(*tables, resamples=2)
        values.append(found.value)
        references.append(found.reference)
    assert np.mean(values) == pytest.approx(np.mean(references), abs=0.03)


def test_one_lost_level_among_many_columns_is_flagged():
    train, made, holdout = (people(400, seed) for seed in (1, 2, 3))
    found = find(train, made.with_columns(town=pl.lit("town 1")), holdout)
    assert found.flagged
    assert found.p_value < 0.001
    assert found.parts[0].name == "town"
    assert found.parts[0].value < 0.3


def test_no_level_in_common():
    found = find(pl.DataFrame({"g": ["a", "b"] * 50}), pl.DataFrame({"g": ["c", "d"] * 50}))
    assert found.value == 0
    assert found.flagged


def test_columns_that_do_not_vary_are_no_merit():
    rng = np.random.default_rng(5)
    x = rng.normal(size=100)
    train = pl.DataFrame({"x": x, "k": ["c"] * 100, "one": [1.0] * 100})
    found = find(train, train.with_columns(x=pl.col("x") + 9))
    assert found.value == 0
    assert [part.name for part in found.parts] == ["x"]
    table = pl.DataFrame({"k": ["c"] * 100})
    assert find(table, table).status == "not_applicable"


def test_an_empty_synthetic_column_overlaps_nowhere():
    rng = np.random.default_rng(6)
    train = pl.DataFrame({"x": rng.normal(size=100)})
    found = find(train, pl.DataFrame({"x": pl.Series([None] * 100, dtype=pl.Float64)}))
    assert found.value == 0
    assert found.parts[0].more["width_ratio"] is None
    assert found.flagged


def test_a_column_that_lost_its_numbers_counts_among_many():
    rng = np.random.default_rng(6)
    train = pl.DataFrame(
        {"x": rng.normal(size=400), **{f"c{i}": rng.normal(size=400) for i in range(9)}}
    )
    lost = train.sample(400, with_replacement=True, seed=1).with_columns(x=pl.lit(None, pl.Float64))
    assert find(train, lost).p_value < 1e-6


@pytest.mark.parametrize("rows", [60, 300])
def test_a_mean_that_few_records_make_is_left_out(rows):
    """The width of its interval would be the outlier over n."""
    rng = np.random.default_rng(7)
    far = 987_654.0
    usual = rng.normal(50, 9, rows)
    train = pl.DataFrame({"wealth": np.append(usual[1:], far), "age": usual + 1})
    made = pl.DataFrame({"wealth": usual, "age": usual})
    found = find(train, made, made)
    assert [part.name for part in found.parts] == ["age"]
    assert "few records make most of the mean: wealth" in found.note
    alone = find(train.select("wealth"), made.select("wealth"))
    assert alone.status == "not_applicable"


@pytest.mark.parametrize("rows", [30, 100, 1000])
def test_who_knows_all_records_but_one_does_not_learn_it(rows):
    """Two values of one record, half a deviation apart, are most often shown alike."""
    rng = np.random.default_rng(rows)
    alike = 0
    for _ in range(40):
        usual = rng.normal(size=rows)
        made = pl.DataFrame({"x": rng.normal(size=rows)})
        told = []
        for last in (0.0, 0.25):
            train = pl.DataFrame({"x": np.append(usual[1:], last)})
            found = find(train, made, resamples=2)
            told.append(json.dumps([part.to_dict() for part in found.parts]))
        alike += told[0] == told[1]
    assert alike >= 20


def test_by_level_of_a_column():
    result = us.assess(people(300, 1), people(300, 2), measures=[NAME], by="sex")
    assert {"sex = f", "sex = m"} <= {part.name for part in result[NAME].parts}
