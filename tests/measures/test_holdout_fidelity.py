"""The fidelity of one-, two- and three-way tables: published values, parts, options."""

import dataclasses
import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from packaged import voters
from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, compare_tables
from understudy.judging.findings import Finding
from understudy.measures.fidelity.distances import DISTANCES
from understudy.measures.fidelity.marginals import METRICS, bivariate, trivariate, univariate


def copy_check(found):
    return next(part.value for part in found.parts if part.name == "copy check")


MEASURES = {1: univariate, 2: bivariate, 3: trivariate}
ADULT = {
    "mostly": {1: 1.3, 2: 1.9, 3: 2.4},
    "synthpop": {1: 0.6, 2: 1.3, 3: 1.9},
    "flip10": {1: 0.5, 2: 1.7, 3: 3.0},
}
BESIDE = ("the holdout's own, not rescaled", "copy check")
QUICK = {"resamples": 2, "permutations": 1}


def tables_of(finding: Finding) -> list[str]:
    return [p.name for p in finding.parts if p.name not in BESIDE]


@pytest.fixture(scope="module")
def adult(real_data) -> Comparison:
    train, made, holdout = (real_data(f"adult_{role}") for role in ("trn", "synthpop", "val"))
    return compare_tables(train, made, holdout)


@pytest.fixture(scope="module")
def small() -> Comparison:
    return compare_tables(people(400, 1), people(300, 2), people(200, 3))


@pytest.mark.parametrize("generator", ADULT)
def test_adult_equals_figure_7(generator, adult, real_data):
    made = compare_tables(*(real_data(f"adult_{role}") for role in ("trn", generator)))
    comparison = dataclasses.replace(adult, synthetic=made.synthetic)
    for ways, measure in MEASURES.items():
        found = measure(comparison, **QUICK)
        assert round(100 * found.value, 1) == ADULT[generator][ways]
        assert round(100 * found.baselines["holdout_unscaled"], 1) == {1: 1.0, 2: 1.6, 3: 2.1}[ways]


def test_the_figures_are_those_published():
    from understudy.studies.published import expected

    for generator, figures in ADULT.items():
        printed = expected("platzer2021")["figures"]["adult"][generator]
        assert [str(figures[k]) for k in (1, 2, 3)] == [printed[f"f{k}"] for k in (1, 2, 3)]


@pytest.mark.parametrize(("ways", "many"), [(1, 10), (2, 45), (3, 120)])
def test_parts_are_complete_and_worst_first(ways, many):
    order = voters().sample(fraction=1, shuffle=True, seed=1)
    comparison = compare_tables(order[:300], order[300:600], order[600:])
    found = MEASURES[ways](comparison, **QUICK)
    parts = [p for p in found.parts if p.name not in BESIDE]
    assert len(parts) == many == math.comb(10, ways)
    values = [p.value for p in parts]
    assert values == sorted(values, reverse=True)
    assert found.value == pytest.approx(np.mean(values))
    assert found.reference == pytest.approx(np.mean([p.reference for p in parts]))
    expected = {" × ".join(sorted(s)) for s in combinations(comparison.names, ways)}
    assert {p.name for p in parts} == expected


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_against_counting_with_polars(small, ways):
    """The published recipe by plain means: cut at training's quantiles, join on the cells."""
    c = {1: 100, 2: 10, 3: 5}[ways]
    found = MEASURES[ways](small, **QUICK)
    codec = small.codec(bins=c, levels=c)
    frames = {
        t: pl.DataFrame(small.codes(t, codec), schema=list(codec.names))
        for t in ("train", "synthetic")
    }
    for coder in codec.columns:
        if coder.rest:
            name = coder.column.name
            lump = pl.when(pl.col(name) == 1).then(coder.size - 1).otherwise(pl.col(name))
            frames = {t: frame.with_columns(lump.alias(name)) for t, frame in frames.items()}
    values = {}
    for subset in combinations(codec.names, ways):
        share = [
            {row[:-1]: row[-1] / frame.height for row in frame.group_by(subset).len().iter_rows()}
            for frame in frames.values()
        ]
        cells = set(share[0]) | set(share[1])
        apart = sum(abs(share[0].get(cell, 0) - share[1].get(cell, 0)) for cell in cells) / 2
        values[" × ".join(sorted(subset))] = apart
    found_values = {p.name: p.value for p in found.parts if p.name not in BESIDE}
    assert found_values == pytest.approx(values)


def test_reference_is_rescaled_to_the_size_of_the_synthetic_table(small):
    found = univariate(small, **QUICK)
    scale = math.sqrt((1 / 400 + 1 / 300) / (1 / 400 + 1 / 200))
    assert found.reference == pytest.approx(scale * found.baselines["holdout_unscaled"])
    parts = {p.name: p for p in found.parts}
    assert parts["the holdout's own, not rescaled"].value == found.baselines["holdout_unscaled"]
    assert parts["copy check"].value == copy_check(found)
    assert parts["copy check"].unit == "ratio"


@pytest.mark.parametrize("c", [1, 3, 50])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_option_c(small, c, ways):
    found = MEASURES[ways](small, c=c, **QUICK)
    codec = small.codec(bins=c, levels=c)
    assert all(coder.size <= c + 3 for coder in codec.columns)
    assert 0 <= found.value <= 1
    coarse = MEASURES[ways](small, c=1, **QUICK).value
    assert found.value >= coarse - 1e-12


@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize("ways", [1, 2])
def test_option_distance(small, kind, ways):
    found = MEASURES[ways](small, distance=kind, resamples=20, permutations=19)
    default = MEASURES[ways](small, resamples=20, permutations=19)
    assert 0 <= found.interval[0] <= found.value <= found.interval[1]
    assert (found.value == default.value) == (kind == "total_variation")
    codec = small.codec(bins=100, levels=100)
    if ways == 1:
        by_hand = [
            DISTANCES[kind](*(small.counts(t, [name], codec) for t in ("train", "synthetic")))
            for name in small.names
        ]
        assert found.value == pytest.approx(np.mean(by_hand))


def test_wrong_options(small):
    with pytest.raises(OptionError, match="manhattan") as caught:
        univariate(small, distance="manhattan")
    assert "hellinger" in caught.value.hint
    with pytest.raises(OptionError, match="resamples"):
        univariate(small, resamples=1)


def test_a_cap_on_subsets_is_said(small):
    found = trivariate(small, subsets=7, **QUICK)
    drawn = tables_of(found)
    assert 1 <= len(drawn) <= 7
    every = math.comb(len(small.names), 3)
    assert f"{len(drawn)} of {every} subsets of columns" in found.note
    full = trivariate(small, **QUICK)
    assert "subsets" not in full.note
    values = {p.name: p.value for p in full.parts}
    assert all(p.value == values[p.name] for p in found.parts if p.name in drawn)


def test_many_parts_are_shortened_and_it_is_said():
    rng = np.random.default_rng(0)
    tables = [
        pl.DataFrame(
            rng.integers(0, 3, (60, 22)).astype(str), schema=[f"c{i:02}" for i in range(22)]
        )
        for _ in range(3)
    ]
    found = trivariate(compare_tables(*tables), **QUICK)
    assert len(tables_of(found)) == 1000
    assert "1,000 worst of 1,540 parts" in found.note


def test_without_a_holdout_nothing_is_guessed():
    found = bivariate(compare_tables(people(100, 1), people(100, 2)), **QUICK)
    assert found.reference is None
    assert found.p_value is None
    assert not found.flagged
    assert "holdout" in found.note


def test_a_holdout_with_the_very_counts_of_training():
    train, synthetic = people(80, 1), people(80, 2)
    found = univariate(compare_tables(train, synthetic, train), **QUICK)
    assert found.reference == 0
    assert copy_check(found) is None


def test_a_copy_is_no_merit():
    """Drawn again from training: below the reference, but above 1 in the copy check."""
    train, holdout = people(3000, 1), people(3000, 2)
    again = train.sample(3000, with_replacement=True, seed=3)
    for measure in MEASURES.values():
        found = measure(compare_tables(train, again, holdout), resamples=40, permutations=19)
        assert found.value < 0.85 * found.reference
        assert copy_check(found) > 1.1
        assert not found.flagged
        assert "Closer to training than fresh real rows" in found.note
