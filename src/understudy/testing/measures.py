"""What every measure must keep to."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

from understudy.data.schema import Relation
from understudy.data.source import Source
from understudy.data.tables import Table
from understudy.judging.comparison import Comparison, compare_tables
from understudy.judging.findings import Finding
from understudy.measures import Measure, choose
from understudy.options import declared
from understudy.synthesizers import synthesizer
from understudy.testing.laws import check_laws, close, expect
from understudy.testing.tables import patients, people, rare_values_in
from understudy.workflows.assess import assess
from understudy.workflows.assessment import Assessment
from understudy.workflows.measuring import run_measure

ROWS = 400
SEEDS = {"train": 1, "synthetic": 3, "holdout": 2}
QUICK = {"resamples": 30, "permutations": 59, "iterations": 5, "folds": 2, "shuffles": 2}
ROLES: dict[str, Any] = {
    "keys": ("age", "town"),
    "sensitive": ("income", "children"),
    "target": "sex",
    "formula": ("income ~ age + sex + town",),
}
PATIENT_ROLES: dict[str, Any] = {
    "keys": ["sex", "town"],
    "sensitive": ["illness"],
    "target": "class",
    "formula": ["income ~ town + illness + age + weight", "class ~ town + income"],
}
SPLITS = 10
FEWEST_DRAWS = 19
ODD: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
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
ODD_IN_TRAINING = ("missing", "constant", "one row", "infinite")
GIVES_ROWS = ("rows", "numbers", "labels", "coded", "table", "meets", "where")
CAREFUL = ("private", "anonymous", "safe")  # words that a measure cannot bear out


class CountedSource:
    """A source as a database can be one: it counts, but gives no row."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @classmethod
    def compare(cls, comparison: Comparison) -> Comparison:
        """Let nothing but counts be asked of the tables of a comparison."""
        made: Any = {
            "train": cls(comparison.train),
            "synthetic": tuple(cls(source) for source in comparison.synthetic),
            "holdout": comparison.holdout and cls(comparison.holdout),
        }
        return replace(comparison, **made)

    def __getattr__(self, question: str) -> Any:
        expect(question not in GIVES_ROWS, f"a source that only counts was asked for {question}")
        return getattr(self._source, question)

    def pooled(self, other: "CountedSource") -> Any:
        """Pool what can be counted."""
        return self._source.pooled(other._source)

    def resample(self, stream: np.random.Generator) -> "CountedSource":
        """Draw the rows again."""
        return CountedSource(self._source.resample(stream))


class MeasureLaws:
    """Laws, tried on measures over made-up people; equal work is done once for all measures.

    Parameters
    ----------
    measures : measures, or names of them
    options : mapping, optional
        Options by name of the measure; few redraws where nothing is said.
    """

    def __init__(
        self,
        measures: Iterable[str | Measure],
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.measures = choose(list(measures), functions=True)
        quick = {
            name: {option: n for option, n in QUICK.items() if option in declared(measure)}
            for name, measure in self.measures.items()
        }
        self.options = {name: {**q, **(options or {}).get(name, {})} for name, q in quick.items()}
        self.tables = {role: people(ROWS, seed) for role, seed in SEEDS.items()}
        self.assessed = cache(self._assessed)

    def assess(
        self, train: pl.DataFrame, synthetic: Any, holdout: Any = None, **more: Any
    ) -> Assessment:
        """Assess with all measures, in the roles that the table has columns for."""
        schema = Table.of(train).schema
        if {"age", "children"} <= set(schema.modelled):  # for what is about relations
            holds = Relation.parse("children <= age", schema.names)
            schema = replace(schema, relations=(holds,))
        given = {
            "measures": list(self.measures.values()),
            "schema": schema,
            **_roles(train.columns),
            **more,
        }
        return assess(train, synthetic, holdout=holdout, options=self.options, **given)

    def _assessed(self, case: str) -> Assessment:
        tables = self.tables
        train, made, fresh = tables["train"], tables["synthetic"], tables["holdout"]
        if case == "shuffled":
            drawn = {k: t.sample(fraction=1, shuffle=True, seed=5) for k, t in tables.items()}
            return self.assess(**drawn)
        if case == "turned":
            return self.assess(**{k: t.select(reversed(t.columns)) for k, t in tables.items()})
        if case == "without holdout":
            return self.assess(train, made)
        if case == "twice":
            return self.assess(train, [made, made], fresh)
        if case == "copied":
            return self.assess(train, train, fresh)
        if case == "copied in another order":
            return self.assess(train, train.sample(fraction=1, shuffle=True, seed=2), fresh)
        if case == "unrelated":
            apart = synthesizer("independent", seed=1).fit(train).sample()
            return self.assess(train, apart, fresh)
        if case == "threads":
            with mock.patch.object(os, "cpu_count", return_value=7):
                return self.assess(**tables)
        if case == "patients":
            rows, fresh = patients(1), patients(2)
            copied = rows.sample(100, seed=1).vstack(fresh.head(rows.height - 100))
            return self.assess(rows, copied, patients(3), **PATIENT_ROLES)
        if case == "one column":
            return self.assess(*(people(100, seed).select("age") for seed in (1, 2, 3)))
        role, _, odd = case.partition(": ")
        if odd:
            return self.assess(**{**tables, role: ODD[odd](tables[role])})
        return self.assess(**tables)

    def has_a_card(self, name: str) -> None:
        """Its card says what the number means and what it does not show, and promises nothing."""
        card = self.measures[name].card
        for field in ("title", "meaning", "formula", "unit", "headline", "source", "not_shown"):
            expect(bool(getattr(card, field)), f"the card has no {field}")
        expect("." in card.name.strip("."), f"'{card.name}' is not of the form family.name")
        said = f"{card.meaning} {card.not_shown} {card.threat}".lower().split()
        found = [word for word in CAREFUL if word in said]
        expect(not found, f"the card says {', '.join(found)}")

    def finds_something(self, name: str) -> None:
        """It has a value for plain tables in which every role is named."""
        measure, found = self.measures[name], self.assessed("plain")[name]
        if found.status == "not_applicable" and "target" in measure.card.needs:  # a number, then
            found = self.assess(**self.tables, measures=[measure], target="income")[name]
        if not {"aligned", "fit"} & set(measure.card.needs):
            expect(found.status == "ok", f"it is {found.status}: {found.note}")

    def row_order(self, name: str) -> None:
        """The order of the rows does not matter."""
        before, after = self.assessed("plain")[name], self.assessed("shuffled")[name]
        _expect_same(before, after)
        if before.interval is not None and after.interval is not None:
            width = before.interval[1] - before.interval[0]
            for a, b in zip(before.interval, after.interval, strict=True):
                expect(abs(a - b) <= width / 2 + 1e-12, f"the interval: {a} and {b}")

    def column_order(self, name: str) -> None:
        """The order of the columns does not matter."""
        _expect_same(self.assessed("plain")[name], self.assessed("turned")[name])

    def same_seed(self, name: str) -> None:
        """The same seed gives the same bytes, whatever else runs."""
        alone = self.assess(**self.tables, measures=[self.measures[name]])[name]
        together = self.assessed("plain")[name]
        expect(_text(alone) == _text(together), "another finding alone than among others")

    def threads(self, name: str) -> None:
        """The number of processors does not matter."""
        few, many = self.assessed("plain")[name], self.assessed("threads")[name]
        expect(_text(few) == _text(many), "another finding with 7 processors")

    def leaves_tables_alone(self, name: str) -> None:
        """The tables are as they were."""
        self.assessed("plain")
        before = {role: people(ROWS, seed) for role, seed in SEEDS.items()}
        changed = [role for role, table in self.tables.items() if not table.equals(before[role])]
        expect(not changed, f"changed: {', '.join(changed)}")

    def round_trip(self, name: str) -> None:
        """Its finding can be written as JSON and read back."""
        for case in ("plain", "without holdout"):
            told = self.assessed(case)[name].to_dict()
            again = Finding.from_dict(json.loads(json.dumps(told, allow_nan=False))).to_dict()
            expect(again == told, f"read back it differs ({case})")

    def without_holdout(self, name: str) -> None:
        """Without a holdout there is no reference, and the note says so."""
        found = self.assessed("without holdout")[name]
        if found.status == "ok":
            expect(found.reference is None, f"the reference is {found.reference}")
            expect("holdout" in found.note, f"the note is '{found.note}'")

    def copies(self, name: str) -> None:
        """A copy of training is best in fidelity, and flagged in privacy."""
        copy, fresh = self.assessed("copied")[name], self.assessed("plain")[name]
        card = self.measures[name].card
        if card.family == "privacy" and "aligned" not in card.needs:
            other = self.assessed("copied in another order")[name]
            expect(bool(copy.flagged), f"not flagged: {copy!r}")
            expect(bool(other.flagged), f"not flagged in another order: {other!r}")
        if card.family == "fidelity":
            expect(not copy.flagged, f"flagged: {copy!r}")
            apart = self.assessed("unrelated")[name]
            sign = {"lower": 1, "higher": -1}.get(copy.better, 0)
            for other in (fresh, apart):
                best = sign * (copy.value or 0) <= sign * (other.value or 0)
                expect(best, f"the copy has {copy.value}, another table {other.value}")

    def one_column(self, name: str) -> None:
        """A table of one column gives a finding."""
        _expect_finding(self.assessed("one column")[name])

    def odd_training(self, name: str) -> None:
        """Odd training tables give a finding: missing, constant or infinite columns, one row."""
        for odd in ODD_IN_TRAINING:
            _expect_finding(self.assessed(f"train: {odd}")[name], odd)

    def odd_synthetic(self, name: str) -> None:
        """Odd synthetic tables give a finding: unseen levels, words for numbers and the like."""
        for odd in ODD:
            _expect_finding(self.assessed(f"synthetic: {odd}")[name], odd)

    def draws(self, name: str) -> None:
        """Its draws, if it keeps some, are finite, never shared, and averaged over replicates."""
        alone = self.assessed("plain")[name]
        expect("draws" not in alone.to_dict(), "to_dict has the draws")
        if alone.draws is None:
            return
        expect(len(alone.draws) >= FEWEST_DRAWS, f"only {len(alone.draws)} draws")
        expect(bool(np.isfinite(alone.draws).all()), "some draws are not finite")
        both = self.assessed("twice")[name].draws
        same = both is not None and np.allclose(both, alone.draws, rtol=1e-7, atol=0)
        expect(same, "a release given twice has other draws")

    def shares_no_rare_value(self, name: str) -> None:
        """No value that fewer than five training records hold is in its finding."""
        found = self.assessed("patients")[name]
        _expect_finding(found, "of patients")
        rare = rare_values_in(json.dumps(found.to_dict(), ensure_ascii=False), patients(1))
        expect(not rare, f"found: {', '.join(rare[:5])}")

    def fresh_rows(self, name: str) -> None:
        """Fresh real rows agree with the reference: flagged no more often than chance allows."""
        from scipy.stats import binom

        flags = 0
        for seed in range(SPLITS):
            parts = [people(ROWS, 1000 + 3 * seed + i) for i in range(3)]
            comparison = compare_tables(*parts, options=self.options, **ROLES)
            flags += bool(run_measure(self.measures[name], comparison).flagged)
        most = binom.ppf(1 - 0.01 / len(self.measures), SPLITS, 0.05)
        expect(flags <= most, f"flagged in {flags} of {SPLITS} splits without a leak")

    def without_rows(self, name: str) -> None:
        """If its card says that it needs no row in memory, it finds the same without them."""
        measure = self.measures[name]
        if not measure.card.in_memory:
            counted, whole = (
                compare_tables(**self.tables, options=self.options, **ROLES) for _ in range(2)
            )
            found = run_measure(measure, CountedSource.compare(counted))
            expect(_text(found) == _text(run_measure(measure, whole)), f"without rows: {found!r}")

    LAWS = (
        has_a_card, finds_something, row_order, column_order, same_seed, threads,
        leaves_tables_alone, round_trip, without_holdout, copies, one_column, odd_training, draws,
        shares_no_rare_value, without_rows,
    )  # fmt: skip
    SLOW = (odd_synthetic, fresh_rows)


def check_measure(
    measure: str | Callable[..., Finding],
    *,
    options: Mapping[str, Any] | None = None,
    thorough: bool = True,
) -> None:
    """Run the laws on a measure.

    Parameters
    ----------
    measure : function with a card, or name of a measure
    options : mapping, optional
        Options of the measure, to make it fast.
    thorough : bool
        Also try odd synthetic tables, and ten splits of fresh real rows, which takes longer.

    Raises
    ------
    AssertionError
        It says which law is broken, and what was found.
    """
    [name] = wanted = choose([measure], functions=True)
    laws = MeasureLaws([wanted[name], "privacy.identical_matches"], {name: options or {}})
    chosen = [*MeasureLaws.LAWS, *(MeasureLaws.SLOW if thorough else ())]
    check_laws(name, chosen, laws, name)


def _roles(columns: Iterable[str]) -> dict[str, Any]:
    """Give the roles that a table has columns for."""
    there = set(columns)
    whole = {"income", "age", "sex", "town"} <= there
    return {
        **{role: tuple(n for n in ROLES[role] if n in there) for role in ("keys", "sensitive")},
        "target": ROLES["target"] if ROLES["target"] in there else None,
        "formula": ROLES["formula"] if whole else (),
    }


def _text(finding: Finding) -> str:
    return json.dumps(finding.to_dict())


def _expect_same(a: Finding, b: Finding) -> None:
    expect(a.status == b.status, f"{a.status}, then {b.status}")
    if a.status == "ok":
        expect(close(a.value, b.value), f"the value: {a.value} and {b.value}")
        expect(close(a.reference, b.reference), f"the reference: {a.reference} and {b.reference}")
        parts = {p.name for p in a.parts} ^ {p.name for p in b.parts}
        expect(not parts, f"parts that only one has: {', '.join(sorted(parts)[:5])}")


def _expect_finding(finding: Finding, where: str = "") -> None:
    """Whatever the tables are: it did not fail, and its value is a number."""
    expect(finding.status != "failed", f"{where} failed: {finding.note}".strip())
    finite = finding.value is None or np.isfinite(finding.value)
    expect(bool(finite), f"{where} value {finding.value}".strip())
