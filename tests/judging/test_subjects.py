"""Rows of one person: kept together by the split, and judged together."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.schema import dumps
from understudy.judging.comparison import compare_tables
from understudy.judging.swaps import kept_together

QUICK = {"privacy.closest_record": {"permutations": 99}}


def panel(persons: int, seed: int, waves: int = 4) -> pl.DataFrame:
    """Draw persons with a few rows each, which are much alike."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), waves)
    level = rng.normal(50, 10, persons)
    return pl.DataFrame(
        {
            "person": [f"p{n:04d}" for n in who],
            "year": np.tile(np.arange(2000, 2000 + waves), persons),
            "income": np.round(level[who] + rng.normal(0, 1, persons * waves), 1),
            "region": rng.choice(list("NESW"), persons)[who],
        }
    )


REAL = panel(60, 1)


def parts(**how) -> tuple[pl.DataFrame, pl.DataFrame]:
    return us.split(REAL, seed=2, **how)


def test_a_split_by_person_is_seen_and_one_by_rows_is_not():
    assert kept_together(compare_tables(REAL, REAL)) is None
    for how, found in (({"group": "person"}, "person"), ({}, None)):
        train, holdout = parts(**how)
        assert kept_together(compare_tables(train, train, holdout)) == found


def test_few_groups_and_values_that_stand_alone_are_none():
    train, holdout = parts(group="region")
    assert kept_together(compare_tables(train, train, holdout)) == "person"
    alone = REAL.unique("person", keep="first", maintain_order=True)
    assert kept_together(compare_tables(alone[:30], alone[:30], alone[30:])) is None


def test_persons_are_judged_together_and_it_is_said():
    train, holdout = parts(group="person")
    release = panel(30, 7)
    asked = {"measures": "privacy.closest_record", "options": QUICK, "seed": 3}
    found = us.assess(train, release, holdout=holdout, **asked)
    named = {"privacy.closest_record": {**QUICK["privacy.closest_record"], "group": "person"}}
    same = us.assess(train, release, holdout=holdout, **{**asked, "options": named})
    assert found["privacy.closest_record"].p_value == same["privacy.closest_record"].p_value
    assert found["privacy.closest_record"].interval == same["privacy.closest_record"].interval
    assert any("all rows of one 'person' on one side" in note for note in found.notes)


def test_a_split_by_rows_of_persons_is_said():
    train, holdout = parts()
    found = us.assess(train, panel(30, 7), holdout=holdout, options=QUICK,
                      measures=["fidelity.relations", "privacy.closest_record"])  # fmt: skip
    assert any("Several rows belong to one 'person'" in note for note in found.notes)


def test_the_subject_of_a_schema_is_the_group(tmp_path):
    schema = us.schema(REAL)
    assert "person is a subject ordered by year" in [str(one) for one in schema.relations]
    (tmp_path / "schema.toml").write_text(dumps(schema))
    for given in (schema, tmp_path / "schema.toml"):
        train, holdout = parts(schema=given)
        assert train.equals(parts(group="person")[0])
        assert not set(train["person"]) & set(holdout["person"])
    assert parts(schema=schema, group="region")[0].equals(parts(group="region")[0])


@pytest.mark.parametrize("wrong", [3, [1]])
def test_a_schema_that_is_none_is_refused(wrong):
    with pytest.raises(us.UnderstudyError):
        parts(schema=wrong)
