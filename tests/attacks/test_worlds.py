"""The worlds attack: against exact answers, against generators that forget, and those that fail."""

import itertools

import numpy as np
import polars as pl
import pytest

import mechanisms
import naughty
from people import people
from understudy.attacks.posterior import (
    EVERY,
    NearRows,
)
from understudy.attacks.records import vulnerable
from understudy.attacks.refits import AttackSetting, Refit, World, shareable
from understudy.attacks.worlds import WorldAnswers, worlds
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.workers import Outcome
from understudy.synthesizers.generators import NamedGenerator, generator
from understudy.workflows.attack import _generator_options, _shareable, attack


@pytest.fixture(scope="module")
def letters() -> pl.DataFrame:
    """All pairs of two letters often, and one record ("c", "d") once."""
    rng = np.random.default_rng(5)
    first, second = rng.choice(["a", "b", "c"], 60), rng.choice(["a", "b"], 60)
    return pl.DataFrame({"x": [*first, "c"], "y": [*second, "d"]})


class Here:
    """A generator that stays in this process: starting others takes a second."""

    def __init__(self, inner):
        self.inner = generator(inner)
        self.name = self.inner.name

    def __call__(self, *given):
        return self.inner(*given)

    def knows_chances(self, schema):
        return isinstance(self.inner, NamedGenerator) and self.inner.knows_chances(schema)

    def log_likelihood(self, train, rows):
        return self.inner.log_likelihood(train, rows)

    def __reduce__(self):
        raise TypeError("it stays here")


def play(train, inner, *, release=(), options=None, **more):
    real = Table.of(train)
    given = release if isinstance(release, list | tuple) else [release]
    tables = tuple(Table.of(table, real.schema) for table in given)
    return worlds(AttackSetting(Here(inner), real, tables, **more), **(options or {}))


# ---------------------------------------------------------------- records


def test_the_record_that_stands_apart_is_chosen(letters):
    table = Table.of(letters)
    assert vulnerable(table, 1).tolist() == [60]
    shuffled = letters[np.random.default_rng(1).permutation(61)]
    again = shuffled[vulnerable(Table.of(shuffled), 10)]
    assert again.equals(letters[vulnerable(table, 10)])


def test_the_most_vulnerable_by_a_slow_count():
    train = people(80, 3).select("sex", "town", "smoker")
    table = Table.of(train)
    rows = train.rows()
    far = [
        np.mean(sorted(sum(a != b for a, b in zip(row, o, strict=True)) for o in rows)[1:6])
        for row in rows
    ]
    order = vulnerable(table, 80)
    assert sorted(order.tolist()) == list(range(80))
    ordered = np.array(far)[order]
    assert (np.diff(ordered) <= 1e-9).all()
    assert ordered[0] > ordered[-1]


def test_a_table_of_one_row_has_a_most_vulnerable_record():
    assert vulnerable(Table.of(pl.DataFrame({"x": ["a"]})), 3).tolist() == [0]
    with pytest.raises(OptionError, match="neighbours = 0"):
        vulnerable(Table.of(pl.DataFrame({"x": ["a"]})), 1, neighbours=0)


# ---------------------------------------------------------------- exact


def by_hand(train: pl.DataFrame, release: pl.DataFrame, record: int) -> dict:
    """Work out the posterior for rows drawn with replacement."""
    others = train[[i for i in range(train.height) if i != record]].rows()
    domain = itertools.product(*(sorted(set(train[c])) for c in train.columns))
    logs = {}
    for candidate in domain:
        world = [*others, candidate]
        shares = [world.count(row) / len(world) for row in release.rows()]
        logs[candidate] = sum(np.log(s) if s else -1000 for s in shares)
    top = max(logs.values())
    total = sum(np.exp(value - top) for value in logs.values())
    return {candidate: np.exp(value - top) / total for candidate, value in logs.items()}


@pytest.mark.parametrize("record", [None, 1])
def test_exact_chances_agree_with_a_count_by_hand(letters, record):
    release = letters[np.random.default_rng(2).integers(0, 60, 61)]  # without the last record
    found = play(letters, "bootstrap", release=release, options={"record": record})
    at = 60 if record is None else record - 1
    expected = by_hand(letters, release, at)
    assert found.value == pytest.approx(expected[letters.row(at)], rel=1e-9)
    assert found.interval == (found.value, found.value)
    listed = {row["candidate"]: row["posterior"] for row in found.register.to_dicts()}
    told = {f"x = {x}, y = {y}": p for (x, y), p in expected.items()}
    assert listed == pytest.approx(told, rel=1e-9)
    assert sum(listed.values()) == pytest.approx(1)
    assert found.register["training_row"].unique().to_list() == [at]
    assert found.register.filter("is_real")["candidate"].to_list() == [
        "x = {}, y = {}".format(*letters.row(at))
    ]
    assert found.reference == pytest.approx(1 / len(expected))
    parts = {part.name: part.value for part in found.parts}
    larger = sum(p > found.value + 1e-12 for p in expected.values())
    assert parts["rank of the real record"] == larger + 1
    assert parts["refits"] == len(expected)


def test_several_copies_add_up(letters):
    rng = np.random.default_rng(3)
    copies = [letters[rng.integers(0, 60, 61)] for _ in range(5)]
    found = play(letters, "bootstrap", release=copies)
    assert found.value == pytest.approx(by_hand(letters, pl.concat(copies), 60)["c", "d"], rel=1e-9)
    assert "5 tables released" in found.note


def test_no_row_and_no_value_of_the_record_is_shared(letters):
    result = attack("worlds", letters, "bootstrap", options={"record": 61}, workers=1)
    text = result.to_json()
    assert "61" not in str(result.provenance["options"])
    assert '"record": "named"' in text
    for finding in result:
        words = " ".join([finding.note, *(part.name for part in finding.parts)])
        assert "61" not in words
        assert " d" not in words.replace(" drawn", "").replace(" differ", "")
    (table,) = result["attack.worlds"].tables.values()
    assert table.columns == ("rank", "posterior", "prior")
    assert "c, y = d" in result.register()["candidate"].to_list()[0]


def test_rows_that_no_world_can_make_are_said(letters):
    strange = pl.concat([letters, pl.DataFrame({"x": ["e"], "y": ["e"]})])
    found = play(letters, "bootstrap", release=strange)
    assert "1 row of the release cannot come from bootstrap in any world" in found.note
    assert found.value > 0.99


def test_numbers_take_other_records_as_candidates():
    train = people(120, 7).drop("person_id", "nothing")
    found = play(train, "cart", options={"alternatives": 7})
    assert found.reference == pytest.approx(1 / 8)
    assert "what 7 other records drawn at random hold" in found.note
    some = play(train, "cart", options={"columns": ["sex", "smoker"]})
    assert some.reference == pytest.approx(1 / 4)
    assert "all 4 combinations of the values of 2 columns" in some.note
    income = play(train, "cart", options={"columns": "income", "most": 10, "record": 3})
    assert income.reference == pytest.approx(1 / 16)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"record": 99}, "there is no such row"),
        ({"columns": ["z"]}, "columns: there is no 'z'"),
        ({"by": "magic"}, "by = 'magic'"),
        ({"copies": 0}, "copies = 0"),
        ({"most": 1}, "most = 1"),
        ({"columns": "x,z"}, "columns: there is no 'z'"),
        ({"columns": []}, "columns: none is named"),
    ],
)
def test_impossible_options(letters, options, said):
    with pytest.raises(OptionError, match=said):
        play(letters, "bootstrap", options=options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"colour": 1}, "attack.worlds has no option 'colour'"),
        ({"copies": 1.5}, "copies = 1.5 is not a whole number"),
        ({"record": True}, "record = True is not a whole number"),
        ({"columns": 3}, "columns = 3 is not a list of names or text"),
        ({"columns": [1]}, r"columns = \[1\] is not a list of names or text"),
        ({"alternatives": None}, "alternatives = None is not a whole number"),
        ({"by": 1}, "by = 1 is not text"),
    ],
)
def test_options_that_do_not_exist(letters, options, said):
    with pytest.raises(OptionError, match=said):
        attack("worlds", letters, "bootstrap", options=options)


def test_yes_or_no_is_no_text(letters):
    with pytest.raises(OptionError, match="gaussian = 'no' is not true or false"):
        attack("audit", letters, "bootstrap", options={"gaussian": "no"})


def test_columns_are_named_once_each_and_may_be_called_anything(letters):
    named = letters.rename({"x": "place", "y": "times"})
    given = {"release": letters.rename({"x": "place", "y": "times"}), "options": {}}
    found = play(named, "bootstrap", **{**given, "options": {"columns": "place, times"}})
    twice = {"columns": ["place", "times", "place"]}
    assert found.to_dict() == play(named, "bootstrap", **{**given, "options": twice}).to_dict()
    assert found.reference == pytest.approx(1 / 9)


def test_no_release_is_none_given(letters):
    found = attack("worlds", letters, "bootstrap", release=None, workers=1)
    assert found.provenance["release"] == []
    assert found["attack.worlds"].status == "ok"


def test_what_is_shared_of_a_program_is_its_name_and_of_options_all_but_the_record(tmp_path):
    program = tmp_path / "make"
    program.touch(0o755)
    told = _generator_options(
        NamedGenerator("command", {"command": f"{program} --key secret {{train}} {{out}}"})
    )
    assert told == {"command": "make"}
    assert _shareable({"record": 3, "records": 4}) == {"record": "named", "records": 4}


def test_who_cannot_say_chances_is_not_asked_for_them(letters):
    with pytest.raises(OptionError, match="flip cannot say how likely rows are"):
        play(letters, "flip", options={"by": "likelihood"})
    with pytest.raises(OptionError, match="counts need a small table"):
        play(people(60, 1), "flip", options={"by": "counts"})


# ---------------------------------------------------------------- refits


@pytest.mark.slow
@pytest.mark.parametrize("by", ["counts", "nearness"])
def test_refits_come_near_the_exact_answer(letters, by):
    rng = np.random.default_rng(4)
    with_it, without = (
        letters[[*rng.integers(0, 60, 58), 60, 60, 60]],
        letters[rng.integers(0, 60, 61)],
    )
    for release, low, high in ((with_it, 0.9, 1.0), (without, 0.0, 0.1)):
        exact = play(letters, "bootstrap", release=release).value
        found = play(letters, naughty.shuffled, release=release, refits=250, options={"by": by})
        assert low <= found.value <= high
        assert found.interval[0] <= found.value <= found.interval[1]
        assert abs(found.value - exact) < 0.1


@pytest.mark.slow
def test_a_value_that_nobody_else_holds_gives_the_record_away():
    train = people(120, 1).select("sex", "age", "income", "town")
    options = {"by": "nearness", "alternatives": 7}
    found = play(train, "cart", refits=96, options=options)
    assert found.value > 0.9
    forgets = play(people(120, 1), mechanisms.blind, refits=64, options=options)
    assert forgets.value < 0.2


def test_what_is_counted_of_a_candidate():
    known = pl.DataFrame({"x": ["a", "a", "b", "b"], "y": [1.5, 2.5, 3.5, 4.5]})
    candidates = pl.DataFrame({"x": ["c", "a"], "y": [1.5, 9.5]})
    near = NearRows.of(Table.of(known), candidates, EVERY)
    sample = Table.of(pl.DataFrame({"x": ["c", "c", "a"], "y": [1.5, 4.5, 9.5]}), near.rows.schema)
    first, second = near([sample]).reshape(2, EVERY)
    # equal rows; those that differ in one and in two columns; in more; own values; others
    assert first[:5].tolist() == [1, 1, 1, 0, 2]
    assert first[5] == pytest.approx(1 / np.sqrt(2))  # y: one equal, one known record holds it
    assert second[:5].tolist() == [1, 0, 2, 0, 1]
    assert second[5] == pytest.approx(1 / np.sqrt(3))


@pytest.mark.slow
def test_a_function_that_remembers_in_part_and_one_that_forgets(letters):
    two = letters.select(pl.all().replace({"c": "b", "d": "b"}))
    forgets = play(two, naughty.forgets, refits=64, options={"copies": 2})
    assert forgets.status == "ok", forgets.note
    assert forgets.value == pytest.approx(forgets.reference, abs=0.1)
    assert not forgets.flagged
    remembers = play(letters, naughty.remembers, refits=300, options={"copies": 10})
    assert remembers.value > 0.8
    assert remembers.flagged
    assert "10 tables released" in remembers.note


WAYS = ["fine", "raises", "hangs", "dies", "other columns", "too few", "well"]


def in_processes(train, **more):
    given = {"limit": 3.0, "workers": 2, **more}
    return attack("worlds", train, naughty.by_world, **given)["attack.worlds"]


@pytest.mark.slow
def test_failing_worlds_are_named_and_the_rest_goes_on():
    train = pl.DataFrame({"number": ["1", "2", "1"] * 14, "how": WAYS * 6})
    train = train.vstack(pl.DataFrame({"number": ["2"], "how": ["fine"]}))
    found = in_processes(train, refits=40, options={"record": 43, "columns": "how"})
    assert found.status == "ok", found.note
    assert "5 worlds failed and left out (world" in found.note
    assert found.reference == pytest.approx(1 / 2)  # the two worlds that are left


def test_a_failure_in_the_real_world_is_told_by_its_name():
    train = pl.DataFrame({"number": ["1", "2", "1"] * 14, "how": WAYS * 6})
    broken = train.vstack(pl.DataFrame({"number": ["2"], "how": ["raises"]}))
    options = {"record": 43, "columns": "number"}
    heard: list[str] = []
    worse = play(
        broken,
        naughty.by_world,
        refits=20,
        release=train.vstack(train[:1]),
        options=options,
        tell=heard.append,
    )
    assert worse.status == "failed"
    assert worse.note == "by_world failed in the real world: ValueError"
    assert "ValueError: I do not like this table" in heard[0]
    none = play(broken, naughty.by_world, refits=20, options=options)
    assert none.note == "by_world failed to make a release: ValueError"


def test_a_failing_candidate_is_left_out_by_its_name():
    ways = ["fine", "raises", "too few", "well"]
    train = pl.DataFrame({"number": ["1", "2"] * 18, "how": ways * 9})
    train = train.vstack(pl.DataFrame({"number": ["2"], "how": ["fine"]}))
    found = play(train, naughty.by_world, refits=30, options={"record": 37, "columns": "how"})
    assert "2 worlds failed and left out (world" in found.note
    assert ": ValueError" in found.note
    assert ": gave another number of rows" in found.note
    assert "I do not like this table" not in found.note
    assert "among the other 2." in found.note
    assert found.reference == pytest.approx(1 / 2)
    parts = {part.name: part for part in found.parts}
    assert parts["rank of the real record"].more == {"candidates": 2}
    assert parts["entropy of the posterior"].reference == 1
    weighed = found.register.drop_nulls("posterior")
    assert weighed.height == 2
    assert found.register.height == 4
    assert weighed["posterior"].sum() == pytest.approx(1)
    assert weighed["prior"].to_list() == [0.5, 0.5]


def test_a_world_that_stands_alone_wins_nothing():
    train = pl.DataFrame({"number": ["1", "2"] * 18, "how": ["fine", "raises", "too few"] * 12})
    train = train.vstack(pl.DataFrame({"number": ["2"], "how": ["fine"]}))
    found = play(train, naughty.by_world, refits=30, options={"record": 37, "columns": "how"})
    assert found.status == "failed"
    assert "by_world failed in all worlds but one. 2 worlds failed" in found.note


@pytest.mark.parametrize("refits", [1, 8])
def test_worlds_that_were_not_reached_do_not_make_the_real_one_sure(letters, refits):
    """All 9 worlds must have a say: the real one is refitted first, and would win alone."""
    found = play(letters, naughty.shuffled, refits=refits)
    assert found.status == "failed"
    assert found.note.startswith("the budget ended before every world was refitted; give more")


def test_exact_worlds_that_were_not_reached_either(letters, monkeypatch):
    """The time is up after two of the 9 worlds."""
    times = itertools.chain([0.0, 0.0], itertools.repeat(9.0))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    found = play(letters, "bootstrap", release=letters, budget=1.0, start=0.0)
    assert found.status == "failed"
    assert "the budget ended before every world was refitted" in found.note


def test_one_refit_of_a_world_has_no_interval(letters):
    release = letters[[*range(50), *[60] * 11]]
    once = play(letters, naughty.shuffled, refits=9, release=release)
    assert once.status == "ok"
    assert once.interval is None
    assert not once.flagged
    assert "refitted fewer than 2 times: there is no interval" in once.note
    twice = play(letters, naughty.shuffled, refits=18, release=release)
    assert twice.interval is not None
    assert "no interval" not in twice.note


def test_the_budget_is_kept(letters):
    found = play(letters, naughty.shuffled, refits=30)
    assert {p.name: p.value for p in found.parts}["refits"] == 30
    assert "until the budget was used up" in found.note
    short = play(letters, naughty.shuffled, budget=1e-6)
    assert short.status == "failed"
    assert "the budget ended before" in short.note


def test_a_refit_that_the_budget_cut_off_is_no_failure_of_its_world():
    there = [World("world 1"), World("world 2"), World("world 3")]
    kept = WorldAnswers(there)
    answers = [Outcome(Refit(world, 1), np.ones(1)) for world in there[:2]]
    assert kept.take([*answers, Outcome(Refit(there[2], 1), None, "out of time")]) == 2
    assert "the budget ended before every world" in kept.failure(0, "maker")
    assert kept.take([Outcome(Refit(there[2], 2), None, "failed", "KeyError: 'Anna'")]) == 1
    assert kept.failure(0, "maker") == ""
    assert "1 world failed and left out (world 3: KeyError)" in kept.note()


def test_a_table_that_cannot_be_attacked_is_an_error_of_the_caller(letters):
    alike = letters.with_columns(y=pl.lit("a"))
    with pytest.raises(DataError, match="only one candidate"):
        attack("worlds", alike[[0] * 10 + [0]].with_columns(x=pl.lit("a")), "bootstrap")


def test_the_card_names_its_controls():
    assert "Null: " in worlds.card.threat
    assert "Positive control: " in worlds.card.threat


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("KeyError: 'Anna'", "KeyError"),
        ("ColumnNotFoundError: unable to find Anna", "ColumnNotFoundError"),
        ("Rscript ended with exit status 3; it said:;   Anna, 37", "ended with exit status 3"),
        ("its process was lost (exit status -9)", "ended with exit status -9"),
        ("R did not finish within 60 seconds and was stopped; it said:; 37",
         "did not finish within 60 seconds"),
        ("it did not finish within 0.5 seconds and was stopped",
         "did not finish within 0.5 seconds"),
        ("f gave 36 rows, and 37 were asked for; hint: x", "gave another number of rows"),
        ("the table made by f: the column 'Anna' is missing; hint: x", "gave other columns"),
        ("R: the column 'Anna' of its table is not in training", "gave other columns"),
        ("R: the column 'age' of its table holds 1 values that are no integer ('37')", "an error"),
        ("Anna ended the work", "an error"),
        ("", "an error"),
    ],
)  # fmt: skip
def test_what_may_be_said_of_an_error(error, kind):
    assert shareable(error) == kind


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answer(letters):
    here = play(letters, naughty.shuffled, refits=40, seed=3).to_dict()
    there = attack("worlds", letters, naughty.shuffled, refits=40, seed=3, workers=2)
    assert here == there["attack.worlds"].to_dict()
    assert here != play(letters, naughty.shuffled, refits=40, seed=4).to_dict()
