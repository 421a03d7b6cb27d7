"""The distinguishing game, on cases whose answer is known."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.data.matrix import groups
from understudy.judging.comparison import compare_tables
from understudy.judging.rates import area
from understudy.measures.fidelity.detection import (
    Interplay,
    Judge,
    alone,
    detection,
    excesses,
    in_words,
    over_folds,
)

NAME = "fidelity.detection"


def play(train, synthetic, holdout, **options):
    return detection(
        compare_tables(train, synthetic, holdout), **{"iterations": 20, "folds": 3, **options}
    )


def test_fresh_rows_cannot_be_told():
    found = play(people(400, 1), people(400, 2), people(400, 3))
    assert found.interval[0] < 0.5 < found.interval[1]
    assert not found.flagged
    assert found.reference == pytest.approx(0.5, abs=0.1)


def test_a_copy_of_training_gets_the_reference():
    train, holdout = people(400, 1), people(400, 3)
    found = play(train, train.sample(fraction=1, shuffle=True, seed=1), holdout)
    assert found.value == found.reference
    assert found.value == pytest.approx(0.5, abs=0.1)


def test_a_copy_of_the_holdout_is_a_coin_and_not_less():
    """Were twins in different folds, the model would say the opposite of each."""
    holdout = people(400, 3)
    found = play(people(400, 1), holdout, holdout)
    assert found.value == pytest.approx(0.5, abs=0.02)
    assert not found.flagged


def test_repeated_rows_do_not_give_themselves_away():
    train, holdout = people(300, 1), people(600, 3)
    repeated = train.sample(600, with_replacement=True, seed=1)
    assert play(train, repeated, holdout).value < 0.65


def test_a_shifted_table_is_told_and_the_column_named():
    made = people(400, 2).with_columns(age=pl.col("age") + 40)
    found = play(people(400, 1), made, people(400, 3))
    assert found.value > 0.9
    assert found.flagged
    assert found.p_value < 0.001
    assert found.parts[0].name == "age"
    assert found.parts[0].value > 0.2


def test_a_broken_relation_is_told():
    rng = np.random.default_rng(1)

    def table(related: bool) -> pl.DataFrame:
        a = rng.standard_normal(500)
        return pl.DataFrame({"a": a, "b": a if related else rng.permutation(a)})

    found = play(table(True), table(False), table(True))
    assert found.value > 0.9
    together = next(part for part in found.parts if part.name == "a × b")
    assert together.value > 0.2
    assert "and by the combination of a and b" in found.note


def test_columns_that_tell_by_themselves_are_no_combination():
    """Two columns are shifted, and independent of each other."""
    rng = np.random.default_rng(2)

    def table(shift: float) -> pl.DataFrame:
        return pl.DataFrame(
            {"a": rng.normal(shift, 1, 500), "b": rng.normal(-shift, 1, 500), "c": rng.random(500)}
        )

    found = play(table(0), table(0.8), table(0))
    assert found.flagged
    assert {part.name for part in found.parts[:2]} == {"a", "b"}
    assert not [part for part in found.parts if "×" in part.name]
    assert "Mostly told apart by" in found.note
    assert "combination" not in found.note


def test_a_tree_and_a_forest_play_in_the_same_folds():
    made = people(300, 2).with_columns(age=pl.col("age") + 40)
    found = play(people(300, 1), made, people(300, 3))
    models = {part.name: part for part in found.parts[-2:]}
    assert set(models) == {"model: tree", "model: forest"}
    for part in models.values():
        assert part.value > 0.8
        assert part.reference == pytest.approx(0.5, abs=0.12)
        assert part.interval[0] < part.value < part.interval[1]


def test_other_models_give_a_copy_of_training_the_reference_too():
    train, holdout = people(200, 1), people(200, 3)
    found = play(train, train, holdout)
    assert [part.value == part.reference for part in found.parts[-2:]] == [True, True]
    assert "told apart" not in found.note


def test_what_is_lost_when_one_column_or_two_are_shuffled():
    """A model that sees whether two signs agree: either shuffle loses all, and so do both."""

    class Signs:
        def decision_function(self, matrix):
            return matrix[:, 0] * matrix[:, 1] + 0.0 * matrix[:, 2]

    rng = np.random.default_rng(3)
    matrix = rng.choice([-1.0, 1.0], (4000, 3))
    judge = Judge(Signs(), matrix, matrix[:, 0] * matrix[:, 1] > 0)
    lost = alone(judge, ("a", "b", "c"), np.random.default_rng(1))
    assert lost["a"] == pytest.approx(0.5, abs=0.03)
    assert lost["b"] == pytest.approx(0.5, abs=0.03)
    assert lost["c"] == 0
    needed = excesses(judge, ("a", "b", "c"), ["a", "b", "c"], np.random.default_rng(1))
    assert needed["a", "b"] == pytest.approx(0.5, abs=0.05)
    assert needed["a", "c"] == pytest.approx(0, abs=0.05)


def test_a_pair_is_named_only_if_it_is_more_than_noise():
    assert Interplay(("a", "b"), 0.02, 0.003).tells
    assert not Interplay(("a", "b"), 0.02, 0.01).tells
    assert not Interplay(("a", "b"), 0.004, 0.0).tells
    folds = [{("a", "b"): 0.1, ("a", "c"): 0.0}, {("a", "b"): 0.3, ("a", "c"): 0.0}, {}]
    found, other = over_folds(folds)
    assert (found.names, other.names) == (("a", "b"), ("a", "c"))
    assert found.value == pytest.approx(0.2)
    # variances of the means .01 and 0: shared .005, and the first pair's own where it is larger
    assert found.error == pytest.approx(0.1)
    assert other.error == pytest.approx(0.1 / np.sqrt(2))


def test_no_single_column():
    assert "No single column" in in_words({"a": 0.004, "b": 0.001}, ())


def test_unequal_sizes_are_said():
    found = play(people(300, 1), people(600, 2), people(300, 3))
    assert "300 of 600 synthetic rows" in found.note
    assert "option rows" in play(people(99, 1), people(90, 2), people(90, 3), rows=60).note


def test_small_tables():
    assert play(people(50, 1), people(19, 2), people(50, 3)).status == "not_applicable"
    found = play(people(5, 1), people(50, 2), people(50, 3))
    assert found.reference == 0.5
    assert "by theory" in found.note


def test_no_holdout_is_not_applicable():
    result = us.assess(people(50, 1), people(50, 2), measures=[NAME])
    assert result[NAME].status == "not_applicable"


def test_few_values_are_played_by_rows():
    rng = np.random.default_rng(2)
    train, holdout = (pl.DataFrame({"sex": rng.choice(["f", "m"], 400)}) for _ in range(2))
    made = pl.DataFrame({"sex": rng.choice(["f", "m"], 400, p=[0.9, 0.1])})
    found = play(train, made, holdout)
    assert found.value == pytest.approx(0.7, abs=0.05)
    assert found.flagged
    assert "twins" in found.note


def test_same_seed_same_finding():
    tables = [people(200, seed) for seed in (1, 2, 3)]
    assert play(*tables) == play(*tables)


def test_one_fold_is_an_error():
    with pytest.raises(us.UnderstudyError, match="folds = 1"):
        play(*[people(50, seed) for seed in (1, 2, 3)], folds=1)


def test_area_by_hand():
    """The positives win 3 of 4 comparisons; a tie counts one half."""
    positive = np.array([False, False, True, True])
    assert area(np.array([1.0, 3.0, 2.0, 4.0]), positive) == 0.75
    assert area(np.array([1.0, 2.0, 2.0, 4.0]), positive) == 0.875
    assert area(np.zeros(4), positive) == 0.5


def test_features():
    table = pl.DataFrame(
        {"n": ["1", "2.5", "N", None] * 9, "c": ["b", "b", "b", None] * 9, "k": ["x"] * 36}
    )
    schema = us.Schema(
        (us.Column("n", "number"), us.Column("c", "category"), us.Column("k", "constant"))
    )
    comparison = compare_tables(table, table, table, schema=schema)
    made = comparison.matrix(("synthetic", "holdout"))
    assert made.columns == ("c", "n", "n")
    assert made.is_category.tolist() == [True, False, True]
    rows = made.tables["synthetic"]
    assert len(np.unique(groups(rows))) == 4
    assert np.isnan(rows).sum(axis=0).tolist() == [9, 18, 27]


@pytest.mark.slow
def test_intervals_cover_a_coin():
    """The doubled variance is near the truth for small tables and above it for large ones."""
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(100):
        tables = [pl.DataFrame(rng.standard_normal((200, 4)).round(1)) for _ in range(3)]
        low, high = play(*tables, iterations=10, folds=5).interval
        covered.append(low <= 0.5 <= high)
    assert 0.89 <= np.mean(covered) <= 0.99


@pytest.mark.slow
def test_adult(real_data):
    tables = [real_data(f"adult_{part}") for part in ("trn", "synthpop", "val")]
    found = detection(compare_tables(*tables))
    assert found.value == pytest.approx(0.580, abs=0.01)
    assert found.reference == pytest.approx(0.5, abs=0.01)
    assert "Mostly told apart by" in found.note
