"""The statistics of the closest record by simulation: coverage, false alarms, power.

What is claimed is claimed for this release: the synthetic table and all real rows are fixed, the
split into training and holdout is random. So one pool is searched once, and its labels are drawn
again and again. One error rate of 1 % for the module: each check has its own share of it.
"""

import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from packaged import randhie
from people import people
from understudy.data.tables import Table
from understudy.judging.comparison import compare_tables
from understudy.judging.swaps import swap_labels
from understudy.measures.privacy.closest_record import closest_record, share_closer
from understudy.measures.privacy.neighbours import Neighbours, pool_neighbours

ALPHA = 0.01 / 40
LEVELS = (0.01, 0.05, 0.1)


@pytest.fixture(scope="module")
def adult(real_data) -> pl.DataFrame:
    return pl.concat([pl.read_csv(real_data(f"adult_{part}")) for part in ("trn", "val")])


def at_most(trials: int, share: float) -> int:
    """The most hits that a probability of ``share`` gives but for a chance of ALPHA."""
    return int(binom.ppf(1 - ALPHA, trials, share))


Parts = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def made_up(sizes: tuple[int, int]) -> Parts:
    return people(sizes[0], 1), people(sizes[1], 2), people(400, 3)


def relabelled(pool: Neighbours, fixed: NDArray[np.bool_], rng: np.random.Generator) -> Neighbours:
    """Split the pool again at random; rows that were copied stay in training."""
    free = np.flatnonzero(~fixed)
    is_train = fixed.copy()
    chosen = rng.permutation(free)[: int(pool.is_train.sum()) - int(fixed.sum())]
    is_train[chosen] = True
    return dataclasses.replace(pool, is_train=is_train)


def coverage(parts: Parts, copies: int, runs: int, permutations: int) -> float:
    """How often the interval covers the share that random splits have on average."""
    train, holdout, synthetic = parts
    synthetic = train[:copies].vstack(synthetic[copies:])
    comparison = compare_tables(train, synthetic, holdout)
    pool = pool_neighbours(comparison)
    order = pool.order
    labels = swap_labels(comparison, order, pool.is_train, permutations, name="coverage")
    rng = np.random.default_rng(7)
    found = [
        share_closer(relabelled(pool, order < copies, rng), labels).part(0) for _ in range(runs)
    ]
    truth = np.mean([f.value for f in found])
    if not copies:
        assert truth == pytest.approx(found[0].reference, abs=0.004)
    return float(np.mean([f.interval[0] <= truth <= f.interval[1] for f in found]))


@pytest.mark.parametrize("copies", [0, 20])
@pytest.mark.parametrize("sizes", [(500, 500), (600, 300)])
def test_coverage(copies, sizes):
    covered = coverage(made_up(sizes), copies, 250, 200)
    assert round(covered * 250) >= binom.ppf(ALPHA, 250, 0.935)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [0, 20])
@pytest.mark.parametrize("sizes", [(500, 500), (600, 300)])
def test_coverage_in_2000_runs(copies, sizes, adult):
    """Under the null and under 5 % copies, halves and two to one."""
    rows = np.random.default_rng(3).permutation(adult.height)
    ends = np.cumsum((0, *sizes, 400))
    train, holdout, synthetic = (adult[rows[a:b]] for a, b in itertools.pairwise(ends))
    assert 0.935 <= coverage((train, holdout, synthetic), copies, 2000, 640) <= 0.965


@pytest.mark.slow
def test_coverage_in_2000_runs_with_many_ties():
    """Where most records tie, the interval is wide under copies: swapped labels move the copies
    too, which in truth are fixed, and ties leave little other movement.
    """
    assert 0.935 <= coverage(made_up((500, 500)), 0, 2000, 1024) <= 0.965
    assert 0.935 <= coverage(made_up((500, 500)), 20, 2000, 1024) <= 0.99


# False alarms, end to end: fresh tables each time.


def small(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    made = 0.5 * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, 4))
    levels = np.digitize(made[:, 2:], [-1, 0, 1]).astype(str)
    return pl.DataFrame(
        {"x0": made[:, 0], "x1": made[:, 1], "c0": levels[:, 0], "c1": levels[:, 1]}
    )


SCHEMA = Table.of(small(2000, np.random.default_rng(0))).schema


def null_p_values(runs: int, sizes: tuple[int, int, int], **options) -> NDArray[np.float64]:
    made = []
    for seed in range(runs):
        rng = np.random.default_rng([seed, *sizes])
        train, synthetic, holdout = (small(rows, rng) for rows in sizes)
        comparison = compare_tables(train, synthetic, holdout, schema=SCHEMA, seed=seed)
        found = closest_record(comparison, **options)
        assert found.flagged == (found.p_value <= 0.05)
        made.append(found.p_value)
    return np.array(made)


def check_validity(p_values: NDArray[np.float64]) -> None:
    for level in LEVELS:
        alarms = int((p_values <= level).sum())
        assert alarms <= at_most(len(p_values), level), (level, alarms)


@pytest.mark.slow
def test_at_most_73_false_alarms_in_1000():
    p_values = null_p_values(1000, (100, 100, 100), permutations=199)
    assert (p_values <= 0.05).sum() <= 73
    check_validity(p_values)


# The labels are swapped as the split was made.


def persons(count: int, rng: np.random.Generator, first: int, times: int = 5) -> pl.DataFrame:
    """Persons with several equal rows each."""
    made = np.repeat(rng.integers(0, 6, (count, 4)), times, axis=0).astype(str)
    who = np.repeat([f"person {first + i}" for i in range(count)], times)
    return pl.DataFrame({"who": who, **{f"c{i}": made[:, i] for i in range(4)}})


PERSONS = Table.of(persons(400, np.random.default_rng(0), 0)).schema


def grouped_alarms(runs: int, sizes: tuple[int, int], group: str | None) -> tuple[int, int]:
    """Count false alarms, and intervals without the reference, where whole persons are split."""
    alarms, outside = 0, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        train, holdout = persons(sizes[0], rng, 0), persons(sizes[1], rng, sizes[0])
        synthetic = persons(150, rng, 10_000, times=1)
        comparison = compare_tables(train, synthetic, holdout, schema=PERSONS, seed=seed)
        found = closest_record(comparison, group=group, permutations=199)
        alarms += found.flagged
        low, high = found.interval
        outside += not low <= found.reference <= high
    return alarms, outside


@pytest.mark.slow
def test_groups_that_were_split_whole():
    runs = 60
    without, _ = grouped_alarms(40, (40, 40), None)
    assert without > at_most(40, 0.05)
    alarms, outside = grouped_alarms(runs, (40, 40), "who")
    assert alarms <= at_most(runs, 0.05)
    assert outside <= at_most(runs, 0.08)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(40, 40), (80, 40)])
def test_groups_that_were_split_whole_in_many_runs(sizes):
    runs = 300
    without, outside_without = grouped_alarms(100, sizes, None)
    assert min(without, outside_without) > at_most(100, 0.05)
    alarms, outside = grouped_alarms(runs, sizes, "who")
    assert alarms <= at_most(runs, 0.05)
    assert outside <= at_most(runs, 0.065)


def stratified(rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Training has most of one stratum, the holdout most of the other."""
    halves = []
    for many in ((160, 40), (40, 160)):
        made = [small(rows, rng).with_columns(s=pl.lit(f"{i}")) for i, rows in enumerate(many)]
        halves.append(
            made[0].vstack(made[1]).with_columns(x0=pl.col("x0") + 3 * (pl.col("s") == "1"))
        )
    return halves[0], halves[1]


@pytest.mark.slow
def test_strata_that_the_split_respected():
    """A release of one stratum alone resembles the half that has more of it, without any copy."""
    runs = 40
    flags = {None: 0, "s": 0}
    schema = Table.of(stratified(np.random.default_rng(0))[0]).schema
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        train, holdout = stratified(rng)
        synthetic = small(100, rng).with_columns(s=pl.lit("0"))
        comparison = compare_tables(train, synthetic, holdout, schema=schema, seed=seed)
        for strata in flags:
            flags[strata] += closest_record(comparison, strata=strata, permutations=199).flagged
    assert flags[None] > at_most(runs, 0.05)
    assert flags["s"] <= at_most(runs, 0.05)


# Power on real data.


def test_copies_in_a_third_of_randhie_that_saw_no_training():
    """Three parts, one released with 5 % of its rows copied from training; and without."""
    rows = randhie().height // 3
    order = np.random.default_rng(1).permutation(randhie().height)
    train, holdout, fresh = (randhie()[order[i * rows : (i + 1) * rows]] for i in range(3))
    copies = round(0.05 * rows)
    synthetic = train[:copies].vstack(fresh[copies:])
    assert closest_record(compare_tables(train, synthetic, holdout)).flagged
    assert not closest_record(compare_tables(train, fresh, holdout)).flagged


@pytest.mark.slow
def test_power_on_adult_with_1_percent_copies(adult, real_data):
    """A release of 50,000 rows; all real rows are split in halves anew, then 1 % is copied.

    Whatever the release has learnt, a new split makes it leak-free. The neighbours of the release
    and of all real rows are searched once.
    """
    made = pl.read_csv(real_data("adult_mostly"))
    half = adult.height // 2
    comparison = compare_tables(adult[:half], made.vstack(adult), adult[half:])
    pool = pool_neighbours(comparison)
    order = pool.order
    where = np.argsort(order)
    labels = swap_labels(comparison, order, pool.is_train, 512, name="power")
    released = np.arange(made.height)
    rng = np.random.default_rng(2)
    runs, copies = 100, made.height // 100
    flags = {0: 0, copies: 0}
    for _ in range(runs):
        is_train = rng.permutation(pool.is_train)
        rows = rng.choice(np.flatnonzero(is_train[where]), copies, replace=False)
        for many in flags:
            chosen = np.zeros(len(pool.ties), bool)
            chosen[released[many:]] = True
            chosen[made.height + rows[:many]] = True
            again = dataclasses.replace(pool, is_train=is_train)
            flags[many] += share_closer(again, labels, chosen).flagged
    assert flags[0] <= at_most(runs, 0.05)
    assert flags[copies] >= binom.ppf(ALPHA, runs, 0.85), flags[copies] / runs
