"""Every measure by simulation: few alarms where nothing leaks or breaks, alarms where it does.

Tables are drawn once for all measures of a family, and one comparison serves them all, so that
distances, codes and counts are computed once. Sizes alternate between equal and unequal ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from people import people
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures import MEASURES
from understudy.options import declared
from understudy.workflows.measuring import run_measure

pytestmark = pytest.mark.slow

CHANCE = 0.001  # that a valid measure has more alarms than the bound
LEVELS = (0.01, 0.05, 0.1)
ALIGNED = {name for name, measure in MEASURES.items() if "aligned" in measure.card.needs}
RELATIONS = "fidelity.relations"
BY_MODEL = {"fidelity.propensity", "fidelity.detection"}
VARIANTS = {"privacy.closest_record, mixed": ("privacy.closest_record", {"distance": "mixed"})}


def persons(rows: int, seed: int) -> pl.DataFrame:
    """Draw people of whom some, the same in two columns, said less than others."""
    frame, rng = people(rows, seed).drop("country", "nothing"), np.random.default_rng([1, seed])
    silent = rng.random(rows) < 0.15
    gone = {
        "children": silent | (rng.random(rows) < 0.1),
        "town": silent,
        "smoker": ~silent & (rng.random(rows) < 0.2),
    }
    old = frame["age"].to_numpy() + rng.normal(0, 6, rows) > 62
    return frame.with_columns(
        *(pl.when(pl.Series(~g)).then(pl.col(name)).alias(name) for name, g in gone.items()),
        work=pl.Series(np.where(old, "retired", "other")),
        months=12 * pl.col("age"),
    )


def copied(train: pl.DataFrame, release: pl.DataFrame) -> pl.DataFrame:
    """Replace a third of the release by rows of training."""
    many = release.height // 3
    return pl.concat([release[many:], train[:many]])


def broken(train: pl.DataFrame, release: pl.DataFrame) -> pl.DataFrame:
    """Lose a level, a scale and every relation, and fill what was missing."""
    return release.with_columns(
        pl.col("income").fill_null(0).shuffle(1) / 1e4,
        pl.col("work").shuffle(2),
        pl.col("age") * 1e6,
        pl.col("children").fill_null(9),
        pl.col("smoker").fill_null(value=False),
        town=pl.lit("town 1"),
    )


@dataclass(frozen=True)
class Family:
    """Measures that share tables.

    So many splits are fresh rows, of these sizes in turn (training, release, holdout); in ten more,
    of 300 rows each, the release is spoilt.
    """

    names: tuple[str, ...]
    splits: int
    sizes: tuple[tuple[int, int, int], ...]
    spoil: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    options: dict[str, Any]
    roles: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()


def named(family: str, *, by_model: bool = False) -> tuple[str, ...]:
    names = [*MEASURES, *VARIANTS]
    mine = (n for n in names if n.startswith(family) and n not in ALIGNED | {RELATIONS})
    return tuple(n for n in mine if (n in BY_MODEL) == by_model)


FEW = ("work", "age", "income", "children", "smoker")
FAMILIES = {
    "privacy": Family(
        named("privacy."), 500, ((100, 100, 100), (120, 100, 60)), copied,
        {"permutations": 199, "iterations": 5, "attacks": 100, "curve": False},
        {"keys": ("age", "town"), "sensitive": ("income", "children")},
    ),
    "fidelity": Family(
        named("fidelity."), 200, ((150, 150, 150), (200, 300, 150)), broken,
        {"resamples": 60, "permutations": 79},
    ),
    "relations": Family(
        (RELATIONS,), 200, ((150, 150, 150), (200, 300, 150)), broken, {}, columns=(*FEW, "months"),
    ),
    "fidelity by a model": Family(
        named("fidelity.", by_model=True), 200, ((150, 150, 150), (150, 200, 150)), broken,
        {"iterations": 10, "folds": 3, "shuffles": 1}, columns=FEW,
    ),
    "a category": Family(
        ("utility.classification", "utility.estimates"), 100, ((150, 150, 150),), broken,
        {"iterations": 10, "resamples": 30},
        {"target": "work", "formula": ("age ~ children + smoker",)}, FEW,
    ),
    "a number": Family(
        ("utility.regression",), 50, ((100, 100, 100),), broken, {"iterations": 10},
        {"target": "income"}, FEW,
    ),
}  # fmt: skip
SPOILT_SPLITS, SPOILT_SIZES = 10, (300, 300, 300)
EVERY = [
    pytest.param(family, name, marks=pytest.mark.xdist_group(f"simulated {family}"), id=name)
    for family, each in FAMILIES.items()
    for name in each.names
]
COUNTED = [each for each in EVERY if str(each.id).endswith("variate")]


@cache
def simulated(family: str, *, spoilt: bool) -> dict[str, list[Finding]]:
    """Measure over and over: fresh rows as a release, or rows that were spoilt."""
    asked, found = FAMILIES[family], {name: [] for name in FAMILIES[family].names}
    measures = {name: VARIANTS.get(name, (name, {})) for name in asked.names}
    options = {
        name: {o: n for o, n in asked.options.items() if o in declared(MEASURES[name])}
        for name, _ in measures.values()
    }
    for seed in range(SPOILT_SPLITS if spoilt else asked.splits):
        sizes = SPOILT_SIZES if spoilt else asked.sizes[seed % len(asked.sizes)]
        train, release, holdout = (
            persons(rows, 10_000 + 3 * seed + part) for part, rows in enumerate(sizes)
        )
        release = asked.spoil(train, release) if spoilt else release
        tables = [
            t.select(asked.columns or pl.exclude("months")) for t in (train, release, holdout)
        ]
        comparison = compare_tables(*tables, options=options, seed=seed, **asked.roles)
        for shown, (name, more) in measures.items():
            own = {**options, name: {**options[name], **more}}
            asks = replace(comparison, options=own) if more else comparison
            made = run_measure(MEASURES[name], asks)
            bare = replace(made, parts=(), tables={}, register=None, draws=None)  # it is small
            found[shown].append(bare)
    return found


def test_no_measure_is_left_out():
    assert {name for each in FAMILIES.values() for name in each.names} - set(VARIANTS) == (
        set(MEASURES) - ALIGNED
    )


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_fresh_rows_raise_no_more_alarms_than_chance(family, name):
    found = simulated(family, spoilt=False)[name]
    assert {finding.status for finding in found} == {"ok"}
    most = {level: binom.ppf(1 - CHANCE, len(found), level) for level in LEVELS}
    assert sum(bool(finding.flagged) for finding in found) <= most[0.05]
    if found[0].p_value is None:
        return
    p_values = np.array([finding.p_value for finding in found])
    for level in LEVELS:
        assert (p_values <= level).sum() <= most[level], level
    if family == "privacy":
        assert [bool(finding.flagged) for finding in found] == (p_values <= 0.05).tolist()


@pytest.mark.parametrize(("family", "name"), COUNTED)
def test_of_fresh_rows_the_interval_covers_the_reference(family, name):
    """At equal sizes, at unequal ones and over both; p-values are 1/2 on average."""
    found = simulated(family, spoilt=False)[name]
    hits = [f.interval[0] <= f.reference <= f.interval[1] for f in found]
    for some in (hits[::2], hits[1::2], hits):
        assert sum(some) >= binom.ppf(CHANCE, len(some), 0.94)
    mean = np.mean([finding.p_value for finding in found])
    assert mean == pytest.approx(0.5, abs=4.5 / np.sqrt(12 * len(found)))


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_what_is_copied_or_broken_is_found(family, name):
    found = simulated(family, spoilt=True)[name]
    assert {finding.status for finding in found} == {"ok"}
    assert sum(bool(finding.flagged) for finding in found) >= 0.9 * len(found)
