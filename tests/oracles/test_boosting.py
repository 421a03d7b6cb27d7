"""Boosted odds against a slow first tree, and on targets with nothing to learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels.boosting import DEPTH, NODES, boost


def table(seed: int, rows: int):
    rng = np.random.default_rng(seed)
    sizes = np.array([5, 40, 3, 9])
    codes = np.asfortranarray(rng.integers(0, sizes, (rows, 4)).astype(np.uint16))
    odds = 0.8 * codes[:, 0] + 0.1 * codes[:, 1] - 0.1 * codes[:, 2] * codes[:, 3] - 2.5
    return codes, sizes, rng.random(rows) < 1 / (1 + np.exp(-odds))


def loss(target, odds) -> float:
    return float(np.logaddexp(0, np.where(target, -odds, odds)).mean())


def slow_tree(codes, target, rows, start, min_leaf, ridge, rate):
    """Give the log-odds after one tree that tries every cut of every predictor at each node."""
    p = 1 / (1 + np.exp(-start))
    gradient, curve = target - p, np.full(len(target), p * (1 - p))
    odds = np.full(len(codes), start)

    def score(inside):
        return gradient[inside].sum() ** 2 / (curve[inside].sum() + ridge)

    def go(used, falls, depth):
        best, chosen = 1e-9, None
        if depth < DEPTH and len(used) >= 2 * min_leaf:
            for j in range(codes.shape[1]):
                for cut in np.unique(codes[used, j])[:-1]:
                    left = codes[used, j] <= cut
                    if min(left.sum(), (~left).sum()) >= min_leaf:
                        gain = score(used[left]) + score(used[~left]) - score(used)
                        if gain > best + 1e-10:
                            best, chosen = gain, (j, cut)
        if chosen is None:
            odds[falls] += rate * gradient[used].sum() / (curve[used].sum() + ridge)
            return
        j, cut = chosen
        for side in (True, False):
            go(
                used[(codes[used, j] <= cut) == side],
                falls[(codes[falls, j] <= cut) == side],
                depth + 1,
            )

    go(rows, np.arange(len(codes)), 0)
    return odds


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("min_leaf", [1, 10, 60])
def test_the_first_tree_is_that_of_a_slow_search(seed, min_leaf):
    codes, sizes, target = table(seed, 300)
    rows = np.arange(200)
    made = boost(
        codes, sizes, target, rows, rows[:0], rounds=1, share=1.0, looks=1.0, min_leaf=min_leaf
    )
    assert made.feature.shape == (1, NODES)
    expected = slow_tree(codes, target, rows, made.start, min_leaf, 5.0, 0.1)
    np.testing.assert_allclose(made.log_odds(codes), expected, atol=1e-6)


@given(st.integers(0, 1000))
def test_the_loss_falls(seed):
    codes, sizes, target = table(seed, 400)
    rows = np.arange(400)
    losses = []
    for rounds in (0, 1, 5, 25, 100):
        made = boost(codes, sizes, target, rows, rows[:0], rounds=rounds, share=1.0, seed=seed)
        losses.append(loss(target, made.log_odds(codes)))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_watched_rows_end_the_search_where_they_are_predicted_best():
    codes, sizes, target = table(0, 4000)
    rows, watched = np.arange(3000), np.arange(3000, 4000)
    made = boost(codes, sizes, target, rows, watched, rounds=600)
    assert 10 < len(made.feature) < 600
    start = loss(target[watched], np.full(1000, made.start))
    assert loss(target[watched], made.log_odds(codes[watched])) < 0.95 * start
    noise = np.random.default_rng(0).random(4000) < 0.3
    assert len(boost(codes, sizes, noise, rows, watched, rounds=600).feature) < 60


@pytest.mark.parametrize("value", [False, True])
def test_a_constant_target(value):
    codes, sizes, _ = table(0, 100)
    target, rows = np.full(100, value), np.arange(100)
    made = boost(codes, sizes, target, rows, rows[:0], rounds=50)
    odds = made.log_odds(codes)
    assert np.isfinite(odds).all()
    assert ((odds > 10) == value).all()


def test_one_row_equal_rows_and_one_predictor():
    codes, sizes, target = table(0, 60)
    one = np.arange(1)
    odds = boost(codes, sizes, target, one, one[:0], rounds=5).log_odds(codes)
    assert np.isfinite(odds).all()
    rows, same = np.arange(60), np.zeros((60, 1), np.uint16, order="F")
    made = boost(same, np.array([1]), target, rows, rows[:0], rounds=20)
    np.testing.assert_allclose(made.log_odds(same), made.start, atol=0.3)
    assert made.log_odds(same[:0]).shape == (0,)


def test_the_seed_decides():
    codes, sizes, target = table(0, 500)
    rows = np.arange(500)

    def made(seed, order=rows):
        return boost(codes, sizes, target, order, rows[:0], rounds=20, seed=seed).log_odds(codes)

    assert (made(1) == made(1)).all()
    assert (made(1) == made(1, rows[::-1].copy())).all()
    assert not (made(1) == made(2)).all()
