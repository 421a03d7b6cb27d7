"""What sampling promises for every method: batches, given values, one type a column."""

import polars as pl
import pytest

import understudy as us
from people import people
from understudy.synthesizers import native

METHODS = native()  # what runs a foreign program has tests of its own
pytestmark = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def fitted():
    kept = {}

    def fit(method: str):
        if method not in kept:
            kept[method] = us.synthesizer(method, seed=2).fit(people(300, 1))
        return kept[method]

    return fit


def test_batches_together_are_the_sample(method, fitted, monkeypatch):
    made = fitted(method)
    whole = made.sample(40, seed=2)
    monkeypatch.setattr("understudy.synthesizers.drawing.BATCH", 40)
    batches = list(made.batches(100, seed=2))
    assert [batch.height for batch in batches] == [40, 40, 20]
    assert len({tuple(batch.schema.items()) for batch in batches}) == 1
    assert pl.concat(batches).equals(made.sample(100, seed=2))
    assert batches[0].equals(whole)
    assert not batches[0].equals(batches[1])
    assert [batch.height for batch in made.batches(0)] == [0]
    assert not batches[1].equals(list(made.batches(80, replicate=1))[1])


def test_rows_with_given_values(method, fitted):
    made = fitted(method)
    some = made.sample(200, given={"sex": "f", "smoker": False}, seed=2)
    assert some.height == 200
    assert set(some["sex"]) == {"f"}
    assert set(some["smoker"]) == {False}
    assert some["town"].n_unique() > 10
    assert some.schema == made.sample(1).schema
    assert some.equals(made.sample(200, given={"sex": "f", "smoker": False}, seed=2))
    assert made.sample(0, given={"sex": "f"}).height == 0
    assert made.sample(30, given={"income": None})["income"].null_count() == 30


def test_a_column_has_one_type_whatever_a_batch_holds(method, monkeypatch):
    rows = 400
    real = pl.DataFrame(
        {
            "count": [str(i) for i in range(rows - 8)] + ["N"] * 8,
            "share": [f"{i / 7:.3f}" for i in range(rows - 8)] + ["none"] * 8,
            "limit": [float(i) for i in range(rows - 8)] + [float("inf")] * 8,
            "sex": ["f", "m"] * (rows // 2),
        }
    )
    made = us.synthesizer(method, seed=1).fit(real)
    monkeypatch.setattr("understudy.synthesizers.drawing.BATCH", 5)
    assert {tuple(batch.dtypes) for batch in made.batches(300)} == {
        (pl.String, pl.String, pl.Float64, pl.String)
    }
