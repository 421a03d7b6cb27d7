"""The overlap of intervals against hand-worked cases."""

import math

import numpy as np
import pytest

from intervals import Interval
from understudy.judging.findings import Z
from understudy.measures.overlap import Intervals, overlaps, standardised, width_ratios


def of(ends: Interval) -> Intervals:
    half = np.array([(ends[1] - ends[0]) / 2])
    return Intervals(np.array([(ends[0] + ends[1]) / 2]), half / Z, half, 2 * half)


@pytest.mark.parametrize(
    ("real", "synthetic", "expected"),
    [
        pytest.param((0, 4), (0, 4), 1.0, id="equal"),
        pytest.param((0, 4), (2, 6), 0.5, id="half: 2/8 + 2/8"),
        pytest.param((0, 4), (3, 5), 3 / 8, id="unequal widths: 1/8 + 1/4"),
        pytest.param((0, 4), (1, 2), 5 / 8, id="nested: 1/8 + 1/2"),
        pytest.param((0, 1), (-1e6, 1e6), 0.5 + 0.25e-6, id="useless, tends to a half"),
        pytest.param((0, 4), (4, 6), 0.0, id="touching"),
        pytest.param((0, 4), (5, 6), 0.0, id="disjoint, clipped: unclipped -1/8 - 1/2"),
        pytest.param((0, 1), (100, 101), 0.0, id="far: unclipped -99"),
        pytest.param((3, 3), (3, 3), 1.0, id="the same point"),
        pytest.param((3, 3), (4, 4), 0.0, id="two points"),
        pytest.param((3, 3), (2, 6), 0.5, id="a point inside"),
        pytest.param((7, 7), (2, 6), 0.0, id="a point outside"),
        pytest.param((0, 4), (math.nan, math.nan), 0.0, id="the synthetic table cannot tell"),
    ],
)
def test_overlap(real: Interval, synthetic: Interval, expected: float) -> None:
    assert overlaps(of(real), of(synthetic))[0] == pytest.approx(expected, abs=1e-12)
    assert overlaps(of(synthetic), of(real))[0] == overlaps(of(real), of(synthetic))[0]


def test_overlap_does_not_depend_on_unit_or_origin() -> None:
    def moved(ends: Interval) -> Intervals:
        return of((1000 + 7 * ends[0], 1000 + 7 * ends[1]))

    assert overlaps(moved((0, 4)), moved((3, 5)))[0] == pytest.approx(3 / 8)


@pytest.mark.parametrize(
    ("real", "synthetic", "expected"),
    [
        ((0, 4), (1, 2), 0.25),
        ((1, 2), (0, 4), 4),
        ((1, 1), (5, 5), 1),
        ((1, 1), (0, 2), math.inf),
        ((0, 2), (1, 1), 0),
    ],
)
def test_width_ratio(real: Interval, synthetic: Interval, expected: float) -> None:
    assert width_ratios(of(real), of(synthetic))[0] == expected


def test_standardised_difference_counts_real_standard_errors() -> None:
    error = 0.5
    real = of((10 - Z * error, 10 + Z * error))
    assert standardised(real, of((11.0, 12.0)))[0] == pytest.approx(1.5 / error)
    assert standardised(real, of((8.0, 9.0)))[0] == pytest.approx(-1.5 / error)
    assert standardised(of((3, 3)), of((3, 3)))[0] == 0
    assert standardised(of((3, 3)), of((2, 3)))[0] == -math.inf
    assert standardised(of((3, 3)), of((3, 4)))[0] == math.inf
