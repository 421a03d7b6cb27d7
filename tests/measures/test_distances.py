"""Distances between histograms: hand-worked cases, bounds, and a published table."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.datasets import dataset
from understudy.measures.fidelity import distances as d

P, Q = np.array([2.0, 2.0, 0.0]), np.array([1.0, 2.0, 1.0])

histograms = st.integers(1, 30).flatmap(
    lambda k: st.tuples(
        *[
            st.lists(st.integers(0, 1000), min_size=k, max_size=k)
            .filter(any)
            .map(lambda counts: np.array(counts, float))
        ]
        * 2
    )
)


def test_by_hand():
    assert d.total_variation(P, Q) == pytest.approx(0.25)
    overlap = math.sqrt(0.5 * 0.25) + math.sqrt(0.5 * 0.5)
    assert d.hellinger(P, Q) == pytest.approx(math.sqrt(1 - overlap))
    assert d.largest_difference(P, Q) == pytest.approx(0.25)
    assert d.entropy(P) == 1.0
    p, q = np.array([2.5, 2.5, 0.5]) / 5.5, np.array([1.5, 2.5, 1.5]) / 5.5
    assert d.relative_entropy(P, Q) == pytest.approx(float((p * np.log2(p / q)).sum()))
    assert d.cross_entropy(P, Q) == pytest.approx(float(-(p * np.log2(q)).sum()))
    middle = np.array([0.375, 0.5, 0.125])
    js = -(middle * np.log2(middle)).sum() - (1.0 + 1.5) / 2
    assert d.jensen_shannon(P, Q) == pytest.approx(js)


@given(histograms)
def test_bounds_and_symmetry(pair):
    p, q = pair
    tv, h = d.total_variation(p, q), d.hellinger(p, q)
    assert 0 <= tv <= 1 + 1e-12
    assert h * h <= tv + 1e-9 <= math.sqrt(2) * h + 2e-9
    assert d.largest_difference(p, q) <= tv + 1e-12
    assert 0 <= d.jensen_shannon(p, q) <= 1 + 1e-9
    assert d.relative_entropy(p, q) >= 0
    for symmetric in (d.total_variation, d.hellinger, d.jensen_shannon, d.largest_difference):
        assert symmetric(p, q) == pytest.approx(symmetric(q, p), abs=1e-12)
    for distance in (d.total_variation, d.hellinger, d.relative_entropy, d.jensen_shannon):
        assert distance(p, p) == pytest.approx(0, abs=1e-9)


@given(histograms)
def test_relative_entropy_is_cross_entropy_less_entropy(pair):
    p, q = pair
    parts = d.cross_entropy(p, q) - d.entropy(p, q)
    assert d.relative_entropy(p, q) == pytest.approx(max(0, parts), abs=1e-12)


PUBLISHED = {
    "Pregnancies": 3.167, "Glucose": 2.817, "BloodPressure": 2.362, "SkinThickness": 2.341,
    "Insulin": 2.922, "BMI": 2.754, "DiabetesPedigreeFunction": 3.155, "Age": 3.221,
    "Outcome": 0.9331,
}  # fmt: skip


def test_entropies_of_the_thesis_table_4_1_6(real_data):
    """Zeros imputed from 17 neighbours, Yeo-Johnson, ten equal bins; printed digits truncated."""
    from sklearn.impute import KNNImputer
    from sklearn.preprocessing import MinMaxScaler, PowerTransformer

    table = pl.read_csv(real_data("pima_indians_diabetes")).to_pandas().astype(float)
    absent = ["Glucose", "BloodPressure", "SkinThickness", "Insulin", "BMI"]
    table[absent] = table[absent].replace(0, np.nan)
    filled = KNNImputer(n_neighbors=17).fit_transform(MinMaxScaler().fit_transform(table))
    scaled = MinMaxScaler().fit_transform(PowerTransformer("yeo-johnson").fit_transform(filled))
    for position, (name, printed) in enumerate(PUBLISHED.items()):
        counts, _ = np.histogram(scaled[:, position], bins=10, range=(0, 1))
        digits = 4 if name == "Outcome" else 3
        assert math.floor(d.entropy(counts.astype(float)) * 10**digits) / 10**digits == printed


def test_the_data_set_is_the_published_one():
    assert dataset("pima_indians_diabetes").rows == 768
