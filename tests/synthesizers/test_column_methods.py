"""Column methods: each finds the relations that it can express, and survives odd columns."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.synthesizers.columns import COLUMN_METHODS, ColumnOptions
from understudy.synthesizers.columns.regressions import (
    _forward,
    _loss,
    _slopes,
    apply_design,
    fit_design,
    fit_logistic,
    fit_normal,
)
from understudy.synthesizers.columns.samplers import PredictorRows, Training, draw_codes, softmax

DRAWN = [name for name in COLUMN_METHODS if name != "keep"]
INFORMED = [name for name in DRAWN if name != "sample"]
K_CLASS = [name for name in DRAWN if COLUMN_METHODS[name].k_class]
ROWS = 2000


def fit(method, train, **options):
    return us.synthesizer("sequential", method=method, seed=1, **options).fit(train)


@pytest.fixture(scope="module")
def related() -> pl.DataFrame:
    """A number that follows another one, and a category that follows both."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=ROWS)
    group = rng.choice(["a", "b", "c"], ROWS)
    y = np.round(2 * x + 3 * (group == "c") + rng.normal(scale=0.5, size=ROWS), 3)
    kind = np.where(y + rng.normal(scale=0.3, size=ROWS) > 1, "high", "low")
    return pl.DataFrame({"x": x, "group": group, "y": y, "kind": kind})


@pytest.mark.parametrize("method", INFORMED)
@pytest.mark.parametrize("classes", [False, True])
def test_relations_are_kept(method, classes, related):
    train = related.with_columns(pl.col("y").round(0), pl.col("x").round(1)) if classes else related
    made = fit(method, train, classes=classes).sample(5000)
    assert np.corrcoef(made["x"], made["y"])[0, 1] > 0.6
    means = dict(made.group_by("group").agg(pl.col("y").mean()).iter_rows())
    assert means["c"] - means["a"] == pytest.approx(3, abs=0.7)
    high = made.group_by("kind").agg(pl.col("y").mean())
    assert dict(high.iter_rows())["high"] > dict(high.iter_rows())["low"] + 2


def test_sample_keeps_columns_but_no_relation(related):
    made = fit("sample", related).sample(5000)
    assert abs(np.corrcoef(made["x"], made["y"])[0, 1]) < 0.05
    assert set(made["y"]) <= set(related["y"])


@pytest.mark.parametrize("method", DRAWN)
def test_values_lie_in_the_range_and_on_the_grid(method, related):
    made = fit(method, related).sample(3000)["y"]
    assert made.is_between(related["y"].min(), related["y"].max()).all()
    assert (made == made.round(3)).all()


@pytest.mark.parametrize("method", K_CLASS)
def test_classes_draw_only_values_that_occur(method, related):
    train = related.select("group", pl.col("y").round(1))
    made = fit(method, train, classes=True).sample(3000)
    assert set(made["y"]) <= set(train["y"])


@pytest.mark.parametrize("method", ["cart", "tree", "random_forest", "pmm", "sample"])
def test_donors_are_training_values(method, related):
    assert set(fit(method, related).sample(1000)["x"]) <= set(related["x"])


@pytest.mark.parametrize("method", ["linear", "neural", "boost"])
def test_the_others_make_new_values(method, related):
    assert len(set(fit(method, related).sample(1000)["x"]) & set(related["x"])) < 50


@pytest.mark.parametrize("method", DRAWN)
@pytest.mark.parametrize("rows", [1, 2, 7, 200])
def test_odd_columns_and_model_files(method, rows, tmp_path):
    train = people(rows, 3)
    made = fit(method, train)
    made.save(tmp_path / "m")
    assert us.load(tmp_path / "m").sample(60).equals(made.sample(60), null_equal=True)
    drawn = made.sample(60)
    assert drawn.schema == train.select(drawn.columns).schema


@pytest.mark.parametrize("method", DRAWN)
def test_proper_synthesis_varies_with_the_seed_more_than_improper(method):
    rng = np.random.default_rng(5)
    train = pl.DataFrame({"x": rng.normal(size=40), "y": rng.normal(size=40)})

    def spread(proper):
        made = [
            us.synthesizer("sequential", method=method, seed=s, proper=proper, spike=1.0)
            .fit(train)
            .sample(1500)["y"]
            .mean()
            for s in range(8)
        ]
        return np.std(made)

    if method in ("neural", "boost"):
        assert spread(True) > 0
    else:
        assert spread(True) > 1.5 * spread(False)


@pytest.mark.parametrize("method", DRAWN)
def test_fewer_rows_than_columns(method):
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"x{i}": rng.normal(size=12) for i in range(30)})
    made = fit(method, wide).sample(20)
    assert made.shape == (20, 30)
    assert made.null_count().sum_horizontal()[0] == 0


def test_posterior_of_the_regression_is_as_wide_as_theory_says():
    rng = np.random.default_rng(2)
    x = rng.normal(size=50)
    y = 1 + 2 * x + rng.normal(size=50)
    given = PredictorRows(x[:, None], np.zeros(1, np.int64), np.zeros(1, bool))
    proper = ColumnOptions(proper=True)
    slopes = np.array(
        [
            fit_normal(Training(given, y, proper, np.random.default_rng(i))).weights[1]
            for i in range(600)
        ]
    )
    width = x.std()
    residual = y - np.polyval(np.polyfit(x, y, 1), x)
    expected = np.sqrt((residual**2).sum() / 46) / np.sqrt(50)
    assert slopes.mean() == pytest.approx(np.polyfit(x, y, 1)[0] * width, abs=0.05)
    assert slopes.std() == pytest.approx(expected, rel=0.15)


def test_logistic_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    table = np.column_stack([rng.normal(size=800), rng.integers(0, 4, 800)])
    given = PredictorRows(table, np.array([0, 4]), np.array([False, True]))
    target = rng.integers(0, 3, 800) + (table[:, 0] > 0.5) * (table[:, 1] == 2)
    ours = fit_logistic(Training(given, target.astype(float), ColumnOptions(), rng, classes=True))
    design = apply_design(ours.design, given)
    theirs = LogisticRegression(max_iter=2000, tol=1e-8).fit(design[:, 1:], target)
    shares = theirs.predict_proba(design[:, 1:])
    assert softmax(design @ ours.weights) == pytest.approx(shares, abs=0.01)


@pytest.mark.parametrize("classes", [True, False])
def test_slopes_of_the_network_agree_with_differences(classes):
    rng = np.random.default_rng(4)
    inputs = rng.normal(size=(20, 3))
    target = rng.integers(0, 4, 20) if classes else rng.normal(size=20)
    layers = [rng.normal(size=s) for s in ((4, 5), (6, 5), (6, 4 if classes else 1))]
    slopes = _slopes(inputs, target, layers)
    half = 1.0 if classes else 0.5
    for place, at in ((0, (1, 2)), (1, (5, 0)), (2, (3, 0))):
        losses = []
        for step in (1e-5, -1e-5):
            layers[place][at] += step
            losses.append(half * _loss(_forward(inputs, layers)[-1], target))
            layers[place][at] -= step
        assert slopes[place][at] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-3)


def test_codes_are_drawn_with_their_shares():
    given = PredictorRows(np.zeros((60_000, 1)), np.zeros(1, np.int64), np.zeros(1, bool))
    shares = np.array([0.5, 0.0, 0.3, 0.2])
    drawn = draw_codes(
        lambda block: np.tile(np.log(shares + 1e-300), (len(block), 1)),
        np.array([2.0, 3.0, 5.0, 9.0]),
        given,
        np.random.default_rng(0),
    )
    found = [float((drawn == code).mean()) for code in (2, 3, 5, 9)]
    assert found == pytest.approx(shares, abs=0.01)


def test_too_many_classes_to_boost_are_named(monkeypatch):
    monkeypatch.setattr("understudy.synthesizers.columns.trees.MOST_CELLS", 1000)
    with pytest.raises(us.UnderstudyError, match="classes of 300 rows are too many"):
        fit("boost", people(300, 1))


def test_many_levels_share_the_marks_of_a_regression():
    table = np.concatenate([np.arange(500), np.zeros(100)])[:, None]
    design = fit_design(PredictorRows(table, np.array([500]), np.array([True])))
    assert len(design) == 50
    assert 0 in design[:, 1]


@pytest.mark.parametrize("method", ["linear", "pmm"])
def test_a_large_mean_does_no_harm(method):
    rng = np.random.default_rng(3)
    x = rng.normal(size=ROWS)
    train = pl.DataFrame({"x": x, "y": 1.6e9 + 4 * x + rng.normal(scale=3, size=ROWS)})
    made = fit(method, train).sample(5000)["y"]
    assert abs(made.mean() - train["y"].mean()) < 0.5
    assert made.std() == pytest.approx(train["y"].std(), rel=0.1)
