"""The key advisor: exact shares, sensible words, a budget that holds."""

from itertools import combinations, count
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.workflows import advise as advisor
from understudy.workflows.advise import _named, resolve


def alone(frame, names):
    """Count by hand the share of records that are alone with their values."""
    counts = frame.group_by(names).len()["len"]
    return int((counts == 1).sum()) / frame.height


@pytest.fixture(scope="module")
def table():
    return people(300, 1)


def test_every_share_is_exact(table):
    found = us.keys(table)
    assert found.rows == 300
    for column in found.columns:
        assert column.unique == alone(table, [column.name])
        assert column.values == table[column.name].n_unique()
    assert len(found.sets) >= 5
    for each in found.sets:
        assert each.unique == alone(table, list(each.names))
    assert found.keys_unique == alone(table, list(found.keys))


def test_columns_and_sets_are_ranked(table):
    found = us.keys(table)
    shares = [column.unique for column in found.columns]
    assert shares == sorted(shares, reverse=True)
    pairs = [each for each in found.sets if len(each.names) == 2]
    assert [p.unique for p in pairs] == sorted((p.unique for p in pairs), reverse=True)
    names = [c.name for c in found.columns]
    assert pairs[0].unique == max(alone(table, list(p)) for p in combinations(names, 2))


def test_identifiers_and_constants_are_no_keys(table):
    found = us.keys(table)
    assert not {"person_id", "country", "nothing"} & {c.name for c in found.columns}


def test_roles_are_told_by_name_and_in_words(table):
    found = us.keys(table)
    roles = {column.name: column.role for column in found.columns}
    assert roles["sex"] == roles["age"] == roles["town"] == roles["day"] == "known"
    assert roles["income"] == roles["smoker"] == "sensitive"
    why = {column.name: column.why for column in found.columns}
    assert why["income"] == "the name suggests money"
    assert "others often know" in why["sex"]
    assert set(found.sensitive) == {"income", "smoker"}
    assert set(found.keys) <= {n for n, role in roles.items() if role == "known"}


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("maritalStatus", ["marital"], True),
        ("marital-status", ["marital"], True),
        ("AGE", ["age"], True),
        ("agent", ["age"], False),
        ("Charges", ["charge"], True),
        ("BMI", ["bmi"], True),
        ("BloodPressure", ["blood"], True),
        ("wages_2020", ["wage"], True),
        ("x", ["age"], False),
    ],
)
def test_names_are_read_by_their_parts(name, words, told):
    assert _named(name, words) is told


def test_names_that_say_nothing_leave_it_to_the_shapes():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "q1": rng.integers(0, 5, 500).astype(str),
            "q2": rng.integers(0, 40, 500).astype(str),
            "q3": rng.normal(size=500),
        }
    )
    found = us.keys(frame)
    assert found.sensitive == ()
    assert set(found.keys) == {"q1", "q2"}  # others seldom know q3 exactly
    assert "seldom know exactly" in next(c.why for c in found.columns if c.name == "q3")


def test_a_declared_sensitive_column_is_never_a_key(table):
    free, bound = us.keys(table), us.keys(table, sensitive=["age", "town"])
    assert "age" in free.keys
    assert not {"age", "town"} & set(bound.keys)
    assert {"age", "town"} <= set(bound.sensitive)


def test_the_budget_holds(monkeypatch):
    """The clock goes on by a second whenever it is looked at."""
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"c{i}": rng.integers(0, 50, 500).astype(str) for i in range(12)})
    table, clock = Table.of(wide), count()
    monkeypatch.setattr(advisor, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    looked = []
    for seconds in (5, 30):
        found = us.keys(table, budget=seconds)
        assert not found.complete
        assert found.looked <= wide.width + seconds, "the columns alone are always looked at"
        looked.append(found.looked)
    assert looked[0] < looked[1]
    assert us.keys(table, budget=1e6).complete
    assert all(each.unique == alone(wide, list(each.names)) for each in found.sets)
    for budget in (0, -1, float("nan")):
        with pytest.raises(OptionError, match="budget"):
            us.keys(table, budget=budget)


def test_the_search_for_keys_stops_when_time_is_up():
    """Keys are proposed even so: the column that singles out most by itself."""
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"c{i}": rng.integers(0, 50, 2000).astype(str) for i in range(10)})
    late = us.keys(wide, budget=1e-9)
    assert (late.complete, len(late.keys), late.looked, late.sets) == (False, 1, 1, ())
    assert late.keys_unique == alone(wide, list(late.keys))
    assert len(us.keys(wide).keys) > 1


def test_an_empty_table_is_an_error(table):
    with pytest.raises(DataError, match="no rows"):
        us.keys(table.head(0))
    single = us.keys(table.head(1))  # nobody differs from anybody
    assert single.keys == single.columns == ()


# auto and all.


def test_words_become_names(table):
    real = Table.of(table)
    keys, sensitive, said = resolve(real, "auto", "all")
    assert keys == us.keys(table).keys
    assert set(sensitive) == set(real.schema.modelled) - set(keys) - {"country", "nothing"}
    assert [text.split(":")[0] for text in said] == ["keys = auto", "sensitive = all"]
    assert resolve(real, ["auto"], ["income"])[:2] == (keys, ("income",))
    assert resolve(real, "age", ()) == (("age",), (), [])
    assert "age" not in resolve(real, "auto", ["age"])[0]


def test_a_column_of_that_name_is_meant():
    cars = Table.of(pl.DataFrame({"auto": ["vw", "fiat"] * 20, "all": list("abcd") * 10}))
    assert resolve(cars, "auto", "all") == (("auto",), ("all",), [])


def test_words_that_lead_nowhere_are_errors(table):
    real = Table.of(table)
    with pytest.raises(OptionError, match="all columns are keys"):
        resolve(real, real.schema.modelled, "all")
    money = Table.of(pl.DataFrame({"income": list(range(50)) * 2, "loan": ["y", "n"] * 50}))
    with pytest.raises(OptionError, match="no column could be proposed"):
        resolve(money, "auto", ())


def test_assess_takes_the_words(table):
    result = us.assess(
        table,
        people(300, 2),
        keys="auto",
        sensitive="all",
        measures=["privacy.attribute_disclosure"],
    )
    provenance = result.provenance
    assert provenance["keys"] == list(us.keys(table).keys)
    assert "smoker" in provenance["sensitive"]
    assert provenance["notes"][0].startswith("keys = auto: ")
    found = result["privacy.attribute_disclosure"]
    assert len(found.parts) == len(provenance["sensitive"])
    assert f"{len(found.parts)} looks were taken" in found.note


def test_compare_takes_the_words(table):
    found = us.compare(
        table,
        {"a": people(300, 2)},
        keys="auto",
        sensitive="all",
        measures=["privacy.replicated_uniques"],
    )
    assert found["a"]["privacy.replicated_uniques"].status == "ok"
    assert found["a"].provenance["keys"] == list(us.keys(table).keys)


def survey(rows=600):
    rng = np.random.default_rng(5)
    age, height = rng.integers(18, 90, rows), rng.integers(150, 200, rows)
    weight = rng.integers(50, 110, rows)
    return pl.DataFrame(
        {
            "score": rng.integers(0, 40, rows),
            "agegr": [f"{a // 10 * 10}s" for a in age],
            "born": 2011 - age,
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "height": height,
            "weight": weight,
            "mass": np.round(weight / (height / 100) ** 2, 1),
            "city": [f"c{i}" for i in rng.integers(0, 12, rows)],
            "visit": rng.integers(1, 28, rows),
        }
    ).with_columns(land=pl.col("city").replace_strict({f"c{i}": f"l{i % 3}" for i in range(12)}))


def test_what_others_know_comes_before_measurements():
    found = us.keys(survey())
    assert {"sex", "age"} <= set(found.keys)
    assert not {"agegr", "born", "score", "height", "weight", "mass"} & set(found.keys)


def test_a_column_is_never_proposed_beside_its_source():
    keys = set(us.keys(survey()).keys)
    assert not {"city", "land"} <= keys
    measured = survey().select("height", "weight", "mass", "score")
    keys = set(us.keys(measured).keys)
    assert "mass" not in keys or not {"height", "weight"} & keys
    plain = survey().select("sex", "city", "land")
    schema = us.schema(plain)
    assert any(r.kind == "lookup" for r in schema.relations)
    assert set(us.keys(plain, schema=schema).keys) == {"sex", "city"}


@pytest.mark.parametrize(
    "names",
    [("Geschlecht", "Alter"), ("sexe", "âge"), ("género", "edad"), ("Gender", "birth_year")],
)
def test_names_of_several_languages(names):
    sex, age = names
    frame = survey().select("score", "visit", "sex", "age").rename({"sex": sex, "age": age})
    assert set(names) <= set(us.keys(frame).keys)


def test_real_survey(real_data):
    found = us.keys(real_data("sd2011"))
    assert {"sex", "age"} <= set(found.keys)
    assert not {"agegr", "bmi", "height", "weight"} & set(found.keys)
