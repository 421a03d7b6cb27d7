"""Run a measure on a comparison, on all rows or level by level; what it cannot do is said."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from understudy.data.schema import near
from understudy.errors import DataError, OptionError, UnderstudyError, interruption
from understudy.jobs.threads import one_thread
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, Shown, average
from understudy.measures import MEASURES, Measure
from understudy.options import MOST, check_number

SMALLEST = 100
MOST_LEVELS = 50
FEW = f"have fewer than {SMALLEST} rows in a table and were not measured alone"
HOW_TO = {
    "keys": " Keys are the columns that an attacker knows: name them (--keys A,B, or --keys auto).",
    "sensitive": " Sensitive columns are those that must not be learnt: name them "
    "(--sensitive C,D, or --sensitive all).",
    "target": " A target is the column to be predicted: name it (--target COLUMN).",
    "fit": " A generator is the method that made the table: name it (--fit METHOD).",
    "holdout": " A holdout is real rows that the generator never saw: split them off before "
    "synthesis (understudy split), then give them here (--holdout). Nothing is guessed without it.",
    "formula": " A formula is the analyst's own model, such as income ~ age + sex: give it "
    "(--formula).",
    "aligned": " Rows are aligned where row i of every synthetic table stands for person i of "
    "training, as in partially synthetic data: say so (--aligned) if it is true.",
}
NUMBERS = (int, float, int | None, float | None)
VALUES = re.compile(r"""'[^']*'|`[^`]*`|"[^"]*"|\d[\d.,:-]*""")


def run(measure: Measure, comparison: Comparison) -> Finding:
    """Run one measure on every replicate; what it cannot do is a finding that says so."""
    card = measure.card
    absent = [need for need in card.needs if not getattr(comparison, need)]
    if absent:
        how = "".join(HOW_TO[need] for need in absent if need in HOW_TO)
        return card.not_applicable(f"This needs {' and '.join(map(_named, absent))}.{how}")
    options = comparison.options.get(card.name, {})
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


def _insist(card: Card, found: Any) -> Finding:
    """Refuse what is no finding of this measure: a function may give anything."""
    if not isinstance(found, Finding):
        raise DataError(f"it gave an object of type {type(found).__name__}, not a Finding")
    if found.measure != card.name:
        raise DataError(f"its finding calls it '{found.measure}', its card '{card.name}'")
    return found


def _named(need: str) -> str:
    words = {
        "keys": "key columns",
        "holdout": "a holdout",
        "target": "a target",
        "formula": "a formula",
        "fit": "a generator",
        "aligned": "aligned rows",
    }
    return words.get(need, f"{need} columns")


@dataclass(frozen=True)
class Levels:
    """The rows of each level of a column, compared by themselves, and how many were left out."""

    by: str
    parts: Mapping[str, Comparison]
    left_out: int
    notes: list[str]


def subgroups(comparison: Comparison, by: str) -> Levels:
    """Split a comparison by the levels of a column; levels with few rows are left out unnamed."""
    if by not in comparison.names:
        raise OptionError(f"by: there is no column '{by}'", hint=near(by, comparison.names))
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
        if min(part.height(table) for table in part.tables) >= SMALLEST
    }
    few = len(split) - len(kept)
    notes = [f"{few} of {len(split)} levels of '{by}' {FEW}."] if few else []
    if not kept:
        raise OptionError(
            f"by: no level of '{by}' has {SMALLEST} rows in every table",
            hint="name a column with larger groups",
        )
    return Levels(by, kept, few, notes)


def run_by_level(measure: Measure, found: Finding, levels: Levels) -> Finding:
    """Run a measure on each level too, and add what it finds as parts."""
    if found.status != "ok":
        return found
    parts = []
    for name, comparison in levels.parts.items():
        alone = run(measure, comparison)
        rows = {"rows": float(comparison.height("synthetic"))}
        parts.append(Part(name, alone.value, alone.reference, rows, interval=alone.interval))
    if levels.left_out:
        # no number, and so no pass: a group that the synthetic table lost must not go unnoticed
        some = "1 level" if levels.left_out == 1 else f"{levels.left_out} levels"
        parts.append(Part(f"{levels.by} = {some} not measured alone", None))
    return dataclasses.replace(found, parts=(*found.parts, *parts))


def options_of(measure: Callable[..., Finding]) -> dict[str, inspect.Parameter]:
    """Give the options of a measure or an attack: its keyword-only parameters."""
    parameters = inspect.signature(measure).parameters.values()
    return {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def check_options(
    options: Mapping[str, Mapping[str, Any]], measures: Mapping[str, Measure] = MEASURES
) -> None:
    """Refuse options of measures that do not exist, or that the measure does not have."""
    for name, given in options.items():
        if name not in measures:
            raise OptionError(f"there is no measure '{name}'", hint=near(name, measures))
        known = options_of(measures[name])
        for option, value in given.items():
            if option not in known:
                raise OptionError(f"{name} has no option '{option}'", hint=near(option, known))
            wanted, default = known[option].annotation, known[option].default
            least = 0 if default == 0 or wanted is Shown else 1
            wanted = int if wanted is Shown else wanted
            if wanted in (int, float) and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                raise OptionError(
                    f"{name}: {option} = {value!r} is not a number",
                    hint=f"the default is {default}",
                )
            if wanted in NUMBERS and isinstance(value, int | float):
                check_number(f"{name}: {option}", value)
            if wanted is int and not (isinstance(value, int) and least <= value <= MOST):
                raise OptionError(
                    f"{name}: {option} = {value!r}",
                    hint=f"give a whole number from {least} up, {MOST:,} at most",
                )
