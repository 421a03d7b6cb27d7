"""Nearest records by a mixed or straight-line distance, against every pair."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.kernels.neighbors import mixed_neighbors
from understudy.kernels.neighbors.mixed import BLOCK, LEAF, SMALL

FAR = np.float32(1000)


def oracle(
    queries: NDArray[Any],
    reference: NDArray[Any],
    k: int,
    euclidean: bool,
    exclude_self: bool = False,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    distance = np.full((len(queries), k), np.inf, np.float32)
    index = np.full((len(queries), k), -1, np.int64)
    for i, query in enumerate(queries.astype(np.float32)):
        far = np.zeros(len(reference), np.float32)
        for j in range(reference.shape[1]):
            apart = np.abs(reference[:, j].astype(np.float32) - query[j])
            far += apart * apart if euclidean else np.minimum(apart, np.float32(1))
        places = [p for p in range(len(reference)) if not (exclude_self and p == i)]
        places = sorted(places, key=lambda p: (far[p], p))[:k]
        distance[i, : len(places)] = far[places]
        index[i, : len(places)] = places
    return (np.sqrt(distance) if euclidean else distance), index


def check(
    queries: NDArray[Any],
    reference: NDArray[Any],
    is_category: NDArray[np.bool_],
    k: int,
    exclude_self: bool = False,
) -> None:
    for euclidean in (False, True):
        expected = oracle(queries, reference, k, euclidean, exclude_self)
        for brute in (True, False, None):
            distance, index = mixed_neighbors(
                queries,
                reference,
                is_category,
                k,
                euclidean=euclidean,
                exclude_self=exclude_self,
                brute=brute,
            )
            np.testing.assert_array_equal(distance, expected[0])
            np.testing.assert_array_equal(index, expected[1])


def rows(
    rng: np.random.Generator, count: int, is_category: NDArray[np.bool_], levels: int, grid: int
) -> NDArray[np.float32]:
    """Numbers on a grid (so that ties are exact), some missing, some words; categories."""
    made = rng.integers(0, grid + 1, (count, len(is_category))) / np.float32(grid)
    made = np.where(rng.random(made.shape) < 0.05, -FAR, made)
    made = np.where(rng.random(made.shape) < 0.02, FAR + 3, made)
    categories = rng.integers(0, levels, made.shape)
    return np.where(is_category, categories, made).astype(np.float32)


@given(
    m=st.integers(0, 6),
    n=st.integers(0, 40),
    kinds=st.lists(st.booleans(), min_size=1, max_size=5),
    k=st.sampled_from([1, 2, 5, 20]),
    grid=st.sampled_from([2, 4, 64]),
    seed=st.integers(0, 999),
)
@settings(max_examples=100)
def test_random_rows(m: int, n: int, kinds: list[bool], k: int, grid: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    is_category = np.array(kinds)
    queries, reference = (rows(rng, count, is_category, 4, grid) for count in (m, n))
    check(queries, reference, is_category, k)


@pytest.mark.parametrize("n", [LEAF - 1, LEAF, LEAF + 1, 300, 1500])
@pytest.mark.parametrize("k", [1, 2, 20])
@pytest.mark.parametrize("levels", [3, 100])
def test_several_blocks(n: int, k: int, levels: int) -> None:
    """Categories of 100 levels share presence bits: a block is then looked into in vain only."""
    rng = np.random.default_rng(n + k)
    is_category = np.array([True, False, True, False, False])
    reference = rows(rng, n, is_category, levels, 16)
    queries = np.concatenate([rows(rng, 10, is_category, levels, 16), reference[:5]])
    check(queries, reference, is_category, k)
    check(reference[:200], reference[:200], is_category, k, exclude_self=True)


@pytest.mark.parametrize("kind", [True, False])
def test_duplicates_go_to_the_smaller_index(kind: bool) -> None:
    rng = np.random.default_rng(5)
    reference = np.repeat(rng.integers(0, 4, (20, 3)), 30, axis=0)[rng.permutation(600)]
    check(reference[:20], reference, np.full(3, kind), 20)
    check(reference, reference, np.full(3, kind), 2, exclude_self=True)


@pytest.mark.parametrize("n", [1, 5, 200])
def test_constant_columns_and_equal_rows(n: int) -> None:
    for kind in (True, False):
        check(np.ones((3, 4)), np.ones((n, 4)), np.full(4, kind), 20)
        check(np.zeros((3, 1)), np.ones((n, 1)), np.full(1, kind), 2)
    check(np.full((3, 2), -FAR), np.full((n, 2), -FAR), np.zeros(2, bool), 2)
    check(np.full((3, 2), -FAR), np.ones((n, 2)), np.zeros(2, bool), 2)


def test_no_rows() -> None:
    some, none = np.ones((3, 2), np.float32), np.ones((0, 2), np.float32)
    distance, index = mixed_neighbors(some, none, np.zeros(2, bool), 2)
    assert np.isinf(distance).all()
    assert (index == -1).all()
    distance, index = mixed_neighbors(none, some, np.zeros(2, bool), 2)
    assert distance.shape == index.shape == (0, 2)
    distance, index = mixed_neighbors(some[:1], some[:1], np.zeros(2, bool), 1, exclude_self=True)
    assert np.isinf(distance).all()
    assert index.tolist() == [[-1]]


def test_one_long_column() -> None:
    rng = np.random.default_rng(6)
    reference = rng.random((SMALL + 500, 1)).astype(np.float32)
    queries = rng.random((40, 1)).astype(np.float32)
    check(queries, reference, np.zeros(1, bool), 3)


def test_large_tables_agree_with_brute_force_and_threads_do_not_matter() -> None:
    rng = np.random.default_rng(7)
    is_category = np.arange(8) < 3
    reference = rows(rng, 3 * SMALL, is_category, 90, 1000)
    queries = rows(rng, BLOCK + 30, is_category, 90, 1000)
    for euclidean in (False, True):
        slow = mixed_neighbors(
            queries, reference, is_category, 2, brute=True, euclidean=euclidean, threads=1
        )
        for threads in (1, 7):
            fast = mixed_neighbors(
                queries, reference, is_category, 2, euclidean=euclidean, threads=threads
            )
            np.testing.assert_array_equal(fast[0], slow[0])
            np.testing.assert_array_equal(fast[1], slow[1])
        some = slice(BLOCK - 4, BLOCK + 4)
        expected = oracle(queries[some], reference, 2, euclidean)
        np.testing.assert_array_equal(slow[0][some], expected[0])
        np.testing.assert_array_equal(slow[1][some], expected[1])


def test_own_row_is_left_out_beyond_the_first_block() -> None:
    rng = np.random.default_rng(8)
    points = rng.integers(0, 30, (BLOCK + 20, 2)).astype(np.float32) / 30
    found = mixed_neighbors(points, points, np.zeros(2, bool), 2, exclude_self=True)
    assert not (found[1] == np.arange(len(points))[:, None]).any()
    slow = mixed_neighbors(points, points, np.zeros(2, bool), 2, exclude_self=True, brute=True)
    np.testing.assert_array_equal(found[1], slow[1])


@pytest.mark.parametrize("euclidean", [False, True])
def test_many_columns_are_not_ruled_out_by_rounding(euclidean: bool) -> None:
    rng = np.random.default_rng(9)
    reference = rng.random((2500, 500)).astype(np.float32)
    queries = reference[:20] + np.float32(1e-4)
    slow, fast = (
        mixed_neighbors(
            queries, reference, np.zeros(500, bool), 2, euclidean=euclidean, brute=brute
        )
        for brute in (True, False)
    )
    np.testing.assert_array_equal(fast[0], slow[0])
    np.testing.assert_array_equal(fast[1], slow[1])


@pytest.mark.parametrize("k", [0, -1])
def test_no_neighbour_cannot_be_asked_for(k):
    rows = np.zeros((3, 1), np.float32)
    with pytest.raises(OptionError, match=f"k = {k}") as caught:
        mixed_neighbors(rows, rows, np.array([False]), k)
    assert caught.value.hint
