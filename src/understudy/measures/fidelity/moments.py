"""Means and standard deviations of all columns at once.

What is shown of real columns must not give one record away: with n records of which one is far
out, mean + deviation · √(n − 1) is that record. So a real mean and deviation are shown only if

- **no few records dominate**: the four (K - 1) that are farthest from the mean have less than half
  of the sum of squared deviations (``few_dominate``). Columns of fewer than nine numbers are
  withheld by it, and so are rare marks, such as four ones among zeros;
- **rounded**: to the third digit of the deviation, or to deviation / n where that is coarser, both
  the mean and the deviation. Who knows all records but one learns that one from the mean no better
  than to ± half a deviation. (Digits of the mean itself would tell too much of one near zero and
  too little of years of birth.) A column that does not vary is one value of K or more records.

Value, reference and interval are computed from the exact moments, also of columns withheld, but
from their ranks alone: they may tell that one column varies more than another, never by how much.
That a column is withheld says that few records in it are far out, not where they are.
"""

import math
from typing import Annotated

import numpy as np

from understudy.data.source import Source
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, around, described
from understudy.measures.boosting import rank_correlation
from understudy.measures.fidelity.columns import NO_HOLDOUT, beyond_reference, redrawn
from understudy.measures.pictures import K, few_dominate
from understudy.options import AtLeast

DIGITS = 3

CARD = Card(
    name="fidelity.moments",
    title="Means and standard deviations",
    meaning="Whether the columns' means and standard deviations rank alike in both tables.",
    formula="Spearman correlation of ⟨means, standard deviations⟩ over the columns whose "
    "values are numbers. Of real columns, mean and deviation are shown to the third digit of the "
    "deviation (or to deviation / n where that is coarser), and only if the 4 records farthest "
    "from the mean have less than half of the sum of squared deviations",
    unit="correlation",
    better="higher",
    headline="the correlation",
    source="Sosnovchyk 2021, section 4.1.1, equation 4.1.1",
    not_shown="Only ranks count, so columns of very different size agree almost whatever a "
    "generator does: a high value is a low bar.",
)


@described(CARD)
def moments(comparison: Comparison, *, resamples: Annotated[int, AtLeast(2)] = 100) -> Finding:
    """Spearman correlation of the concatenated column means and standard deviations."""
    names = [name for name in comparison.names if _has_numbers(comparison, name)]
    usable = [n for n in names if all(_moments(comparison, t, n) for t in comparison.tables)]
    empty = [n for n in names if n not in usable]
    if len(usable) < 2:
        there = "is one" if len(usable) == 1 else "is none"
        note = f"This needs at least two columns with numbers in every table; there {there}."
        return CARD.not_applicable(note)
    value, reference = _correlate(comparison, usable)
    draws = beyond_reference(
        redrawn(comparison, resamples, "fidelity by moments", lambda c: _correlate(c, usable))
    )
    parts, hidden = [], []
    for name in usable:
        train = rounded_moments(comparison.train, name)
        synthetic = _moments(comparison, "synthetic", name)
        more = {"deviation": synthetic[1], "train_mean": train[0], "train_deviation": train[1]}
        fresh_mean = rounded_moments(comparison.holdout, name)[0] if comparison.holdout else None
        parts.append(Part(name, synthetic[0], fresh_mean, more))
        hidden += [name] if train[0] is None else []
    notes = ["" if comparison.has_holdout else NO_HOLDOUT]
    if hidden:
        few = "Training's moments are withheld where few records make most of them"
        notes.append(f"{few}: {', '.join(hidden)}.")
    if empty:
        notes.append(f"Left out, no number in one of the tables: {', '.join(empty)}.")
    return CARD.finding(
        value=value,
        interval=around(value, float(np.std(draws, ddof=1)), -1.0, 1.0),
        reference=reference,
        parts=tuple(parts),
        note=" ".join(filter(None, notes)),
        draws=draws,
    )


def _has_numbers(comparison: Comparison, name: str) -> bool:
    column = comparison.schema[name]
    if column.kind == "number":
        return True
    return column.kind == "category" and column.stored in ("integer", "float")


def _moments(comparison: Comparison, table: Which, name: str) -> tuple[float, ...]:
    found = comparison.source(table).moments(name)
    return () if found is None else (found.mean, found.deviation)


def rounded_moments(source: Source, name: str) -> tuple[float | None, float | None]:
    """Give the mean and the deviation of a real column as they may be shown, or none."""
    numbers = source.numbers(name)
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) < K:
        return None, None
    if numbers.min() == numbers.max():
        return float(numbers[0]), 0.0
    mean, deviation = float(numbers.mean()), float(numbers.std())
    if not deviation or few_dominate((numbers - mean) ** 2):
        return None, None
    third = math.floor(math.log10(deviation)) - (DIGITS - 1)
    decimals = -max(third, math.ceil(math.log10(deviation / len(numbers))))
    return round(mean, decimals), round(deviation, decimals)


def _correlate(comparison: Comparison, names: list[str]) -> tuple[float, float | None]:
    lists = {t: [_moments(comparison, t, n) for n in names] for t in comparison.tables}
    found = {t: np.array(rows).T.ravel() for t, rows in lists.items() if all(rows)}
    if "synthetic" not in found or "train" not in found:
        return 0.0, 0.0
    near, fresh = (
        rank_correlation(found["train"], found[t]) or 0.0 if t in found else None
        for t in ("synthetic", "holdout")
    )
    return near or 0.0, fresh
