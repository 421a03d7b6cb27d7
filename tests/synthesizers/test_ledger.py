"""The ledger: nothing spent is missing, whatever ends a fit, and whoever else writes."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

import understudy as us
from claimant import DECLARED, PEOPLE, Noisy
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError, SchemaError
from understudy.jobs.locks import locked
from understudy.synthesizers import SYNTHESIZERS, Synthesizer
from understudy.synthesizers import ledger as ledgers


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


def fit(path, epsilon=1.0, table=PEOPLE, schema=DECLARED, method=Noisy):
    return Synthesizer(method(epsilon=epsilon)).fit(table, schema=schema, ledger=path)


def test_fits_of_one_table_add_up(path):
    assert fit(path, 1).ledger_ == "this fit spends 1; this table has now spent 1 in all"
    said = fit(path, 1.5).ledger_
    assert said == "this fit spends 1.5; this table has now spent 2.5 in all"
    ledger = ledgers.read(path)
    assert ledger.spent == 2.5
    assert [(e.method, e.epsilon, e.state) for e in ledger.entries] == [
        ("noisy", 1.0, "fitted"),
        ("noisy", 1.5, "fitted"),
    ]
    assert [step.epsilon for step in ledger.entries[1].steps] == [0.75, 0.75]
    assert path.stat().st_mode & 0o077 == 0
    assert [file.name for file in path.parent.iterdir()] == ["ledger.json"]


def test_a_table_is_known_again_in_any_order_and_storage(path, tmp_path):
    turned = PEOPLE[::-1].select("town", "sex", "person")
    stored = PEOPLE.with_columns(pl.col("town").cast(pl.Categorical))
    PEOPLE.write_csv(tmp_path / "people.csv")
    for table in (PEOPLE, turned, stored, tmp_path / "people.csv"):
        fit(path, 1, table)
    ledger = ledgers.read(path)
    assert len(ledger.tables) == 1
    assert fit(path, 1, PEOPLE[1:]).ledger_ == (
        "this fit spends 1; this table has now spent 1 in all, the 2 tables of this ledger 5"
    )


def test_a_guess_cannot_be_confirmed_without_the_key(path, tmp_path):
    fit(path)
    fit(tmp_path / "other.json")
    first, second = (ledgers.read(file) for file in (path, tmp_path / "other.json"))
    assert first.tables != second.tables
    table = Table.of(PEOPLE, DECLARED)
    assert first.identity_of(table) == first.tables[0]


def test_a_fit_is_entered_before_its_noise_is_drawn(path):
    seen = []

    class Watched(Noisy):
        def fit(self, table, rng, progress):
            seen.extend(ledgers.read(path).entries)
            return super().fit(table, rng, progress)

    fit(path, 0.5, method=Watched)
    assert [(e.epsilon, e.state) for e in seen] == [(0.5, "begun")]


@pytest.mark.parametrize(
    "error", [RuntimeError, KeyboardInterrupt, DataError, OptionError, SchemaError]
)
def test_what_ends_a_fit_hides_no_spending(path, error):
    class Broken(Noisy):
        def fit(self, table, rng, progress):
            super().fit(table, rng, progress)
            raise error("in the middle")

    with pytest.raises(error):
        fit(path, 0.5, method=Broken)
    fit(path, 1)
    ledger = ledgers.read(path)
    assert [e.state for e in ledger.entries] == ["begun", "fitted"]
    assert ledger.spent == 1.5


def test_noise_of_generators_that_the_generator_made_is_no_less_spent(path):
    class Spawning(Noisy):
        def fit(self, table, rng, progress):
            super().fit(table, rng.spawn(1)[0], progress)
            raise OptionError("in the middle", hint="none")

    with pytest.raises(OptionError):
        fit(path, 0.5, method=Spawning)
    assert ledgers.read(path).spent == 0.5


def test_a_link_has_the_lock_of_what_it_names(path):
    fit(path, 1)
    link = path.with_name("link.json")
    link.symlink_to(path)
    with (
        locked(path, hint="wait"),
        pytest.raises(DataError, match="another run"),
        locked(link, hint="wait"),
    ):
        raise AssertionError("it was not kept off")
    fit(link, 0.5)
    assert ledgers.read(path).spent == 1.5


def test_what_is_refused_for_want_of_a_declaration_spends_nothing(path):
    undeclared = Schema(
        tuple(
            dataclasses.replace(c, inferred=frozenset({"levels"})) if c.levels else c
            for c in DECLARED
        )
    )
    with pytest.raises(SchemaError, match="levels of a column must be declared"):
        fit(path, schema=undeclared)
    assert ledgers.read(path).entries == ()


def test_a_limit_refuses_a_fit_before_any_noise_is_drawn(path):
    class Never(Noisy):
        def fit(self, table, rng, progress):
            raise AssertionError("it was fitted")

    fit(path, 1)
    ledgers.set_limit(path, 1.3)
    with pytest.raises(
        OptionError, match=r"epsilon 0.4, 1.4 in all, and the limit is 1.3"
    ) as error:
        fit(path, 0.4, method=Never)
    assert error.value.hint == "0.3 is left"
    assert fit(path, 0.3).ledger_.endswith("; the limit is 1.3")
    with pytest.raises(OptionError, match=r"the limit is 1\.3"):
        fit(path, 0.01, PEOPLE[1:], method=Never)  # one row less: the same people nevertheless
    assert ledgers.read(path).spent == 1.3


def test_a_limit_may_be_set_before_the_first_fit(path):
    assert ledgers.set_limit(path, 2).limit == 2
    with pytest.raises(OptionError, match="limit = -1"):
        ledgers.set_limit(path, -1)
    assert ledgers.read(path).limit == 2


def test_a_ledger_needs_an_epsilon(path):
    with pytest.raises(OptionError, match="a ledger, but cart spends no epsilon"):
        us.synthesizer("cart").fit(PEOPLE, ledger=path)
    assert not path.exists()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"understudy_ledger": 9}',
        '{"understudy_ledger": 1, "limit": null}',
        "spent",
    ],
)
def test_what_is_no_ledger_is_never_written_over(path, content):
    path.write_text(content)
    with pytest.raises(DataError, match="not a whole ledger"):
        fit(path)
    assert path.read_text() == content


def test_a_damaged_entry_is_an_error_not_a_smaller_sum(path):
    fit(path)
    for change in ({"epsilon": -1.0}, {"epsilon": None}, {"steps": [{}]}, {"table": 3}):
        data = json.loads(path.read_text())
        data["entries"][0] |= change
        other = path.with_name("other.json")
        other.write_text(json.dumps(data))
        with pytest.raises(DataError, match="not a whole ledger"):
            ledgers.read(other)


def test_an_entry_that_is_gone_is_missed(path):
    fit(path, 1)
    fit(path, 2)
    data = json.loads(path.read_text())
    for change in (
        {"entries": data["entries"][:1]},
        {"entries": [{**data["entries"][0], "epsilon": 0.01}, data["entries"][1]]},
        {"key": ""},
    ):
        text = json.dumps({**data, **change})
        path.write_text(text)
        with pytest.raises(DataError, match=r"not a whole ledger \(its (entries do|key is cut)"):
            fit(path, 1)
        assert path.read_text() == text


def test_a_ledger_that_is_taken_away_during_a_fit_is_begun_again_with_it(path):
    class Sweeper(Noisy):
        def fit(self, table, rng, progress):
            path.unlink()
            return super().fit(table, rng, progress)

    said = fit(path, 0.5, method=Sweeper).ledger_
    assert said == "this fit spends 0.5; this table has now spent 0.5 in all"
    assert [(e.epsilon, e.state) for e in ledgers.read(path).entries] == [(0.5, "fitted")]


def test_a_ledger_that_cannot_be_written_any_more_does_not_say_that_nothing_was_spent(path):
    class Mover(Noisy):
        def fit(self, table, rng, progress):
            path.parent.rename(path.parent.with_name("elsewhere"))
            return super().fit(table, rng, progress)

    with pytest.raises(DataError, match="cannot be written") as error:
        fit(path, 0.5, method=Mover)
    assert error.value.hint == "the fit stays in it as begun, and counts"
    assert ledgers.read(path.parent.with_name("elsewhere") / path.name).spent == 0.5


def test_a_ledger_in_no_folder(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        fit(tmp_path / "none" / "ledger.json")


def test_runs_at_once_wait_for_each_other(path):
    """Several runs enter fits in one ledger: none is lost."""
    with ThreadPoolExecutor(4) as runs:
        list(runs.map(lambda _: fit(path, 0.5), range(20)))
    ledger = ledgers.read(path)
    assert len(ledger.entries) == 20
    assert {entry.state for entry in ledger.entries} == {"fitted"}


def test_a_run_that_keeps_the_lock_is_not_waited_for_for_ever(path, monkeypatch):
    monkeypatch.setattr(ledgers, "WAIT", 0.05)
    with locked(path, hint=""), pytest.raises(DataError, match="another run is at work on it"):
        fit(path)


def test_registered_methods_take_a_ledger(path, monkeypatch):
    monkeypatch.setitem(SYNTHESIZERS, "noisy", Noisy)
    us.synthesizer("noisy", epsilon=2).fit(PEOPLE, schema=DECLARED, ledger=str(path))
    assert ledgers.read(path).spent == 2
