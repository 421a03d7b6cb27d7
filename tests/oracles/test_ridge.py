"""Ridge regression against rows left out one by one, and logits against their equations."""

import numpy as np
import pytest

from understudy.kernels.boosting import boost_numbers
from understudy.kernels.ridge import CAUTION, STRENGTHS, Axes, add_up, logit, ridge, softmax


def table(seed: int = 0, rows: int = 60, columns: int = 5):
    rng = np.random.default_rng(seed)
    predictors = rng.normal(size=(rows, columns)) * [3, 1, 1, 0.2, 1] + 2
    return predictors, predictors @ [1, 0, -1, 0, 0.5] + rng.normal(size=rows), rng


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_of_a_row_is_what_a_fit_without_it_leaves(seed):
    predictors, target, _ = table(seed)
    found = ridge(Axes.of(predictors), target[:, None])
    assert found.strength in STRENGTHS
    centre = predictors.mean(axis=0)
    for row in range(0, 60, 13):
        others = np.arange(60) != row
        x = np.column_stack([np.ones(60), predictors - centre])
        gram = x[others].T @ x[others] + np.diag([0.0] + [found.strength] * 5)
        alone = np.linalg.solve(gram, x[others].T @ target[others])
        assert target[row] - x[row] @ alone == pytest.approx(found.left_out[row, 0], rel=1e-6)


def test_coefficients_are_those_of_the_predictors_as_they_are():
    predictors, target, _ = table()
    axes = Axes.of(predictors)
    found = ridge(axes, target[:, None])
    slopes, level = axes.back(found.along, found.level)
    expected = axes.rows @ found.along + found.level
    np.testing.assert_allclose(predictors @ slopes + level, expected, atol=1e-9)


def test_columns_that_say_the_same_or_nothing_do_no_harm():
    predictors, target, _ = table()
    doubled = np.column_stack([predictors, predictors[:, 0], np.zeros(60)])
    found = ridge(Axes.of(doubled), target[:, None])
    assert np.isfinite(found.left_out).all()
    nothing = ridge(Axes.of(np.zeros((60, 3))), target[:, None])
    assert nothing.along.shape == (0, 1)


@pytest.mark.parametrize("many", [2, 3, 6])
def test_a_logit_solves_its_equations(many):
    predictors, target, rng = table(many, rows=200)
    cuts = np.quantile(target, np.arange(1, many) / many)
    classes = np.searchsorted(cuts, target + rng.normal(size=200))
    axes = Axes.of(predictors)
    along, level, left_out = logit(axes, classes, many)
    marks = (classes[:, None] == np.arange(many)).astype(float)
    off = marks - softmax(axes.rows @ along + level)
    spread = marks.mean(axis=0) * (1 - marks.mean(axis=0))
    strength = ridge(axes, marks, 1 / spread).strength * spread.mean() * CAUTION
    slope = axes.rows.T @ off - strength * along
    assert np.abs(slope / np.sqrt(axes.squares)[:, None]).max() < 0.2
    assert np.abs(off.mean(axis=0)).max() < 0.01
    np.testing.assert_allclose(left_out.sum(axis=1), 1)
    own = np.arange(200), classes
    inside = softmax(axes.rows @ along + level)[own]
    assert np.log(left_out[own]).mean() < np.log(inside).mean()


def test_sums_are_looked_up():
    codes = np.asfortranarray(np.array([[0, 2], [1, 0]], np.uint16))
    values = np.arange(10.0).reshape(5, 2)
    made = add_up(codes, np.array([0, 1]), np.array([0, 2]), values, np.array([0.5, 0.0]))
    np.testing.assert_array_equal(made, [[0 + 8 + 0.5, 1 + 9], [2 + 4 + 0.5, 3 + 5]])


def test_numbers_are_boosted_by_least_squares():
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(rng.integers(0, 20, (600, 3)).astype(np.uint16))
    target = np.where(codes[:, 0] > 9, 1.0, -1.0) * np.where(codes[:, 1] > 9, 1.0, -1.0)
    rows = np.arange(600)
    made, squares = boost_numbers(
        codes, np.full(3, 20), target, rows[:400], rows[400:], rounds=60, seed=1
    )
    left = target[400:] - made.log_odds(codes[400:])
    assert squares[0] == pytest.approx((target[400:] ** 2).sum())
    assert squares[-1] == pytest.approx((left**2).sum(), rel=1e-4)
    assert squares[-1] < 0.3 * squares[0]
