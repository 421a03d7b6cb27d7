"""The worlds attack: against exact answers, against generators that forget, and those that fail."""

import itertools

import numpy as np
import polars as pl
import pytest

import naughty
from people import people
from understudy.attacking import attack
from understudy.attacks.posterior import Refits, fit_weights, judge, normalised
from understudy.attacks.records import vulnerable
from understudy.attacks.setting import Setting
from understudy.attacks.worlds import worlds
from understudy.errors import OptionError
from understudy.generators import Ours, generator
from understudy.tables import Table


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
        return isinstance(self.inner, Ours) and self.inner.knows_chances(schema)

    def log_likelihood(self, train, rows):
        return self.inner.log_likelihood(train, rows)

    def __reduce__(self):
        raise TypeError("it stays here")


def play(train, inner, *, release=(), options=None, **more):
    real = Table.of(train)
    given = release if isinstance(release, list | tuple) else [release]
    tables = tuple(Table.of(table, real.schema) for table in given)
    return worlds(Setting(Here(inner), real, tables, **more), **(options or {}))


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
    ],
)
def test_options_that_do_not_exist(letters, options, said):
    with pytest.raises(OptionError, match=said):
        attack("worlds", letters, "bootstrap", options=options)


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


WAYS = ["fine", "raises", "hangs", "dies", "other columns", "too few"]


def in_processes(train, **more):
    given = {"limit": 3.0, "workers": 2, **more}
    return attack("worlds", train, naughty.by_world, **given)["attack.worlds"]


@pytest.mark.slow
def test_failing_worlds_are_named_and_the_rest_goes_on():
    train = pl.DataFrame({"number": ["1", "2", "1"] * 12, "how": WAYS * 6})
    train = train.vstack(pl.DataFrame({"number": ["2"], "how": ["fine"]}))
    found = in_processes(train, refits=40, options={"record": 37, "columns": "how"})
    assert found.status == "ok", found.note
    assert "5 worlds failed and left out (world" in found.note
    assert found.value > 0.99  # the one world that is left


def test_a_failure_in_the_real_world_is_told_by_its_name():
    train = pl.DataFrame({"number": ["1", "2", "1"] * 12, "how": WAYS * 6})
    broken = train.vstack(pl.DataFrame({"number": ["2"], "how": ["raises"]}))
    options = {"record": 37, "columns": "number"}
    worse = play(
        broken, naughty.by_world, refits=20, release=train.vstack(train[:1]), options=options
    )
    assert worse.status == "failed"
    assert "by_world failed in the real world (world" in worse.note
    assert "I do not like this table" in worse.note
    none = play(broken, naughty.by_world, refits=20, options=options)
    assert none.note.startswith("by_world failed to make a release: ValueError")


def test_a_failing_candidate_is_left_out_by_its_name():
    train = pl.DataFrame({"number": ["1", "2"] * 18, "how": ["fine", "raises", "too few"] * 12})
    train = train.vstack(pl.DataFrame({"number": ["2"], "how": ["fine"]}))
    found = play(train, naughty.by_world, refits=30, options={"record": 37, "columns": "how"})
    assert "2 worlds failed and left out (world" in found.note
    assert "ValueError: I do not like this table" in found.note
    assert "by_world gave 36 rows, and 37 were asked for" in found.note
    assert found.value == pytest.approx(1)
    assert found.reference == pytest.approx(1 / 3)


def test_the_budget_is_kept(letters):
    found = play(letters, naughty.shuffled, refits=30)
    assert {p.name: p.value for p in found.parts}["refits"] == 30
    assert "until the budget was used up" in found.note
    short = play(letters, naughty.shuffled, budget=1e-6)
    assert short.status == "failed"
    assert "the budget ended before" in short.note


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answer(letters):
    here = play(letters, naughty.shuffled, refits=40, seed=3).to_dict()
    there = attack("worlds", letters, naughty.shuffled, refits=40, seed=3, workers=2)
    assert here == there["attack.worlds"].to_dict()
    assert here != play(letters, naughty.shuffled, refits=40, seed=4).to_dict()


# ---------------------------------------------------------------- posterior


def simulated(rng, rounds, means, extra):
    """Draw Poisson counts: each world adds to its own candidate's."""
    worlds = len(means)
    world = np.repeat(np.arange(worlds), rounds)
    rates = np.tile(means, (len(world), 1)).astype(float)
    rates[np.arange(len(world)), world] += extra
    return Refits(rng.poisson(rates)[..., None].astype(float), world)


def exact(means, extra, seen):
    logs = np.array([seen[j] * np.log((m + extra) / m) - extra for j, m in enumerate(means)])
    return normalised(logs)


def test_posteriors_of_poisson_worlds_agree_with_the_formula():
    rng = np.random.default_rng(11)
    means, extra = np.array([0.05, 40.0, 60.0, 50.0, 45.0]), 1.0
    refits = simulated(rng, 200, means, extra)
    for first in (0, 1, 2):
        seen = np.array([first, 42, 55, 57, 40], float)
        found = judge(refits, seen[:, None]).posterior
        np.testing.assert_allclose(found, exact(means, extra, seen), atol=0.06)


def test_posteriors_are_calibrated():
    """Of what is given a chance of p, about p is true."""
    rng = np.random.default_rng(12)
    means, extra = np.full(6, 2.0), 3.0
    refits = simulated(rng, 40, means, extra)
    fresh = simulated(rng, 400, means, extra)
    given = np.array([judge(refits, seen).posterior for seen in fresh.counts[::8]])
    true = fresh.world[::8]
    own = given[np.arange(len(true)), true]
    expected = (given**2).sum(axis=1)  # the mean of the own chance, if they are calibrated
    assert abs(own.mean() - expected.mean()) < 4 * own.std() / np.sqrt(len(own))
    assert own.mean() > 1.5 / 6


def test_where_nothing_leaks_the_mean_over_refits_is_the_prior():
    rng = np.random.default_rng(14)
    world = np.repeat(np.arange(8), 8)
    means = [
        judge(Refits(rng.poisson(5.0, (64, 8, 5)).astype(float), world), np.full((8, 5), 5.0)).mean
        for _ in range(20)
    ]
    assert np.mean(means) < 1.25 / 8


def test_weights_are_those_of_a_known_logit():
    rng = np.random.default_rng(13)
    features = rng.normal(size=(4000, 5, 2))
    chances = normalised(features @ np.array([0.7, -0.4]))
    world = np.array([rng.choice(5, p=p) for p in chances])
    np.testing.assert_allclose(fit_weights(features, world), [0.7, -0.4], atol=0.1)
