"""The overlap of two intervals against hand-worked cases."""

import math

import pytest

from understudy.judging.findings import Z
from understudy.measures.overlap import overlap, standardised_difference, width_ratio


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
    ],
)
def test_overlap(
    real: tuple[float, float], synthetic: tuple[float, float], expected: float
) -> None:
    assert overlap(real, synthetic) == pytest.approx(expected, abs=1e-12)
    assert overlap(synthetic, real) == overlap(real, synthetic)
    assert type(overlap(real, synthetic)) is float


def test_overlap_does_not_depend_on_unit_or_origin() -> None:
    def moved(ends: tuple[float, float]) -> tuple[float, float]:
        return 1000 + 7 * ends[0], 1000 + 7 * ends[1]

    assert overlap(moved((0, 4)), moved((3, 5))) == pytest.approx(3 / 8)


def test_width_ratio() -> None:
    assert width_ratio((0, 4), (1, 2)) == 0.25
    assert width_ratio((1, 2), (0, 4)) == 4
    assert width_ratio((1, 1), (5, 5)) == 1
    assert width_ratio((1, 1), (0, 2)) == math.inf
    assert width_ratio((0, 2), (1, 1)) == 0


def test_standardised_difference_counts_real_standard_errors() -> None:
    error = 0.5
    real = (10 - Z * error, 10 + Z * error)
    assert standardised_difference(real, (11.0, 12.0)) == pytest.approx(1.5 / error)
    assert standardised_difference(real, (8.0, 9.0)) == pytest.approx(-1.5 / error)
    assert standardised_difference((3, 3), (3, 3)) == 0
    assert standardised_difference((3, 3), (2, 3)) == -math.inf
    assert standardised_difference((3, 3), (3, 4)) == math.inf
