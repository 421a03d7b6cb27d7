"""Identifiers made anew: unique, in the column's form, and the same whatever the real values."""

import uuid

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.schema.inference import infer_column
from understudy.synthesizers.holding import Identifier


def fresh(values: list, rows: int, *, reads: bool = True) -> list:
    series = pl.Series("id", values, dtype=None if values else pl.String)
    column = infer_column(series)
    made = Identifier.fit(series if reads else None, column)
    again = Identifier.from_dict(made.to_dict(), us.Schema((column,)))
    assert again == made
    whole = made.values(0, rows, rows)
    parts = [made.values(i, min(i + 7, rows), rows) for i in range(0, rows, 7)]
    assert pl.concat(parts).equals(whole)
    assert whole.n_unique() == rows
    return whole.to_list()


def test_whole_numbers_count():
    assert fresh([100 * i for i in range(30)], 4) == [1, 2, 3, 4]
    assert fresh([100.0 * i for i in range(30)], 2) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("form", "first", "last"),
    [
        (lambda i: f"CUST-{i:04d}", "CUST-0001", "CUST-0300"),
        (lambda i: f"{'XYZ'[i % 3]}{i:03d}", "A001", "A300"),
        (lambda i: f"{i:02d}"[::-1].zfill(3) + "/x", "001/x", "300/x"),
        (lambda i: "ghijkl"[i % 6] * 4, "aaab", "aalo"),
        (lambda i: f"a\0{i:04d}\0", "a\x000001\0", "a\x000300\0"),
        (lambda i: "é" + chr(97 + i % 20) + chr(65 + i % 20), "éaB", "élO"),
    ],
)
def test_texts_have_the_form_of_the_real_ones(form, first, last):
    made = fresh([form(i) for i in range(300)], 300)
    assert (made[0], made[-1]) == (first, last)


def test_universal_identifiers():
    rng = np.random.default_rng(1)
    real = [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(100)]
    made = fresh(real, 1000)
    assert made[0] == "00000000-0000-0000-0000-000000000001"
    assert made[-1].endswith("3e8")
    assert not set(made) & set(real)


def test_forms_that_are_too_short_grow():
    made = fresh([f"a{i}" for i in range(10)] * 3, 1234)
    assert (made[0], made[-1]) == ("a0001", "a1234")


def test_a_form_that_few_rows_share_is_not_followed():
    assert fresh(["Anna Meier", "x", "yy", "Berta Gruber", "zzz", "abcd"], 2) == [
        "id-001",
        "id-002",
    ]
    assert fresh(["x1", "y22", "z333", "x4444", "y55555"], 3) == ["1", "2", "3"]
    assert fresh([], 2) == ["1", "2"]
    assert fresh(["same"] * 30, 2) == ["1", "2"]
    assert fresh([f"CUST-{i:04d}" for i in range(50)], 2, reads=False) == ["1", "2"]


@pytest.mark.parametrize("method", ["independent", "forest"])
def test_they_do_not_depend_on_the_real_ones(method):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"id": [f"K{i:05d}" for i in range(200)], "x": rng.integers(0, 5, 200)})
    other = frame.with_columns(id=pl.Series([f"K{i:05d}" for i in rng.permutation(90_000)[:200]]))
    made = [
        us.synthesizer(method, constraints=["unique id"], seed=1).fit(f).sample(500)
        for f in (frame, other)
    ]
    assert made[0].equals(made[1])
    assert made[0]["id"].n_unique() == 500
    assert made[0].columns == ["id", "x"]


def test_a_number_that_is_declared_unique():
    frame = pl.DataFrame({"x": [1, 2] * 6, "nr": [10 * i for i in range(12)]})
    made = us.synthesizer("bootstrap", constraints=["unique nr"]).fit(frame).sample(40)
    assert made["nr"].to_list() == list(range(1, 41))
    assert made.schema == frame.schema
