"""Train on synthetic, test on holdout, on cases whose answer is known."""

import numpy as np
import polars as pl
import pytest

from understudy.judging.comparison import compare_tables
from understudy.measures.utility.classification import (
    agreement,
    by_chance,
    classification,
    same_ranks,
    score,
)
from understudy.measures.utility.training import too_few


def table(rows: int, seed: int, classes: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(rows)
    noisy = x + 0.5 * rng.standard_normal(rows)
    y = np.digitize(noisy, np.linspace(-1, 1, classes + 1)[1:-1])
    return pl.DataFrame({"x": x, "town": rng.choice(["a", "b"], rows), "y": [f"y{i}" for i in y]})


def predict(train, synthetic, holdout, target="y", **options):
    comparison = compare_tables(train, synthetic, holdout, target=target)
    return classification(comparison, **{"iterations": 20, **options})


def part(found, name):
    return next(one for one in found.parts if one.name == name)


def test_fresh_rows_are_as_useful_as_training():
    found = predict(table(500, 1), table(500, 2), table(500, 3))
    assert found.value > 0.9
    assert found.interval[0] < found.reference < found.interval[1]
    assert found.baselines == {"original": found.reference, "naive": 0.5}
    assert [part.name for part in found.parts] == [
        "accuracy",
        "balanced accuracy",
        "F1",
        "F1 of y1",
        "log loss",
        "agreement",
    ]
    assert not found.flagged


def test_a_copy_of_training_is_worth_the_same():
    train = table(300, 1)
    found = predict(train, train.sample(fraction=1, shuffle=True, seed=1), table(300, 3))
    assert found.value == found.reference
    for one in found.parts:
        assert one.value == one.reference
    assert part(found, "agreement").more["all_rows"] == 1


def test_a_shuffled_target_teaches_nothing():
    made = table(500, 2).with_columns(pl.col("y").shuffle(seed=1))
    found = predict(table(500, 1), made, table(500, 3))
    assert found.value == pytest.approx(0.5, abs=0.12)
    assert found.flagged
    assert part(found, "log loss").value > part(found, "log loss").reference
    for name in ("accuracy", "balanced accuracy", "F1", "agreement"):
        assert part(found, name).value < part(found, name).reference - 0.2


@pytest.mark.slow
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
    assert "Fewer than 5 rows of the holdout have it, so not tested: 'y1'" in untested.note


def test_many_classes_are_lumped():
    train, made, holdout = (table(600, seed, classes=6) for seed in (1, 2, 3))
    found = predict(train, made, holdout, classes=3)
    assert "3 of 6 classes are told apart" in found.note
    assert any(part.name == "class (all others)" for part in found.parts)


def test_a_class_that_few_real_rows_have_is_not_named():
    rare = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("secret")).otherwise("y").alias("y")
    tables = [table(200, seed).with_columns(rare) for seed in (1, 2, 3)]
    assert "secret" not in str(predict(*tables).to_dict())


@pytest.mark.slow
def test_a_class_that_few_holdout_rows_have_is_not_tested():
    train, made, holdout = (table(600, seed, classes=3) for seed in (1, 2, 3))
    others = holdout.filter(pl.col("y") != "y1")
    few = pl.concat([others, holdout.filter(pl.col("y") == "y1").head(3)])
    found = predict(train, made, few)
    assert not any(p.name == "class y1" for p in found.parts)
    assert "Fewer than 5 rows of the holdout have it, so not tested: 'y1'" in found.note
    areas = [p.value for p in found.parts if p.name.startswith("class ")]
    assert found.value == pytest.approx(np.mean(areas))
    without = predict(train, made, others)
    assert without == found  # nothing that is shown depends on the three rows
    train, made, holdout = (table(200, seed) for seed in (1, 2, 3))
    one = pl.concat([holdout.filter(pl.col("y") == "y0"), holdout.filter(pl.col("y") == "y1")[:4]])
    found = predict(train, made, one)
    assert found.status == "not_applicable"
    assert "one class only that 5 rows or more have in the holdout" in found.note


def test_a_class_may_have_the_name_of_the_lumped_one():
    train, made, holdout = (
        table(600, seed, classes=6).with_columns(pl.col("y").replace("y5", "(all others)"))
        for seed in (1, 2, 3)
    )
    found = predict(train, made, holdout, classes=3)
    names = [p.name for p in found.parts if p.name.startswith("class ")]
    assert len(set(names)) == 4
    assert {"class (all others)", "class ((all others))"} <= set(names)
    areas = [p.value for p in found.parts if p.name.startswith("class ")]
    assert found.value == pytest.approx(np.mean(areas))


def test_one_class_only():
    train, made, holdout = (table(200, seed) for seed in (1, 2, 3))
    same = pl.lit("y1").alias("y")
    found = predict(train, made.with_columns(same), holdout)
    assert (found.value, found.flagged) == (0.5, True)
    assert "one class only ('y1')" in found.note
    found = predict(train, made, holdout.with_columns(same))
    assert found.status == "not_applicable"
    assert "one class only that 5 rows or more have in the holdout" in found.note
    assert predict(train.with_columns(same), made, holdout).status == "not_applicable"


def test_a_number_is_no_class():
    found = predict(*[table(50, seed) for seed in (1, 2, 3)], target="x")
    assert found.status == "not_applicable"
    assert "utility.regression" in found.note


def test_a_date_is_no_class():
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2022, 1, 1), "1d", eager=True)
    tables = [table(300, seed).with_columns(day=days.sample(300, seed=seed)) for seed in (1, 2, 3)]
    found = predict(*tables, target="day")
    assert found.status == "not_applicable"
    assert "a date, not a category" in found.note


def test_f1_and_balanced_accuracy_by_hand():
    """Four of a are said a, one of them b; of two b one is said b, one c; of one c it is a."""
    truth = np.array([0, 0, 0, 0, 0, 1, 1, 2])
    says = np.array([0, 0, 0, 0, 1, 1, 2, 0])
    found = score(np.eye(3)[says], truth)
    assert found.accuracy == 5 / 8
    assert found.recall == {0: 4 / 5, 1: 1 / 2, 2: 0}
    assert found.balanced_accuracy == pytest.approx((4 / 5 + 1 / 2) / 3)
    assert found.f1 == pytest.approx({0: 8 / 10, 1: 2 / 4, 2: 0})
    assert found.macro_f1 == pytest.approx(1.3 / 3)


def test_the_scores_are_those_of_scikit_learn():
    from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, roc_auc_score

    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 200)
    chances = rng.dirichlet(np.ones(4), 200)
    found = score(chances, truth)
    says = chances.argmax(axis=1)
    assert found.macro_f1 == pytest.approx(f1_score(truth, says, average="macro"))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, says))
    assert found.auc == pytest.approx(roc_auc_score(truth, chances, multi_class="ovr"))
    assert found.log_loss == pytest.approx(log_loss(truth, chances))


def test_agreement_and_ranks_by_hand():
    assert agreement(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2])) == 3 / 4
    assert by_chance(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])) == 1 / 2
    first = {"a": 0.3, "b": 0.2, "c": 0.1, "d": 0.0}
    assert same_ranks(first, {"a": 2.0, "b": 3.0, "c": 1.0, "d": 0.0}) == pytest.approx(0.8)
    assert same_ranks(first, dict.fromkeys(first, 0.0)) is None
    assert same_ranks({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0}) is None


def several(rows: int, seed: int, order: int = 1) -> pl.DataFrame:
    """The target depends on a, then b, then c; with order -1 on c, then b, then a."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 4))
    y = x[:, :3] @ np.array([3, 1.2, 0.5])[::order] + 0.3 * rng.standard_normal(rows)
    return pl.DataFrame({**dict(zip("abcd", x.T, strict=True)), "y": np.where(y > 0, "p", "q")})


def test_importance_ranks_tell_other_reasons():
    train, fresh, holdout = (several(800, seed) for seed in (1, 2, 3))
    found = part(predict(train, fresh, holdout), "importance ranks")
    assert found.value > 0.7
    assert found.reference > 0.7
    turned = predict(train, several(800, 2, order=-1), holdout)
    assert part(turned, "importance ranks").value < found.value - 0.4
    listed = turned.tables["importance"]
    assert [row[0] for row in listed.rows][:3] == ["a", "b", "c"]
    by_synthetic = sorted(listed.rows, key=lambda row: -row[1])
    assert [row[0] for row in by_synthetic][:3] == ["c", "b", "a"]


@pytest.mark.slow
def test_adult(real_data):
    tables = [real_data(f"adult_{part}") for part in ("trn", "synthpop", "val")]
    found = predict(*tables, target="income", iterations=100)
    assert found.value == pytest.approx(0.914, abs=0.005)
    assert found.reference == pytest.approx(0.925, abs=0.005)
    assert found.flagged


def test_sizes_and_missing_targets_are_said():
    train, made, holdout = table(300, 1), table(500, 2), table(300, 3)
    gone = pl.when(pl.int_range(pl.len()) > 4).then("y").alias("y")
    found = predict(train, made, holdout.with_columns(gone))
    assert "300 of 500 synthetic rows" in found.note
    assert "the holdout: 5 rows without a target" in found.note
    few = predict(train, made.head(5), holdout)
    assert few.status == "not_applicable"
    assert "there are 5 and 300" in few.note


def test_few_real_rows_are_not_counted():
    train, made, holdout = table(300, 1), table(300, 2), table(300, 3)
    gone = pl.when(pl.int_range(pl.len()) > 2).then("y").alias("y")
    first = pl.when(pl.int_range(pl.len()) > 0).then("y").alias("y")
    found = predict(train, made.with_columns(first), holdout.with_columns(gone))
    assert "the holdout: fewer than 5 rows without a target" in found.note
    assert "synthetic: 1 row without a target is left out" in found.note
    comparison = {t: np.arange(n) for t, n in (("synthetic", 50), ("train", 3), ("holdout", 2))}
    assert "there are fewer than 5 and fewer than 5" in too_few(comparison, 3)


def test_same_seed_same_finding():
    tables = [table(200, seed) for seed in (1, 2, 3)]
    assert predict(*tables) == predict(*tables)
