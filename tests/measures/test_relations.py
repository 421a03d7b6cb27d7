"""fidelity.relations: records that break what every training record keeps."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.relations import Relation
from understudy.data.schema import infer
from understudy.measures.fidelity.relations import shifted_interval
from understudy.workflows.policy import Policy

NAME = "fidelity.relations"


def bodies(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    height = rng.integers(150, 200, rows)
    weight = np.round(rng.normal(70, 12, rows), 1)
    city = rng.choice(["Graz", "Linz", "Bonn"], rows)
    return pl.DataFrame(
        {
            "weight": weight,
            "height": height,
            "bmi": np.round(weight / (height / 100) ** 2, 1),
            "city": city,
            "land": np.where(city == "Bonn", "D", "A"),
            "free": rng.normal(size=rows).round(2),
        }
    )


def found(train, made, fresh=None, **more):
    return us.assess(train, made, holdout=fresh, measures=[NAME], **more)[NAME]


def test_broken_records_are_counted_by_relation():
    train, made, fresh = (bodies(500, seed) for seed in (1, 2, 3))
    good = found(train, made, fresh)
    assert (good.value, good.reference, good.flagged) == (0.0, 0.0, False)
    spoilt = made.with_columns(
        bmi=pl.when(pl.int_range(pl.len()) < 50).then(pl.col("bmi") + 1).otherwise("bmi"),
        land=pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("D")).otherwise("land"),
    )
    bad = found(train, spoilt, fresh)
    assert bad.value == pytest.approx(0.1)
    assert bad.flagged
    assert bad.interval[0] > bad.reference == 0
    parts = {part.name: part.value for part in bad.parts}
    assert parts["bmi = weight / (height / 100) ** 2"] == pytest.approx(0.1)
    wrong = (made["land"][:20] != "D").sum() / 500
    assert parts["city determines land"] == pytest.approx(wrong)
    listed = bad.to_frame("relations of columns")
    assert set(listed["column"]) == {"weight", "height", "bmi", "city", "land"}
    assert listed.columns == ["column", "relation", "train", "synthetic", "holdout"]


def test_without_relations_it_does_not_apply():
    tables = [bodies(300, seed).select("free", "height") for seed in (1, 2)]
    nothing = found(*tables)
    assert nothing.status == "not_applicable"
    assert "none was found" in nothing.note


def test_a_schema_is_taken_at_its_word():
    train, made = bodies(300, 1), bodies(300, 2)
    assert found(train, made, schema=infer(train)).status == "not_applicable"
    schema = infer(train)
    holds = Relation.parse("weight <= height", schema.names)
    declared = dataclasses.replace(schema, relations=(holds,))
    bad = found(train, made.with_columns(weight=pl.col("weight") + 200), schema=declared)
    assert bad.value == 1.0
    assert "holdout" in bad.note


def test_near_relations_are_listed_and_not_counted():
    train = bodies(600, 1)
    broken = pl.int_range(pl.len()) < 2
    near = train.with_columns(bmi=pl.when(broken).then(1.0).otherwise("bmi"))
    schema = dataclasses.replace(
        infer(near),
        relations=tuple(
            Relation.parse(text, near.columns)
            for text in ("bmi = weight / (height / 100) ** 2", "city determines land")
        ),
    )
    told = found(near, bodies(600, 2).with_columns(bmi=pl.lit(1.0)), schema=schema)
    assert told.value == 0.0
    assert [part.name.startswith("near: ") for part in told.parts] == [False, True]
    assert told.parts[1].value == 1.0
    alone = dataclasses.replace(schema, relations=schema.relations[:1])
    assert found(near, near, schema=alone).status == "not_applicable"


def test_no_value_of_few_records_is_told():
    train = bodies(400, 1)
    train = train.with_columns(
        city=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("Hamlet")).otherwise("city"),
        land=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("Nowhere")).otherwise("land"),
    )
    text = json.dumps(found(train, train, bodies(400, 2)).to_dict())
    assert "Hamlet" not in text
    assert "Nowhere" not in text


def test_the_interval_covers_the_other_share_unless_they_differ():
    assert shifted_interval((0, 50)) == (0.0, pytest.approx(0.0714, abs=1e-3))
    low, high = shifted_interval((10, 400), (8, 400))
    assert low < 0.02 < high
    assert shifted_interval((40, 400), (8, 400))[0] > 0.02


def test_a_rule_is_kept_where_it_does_not_apply():
    rule = f'[[rule]]\nmeasure = "{NAME}"\ndifference_to_reference = 0.05\n'
    nothing = {"measure": NAME, "status": "not_applicable", "note": "No relation."}
    outcomes = [
        Policy.loads(text).judge([nothing])[0].outcome
        for text in (rule, rule + "if_applicable = true\n")
    ]
    assert outcomes == ["INCONCLUSIVE", "PASS"]
    with pytest.raises(us.UnderstudyError, match="if_applicable"):
        Policy.loads(rule + 'if_applicable = "yes"\n')


def test_it_is_in_the_default_set_and_the_report(tmp_path):
    train, made, fresh = (bodies(200, seed) for seed in (1, 2, 3))
    assert NAME in us.MEASURES
    result = us.assess(train, made, holdout=fresh, measures=[NAME])
    result.to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "relations of columns" in page
    assert "city determines land" in page
