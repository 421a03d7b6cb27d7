"""In one assessment a column is parsed once, written as text once, and coded once by a codec."""

import copy
import pickle
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.data.cache import Cache
from understudy.data.codec import Codec
from understudy.data.source import source_of
from understudy.data.tables import Table, table
from understudy.judging.comparison import stream

ROLES: dict[str, Any] = {
    "keys": ["sex", "age"],
    "sensitive": ["town"],
    "target": "income",
    "formula": "income ~ age + sex",
}
QUICK: dict[str, dict[str, Any]] = {
    "fidelity.detection": {"folds": 2, "iterations": 5},
    "fidelity.propensity": {"shuffles": 2},
    "utility.regression": {"models": "linear"},
}


def varied(rows: int, seed: int) -> pl.DataFrame:
    """Draw people without the columns that are the same in every table."""
    return people(rows, seed).drop("country", "nothing")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """Count the parsing and the text of each column of a table, told apart by its values."""
    counts: Counter[Any] = Counter()
    read, plain, encode = table.read_values, Table._plain, Codec.encode

    def counted_read(series: pl.Series, column: Any) -> Any:
        counts["parsed", column.name, tuple(series)] += 1
        return read(series, column)

    def counted_plain(self: Table, name: str) -> pl.Series:
        counts["text", name, tuple(self.frame[name])] += 1
        return plain(self, name)

    def counted_encode(self: Codec, made: Table, *, scaled: bool = False) -> Any:
        counts["coded", self, tuple(made.frame.rows())] += 1
        return encode(self, made, scaled=scaled)

    monkeypatch.setattr(table, "read_values", counted_read)
    monkeypatch.setattr(Table, "_plain", counted_plain)
    monkeypatch.setattr(Codec, "encode", counted_encode)
    return counts


@pytest.mark.slow
def test_one_assessment_of_two_replicates_does_everything_once(done: Counter[Any]) -> None:
    train, holdout, *release = (varied(60, seed) for seed in range(1, 5))
    result = us.assess(train, release, holdout=holdout, options=QUICK, **ROLES)
    assert len([found for found in result.findings if found.status == "ok"]) > 20
    names = ("sex", "age", "income", "town", "day", "children", "smoker")
    for frame in (train, holdout, *release):
        assert all(done["parsed", name, tuple(frame[name])] == 1 for name in names)
        assert all(done["text", name, tuple(frame[name])] == 1 for name in names)
    assert not {key[:2]: times for key, times in done.items() if times > 1}


def test_the_levels_of_a_column_are_not_parsed_again(done: Counter[Any]) -> None:
    tables = [varied(700, seed) for seed in range(1, 4)]
    train, holdout, release = tables
    chosen = ["fidelity.hellinger", "fidelity.moments", "privacy.identical_matches"]
    result = us.assess(train, release, holdout=holdout, by="sex", measures=chosen)
    assert {p.name for p in result["fidelity.hellinger"].parts} >= {"sex = f", "sex = m"}
    for what in ("parsed", "text"):
        times = Counter(key[1] for key in done.elements() if key[0] == what)
        assert times == dict.fromkeys(train.drop("person_id").columns, len(tables))


def test_the_rows_of_a_level_are_read_as_they_would_be_alone() -> None:
    made = Table.of(people(300, 1))
    kept = made.values("sex").labels.eq_missing("f")
    part, alone = made.where(kept), Table.of(made.frame.filter(kept), made.schema)
    assert part.plain.equals(alone.plain)
    for name in made.schema.modelled:
        assert np.array_equal(part.numbers(name), alone.numbers(name), equal_nan=True)
        assert part.values(name).labels.equals(alone.values(name).labels)


def test_a_table_has_one_source_and_keeps_its_work() -> None:
    made = Table.of(people(20, 1))
    assert source_of(made) is source_of(made)
    assert source_of(source_of(made)) is source_of(made)
    assert source_of(made).rows() is source_of(made).rows()
    assert made.values("income") is made.values("income")
    again = source_of(made).resample(stream(1, "again"))
    assert again.numbers("income") is source_of(made).numbers("income")
    codec = Codec.fit(source_of(made))
    equal = Codec.fit(source_of(Table.of(people(20, 1))))
    assert source_of(made).coded(codec) is source_of(made).coded(equal)


def test_a_copy_begins_with_an_empty_cache() -> None:
    once = Cache()
    assert once("a", lambda: 1) == once("a", lambda: 2) == 1
    for other in (copy.deepcopy(once), pickle.loads(pickle.dumps(once))):
        assert other("a", lambda: 3) == 3
