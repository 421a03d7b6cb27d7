"""Weighted sums against every pair, one at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels.weights import BLOCK, TILE, weighted_sums


def sparse(table):
    rows, columns = np.nonzero(table)
    begin = np.searchsorted(rows, np.arange(len(table) + 1))
    return begin.astype(np.int64), columns.astype(np.int64), table[rows, columns]


def oracle(queries, points, is_category, table, radius, inverse):
    made = np.zeros((len(queries), table.shape[1]))
    for q, query in enumerate(queries):
        far = []
        for point in points:
            squares = [
                (2.0 if a != b else 0.0) if category else (a - b) ** 2
                for a, b, category in zip(query, point, is_category, strict=True)
            ]
            far.append(math.sqrt(sum(squares)))
        exact = inverse and 0.0 in far
        for distance, amounts in zip(far, table, strict=True):
            if distance > radius or (exact and distance > 0):
                continue
            made[q] += amounts * (1 / distance if inverse and distance > 0 else 1)
    return made


@given(
    rows=st.tuples(st.integers(0, 6), st.integers(0, 30)),
    kinds=st.lists(st.booleans(), min_size=1, max_size=4),
    radius=st.sampled_from([0.0, 1.0, 1.5, math.inf]),
    inverse=st.booleans(),
    seed=st.integers(0, 999),
)
def test_every_pair(rows, kinds, radius, inverse, seed):
    rng = np.random.default_rng(seed)
    is_category = np.array(kinds)
    # halves are exact, so that a point on the circle is on the same side of it in both
    queries, points = (rng.integers(0, 5, (n, len(kinds))) / 2 for n in rows)
    table = rng.integers(0, 3, (rows[1], 3)).astype(float)
    found = weighted_sums(
        queries, points, is_category, sparse(table), 3, radius=radius, inverse=inverse
    )
    wanted = oracle(queries, points, is_category, table, radius, inverse)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("inverse", [True, False])
def test_more_rows_than_a_tile_and_a_block(inverse):
    rng = np.random.default_rng(1)
    queries, points = rng.normal(size=(BLOCK + 3, 2)), rng.normal(size=(TILE + 5, 2))
    points[-1] = queries[-1]
    points[3] = queries[5]
    table = rng.random((len(points), 2))
    is_category = np.zeros(2, bool)
    found = weighted_sums(queries, points, is_category, sparse(table), 2, inverse=inverse)
    chosen = [0, 5, len(queries) - 1]
    wanted = oracle(queries[chosen], points, is_category, table, np.inf, inverse)
    np.testing.assert_allclose(found[chosen], wanted, rtol=1e-12)


def test_scikit_learn_gives_the_same_means():
    from sklearn.neighbors import RadiusNeighborsRegressor

    rng = np.random.default_rng(2)
    points = rng.integers(0, 4, (200, 2)).astype(float)
    queries = np.concatenate([points[:20], rng.normal(size=(20, 2))])
    values = rng.normal(size=200)
    table = np.column_stack([np.ones(200), values])
    sums = weighted_sums(queries, points, np.zeros(2, bool), sparse(table), 2)
    theirs = RadiusNeighborsRegressor(radius=1e9, weights="distance").fit(points, values)
    np.testing.assert_allclose(sums[:, 1] / sums[:, 0], theirs.predict(queries), rtol=1e-10)
