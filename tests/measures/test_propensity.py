"""Propensity scores: the null distributions by simulation, and cases whose answer is known."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from people import people
from understudy.data.matrix import Matrix
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures.fidelity.propensity import (
    design,
    fitted,
    propensities,
    propensity,
    tree_scores,
)

NAME = "fidelity.propensity"


def find(*tables: pl.DataFrame, **options) -> Finding:
    return propensity(compare_tables(*tables), **{"shuffles": 5, **options})


def part(found: Finding, name: str):
    return next(p for p in found.parts if p.name == name)


def both(train: np.ndarray, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    label = np.repeat([False, True], [len(train), len(made)])
    return np.concatenate([train, made]).astype(float), label


def units(train: np.ndarray, made: np.ndarray, *, category: bool) -> tuple[float, int, float]:
    """Give N · pMSE / (c (1 - c)), which is χ² under exchange; its freedom; and c."""
    matrix, label = both(train, made)
    wide = matrix.shape[1]
    terms = design(matrix, np.full(wide, category), tuple("abcdefgh"[:wide]), 200)
    c = label.mean()
    error = ((propensities(terms, label) - c) ** 2).mean()
    return error * len(label) / (c * (1 - c)), terms.shape[1] - 1, c


@pytest.mark.parametrize(("real", "made"), [(600, 600), (500, 1500)])
def test_the_null_of_fresh_rows_is_chi_squared(real, made):
    """Mean (k - 1) c (1 - c)/N, variance 2 (k - 1) (c (1 - c)/N)²: a χ² in these units."""
    rng = np.random.default_rng(made)
    runs = 200
    found = [
        units(rng.normal(size=(real, 3)), rng.normal(size=(made, 3)), category=False)
        for _ in range(runs)
    ]
    value, freedom = np.array([f[0] for f in found]), found[0][1]
    assert freedom == 9  # 3 ranks, 3 squares, 3 products
    assert value.mean() == pytest.approx(freedom, abs=3.5 * np.sqrt(2 * freedom / runs))
    assert value.var() == pytest.approx(2 * freedom, rel=0.35)
    assert stats.kstest(value, stats.chi2(freedom).cdf).pvalue > 0.003


@pytest.mark.parametrize(("real", "made"), [(600, 600), (500, 1500)])
def test_the_null_of_a_correct_model_is_snokes(real, made):
    """Rows from a saturated model fitted to training: (k - 1) c (1 - c)²/N, and its variance."""
    rng = np.random.default_rng(real)
    runs, value = 200, []
    for _ in range(runs):
        train = (rng.random((real, 4)) < [0.5, 0.3, 0.4, 0.5]).astype(float)
        cells = train @ [8, 4, 2, 1]
        drawn = rng.choice(16, made, p=np.bincount(cells.astype(int), minlength=16) / real)
        synthetic = (drawn[:, None] >> np.array([3, 2, 1, 0])) & 1
        found, freedom, c = units(train, synthetic, category=True)
        value.append(found / (1 - c))
    assert freedom == 10  # 4 levels, 6 products
    assert np.mean(value) == pytest.approx(freedom, abs=3.5 * np.sqrt(2 * freedom / runs))
    assert np.var(value) == pytest.approx(2 * freedom, rel=0.35)


def test_the_variance_off_the_null():
    """The noncentral χ² gives the spread of the ratio where tables do differ."""
    rng = np.random.default_rng(4)
    found = [
        units(rng.normal(size=(500, 3)), rng.normal(0.15, 1, size=(500, 3)), category=False)[0] / 9
        for _ in range(200)
    ]
    theory = np.sqrt((2 * 9 + 4 * (np.mean(found) - 1) * 9) / 81)
    assert np.mean(found) > 2
    assert np.std(found) == pytest.approx(theory, rel=0.2)


def test_the_logistic_model_as_scikit_learn_fits_it():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(5)
    matrix, label = both(rng.normal(size=(300, 2)), rng.normal(0.5, 1.5, size=(200, 2)))
    terms = design(matrix, np.zeros(2, bool), ("a", "b"), 50)
    expected = LogisticRegression(C=1e8, tol=1e-10, max_iter=1000, fit_intercept=False)
    expected.fit(terms, label)
    np.testing.assert_allclose(
        propensities(terms, label), expected.predict_proba(terms)[:, 1], atol=1e-4
    )


def test_tables_that_can_be_told_for_certain():
    """The error is as large as can be: everybody's chance is 0 or 1."""
    x = np.arange(100.0)
    matrix, label = both(x[:50, None], x[50:, None])
    scores = propensities(design(matrix, np.zeros(1, bool), ("a",), 50), label)
    assert ((scores > 0.5) == label).all()
    made = fitted(scores, label, 0.01)
    assert made.pmse == pytest.approx(0.25, abs=0.01)
    assert (made.specks, made.over_half) == (1, 0.5)


def test_no_term_is_a_combination_of_others():
    rng = np.random.default_rng(6)
    a = rng.integers(0, 3, 400).astype(float)
    matrix = np.column_stack([a, a, rng.normal(size=400)])
    terms = design(matrix, np.array([True, True, False]), ("a", "twin", "x"), 200)
    assert np.linalg.matrix_rank(terms) == terms.shape[1]
    assert terms.shape[1] == 1 + 2 + 1 + 1 + 2  # levels, rank, its square, products


def test_terms_are_chosen_blind_to_the_label_and_capped():
    rng = np.random.default_rng(7)
    matrix = rng.normal(size=(1000, 8))
    assert design(matrix, np.zeros(8, bool), tuple("abcdefgh"), 20).shape == (1000, 21)
    assert design(matrix[:200], np.zeros(8, bool), tuple("abcdefgh"), 99).shape == (200, 11)


def test_a_tree_gives_each_leaf_its_share():
    """A column of two values: shares 30/40 and 10/40 by hand."""
    table = pl.DataFrame({"g": ["u"] * 40 + ["v"] * 40, "x": range(80)})
    made = compare_tables(table, table).matrix(("train",))
    matrix = np.repeat([[0.0], [1.0]], 40, axis=0)
    label = np.array([True] * 30 + [False] * 10 + [True] * 10 + [False] * 30)
    only = Matrix(("g",), np.array([True]), made.tables, made.targets)
    scores = tree_scores(matrix, label, only)
    np.testing.assert_allclose(scores, np.repeat([0.75, 0.25], 40), atol=1e-6)


def test_specks_and_po50_by_hand():
    """Scores of training .1 .3 .5 .5, synthetic .5 .7 .9 .9: 3 of 4 below the tie, 0 of 4."""
    scores = np.array([0.1, 0.3, 0.5, 0.5, 0.5, 0.7, 0.9, 0.9])
    made = fitted(scores, np.repeat([False, True], 4), 0.01)
    assert made.specks == 0.75  # up to .5: all of training, one of synthetic
    assert made.over_half == pytest.approx((2 + 2 / 2 + 3 + 1 / 2) / 8 - 0.5)
    assert made.pmse == pytest.approx((0.16 + 0.04 + 0 + 0 + 0 + 0.04 + 0.16 + 0.16) / 8)


def test_a_copy_is_nothing_and_fresh_rows_are_chance():
    train, made, holdout = (people(500, seed) for seed in (1, 2, 3))
    copy = find(train, train.sample(fraction=1, shuffle=True, seed=1), holdout)
    assert copy.value == pytest.approx(0, abs=1e-12)
    assert copy.p_value == 1
    assert part(copy, "tree: pMSE").value == pytest.approx(0, abs=1e-9)
    fresh = find(train, made, holdout)
    assert fresh.value == pytest.approx(1, abs=0.6)
    assert fresh.baselines["correct_model"] == 0.5
    assert not fresh.flagged
    assert part(fresh, "logistic model: ratio to Snoke's null").value == pytest.approx(
        2 * fresh.value
    )
    assert part(fresh, "tree: ratio to labels permuted").reference == pytest.approx(1, abs=0.5)


def test_a_product_of_two_columns_is_seen():
    rng = np.random.default_rng(8)

    def table(related: bool) -> pl.DataFrame:
        a = rng.standard_normal(600)
        b = 0.7 * a + 0.7 * rng.standard_normal(600)
        return pl.DataFrame({"a": a, "b": b if related else rng.permutation(b)})

    found = find(table(True), table(False), table(True))
    assert found.flagged
    assert found.value > 10
    assert part(found, "tree: ratio to labels permuted").value > 2


def test_no_level_in_common_is_told_for_certain():
    train, holdout = (pl.DataFrame({"g": ["a", "b"] * 60, "x": range(120)}) for _ in range(2))
    found = find(train, train.with_columns(g=pl.lit("c")), holdout)
    assert found.flagged
    assert part(found, "logistic model: PO50").value == 0.5
    assert part(found, "logistic model: SPECKS").value == 1


def test_unequal_sizes_are_said_and_the_share_is_that_of_the_rows_drawn():
    found = find(people(300, 1), people(900, 2), people(150, 3))
    assert "150 of 900 synthetic rows were drawn, for equal numbers" in found.note
    assert found.baselines["correct_model"] == pytest.approx(2 / 3)
    capped = find(people(99, 1), people(90, 2), people(90, 3), rows=60)
    assert "60 of 99 train rows were drawn, by the option rows" in capped.note


def test_without_a_holdout_there_is_no_reference():
    found = find(people(200, 1), people(200, 2))
    assert found.reference is None
    assert "holdout" in found.note
    assert all(p.reference is None for p in found.parts)


def test_small_and_constant_tables():
    assert find(people(50, 1), people(19, 2)).status == "not_applicable"
    table = pl.DataFrame({"k": ["x"] * 50})
    assert find(table, table).status == "not_applicable"
    empty = pl.DataFrame({"k": pl.Series([None] * 50, dtype=pl.String), "x": [1, 2] * 25})
    assert find(empty, empty, empty).status == "ok"
