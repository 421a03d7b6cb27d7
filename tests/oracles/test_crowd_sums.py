"""Sums over crowds of equally near rows, against comparing every pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels.neighbors.crowd import crowd_sums


@given(st.integers(0, 300), st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_sums_are_those_of_a_scan(rows, columns, brute, seed):
    rng = np.random.default_rng(seed)
    is_category = rng.random(columns) < 0.5

    def table(height):
        numbers = rng.integers(0, 5, (height, columns)) / 4
        return np.where(is_category, rng.integers(0, 70, numbers.shape), numbers).astype(np.float32)

    queries, reference = table(9), table(rows)
    near = (rng.integers(0, 8, 9) / 4).astype(np.float32)
    far = near + (rng.integers(0, 4, 9) / 4).astype(np.float32)
    dense = rng.integers(0, 3, (rows, 5)).astype(float)
    owner, place = np.nonzero(dense)
    starts = np.searchsorted(owner, np.arange(rows + 1))
    found = crowd_sums(
        queries, reference, is_category, near, far, starts, place, dense[owner, place], 5,
        brute=brute,
    )  # fmt: skip
    apart = np.minimum(np.abs(queries[:, None] - reference[None]), 1).sum(axis=2)
    inside = (apart >= near[:, None]) & (apart <= far[:, None])
    assert found == pytest.approx(inside @ dense)
