"""Take measures on a comparison, on all rows or level by level; what cannot be done is said."""

import dataclasses
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.data.relations import relations_of
from understudy.errors import DataError, OptionError, UnderstudyError, interruption
from understudy.jobs.workers import one_thread
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part
from understudy.judging.replicates import average
from understudy.measures import Measure
from understudy.measures.exchangeability import exchangeability
from understudy.options import declared

FEWEST_OF_LEVEL = 100
MOST_LEVELS = 50
TOO_FEW_ROWS = f"have fewer than {FEWEST_OF_LEVEL} rows in a table and were not measured alone"
NEEDS = {
    "keys": "key columns. Keys are the columns that an attacker knows: name them (--keys A,B, or "
    "--keys auto).",
    "sensitive": "sensitive columns. Sensitive columns are those that must not be learnt: name "
    "them (--sensitive C,D, or --sensitive all).",
    "target": "a target. A target is the column to be predicted: name it (--target COLUMN).",
    "fit": "a generator. A generator is the method that made the table: name it (--fit METHOD).",
    "holdout": "a holdout. A holdout is real rows that the generator never saw: split them off "
    "before synthesis (understudy split), then give them here (--holdout). Nothing is guessed "
    "without it.",
    "formula": "a formula. A formula is the analyst's own model, such as income ~ age + sex: give "
    "it (--formula).",
    "aligned": "aligned rows. Rows are aligned where row i of every synthetic table stands for "
    "person i of training, as in partially synthetic data: say so (--aligned) if it is true.",
}
TOGETHER = (
    "The split kept all rows of one '{name}' on one side: they are judged together (option group)."
)
APART = (
    "Several rows belong to one '{name}', and the split did not keep them together: measures that "
    "compare training with holdout take each row for a person. Split with --group."
)
NOT_FRESH = (
    "Holdout rows stand in training, so they are no control: nothing can be told by comparing with "
    "them. Give real rows that the generator never saw."
)
# whether it is fresh, what the provenance tells of it, and the seconds
HoldoutCheck = tuple[bool, dict[str, Any], dict[str, float]]
VALUES = re.compile(r"""'[^']*'|`[^`]*`|"[^"]*"|\d[\d.,:-]*""")


def run_measure(measure: Measure, comparison: Comparison) -> Finding:
    """Run one measure on every replicate; what it cannot do is a finding that says so."""
    card = measure.card
    absent = [need for need in card.needs if not getattr(comparison, need)]
    if absent:
        told = [NEEDS[need].partition(". ") for need in absent]
        how = "".join(f" {explained}" for _, _, explained in told if explained)
        named = " and ".join(name.removesuffix(".") for name, _, _ in told)
        return card.not_applicable(f"This needs {named}.{how}")
    options = _options(measure, comparison)
    replicates = range(len(comparison.synthetic))
    try:
        with one_thread():
            if card.together:
                return _insist(card, measure(comparison, **options))
            return average(
                [_insist(card, measure(comparison.replicate(i), **options)) for i in replicates]
            )
    except OptionError:
        raise
    except UnderstudyError as error:
        return card.failed(str(error).replace("\n", "; "))
    except Exception as error:
        if (stop := interruption(error)) is not None:
            raise stop from None
        # another library's message may quote a person's value, and findings are shared
        return card.failed(f"{type(error).__name__}: {VALUES.sub('…', str(error))}")


def _options(measure: Measure, comparison: Comparison) -> dict[str, Any]:
    """Give the options of a measure; rows that the split kept together are judged together."""
    options = dict(comparison.options.get(measure.card.name, {}))
    if (
        comparison.together
        and comparison.has_holdout
        and "group" in declared(measure)
        and "strata" not in options
    ):
        options.setdefault("group", comparison.together)
    return options


def by_subject(comparison: Comparison, measures: Mapping[str, Measure]) -> list[str]:
    """Say whose rows are judged together, or that several rows of one person are not."""
    asking = [m for m in measures.values() if "group" in declared(m)]
    if not comparison.has_holdout or not asking:
        return []
    if comparison.together is not None:
        return [TOGETHER.format(name=comparison.together)]
    known = comparison.schema.relations
    if "fidelity.relations" in measures:
        known = relations_of(comparison.train.table)
    return [APART.format(name=one.target) for one in known if one.kind == "subject"]


def _insist(card: Card, found: Any) -> Finding:
    """Refuse what is no finding of this measure: a function may give anything."""
    if not isinstance(found, Finding):
        raise DataError(f"it gave an object of type {type(found).__name__}, not a Finding")
    if found.measure != card.name:
        raise DataError(f"its finding calls it '{found.measure}', its card '{card.name}'")
    for word in ("unit", "better"):
        if (said := getattr(found, word)) != (promised := getattr(card, word)):
            raise DataError(f"{word} is '{said}' in its finding, '{promised}' on its card")
    low, high = found.interval or (None, None)
    numbers = {name: getattr(found, name) for name in ("value", "reference", "p_value")}
    for name, number in {**numbers, "interval: low": low, "interval: high": high}.items():
        if number is not None and not _is_number(number):
            # the value may be a person's, and findings are shared
            told = number if isinstance(number, float) else f"of type {type(number).__name__}"
            raise DataError(f"{name} is {told} in its finding, not a finite number")
    return found


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


@dataclass(frozen=True)
class Levels:
    """The rows of each level of a column, compared by themselves, and how many were left out."""

    by: str
    parts: Mapping[str, Comparison]
    left_out: int
    notes: list[str]


def subgroups(comparison: Comparison, by: str) -> Levels:
    """Split a comparison by the levels of a column; levels with few rows are left out unnamed."""
    comparison.schema.check_modelled("by", [by])
    found = comparison.train.levels(by)
    if len(found) > MOST_LEVELS or comparison.schema[by].is_numeric:
        raise OptionError(
            f"by: '{by}' is no category with at most {MOST_LEVELS} levels",
            hint="name a category, or declare one in a schema (understudy schema)",
        )
    split = {f"{by} = {level}": comparison.within(by, level) for level in found}
    kept = {
        name: part
        for name, part in split.items()
        if min(part.height(table) for table in part.tables) >= FEWEST_OF_LEVEL
    }
    few = len(split) - len(kept)
    notes = [f"{few} of {len(split)} levels of '{by}' {TOO_FEW_ROWS}."] if few else []
    if not kept:
        raise OptionError(
            f"by: no level of '{by}' has {FEWEST_OF_LEVEL} rows in every table",
            hint="name a column with larger groups",
        )
    return Levels(by, kept, few, notes)


def run_by_level(measure: Measure, found: Finding, levels: Levels) -> Finding:
    """Run a measure on each level too, and add what it finds as parts."""
    if found.status != "ok":
        return found
    parts = []
    for name, comparison in levels.parts.items():
        alone = run_measure(measure, comparison)
        rows = {"rows": float(comparison.height("synthetic"))}
        parts.append(Part(name, alone.value, alone.reference, rows, interval=alone.interval))
    if levels.left_out:
        # no number, and so no pass: a group that the synthetic table lost must not go unnoticed
        some = "1 level" if levels.left_out == 1 else f"{levels.left_out} levels"
        parts.append(Part(f"{levels.by} = {some} not measured alone", None))
    return dataclasses.replace(found, parts=(*found.parts, *parts))


def check_holdout(comparison: Comparison) -> HoldoutCheck:
    """Ask whether the holdout is fresh; say what the provenance tells of it, and the seconds."""
    if not comparison.has_holdout:
        return True, {"warnings": []}, {}
    start = time.perf_counter()
    check = exchangeability(comparison)
    told = {"warnings": list(check.warnings), "exchangeability_p_value": check.p_value}
    return check.fresh, told, {"exchangeability": round(time.perf_counter() - start, 3)}


def measure_all(
    comparison: Comparison,
    chosen: Mapping[str, Measure],
    *,
    fresh: bool,
    levels: Sequence[Levels] = (),
) -> tuple[list[Finding], dict[str, float]]:
    """Run measures on all rows, and on each of the levels; give the findings and the seconds."""
    findings, seconds = [], {}
    alone = comparison if fresh else dataclasses.replace(comparison, holdout=None)
    for number, (name, measure) in enumerate(chosen.items()):
        comparison.progress(name, number, len(chosen))
        start = time.perf_counter()
        card = measure.card
        if not fresh and "holdout" in card.needs:
            findings.append(card.not_applicable(NOT_FRESH))
        else:
            # who stands in training is no control for what training discloses
            found = run_measure(measure, alone if card.family == "privacy" else comparison)
            for split in levels:
                found = run_by_level(measure, found, split)
            findings.append(found)
        seconds[name] = round(time.perf_counter() - start, 3)
    return findings, seconds
