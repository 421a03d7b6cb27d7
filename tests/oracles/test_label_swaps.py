"""Swapped labels, 64 to a word, against loops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.kernels.labels import first_labelled, packed, tie_shares


@given(swaps=st.integers(1, 200), rows=st.integers(0, 12), seed=st.integers(0, 999))
def test_packed(swaps: int, rows: int, seed: int) -> None:
    labels = np.random.default_rng(seed).random((swaps, rows)) < 0.5
    words = packed(labels)
    assert words.shape == (rows, -(-swaps // 64))
    for swap in range(swaps):
        bits = (words[:, swap // 64] >> np.uint64(swap % 64)) & np.uint64(1)
        np.testing.assert_array_equal(bits.astype(bool), labels[swap])


def slow_share(indices: NDArray[Any], sizes: NDArray[Any], label: NDArray[np.bool_]) -> float:
    total = 0.0
    for row, size in zip(indices, sizes, strict=True):
        here = [bool(label[i]) for i in row[:size]]
        total += 1.0 if all(here) else 0.5 if any(here) else 0.0
    return total / len(indices)


@given(
    queries=st.integers(1, 30),
    rows=st.integers(1, 20),
    cap=st.integers(1, 6),
    swaps=st.sampled_from([1, 63, 64, 65, 130]),
    seed=st.integers(0, 999),
)
def test_tie_shares(queries: int, rows: int, cap: int, swaps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, min(cap, rows) + 1, queries)
    indices = np.full((queries, cap), -1, np.int32)
    for i, size in enumerate(sizes):
        indices[i, :size] = rng.choice(rows, size, replace=False)
    labels = rng.random((swaps, rows)) < rng.random()
    found = tie_shares(indices, sizes, packed(labels), swaps)
    assert found.tolist() == [slow_share(indices, sizes, label) for label in labels]


@pytest.mark.parametrize(("label", "share"), [(True, 1.0), (False, 0.0)])
def test_all_rows_of_one_label(label: bool, share: float) -> None:
    labels = np.full((3, 4), label)
    indices = np.array([[0, 1], [3, -1]], np.int32)
    assert tie_shares(indices, np.array([2, 1]), packed(labels), 3).tolist() == [share] * 3


@given(
    queries=st.integers(0, 10),
    rows=st.integers(1, 12),
    wanted=st.integers(1, 3),
    seed=st.integers(0, 999),
)
def test_first_labelled(queries: int, rows: int, wanted: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    indices = np.array([rng.permutation(rows) for _ in range(queries)], np.int64)
    indices = np.column_stack([indices.reshape(queries, rows), np.full(queries, -1)])
    labels = rng.random(rows) < 0.4
    found = first_labelled(indices, labels, wanted)
    for row, places in zip(indices, found, strict=True):
        here = [place for place, i in enumerate(row) if i >= 0 and labels[i]][:wanted]
        assert places.tolist() == here + [rows] * (wanted - len(here))
