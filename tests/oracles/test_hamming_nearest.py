"""The kernel of nearest records against every pair, row by row."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.kernels.neighbors import TILE, hamming_nearest


def oracle(queries: NDArray[Any], reference: NDArray[Any]) -> tuple[list[int], list[int]]:
    distances, counts = [], []
    for query in queries:
        best, ties = queries.shape[1] + 1, 0
        for row in reference:
            differing = sum(int(a) != int(b) for a, b in zip(query, row, strict=True))
            if differing < best:
                best, ties = differing, 1
            elif differing == best:
                ties += 1
        distances.append(best)
        counts.append(ties)
    return distances, counts


def check(queries: NDArray[Any], reference: NDArray[Any]) -> None:
    before = queries.copy(), reference.copy()
    distance, count = hamming_nearest(queries, reference)
    assert distance.dtype == np.int32
    assert count.dtype == np.int64
    assert (distance.tolist(), count.tolist()) == oracle(queries, reference)
    assert np.array_equal(queries, before[0])
    assert np.array_equal(reference, before[1])


@given(
    m=st.integers(0, 8),
    n=st.integers(0, 8),
    columns=st.integers(1, 6),
    codes=st.integers(1, 4),
    types=st.tuples(st.sampled_from([np.uint8, np.uint16]), st.sampled_from([np.uint8, np.uint16])),
    order=st.sampled_from("CF"),
    seed=st.integers(0, 99),
)
@settings(max_examples=200)
def test_random_rows(
    m: int, n: int, columns: int, codes: int, types: Any, order: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    queries = np.asarray(rng.integers(0, codes, (m, columns)), types[0], order=order)
    reference = np.asarray(rng.integers(0, codes, (n, columns)), types[1], order=order)
    check(queries, reference)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize(
    ("queries", "reference"),
    [
        pytest.param(np.full((3, 4), 7), np.full((5, 4), 7), id="all equal"),
        pytest.param(np.zeros((3, 4)), np.zeros((5, 4)), id="all missing"),
        pytest.param(np.zeros((3, 4)), np.full((5, 4), 7), id="missing against present"),
        pytest.param(np.ones((1, 4)), np.ones((1, 4)), id="one row each"),
        pytest.param(np.ones((3, 4)), np.ones((0, 4)), id="no reference rows"),
        pytest.param(np.ones((0, 4)), np.ones((3, 4)), id="no queries"),
        pytest.param(np.ones((3, 1)), np.zeros((2, 1)), id="one column"),
        pytest.param(np.ones((2, 300)), np.zeros((3, 300)), id="300 columns, all differ"),
    ],
)
def test_degenerate_rows(queries: Any, reference: Any, dtype: Any) -> None:
    check(queries.astype(dtype), reference.astype(dtype))


def test_no_reference_rows_are_further_than_any() -> None:
    distance, count = hamming_nearest(np.ones((2, 4), np.uint8), np.ones((0, 4), np.uint8))
    assert distance.tolist() == [5, 5]
    assert count.tolist() == [0, 0]


def test_more_columns_than_a_byte_can_count() -> None:
    rng = np.random.default_rng(0)
    check(rng.integers(0, 3, (4, 300)).astype(np.uint8), rng.integers(0, 3, (6, 300), np.uint8))


def test_codes_beyond_a_byte() -> None:
    queries = np.array([[1, 257], [65535, 0]], np.uint16)
    check(queries, np.array([[1, 1], [257, 257], [65535, 0], [255, 256]], np.uint16))
    check(queries, np.array([[1, 1], [255, 0]], np.uint8))


@pytest.mark.parametrize("n", [TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
def test_ends_of_tiles(n: int) -> None:
    rng = np.random.default_rng(n)
    queries = rng.integers(0, 3, (5, 4)).astype(np.uint8)
    reference = rng.integers(0, 3, (n, 4)).astype(np.uint8)
    distance, count = hamming_nearest(queries, reference)
    differing = (queries[:, None] != reference[None]).sum(axis=2)
    assert distance.tolist() == differing.min(axis=1).tolist()
    assert count.tolist() == (differing == differing.min(axis=1)[:, None]).sum(axis=1).tolist()


def test_a_single_thread_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    queries, reference = (rng.integers(0, 4, (n, 5)).astype(np.uint8) for n in (37, 50))
    many = hamming_nearest(queries, reference)
    for threads in (1, 3, 64, None):
        monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
        again = hamming_nearest(queries, reference)
        assert np.array_equal(many[0], again[0])
        assert np.array_equal(many[1], again[1])
