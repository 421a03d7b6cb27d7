"""All one-, two- and three-way tables, against counting row by row."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.kernels.marginals import MANY_CELLS, Layout, count_tables, table_distances


def oracle(codes: NDArray[Any], layout: Layout, rows: NDArray[Any] | None) -> list[int]:
    counts: list[int] = []
    for subset in layout.subsets:
        seen: dict[tuple[int, ...], int] = {}
        for row in codes if rows is None else codes[rows]:
            cell = tuple(int(row[j]) for j in subset)
            seen[cell] = seen.get(cell, 0) + 1
        sizes = [range(int(layout.sizes[j])) for j in subset]
        counts += [seen.get(cell, 0) for cell in product(*sizes)]
    return counts


def check(codes: NDArray[Any], layout: Layout, rows: NDArray[Any] | None = None) -> None:
    before = codes.copy()
    assert count_tables(codes, layout, rows).tolist() == oracle(codes, layout, rows)
    np.testing.assert_array_equal(codes, before)


def draw(rng: np.random.Generator, n: int, sizes: Any, dtype: Any = np.uint8) -> NDArray[Any]:
    return np.column_stack([rng.integers(0, size, n) for size in sizes]).astype(dtype)


@given(
    n=st.integers(0, 30),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    ways=st.integers(1, 3),
    dtype=st.sampled_from([np.uint8, np.uint16]),
    order=st.sampled_from("CF"),
    resampled=st.booleans(),
    seed=st.integers(0, 999),
)
@settings(max_examples=150)
def test_random_tables(
    n: int, sizes: list[int], ways: int, dtype: Any, order: Any, resampled: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    codes = np.asarray(draw(rng, n, sizes, dtype), order=order)
    layout = Layout.all_ways(np.array(sizes), ways)
    assert [tuple(s) for s in layout.subsets] == list(combinations(range(len(sizes)), ways))
    rows = rng.integers(0, n, 2 * n) if resampled and n else None
    check(codes, layout, rows)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 511, 512, 513, 8191, 8192, 8193])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_ends_of_chunks(n: int, ways: int) -> None:
    """A vector is of 512 rows and a chunk of 8,192; one table of three is of many cells."""
    rng = np.random.default_rng(n)
    sizes = np.array([1, 3, 20, 35])
    codes = draw(rng, n, sizes)
    layout = Layout.all_ways(sizes, ways)
    assert ways < 3 or not (layout.cells <= MANY_CELLS).all()
    counts = count_tables(codes, layout)
    for table, subset in enumerate(layout.subsets):
        cell = np.ravel_multi_index(codes[:, subset].T, tuple(sizes[subset]))
        begin, end = layout.starts[table : table + 2]
        np.testing.assert_array_equal(counts[begin:end], np.bincount(cell, minlength=end - begin))


def test_three_way_chunks_of_few_cells() -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([5, 5, 5, 5, 2])
    codes = draw(rng, 20_000, sizes)
    layout = Layout.all_ways(sizes, 3)
    rows = rng.integers(0, 20_000, 17_000)
    counts = count_tables(codes, layout, rows)
    for table, subset in enumerate(layout.subsets):
        cell = np.ravel_multi_index(codes[rows][:, subset].T, tuple(sizes[subset]))
        begin, end = layout.starts[table : table + 2]
        np.testing.assert_array_equal(counts[begin:end], np.bincount(cell, minlength=end - begin))


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_layouts_of_some_subsets(ways: int) -> None:
    rng = np.random.default_rng(ways)
    sizes = np.array([4, 40, 2, 9, 33, 1])
    every = list(combinations(range(6), ways))
    chosen = sorted(rng.choice(len(every), max(1, len(every) // 2), replace=False))
    layout = Layout(sizes, np.array([every[i] for i in chosen]))
    codes = draw(rng, 600, sizes)
    check(codes, layout)
    check(codes, layout, np.array([5, 5, 5, 599]))


def test_columns_not_asked_for_may_have_many_codes() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([3, 60_000, 4])
    codes = draw(rng, 700, sizes, np.uint16)
    check(codes, Layout(sizes, np.array([[0, 2]])))


def test_rows_without_a_table_and_tables_without_a_row() -> None:
    codes = np.zeros((3, 2), np.uint8)
    assert count_tables(codes, Layout.all_ways(np.array([1, 1]), 3)).tolist() == []
    layout = Layout.all_ways(np.array([1, 2]), 2)
    assert count_tables(codes, layout, np.empty(0, np.int64)).tolist() == [0, 0]
    assert count_tables(codes, layout).tolist() == [3, 0]


def test_memory_does_not_grow_with_the_square_of_the_codes() -> None:
    """Of the two first columns of a triple only as many pairs of values are kept as there are."""
    import tracemalloc

    sizes = np.array([1, 1000, 1])
    codes = draw(np.random.default_rng(2), 500, sizes, np.uint16)
    for ways in (1, 2, 3):
        layout = Layout.all_ways(sizes, ways)
        count_tables(codes, layout)
        tracemalloc.start()
        count_tables(codes, layout)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8e6


@given(
    n=st.integers(1, 50),
    m=st.integers(1, 50),
    sizes=st.lists(st.integers(1, 6), min_size=3, max_size=4),
    ways=st.integers(1, 3),
    seed=st.integers(0, 999),
)
def test_distances(n: int, m: int, sizes: list[int], ways: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = Layout.all_ways(np.array(sizes), ways)
    a, b = (count_tables(draw(rng, rows, sizes), layout) for rows in (n, m))
    found = table_distances(a, b, layout)
    for table, distance in enumerate(found):
        begin, end = layout.starts[table : table + 2]
        apart = sum(abs(x / n - y / m) for x, y in zip(a[begin:end], b[begin:end], strict=True))
        assert distance == pytest.approx(apart / 2, abs=1e-12)
    assert (table_distances(a, a, layout) == 0).all()
