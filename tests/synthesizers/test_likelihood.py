"""The chance of rows, against the frequencies of many samples."""

import itertools

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.tables import Table
from understudy.synthesizers.columns import COLUMN_METHODS
from understudy.synthesizers.generators import NamedGenerator

SAMPLES = 200_000


@pytest.fixture(scope="module")
def table() -> Table:
    """Categories, a small domain of numbers, a number with missing values and a word."""
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], 120)
    grade = np.where(sex == "f", rng.integers(1, 4, 120), rng.integers(2, 4, 120))
    wage = [f"{10 * g + 0.5 * rng.integers(0, 2)}" for g in grade]
    wage = [None if rng.random() < 0.2 else "N" if rng.random() < 0.1 else w for w in wage]
    return Table.of(pl.DataFrame({"sex": sex, "grade": grade, "wage": wage}))


def domain(table: Table) -> Table:
    levels = [table.frame[name].unique().sort().to_list() for name in table.frame.columns]
    frame = pl.DataFrame(list(itertools.product(*levels)), schema=table.frame.schema, orient="row")
    return Table.of(frame, table.schema)


METHODS = {
    "bootstrap": ("bootstrap", {}),
    "independent": ("independent", {}),
    "cart": ("cart", {}),
    "pruned": ("cart", {"minbucket": 20}),
    "tree": ("sequential", {"method": "tree", "minbucket": 3}),
    "classes": ("sequential", {"method": "tree", "classes": True}),
    "sample": ("sequential", {"method": "sample"}),
    "mixed": ("sequential", {"methods": {"sex": "sample", "grade": "tree", "wage": "cart"}}),
    "visit": ("sequential", {"visit": ["wage", "sex", "grade"]}),
    "rules": ("sequential", {"rules": ["grade is 2 where sex == 'm'"]}),
}


@pytest.mark.parametrize("name", METHODS)
def test_chances_are_the_frequencies_of_many_samples(table, name):
    method, options = METHODS[name]
    if name == "rules":
        frame = table.frame.filter((pl.col("sex") == "f") | (pl.col("grade") == 2))
        table = Table(frame, table.schema)
    every = domain(table)
    made = us.synthesizer(method, seed=1, **options).fit(table)
    chances = np.exp(made.method.log_likelihood(every))
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    drawn = Table.of(made.sample(SAMPLES), table.schema).frame.group_by(pl.all()).len("n")
    joined = every.frame.join(drawn, on=every.frame.columns, how="left", nulls_equal=True)
    joined = every.frame.with_row_index().join(
        joined, on=every.frame.columns, nulls_equal=True, maintain_order="left"
    )
    shares = joined["n"].fill_null(0).to_numpy() / SAMPLES
    wide = 5 * np.sqrt(chances * (1 - chances) / SAMPLES) + 1e-12
    assert (abs(shares - chances) <= wide).all()
    assert (shares[chances == 0] == 0).all()
    assert (chances > 0).sum() > 5
    own = NamedGenerator(method, options).log_likelihood(table, every)
    np.testing.assert_allclose(np.exp(own), chances, rtol=1e-12)


def test_a_forest_of_trees_gives_the_chance_under_its_fit(table):
    made = us.synthesizer("sequential", method="random_forest", trees=5, seed=2).fit(table)
    every = domain(table)
    chances = np.exp(made.method.log_likelihood(every))
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    assert (
        NamedGenerator("sequential", {"method": "random_forest"}).log_likelihood(table, every)
        is None
    )


@pytest.mark.parametrize("method", [name for name in COLUMN_METHODS if name != "keep"])
def test_a_column_method_that_is_exact_has_samplers_that_know_their_shares(table, method):
    made = us.synthesizer("sequential", method=method, trees=3, rounds=3, seed=1).fit(table).method
    known = all(model.knows_chances(made.options()) for model in made.models_)
    assert known == (COLUMN_METHODS[method].exact or method == "random_forest")
    assert (made.log_likelihood(table) is not None) == known


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("cart", {"smooth": True}),
        ("cart", {"proper": True}),
        ("sequential", {"method": "linear"}),
        ("sequential", {"methods": {"grade": "pmm"}}),
        ("forest", {}),
        ("flip", {}),
    ],
)
def test_who_cannot_tell_says_so(table, method, options):
    assert NamedGenerator(method, options).log_likelihood(table, table) is None
    assert not NamedGenerator(method, options).knows_chances(table.schema)


def test_values_never_seen_have_no_chance(table):
    strange = pl.DataFrame(
        {"sex": ["x", "f", "f"], "grade": [1, 9, 1], "wage": ["10.0", "10.0", "77.7"]}
    )
    rows = Table.of(strange.cast(table.frame.schema), table.schema)
    for method in ("cart", "bootstrap", "independent"):
        assert NamedGenerator(method).log_likelihood(table, rows).tolist() == [-np.inf] * 3


def test_no_rows_have_no_chances(table):
    for method in ("cart", "bootstrap", "independent"):
        assert (
            len(NamedGenerator(method).log_likelihood(table, Table(table.frame[:0], table.schema)))
            == 0
        )
