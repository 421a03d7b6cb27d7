"""Power curves: fits against known truth."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from understudy.workflows.calibrate.probit import fit_power, next_size
from understudy.workflows.calibrate.schedule import grid

SIZES = [k / 5000 for k in grid(5000)]


def power(size: float, place: float, slope: float, false: float) -> float:
    """Give the power of a curve that is at 80 % where the size is ``place``."""
    middle = ndtri((0.8 - false) / (1 - false))
    return false + (1 - false) * ndtr(middle + slope * np.log10(size / place))


def draw(rng, sizes, runs: int, place: float, slope: float, false: float):
    points = [(s, runs, int(rng.binomial(runs, power(s, place, slope, false)))) for s in sizes]
    return points, int(rng.binomial(2 * runs, false)), 2 * runs


def test_many_runs_give_the_curve_back():
    rng = np.random.default_rng(1)
    points, alarms, runs = draw(rng, SIZES, 20_000, 0.008, 3.0, 0.05)
    found = fit_power(points, alarms, runs)
    assert found.value == pytest.approx(0.008, rel=0.05)  # places are 2.3 % apart, slopes 13 %
    assert found.b == pytest.approx(3.0, rel=0.15)
    assert found.c == pytest.approx(0.05, abs=0.01)
    assert found.at(0.008) == pytest.approx(0.8, abs=0.02)
    assert found.at(0.1) == pytest.approx(power(0.1, 0.008, 3.0, 0.05), abs=0.01)


def test_the_first_size_above_80_percent_would_be_too_small():
    # power .72, .76, .79, .80 at sizes close together: one of the first three is often above
    rng = np.random.default_rng(2)
    sizes = [0.0085, 0.009, 0.0095, 0.01, 0.02]
    first, fitted = [], []
    for _ in range(15):
        points, alarms, runs = draw(rng, sizes, 30, 0.01, 3.0, 0.05)
        above = [s for s, tried, seen in points if seen >= 0.8 * tried]
        first.append(above[0])
        found = fit_power([*points, (0.003, 30, 8)], alarms, runs)
        fitted.append(found.value or 0.02)
    assert np.median(first) < 0.0096
    assert np.median(fitted) == pytest.approx(0.01, rel=0.1)


def test_what_lies_beyond_the_sizes_planted_is_censored():
    never = fit_power([(0.01, 8, 0), (0.1, 8, 2)], 2, 40)
    assert never.value is None
    assert never.censored == "above"
    assert never.bound == pytest.approx(0.1)
    assert never.interval[1] is None
    at_once = fit_power([(0.001, 30, 30), (0.1, 8, 8)], 2, 40)
    assert at_once.value is None
    assert at_once.censored == "below"
    assert at_once.bound == pytest.approx(0.001)
    assert at_once.interval[0] is None
    assert fit_power([], 2, 40) is None
    assert fit_power([(0.1, 0, 0)], 2, 40) is None


def test_the_sizes_planted_are_kept_and_whether_all_of_the_interval_is_beyond():
    never, perhaps = (fit_power([(0.01, 8, 0), (0.1, 8, k)], 2, 40) for k in (0, 5))
    assert never.censored == perhaps.censored == "above"
    assert (never.beyond, perhaps.beyond) == (True, False)
    assert never.to_dict()["smallest"]["planted"] == pytest.approx([0.01, 0.1])


def test_an_interval_that_leaves_the_sizes_has_an_open_end():
    found = fit_power([(0.001, 10, 1), (0.1, 10, 8)], 1, 20)
    assert found.censored is None
    assert found.interval[1] is None
    assert found.interval[0] < found.value


def test_all_or_none_gives_the_middle_of_the_gap():
    found = fit_power([(0.005, 20, 0), (0.01, 20, 20), (0.1, 8, 8)], 2, 40)
    assert 0.005 < found.value < 0.01
    assert found.interval[0] <= found.value <= found.interval[1]


def test_many_false_alarms_are_no_power():
    # 30 % alarms at every size, leak or none: nothing is noticed
    points = [(s, 60, 18) for s in SIZES]
    found = fit_power(points, 36, 120)
    assert found.censored == "above"
    assert found.c == pytest.approx(0.3, abs=0.1)


def test_next_sizes_gather_where_80_percent_may_lie():
    rng = np.random.default_rng(3)
    points = [(s, 30, round(30 * power(s, 0.01, 4.0, 0.05))) for s in SIZES]
    wanted = np.bincount([next_size(points, SIZES, rng) for _ in range(300)], minlength=9)
    assert wanted[4] > 100  # 1 %
    assert wanted[[0, 1, 8]].sum() < 15
    spread = {next_size([(0.1, 3, 3)], SIZES, rng) for _ in range(100)}
    assert len(spread) >= 6  # nothing is known yet


@pytest.mark.slow
@pytest.mark.parametrize(("place", "slope"), [(0.008, 3.0), (0.03, 6.0)])
def test_intervals_cover(place, slope):
    """With sizes chosen one after the other, as a calibration does."""
    rng = np.random.default_rng(4)
    covered = 0
    trials = 300
    for _ in range(trials):
        seen = {s: [0, 0] for s in SIZES}
        seen[SIZES[-1]] = [3, int(rng.binomial(3, power(SIZES[-1], place, slope, 0.05)))]
        for _ in range(57):
            points = [(s, *found) for s, found in seen.items() if found[0]]
            size = SIZES[next_size(points, SIZES, rng)]
            seen[size][0] += 1
            seen[size][1] += int(rng.random() < power(size, place, slope, 0.05))
        points = [(s, *found) for s, found in seen.items() if found[0]]
        found = fit_power(points, int(rng.binomial(60, 0.05)), 60)
        low, high = found.interval
        covered += (low or 0) <= place <= (high or 1)
    # 95 % of 300 is 285, with a standard deviation of 3.8
    assert covered >= 276
