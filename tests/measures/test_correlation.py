"""Associations against hand-worked tables and scipy."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from people import people
from understudy.data.schema import Column, Schema
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures.fidelity.correlation import apart, associations, correlation, rows_of

NAN = float("nan")


def matrix(
    table: pl.DataFrame, numbers: list[str], categories: list[str], *, ranks: bool = True
) -> np.ndarray:
    columns = [Column(n, "number", "float") for n in numbers]
    columns += [Column(n, "category", levels=()) for n in categories]
    comparison = compare_tables(table, table, schema=Schema(tuple(columns)))
    return associations(rows_of(comparison, numbers, categories, 50)["train"], ranks=ranks)


def some_numbers(rows: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    x = rng.normal(size=rows).round(1)
    made = pl.DataFrame({"x": x, "y": np.exp(x) + rng.normal(size=rows), "z": rng.random(rows)})
    return made.with_columns(pl.when(pl.col("z") > 0.3).then(pl.col("y")).alias("y"))


def complete(table: pl.DataFrame, *names: str) -> np.ndarray:
    return table.select(names).drop_nulls().to_numpy().T


@pytest.mark.parametrize("pair", [("x", "y"), ("x", "z"), ("y", "z")])
def test_pearson_of_the_rows_that_have_both_as_scipy_computes_it(pair):
    table, names = some_numbers(), ["x", "y", "z"]
    found = matrix(table, names, [], ranks=False)
    expected = stats.pearsonr(*complete(table, *pair)).statistic
    assert found[names.index(pair[0]), names.index(pair[1])] == pytest.approx(expected)


def test_spearman_with_ties_as_scipy_computes_it():
    table = some_numbers().drop_nulls()
    found = matrix(table, ["x", "y", "z"], [])
    expected = stats.spearmanr(table.to_numpy()).statistic
    assert found[0, 1] == pytest.approx(expected[0, 1])
    assert found[2, 0] == pytest.approx(expected[2, 0])


def test_ranks_are_those_among_the_present_values_of_a_column():
    table = some_numbers()
    expected = stats.pearsonr(*complete(table.select(pl.all().rank()), "x", "y")).statistic
    assert matrix(table, ["x", "y", "z"], [])[0, 1] == pytest.approx(expected)


def test_large_instants_keep_their_correlation():
    x = np.arange(50) * 86_400e6 + 1.7e15
    table = pl.DataFrame({"x": x, "y": -np.arange(50.0)})
    assert matrix(table, ["x", "y"], [], ranks=False)[0, 1] == pytest.approx(-1)


def test_cramer_by_hand():
    """Rows 30 10 / 10 30: chi² = 20, n = 80; φ² = .25, less 1/79; k - 1 less 1/79."""
    table = pl.DataFrame(
        {"a": ["p"] * 40 + ["q"] * 40, "b": ["u"] * 30 + ["v"] * 10 + ["u"] * 10 + ["v"] * 30}
    )
    expected = math.sqrt((0.25 - 1 / 79) / (1 - 1 / 79))
    assert matrix(table, [], ["a", "b"])[0, 1] == pytest.approx(expected)


def test_cramer_as_scipy_counts_it():
    rng = np.random.default_rng(2)
    a = rng.integers(0, 4, 500)
    b = np.where(rng.random(500) < 0.4, a % 3, rng.integers(0, 3, 500))
    gone = rng.random(500) < 0.2
    table = pl.DataFrame({"a": a.astype(str), "b": b.astype(str), "x": rng.random(500)})
    table = table.with_columns(pl.when(pl.Series(~gone)).then(pl.col("b")).alias("b"))
    counts = np.histogram2d(a[~gone], b[~gone], bins=(4, 3))[0]
    n, (k, r) = counts.sum(), counts.shape
    phi = stats.chi2_contingency(counts, correction=False).statistic / n
    phi = max(0, phi - (k - 1) * (r - 1) / (n - 1))
    least = min(k - (k - 1) ** 2 / (n - 1), r - (r - 1) ** 2 / (n - 1)) - 1
    found = matrix(table, ["x"], ["a", "b"])
    assert found[1, 2] == pytest.approx(math.sqrt(phi / least))
    assert found[2, 1] == pytest.approx(found[1, 2])


def test_correlation_ratio_by_hand():
    """Groups 1 2 3 and 5 6 7: total 28, between 24; ε² = 1 - (4/28) · 5/4 = 23/28."""
    table = pl.DataFrame({"x": [1.0, 2, 3, 5, 6, 7], "g": ["a"] * 3 + ["b"] * 3})
    for ranks, between, total in ((False, 24, 28), (True, 13.5, 17.5)):
        expected = 1 - (1 - between / total) * 5 / 4
        found = matrix(table, ["x"], ["g"], ranks=ranks)
        assert found[0, 1] == found[1, 0] == pytest.approx(math.sqrt(expected))


def test_independent_columns_have_no_association_whatever_the_size():
    """Uncorrected, V of 9 × 9 levels in 100 rows would be about 0.3."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(40):
        table = pl.DataFrame(rng.integers(0, 9, (100, 2)).astype(str), schema=["a", "b"])
        found.append(matrix(table, [], ["a", "b"])[0, 1])
    assert np.mean(found) < 0.1


@pytest.mark.parametrize(
    "table",
    [
        {"x": [1.0, 2, 3, 4], "y": [1.0, 2, 3, 4], "g": ["a", "b", "a", "b"]},
        {"x": [1.0] * 20, "y": list(range(20)), "g": ["a"] * 20},
        {
            "x": [None] * 15 + [1.0, 2, 3, 4, 5],
            "y": [1.0, 2] * 7 + [1.0] + [None] * 5,
            "g": ["a"] * 20,
        },
    ],
    ids=["four rows", "constant", "never together"],
)
def test_nothing_to_speak_of(table):
    frame = pl.DataFrame(table, schema_overrides={"x": pl.Float64, "y": pl.Float64})
    assert np.isnan(matrix(frame, ["x", "y"], ["g"])).all()


def test_weights_count_rows_again():
    table = people(300, 1).select("age", "income", "sex", "town")
    comparison = compare_tables(table, table)
    rows = rows_of(comparison, ["age", "income"], ["sex", "town"], 50)["train"]
    drawn = np.random.default_rng(4).integers(0, 300, 300)
    again = compare_tables(table[drawn], table, schema=comparison.schema)
    expected = associations(rows_of(again, ["age", "income"], ["sex", "town"], 50)["train"])
    found = associations(rows, np.bincount(drawn, minlength=300).astype(float))
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_agreement_on_nothing_earns_nothing():
    """One strong pair is lost; ninety pairs with nothing in them do not hide it."""
    train = np.zeros((14, 14))
    train[0, 1] = 0.8
    weighted, plain = apart(train, np.zeros((14, 14)))
    assert weighted == pytest.approx(0.8)
    assert plain == pytest.approx(0.8 / 91)


def test_an_invented_association_counts_like_a_lost_one():
    train = np.zeros((3, 3))
    invented = train.copy()
    invented[0, 1] = 0.5
    assert apart(train, invented) == apart(invented, train) == (0.5, pytest.approx(0.5 / 3))


def test_what_both_tables_lack_is_left_out():
    train = np.array([[NAN, NAN, 0.4], [NAN, NAN, NAN], [0.4, NAN, NAN]])
    assert apart(train, train * 0.5) == (pytest.approx(0.2), pytest.approx(0.2))


@pytest.fixture(scope="module")
def found() -> Finding:
    train, holdout = people(500, 1), people(500, 2)
    broken = people(500, 3).with_columns(
        pl.col("income").shuffle(1), children=pl.when(pl.col("sex") == "f").then(2).otherwise(0)
    )
    return us.assess(train, broken, holdout=holdout, measures=["fidelity.correlation"])[
        "fidelity.correlation"
    ]


def test_lost_and_invented_associations_are_found(found):
    assert found.flagged
    assert found.better == "lower"
    lost = next(p for p in found.parts if p.name == "age × income")
    assert lost.more["train"] > 0.3 > abs(lost.more["synthetic"])
    assert lost.unit == "Spearman's ρ"
    assert lost.more["pearson_train"] > 0.2
    invented = found.parts[1]
    assert (invented.name, invented.unit) == ("children × sex", "Cramér's V")
    assert invented.more["synthetic"] == pytest.approx(1, abs=0.01)
    assert found.parts[0].name == "plain mean over all pairs"
    assert found.parts[0].value == found.baselines["plain"] < found.value
    assert {p.unit for p in found.parts[1:]} == {"Spearman's ρ", "Cramér's V", "correlation ratio"}


def test_the_matrix_is_the_parts(found):
    table = found.tables["matrix:association"]
    assert table.columns == ("column", "other", "train", "synthetic", "holdout")
    rows = {" × ".join(sorted(row[:2])): row[2:] for row in table.rows}
    for part in found.parts[1:]:
        train, synthetic, _ = rows[part.name]
        assert abs(np.nan_to_num(train) - np.nan_to_num(synthetic)) == pytest.approx(
            part.value, abs=2e-4
        )
    assert set(found.tables) == {"matrix:association", "matrix:Pearson"}
    assert "pairs with a column that does not vary are left out" in found.note


def test_values_instead_of_ranks():
    train, holdout, synthetic = (people(200, seed) for seed in (1, 2, 3))
    comparison = compare_tables(train, synthetic, holdout)
    made = correlation(comparison, scale="values", resamples=2)
    part = next(p for p in made.parts if p.name == "age × income")
    expected = stats.pearsonr(*complete(train, "age", "income")).statistic
    assert part.unit == "Pearson's r"
    assert part.more["train"] == pytest.approx(expected, abs=5e-5)
    assert "spearman_train" in part.more
    with pytest.raises(us.UnderstudyError, match="scale"):
        correlation(comparison, scale="logs")


def test_a_wide_table_is_capped_and_says_so():
    rng = np.random.default_rng(5)
    tables = [pl.DataFrame(rng.normal(size=(50, 12))) for _ in range(2)]
    made = correlation(compare_tables(*tables), resamples=2, pictures=5)
    assert len(made.tables["matrix:association"].rows) == 10
    assert "5 of 12 columns" in made.note


def test_nothing_that_varies():
    table = pl.DataFrame({"a": ["x"] * 30, "b": [1] * 30})
    assert correlation(compare_tables(table, table)).status == "not_applicable"


@pytest.mark.slow
def test_the_reference_is_what_fresh_rows_of_that_size_get():
    values, references = [], []
    for seed in range(30):
        train, synthetic, holdout = (
            people(n, 3 * seed + i).select("age", "income", "sex", "children", "smoker")
            for i, n in enumerate((300, 900, 300))
        )
        made = correlation(compare_tables(train, synthetic, holdout), resamples=2)
        values.append(made.value)
        references.append(made.reference)
    assert np.mean(values) == pytest.approx(np.mean(references), rel=0.12)


def test_draws_of_two_releases_are_paired():
    """Two releases share training and holdout: their difference varies less than each."""
    train, holdout = people(300, 1), people(300, 2)
    other = people(300, 3)
    draws = [
        correlation(compare_tables(train, release, holdout)).draws
        for release in (other, other.sample(fraction=1, shuffle=True, seed=1))
    ]
    assert len(draws[0]) == 50
    apart_by = np.std(draws[0] - draws[1])
    assert 0 < apart_by < math.sqrt(2) * 0.9 * np.std(draws[0])
