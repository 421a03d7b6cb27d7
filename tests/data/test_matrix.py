"""Tables as features: what a feature is, in which order rows and levels stand, and its forms."""

import numpy as np
import polars as pl
import pytest

from people import people
from understudy.data.matrix import Matrix, groups, mixed, one_hot, places, ranks
from understudy.data.source import source_of
from understudy.data.tables import Table


def tables(*frames: pl.DataFrame) -> dict[str, Table]:
    first = Table.of(frames[0])
    return dict(zip("abc", [first, *(Table.of(f, first.schema) for f in frames[1:])], strict=False))


def of(*frames: pl.DataFrame, **options) -> Matrix[str]:
    return Matrix.of({name: source_of(t) for name, t in tables(*frames).items()}, **options)


def test_levels_are_numbered_by_how_often_all_tables_have_them() -> None:
    made = of(pl.DataFrame({"x": ["a", "b", None]}), pl.DataFrame({"x": ["b", "c", "b"]}))
    assert made.columns == ("x",)
    assert made.is_category.tolist() == [True]
    np.testing.assert_array_equal(made.tables["a"][:, 0], [1, 0, np.nan])
    np.testing.assert_array_equal(made.tables["b"][:, 0], [0, 2, 0])


def test_a_word_among_numbers_is_a_second_feature() -> None:
    numbers = [str(i / 2) for i in range(40)]
    made = of(pl.DataFrame({"x": [*numbers, "none", "none", None]}))
    assert made.columns == ("x", "x")
    assert made.is_category.tolist() == [False, True]
    assert np.isnan(made.tables["a"][-3:, 0]).all()
    assert np.isnan(made.tables["a"][:-3, 1]).all()
    assert made.tables["a"][-3:-1, 1].tolist() == [0, 0]


def test_named_columns_alone_and_a_target_beside_them() -> None:
    made = of(people(50, 1), people(30, 2), names=["town", "age", "sex"], target="sex")
    assert made.columns == ("age", "town")
    assert made.classes == ("f", "m")
    real = people(50, 1)["sex"].to_list()
    assert [made.classes[c] for c in made.targets["a"]] == real
    assert len(made.tables["b"]) == 30


def test_rows_in_order_do_not_depend_on_how_a_table_was_sorted() -> None:
    real = people(50, 1)
    first, second = of(real, target="sex"), of(real.reverse(), target="sex")
    assert not np.array_equal(first.targets["a"], second.targets["a"])
    for one, other in zip(
        (first.in_order().tables["a"], first.in_order().targets["a"]),
        (second.in_order().tables["a"], second.in_order().targets["a"]),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_two_tables_are_mixed_and_equal_rows_stand_together() -> None:
    rows, second = mixed(np.array([[2.0], [1.0], [np.nan]]), np.array([[1.0], [np.nan]]))
    np.testing.assert_array_equal(rows[:, 0], [1, 1, 2, np.nan, np.nan])
    assert second.tolist() == [False, True, False, False, True]
    assert groups(rows).tolist() == [0, 0, 1, 2, 2]


def test_numbers_as_they_are_beside_marks_of_levels() -> None:
    rows = np.array([[5.0, 1.0], [6.0, 2.0], [7.0, 2.0]])
    own, other = one_hot(rows, np.array([[9.0, 1.0]]), np.array([False, True]), scaled=False)
    assert own.tolist() == [[5, 0, 1], [6, 1, 0], [7, 1, 0]]
    assert other.tolist() == [[9, 0, 1]]
    own, other = one_hot(rows, rows, np.array([False, True]), levels=1, scaled=False)
    assert own.shape == (3, 2)


def test_ranks_are_standardised_and_rare_marks_left_out() -> None:
    feature = np.concatenate([np.arange(50.0), np.full(12, np.nan)])
    rank, missing = ranks(feature, False)
    assert rank[:50].std() == pytest.approx(1)
    assert not rank[50:].any()
    assert missing.sum() == 12
    assert len(ranks(np.concatenate([np.zeros(30), np.ones(9), np.full(20, 2.0)]), True)) == 1


def test_places_are_those_among_distinct_values() -> None:
    made = places(np.array([[5.0], [np.nan], [1e300], [5.0]]))
    assert made[:, 0].tolist() == [0, -1, 1, 0]
