"""Train on synthetic, test on holdout, on cases whose answer is known."""

import numpy as np
import polars as pl
import pytest

from understudy.comparison import compare_tables
from understudy.measures.utility.classification import classification


def table(rows: int, seed: int, classes: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(rows)
    noisy = x + 0.5 * rng.standard_normal(rows)
    y = np.digitize(noisy, np.linspace(-1, 1, classes + 1)[1:-1])
    return pl.DataFrame({"x": x, "town": rng.choice(["a", "b"], rows), "y": [f"y{i}" for i in y]})


def predict(train, synthetic, holdout, target="y", **options):
    comparison = compare_tables(train, synthetic, holdout, target=target)
    return classification(comparison, **{"iterations": 20, **options})


def test_fresh_rows_are_as_useful_as_training():
    found = predict(table(500, 1), table(500, 2), table(500, 3))
    assert found.value > 0.9
    assert found.interval[0] < found.reference < found.interval[1]
    assert found.baselines == {"original": found.reference, "naive": 0.5}
    assert {part.name for part in found.parts} == {"accuracy", "log loss"}
    assert not found.flagged


def test_a_copy_of_training_is_worth_the_same():
    train = table(300, 1)
    found = predict(train, train.sample(fraction=1, shuffle=True, seed=1), table(300, 3))
    assert found.value == found.reference


def test_a_shuffled_target_teaches_nothing():
    made = table(500, 2).with_columns(pl.col("y").shuffle(seed=1))
    found = predict(table(500, 1), made, table(500, 3))
    assert found.value == pytest.approx(0.5, abs=0.12)
    assert found.flagged
    assert found.parts[1].value > found.parts[1].reference


def test_several_classes_and_one_that_is_absent():
    train, made, holdout = (table(600, seed, classes=3) for seed in (1, 2, 3))
    found = predict(train, made, holdout)
    areas = [part.value for part in found.parts if part.name.startswith("class ")]
    assert found.value == pytest.approx(np.mean(areas))
    assert found.value > 0.8
    without = predict(train, made.filter(pl.col("y") != "y1"), holdout)
    assert "Absent from synthetic, so never predicted: 'y1'" in without.note
    assert next(p.value for p in without.parts if p.name == "class y1") == 0.5
    untested = predict(train, made, holdout.filter(pl.col("y") != "y1"))
    assert "Absent from the holdout, so not tested: 'y1'" in untested.note


def test_many_classes_are_lumped():
    train, made, holdout = (table(600, seed, classes=6) for seed in (1, 2, 3))
    found = predict(train, made, holdout, classes=3)
    assert "3 of 6 classes are told apart" in found.note
    assert any(part.name == "class (all others)" for part in found.parts)


def test_a_class_that_few_real_rows_have_is_not_named():
    rare = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("secret")).otherwise("y").alias("y")
    tables = [table(200, seed).with_columns(rare) for seed in (1, 2, 3)]
    assert "secret" not in str(predict(*tables).to_dict())


def test_one_class_only():
    train, made, holdout = (table(200, seed) for seed in (1, 2, 3))
    same = pl.lit("y1").alias("y")
    found = predict(train, made.with_columns(same), holdout)
    assert (found.value, found.flagged) == (0.5, True)
    assert "one class only ('y1')" in found.note
    found = predict(train, made, holdout.with_columns(same))
    assert found.status == "not_applicable"
    assert "one class only in the holdout" in found.note
    assert predict(train.with_columns(same), made, holdout).status == "not_applicable"


def test_a_number_is_no_class():
    found = predict(*[table(50, seed) for seed in (1, 2, 3)], target="x")
    assert found.status == "not_applicable"
    assert "utility.regression" in found.note


def test_sizes_and_missing_targets_are_said():
    train, made, holdout = table(300, 1), table(500, 2), table(300, 3)
    gone = pl.when(pl.int_range(pl.len()) > 4).then("y").alias("y")
    found = predict(train, made, holdout.with_columns(gone))
    assert "300 of 500 synthetic rows" in found.note
    assert "the holdout: 5 rows without a target" in found.note
    assert predict(train, made.head(5), holdout).status == "not_applicable"


def test_same_seed_same_finding():
    tables = [table(200, seed) for seed in (1, 2, 3)]
    assert predict(*tables) == predict(*tables)
