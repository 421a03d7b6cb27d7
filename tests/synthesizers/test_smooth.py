"""Forest on small tables: slopes kept, nothing of few rows shown, files that are checked."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from few import check_all
from understudy.data.schema import read_values
from understudy.data.schema.inference import infer_column
from understudy.data.shown import shown_codec
from understudy.synthesizers.forest.smooth import Smooth
from understudy.synthesizers.model_file import Damaged, State


def line(rows: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    group = rng.choice(["a", "b", "c"], rows)
    y = 2 * x + (group == "a") + rng.normal(size=rows)
    spent = np.where(rng.random(rows) < 1 / (1 + np.exp(-y)), np.exp(x + 3).round(1), 0.0)
    score = np.clip(np.round(3 + x + 0.5 * rng.normal(size=rows)), 1, 5).astype(int)
    gone = pl.Series(y.round(2)).set(pl.Series(rng.random(rows) < 0.2), None)
    day = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in 100 + 30 * x]
    return pl.DataFrame(
        {"x": x, "group": group, "y": y, "spent": spent, "score": score, "gone": gone, "day": day}
    )


def fit(train, seed: int = 0, **options):
    return us.synthesizer("forest", seed=seed, relations=False, **options).fit(train)


@pytest.fixture(scope="module")
def fitted():
    return fit(line())


def test_a_linear_relation_comes_out_as_steep_as_it_is(fitted):
    train, made = line(), fitted.sample(3000)
    for name in ("y", "gone"):
        slopes = [
            np.polyfit(*frame.select("x", name).drop_nulls().to_numpy().T, 1)[0]
            for frame in (train, made)
        ]
        assert slopes[1] == pytest.approx(slopes[0], rel=0.12)
    for name in ("score", "day", "spent"):
        rho = [
            frame.select(pl.corr("x", pl.col(name).to_physical(), method="spearman")).item()
            for frame in (train, made)
        ]
        assert rho[1] == pytest.approx(rho[0], abs=0.1)
    means = [
        frame.group_by("group").agg(pl.mean("y")).sort("group")["y"].to_numpy()
        for frame in (train, made)
    ]
    np.testing.assert_allclose(*means, atol=0.5)


def test_values_of_many_rows_and_what_is_missing_keep_their_shares(fitted):
    train, made = line(), fitted.sample(3000)
    for name in ("spent", "gone", "score"):
        for value in (0.0, None, 3):
            share = [frame[name].eq_missing(value).mean() for frame in (train, made)]
            assert share[1] == pytest.approx(share[0], abs=0.04)
    assert (made["spent"] == 0).mean() > 0.2


def test_one_row_is_drawn_and_rows_are_drawn_again(fitted):
    assert fitted.sample(1).height == 1
    assert fitted.sample(50, seed=3).equals(fit(line()).sample(50, seed=3))
    alone = pl.concat([fitted.sample(1, replicate=i) for i in range(40)])
    assert alone["x"].n_unique() > 25


def test_a_saved_model_draws_the_same_rows(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = us.load(tmp_path / "model")
    assert again.sample(300, seed=3).equals(fitted.sample(300, seed=3))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_columns_are_replaced_one_given_the_others():
    train = line()
    made = us.replace(train, ["y", "score"], seed=1, relations=False)
    assert made.drop("y", "score").equals(train.drop("y", "score"))
    assert np.corrcoef(made["x"], made["y"])[0, 1] > 0.75


def smooth_of(seed: int = 0):
    fitted = fit(line(seed=seed)).method
    place = [codec.column.name for codec in fitted.codecs_].index("gone")
    sizes = [codec.size for codec in fitted.codecs_]
    model = fitted.models_[place]
    assert isinstance(model, Smooth)
    return model, sizes[:place], sizes[place]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("code_of", lambda a: a + 10_000),
        ("code_of", lambda a: a[:0]),
        ("code_of", lambda a: np.full_like(a, -1)),
        ("loose", lambda a: a + 10_000),
        ("loose", lambda a: a[::-1]),
        ("loose", lambda a: a[:0]),
        ("until", lambda a: a[1:]),
        ("until", lambda a: a[::-1]),
        ("quantiles", lambda a: a * np.nan),
        ("quantiles", lambda a: a[:5]),
        ("spread", lambda a: -a - 1),
        ("mean_values", lambda a: a[1:]),
        ("mean_values", lambda a: a.astype(np.float32)),
        ("mean_places", lambda a: a + 100),
        ("mean_sizes", lambda a: a + 1),
        ("mean_level", lambda a: a * np.inf),
        ("classes_values", lambda a: a[:, :1]),
        ("classes_places", lambda a: -a - 1),
    ],
)
def test_a_state_that_does_not_fit_is_refused(name, change):
    model, before, size = smooth_of()
    arrays = model.arrays()
    assert len(Smooth.of(State({}, arrays), before, size).arrays()) == len(arrays)
    with pytest.raises(Damaged):
        Smooth.of(State({}, {**arrays, name: change(arrays[name])}), before, size)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(5, 120),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 5, 9]),
    st.lists(st.sampled_from(["whole", "tenth", "real", "word", "flag", "gone"]), min_size=1),
)
def test_tables_of_any_shape_show_nothing_that_few_hold(rows, seed, k, kinds):
    rng = np.random.default_rng(seed)
    rows, base = max(rows, k), rng.normal(size=max(rows, k))
    make = {
        "whole": lambda: rng.poisson(np.exp(1 + base / 2)),
        "tenth": lambda: np.round(base + rng.normal(size=rows), 1),
        "real": lambda: np.exp(base) * rng.random(rows),
        "word": lambda: [f"w{v}" for v in rng.geometric(0.3, rows)],
        "flag": lambda: base > rng.normal(size=rows),
        "gone": lambda: pl.Series(np.round(base, 1)).set(pl.Series(base > 1), None),
    }
    train = pl.DataFrame({f"{i} {kind}": make[kind]() for i, kind in enumerate(kinds)})
    made = fit(train, seed=seed, k=k).sample(200)
    check_all(train.select(made.columns), made, k)


def test_large_tables_are_left_to_the_trees():
    large, small = (fit(line(300), trees=2, smooth=rows).method for rows in (300, 301))
    assert not any(isinstance(model, Smooth) for model in large.models_)
    assert all(isinstance(model, Smooth) for model in small.models_)


def test_trees_are_grown_where_sums_cannot_tell():
    rng = np.random.default_rng(3)
    one, other = rng.choice(["p", "q"], (2, 900))
    apart = np.where((one == "p") & (other == "p"), 5.0, -5.0) + rng.random(900)
    made = fit(pl.DataFrame({"one": one, "other": other, "apart": apart}))
    assert type(made.method.models_[2]).__name__ == "Trees"
    some = made.sample(900)
    both = (some["one"] == "p") & (some["other"] == "p")
    assert ((some["apart"] > 0) == both).mean() > 0.9


def test_numbers_that_follow_each_other_do():
    rng = np.random.default_rng(1)
    first = rng.lognormal(7, 1, 1500)
    second = np.where(rng.random(1500) < 0.1, 0, first * (1 + 0.03 * rng.normal(size=1500)))
    some = fit(pl.DataFrame({"first": first.round(2), "second": second.round(2)})).sample(1500)
    apart = (some["second"] / some["first"] - 1).abs()
    assert apart.filter(apart < 1).median() < 0.06  # training: 0.02
    assert (some["second"] == 0).mean() == pytest.approx(0.1, abs=0.03)


def test_visit_and_predictors_are_honoured():
    train = line()
    schema = us.schema(train).replace("y", predictors=("group",)).replace("score", predictors=())
    made = (
        us.synthesizer("forest", seed=0, visit=["group", "gone"]).fit(train, schema=schema).method
    )
    names = [codec.column.name for codec in made.codecs_]
    assert names[:2] == ["group", "gone"]
    models = dict(zip(names, made.models_, strict=True))
    assert models["y"].numbers.mean.places.tolist() in ([], [0])
    assert not len(models["score"].classes.places)
    assert models["score"].numbers is None or not len(models["score"].numbers.mean.places)


def test_the_window_rule_counts_neighbours():
    ages = pl.Series("age", [20, 21, 21, 22, 22, 23, 40, 60, 61, 61, 62, 62, 62, 62, 62] * 1)
    column = infer_column(ages)
    values = read_values(ages, column)
    shown = {
        window: set(shown_codec(values, column, 5, window=window)[0].numbers.values.tolist())
        for window in (False, True)
    }
    assert shown[False] == {62}
    assert shown[True] == {21, 22, 61, 62}


def test_the_window_rule_is_said(tmp_path):
    rng = np.random.default_rng(0)
    train = pl.DataFrame({"age": rng.integers(18, 90, 150), "x": rng.normal(size=150).round(1)})
    made = fit(train, window=True)
    shown = set(made.sample(2000)["age"].to_list())
    assert len(shown) > len(set(fit(train).sample(2000)["age"].to_list()))
    near = {v: int(((train["age"] - v).abs() <= 1).sum()) for v in shown & set(train["age"])}
    assert min(near.values()) >= 5
