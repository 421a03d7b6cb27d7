"""Normalised relative entropy, against sums by hand and the bias that theory gives."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from people import people
from understudy.judging.comparison import compare_tables
from understudy.measures.fidelity.columns import divergence, normalized_kl, relative_entropy


def levels(**times: int) -> pl.DataFrame:
    return pl.DataFrame({"level": [name for name, n in times.items() for _ in range(n)]})


def test_by_hand():
    """20 and 10 against 10 and 20, half a count more each: p = 20.5/31; KL = (2p - 1) ln(p/q)."""
    found = normalized_kl(compare_tables(levels(a=20, b=10), levels(a=10, b=20)), resamples=2)
    p = 20.5 / 31
    kl = (2 * p - 1) * math.log(p / (1 - p))
    assert found.value == pytest.approx(1 / (1 + kl))
    assert found.parts[0].more["nats"] == pytest.approx(kl)
    assert found.baselines["chance"] == pytest.approx(1 / (1 + 0.5 * (1 / 30 + 1 / 30)))


def test_direction_is_from_training_to_synthetic_as_scipy_sums_it():
    p, q = np.array([50.0, 30, 0, 1]), np.array([20.0, 30, 9, 0])
    expected = stats.entropy(p + 0.5, q + 0.5)
    assert divergence(p, q) == pytest.approx(expected)
    assert divergence(q, p) != pytest.approx(expected, rel=0.01)


def test_it_is_the_relative_entropy_in_another_unit():
    comparison = compare_tables(people(300, 1), people(300, 2), people(300, 3))
    bits = {p.name: p.value for p in relative_entropy(comparison, resamples=2).parts}
    for part in normalized_kl(comparison, resamples=2).parts:
        assert part.value == pytest.approx(1 / (1 + math.log(2) * bits[part.name]))


def test_a_copy_has_one_and_disjoint_levels_are_near_none():
    train = levels(a=500, b=500)
    assert normalized_kl(compare_tables(train, train), resamples=2).value == 1
    other = levels(c=700, d=300)
    assert normalized_kl(compare_tables(train, other), resamples=2).value < 0.15


def test_chance_is_half_the_noise_a_cell():
    """Mean KL of fresh samples: (K - 1)/2 · (1/n + 1/m)."""
    rng = np.random.default_rng(1)
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    found = [
        divergence(rng.multinomial(400, shares) + 0.0, rng.multinomial(900, shares) + 0.0)
        for _ in range(4000)
    ]
    assert np.mean(found) == pytest.approx(4 / 2 * (1 / 400 + 1 / 900), rel=0.05)


@pytest.mark.slow
def test_the_reference_is_what_fresh_rows_of_that_size_get():
    values, references, chances = [], [], []
    for seed in range(20):
        tables = [
            people(n, 3 * seed + i).select("sex", "children", "age", "smoker")
            for i, n in enumerate((300, 900, 300))
        ]
        found = normalized_kl(compare_tables(*tables), resamples=2)
        values.append(1 - found.value)
        references.append(1 - found.reference)
        chances.append(1 - found.baselines["chance"])
    assert np.mean(values) == pytest.approx(np.mean(references), rel=0.25)
    assert np.mean(values) == pytest.approx(np.mean(chances), rel=0.15)


def test_constant_and_empty_columns_count_as_equal():
    table = pl.DataFrame({"k": ["x"] * 30, "gone": pl.Series([None] * 30, dtype=pl.String)})
    assert normalized_kl(compare_tables(table, table), resamples=2).value == 1
