"""Trees column by column: synthpop's strength and synthpop's weakness."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

import understudy as us
from packaged import simulated

AUTHORS = {0: 41, 1: 38, 2: 14, 3: 7}


def ones(model, copies):
    return [
        int((model.sample(1000, replicate=i).sum_horizontal() == 4).sum()) for i in range(copies)
    ]


def test_the_unique_record_of_latner_is_reproduced_as_by_synthpop():
    found = np.bincount(ones(us.synthesizer("cart", seed=2).fit(simulated()), 100))
    assert found[:4].sum() >= 95
    observed = [found[0], found[1], found[2:].sum()]
    assert chisquare(observed, [41, 38, 21]).pvalue > 0.01


@pytest.mark.parametrize(
    ("options", "low", "high"), [({"minbucket": 75}, 15, 27), ({"cp": 0.05}, 38, 52)]
)
def test_larger_leaves_and_costlier_splits_hide_it(options, low, high):
    """The authors' files hold about 21 and 45 of it in a copy."""
    model = us.synthesizer("cart", seed=3, **options).fit(simulated())
    assert low < np.mean(ones(model, 40)) < high


@pytest.mark.slow
def test_adult_is_as_faithful_and_as_close_as_synthpop(real_data):
    train, holdout = real_data("adult_trn"), real_data("adult_val")
    made = us.synthesizer("cart", seed=1).fit(train).sample(50_000)
    result = us.assess(train, made, holdout=holdout)
    published = {"univariate": 0.006, "bivariate": 0.013, "trivariate": 0.019}
    for name, value in published.items():
        assert result[f"fidelity.{name}"].value == pytest.approx(value, abs=0.002)
    assert result["privacy.closest_record"].value == pytest.approx(0.581, abs=0.01)


def test_only_training_values_unless_smoothed():
    rng = np.random.default_rng(0)
    train = pl.DataFrame({"x": np.round(rng.normal(size=300), 6), "g": rng.choice(["a", "b"], 300)})
    plain = us.synthesizer("cart", seed=1).fit(train).sample(500)
    assert set(plain["x"]) <= set(train["x"])
    smooth = us.synthesizer("cart", seed=1, smooth=True).fit(train).sample(500)
    assert len(set(smooth["x"]) & set(train["x"])) < 50
    assert smooth["x"].min() >= train["x"].min()
    assert smooth["x"].max() <= train["x"].max()


def test_words_and_missing_values_are_drawn_with_their_own_relations():
    rng = np.random.default_rng(1)
    job = rng.choice(["child", "adult"], 600)
    income = [
        "N" if j == "child" else (None if u < 0.2 else str(round(float(v), 1)))
        for j, u, v in zip(job, rng.random(600), rng.lognormal(5, 1, 600), strict=True)
    ]
    train = pl.DataFrame({"job": job, "income": income})
    made = us.synthesizer("cart", seed=1).fit(train).sample(1000)
    children = made.filter(pl.col("job") == "child")
    assert set(children["income"]) == {"N"}
    adults = made.filter(pl.col("job") == "adult")["income"]
    assert 0.1 < adults.null_count() / len(adults) < 0.3
    assert "N" not in set(adults)


def test_proper_synthesis_draws_the_rows_first():
    rng = np.random.default_rng(2)
    train = pl.DataFrame({"x": rng.normal(size=100), "y": rng.normal(size=100)})
    proper = us.synthesizer("cart", seed=1, proper=True).fit(train).sample(5000)
    plain = us.synthesizer("cart", seed=1).fit(train).sample(5000)
    assert proper["x"].n_unique() < 75 < 95 < plain["x"].n_unique()


@pytest.mark.parametrize("method", ["cart", "sequential"])
def test_a_thousand_levels(method):
    """As a target and as a predictor, with 20,000 rows."""
    rng = np.random.default_rng(3)
    town = rng.integers(0, 1000, 20_000)
    street = (7 * town + rng.integers(0, 30, 20_000)) % 1000
    levels = np.array([f"level {i}" for i in range(1000)])
    train = pl.DataFrame(
        {
            "town": levels[town],
            "street": levels[street],
            "size": np.round(town / 10 + rng.normal(size=20_000), 3),
            "sex": rng.choice(["f", "m"], 20_000),
        }
    )
    made = us.synthesizer(method, seed=1).fit(train).sample(20_000)
    assert made["town"].n_unique() > 900
    place = {level: i for i, level in enumerate(levels)}
    towns = np.array([place[level] for level in made["town"]])
    assert np.corrcoef(towns, made["size"])[0, 1] > 0.95


@pytest.mark.parametrize("options", [{"minbucket": 0}, {"cp": -1.0}])
def test_impossible_options(options):
    with pytest.raises(us.UnderstudyError, match="cart"):
        us.synthesizer("cart", **options)
