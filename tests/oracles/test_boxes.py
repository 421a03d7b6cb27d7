"""Rows in boxes against looking at every row, degenerate tables included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.kernels.boxes import Index, best_matches, box_members

SIZE = 6


def inside(codes, columns, low, high):
    """Say for each row whether it lies in a box."""
    return np.all(
        [(codes[c] >= a) & (codes[c] <= b) for c, a, b in zip(columns, low, high, strict=True)],
        axis=0,
    )


def boxes(rng, many, columns, width):
    chosen = np.array([rng.permutation(columns)[:width] for _ in range(many)]).reshape(many, width)
    low = rng.integers(0, SIZE, (many, width))
    return chosen, low, np.minimum(low + rng.integers(0, 3, (many, width)), SIZE - 1)


@given(st.integers(0, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_members_are_those_that_a_scan_finds(rows, columns, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, SIZE, (columns, rows))
    chosen, low, high = boxes(rng, 12, columns, int(rng.integers(1, columns + 1)))
    counts, members = box_members(Index.of(codes, SIZE), chosen, low, high, most=5)
    for box in range(12):
        expected = np.flatnonzero(inside(codes, chosen[box], low[box], high[box]))
        assert counts[box] == min(len(expected), 6)
        found = members[box][members[box] >= 0]
        assert len(found) == min(len(expected), 5)
        assert set(found) <= set(expected)


@pytest.mark.parametrize("value", [0, SIZE - 1])
def test_rows_that_are_all_equal(value):
    index = Index.of(np.full((2, 7), value), SIZE)
    both = np.array([[0, 1], [0, 1]])
    low, high = np.array([[value, value], [1, 1]]), np.array([[value, value], [2, 2]])
    counts, _ = box_members(index, both, low, high, most=9, list_them=False)
    assert counts.tolist() == [7, 0]


def test_an_upside_down_box_is_empty():
    index = Index.of(np.arange(6)[None], SIZE)
    counts, _ = box_members(
        index, np.array([[0]]), np.array([[4]]), np.array([[2]]), most=3, list_them=False
    )
    assert counts.tolist() == [0]


def slow_best(tables, allowed, low, high, persons, ends):
    """Average the matching probabilities record by record."""
    ties, weight, among = [], [], []
    of_box = np.searchsorted(ends, np.arange(len(persons)), "right")
    for box in range(len(low)):
        mean = np.zeros(tables.shape[2])
        for table, may in zip(tables, allowed, strict=True):
            fits = may & inside(table, range(len(table)), low[box], high[box])
            if fits.any():
                mean += fits / fits.sum() / len(tables)
        best = mean >= mean.max() - 1e-12 if mean.max() > 0 else np.zeros(len(mean), bool)
        ties.append(int(best.sum()))
        weight.append(mean.max())
        among += [bool(best[p]) for p in persons[of_box == box]]
    return ties, weight, among


@given(st.integers(1, 25), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_best_matches_are_those_of_the_definition(rows, columns, tables, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, SIZE, (tables, columns, rows))
    allowed = rng.random((tables, rows)) < 0.8
    _, low, high = boxes(rng, 5, columns, columns)
    persons = rng.integers(0, rows, 11)
    ends = np.sort(rng.integers(0, 12, 5))
    ends[-1] = 11
    found = best_matches(
        [Index.of(table, SIZE) for table in codes], allowed, low, high, persons, ends
    )
    expected = slow_best(codes, allowed, low, high, persons, ends)
    assert found[0].tolist() == expected[0]
    assert found[1] == pytest.approx(expected[1])
    assert found[2].tolist() == expected[2]
