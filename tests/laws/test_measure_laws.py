"""Properties that every measure must have, run over the whole dict of measures."""

import json
import os

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures import MEASURES
from understudy.options import declared
from understudy.workflows.measuring import run_measure as run

NAMES = list(MEASURES)
FIDELITY = [name for name in NAMES if name.startswith("fidelity.")]
PRIVACY = [name for name in NAMES if name.startswith("privacy.")]
ROWS = 400
SEEDS = {"train": 1, "holdout": 2, "synthetic": 3}


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    return {key: people(ROWS, seed) for key, seed in SEEDS.items()}


FAST = (
    ("resamples", 30),
    ("permutations", 99),
    ("iterations", 10),
    ("folds", 3),
    ("shuffles", 5),
)
QUICK = {
    name: {option: n for option, n in FAST if option in declared(measure)}
    for name, measure in MEASURES.items()
}
TARGET = "sex"
FORMULA = ("income ~ age + sex + town",)
ROLES = {
    "keys": ("age", "town"),
    "sensitive": ("income", "children"),
    "target": TARGET,
    "formula": FORMULA,
}
ALIGNED = ["privacy.match_rate"]  # needs rows that are persons: it has laws of its own


def roles(columns) -> dict:
    """Give the roles that a table has columns for."""
    kept = {role: tuple(n for n in ROLES[role] if n in columns) for role in ("keys", "sensitive")}
    formula = FORMULA if {"income", "age", "sex", "town"} <= set(columns) else ()
    return {**kept, "target": TARGET if TARGET in columns else None, "formula": formula}


def one(name: str, train, synthetic, holdout=None, **more) -> Finding:
    more = {**roles(train.columns), **more}
    result = us.assess(train, synthetic, holdout=holdout, measures=[name], options=QUICK, **more)
    return result[name]


def every(train, synthetic, holdout=None, **more) -> us.Assessment:
    """Run all measures at once: what one finds does not depend on the others (a law below)."""
    more = {**roles(train.columns), **more}
    return us.assess(train, synthetic, holdout=holdout, measures=["all"], options=QUICK, **more)


@pytest.fixture(scope="module")
def plain(tables) -> us.Assessment:
    return every(**tables)


@pytest.fixture(scope="module")
def shuffled(tables) -> us.Assessment:
    return every(**{k: t.sample(fraction=1, shuffle=True, seed=5) for k, t in tables.items()})


@pytest.fixture(scope="module")
def turned(tables) -> us.Assessment:
    return every(**{key: t.select(reversed(t.columns)) for key, t in tables.items()})


@pytest.fixture(scope="module")
def twice(tables) -> us.Assessment:
    return every(tables["train"], [tables["synthetic"]] * 2, tables["holdout"])


def same(a: Finding, b: Finding) -> None:
    assert a.status == b.status
    if a.status != "ok":
        return
    assert a.value == pytest.approx(b.value, rel=1e-6, abs=1e-12)
    assert a.reference == pytest.approx(b.reference, rel=1e-6, abs=1e-12)
    assert {p.name for p in a.parts} == {p.name for p in b.parts}


@pytest.mark.parametrize("name", NAMES)
def test_row_order_does_not_matter(name, plain, shuffled):
    before, after = plain[name], shuffled[name]
    same(before, after)
    if before.interval is not None:
        width = before.interval[1] - before.interval[0]
        assert after.interval == pytest.approx(before.interval, abs=width / 2 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_column_order_does_not_matter(name, plain, turned):
    same(plain[name], turned[name])


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_bytes_whatever_else_runs(name, tables, plain):
    alone = json.dumps(one(name, **tables).to_dict())
    assert json.dumps(plain[name].to_dict()) == alone


def test_number_of_threads_does_not_matter(tables, plain, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert [f.to_dict() for f in every(**tables)] == [f.to_dict() for f in plain]


def test_inputs_are_unchanged(tables, plain):
    assert all(tables[key].equals(people(ROWS, seed)) for key, seed in SEEDS.items())


@pytest.mark.parametrize("with_holdout", [True, False])
def test_json_round_trip(tables, plain, with_holdout):
    result = plain if with_holdout else every(tables["train"], tables["synthetic"])
    again = us.Assessment.from_dict(json.loads(result.to_json()))
    assert again.to_json() == result.to_json()
    if not with_holdout:
        good = [finding for finding in result if finding.status == "ok"]
        assert [f.measure for f in good if f.reference is not None] == []
        assert [f.measure for f in good if "holdout" not in f.note] == []


@pytest.fixture(scope="module")
def copied(tables) -> us.Assessment:
    return every(tables["train"], tables["train"], tables["holdout"])


@pytest.fixture(scope="module")
def copied_in_another_order(tables) -> us.Assessment:
    copy = tables["train"].sample(fraction=1, shuffle=True, seed=2)
    return every(tables["train"], copy, tables["holdout"])


@pytest.fixture(scope="module")
def unrelated(tables) -> us.Assessment:
    made = us.synthesizer("independent", seed=1).fit(tables["train"]).sample()
    return every(tables["train"], made, tables["holdout"])


@pytest.mark.parametrize("name", FIDELITY)
def test_a_copy_of_training_is_best_in_fidelity(name, copied, plain, unrelated):
    copy, fresh, apart = copied[name], plain[name], unrelated[name]
    if name == "fidelity.detection":  # plays against the holdout, as training itself does
        assert copy.value == copy.reference
        assert copy.value < apart.value
    elif copy.better == "lower":
        assert copy.value <= min(fresh.value, apart.value)
        assert copy.value == pytest.approx(0, abs=1e-12)
    else:
        assert copy.value >= max(fresh.value, apart.value)
    assert not copy.flagged


@pytest.mark.parametrize("name", [name for name in PRIVACY if name not in ALIGNED])
def test_a_copy_of_training_is_flagged_in_privacy(name, copied, copied_in_another_order):
    assert copied[name].flagged
    assert copied_in_another_order[name].flagged


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fresh_real_rows_agree_with_the_reference(name):
    """At most as many flags over leak-free splits as chance gives at a level of 1 % for all."""
    flags, splits = 0, 10
    for seed in range(splits):
        parts = [people(ROWS, 1000 + 3 * seed + i) for i in range(3)]
        comparison = compare_tables(*parts, options=QUICK, **ROLES)
        flags += bool(run(MEASURES[name], comparison).flagged)
    from scipy.stats import binom

    limit = binom.ppf(1 - 0.01 / len(NAMES), splits, 0.05)
    assert flags <= limit


@pytest.mark.parametrize("name", FIDELITY)
def test_a_broken_column_is_flagged_in_fidelity(name, tables):
    if name == "fidelity.moments":
        broken = tables["synthetic"].with_columns(age=pl.col("age") * 1e6, income=pl.lit(0.5))
    elif name == "fidelity.correlation":  # a town is related to nothing that could break
        broken = tables["synthetic"].with_columns(pl.col("income").shuffle(1))
    elif name == "fidelity.missingness":
        broken = tables["synthetic"].with_columns(pl.col("income").fill_null(0))
    else:
        broken = tables["synthetic"].with_columns(town=pl.lit("town 1"))
    assert one(name, tables["train"], broken, tables["holdout"]).flagged


ODD = {
    "missing": lambda t: t.with_columns(income=pl.lit(None, pl.Float64)),
    "constant": lambda t: t.with_columns(age=pl.lit(40)),
    "unseen level": lambda t: t.with_columns(town=pl.lit("elsewhere")),
    "not a number": lambda t: t.with_columns(age=pl.lit("13.9.58")),
    "infinite": lambda t: t.with_columns(income=pl.lit(np.inf)),
    "text for booleans": lambda t: t.with_columns(smoker=pl.lit("TRUE")),
    "one row": lambda t: t.head(1),
    "floats for whole numbers": lambda t: t.with_columns(
        pl.col("age", "children").cast(pl.Float64)
    ),
}


def strange(result: us.Assessment) -> dict[str, str]:
    """Give what failed, or has a value that is no number."""
    return {
        f.measure: f.note
        for f in result
        if f.status == "failed" or not (f.value is None or np.isfinite(f.value))
    }


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_odd_synthetic_tables_give_a_finding(odd, tables):
    made = ODD[odd](tables["synthetic"])
    assert strange(every(tables["train"], made, tables["holdout"])) == {}


@pytest.mark.parametrize("odd", ["missing", "constant", "one row", "infinite"])
def test_odd_training_tables_give_a_finding(odd, tables):
    made = ODD[odd](tables["train"])
    assert strange(every(made, tables["synthetic"], tables["holdout"])) == {}


def test_only_one_column():
    train, synthetic, holdout = (people(100, s).select("age") for s in (1, 2, 3))
    assert strange(every(train, synthetic, holdout)) == {}


@pytest.mark.parametrize("empty", ["train", "synthetic", "holdout"])
def test_tables_without_rows_are_errors(empty, tables):
    given = {**tables, empty: tables[empty].head(0)}
    with pytest.raises(us.UnderstudyError, match="no rows"):
        compare_tables(given["train"], given["synthetic"], given["holdout"])


@pytest.mark.parametrize("role", ["synthetic", "holdout"])
def test_a_missing_or_additional_column_is_an_error_that_names_it(role, tables):
    for frame, named in (
        (tables[role].drop("town"), "town"),
        (tables[role].with_columns(tonw=pl.lit(1)), "tonw"),
    ):
        with pytest.raises(us.UnderstudyError, match=named) as caught:
            us.assess(**{**tables, role: frame})
        assert caught.value.hint


def test_identifiers_may_be_absent_from_the_synthetic_table(tables):
    made = tables["synthetic"].drop("person_id")
    few = ["fidelity.univariate", "privacy.closest_record"]
    result = us.assess(**{**tables, "synthetic": made}, measures=few)
    assert result.provenance["left_out"][0]["column"] == "person_id"


@pytest.mark.parametrize("name", NAMES)
def test_cards_are_complete(name):
    card = MEASURES[name].card
    for words in (card.title, card.meaning, card.formula, card.unit, card.source, card.not_shown):
        assert words
    assert card.name == name
    for word in ("private", "anonymous", "safe"):
        assert word not in f"{card.meaning} {card.not_shown} {card.threat}".lower().split()


def test_progress_is_reported(tables):
    said = []
    every(**tables, progress=lambda *now: said.append(now))
    assert all(label and 0 <= done <= total for label, done, total in said)
    own = {label.split(" (")[0] for label, _, _ in said}
    assert set(NAMES) <= own


REDRAWN = {
    *(name for name in FIDELITY if "resamples" in declared(MEASURES[name])),
    "privacy.closest_record",
    "privacy.neighbour_ratio",
    "privacy.mean_minimal_distance",
    "privacy.too_close",
}


@pytest.mark.parametrize("name", NAMES)
def test_draws_are_kept_but_never_shared(name, plain, twice):
    alone = plain[name]
    assert "draws" not in alone.to_dict()
    if alone.draws is None:
        assert name not in REDRAWN
        return
    assert len(alone.draws) >= 19
    assert np.isfinite(alone.draws).all()
    np.testing.assert_allclose(twice[name].draws, alone.draws)
