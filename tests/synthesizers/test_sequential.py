"""The sequential frame: order, predictors, rules, spikes, kept columns; and what is refused."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.data.schema import dumps, infer, loads
from understudy.data.tables import Table
from understudy.judging.comparison import stream
from understudy.synthesizers.columns.models import _spikes
from understudy.synthesizers.sequential import Sequential


@pytest.fixture(scope="module")
def couples() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = 1500
    marital = rng.choice(["married", "single", "widowed"], rows, p=[0.5, 0.4, 0.1])
    age = rng.integers(18, 90, rows)
    spouse = np.where(marital == "married", np.clip(age + rng.integers(-5, 6, rows), 18, 90), -1)
    wage = np.where(
        rng.random(rows) < 0.3, 0.0, np.round(rng.lognormal(7, 0.4, rows) * (1 + age / 50), 2)
    )
    return pl.DataFrame(
        {
            "marital": marital,
            "age": age,
            "spouse_age": pl.Series(spouse).replace(-1, None),
            "wage": np.where(age < 25, 0.0, wage),
        }
    )


def fit(train, **options):
    return us.synthesizer("sequential", seed=1, relations=False, **options).fit(train)


def order(model):
    return [m.name for m in model.method.models_]


def test_visit_order(couples):
    assert order(fit(couples)) == couples.columns
    assert order(fit(couples, visit=["wage", "age"])) == ["wage", "age", "marital", "spouse_age"]
    assert fit(couples, visit=["wage", "age"]).sample(5).columns == couples.columns


def test_the_learnt_order_puts_related_columns_together():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 20, 3000), rng.integers(0, 20, 3000)
    train = pl.DataFrame(
        {"noise": rng.normal(size=3000), "b": b, "a": a, "a2": a // 2, "a4": a // 4}
    )
    assert order(fit(train, visit="learnt"))[0] == "a"
    assert set(order(fit(train, visit="learnt"))[:3]) == {"a", "a2", "a4"}
    waits = fit(train, visit="learnt", predictors={"a": ["noise"]})
    assert order(waits).index("noise") < order(waits).index("a")


@pytest.mark.parametrize("method", ["cart", "linear", "neural", "tree"])
def test_predictors_are_the_only_ones_used(method):
    rng = np.random.default_rng(2)
    x, other = rng.normal(size=1500), rng.normal(size=1500)
    train = pl.DataFrame({"x": x, "other": other, "y": x + other})
    made = fit(train, method=method, predictors={"other": [], "y": ["other"]}).sample(4000)
    assert abs(np.corrcoef(made["x"], made["y"])[0, 1]) < 0.08
    assert np.corrcoef(made["other"], made["y"])[0, 1] > 0.6


RULES = ["spouse_age is missing where marital in ('single', 'widowed')", "wage is 0 where age < 25"]


@pytest.mark.parametrize("method", ["sample", "cart", "linear", "pmm", "boost"])
def test_rules_hold_in_every_row(method, couples, tmp_path):
    model = fit(couples, method=method, rules=RULES)
    model.save(tmp_path / "m")
    for made in (model.sample(3000), us.load(tmp_path / "m").sample(3000)):
        alone = made["marital"] != "married"
        assert made["spouse_age"].is_null().equals(alone, check_names=False)
        assert (made.filter(pl.col("age") < 25)["wage"] == 0).all()
        assert (made.filter(pl.col("age") >= 25)["wage"] > 0).mean() > 0.5


def test_rows_under_a_rule_are_left_out_of_the_model(couples):
    """The zeros of the young do not raise the share of zeros of the others."""
    real = (couples.filter(pl.col("age") >= 25)["wage"] == 0).mean()
    made = fit(couples, method="sample", rules=RULES).sample(20_000)
    assert (made.filter(pl.col("age") >= 25)["wage"] == 0).mean() == pytest.approx(real, abs=0.02)
    free = fit(couples, method="sample").sample(20_000)
    assert (free.filter(pl.col("age") >= 25)["wage"] == 0).mean() > real + 0.03


@pytest.mark.parametrize("method", ["linear", "boost", "cart"])
def test_spikes_and_missing_values_come_before_numbers(method, couples):
    made = fit(couples, method=method).sample(5000)
    real = (couples["wage"] == 0).mean()
    assert (made["wage"] == 0).mean() == pytest.approx(real, abs=0.05)
    plain = fit(couples, method="linear", spike=1.0).sample(5000)
    assert made["wage"].n_unique() > 100
    assert abs((plain["wage"] == 0).mean() - real) > 0.01
    missing = couples["spouse_age"].is_null().mean()
    assert made["spouse_age"].is_null().mean() == pytest.approx(missing, abs=0.05)


@pytest.mark.parametrize(
    ("counts", "spikes"),
    [
        ([300, 1, 1, 1, 1], (0.0,)),
        ([5, 20, 60, 120, 150, 120, 60, 20, 5], ()),
        ([1, 1, 400, 1, 1], (2.0,)),
        ([1, 1, 1, 1, 90], (4.0,)),
        ([50, 50, 50], ()),
        ([50], (0.0,)),
        ([], ()),
    ],
)
def test_a_spike_sticks_out(counts, spikes):
    numbers = np.repeat(np.arange(len(counts)), counts).astype(float)
    assert _spikes(np.concatenate([numbers, [np.nan] * 20]), 0.05) == spikes


def test_a_choice_for_each_column_comes_from_the_schema_and_options_win(couples, tmp_path):
    text = dumps(infer(couples)).replace(
        'name = "age"\n', 'name = "age"\nmethod = "linear"\npredictors = []\n'
    )
    text = text.replace(
        "version = 1\n", f'version = 1\nvisit = ["age", "marital"]\nrules = {RULES}\n'
    )
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    schema = loads(text)
    assert loads(dumps(schema)) == schema

    def kinds(**options):
        model = us.synthesizer("sequential", seed=1, **options)
        model.fit(couples, schema=tmp_path / "s.toml")
        return {m.name: type(m.number or m.kind).__name__ for m in model.method.models_}

    assert list(kinds()) == ["age", "marital", "spouse_age", "wage"]
    assert kinds()["age"] == "Normal"
    assert kinds()["wage"] == "Leaves"
    assert kinds(methods={"age": "pmm"})["age"] == "Matched"
    assert kinds(method="sample")["age"] == "Marginal"
    assert list(kinds(visit="table", rules=[])) == couples.columns
    cart = us.synthesizer("cart", seed=1).fit(couples, schema=tmp_path / "s.toml")
    assert order(cart)[0] == "age"
    made = cart.sample(500)
    assert (made.filter(pl.col("age") < 25)["wage"] == 0).all()


@pytest.mark.parametrize("method", ["cart", "sequential"])
def test_kept_columns_stay_and_the_others_are_drawn_given_them(method, couples, tmp_path):
    table = Table.of(couples)
    model = us.synthesizer(method, keep=["age", "marital"], seed=1).fit(couples)
    with pytest.raises(us.UnderstudyError, match=r"kept \(marital, age\) need rows"):
        model.sample(5)
    made = model.method.complete(table, np.random.default_rng(1))
    assert made.columns == couples.columns
    assert made.select("age", "marital").equals(couples.select("age", "marital"))
    assert not made["wage"].equals(couples["wage"])
    married = made.filter(pl.col("marital") == "married")
    assert np.corrcoef(married["age"], married["spouse_age"].fill_null(0))[0, 1] > 0.9
    model.save(tmp_path / "m")
    again = us.load(tmp_path / "m").method.complete(table, np.random.default_rng(1))
    assert again.equals(made, null_equal=True)


def test_rows_to_complete_may_hold_levels_never_seen(couples):
    model = us.synthesizer("sequential", methods={"marital": "keep", "wage": "linear"}, seed=1)
    model.fit(couples)
    other = Table.of(couples.head(20).with_columns(marital=pl.lit("divorced")))
    made = model.method.complete(other, np.random.default_rng(1))
    assert set(made["marital"]) == {"divorced"}
    assert made["wage"].null_count() == 0
    with pytest.raises(us.UnderstudyError, match="'marital' that is kept is missing"):
        model.method.complete(Table.of(couples.drop("marital")), np.random.default_rng(1))


def test_smoothing_makes_new_values(couples):
    made = fit(couples, smooth=True).sample(2000)["wage"]
    assert len(set(made) & set(couples["wage"])) < 100
    assert (made == made.round(2)).all()


WRONG = {
    "unknown visit": ({"visit": ["age", "wgae"]}, "visit: there is no column 'wgae'"),
    "repeated visit": ({"visit": ["age", "age"]}, "visit names the column 'age' twice"),
    "visit in words": ({"visit": "backwards"}, "visit = 'backwards'"),
    "unknown method": ({"method": "forrest"}, "no column method 'forrest'"),
    "unknown method of one": ({"methods": {"age": "carts"}}, "no column method 'carts' for 'age'"),
    "method of another kind": ({"methods": {"age": ["cart"]}}, "no column method '['cart']' for"),
    "method of unknown": ({"methods": {"agee": "cart"}}, "methods: there is no column 'agee'"),
    "unknown predictor": ({"predictors": {"wage": ["sex"]}}, "there is no column 'sex'"),
    "later predictor": ({"predictors": {"age": ["wage"]}}, "'wage' of 'age' is not drawn before"),
    "own predictor": ({"predictors": {"age": ["age"]}}, "'age' of 'age' is not drawn before"),
    "predictors in words": ({"predictors": {"wage": "age"}}, "are no list"),
    "predictors as a list": ({"predictors": ["age"]}, "predictors = ['age']"),
    "unknown kept": ({"keep": ["sex"]}, "keep: there is no column 'sex'"),
    "all kept": ({"keep": ["marital", "age", "spouse_age", "wage"]}, "every column is kept"),
    "rule without where": ({"rules": ["wage is 0"]}, "has no 'where'"),
    "rule without value": ({"rules": ["wage > 0 where age < 25"]}, "fixes no value"),
    "rule of unknown": ({"rules": ["sex is 'f' where age < 25"]}, "no column 'sex'"),
    "condition of unknown": ({"rules": ["wage is 0 where agee < 25"]}, "no column 'agee'"),
    "broken rule": ({"rules": ["wage is 0 where age < 40"]}, "is broken by "),
    "rule on later": ({"rules": ["age is 20 where wage == 1"]}, "looks at 'wage', which is not"),
    "rules that contradict": (
        {"rules": ["wage is 0 where age < 25", "wage is missing where age < 20"]},
        "rules that contradict",
    ),
    "value that never occurs": ({"rules": ["wage is -5 where age > 500"]}, "no training row has"),
    "layers": ({"hidden": [5]}, "hidden = [5]"),
    "trees in words": ({"trees": "many"}, "trees = 'many' is not a whole number"),
    "proper in words": ({"proper": "yes"}, "proper = 'yes' is not true or false"),
    "spike in words": ({"spike": "5 %"}, "spike = '5 %' is not a number"),
    "kept number": ({"keep": 5}, "keep = 5"),
    "visit of numbers": ({"visit": [1]}, "visit = [1]"),
    "rules as a dict": ({"rules": {"wage": 0}}, "rules = {'wage': 0}"),
    "no trees": ({"trees": 0}, "trees = 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_named_with_a_hint(case, couples):
    options, words = WRONG[case]
    with pytest.raises(us.UnderstudyError) as caught:
        fit(couples, **options)
    assert words in caught.value.message
    assert caught.value.hint


def test_rules_that_need_each_other_have_no_order():
    train = pl.DataFrame({"a": ["x", "y"] * 50, "b": ["x", "y"] * 50})
    rules = ["a is 'x' where b == 'x'", "b is 'x' where a == 'x'"]
    with pytest.raises(us.UnderstudyError, match="no visit order is possible"):
        fit(train, visit="learnt", rules=rules)


def test_columns_left_out_are_named():
    with pytest.raises(us.UnderstudyError, match="'person_id' is left out of synthesis"):
        fit(people(300, 1), visit=["person_id"])


def test_contradicting_rules_that_never_meet_are_fine(couples):
    rules = ["wage is 0 where age < 25", "wage is missing where age > 500"]
    assert fit(couples, rules=rules).sample(50).height == 50


def test_the_number_of_threads_does_not_matter(couples):
    from threadpoolctl import threadpool_limits

    def drawn(threads):
        with threadpool_limits(threads, "blas"):
            method = Sequential(method="neural").fit(Table.of(couples), stream(1, "f"), print_not)
            return method.sample(200, stream(1, "s"))

    assert drawn(1).equals(drawn(2), null_equal=True)


def print_not(label, done, total):
    """Say nothing."""


def test_a_dict_is_an_option_on_the_command_line(couples, tmp_path):
    from understudy.cli.common import parse_options

    given = parse_options(
        [
            'sequential.methods={"age": "linear"}',
            'sequential.visit=["age"]',
            "sequential.method=tree",
        ]
    )["sequential"]
    assert given == {"methods": {"age": "linear"}, "visit": ["age"], "method": "tree"}
    assert order(fit(couples, **given))[0] == "age"
