"""Rows chosen to meet tables of counts: the counts themselves, and what the choice gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels.selection import count_cells, offsets, select

SIZES = np.array([4, 7, 2, 5])
TABLES = np.array([(1, -1, -1), (0, 1, -1), (3, 2, -1), (0, 2, 3), (3, 1, 0)])


def groups(seed: int, rows: int):
    return np.random.default_rng(seed).integers(0, SIZES, (rows, 4)).astype(np.uint8)


@given(st.integers(0, 10**6), st.integers(0, 200))
def test_counts_are_those_of_a_histogram(seed, rows):
    seen = groups(seed, rows)
    made, begin = count_cells(seen, TABLES, SIZES), offsets(TABLES, SIZES)
    assert len(made) == begin[-1]
    for place, table in enumerate(TABLES):
        columns = table[table >= 0]
        edges = [np.arange(SIZES[j] + 1) - 0.5 for j in columns]
        expected = np.histogramdd(seen[:, columns], bins=edges)[0]
        assert (made[begin[place] : begin[place + 1]] == expected.ravel()).all()


def distance(seen, target) -> float:
    return float(((count_cells(seen, TABLES, SIZES) - target) ** 2 / (target + 2)).sum())


@given(st.integers(0, 10**6), st.integers(1, 150), st.integers(0, 2))
def test_no_row_twice_and_closer_than_chance(seed, rows, sweeps):
    pool = groups(seed, 3 * rows + seed % 3)
    target = count_cells(groups(seed + 1, 3000), TABLES, SIZES) * rows / 3000
    chosen = select(pool, TABLES, SIZES, target, rows, sweeps=sweeps)
    assert len(set(chosen.tolist())) == rows
    assert set(chosen.tolist()) <= set(range(len(pool)))
    rng = np.random.default_rng(seed)
    chance = [distance(pool[rng.choice(len(pool), rows, replace=False)], target) for _ in range(20)]
    assert distance(pool[chosen], target) <= np.mean(chance) + 1e-9


def test_a_sweep_helps():
    pool = groups(0, 3000)
    target = count_cells(groups(1, 30_000), TABLES, SIZES) / 30
    reached = [
        distance(pool[select(pool, TABLES, SIZES, target, 1000, sweeps=sweeps)], target)
        for sweeps in (0, 1, 3)
    ]
    assert reached == sorted(reached, reverse=True)


@pytest.mark.parametrize("sweeps", [0, 2])
def test_no_rows_one_row_and_equal_rows(sweeps):
    target = np.zeros(offsets(TABLES, SIZES)[-1])
    pool = groups(0, 5)
    assert select(pool, TABLES, SIZES, target, 0, sweeps=sweeps).shape == (0,)
    assert select(pool[:0], TABLES, SIZES, target, 0, sweeps=sweeps).shape == (0,)
    assert select(pool, TABLES, SIZES, target, 1, sweeps=sweeps)[0] in range(5)
    assert sorted(select(pool, TABLES, SIZES, target, 5, sweeps=sweeps)) == list(range(5))
    same = np.zeros((60, 4), np.uint8)
    chosen = select(same, TABLES, SIZES, target, 20, sweeps=sweeps)
    assert len(set(chosen.tolist())) == 20
    assert count_cells(same[:0], TABLES, SIZES).sum() == 0


def test_the_one_row_that_is_wanted_is_found():
    pool = groups(3, 300)
    target = count_cells(pool[7:8], TABLES, SIZES)
    tables = TABLES[:1]
    chosen = select(pool, tables, SIZES, target[: SIZES[1]] * 50, 50, sweeps=3)
    assert (pool[chosen, 1] == pool[7, 1]).mean() > 0.5
