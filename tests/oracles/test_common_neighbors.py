"""One record near to both halves, against comparing every pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels.neighbors import mixed_neighbors
from understudy.kernels.neighbors.common import common_neighbors


def table(rng, rows, is_category):
    numbers = rng.integers(0, 5, (rows, len(is_category))) / 4
    numbers[rng.random(numbers.shape) < 0.1] = -1000
    return np.where(is_category, rng.integers(0, 70, numbers.shape), numbers).astype(np.float32)


def slow(queries, reference, in_second, first, second):
    """Give the first row that is near by both sets of columns."""
    made = []
    for query, a, b in zip(queries, first, second, strict=True):
        apart = np.minimum(np.abs(reference - query), 1)
        near = (apart[:, ~in_second].sum(axis=1) <= a + 1e-4) & (
            apart[:, in_second].sum(axis=1) <= b + 1e-4
        )
        made.append(int(np.argmax(near)) if near.any() else -1)
    return made


@given(st.integers(1, 300), st.integers(2, 5), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_record_is_the_one_that_a_scan_finds(rows, columns, brute, seed):
    rng = np.random.default_rng(seed)
    is_category = rng.random(columns) < 0.5
    in_second = np.arange(columns) % 2 == 1
    queries, reference = table(rng, 9, is_category), table(rng, rows, is_category)
    first, second = (
        mixed_neighbors(queries[:, half], reference[:, half], is_category[half], 1)[0][:, 0]
        for half in (~in_second, in_second)
    )
    found = common_neighbors(queries, reference, is_category, in_second, first, second, brute=brute)
    assert found.tolist() == slow(queries, reference, in_second, first, second)


@pytest.mark.parametrize("rows", [0, 1, 200])
def test_rows_that_are_all_equal(rows):
    reference = np.ones((rows, 2), np.float32)
    query = np.array([[1, 1], [1, 0]], np.float32)
    plain, half = np.zeros(2, bool), np.array([False, True])
    zero = np.zeros(2, np.float32)
    found = common_neighbors(query, reference, plain, half, zero, zero)
    assert found.tolist() == ([0, -1] if rows else [-1, -1])
