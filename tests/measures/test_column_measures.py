"""The first measures against hand-worked tables, oracles and simulations."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.data.memory import MemorySource
from understudy.data.tables import Table
from understudy.judging.comparison import compare_tables
from understudy.measures import MEASURES
from understudy.measures.fidelity.moments import rounded_moments
from understudy.workflows.measuring import run_measure as run


def test_total_variation_by_hand():
    train = pl.DataFrame({"a": ["x"] * 60 + ["y"] * 40, "b": ["u", "v"] * 50})
    synthetic = pl.DataFrame({"a": ["x"] * 50 + ["y"] * 40 + ["z"] * 10, "b": ["u", "v"] * 50})
    holdout = pl.DataFrame({"a": ["x"] * 100 + ["y"] * 100, "b": ["u", "v"] * 100})
    few = ["fidelity.total_variation"]
    found = us.assess(train, synthetic, holdout=holdout, measures=few)[few[0]]
    assert found.value == pytest.approx((0.1 + 0.0) / 2)
    scale = math.sqrt((1 / 100 + 1 / 100) / (1 / 100 + 1 / 200))
    assert found.reference == pytest.approx(0.1 / 2 * scale)
    assert [part.name for part in found.parts] == ["a", "b"]
    assert found.parts[0].more["largest_difference"] == pytest.approx(0.1)
    rows = found.tables["histogram:a"].rows
    assert ("x", 0.6, 0.5, 0.5) in rows
    assert ("unseen in training", 0.0, 0.1, 0.0) in rows
    assert found.tables["box"].rows[1][0] == "pairs"
    pair = 0.5 * (abs(0.3 - 0.25) * 2 + 0.1)
    assert found.tables["box"].rows[1][3] == pytest.approx(pair)


@pytest.mark.slow
def test_the_reference_is_what_fresh_rows_of_that_size_get():
    """The holdout's distance, rescaled, against the mean over truly fresh samples."""
    rng = np.random.default_rng(0)

    def draw(rows: int) -> pl.DataFrame:
        return pl.DataFrame({f"c{i}": rng.integers(0, 8, rows).astype(str) for i in range(6)})

    tolerances = {"total_variation": 0.04, "hellinger": 0.04, "relative_entropy": 0.08}
    names = [f"fidelity.{name}" for name in tolerances]
    options = {name: {"resamples": 2, "pairs": 1} for name in names}
    found = []
    for _ in range(60):
        comparison = compare_tables(draw(400), draw(2000), draw(300), options=options)
        found.append([run(MEASURES[name], comparison) for name in names])
    for measured, tolerance in zip(zip(*found, strict=True), tolerances.values(), strict=True):
        values, references = [f.value for f in measured], [f.reference for f in measured]
        assert np.mean(values) == pytest.approx(np.mean(references), rel=tolerance)


def test_moments_equal_spearman_of_means_and_deviations():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    train = pl.DataFrame({f"c{i}": rng.normal(i, 1 + i % 3, 200) for i in range(8)})
    synthetic = pl.DataFrame({f"c{i}": rng.normal(-i, 2, 150) for i in range(8)})
    found = us.assess(train, synthetic, measures=["fidelity.moments"])["fidelity.moments"]
    lists = [
        [t[c].mean() for c in train.columns] + [t[c].std(ddof=0) for c in train.columns]
        for t in (train, synthetic)
    ]
    assert found.value == pytest.approx(spearmanr(*lists).statistic)


def real(values: list[float]) -> MemorySource:
    return MemorySource(Table.of(pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})))


def test_real_moments_are_rounded_by_their_spread():
    def spread(rows: int) -> np.ndarray:
        drawn = np.random.default_rng(2).normal(size=rows)
        return (drawn - drawn.mean()) / drawn.std() * 12.345

    assert rounded_moments(real(spread(5000) + 1971.2345), "x") == (1971.2, 12.3)
    assert rounded_moments(real(spread(5000) + 0.01234), "x") == (0.0, 12.3)
    assert rounded_moments(real(1e6 * spread(5000) + 123_456), "x") == (1e5, 12.3e6)
    # no finer than 12.3 / 40
    assert rounded_moments(real(spread(40) + 1971.2345), "x") == (1971.0, 12.0)


def test_real_moments_of_few_records_are_withheld():
    bulk = np.random.default_rng(3).normal(0, 1, 300)
    for few in ([1e6], [1e6, -1e6], [1e3] * 4):
        assert rounded_moments(real([*bulk, *few]), "x") == (None, None)
    assert rounded_moments(real([0.0] * 296 + [1.0] * 4), "x") == (None, None)  # a count of four
    assert rounded_moments(real([0.0] * 280 + [1.0] * 20), "x") == (0.067, 0.249)
    assert rounded_moments(real([1.0, 2.0] * 4), "x") == (None, None)
    assert rounded_moments(real([1.0, 2.0] * 6), "x") == (1.5, 0.5)
    assert rounded_moments(real([7.5] * 4), "x") == (None, None)
    assert rounded_moments(real([7.5] * 5), "x") == (7.5, 0.0)


@given(st.lists(st.integers(-1000, 1000).map(float), min_size=5, max_size=60))
def test_shown_moments_leave_the_largest_uncertain(values):
    """What all but the two largest contribute is at least the largest: p-percent with 100 %."""
    mean, deviation = rounded_moments(real(values), "x")
    spread = float(np.std(values))
    if not deviation:
        assert deviation is None or spread == 0
        return
    squares = np.sort((np.array(values) - np.mean(values)) ** 2)
    assert squares[:-2].sum() >= squares[-1] * (1 - 1e-9)
    unit = 10.0 ** math.ceil(math.log10(spread / len(values)))  # all but one known: n units apart
    assert mean / unit == pytest.approx(round(mean / unit), abs=1e-6)
    assert mean == pytest.approx(np.mean(values), abs=unit if unit > spread / 100 else spread / 100)


def test_withheld_moments_are_named_and_the_value_stays():
    rng = np.random.default_rng(4)
    train = pl.DataFrame({f"c{i}": rng.normal(i, 1 + i, 200) for i in range(4)})
    far = train.with_columns(c1=pl.when(pl.int_range(pl.len()) == 0).then(9e5).otherwise("c1"))
    found = us.assess(far, train, holdout=far, measures=["fidelity.moments"])["fidelity.moments"]
    parts = {part.name: part for part in found.parts}
    assert parts["c1"].more["train_mean"] is parts["c1"].more["train_deviation"] is None
    assert parts["c1"].reference is None
    assert parts["c1"].value == pytest.approx(train["c1"].mean())
    assert parts["c3"].more["train_mean"] == pytest.approx(train["c3"].mean(), abs=0.05)
    assert found.note.endswith("few records make most of them: c1.")
    assert found.reference == 1.0
    assert found.value < 1.0


def test_identical_matches_by_hand():
    train = pl.DataFrame({"a": [1, 2, 3, 4], "b": ["x", None, "y", "y"]})
    synthetic = pl.DataFrame({"a": [1.0, 1.0, 2.0, 9.0], "b": ["x", "x", None, "x"]})
    holdout = pl.DataFrame({"a": [4, 5], "b": ["y", "z"]})
    few = ["privacy.identical_matches"]
    found = us.assess(train, synthetic, holdout=holdout, measures=few)[few[0]]
    assert found.value == 0.75
    assert found.reference == 0.5
    named = {part.name: part.value for part in found.parts}
    assert named["synthetic rows equal to a holdout row"] == 0.0
    assert named["distinct synthetic rows"] == 0.75


def test_identical_matches_permutation_is_exact_on_a_small_case():
    """Three matched real rows of ten, all in training (five of ten): p = C(7,2)/C(10,5) = 1/12."""
    train = pl.DataFrame({"a": [f"t{i}" for i in range(5)]})
    holdout = pl.DataFrame({"a": [f"h{i}" for i in range(5)]})
    synthetic = pl.DataFrame({"a": ["t0", "t1", "t2", "new"]})
    options = {"privacy.identical_matches": {"permutations": 20000}}
    found = us.assess(train, synthetic, holdout=holdout, options=options, measures=["privacy"])
    expected = math.comb(7, 2) / math.comb(10, 5)
    assert found["privacy.identical_matches"].p_value == pytest.approx(expected, abs=0.008)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generator", "flagged"), [("flip10", True), ("mostly", False), ("synthpop", True)]
)
def test_identical_matches_on_adult(real_data, generator, flagged):
    import pandas as pd

    files = [real_data(f"adult_{part}") for part in ("trn", generator, "val")]
    found = us.assess(*files[:2], holdout=files[2], measures=["privacy.identical_matches"])[
        "privacy.identical_matches"
    ]
    train, synthetic, holdout = (pd.read_csv(f, keep_default_na=False, dtype=str) for f in files)
    known = set(map(tuple, train.to_numpy().tolist()))
    assert found.value == sum(tuple(r) in known for r in synthetic.to_numpy().tolist()) / len(
        synthetic
    )
    assert found.reference == sum(tuple(r) in known for r in holdout.to_numpy().tolist()) / len(
        holdout
    )
    assert found.flagged is flagged
