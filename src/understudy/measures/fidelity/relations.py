"""Rows that break what always holds in the real table: computed columns, hierarchies, orders."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from understudy.data.relations import Learnt, relations_of
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, described, wilson
from understudy.measures.fidelity.columns import NO_HOLDOUT
from understudy.measures.pictures.rule import K, share
from understudy.options import AtLeast

Mask = NDArray[np.bool_]
NEAR = "near: "

CARD = Card(
    name="fidelity.relations",
    title="Relations that rows break",
    meaning="The share of records that break a relation between columns which every training "
    "record keeps: a column computed from others, a level that belongs to another, an order.",
    formula="Relations are those of the schema or, where none is given, those found in training; "
    "values and cuts of lookups and classes are those of at least 5 training records. Value: the "
    "share of synthetic records that break one relation or more of those that no training record "
    "breaks. Reference: the same of the holdout. Interval: Newcombe's for the difference of two "
    "shares (Wilson's where there is no holdout), moved to the value. Relations that some training "
    "records break are listed as near, and not counted in the value. Real shares of single "
    "relations are shown in steps of 5 records",
    unit="fraction",
    better="lower",
    headline="share of records that break a relation of training",
    source="interval: Newcombe 1998, method 10; edit rules as in Fellegi and Holt 1976",
    not_shown="Relations that nobody declared and that were not found; how far off a value is. "
    "Records without the values that a relation needs break none, so leaving values out lowers it. "
    "Rows of one subject break relations together: the interval takes them as independent.",
)
NO_RELATION = (
    "No relation between columns is declared, and none was found in training, so none can break."
)
NO_EXACT = "Every relation is broken by some training records: none is counted in the value."


@dataclass(frozen=True)
class BrokenRelation:
    """The rows of the tables in which a relation says something, and those that break it."""

    learnt: Learnt
    applies: dict[Which, Mask]
    breaks: dict[Which, Mask]

    @property
    def text(self) -> str:
        """The relation."""
        return self.learnt.relation.text

    @property
    def is_exact(self) -> bool:
        """Whether no training record breaks it."""
        return not self.breaks["train"].any()


@described(CARD)
def relations(comparison: Comparison, *, resamples: Annotated[int, AtLeast(2)] = 100) -> Finding:
    """Share of records that break a relation which all training records keep."""
    learnt = comparison.train.once("learnt relations", lambda: _learnt(comparison))
    if not learnt:
        return CARD.not_applicable(NO_RELATION)
    found = []
    for number, one in enumerate(learnt):
        judged = {which: _judged(comparison, which, one) for which in comparison.tables}
        applies = {which: own[0] for which, own in judged.items()}
        found.append(BrokenRelation(one, applies, {which: own[1] for which, own in judged.items()}))
        comparison.progress(CARD.name, number + 1, len(learnt))
    exact = [one for one in found if one.is_exact]
    if not exact:
        return CARD.not_applicable(NO_EXACT)
    counts = {which: _any(exact, which, comparison) for which in comparison.tables}
    rows = {which: comparison.height(which) for which in comparison.tables}
    value = counts["synthetic"] / rows["synthetic"]
    reference = counts["holdout"] / rows["holdout"] if comparison.has_holdout else None
    interval = shifted_interval(
        (counts["synthetic"], rows["synthetic"]),
        (counts["holdout"], rows["holdout"]) if comparison.has_holdout else None,
    )
    draws = [
        _redrawn(comparison, "synthetic", value, time)
        - (0.0 if reference is None else _redrawn(comparison, "holdout", reference, time))
        for time in range(resamples)
    ]
    near = len(found) - len(exact)
    notes = [
        "" if comparison.has_holdout else NO_HOLDOUT,
        f"{len(exact)} relation{'s' * (len(exact) > 1)} of training counted.",
        f"{near} that some training records break listed as near." if near else "",
    ]
    ordered = sorted(
        found, key=lambda one: (not one.is_exact, -_share_of(one, "synthetic"), one.text)
    )
    return CARD.finding(
        value=value,
        interval=interval,
        reference=reference,
        parts=tuple(_part(one, comparison) for one in ordered),
        tables={"relations of columns": _by_column(ordered, comparison)},
        note=" ".join(filter(None, notes)),
        draws=np.array(draws),
    )


def _learnt(comparison: Comparison) -> tuple[Learnt, ...]:
    """Learn the relations of training, by name."""
    table = comparison.train.table
    known = (one for one in relations_of(table) if one.is_judged)
    shown = [one for one in known if set(one.names) <= set(table.schema.modelled)]
    learnt = (one.learn(table, k=K) for one in sorted(shown, key=lambda one: one.text))
    return tuple(one for one in learnt if one.judge(table).applies.any())


def _judged(comparison: Comparison, which: Which, learnt: Learnt) -> tuple[Mask, Mask]:
    """Judge a relation on a table, once."""
    source = comparison.source(which)
    key = ("judged", learnt.relation, comparison.train)
    judged = source.once(key, lambda: learnt.judge(source.table))
    return judged.applies, judged.breaks


def _any(found: Sequence[BrokenRelation], which: Which, comparison: Comparison) -> int:
    made = np.zeros(comparison.height(which), bool)
    for one in found:
        made |= one.breaks[which]
    return int(made.sum())


def _share_of(one: BrokenRelation, which: Which) -> float:
    return float(one.breaks[which].mean()) if which in one.breaks else 0.0


def _redrawn(comparison: Comparison, which: Which, value: float, time: int) -> float:
    rows = comparison.height(which)
    return float(comparison.stream(CARD.name, which, str(time)).binomial(rows, value) / rows)


def shifted_interval(
    own: tuple[int, int], other: tuple[int, int] | None = None
) -> tuple[float, float]:
    """Give the interval of a share such that the other share lies outside if they differ.

    Newcombe's interval of the difference, moved by the other share.

    Examples
    --------
    >>> low, high = shifted_interval((0, 100), (0, 100))
    >>> low, round(high, 3)
    (0.0, 0.037)
    >>> shifted_interval((50, 100), (5, 100))[0] > 0.05
    True
    """
    hits, trials = own
    value, (low, high) = hits / trials, wilson(hits, trials)
    if other is None:
        return low, high
    reference, (least, most) = other[0] / other[1], wilson(*other)
    down = math.hypot(value - low, most - reference)
    up = math.hypot(high - value, reference - least)
    return max(0.0, value - down), min(1.0, value + up)


def _part(one: BrokenRelation, comparison: Comparison) -> Part:
    shares = _shares(one, comparison)
    name = one.text if one.is_exact else NEAR + one.text
    applies = share(
        float(one.applies["synthetic"].sum()), comparison.height("synthetic"), real=False
    )
    more = {"applies": applies, "train": shares["train"]}
    return Part(name, shares["synthetic"], shares.get("holdout"), more)


def _shares(one: BrokenRelation, comparison: Comparison) -> dict[Which, float | None]:
    """Give the shares of records that break a relation; real ones in steps of five records."""
    return {
        which: share(float(mask.sum()), comparison.height(which), real=which != "synthetic")
        for which, mask in one.breaks.items()
    }


def _by_column(found: Sequence[BrokenRelation], comparison: Comparison) -> TableOfNumbers:
    """List for each column the relations that it takes part in."""
    rows = []
    for name in comparison.names:
        for one in found:
            if name in one.learnt.relation.names:
                shares = _shares(one, comparison)
                rows.append((name, one.text, *(shares[which] for which in comparison.tables)))
    return TableOfNumbers(("column", "relation", *comparison.tables), tuple(rows))
