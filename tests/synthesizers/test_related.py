"""Relations are held in every row, whatever the method, and by all that rows are asked for."""

import dataclasses
import datetime as dt
import json
import zipfile

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.relations import Relation, with_relations
from understudy.data.schema import infer
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.synthesizers.derived import value_range
from understudy.synthesizers.holding import Held

ROWS = 600
DAY = dt.date(2020, 1, 1)
METHODS = ["independent", "bootstrap", "cart", "sequential", "forest", "copula", "bayes"]
HOLDS = (
    "bmi = weight / (height / 100) ** 2",
    "heavy = classes of weight",
    "city determines land",
    "start <= end",
    "one of north, south, west",
    "spouse is missing exactly where marital == 'single'",
    "-8 is a code of debt",
    "pay = wage where paid == 'hourly'",
)


def clinic(rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    """Draw persons with columns that follow from others."""
    rng = np.random.default_rng(seed)
    height = rng.integers(150, 200, rows)
    weight = np.round(rng.normal(70, 12, rows) + (height - 175) * 0.6, 1)
    bmi = np.round(weight / (height / 100) ** 2, 2)
    bmi[rng.random(rows) < 0.1] = np.nan
    city = rng.choice(["Graz", "Linz", "Bonn", "Köln"], rows)
    land = np.where(np.isin(city, ["Graz", "Linz"]), "A", "D")
    start = rng.integers(0, 700, rows)
    stay = rng.geometric(0.1, rows) - 1
    part = rng.integers(0, 3, rows)
    marital = rng.choice(["single", "married"], rows)
    spouse = pl.Series(rng.integers(20, 90, rows)).set(pl.Series(marital == "single"), None)
    debt = np.where(rng.random(rows) < 0.2, -8, rng.integers(0, 5000, rows))
    wage, paid = np.round(rng.gamma(4, 5, rows), 2), rng.choice(["hourly", "monthly"], rows)
    return pl.DataFrame(
        {
            "weight": weight,
            "height": height,
            "bmi": pl.Series(bmi, nan_to_null=True),
            "heavy": np.where(weight > 80, "yes", "no"),
            "city": city,
            "land": land,
            "start": [DAY + dt.timedelta(days=int(d)) for d in start],
            "end": [DAY + dt.timedelta(days=int(d)) for d in start + stay],
            "north": (part == 0).astype(int),
            "south": part == 1,
            "west": np.where(part == 2, "1", "0"),
            "marital": marital,
            "spouse": spouse,
            "debt": debt,
            "wage": wage,
            "paid": paid,
            "pay": np.where(paid == "hourly", wage, np.round(wage * rng.uniform(1, 2, rows), 2)),
        }
    )


TRAIN = clinic()


def schema_of(frame: pl.DataFrame, *holds: str, **facts):
    """Infer a schema, and declare relations."""
    schema = infer(frame)
    relations = tuple(Relation.parse(text, schema.names, **facts) for text in holds)
    return dataclasses.replace(schema, relations=relations)


SCHEMA = schema_of(TRAIN, *HOLDS)
QUICK = {"forest": {"trees": 5}}


def broken(made: pl.DataFrame, schema=SCHEMA, train: pl.DataFrame = TRAIN, k: int = 5):
    """Count for each relation the rows that break it; says also where it applies."""
    table, real = Table(made, schema), Table(train, schema)
    judged = {r.text: r.learn(real, k=k).judge(table) for r in schema.relations}
    return {text: one.broken for text, one in judged.items() if one.broken}


@pytest.fixture(scope="module", params=METHODS)
def fitted(request):
    """Fit a method to the clinic."""
    made = us.synthesizer(request.param, seed=1, **QUICK.get(request.param, {}))
    return made.fit(TRAIN, schema=SCHEMA)


def test_every_method_holds_them(fitted):
    made = fitted.sample(800)
    assert made.schema == TRAIN.schema
    assert broken(made) == {}
    assert set(made["land"]) == {"A", "D"}
    assert 0.03 < made["bmi"].null_count() / 800 < 0.2
    low, high = TRAIN["bmi"].min(), TRAIN["bmi"].max()
    assert made["bmi"].drop_nulls().is_between(low, high).all()
    codes = made.filter(pl.col("debt") < 0)["debt"]
    assert set(codes) == {-8}
    assert 0.12 < len(codes) / 800 < 0.28
    assert made["end"].is_between(TRAIN["end"].min(), TRAIN["end"].max()).all()
    assert any("bmi = weight" in note for note in fitted.notes)


def test_a_saved_model_holds_them(fitted, tmp_path):
    path = tmp_path / "m"
    fitted.save(path)
    again = us.load(path).sample(300, seed=5).cast({"west": pl.String})  # a file has whole numbers
    assert again.equals(fitted.sample(300, seed=5), null_equal=True)
    assert broken(again) == {}
    document = json.loads(zipfile.ZipFile(path).read("model.json"))
    kinds = [step["kind"] for step in document["held"]["relations"]]
    assert sorted(set(kinds)) == ["code", "derived", "missing", "one_hot", "order"]


def test_given_values_and_margins_of_computed_columns(fitted):
    made = fitted.sample(60, given={"heavy": "yes"})
    assert set(made["heavy"]) == {"yes"}
    assert (made["weight"] >= 79).all()
    made = fitted.sample(200, margins={"land": {"A": 0.25, "D": 0.75}})
    assert (made["land"] == "A").sum() == 50
    assert broken(made) == {}


def test_replicates_and_seeds(fitted):
    assert fitted.sample(50, seed=3).equals(fitted.sample(50, seed=3))
    assert not fitted.sample(50, replicate=1).equals(fitted.sample(50, replicate=2))


def test_damaged_relations_are_refused(tmp_path):
    path, other = tmp_path / "m", tmp_path / "n"
    us.synthesizer("cart").fit(TRAIN, schema=SCHEMA).save(path)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(files["model.json"])
    steps = document["held"]["relations"]
    derived = next(i for i, step in enumerate(steps) if step["kind"] == "derived")
    classes = next(i for i, step in enumerate(steps) if "cuts" in step)
    wrong = [
        {"kind": "evil"},
        {"name": "weight"},
        {"mode": "run"},
        {"holds": ["bmi = weight + nowhere"]},
        {"holds": []},
        {"holds": ["bmi = __import__('os')"]},
        {"range": ["a", "b"]},
        {"own_missing": "yes"},
    ]
    changes = [(derived, change) for change in wrong]
    changes += [(classes, {"cuts": [1.0, 0.0]}), (classes, {"known": []})]
    for place, change in changes:
        told = json.loads(files["model.json"])
        told["held"]["relations"][place] |= change
        with zipfile.ZipFile(other, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, json.dumps(told) if name == "model.json" else content)
        with pytest.raises(DataError, match="damaged"):
            us.load(other).sample(10)


@pytest.mark.parametrize(
    "text",
    [
        "bmi = 2 * city",
        "heavy = 2 * weight",
        "city <= weight",
        "city <= land",
        "heavy = classes of city",
        "one of north, city",
        "spouse is missing exactly where marital == 'widowed'",
        "pay = wage where paid == 'never'",
    ],
)
def test_what_columns_can_never_keep_is_refused(text):
    with pytest.raises(OptionError, match="relation") as caught:
        us.synthesizer("bootstrap").fit(TRAIN, schema=schema_of(TRAIN, text))
    assert caught.value.hint


def test_they_can_be_switched_off():
    made = us.synthesizer("independent", relations=False).fit(TRAIN, schema=SCHEMA)
    assert broken(made.sample(300))
    assert not made.held_.related
    assert made.notes == ()


def test_found_relations_are_held_and_near_ones_are_not():
    near = TRAIN.with_columns(double=pl.col("wage") * 2)
    near = near.with_columns(double=pl.when(pl.int_range(pl.len()) < 2).then(0).otherwise("double"))
    exact = schema_of(near, "double = 2 * wage", inferred=True, rows=598, broken=2)
    assert not us.synthesizer("bootstrap").fit(near, schema=exact).held_.related
    declared = schema_of(near, "double = 2 * wage")
    made = us.synthesizer("bootstrap").fit(near, schema=declared)
    assert broken(made.sample(), declared, near) == {}
    found = us.synthesizer("independent").fit(TRAIN)
    texts = [relation.text for relation in found.fitted.relations]
    assert "bmi = weight / (height / 100) ** 2" in texts
    assert all(relation.rows is None for relation in found.fitted.relations)


def test_lookups_classes_and_orders_show_nothing_that_few_rows_hold():
    rng = np.random.default_rng(3)
    rows = 400
    city = rng.choice(["a", "b", "c"], rows).tolist()
    city[:3] = ["rare"] * 3
    low = np.round(rng.normal(50, 10, rows), 1)
    train = pl.DataFrame(
        {
            "city": city,
            "land": ["nowhere" if c == "rare" else c.upper() for c in city],
            "low": low,
            "high": np.round(low + rng.exponential(5, rows), 1),
            "size": ["tiny" if v < np.sort(low)[2] else "big" for v in low],
        }
    )
    schema = schema_of(
        train, "city determines land", "low <= high", "size = classes of low", inferred=True
    )
    for method in ("forest", "copula", "bayes"):
        made = us.synthesizer(method, **QUICK.get(method, {})).fit(train, schema=schema)
        drawn = made.sample(1000)
        assert broken(drawn, schema, train) == {}
        for name in train.columns:
            counts = dict(train[name].alias("value").value_counts().iter_rows())
            assert all(counts.get(v, 5) >= 5 for v in drawn[name].drop_nulls().unique()), name
        for name in ("low", "high"):
            ordered = train[name].sort()
            shown = made.fitted[name].bounds
            assert ordered[4] <= shown[0] <= shown[1] <= ordered[-5]
        assert made.fitted["land"].levels == ("A", "B", "C")
        assert "nowhere" not in str(made.fitted.relations)


def test_the_range_of_what_is_computed_is_no_persons_value():
    numbers = np.array([1000.0, *np.arange(50.0), np.nan, -700.0])
    column = infer(pl.DataFrame({"x": numbers}))["x"]
    assert value_range(numbers, column, 1) == (-700.0, 1000.0)
    low, high = value_range(numbers, column, 5)
    assert 0 < low < 10 < 40 < high < 49


def test_words_and_infinities_of_a_computed_column_are_drawn():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, 500)
    y = pl.Series(2 * x).cast(pl.String).set(pl.Series(rng.random(500) < 0.2), "N")
    train = pl.DataFrame({"x": x, "y": y})
    schema = schema_of(train, "y = 2 * x")
    for method in ("cart", "forest", "bootstrap"):
        made = us.synthesizer(method).fit(train, schema=schema).sample(500)
        assert 0.1 < (made["y"] == "N").mean() < 0.3
        assert broken(made, schema, train) == {}


def test_chains_and_circles():
    rng = np.random.default_rng(0)
    a = rng.integers(1, 100, 300)
    train = pl.DataFrame({"a": a, "b": a * 2, "c": a * 2 + 1, "d": (a * 2 + 1) ** 2})
    holds = ("b = 2 * a", "c = b + 1", "d = c ** 2", "a = b / 2", "c = sqrt(d)", "a <= b", "b < c")
    schema = schema_of(train, *holds)
    made = us.synthesizer("independent").fit(train, schema=schema)
    drawn = made.sample(400)
    assert broken(drawn, schema, train) == {}
    assert any("is not held" in note for note in made.notes)


def test_orders_in_a_row():
    rng = np.random.default_rng(0)
    parts = np.cumsum(np.round(rng.exponential(3, (400, 4)), 1), axis=1)
    train = pl.DataFrame(np.round(parts, 1), schema=["a", "b", "c", "d"])
    schema = schema_of(train, "a <= b", "b <= c", "c <= d", "a <= d", "b < d")
    train = train.filter(pl.col("b") < pl.col("d"))
    for method in ("independent", "forest"):
        made = us.synthesizer(method, **QUICK.get(method, {})).fit(train, schema=schema)
        assert broken(made.sample(500), schema, train) == {}


def test_options_and_rules_of_a_method_keep_their_columns():
    made = us.synthesizer("sequential", predictors={"bmi": ["height"]}).fit(TRAIN, schema=SCHEMA)
    assert any("an option is about 'bmi'" in note for note in made.notes)
    visit = dataclasses.replace(SCHEMA, visit=("bmi", "city", "land"))
    assert broken(us.synthesizer("cart").fit(TRAIN, schema=visit).sample(200)) == {}


def test_constraints_and_relations_together():
    texts = ["bmi < 30", "together city, marital", "unique wage"]
    made = us.synthesizer("cart", constraints=texts).fit(TRAIN, schema=SCHEMA)
    drawn = made.sample(300)
    assert (drawn["bmi"].drop_nulls() < 30).all()
    assert made.sample(5).columns == TRAIN.columns
    some = [r for r in SCHEMA.relations if "wage" not in r.names]
    assert broken(drawn, dataclasses.replace(SCHEMA, relations=tuple(some))) == {}
    both = us.synthesizer("cart", constraints=["together city, land"]).fit(TRAIN, schema=SCHEMA)
    assert broken(both.sample(200)) == {}


def test_nothing_is_read_under_epsilon():
    frame = pl.DataFrame({"a": [1.5, 2.5] * 30, "b": [3.0, 5.0] * 30, "c": ["x", "y"] * 30})
    table = Table(frame, schema_of(frame, "b = 2 * a", "a <= b"))
    held, inner = Held.fit(table, (), relations=table.schema.relations, reads=False)
    assert inner.schema.names == ("a", "c")
    assert [step.kind for step in held.related.steps] == ["derived", "order"]
    for text in ("c determines a", "c = classes of a"):
        wrong = schema_of(frame, text)
        with pytest.raises(OptionError, match="epsilon") as caught:
            Held.fit(Table(frame, wrong), (), relations=wrong.relations, reads=False)
        assert caught.value.hint
    found = schema_of(frame, "b = 2 * a", inferred=True)
    held, inner = Held.fit(Table(frame, found), (), relations=found.relations, reads=False)
    assert not held.related
    assert "for which no epsilon pays" in held.related.notes()[0]


@pytest.mark.parametrize("method", ["forest", "cart"])
def test_what_follows_from_replaced_columns_is_made_anew(method):
    schema = schema_of(TRAIN, *HOLDS)
    real = Table(TRAIN, schema)
    made = us.replace(real, ["weight"], method=method)
    assert made["height"].equals(TRAIN["height"])
    assert not made["weight"].equals(TRAIN["weight"])
    assert broken(made.select(TRAIN.columns)) == {}
    drawn = us.replace(real, ["bmi"], method=method)
    assert not drawn["bmi"].equals(TRAIN["bmi"])  # computed, it would be as it was
    off = us.replace(real, ["weight"], method=method, relations=False)
    assert off["bmi"].equals(TRAIN["bmi"])
    some = us.replace(real, ["city", "land"], where="marital == 'single'", method=method)
    kept = TRAIN["marital"] == "married"
    assert some["land"].filter(kept).equals(TRAIN["land"].filter(kept))
    assert broken(some.select(TRAIN.columns)) == {}
    within = us.replace(real, ["city"], method=method)
    assert within["land"].equals(TRAIN["land"])
    assert broken(within.select(TRAIN.columns)) == {}


def test_what_is_kept_by_name_stays_and_that_is_said():
    from understudy.synthesizers.partial import Replacement, all_but

    table = with_relations(Table(TRAIN, SCHEMA))
    names = all_but(["bmi"], table.schema)
    made = Replacement.of(table, names, fixed=["bmi"], method="cart")
    made.table()
    assert any(note.startswith("bmi is kept, so bmi = weight") for note in made.made.notes)
    other = Replacement.of(table, ["weight"], method="cart")
    other.table()
    assert any(note.startswith("bmi is made anew") for note in other.made.notes)
    assert set(other.columns) == {"weight", "bmi", "heavy"}


def test_rows_that_cannot_be_in_range_are_taken_at_last_and_that_is_said():
    rng = np.random.default_rng(0)
    a = rng.normal(0, 1e6, 300)
    train = pl.DataFrame({"a": a, "b": 1 - a, "total": np.ones(300) + rng.integers(0, 2, 300)})
    train = train.with_columns(b=pl.col("total") - pl.col("a"))
    schema = schema_of(train, "total = a + b")
    made = us.synthesizer("independent").fit(train, schema=schema)
    drawn = made.sample(100)
    assert drawn.height == 100
    assert broken(drawn, schema, train) == {}
    assert any("too few others were made" in note for note in made.notes)
