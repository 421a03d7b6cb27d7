"""Fits under epsilon: hidden noise, declared facts, what is spent kept with the model."""

import datetime as dt
import json
import math
import re
import warnings
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us
from claimant import DECLARED, PEOPLE, Noisy
from understudy.attacks.refits import World
from understudy.data.schema import Column, Schema
from understudy.data.tables import Table, read_marker
from understudy.errors import DataError, OptionError, SchemaError
from understudy.synthesizers import SYNTHESIZERS, Synthesizer, base
from understudy.synthesizers import ledger as ledgers
from understudy.synthesizers.budget import Budget
from understudy.synthesizers.claims import can_claim
from understudy.synthesizers.generators import NamedGenerator
from understudy.synthesizers.handover import Release
from understudy.synthesizers.partial import replace
from understudy.workflows.assessment import Assessment
from understudy.workflows.release import release

METHODS = ["noisy", *(name for name, known in SYNTHESIZERS.items() if can_claim(known))]


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(SYNTHESIZERS, "noisy", Noisy)


def fitted(epsilon=1.0, **more):
    return us.synthesizer("noisy", epsilon=epsilon, **more).fit(PEOPLE, schema=DECLARED)


def seeded(seed, epsilon=1.0):
    with pytest.warns(UserWarning, match="A seed is given"):
        return fitted(epsilon, seed=seed)


def head_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


def test_what_is_spent_is_kept_in_the_model_file(tmp_path):
    made = fitted(0.5)
    assert made.epsilon_spent == 0.5
    assert [step.what for step in made.spending_] == ["counts of sex", "counts of town"]
    made.save(tmp_path / "m")
    again = us.load(tmp_path / "m")
    assert again.epsilon_spent == 0.5
    assert again.spending_ == made.spending_
    assert again.rows_ == made.rows_
    assert again.sample(50).equals(made.sample(50))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_that_claims_an_epsilon_keeps_to_it(method, tmp_path):
    drawn = set()
    for name in "ab":
        made = us.synthesizer(method, epsilon=0.4).fit(PEOPLE, schema=DECLARED)
        assert made.epsilon_spent == pytest.approx(0.4)
        assert all(step.epsilon > 0 for step in made.spending_)
        assert made.rows_ == made.method.rows_ >= 0
        assert not any(column.inferred or column.why for column in made.fitted)
        made.save(tmp_path / name)
        head = head_of(tmp_path / name)
        assert "200 values" not in json.dumps(head)
        again = us.load(tmp_path / name)
        assert again.epsilon_spent == made.epsilon_spent
        assert again.sample(60).equals(made.sample(60))
        drawn.add((tmp_path / name).read_bytes())
    assert len(drawn) == 2
    with pytest.raises(SchemaError, match="declared"):
        us.synthesizer(method, epsilon=0.4).fit(PEOPLE)
    small = DECLARED.replace("sex", levels=("f", "m"))
    rows = World("one row more", added=PEOPLE[:1]).of(Table.of(PEOPLE, small))
    assert us.synthesizer(method, epsilon=0.4).fit(rows).sample(5).height == 5


def test_a_model_without_epsilon_is_saved_and_read_as_before(tmp_path):
    made = us.synthesizer("noisy").fit(PEOPLE, schema=DECLARED)
    assert (made.epsilon_spent, made.rows_) == (None, 200)
    made.save(tmp_path / "m")
    head = head_of(tmp_path / "m")
    assert "spending" not in head
    assert head["seed"] == 0
    assert us.load(tmp_path / "m").epsilon_spent is None
    same = us.synthesizer("noisy", seed=0).fit(PEOPLE, schema=DECLARED)
    assert same.sample(20).equals(made.sample(20))


def test_the_height_of_the_table_is_not_told(tmp_path):
    for _ in range(20):
        made = fitted(0.1)
        assert made.rows_ == made.method.rows_
        if made.rows_ != PEOPLE.height:
            break
    assert made.rows_ != PEOPLE.height
    assert made.sample().height == made.rows_
    made.save(tmp_path / "m")
    head = head_of(tmp_path / "m")
    assert head["rows"] == made.rows_
    assert "200" not in head["schema"]  # the reason of an identifier tells the number of rows


def test_noise_is_another_one_each_time_unless_a_seed_is_given():
    drawn = {str(fitted(0.2).method.counts_) for _ in range(3)}
    assert len(drawn) == 3
    assert seeded(7).method.counts_ == seeded(7).method.counts_ != seeded(8).method.counts_


def test_the_generator_is_seeded_with_more_bits_than_can_be_tried(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "understudy.synthesizers.claims.secrets.randbits", lambda bits: asked.append(bits) or 5
    )
    fitted()
    assert asked == [256]


def test_a_seed_of_noise_enters_neither_the_model_file_nor_the_samples(tmp_path):
    """Who finds a seed in a file, or finds which seed drew a sample, could draw the noise again."""
    made = seeded(987_654_321)
    made.save(tmp_path / "m")
    assert head_of(tmp_path / "m")["seed"] == 0
    again = us.load(tmp_path / "m")
    assert again.sample(50).equals(made.sample(50))
    again.seed = 3
    assert not again.sample(50).equals(made.sample(50))
    again.save(tmp_path / "n")
    assert us.load(tmp_path / "n").sample(50).equals(again.sample(50, replicate=0))


def test_whoever_gets_a_release_is_told_that_a_seed_drew_its_noise(tmp_path):
    seeded(3).save(tmp_path / "m")
    for made, told in ((us.load(tmp_path / "m"), True), (fitted(), False)):
        Release.of_rows(made).write([tmp_path / "s.csv"], note=tmp_path / "s.csv.README.md")
        marker, text = read_marker(tmp_path / "s.csv"), (tmp_path / "s.csv.README.md").read_text()
        assert marker.seeded is told
        assert ("**A seed is given: whoever knows it can draw the noise again" in text) is told
        done = us.assess(
            PEOPLE, tmp_path / "s.csv", schema=DECLARED, measures=["fidelity.hellinger"]
        )
        assert ("epsilon_spent" in done.provenance) is not told


def test_a_high_epsilon_is_warned_of():
    with pytest.warns(UserWarning, match=r"Epsilon 10.5 is above 10: .*Golob"):
        fitted(10.5)
    fitted(10)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, 1e-12, 1e300, "much", True])
def test_impossible_epsilons(epsilon):
    with pytest.raises(OptionError, match="epsilon = "):
        us.synthesizer("noisy", epsilon=epsilon)
    with pytest.raises(OptionError, match="epsilon = "):
        Synthesizer(Noisy(epsilon=epsilon)).fit(PEOPLE, schema=DECLARED)


def test_the_categories_of_a_frame_are_not_taken_over():
    """They are the values that it holds: which levels occur, and a level that nobody declared."""
    town = ["Wien"] * 199 + ["Bern"]
    for real in (
        PEOPLE.with_columns(town=pl.Series(town).cast(pl.Enum(["Wien", "Bern"]))),
        PEOPLE.to_pandas().assign(town=pd.Categorical(town)),
    ):
        random = us.synthesizer("bayes", mode="random", epsilon=1.0)
        made = random.fit(real, schema=DECLARED).sample(2000)
        assert isinstance(made, type(real))
        shown = pl.DataFrame(made)
        assert shown.schema["town"] == pl.String
        assert set(shown["town"]) == {"Graz", "Linz", "Wien"}


OBJECTS = {"sex": [True, False] * 100, "town": [dt.datetime(2020, 1, 1)] * 200}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_that_all_rows_give_a_type_are_refused(name):
    """One text more would turn all of them into texts, and change how each of them is read."""
    odd = PEOPLE.to_pandas().assign(**{name: pd.Series(OBJECTS[name], dtype=object)})
    with pytest.raises(DataError, match=f"the column '{name}' of Python objects has its type by"):
        us.synthesizer("bayes", epsilon=1.0).fit(odd, schema=DECLARED)
    texts = odd.assign(**{name: pd.Series(["f", None] * 100, dtype=object)}, person=range(200))
    texts["person"] = texts["person"].astype(object)  # left out, so its type matters to nobody
    us.synthesizer("bayes", epsilon=1.0).fit(texts, schema=DECLARED)
    us.synthesizer("bayes").fit(odd)


def test_categories_that_all_rows_give_a_type_are_refused():
    """With a text among them, the categories 1.0 and 2.0 are no longer read as 1 and 2."""
    people = PEOPLE.to_pandas()
    mixed = [1.0, 2.0] * 99 + ["f", "m"]
    for sex in (pd.Categorical(mixed), pd.arrays.SparseArray(mixed, dtype=object)):
        odd = people.assign(sex=sex)
        with pytest.raises(DataError, match="the column 'sex' of Python objects has its type by"):
            us.synthesizer("bayes", epsilon=1.0).fit(odd, schema=DECLARED)
    plain = people.assign(sex=pd.Categorical(["f", None] * 100))
    us.synthesizer("bayes", epsilon=1.0).fit(plain, schema=DECLARED)


def test_an_excel_file_is_refused(tmp_path):
    pytest.importorskip("fastexcel")
    path = tmp_path / "people.xlsx"
    PEOPLE.write_excel(path)
    with pytest.raises(DataError, match="an Excel file has its type by the values of all rows"):
        us.synthesizer("bayes", epsilon=1.0).fit(path, schema=DECLARED)


def test_numbers_are_not_cut_to_the_type_of_the_training_frame():
    schema = Schema((Column("n", "number", stored="integer", decimals=0, bounds=(0.0, 900.0)),))
    real = pl.DataFrame({"n": [1, 2] * 50}, schema={"n": pl.UInt8})
    made = us.synthesizer("bayes", mode="random", epsilon=1.0).fit(real, schema=schema)
    made = made.sample(500)
    assert made["n"].max() > 255


def test_kinds_must_be_declared_also_of_columns_left_out():
    person = base.dataclasses.replace(DECLARED["person"], inferred=frozenset({"kind"}))
    schema = base.dataclasses.replace(DECLARED, columns=(person, *DECLARED.columns[1:]))
    with pytest.raises(SchemaError, match="kind of the column 'person' must be declared") as error:
        us.synthesizer("noisy", epsilon=1).fit(PEOPLE, schema=schema)
    assert 'take "kind" off the list' in error.value.hint


def test_nothing_inferred_is_shown():
    class Leaky(Noisy):
        def emitted(self, schema):
            column = base.dataclasses.replace(schema["sex"], inferred=frozenset({"levels"}))
            return base.dataclasses.replace(schema, columns=(column,))

    with pytest.raises(SchemaError, match="levels of the column 'sex' must be declared"):
        Synthesizer(Leaky(epsilon=1)).fit(PEOPLE, schema=DECLARED)


def test_a_method_that_spends_more_than_it_claims_is_refused():
    class Spender(Noisy):
        def fit(self, table, rng, progress):
            super().fit(table, rng, progress)
            budget = Budget(5.0, rng)
            budget.counts("all", [1], epsilon=5.0)
            self.spending_ = budget.steps
            return self

    with pytest.raises(OptionError, match="spent epsilon 5 and claims 1"):
        Synthesizer(Spender(epsilon=1)).fit(PEOPLE, schema=DECLARED)


def test_a_method_that_shows_no_spending_is_refused():
    class Silent(Noisy):
        def fit(self, table, rng, progress):
            super().fit(table, rng, progress)
            self.spending_ = None
            return self

    with pytest.raises(OptionError, match="noisy claims an epsilon, and has no spending_"):
        Synthesizer(Silent(epsilon=1)).fit(PEOPLE, schema=DECLARED)


def test_rounding_is_no_overspending():
    assert fitted(0.3).epsilon_spent == 0.3  # two steps of 0.15


def test_replicates_are_drawn_from_one_fit(tmp_path):
    made = fitted()
    release = Release.of_rows(made, 30, train=Table.of(PEOPLE, DECLARED))
    before = dict(made.method.counts_)
    release.write([tmp_path / "a_1.csv", tmp_path / "a_2.csv"], note=tmp_path / "a.csv.README.md")
    assert made.method.counts_ == before
    assert read_marker(tmp_path / "a_2.csv").epsilon == 1
    assert "all files together" in (tmp_path / "a.csv.README.md").read_text()
    proper = Synthesizer(Noisy(epsilon=1, proper=True)).fit(PEOPLE, schema=DECLARED)
    twice = Release.of_rows(proper, 30, train=Table.of(PEOPLE, DECLARED))
    with pytest.raises(OptionError, match="another fit would spend epsilon 1 again"):
        twice.write([tmp_path / "b_1.csv", tmp_path / "b_2.csv"])
    assert not list(tmp_path.glob("b*"))


def test_the_readme_lists_the_spending_step_by_step(tmp_path):
    made = fitted(0.5)
    Release.of_rows(made).write([tmp_path / "a.csv"], note=tmp_path / "a.csv.README.md")
    text = (tmp_path / "a.csv.README.md").read_text()
    assert "spent epsilon = 0.5" in text
    assert "one row added or removed" in text
    assert "| counts of sex | laplace | 0.25 | 1 | 4 |" in text
    assert re.search(r"exp\(0.5\) = 1.65", text)
    assert "no formula here counts it: intervals are too narrow" in text
    plain = us.synthesizer("noisy").fit(PEOPLE, schema=DECLARED)
    Release.of_rows(plain).write([tmp_path / "b.csv"], note=tmp_path / "b.csv.README.md")
    assert "epsilon =" not in (tmp_path / "b.csv.README.md").read_text()


def test_an_assessment_says_that_its_numbers_lie_outside_the_claim(tmp_path):
    fitted(0.5)
    for name, made in {"dp": fitted(0.5), "plain": us.synthesizer("noisy").fit(PEOPLE)}.items():
        Release.of_rows(made, 200).write([tmp_path / f"{name}.parquet"])
        result = us.assess(
            PEOPLE,
            tmp_path / f"{name}.parquet",
            schema=DECLARED,
            measures=["fidelity.hellinger"],
        )
        notes = [note for note in result.provenance["notes"] if "outside that claim" in note]
        assert len(notes) == (name == "dp")
        assert result.provenance.get("epsilon_spent") == (0.5 if name == "dp" else None)


def test_partial_synthesis_releases_real_values():
    with pytest.raises(OptionError, match="columns that are kept are real values"):
        replace(PEOPLE, ["sex"], method="noisy", epsilon=1.0, schema=DECLARED)


def test_attacks_refit_with_seeds_and_without_warnings():
    table, generator = Table.of(PEOPLE, DECLARED), NamedGenerator("noisy", {"epsilon": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = (generator(table, 20, 1, seed=4)[0] for _ in range(2))
        assert first.equals(second)
        smaller = World("one row less", np.arange(199)).of(table)
        assert generator(smaller, 20, 1, seed=4)[0].height == 20
    assert not generator.knows_chances(DECLARED)


def test_a_foreign_program_claims_nothing_here():
    class Foreign(Noisy):
        foreign = True

    assert Synthesizer(Foreign(epsilon=1)).fit(PEOPLE, schema=DECLARED).epsilon_spent is None


def test_the_seed_of_a_release_draws_no_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(Assessment, "to_html", lambda self, path, **more: None)
    PEOPLE.write_csv(tmp_path / "real.csv")
    (tmp_path / "policy.toml").write_text(
        'maximum_epsilon = 1\n[[rule]]\nmeasure = "fidelity.hellinger"\nupper = 1\n'
    )
    counts = set()
    for out in ("a", "b"):
        decision = release(
            tmp_path / "real.csv",
            tmp_path / "policy.toml",
            tmp_path / out,
            method="noisy",
            options={"noisy": {"epsilon": 0.5}},
            schema=DECLARED,
            measures=["fidelity.hellinger"],
            seed=1,
            ledger=tmp_path / "ledger.json",
        )
        assert decision.outcome == "PASS"
        assert decision.assessment.provenance["epsilon_spent"] == 0.5
        text = (tmp_path / out / "README.md").read_text()
        assert "| counts of sex | laplace | 0.25 | 1 | 4 |" in text
        counts.add(str(us.load(decision.steward / "release.model").method.counts_))
    assert len(counts) == 2
    ledger = ledgers.read(tmp_path / "ledger.json")
    assert (ledger.spent, len(ledger.tables)) == (1.0, 1)
