"""Attribution within a radius: worked by hand, its laws, its attackers, and bad input."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from packaged import patients
from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.privacy.attribution import correct_attribution
from understudy.measures.privacy.coding import KeyPoints
from understudy.measures.privacy.guesses import SensitiveColumn
from understudy.measures.privacy.radius import radius_attribution, radius_guess


def guess(persons, table, truth, values, is_category=None, **more):
    """One key column; numbers as they are."""
    known = KeyPoints(
        np.array(persons, float)[:, None],
        np.array(table, float)[:, None],
        np.array([bool(is_category)]),
        ("k",),
    )
    secret = SensitiveColumn("y", True, np.array(truth, float), np.array(values, float), 0)
    return radius_guess(known, [secret], **more)[0].guess


def part(finding, name):
    return next(p for p in finding.parts if p.name == name)


def test_weights_by_hand():
    # from 0: weights 1/1 and 1/2 on 6 and 12, so (6 + 6) / 1.5; from 2: an exact record alone
    assert guess([0, 2], [1, 2], [0, 0], [6, 12]) == pytest.approx([8.0, 12.0])
    assert guess([0, 2], [1, 2], [0, 0], [6, 12], inverse=False) == pytest.approx([9.0, 9.0])
    assert guess([0, 2], [1, 2], [0, 0], [6, 12], radius=1.0) == pytest.approx([6.0, 12.0])


def test_nobody_within_the_radius_and_missing_values_are_no_guess():
    found = guess([0, 9], [0, 9, 9], [1, 1], [4, np.nan, np.nan], radius=0.0)
    assert found[0] == 4.0
    assert np.isnan(found[1])


def test_categories_are_the_root_of_two_apart():
    found = guess([0], [1, 2], [0], [3, 5], is_category=True, radius=math.sqrt(2) - 1e-9)
    assert np.isnan(found[0])
    assert guess([0], [1, 2], [0], [3, 5], is_category=True, radius=1.4143) == [4.0]


def small(rows, seed, rare=0):
    """Categories that depend on each other, some missing."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, rows), rng.integers(0, 4, rows)
    c = (a + b + rng.integers(0, 2, rows)) % 3
    letters = [pl.Series(list("uvwxyz"))[int(i)] for i in a]
    frame = pl.DataFrame({"a": letters, "b": [f"b{i}" for i in b], "c": [f"c{i}" for i in c]})
    gone = pl.Series(rng.random(rows) < 0.1)
    return frame.with_columns(
        pl.when(gone).then(None).otherwise(pl.col("b")).alias("b"),
        pl.when(gone.shift(1, fill_value=False)).then(None).otherwise(pl.col("c")).alias("c"),
    )


def slow_cap(persons, release, keys, target):
    """Each person's share of records with the same keys that have the person's value."""
    made = []
    for person in persons.iter_rows(named=True):
        matches = [r for r in release.iter_rows(named=True) if all(r[k] == person[k] for k in keys)]
        right = [r for r in matches if r[target] == person[target]]
        made.append(len(right) / len(matches) if matches else math.nan)
    return np.array(made)


@given(seed=st.integers(0, 999), rows=st.integers(10, 40))
@settings(max_examples=25)
def test_radius_zero_with_categorical_keys_is_correct_attribution(seed, rows):
    train, holdout, release = (small(rows, 3 * seed + i) for i in range(3))
    keys = ("a", "b")
    cap = [slow_cap(t, release, keys, "c") for t in (train, holdout)]
    comparison = compare_tables(train, release, holdout, keys=keys, sensitive=("c",))
    found = radius_attribution(comparison, radius=0, permutations=19)
    if min((~np.isnan(c)).sum() for c in cap) < 5:
        assert found.status == "not_applicable"
        return
    share = part(found, "c: share on the true level")
    assert share.value == pytest.approx(np.nanmean(cap[0]))
    assert share.reference == pytest.approx(np.nanmean(cap[1]))
    assert share.more["original"] == pytest.approx(slow_cap(train, train, keys, "c").mean())
    theirs = correct_attribution(comparison, permutations=19).tables["attribution"].rows
    undefined = next(row for row in theirs if row[1] == "CAP undefined")
    assert undefined[-2:] == pytest.approx((share.value, share.reference))
    dcap = next(row for row in theirs if row[1] == "CAP 0 (DCAP)")
    reached = [p for p in found.parts if "within the radius" in p.name]
    matched = reached[0].value if reached else 1.0
    assert dcap[-2] == pytest.approx(matched * share.value)


def test_equal_weights_without_a_radius_are_the_plain_mean():
    tables = [people(150, seed) for seed in (1, 2, 3)]
    comparison = compare_tables(
        tables[0], tables[1], tables[2], keys=("sex", "age"), sensitive=("income", "town")
    )
    found = radius_attribution(comparison, weights="equal", permutations=19)
    for name in ("income", "town"):
        assert part(found, name).value == pytest.approx(part(found, name).more["naive"])
    mae = part(found, "income: MAE")
    guessed = tables[1]["income"].mean()
    assert mae.value == pytest.approx((tables[0]["income"] - guessed).abs().mean())
    assert mae.reference == pytest.approx((tables[2]["income"] - guessed).abs().mean())
    assert mae.more["naive"] == pytest.approx(mae.value)
    assert mae.more["spread"] == 0
    level = part(found, "town: share on the true level")
    shares = dict(tables[1]["town"].value_counts(normalize=True).iter_rows())
    wanted = np.mean([shares.get(town, 0) for town in tables[0]["town"]])
    assert level.value == pytest.approx(wanted)


def test_scores_against_scikit_learn():
    from sklearn.metrics import mean_absolute_percentage_error, r2_score
    from sklearn.neighbors import RadiusNeighborsRegressor

    frame = patients().sample(fraction=1, shuffle=True, seed=3)
    train, release, holdout = frame[:140], frame[140:300], frame[300:]
    keys = ["age", "s5"]
    comparison = compare_tables(train, release, holdout, keys=tuple(keys), sensitive=("bmi",))
    found = radius_attribution(comparison, permutations=19)
    pool = pl.concat([train, holdout]).select(keys).to_numpy()
    scale = [(t.select(keys).to_numpy() - pool.mean(0)) / pool.std(0) for t in (release, train)]
    model = RadiusNeighborsRegressor(radius=1e9, weights="distance").fit(scale[0], release["bmi"])
    guessed = model.predict(scale[1])
    truth = train["bmi"].to_numpy()
    assert part(found, "bmi: MAE").value == pytest.approx(np.abs(truth - guessed).mean())
    wanted = mean_absolute_percentage_error(truth, guessed)
    assert part(found, "bmi: MAPE").value == pytest.approx(wanted)
    assert part(found, "bmi: R²").value == pytest.approx(r2_score(truth, guessed))


def test_the_original_is_table_seven_and_the_dummy_table_eight(real_data):
    """Where each person is in the table, exact matches decide and the scaling does not matter."""
    frame = pl.read_csv(real_data("insurance"))
    keys = ("age", "sex", "children", "smoker", "region")
    comparison = compare_tables(frame, frame, keys=keys, sensitive=("bmi",))
    found = radius_attribution(comparison, length=3)
    mae, mape, r2 = (part(found, f"bmi: {name}") for name in ("MAE", "MAPE", "R²"))
    assert (mae.value, mae.more["spread"]) == pytest.approx((4.2310, 0.4986), abs=5e-5)
    assert (mape.value, mape.more["spread"]) == pytest.approx((0.145877, 0.017353), abs=5e-7)
    assert (r2.value, r2.more["spread"]) == pytest.approx((0.2147, 0.1376), abs=5e-5)
    assert mae.more["original"] == mae.value
    assert (mae.more["naive"], r2.more["naive"]) == pytest.approx((4.8979, 0), abs=5e-5)
    assert (found.reference, found.p_value, found.flagged) == (None, None, False)
    assert "Without holdout persons" in found.note
    assert len([row for row in found.tables["by set of keys"].rows if row[1] == "MAE"]) == 10


def three(rows=200, **more):
    train, release, holdout = (people(rows, seed) for seed in (1, 2, 3))
    more = {"keys": ("sex", "age", "town"), "sensitive": ("income", "children"), **more}
    return train, compare_tables(train, release, holdout, **more)


def test_every_set_of_keys_and_every_column_is_a_look():
    _, comparison = three()
    found = radius_attribution(comparison, length=2, permutations=49)
    looks = [p for p in found.parts if " from " in p.name]
    assert len(looks) == 6
    assert "6 looks were taken" in found.note
    shown = next(p for p in looks if p.value == found.value)
    assert (shown.reference, shown.interval) == (found.reference, found.interval)
    assert found.interval[0] < found.value < found.interval[1]
    assert found.draws is None
    drawn = radius_attribution(comparison, length=2, subsets=2, permutations=49)
    assert len([p for p in drawn.parts if " from " in p.name]) == 4
    assert "2 of 3 sets of 2 keys" in drawn.note


def test_a_copy_is_found_and_the_persons_are_listed():
    train, comparison = three()
    copied = compare_tables(
        train, train, people(200, 3), keys=comparison.keys, sensitive=("income",)
    )
    found = radius_attribution(copied, permutations=99)
    assert found.flagged
    assert found.value < found.reference
    assert found.interval[1] < found.reference
    assert found.baselines["original"] == pytest.approx(found.value)
    assert found.baselines["naive"] == pytest.approx(1, abs=0.1)
    assert len(found.draws) == 99
    listed = found.register
    assert set(listed["training_row"]) <= set(range(200))
    assert (listed["error"] < listed["naive_error"]).all()
    gain = (listed["naive_error"] - listed["error"]).to_numpy()
    assert (np.diff(gain) <= 1e-12).all()
    assert "register" not in found.to_dict()
    ahead = found.parts[0]
    assert ahead.value == pytest.approx(found.reference - found.value)
    assert ahead.interval[0] == pytest.approx(found.reference - found.interval[1])


@pytest.mark.parametrize(
    "attacker", ["linear", "tree", "neighbors", "linear_model.Ridge+naive_bayes.GaussianNB"]
)
def test_any_regressor_or_classifier_may_attack(attacker):
    _, comparison = three(sensitive=("income", "sex"), keys=("age", "town"))
    found = radius_attribution(comparison, attacker=attacker, permutations=19)
    assert found.status == "ok"
    assert 0 <= part(found, "sex: accuracy").value <= 1
    assert 0 <= part(found, "sex: share on the true level").value <= 1
    again = radius_attribution(comparison, attacker=attacker, permutations=19)
    assert again.to_dict() == found.to_dict()


def test_an_attacker_is_what_scikit_learn_makes_it():
    from sklearn.linear_model import LinearRegression

    train, comparison = three(sensitive=("income",), keys=("age",))
    by_name = radius_attribution(comparison, attacker="linear", permutations=19)
    itself = radius_attribution(comparison, attacker=LinearRegression(), permutations=19)
    assert by_name.to_dict() == itself.to_dict()
    release = people(200, 2).drop_nulls("income")
    model = LinearRegression().fit(release[["age"]].to_numpy(), release["income"])
    known = train.drop_nulls("income")
    apart = np.abs(known["income"].to_numpy() - model.predict(known[["age"]].to_numpy()))
    assert part(by_name, "income: MAE").value == pytest.approx(apart.mean())


BAD = {
    "length": ({"length": 4}, "length = 4 with 3 keys"),
    "no length": ({"length": 0}, "length = 0"),
    "subsets": ({"length": 2, "subsets": 0}, "subsets = 0"),
    "radius": ({"radius": -1.0}, "radius = -1.0"),
    "word": ({"radius": "far"}, "radius = 'far'"),
    "weights": ({"weights": "square"}, "weights = 'square'"),
    "attacker": ({"attacker": "oracle"}, "'oracle' is no attacker"),
    "module": ({"attacker": "os.path"}, "'os.path' is no attacker"),
    "hidden": ({"attacker": "utils._testing.raises"}, "is no attacker"),
    "regressor only": ({"attacker": "linear_model.Ridge"}, "cannot guess a category"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case):
    options, message = BAD[case]
    _, comparison = three(sensitive=("sex",), keys=("age", "town", "children"))
    with pytest.raises(OptionError, match=message) as caught:
        radius_attribution(comparison, **options)
    assert caught.value.hint


def test_keys_that_do_not_exist_and_a_sensitive_key():
    train, release = people(50, 1), people(50, 2)
    with pytest.raises(OptionError, match="no column 'agee'") as caught:
        us.assess(train, release, keys=["agee"], sensitive=["income"], measures=["privacy"])
    assert "age" in caught.value.hint
    with pytest.raises(OptionError, match="'age'"):
        us.assess(
            train, release, keys=["age"], sensitive=["age"],
            measures=["privacy.radius_attribution"],
        )  # fmt: skip


def test_what_cannot_be_told_is_not_applicable():
    train, release = people(50, 1), people(50, 2)
    constant = train.with_columns(age=pl.lit(40), town=pl.lit("a"))
    found = radius_attribution(
        compare_tables(constant, release, keys=("age", "town"), sensitive=("income",))
    )
    assert found.status == "not_applicable"
    assert "one value for all training persons" in found.note
    missing = train.with_columns(income=pl.lit(None, pl.Float64))
    found = radius_attribution(compare_tables(train, missing, keys=("age",), sensitive=("income",)))
    assert found.status == "not_applicable"
    assert "income" in found.note
    elsewhere = release.with_columns(town=pl.lit("elsewhere"))
    found = radius_attribution(
        compare_tables(train, elsewhere, people(50, 3), keys=("town",), sensitive=("sex",)),
        radius=0,
    )
    assert found.status == "not_applicable"
    assert "too weak" in found.note


def test_an_infinite_radius_may_be_written():
    _, comparison = three()
    plain = radius_attribution(comparison, permutations=19)
    assert radius_attribution(comparison, radius="infinite", permutations=19) == plain
    assert radius_attribution(comparison, radius=math.inf, permutations=19) == plain


def test_ten_sets_of_keys_are_ten_looks():
    frame = patients().sample(fraction=1, shuffle=True, seed=1)
    keys = ("age", "sex", "pressure", "s1", "s6")
    tables = (frame[:221], frame, frame[221:])
    found = radius_attribution(compare_tables(*tables, keys=keys, sensitive=("bmi",)), length=3)
    assert "10 looks" in found.note
