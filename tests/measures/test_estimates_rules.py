"""Combining rules and intervals against hand-worked numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t

from intervals import overlap
from understudy.judging.findings import Z
from understudy.measures.overlap import (
    Intervals,
    overlaps,
    same_sign,
    same_significance,
    standardised,
    width_ratios,
)
from understudy.measures.utility.estimates.rules import RULES

# five tables, one coefficient: mean 10, between variance 2.5, within variance 4
Q = np.array([[8.0], [9.0], [10.0], [11.0], [12.0]])
V = np.array([[3.0], [3.5], [4.0], [4.5], [5.0]])


@pytest.mark.parametrize(
    ("rule", "k", "variance", "freedom"),
    [
        pytest.param("naive", 100, 4.0, math.inf, id="v"),
        pytest.param("simple", 100, 4.8, math.inf, id="4 (1 + 1/5)"),
        pytest.param("simple", 50, 2.8, math.inf, id="4 (1/2 + 1/5)"),
        pytest.param("proper", 100, 5.6, math.inf, id="4 (1 + 2/5)"),
        pytest.param("proper", 50, 3.2, math.inf, id="4 (1/2 + 1.5/5)"),
        pytest.param("partially", 100, 4.5, 324.0, id="4 + 2.5/5; 4 (1 + 4/0.5)^2"),
        pytest.param("fully", 100, 4.0, math.inf, id="1.2 * 2.5 - 4 = -1: v"),
        pytest.param("fully", 50, 2.0, math.inf, id="negative, half the rows: v/2"),
    ],
)
def test_rules_by_hand(rule: str, k: int, variance: float, freedom: float) -> None:
    found = RULES[rule](Q, V, k, 100)
    assert found.estimate[0] == 10
    assert found.variance[0] == pytest.approx(variance)
    assert found.freedom[0] == pytest.approx(freedom)
    assert found.negative[0] == (rule == "fully")


def test_fully_synthetic_by_hand_where_the_variance_is_above_zero() -> None:
    found = RULES["fully"](Q, V / 4, 100, 100)
    assert found.variance[0] == pytest.approx(2.0)  # 1.2 * 2.5 - 1
    assert found.freedom[0] == pytest.approx(4 * (1 - 1 / 3) ** 2)
    assert not found.negative[0]


def test_the_printed_form_of_freedom_is_smaller() -> None:
    """Dandekar et al. print v/b where Reiter has v/(b/m)."""
    printed = RULES["partially"](Q, V, 100, 100, printed=True)
    assert printed.freedom[0] == pytest.approx(4 * (1 + 4 / 2.5) ** 2)  # 27.04
    assert printed.variance[0] == pytest.approx(4.5)
    wider = t.ppf(0.975, printed.freedom[0]) / t.ppf(0.975, 324)
    assert 1.03 < wider < 1.05


def test_one_table_by_hand() -> None:
    one, variance = Q[:1], V[2:3]
    assert RULES["simple"](one, variance, 100, 100).variance[0] == pytest.approx(8)
    assert RULES["proper"](one, variance, 100, 100).variance[0] == pytest.approx(12)
    assert RULES["naive"](one, variance, 100, 100).variance[0] == pytest.approx(4)


def test_equal_estimates_have_no_spread_between_them() -> None:
    same = np.full((3, 1), 7.0)
    found = RULES["partially"](same, np.full((3, 1), 4.0), 10, 10)
    assert (found.variance[0], found.freedom[0]) == (4, math.inf)
    found = RULES["fully"](same, np.full((3, 1), 4.0), 10, 10)
    assert (found.variance[0], found.negative[0]) == (4, True)


def test_a_coefficient_that_one_table_cannot_tell_is_not_told() -> None:
    q = np.array([[1.0, np.nan], [1.2, 3.0]])
    for rule in RULES.values():
        found = rule(q, np.ones((2, 2)), 10, 10)
        assert np.isfinite(found.estimate[0])
        assert np.isnan(found.estimate[1])


def test_intervals_by_hand() -> None:
    made = Intervals.of(np.array([1.0, 1.0]), np.array([2.0, 2.0]), np.array([math.inf, 4.0]))
    np.testing.assert_allclose(made.half, [2 * Z, 2 * 2.776445], rtol=1e-6)
    assert not made.significant.any()


REACH = st.floats(-50, 50, width=32)
WIDTH = st.just(0.0) | st.floats(0.125, 20, width=32)
NUMBERS = st.tuples(
    arrays(float, 4, elements=REACH),
    arrays(float, 4, elements=WIDTH),
    arrays(float, 4, elements=REACH),
    arrays(float, 4, elements=WIDTH),
)


@given(NUMBERS)
def test_overlaps_are_those_of_single_pairs(numbers: tuple[np.ndarray, ...]) -> None:
    here = Intervals.normal(numbers[0], numbers[1])
    there = Intervals.normal(numbers[2], numbers[3])
    pairs = list(zip(here.low, here.high, there.low, there.high, strict=True))
    expected = [overlap((a, b), (c, d)) for a, b, c, d in pairs]
    np.testing.assert_allclose(overlaps(here, there), expected, atol=1e-9)
    wide = numbers[1] > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = numbers[3] / numbers[1], (numbers[2] - numbers[0]) / numbers[1]
    ratios, apart = width_ratios(here, there), standardised(here, there)
    np.testing.assert_allclose(ratios[wide], wanted[0][wide])
    np.testing.assert_allclose(apart[wide], wanted[1][wide])


def test_agreement_in_sign_and_significance() -> None:
    halves = np.array([0.5, 0.5, 2.0, 0.5])
    real = Intervals(np.ones(4), np.ones(4), halves, 2 * halves)
    halves = np.array([0.5, 0.5, 2.0, np.nan])
    other = Intervals(np.array([2.0, -2.0, -0.1, np.nan]), np.ones(4), halves, 2 * halves)
    assert same_sign(real, other).tolist() == [True, False, False, False]
    assert same_significance(real, other).tolist() == [True, True, True, False]
    assert overlaps(real, other)[3] == 0
