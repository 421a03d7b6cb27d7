"""Constraints hold for every method: in whole tables, in partial ones, from saved models."""

import dataclasses
import datetime as dt
import json
import shlex
import sys
import zipfile

import numpy as np
import polars as pl
import pytest

import understudy as us
from stays import FIRST, PLACES, stays
from understudy.data.schema import dumps, infer, loads
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError, UnderstudyError
from understudy.synthesizers import SYNTHESIZERS, native
from understudy.synthesizers.generators import generator
from understudy.synthesizers.holding import Held
from understudy.synthesizers.partial import can_complete

ROWS = 400
REAL = stays(ROWS, 1)
KINDS = [
    "start <= end",
    "18 <= age <= 60",
    "positive pay",
    "together city, country, zone",
    "unique key",
]


def check(made: pl.DataFrame, texts: list[str]) -> None:
    """Check by other means than the program's own."""
    if "start <= end" in texts:
        assert (made["start"] <= made["end"]).fill_null(True).all()
        assert 0 < made["end"].null_count() < made.height / 2
    if "18 <= age <= 60" in texts:
        assert made["age"].is_between(18, 60).all()
    if "positive pay" in texts:
        assert (made["pay"] > 0).all()
    if "together city, country, zone" in texts:
        assert set(made.select("city", "country", "zone").iter_rows()) <= set(PLACES)
        assert made.select("city", "country").n_unique() > 3
    if "unique key" in texts:
        assert made.columns == REAL.columns
        assert made["key"].to_list() == [f"AT-{i + 1:05d}" for i in range(made.height)]
    else:
        assert made.columns == REAL.columns[1:]


@pytest.mark.parametrize("method", native())
def test_every_method_and_every_kind(method, tmp_path):
    schema = loads(dumps(dataclasses.replace(infer(REAL), constraints=tuple(KINDS[:3]))))
    made = us.synthesizer(method, seed=2, constraints=KINDS[2:]).fit(REAL, schema=schema)
    first = made.sample(300)
    check(first, KINDS)
    assert first.schema == REAL.schema
    assert made.sample(300, replicate=0).equals(first)
    assert not made.sample(300, replicate=1).equals(first)
    for file in ("one", "two"):
        made.save(tmp_path / file)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    loaded = us.load(tmp_path / "one")
    assert loaded.fitted.constraints == tuple(KINDS)
    assert loaded.sample(300).cast(dict(REAL.schema)).equals(first)
    some = made.sample(40, given={"country": "CH", "zone": 2})
    check(some, ["start <= end", "unique key"])
    assert set(some["country"]) == {"CH"}


@pytest.mark.parametrize("method", [n for n in native() if can_complete(n)])
def test_partial_synthesis_redraws_what_breaks(method):
    real = REAL.filter((pl.col("start") <= pl.col("end")).fill_null(True), pl.col("age") <= 60)
    whole = ["end", "age", "city", "country", "zone"]
    texts = ["start <= end", "together city, country, zone", "unique key", "age <= 60"]
    made = us.replace(real, whole, method=method, constraints=texts, seed=3)
    assert made.select("start", "pay").equals(real.select("start", "pay"))
    assert (made["start"] <= made["end"]).fill_null(True).all()
    assert set(made.select("city", "country", "zone").iter_rows()) <= set(PLACES)
    assert made["age"].max() <= 60
    assert made["key"].to_list() == [f"AT-{i + 1:05d}" for i in range(real.height)]
    assert made.equals(us.replace(real, whole, method=method, constraints=texts, seed=3))
    mixed = us.replace(
        real, ["city", "age"], method=method, constraints=[texts[1]], where="age > 20", seed=3
    )
    assert set(mixed.select("city", "country", "zone").iter_rows()) <= set(PLACES)
    assert mixed.filter(real["age"] <= 20).equals(real.drop("key").filter(real["age"] <= 20))


def test_partial_synthesis_that_cannot():
    texts = ["start <= end"]
    with pytest.raises(OptionError, match=r"\d+ records break the constraint start <= end in val"):
        us.replace(REAL, ["age"], method="cart", constraints=texts)
    with pytest.raises(OptionError, match=r"\d+ records break"):
        us.replace(REAL, ["end"], method="cart", constraints=texts, where="age > 50")
    late = REAL.with_columns(
        start=pl.when(pl.col("age") > 97).then(dt.date(2030, 1, 1)).otherwise("start")
    )
    late = late.filter((pl.col("start") <= pl.col("end")).fill_null(True) | (pl.col("age") > 97))
    late = late.with_columns(end=pl.col("end").fill_null(FIRST))
    with pytest.raises(OptionError, match=r"records cannot meet the constraints") as caught:
        us.replace(late, ["end"], method="independent", constraints=texts)
    assert f"{(late['age'] > 97).sum()} of {late.height} records" in caught.value.message
    assert "1,000 draws each; start <= end fails most" in caught.value.message
    with pytest.raises(OptionError, match="cannot keep some columns") as caught:
        us.replace(REAL, ["age"], method="corrupt")
    assert all(name in caught.value.hint for name in ("independent", "bootstrap", "cart", "forest"))


def test_broken_training_rows_are_counted():
    wrong = int((REAL["start"] > REAL["end"]).sum())
    made = us.synthesizer(
        "bootstrap", constraints=["start <= end", "age >= 0"], relations=False
    ).fit(REAL)
    assert made.notes_ == [
        f"{wrong} of {ROWS} training rows break the constraint start <= end; no synthetic row does"
    ]
    assert us.synthesizer("bootstrap", relations=False).fit(REAL).notes_ == []
    held = us.synthesizer("bootstrap").fit(REAL).notes_
    assert held == ["relations held: country determines zone"]


def test_what_no_training_row_meets():
    with pytest.raises(DataError, match=r"no row meets the constraint age > 100"):
        us.synthesizer("cart", constraints=["age > 100"]).fit(REAL)
    real = REAL.with_columns(pay=pl.col("age") * 1.5)
    with pytest.raises(DataError, match="no row meets all constraints at once"):
        us.synthesizer("cart", constraints=["age > 50", "pay < 60"]).fit(real)
    with pytest.raises(OptionError, match="contradict each other: age > 50 and age < 20"):
        us.synthesizer("cart", constraints=["age > 50", "age < 20"]).fit(REAL)


def test_what_only_missing_values_meet():
    """A table of nothing but missing values is not what anybody means by a range."""
    with pytest.raises(DataError, match="meets the constraint end > '2100-01-01' but by a missing"):
        us.synthesizer("independent", constraints=["end > '2100-01-01'"]).fit(REAL)
    nobody = REAL.with_columns(end=pl.lit(None, pl.Date))
    schema = dataclasses.replace(infer(REAL), constraints=("start <= end",))
    assert us.synthesizer("independent").fit(nobody, schema=schema).sample(9).height == 9


def test_too_rare_to_be_drawn():
    rows = 4000
    real = pl.DataFrame(
        {"a": np.arange(rows) / 10, "b": np.arange(rows) / 10 + 1, "c": [1, 2] * 2000}
    )
    made = us.synthesizer("independent", constraints=["b == a", "c == 1 or c == 2"])
    with pytest.raises(DataError, match="no row meets the constraint b == a"):
        made.fit(real)
    real[0, "b"] = 0.0
    made.fit(real)
    with pytest.raises(OptionError) as caught:
        made.sample(3000)
    assert "rows drawn meet the constraints, too few to go on; b == a fails most" in str(
        caught.value
    )
    assert caught.value.hint
    with pytest.raises(OptionError, match=r"^given c == 1: "):
        made.sample(3000, given={"c": 1})


def test_rejection_draws_from_the_model_given_the_constraint():
    """Two columns drawn apart, one below the other: each pair that qualifies is equally likely."""
    real = pl.DataFrame({"a": [1, 2, 3] * 50, "b": [3, 2, 1] * 50})
    made = us.synthesizer("independent", constraints=["a < b"], seed=1, relations=False)
    made = made.fit(real).sample(30_000)
    shares = made.group_by("a", "b").len().sort("a", "b")
    assert shares.select("a", "b").rows() == [(1, 2), (1, 3), (2, 3)]
    assert np.allclose(shares["len"] / 30_000, 1 / 3, atol=0.012)


def test_combinations_are_drawn_as_often_as_they_occur():
    made = us.synthesizer("forest", constraints=KINDS[3:4], seed=1).fit(REAL).sample(20_000)
    for place in PLACES:
        same = [
            pl.col(n).eq_missing(v) for n, v in zip(("city", "country", "zone"), place, strict=True)
        ]
        assert made.filter(same).height / 20_000 == pytest.approx(
            REAL.filter(same).height / ROWS, abs=0.02
        )


def test_rare_combinations_are_not_shown_nor_saved(tmp_path):
    real = REAL.with_columns(
        city=pl.when(pl.int_range(ROWS) < 4).then(pl.lit("Zug")).otherwise("city"),
        zone=pl.when(pl.int_range(ROWS) < 4).then(77).otherwise("zone"),
    )
    made = us.synthesizer("forest", constraints=[KINDS[3], "zone != 77 or age >= 0"]).fit(real)
    out = made.sample(3000)
    assert "Zug" not in out["city"].to_list()
    assert 77 not in out["zone"].to_list()
    made.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        whole = b"".join(archive.read(name) for name in archive.namelist())
        head = json.loads(archive.read("model.json"))
    assert b"Zug" not in whole
    assert "77" not in head["schema"].split("[[column]]", 1)[1]
    assert us.load(tmp_path / "model").sample(20).height == 20
    shown = us.synthesizer("bootstrap", constraints=KINDS[3:4]).fit(real).sample(3000)
    assert "Zug" in shown["city"].to_list()
    few = real.with_columns(city=pl.Series([f"c{i}" for i in range(ROWS // 4)] * 4))
    with pytest.raises(DataError, match="together city, country: no combination is frequent"):
        us.synthesizer("forest", constraints=["together city, country"]).fit(few)


def test_numbers_dates_and_huge_integers_stay_exact_in_combinations():
    rng = np.random.default_rng(1)
    pool = [
        (2**60 + 1, dt.datetime(2020, 1, 1, 3), 0.1, dt.time(1), True),
        (2**60 + 3, dt.datetime(2021, 1, 1, 4, 0, 1), 0.3, None, False),
        (None, None, float("inf"), dt.time(2), None),
    ]  # fmt: skip
    real = pl.DataFrame(
        [pool[i] for i in rng.integers(0, 3, 90)],
        schema={
            "a": pl.Int64,
            "b": pl.Datetime("us", "UTC"),
            "c": pl.Float64,
            "d": pl.Time,
            "e": pl.Boolean,
        },
        orient="row",
    ).with_columns(f=pl.Series(rng.integers(0, 50, 90)))
    pairs = set(real.drop("f").iter_rows())
    for method in ("independent", "forest", "cart"):
        made = us.synthesizer(method, constraints=["together a, b, c, d, e"]).fit(real).sample(200)
        assert made.schema == real.schema
        assert set(made.drop("f").iter_rows()) == pairs


def test_order_and_predictors_of_the_schema_follow_a_combination():
    schema = infer(REAL)
    schema = dataclasses.replace(
        schema,
        visit=("age", "country", "city"),
        constraints=("together city, country",),
        columns=tuple(
            dataclasses.replace(c, predictors=("age", "country")) if c.name == "pay" else c
            for c in schema
        ),
    )
    for method in ("cart", "forest", "sequential"):
        made = us.synthesizer(method).fit(REAL, schema=schema)
        assert made.sample(20).columns == REAL.columns[1:]
    ruled = dataclasses.replace(schema, rules=("zone is missing where city == 'Linz'",))
    with pytest.raises(OptionError, match=r"the rule 'zone is missing.* is about 'city'"):
        us.synthesizer("sequential").fit(REAL, schema=ruled)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_the_callers_kind_of_frame(kind):
    given = REAL.to_pandas() if kind == "pandas" else REAL.to_arrow()
    made = us.synthesizer("cart", constraints=KINDS).fit(given).sample(30)
    assert type(made) is type(given)
    check(pl.DataFrame(made).cast(dict(REAL.schema)), KINDS)


def test_batches_are_at_most_as_large_as_they_may_be(monkeypatch):
    made = us.synthesizer("flip", constraints=KINDS, seed=1).fit(REAL)
    monkeypatch.setattr("understudy.synthesizers.drawing.BATCH", 100)
    frames = list(made.batches(450))
    assert max(frame.height for frame in frames) <= 100
    check(pl.concat(frames), KINDS)
    assert made.sample(0).height == 0


def test_a_program_that_breaks_combinations_is_asked_again(tmp_path):
    script = tmp_path / "make.py"
    script.write_text(
        "import sys, polars as pl\n"
        "train = pl.read_csv(sys.argv[1]).sample(int(sys.argv[3]), with_replacement=True, seed=1)\n"
        "n = train.height\n"
        "merged = [c for c in train.columns if ', ' in c][0]\n"
        "odd = pl.when(pl.int_range(n) % 2 == 0).then(pl.lit('other')).otherwise(merged)\n"
        "train.with_columns(odd.alias(merged)).write_csv(sys.argv[2])\n"
    )
    command = shlex.join([sys.executable, str(script)]) + " {train} {out} {rows}"
    made = us.synthesizer("command", command=command, constraints=KINDS).fit(REAL)
    check(made.sample(600), KINDS)


def test_refits_of_an_attack_meet_them_too():
    made = us.synthesizer("bootstrap", constraints=["start <= end"])
    table = Table.of(REAL)
    ours = generator(made)
    (out,) = ours(table, 300, 1, seed=1)
    assert (out["start"] <= out["end"]).fill_null(True).all()
    assert not ours.knows_chances(table.schema)  # a row is drawn again if it breaks one
    assert ours.log_likelihood(table, table) is None
    assert generator("bootstrap").knows_chances(table.schema)


def test_under_epsilon_nothing_is_read_off_the_data():
    names = [n for n in native() if "epsilon" in SYNTHESIZERS[n].__dataclass_fields__]
    table = Table.of(REAL)
    with pytest.raises(OptionError, match="epsilon does not pay for"):
        Held.fit(table, KINDS, reads=False)
    held, _ = Held.fit(table, ["age > 1000", "unique key"], reads=False)
    assert held.identified(REAL.drop("key"), 0, ROWS)["key"].to_list()[:2] == ["001", "002"]
    for method in names:
        with pytest.raises(UnderstudyError):
            us.synthesizer(method, epsilon=1.0, constraints=KINDS).fit(REAL)
