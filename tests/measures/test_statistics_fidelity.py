"""The statistics of fidelity by simulation: coverage of a difference, the size-scaled reference.

Many triples of small tables from one distribution. One error rate of 1 % for the module: each
of the checks below has its own share of it.
"""

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, norm

from understudy.data.tables import Table
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures.fidelity.marginals import bivariate, trivariate, univariate


def copy_check(found):
    return next(part.value for part in found.parts if part.name == "copy check")


ALPHA = 0.01 / 40
MEASURES = {1: (univariate, 20), 2: (bivariate, 5), 3: (trivariate, 4)}


def draw(rows: int, rng: np.random.Generator, shift: float = 0.0) -> pl.DataFrame:
    """Two numbers and two categories, all related."""
    made = 0.7 * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, 4)) + shift
    levels = np.digitize(made[:, 2:], [-1, 0, 0.5, 1]).astype(str)
    return pl.DataFrame(
        {"x0": made[:, 0], "x1": made[:, 1], "c0": levels[:, 0], "c1": levels[:, 1]}
    )


SCHEMA = Table.of(draw(2000, np.random.default_rng(0))).schema


def finding(ways: int, seed: int, sizes: tuple[int, int, int], shift=0.0, **options) -> Finding:
    rng = np.random.default_rng([seed, ways, *sizes])
    train, synthetic, holdout = (
        draw(rows, rng, move) for rows, move in zip(sizes, (0, shift, 0), strict=True)
    )
    measure, c = MEASURES[ways]
    comparison = compare_tables(train, synthetic, holdout, schema=SCHEMA, seed=seed)
    return measure(comparison, c=c, **options)


def at_least(trials: int, share: float) -> int:
    """The fewest hits that a probability of ``share`` gives but for a chance of ALPHA."""
    return int(binom.ppf(ALPHA, trials, share))


@pytest.mark.slow
@pytest.mark.parametrize("ways", [1, 2])
def test_the_interval_covers_a_true_difference(ways):
    """Synthetic rows from another distribution: the difference is covered as often as claimed."""
    runs = 200
    found = [
        finding(ways, seed, (200, 200, 200), shift=0.3, resamples=60, permutations=1)
        for seed in range(runs)
    ]
    apart = np.array([f.value - f.reference for f in found])
    reach = np.array([f.interval[1] - f.value for f in found])
    covered = int((np.abs(apart - apart.mean()) <= reach).sum())
    assert apart.mean() > 0
    assert covered >= at_least(runs, 0.94), covered / runs


def test_a_shift_is_found():
    found = [
        finding(1, seed, (300, 300, 300), shift=0.5, resamples=30, permutations=99)
        for seed in range(10)
    ]
    assert all(f.p_value < 0.05 for f in found)
    assert sum(f.flagged for f in found) >= 9


def check_scaling(ways: int, sizes: tuple[int, int, int], runs: int) -> None:
    """Mean value and mean reference agree within 3 %, but for the noise of so many runs.

    The copy check of fresh rows is the ratio of sampling noise that the sizes imply: 1 at equal
    sizes, less where there are more synthetic than training rows.
    """
    found = [finding(ways, seed, sizes, resamples=2, permutations=1) for seed in range(runs)]
    value, reference = (np.array([getattr(f, n) for f in found]) for n in ("value", "reference"))
    ratio = value.mean() / reference.mean()
    noise = np.std(value - ratio * reference) / reference.mean() / math.sqrt(runs)
    assert abs(ratio - 1) <= 0.03 - norm.ppf(ALPHA) * noise, (ratio, noise)
    train, synthetic, holdout = sizes
    expected = math.sqrt((1 / holdout + 1 / synthetic) / (1 / holdout + 1 / train))
    copy = np.array([copy_check(f) for f in found]) / expected
    noise = np.std(copy) / math.sqrt(runs)
    assert abs(copy.mean() - 1) <= 0.03 - norm.ppf(ALPHA) * noise, (copy.mean(), noise)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_the_reference_is_scaled_and_fresh_rows_pass_the_copy_check(ways):
    check_scaling(ways, (400, 1600, 200), 30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ways", "sizes"), [(1, (400, 1600, 200)), (2, (600, 300, 1200)), (3, (400, 2000, 400))]
)
def test_the_reference_is_scaled_in_many_runs(ways, sizes):
    check_scaling(ways, sizes, 400)


@pytest.mark.parametrize("synthetic", [500, 1500])
def test_rows_of_training_drawn_again_fail_the_copy_check(synthetic):
    """Their noise against the holdout is that of training and their own on top."""
    runs, rows = 40, 500
    ratios, checks = [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        train, holdout = draw(rows, rng), draw(rows, rng)
        again = train.sample(synthetic, with_replacement=True, seed=seed)
        comparison = compare_tables(train, again, holdout, schema=SCHEMA)
        found = bivariate(comparison, c=5, resamples=2, permutations=1)
        ratios.append(found.value / found.reference)
        checks.append(copy_check(found))
    fresh = math.sqrt((1 / rows + 1 / synthetic) / (2 / rows))
    copied = math.sqrt((2 / rows + 1 / synthetic) / (2 / rows))
    assert np.mean(ratios) == pytest.approx(1 / math.sqrt(1 + synthetic / rows), rel=0.06)
    assert np.mean(checks) == pytest.approx(copied, rel=0.05)
    assert np.mean(checks) > 1.1 * fresh
