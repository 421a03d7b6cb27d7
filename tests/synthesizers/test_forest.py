"""Forest: what its rows show, what its file holds, and tables of every shape."""

import dataclasses
import datetime as dt
import io
import itertools
import json
import tomllib
import zipfile

import numpy as np
import polars as pl
import pytest

import understudy as us
from few import DAY, adversarial, check, check_all
from people import people
from understudy.data import shown as shown_module
from understudy.data.schema import read_values
from understudy.data.schema.inference import infer, infer_column
from understudy.data.shown import shown_codec
from understudy.synthesizers.forest import method
from understudy.synthesizers.forest.learning import MOST_MARKS, features
from understudy.synthesizers.forest.models import strongest


def fit(train, seed: int = 0, schema=None, **options):
    return us.synthesizer("forest", seed=seed, **options).fit(train, schema=schema)


@pytest.fixture(scope="module")
def fitted():
    kept = {}

    def of(k: int):
        if k not in kept:
            kept[k] = fit(adversarial(), k=k, trees=4, relations=False)
        return kept[k]

    return of


@pytest.mark.parametrize("k", [5, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 3, 20))])
def test_rows_show_nothing_that_few_hold(fitted, k):
    train, made = adversarial(), fitted(k)
    names = [name for name in made.fitted.modelled if not (k == 1 and name == "huge")]
    for replicate in range(3):
        check_all(train, made.sample(2000, replicate=replicate).select(names), k)
    some = made.sample(300, given={"yes_often": True, "constant": "same"})
    check_all(train, some.select(names), k)
    assert some["yes_often"].all()


@pytest.mark.parametrize("seed", [0, 1])
def test_replaced_columns_show_nothing_that_few_hold(seed):
    train = adversarial(seed=seed)
    drawn = ["float", "cents", "age", "words", "day", "level", "huge", "gone", "yes"]
    made = us.replace(train, drawn, seed=seed, trees=2, relations=False)
    check_all(train, made.select(drawn), 5)
    assert made.drop(drawn).equals(train.select(made.columns).drop(drawn))
    some = us.replace(train, ["age"], where="yes_often == true", trees=2)
    there = train["yes_often"]
    check(train["age"].filter(there), some["age"].filter(there), 5)


def needles() -> tuple[pl.DataFrame, list[str], list[float]]:
    """Give a table with values that one row holds, and those values."""
    rng = np.random.default_rng(0)
    rows = 300
    amount = np.round(rng.normal(1000, 300, rows), 2)
    amount[:3] = 7654321.09, -8765432.10, 1234.567
    count = rng.integers(0, 20, rows)
    count[:2] = 424242, -313131
    town = rng.choice(["north", "south"], rows).tolist()
    town[:5] = ["Needle-upon-Hay"] + ["Fourfold"] * 4
    day = [DAY + dt.timedelta(days=int(d)) for d in rng.integers(0, 50, rows)]
    day[0] = dt.datetime(1871, 3, 4)
    words = [str(v) for v in rng.integers(0, 99, rows)]
    words[0] = "wordneedle"
    notes = [f"note {i} says a long story about life number {i}" for i in range(rows)]
    frame = pl.DataFrame(
        {
            "person_id": 880000 + np.arange(rows),
            "amount": amount,
            "count": count,
            "town": town,
            "day": [d.date() for d in day],
            "words": words,
            "note": notes,
            "flag": [False] + [True] * (rows - 1),
            "hidden": np.repeat(np.arange(515151, 515251), 3),
            "keyed": [f"K{7 * i:05d}" for i in range(rows)],
            "target": rng.random(rows) < 0.4,
        }
    )
    texts = ["Needle", "Fourfold", "1871", "wordneedle", "a long story", "K00", "K01", "88000"]
    far = (dt.datetime(1871, 3, 4) - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1)
    return frame, texts, [7654321.09, -8765432.10, 1234.567, 424242, -313131, 515151, 515250, far]


def plain(value) -> list[float]:
    """Give all numbers of a document, whatever they stand in."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in plain(part)]
    if isinstance(value, list):
        return [number for part in value for number in plain(part)]
    return [float(value)] if isinstance(value, int | float) else []


@pytest.mark.parametrize("options", [{}, {"fidelity": 0.0}, {"keep": ("town", "amount", "day")}])
def test_the_model_file_holds_nothing_that_few_hold(options, tmp_path):
    train, texts, far = needles()
    fit(train, trees=3, **options).save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        head = archive.read("model.json").decode()
        arrays = {
            name: np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in archive.namelist()
            if name != "model.json"
        }
    document = json.loads(head)
    schema = tomllib.loads(document["schema"])
    for needle in texts:
        assert needle not in head
    assert not any(array.dtype.kind in "OSU" for array in arrays.values())
    held = [*plain(document), *plain(schema), *np.concatenate([a.ravel() for a in arrays.values()])]
    for needle in far:
        assert not np.isclose(held, needle, rtol=1e-7, atol=0).any()
    for number, column in enumerate(document["values"]["columns"]):
        name = column["name"]
        kept = train[name].cast(pl.String)
        counts = dict(kept.rename("value").value_counts().iter_rows())
        assert all(counts[label] >= 5 for label in column["labels"] if label is not None)
        numbers = arrays[f"arrays/{number}_support_numbers.npy"]
        if train[name].dtype.is_numeric():
            check(train[name], pl.Series(numbers).cast(train[name].dtype), 5)
    for column in schema["column"]:
        assert not column.get("why")
        if column["kind"] in ("identifier", "text"):
            assert not {"bounds", "levels"} & set(column)
        if column["name"] in ("amount", "count"):
            ordered = train[column["name"]].sort()
            assert ordered[4] <= column["bounds"][0] <= column["bounds"][1] <= ordered[-5]


def test_the_search_for_needles_finds_them(tmp_path):
    train, texts, _ = needles()
    us.synthesizer("independent").fit(train).save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        document = json.loads(archive.read("model.json"))
    assert "Needle" in document["schema"]
    assert 424242.0 in plain(tomllib.loads(document["schema"]))
    assert texts


def mixed(rows: int, columns: int, seed: int = 0) -> pl.DataFrame:
    """Draw columns of all kinds that hang together."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(rows, 4)) @ rng.normal(size=(4, columns))
    latent += rng.normal(size=(rows, columns))
    kinds = (
        lambda x: x,
        lambda x: np.round(10 * x).astype(int),
        lambda x: [f"l{v}" for v in np.clip(np.round(2 * x), -4, 4).astype(int)],
        lambda x: x > 0,
    )
    return pl.DataFrame({f"c{j}": kinds[j % 4](latent[:, j]) for j in range(columns)})


@pytest.mark.parametrize(("rows", "columns"), [(100, 8), (5, 8), (12, 30), (300, 1), (300, 2)])
def test_small_tables_and_more_columns_than_rows(rows, columns):
    train = mixed(rows, columns)
    made = fit(train, trees=3)
    for wanted in (0, 1, 7, None):
        some = made.sample(wanted)
        assert some.height == (rows if wanted is None else wanted)
        assert some.schema == train.select(some.columns).schema
    check_all(train, made.sample(500), 5)


def test_one_value_nothing_at_all_and_no_level_that_is_held_by_enough():
    train = pl.DataFrame(
        {
            "one": [7] * 40,
            "none": pl.Series([None] * 40, dtype=pl.Float64),
            "rare": [f"{i % 13}x" for i in range(40)],
            "pair": ["a", "b"] * 20,
            "gone": [None, "c"] * 20,
        }
    )
    made = fit(train).sample(200)
    assert set(made["one"]) == {7}
    assert made["none"].null_count() == 200
    assert set(made["rare"]) == {"other"}
    assert set(made["gone"]) == {None, "c"}
    with pytest.raises(us.UnderstudyError, match="fewer than 5 rows"):
        fit(train.head(4))
    assert fit(train.head(4), k=1).sample(3).height == 3


def test_pandas_integers_of_which_none_may_be_shown():
    pandas = pytest.importorskip("pandas")
    ages = np.repeat(np.arange(20, 60), 3)
    train = pandas.DataFrame({"age": ages, "sex": ["f", "m"] * 60, "huge": 2**60 + ages})
    made = fit(train).sample(50)
    assert made["age"].isna().all()
    assert made["huge"].isna().all()
    assert set(made["sex"]) == {"f", "m"}


@pytest.mark.parametrize(
    "options", [{"trees": 1}, {"fidelity": 0}, {"penalty": 0}, {"min_leaf": 1}, {"k": 1}]
)
def test_options_at_their_ends(options, tmp_path):
    train = mixed(400, 6)
    made = fit(train, **{"trees": 3, **options})
    check_all(train, made.sample(300), options.get("k", 5))
    made.save(tmp_path / "m")
    assert us.load(tmp_path / "m").sample(60).equals(made.sample(60, replicate=0))


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"trees": 0}, {"min_leaf": 0}, {"penalty": -1}, {"fidelity": -0.1}]
)
def test_options_beyond_their_ends(options):
    with pytest.raises(us.UnderstudyError, match="or more"):
        us.synthesizer("forest", **options)


def test_the_same_rows_whatever_the_number_of_cores(monkeypatch):
    train = mixed(300, 6)
    monkeypatch.setattr("understudy.synthesizers.coded.BLOCK", 700)
    made = []
    for cores in (1, 2, 7, None):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        made.append(fit(train, seed=3, trees=3).sample(1500))
    assert all(other.equals(made[0]) for other in made[1:])


def test_no_row_of_the_pool_is_taken_twice():
    train = pl.DataFrame({"a": np.random.default_rng(0).normal(size=2000)}).with_columns(
        b=pl.col("a") * 2 + 1, c=-pl.col("a")
    )
    made = fit(train, trees=2, smooth=0, relations=False).sample(1000)
    assert made.n_unique() > 990


def test_a_small_sample_is_a_choice_of_its_own():
    train = people(2000, 1).select("sex", "town", "children", "smoker")
    made = fit(train, trees=5)

    def error(rows: pl.DataFrame) -> float:
        pairs = list(itertools.combinations(train.columns, 2))
        return float(np.mean([_apart(rows, train, pair) for pair in pairs]))

    small = [made.sample(200, replicate=i) for i in range(12)]
    parts = [made.sample(1000, replicate=i).sample(200, seed=i) for i in range(12)]
    assert np.mean([*map(error, small)]) < 0.85 * np.mean([*map(error, parts)])
    few = pl.concat([made.sample(5, replicate=i) for i in range(300)])
    assert _apart(few, train, ("sex", "smoker")) < 0.03  # as the model has it: no favourites


def _apart(one: pl.DataFrame, other: pl.DataFrame, names: tuple[str, str]) -> float:
    """Half the sum of the differences of two tables' shares."""
    shares = [
        frame.group_by(names).agg((pl.len() / frame.height).alias(where))
        for frame, where in ((one, "one"), (other, "other"))
    ]
    both = shares[0].join(shares[1], on=names, how="full", coalesce=True).fill_null(0)
    return float((both["one"] - both["other"]).abs().sum() / 2)


def test_rules_of_a_schema_are_refused():
    train = pl.DataFrame({"marital": ["single", "married"] * 50, "spouse_age": [None, 40] * 50})
    schema = dataclasses.replace(
        infer(train), rules=("spouse_age is missing where marital == 'single'",)
    )
    with pytest.raises(us.UnderstudyError, match="cannot hold the rules") as error:
        fit(train, schema=schema)
    assert "sequential" in error.value.hint


@pytest.mark.parametrize("options", [{"fidelity": 0.0}, {"trees": 1, "fidelity": 0.0}, {}])
def test_independent_columns_stay_independent(options):
    rng = np.random.default_rng(5)
    train = pl.DataFrame(
        {
            **{f"coin{i}": rng.choice(["heads", "tails"], 4000) for i in range(4)},
            **{f"die{i}": rng.choice(list("abc"), 4000) for i in range(3)},
        }
    )
    made = fit(train, **options).sample(4000)
    for one in train.columns:
        for other in train.columns:
            if one < other:
                cells = made.group_by(one, other).len()["len"].to_numpy() / 4000
                assert np.abs(cells - 1 / len(cells)).sum() < 0.12, (one, other)


@pytest.mark.parametrize("classes", [2, 4])
def test_many_levels_that_say_nothing_teach_nothing(classes):
    """The rows that fill a tree must not have ordered the levels by which it splits."""
    rng = np.random.default_rng(7)
    train, fresh = (
        pl.DataFrame(
            {
                "place": rng.choice([f"p{i}" for i in range(300)], 6000),
                "kind": rng.choice([f"k{i}" for i in range(classes)], 6000),
            }
        )
        for _ in range(2)
    )
    made = fit(train, fidelity=0.0).sample(60_000)
    drawn = made.group_by("place", "kind").len()
    share = drawn.with_columns(pl.col("len") / pl.col("len").sum().over("place"))

    def likelihood(rows):
        return (
            rows.join(share, on=["place", "kind"], how="left")["len"].fill_null(1e-3).log().mean()
        )

    assert abs(likelihood(train) - likelihood(fresh)) < 0.02


def test_visit_and_predictors_are_honoured():
    train = mixed(300, 6)
    schema = infer(train)
    made = fit(train, trees=2, visit=["c3", "c1"]).method
    assert [s.column.name for s in made.codecs_] == ["c3", "c1", "c0", "c2", "c4", "c5"]
    named = dataclasses.replace(schema, visit=("c5", "c4")).replace("c2", predictors=("c0",))
    made = fit(train, trees=2, smooth=0, schema=named.replace("c3", predictors=())).method
    names = [s.column.name for s in made.codecs_]
    assert names[:2] == ["c5", "c4"]
    given = {
        name: tuple(names[p] for p in model.given.places)
        for name, model in zip(names, made.models_, strict=True)
    }
    assert given["c2"] == ("c0",)
    assert given["c3"] == ()
    assert given["c1"] == ("c5", "c4", "c0")
    assert sorted(fit(train, trees=2, visit="learnt").sample(5).columns) == train.columns


def test_more_levels_than_there_are_codes(monkeypatch):
    monkeypatch.setattr(shown_module, "MOST_CODES", 12)
    train = pl.Series("x", [f"l{i:02d}" for i in range(30) for _ in range(5 + i)])
    made, codes = shown_codec(read_values(train, infer_column(train)), infer_column(train), 5)
    assert made.labels == tuple(f"l{i}" for i in range(29, 18, -1))
    assert codes.max() == made.size == 11
    kept = made.decode(codes[codes < made.size], np.random.default_rng(0))
    assert kept.equals(train.filter(pl.Series(codes < made.size)), check_names=False)


def test_a_sorted_wide_table_is_looked_at_as_a_whole():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 30_000)
    codes = rng.integers(0, 5, (60_000, 60)).astype(np.uint16)
    codes[:, 57] = groups * 3 + rng.integers(0, 2, 60_000)
    assert 57 in strongest(codes, tuple(range(60)), groups)
    assert strongest(codes, (1, 2), groups) == (1, 2)


@pytest.mark.slow
def test_two_hundred_columns():
    train = mixed(2000, 200)
    made = fit(train).sample()
    assert made.schema == train.schema
    check_all(train, made, 5)


@pytest.mark.slow
def test_forty_thousand_levels():
    levels = np.arange(240_000) % 40_000
    train = pl.DataFrame(
        {
            "near": levels + np.random.default_rng(0).normal(size=len(levels)) * 50,
            "level": [f"v{v}" for v in levels],
            "even": levels % 2 == 0,
        }
    )
    made = fit(train, trees=4).sample(50_000)
    assert made["level"].n_unique() > 20_000
    number = made["level"].str.slice(1).cast(pl.Int64)
    assert np.corrcoef(number, made["near"])[0, 1] > 0.9


@pytest.mark.slow
def test_two_million_rows():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=2_000_000)
    train = pl.DataFrame(
        {
            "float": normal,
            "whole": np.round(1000 * normal).astype(int),
            "town": pl.Series(rng.integers(0, 50, len(normal))).cast(pl.String),
            "yes": rng.random(len(normal)) < 0.3,
        }
    )
    made = fit(train, trees=4, relations=False).sample(20_000)
    assert made.height == 20_000
    check(train["whole"], made["whole"], 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_adversarial_tables_of_other_seeds(seed):
    train = adversarial(rows=600 + 40 * seed, seed=10 + seed)
    made = us.synthesizer("forest", seed=seed, relations=False).fit(train)
    for replicate in range(3):
        rows = made.sample(5000, replicate=replicate)
        check_all(train, rows.select(made.fitted.modelled), 5)


def test_what_is_not_shown_or_not_learnt_from_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr("understudy.synthesizers.forest.method.MOST_ROWS", 90)
    rare = [f"r{i // 4}" for i in range(100)]
    train = pl.DataFrame({"rare": rare, "sex": ["f", "m"] * 50, "none": [None] * 100})
    schema = infer(train).replace("rare", kind="category", rest=None)
    made = fit(train, schema=schema)
    assert made.sample(50)["rare"].null_count() == 50
    made.save(tmp_path / "m")
    for model in (made, us.load(tmp_path / "m")):
        assert model.method.notes_ == [
            "rare is all missing: no value of it is held by 5 rows",
            "the trees learnt from 90 of 100 rows",
        ]


def bills(rows, seed):
    """Amounts that follow each other, with a heap at 0 and missing values."""
    rng = np.random.default_rng(seed)
    first = rng.lognormal(7, 1, rows)
    second = first * (1 + 0.03 * rng.normal(size=rows))
    gone, none = rng.random(rows) < 0.1, rng.random(rows) < 0.05
    second = pl.Series(np.where(gone, 0, second).round(2)).set(pl.Series(none), None)
    return pl.DataFrame(
        {"first": first.round(2), "kind": rng.choice(["a", "b"], rows), "second": second}
    )


def test_numbers_that_others_tell_follow_them_closely(tmp_path):
    train = bills(4000, 1)
    made = fit(train, smooth=0)
    assert type(made.method.models_[2]).__name__ == "Led"
    some = made.sample(4000)
    apart = (some["second"] / some["first"] - 1).abs().drop_nulls()
    assert apart.filter(apart < 1).median() < 0.06  # training: 0.02; trees alone: 0.13
    assert (some["second"] == 0).mean() == pytest.approx(0.1, abs=0.03)
    assert some["second"].null_count() / 4000 == pytest.approx(0.05, abs=0.02)
    check_all(train, some, 5)
    made.save(tmp_path / "m")
    assert us.load(tmp_path / "m").sample(100).equals(made.sample(100, replicate=0))


def test_numbers_that_nothing_tells_are_not_led():
    rng = np.random.default_rng(2)
    train = pl.DataFrame({"a": rng.normal(size=3000), "b": rng.normal(size=3000)})
    assert type(fit(train, smooth=0).method.models_[1]).__name__ == "Trees"


@pytest.mark.slow
def test_a_number_that_many_columns_tell_together():
    """No single column says much; a tree of one column at a time would lose the sum."""

    def real(rows: int, seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        parts = rng.normal(size=(rows, 6))
        total = (parts.sum(axis=1) + 0.2 * rng.normal(size=rows)).round(3)
        named = {f"part {j}": parts[:, j].round(3) for j in range(6)}
        return pl.DataFrame({**named, "total": total})

    made = fit(real(6000, 1), smooth=0, relations=False).sample(6000)
    off = made["total"] - made.select(pl.sum_horizontal(pl.exclude("total"))).to_series()
    assert off.std() < 0.6  # training: 0.2; by trees alone 2.1


@pytest.mark.parametrize(("smooth", "kind"), [(0, "Led"), (5000, "Smooth")])
def test_what_is_expected_is_learnt_from_some_rows_and_sums_from_all(monkeypatch, smooth, kind):
    monkeypatch.setattr(method, "MOST_EXPECTED", 1500)
    train = bills(2500, 3)
    made = fit(train, smooth=smooth)
    assert type(made.method.models_[2]).__name__ == kind
    check_all(train, made.sample(500), 5)


def test_levels_beyond_the_most_frequent_have_no_mark():
    counts = np.arange(1000, 0, -1)
    made = features(counts, 0)
    assert made.shape == (1001, MOST_MARKS)
    assert made[1 : MOST_MARKS + 1].any(axis=1).all()  # the first needs none
    assert not made[MOST_MARKS + 1 :].any()
