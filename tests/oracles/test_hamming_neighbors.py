"""Nearest records by differing columns, against every pair, row by row."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.kernels.neighbors import HammingNeighbors, hamming_neighbors
from understudy.kernels.neighbors.hamming import BLOCK, MOST_VALUES

WIDTHS = (1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 255, 256, 500, 511)
FIELDS = ("distance", "second", "count", "indices")


def oracle(
    queries: NDArray[Any], reference: NDArray[Any], cap: int, exclude_self: bool = False
) -> HammingNeighbors:
    width = reference.shape[1]
    rows = len(queries)
    found = HammingNeighbors(
        np.full(rows, width + 1, np.int32),
        np.full(rows, width + 1, np.int32),
        np.zeros(rows, np.int64),
        np.full((rows, cap), -1, np.int32),
    )
    for i, query in enumerate(queries):
        far = (reference.astype(int) != query.astype(int)).sum(axis=1)
        places = [j for j in range(len(reference)) if not (exclude_self and j == i)]
        if not places:
            continue
        ranked = sorted(int(far[j]) for j in places)
        nearest = [j for j in places if far[j] == ranked[0]]
        found.distance[i] = ranked[0]
        found.second[i] = ranked[1] if len(ranked) > 1 else width + 1
        found.count[i] = len(nearest)
        kept = nearest[:cap]
        found.indices[i, : len(kept)] = kept
    return found


def equal(a: HammingNeighbors, b: HammingNeighbors, fields: tuple[str, ...] = FIELDS) -> None:
    for name in fields:
        mine, other = getattr(a, name), getattr(b, name)
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other, err_msg=name)


def check(
    queries: NDArray[Any], reference: NDArray[Any], cap: int = 20, exclude_self: bool = False
) -> None:
    before = queries.copy(), reference.copy()
    expected = oracle(queries, reference, cap, exclude_self)
    for bitmaps in (True, False):
        found = hamming_neighbors(
            queries, reference, cap=cap, exclude_self=exclude_self, bitmaps=bitmaps
        )
        equal(found, expected, FIELDS if cap else ("distance",))
    np.testing.assert_array_equal(queries, before[0])
    np.testing.assert_array_equal(reference, before[1])


@given(
    m=st.integers(0, 9),
    n=st.integers(0, 9),
    columns=st.integers(1, 12),
    codes=st.integers(1, 4),
    cap=st.integers(0, 4),
    types=st.tuples(st.sampled_from([np.uint8, np.uint16]), st.sampled_from([np.uint8, np.uint16])),
    order=st.sampled_from("CF"),
    seed=st.integers(0, 999),
)
@settings(max_examples=200)
def test_random_rows(
    m: int, n: int, columns: int, codes: int, cap: int, types: Any, order: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    queries = np.asarray(rng.integers(0, codes, (m, columns)), types[0], order=order)
    reference = np.asarray(rng.integers(0, codes, (n, columns)), types[1], order=order)
    check(queries, reference, cap)


@given(n=st.integers(0, 12), columns=st.integers(1, 9), cap=st.integers(0, 5), seed=st.integers(0))
def test_a_row_is_not_its_own_neighbour(n: int, columns: int, cap: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 3, (n, columns)).astype(np.uint8)
    check(rows, rows, cap, exclude_self=True)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_numbers_of_columns(width: int, dtype: Any) -> None:
    """Random rows, near copies, a full agreement and a full disagreement at each width."""
    rng = np.random.default_rng(width)
    reference = rng.integers(0, 3, (70, width)).astype(dtype)
    near = reference[rng.integers(0, 70, 12)].copy()
    near[np.arange(12), rng.integers(0, width, 12)] = 3
    none = np.full((1, width), 9, dtype)
    queries = np.concatenate([rng.integers(0, 3, (8, width)).astype(dtype), near, none])
    queries = np.concatenate([queries, reference[:3], reference[-1:]])
    for cap in (0, 2, 20):
        check(queries, reference, cap)
    check(reference, reference, 3, exclude_self=True)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize(
    ("queries", "reference"),
    [
        pytest.param(np.full((3, 4), 7), np.full((25, 4), 7), id="all equal, more than the cap"),
        pytest.param(np.zeros((3, 4)), np.zeros((5, 4)), id="all missing"),
        pytest.param(np.zeros((3, 4)), np.full((5, 4), 7), id="missing against present"),
        pytest.param(np.ones((1, 4)), np.ones((1, 4)), id="one row each"),
        pytest.param(np.ones((3, 4)), np.ones((0, 4)), id="no reference rows"),
        pytest.param(np.ones((0, 4)), np.ones((3, 4)), id="no queries"),
        pytest.param(np.ones((0, 4)), np.ones((0, 4)), id="nothing at all"),
        pytest.param(np.ones((3, 1)), np.zeros((2, 1)), id="one column"),
        pytest.param(np.ones((2, 300)), np.zeros((3, 300)), id="300 columns, all differ"),
        pytest.param(np.full((2, 3), 255), np.zeros((3, 3)), id="codes above every reference code"),
    ],
)
def test_degenerate_rows(queries: Any, reference: Any, dtype: Any) -> None:
    for cap in (0, 1, 20):
        check(queries.astype(dtype), reference.astype(dtype), cap)


def test_codes_that_do_not_fit_the_other_type() -> None:
    queries = np.array([[1, 257], [65535, 0], [256, 256]], np.uint16)
    check(queries, np.array([[1, 1], [257, 257], [65535, 0], [255, 256]], np.uint16))
    check(queries, np.array([[1, 1], [255, 0], [0, 0]], np.uint8))
    check(np.array([[1, 1], [255, 0]], np.uint8), queries)


@pytest.mark.parametrize("n", [63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 2600])
@pytest.mark.parametrize("values", [3, 3000])
def test_ends_of_tiles(n: int, values: int) -> None:
    """Tiles are of 1,024 rows where values are few, of 512 otherwise; equal rows at both ends."""
    rng = np.random.default_rng(n)
    reference = rng.integers(0, values, (n, 5)).astype(np.uint16)
    reference[[0, n // 2, n - 1]] = values
    queries = np.concatenate([rng.integers(0, values, (5, 5)), [[values] * 5]]).astype(np.uint16)
    check(queries, reference)
    check(queries, reference, cap=2)


def test_more_queries_than_a_block() -> None:
    rng = np.random.default_rng(1)
    reference = rng.integers(0, 4, (90, 6)).astype(np.uint8)
    queries = rng.integers(0, 4, (BLOCK + 9, 6)).astype(np.uint8)
    far = (queries[:, None] != reference[None]).sum(axis=2)
    for bitmaps in (True, False):
        found = hamming_neighbors(queries, reference, cap=4, bitmaps=bitmaps)
        np.testing.assert_array_equal(found.distance, far.min(axis=1))
        np.testing.assert_array_equal(found.second, np.sort(far, axis=1)[:, 1])
        np.testing.assert_array_equal(found.count, (far == far.min(axis=1)[:, None]).sum(axis=1))
        np.testing.assert_array_equal(found.indices[:, 0], far.argmin(axis=1))


def test_own_row_is_left_out_beyond_the_first_block() -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 40, (BLOCK + 50, 3)).astype(np.uint8)
    found = hamming_neighbors(rows, rows, cap=3, exclude_self=True)
    assert not (found.indices == np.arange(len(rows))[:, None]).any()
    again = hamming_neighbors(rows, rows, cap=3, exclude_self=True, bitmaps=False)
    equal(found, again)
    alike = {}
    for row in map(tuple, rows.tolist()):
        alike[row] = alike.get(row, 0) + 1
    others = np.array([alike[row] - 1 for row in map(tuple, rows.tolist())])
    np.testing.assert_array_equal(found.distance == 0, others > 0)
    np.testing.assert_array_equal(found.count[others > 0], others[others > 0])


@pytest.mark.parametrize("bitmaps", [True, False])
def test_threads_do_not_matter_and_progress_is_told(bitmaps: bool) -> None:
    rng = np.random.default_rng(3)
    queries = rng.integers(0, 4, (2 * BLOCK + 37, 5)).astype(np.uint8)
    reference = rng.integers(0, 4, (50, 5)).astype(np.uint8)
    seen: list[tuple[int, int]] = []
    one = hamming_neighbors(
        queries,
        reference,
        threads=1,
        bitmaps=bitmaps,
        progress=lambda done, total: seen.append((done, total)),
    )
    equal(one, hamming_neighbors(queries, reference, threads=7, bitmaps=bitmaps))
    total = len(queries)
    assert seen == [(BLOCK, total), (2 * BLOCK, total), (total, total)]


def test_many_values_choose_the_other_algorithm_and_agree() -> None:
    rng = np.random.default_rng(4)
    reference = rng.integers(0, 60_000, (40, 4)).astype(np.uint16)
    assert int((reference.max(axis=0).astype(int) + 1).sum()) > MOST_VALUES
    queries = np.concatenate([reference[:4], rng.integers(0, 60_000, (4, 4)).astype(np.uint16)])
    equal(hamming_neighbors(queries, reference), oracle(queries, reference, 20))


def test_no_columns_cannot_be_compared() -> None:
    rows = np.zeros((2, 0), np.uint8)
    with pytest.raises(ValueError, match="no columns"):
        hamming_neighbors(rows, rows)


def test_more_columns_than_the_bitmaps_hold_are_compared_value_by_value() -> None:
    rng = np.random.default_rng(0)
    queries, reference = (rng.integers(0, 3, (20, 700), np.uint8) for _ in range(2))
    found = hamming_neighbors(queries, reference)
    apart = (queries[:, None] != reference[None]).sum(axis=2)
    assert np.array_equal(found.distance, apart.min(axis=1))


def test_self_exclusion_needs_one_table() -> None:
    with pytest.raises(ValueError, match="must be one table"):
        hamming_neighbors(np.zeros((2, 3), np.uint8), np.zeros((3, 3), np.uint8), exclude_self=True)
