"""Properties that every synthesizer must have, run over the whole dict of methods."""

from functools import cache

import polars as pl
import pytest

import understudy as us
from people import people
from understudy.synthesizers import SYNTHESIZERS, native

METHODS = native()  # what runs a foreign program has tests of its own
pytestmark = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def train() -> pl.DataFrame:
    return people(300, 1)


@pytest.fixture(scope="module")
def fitted(train):
    """Fit each method once, for what asks a fitted one only."""
    return cache(lambda method: fit(method, train))


def fit(method: str, train, seed: int = 0):
    return us.synthesizer(method, seed=seed).fit(train)


@pytest.mark.parametrize("rows", [None, 0, 1, 7, 1000])
def test_schema_and_number_of_rows(method, train, fitted, rows):
    made = fitted(method).sample(rows)
    expected = train.drop("person_id")
    assert made.columns == expected.columns
    assert made.dtypes == expected.dtypes
    assert made.height == (train.height if rows is None else rows)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars"])
def test_the_callers_kind_of_frame(method, train, kind):
    given = {"pandas": train.to_pandas, "pyarrow": train.to_arrow, "polars": lambda: train}[kind]()
    before = given.copy() if kind == "pandas" else None
    made = fit(method, given).sample(20)
    assert type(made) is type(given)
    if kind == "pandas":
        assert (made.dtypes == given.drop(columns="person_id").dtypes).all()
        assert given.equals(before)
    if kind == "pyarrow":
        assert made.schema == given.drop_columns(["person_id"]).schema


def test_same_seed_same_bytes(method, train):
    first, again = fit(method, train, 3).sample(50), fit(method, train, 3).sample(50)
    assert first.equals(again, null_equal=True)
    assert not first.equals(fit(method, train, 4).sample(50), null_equal=True)


def test_replicates_differ(method, fitted):
    made = fitted(method)
    assert not made.sample(50, replicate=0).equals(made.sample(50, replicate=1), null_equal=True)


def test_missing_values_stay_missing(method, fitted):
    made = fitted(method).sample(2000)
    assert made["nothing"].null_count() == 2000
    assert 0.02 < made["income"].null_count() / 2000 < 0.25
    assert made["town"].null_count() == 0


def test_sampling_without_the_real_data_after_save_and_load(method, train, fitted, tmp_path):
    made = fitted(method)
    made.save(tmp_path / "model.understudy")
    loaded = us.load(tmp_path / "model.understudy")
    assert loaded.sample(40).equals(made.sample(40, seed=0), null_equal=True)
    assert loaded.sample().height == train.height
    made.save(tmp_path / "again.understudy")
    assert (tmp_path / "again.understudy").read_bytes() == (
        tmp_path / "model.understudy"
    ).read_bytes()


def test_training_is_unchanged(method, train):
    copy = train.clone()
    fit(method, train).sample(10)
    assert train.equals(copy)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_tiny_tables(method, rows):
    train = people(rows, 4)
    if method in ("forest", "bayes", "copula") and rows < 5:
        with pytest.raises(us.UnderstudyError, match="fewer than 5 rows"):
            fit(method, train)
        return
    assert fit(method, train).sample(10).height == 10


def test_no_rows_is_an_error(method, train):
    with pytest.raises(us.UnderstudyError, match="no rows"):
        fit(method, train.head(0))


def test_unknown_and_impossible_options(method, fitted):
    with pytest.raises(us.UnderstudyError, match="no option"):
        us.synthesizer(method, nonsense=1)
    with pytest.raises(us.UnderstudyError, match="rows = -1"):
        fitted(method).sample(-1)
    with pytest.raises(us.UnderstudyError, match="not been fitted"):
        us.synthesizer(method).sample(1)


def test_cards_are_complete(method):
    card = SYNTHESIZERS[method].card
    assert card.name == method
    optional = ("coarser", "finer", "abilities")  # not every method has options for it
    assert all(text for name, text in card.to_dict().items() if name not in optional)
