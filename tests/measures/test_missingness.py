"""Patterns of missing values, against counts by hand and a slow oracle."""

import itertools

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures.fidelity.missingness import Patterns, joint_shares, missingness

NAME = "fidelity.missingness"


def table(marks: dict[str, str], times: int = 1) -> pl.DataFrame:
    """Draw columns in which a dot is a missing value."""
    return pl.DataFrame({n: [None if c == "." else c for c in m * times] for n, m in marks.items()})


def gaps(gone: np.ndarray) -> pl.DataFrame:
    """Give a table of x with these gaps."""
    return pl.DataFrame(
        {
            f"c{i}": pl.Series(["x"] * len(gone)).set(pl.Series(g), None)
            for i, g in enumerate(gone.T)
        }
    )


def find(*tables: pl.DataFrame, **options) -> Finding:
    return missingness(compare_tables(*tables), **{"resamples": 20, **options})


def test_one_and_two_columns_by_hand():
    """Training: a missing in 1 of 4, b in 1 of 4, together. Synthetic: a in 2 of 4, b in 1, apart.

    One: |1/4 - 2/4| = 1/4 and 0, mean 1/8. Two: both 1/4 → 0, a only 0 → 1/2, b only 0 → 1/4,
    none 3/4 → 1/4: half of 1/4 + 1/2 + 1/4 + 1/2 is 3/4. Mean of 1/8 and 3/4: 7/16.
    """
    train = table({"a": ".xxy", "b": ".uuv", "c": "klkl"}, 25)
    made = table({"a": "..xy", "b": "uu.v", "c": "klkl"}, 25)
    found = find(train, made)
    assert found.value == pytest.approx(7 / 16)
    parts = {part.name: part for part in found.parts}
    assert parts["one column at a time"].value == pytest.approx(1 / 8)
    assert parts["two columns together"].value == pytest.approx(3 / 4)
    assert "three columns together" not in parts
    assert parts["a"].more == {"synthetic": 0.5, "train": 0.25}
    assert "c" not in parts
    assert "Only 2 columns have missing values" in found.note
    rows = {row[0]: row[1:] for row in found.tables["patterns"].rows}
    assert rows == {
        "nothing missing": (0.75, 0.25),
        "a + b": (0.25, 0.0),
        "all other patterns": (0.0, 0.75),
    }


@pytest.mark.parametrize("wide", [1, 2, 3, 6])
def test_joint_shares_as_counted_row_by_row(wide):
    rng = np.random.default_rng(wide)
    gone = rng.random((300, wide)) < rng.random(wide)
    found = joint_shares(Patterns.of(gone))
    assert len(found) == min(wide, 3)
    for ways, shares in enumerate(found, start=1):
        for place, chosen in enumerate(itertools.combinations(range(wide), ways)):
            rows = [tuple(row) for row in gone[:, chosen].tolist()]
            counted = sorted(
                rows.count(p) / 300 for p in itertools.product([False, True], repeat=ways)
            )
            np.testing.assert_allclose(sorted(shares[:, place]), counted, atol=1e-12)


def test_a_broken_relation_of_three_shows_in_three_only():
    """Three columns, any two of them independent, the third decided by the other two."""
    rng = np.random.default_rng(1)
    a, b, free = (rng.random(4000) < 0.5 for _ in range(3))

    def made(*gone: np.ndarray) -> pl.DataFrame:
        return gaps(np.column_stack(gone))

    found = find(made(a, b, a ^ b), made(a, b, free), made(a, b, a ^ b))
    parts = {part.name: part.value for part in found.parts}
    assert parts["three columns together"] == pytest.approx(0.5, abs=0.03)
    assert parts["two columns together"] < 0.05
    assert found.flagged


def test_nothing_missing_is_said():
    whole = table({"a": "xxyy", "b": "uvuv"}, 10)
    found = find(whole, whole)
    assert (found.value, found.interval) == (0.0, (0.0, 0.0))
    assert "nothing to preserve" in found.note
    empty = whole.with_columns(b=pl.lit(None, pl.String))
    assert find(empty, empty).value == 0.0


def test_a_column_lost_altogether_and_values_invented():
    train = table({"a": "xxyy", "b": "uvuv"}, 25)
    lost = find(train, train.with_columns(b=pl.lit(None, pl.String)), train)
    assert lost.value == pytest.approx(1)
    assert lost.reference == 0
    assert lost.flagged
    assert find(train.with_columns(b=pl.lit(None, pl.String)), train).value == pytest.approx(1)


def test_patterns_of_few_records_are_not_shown():
    marks = {"a": "." * 3 + "x" * 97, "b": "." * 50 + "y" * 50, "c": "z" * 96 + "." * 4}
    train = table(marks)
    found = find(train, train, train)
    shown = [row[0] for row in found.tables["patterns"].rows]
    assert shown == ["b", "nothing missing", "all other patterns"]
    parts = {part.name: part for part in found.parts}
    assert parts["a"].more["train"] == parts["c"].more["train"] == 0.05


def test_many_columns_are_capped_and_said():
    rng = np.random.default_rng(3)
    found = find(*(gaps(rng.random((200, 12)) < 0.3) for _ in range(2)), columns=5)
    assert "The 5 of 12 columns" in found.note
    assert len(found.parts) == 3 + 5


@pytest.mark.slow
def test_a_release_twice_as_large_is_held_to_a_nearer_reference():
    """The reference is what fresh rows of the synthetic table's size get."""

    def draw(seed: int, rows: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        return gaps(rng.random((rows, 4)) < [0.1, 0.3, 0.5, 0.2])

    values, references = [], []
    for seed in range(30):
        found = find(*(draw(3 * seed + i, n) for i, n in enumerate((300, 1200, 300))), resamples=2)
        values.append(found.value)
        references.append(found.reference)
    assert np.mean(values) == pytest.approx(np.mean(references), rel=0.1)


def test_too_few_resamples():
    with pytest.raises(us.UnderstudyError, match="resamples = 1"):
        find(people(30, 1), people(30, 2), resamples=1)


def test_by_level():
    result = us.assess(people(300, 1), people(300, 2), measures=[NAME], by="sex")
    assert {"sex = f", "sex = m"} <= {part.name for part in result[NAME].parts}


def test_a_column_that_the_synthetic_table_lost_is_among_those_looked_at():
    rng = np.random.default_rng(3)
    gaps = {f"c{i}": [None if gone else 1.5 for gone in rng.random(200) < 0.2] for i in range(6)}
    train = pl.DataFrame({**gaps, "lost": rng.normal(size=200)})
    made = train.with_columns(lost=pl.lit(None, pl.Float64))
    found = find(train, made, columns=3)
    assert "lost" in [part.name for part in found.parts]
