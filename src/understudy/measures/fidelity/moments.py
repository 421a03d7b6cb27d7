"""Means and standard deviations of all columns at once."""

import numpy as np
from numpy.typing import NDArray

from understudy.comparison import Comparison, Which
from understudy.errors import OptionError
from understudy.findings import Card, Finding, Part, around, described
from understudy.measures.fidelity.columns import NO_HOLDOUT
from understudy.measures.pictures import K

CARD = Card(
    name="fidelity.moments",
    title="Means and standard deviations",
    meaning="Whether the columns' means and standard deviations rank alike in both tables.",
    formula="Spearman correlation of ⟨means, standard deviations⟩ over the columns whose "
    "values are numbers",
    unit="correlation",
    better="higher",
    headline="the correlation",
    source="Sosnovchyk 2021, section 4.1.1, equation 4.1.1",
    not_shown="Only ranks count, so columns of very different size agree almost whatever a "
    "generator does: a high value is a low bar.",
)


@described(CARD)
def moments(comparison: Comparison, *, resamples: int = 100) -> Finding:
    """Spearman correlation of the concatenated column means and standard deviations."""
    names = [name for name in comparison.names if _has_numbers(comparison, name)]
    usable = [n for n in names if all(_moments(comparison, t, n) for t in comparison.tables)]
    empty = [n for n in names if n not in usable]
    if len(usable) < 2:
        there = "is one" if len(usable) == 1 else "is none"
        note = f"This needs at least two columns with numbers in every table; there {there}."
        return CARD.not_applicable(note)
    if resamples < 2:
        raise OptionError(f"resamples = {resamples}", hint="use at least 2")
    value, reference = _correlate(comparison, usable)
    differences = []
    for number, again in enumerate(comparison.resamples(resamples), start=1):
        redrawn, fresh = _correlate(again, usable)
        differences.append(redrawn - (fresh or 0.0))
        comparison.progress("fidelity by moments", number, resamples)
    parts = []
    for name in usable:
        train = _shown(comparison, "train", name)
        synthetic = _moments(comparison, "synthetic", name)
        more = {"deviation": synthetic[1], "train_mean": train[0], "train_deviation": train[1]}
        fresh_mean = _shown(comparison, "holdout", name)[0] if comparison.has_holdout else None
        parts.append(Part(name, synthetic[0], fresh_mean, more))
    notes = ["" if comparison.has_holdout else NO_HOLDOUT]
    if empty:
        notes.append(f"Left out, no number in one of the tables: {', '.join(empty)}.")
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=value,
        interval=around(value, float(np.std(differences, ddof=1)), -1.0, 1.0),
        reference=reference,
        parts=tuple(parts),
        note=" ".join(filter(None, notes)),
        draws=np.array(differences),
    )


def _has_numbers(comparison: Comparison, name: str) -> bool:
    column = comparison.schema[name]
    if column.kind == "number":
        return True
    return column.kind == "category" and column.stored in ("integer", "float")


def _moments(comparison: Comparison, table: Which, name: str) -> tuple[float, ...]:
    found = comparison.source(table).moments(name)
    return () if found is None else (found.mean, found.deviation)


def _shown(comparison: Comparison, table: Which, name: str) -> tuple[float | None, ...]:
    """Give the moments of real numbers that may be shown: of five or more."""
    found = comparison.source(table).moments(name)
    return (None, None) if found is None or found.count < K else (found.mean, found.deviation)


def _correlate(comparison: Comparison, names: list[str]) -> tuple[float, float | None]:
    lists = {t: [_moments(comparison, t, n) for n in names] for t in comparison.tables}
    ranks = {t: _ranks(np.array(rows).T.ravel()) for t, rows in lists.items() if all(rows)}
    if "synthetic" not in ranks or "train" not in ranks:
        return 0.0, 0.0
    fresh = _pearson(ranks["train"], ranks["holdout"]) if "holdout" in ranks else None
    return _pearson(ranks["train"], ranks["synthetic"]), fresh


def _ranks(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank from 1 up; equal numbers share the mean of their ranks."""
    _, where, times = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    made: NDArray[np.float64] = (last - (times - 1) / 2)[where]
    return made


def _pearson(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if np.array_equal(a, b):
        return 1.0
    if not a.std() or not b.std():
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
