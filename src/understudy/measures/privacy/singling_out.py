"""Predicates that hold for one synthetic record, and whom among real persons they single out.

A predicate allows a range of codes in each of a few columns: one value, or all numbers that are
at least (at most) as large as one. Predicates are made from the synthetic table alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, described
from understudy.judging.judge import Judgement, judge_draws, unjudged
from understudy.judging.rates import alone, hypergeometric
from understudy.judging.register import FEW_PERSONS, MOST_LISTED, enough, register
from understudy.judging.swaps import swap_some_labels
from understudy.measures.privacy.arms import Arms, attack_finding
from understudy.measures.privacy.coding import (
    Flags,
    Floats,
    Ints,
    Places,
    fixed_order,
    real_tables,
)
from understudy.options import AtLeast

if TYPE_CHECKING:
    from understudy.kernels.boxes import Index

Members = NDArray[np.int32]

CARD = Card(
    name="privacy.singling_out",
    title="Singling out",
    meaning="The share of predicates, such as age ≥ 89 and town = Ely, that hold for exactly one "
    "training person, of those that were made from the synthetic table to hold for exactly one of "
    "its records.",
    formula="predicates from the synthetic table alone: univariate (a value that one record holds, "
    "the smallest and the largest number) and multivariate (several columns of one record; numbers "
    "at least, or at most, as far from the median); main: share that hold for one training person, "
    "control: for one holdout person, at equal sizes (of more persons, the chance that one of a "
    "random part is left); baseline: the chance that predicates of their weights do so by "
    "themselves. Interval and p by swapping the labels of the persons that match, both kinds "
    "corrected together",
    unit="fraction",
    better="lower",
    headline="share of predicates that single out a training person",
    source="Cohen and Nissim 2020; Giomi et al. 2023, section 4.1; intervals and baseline as in "
    "disclosure.md",
    not_shown="A predicate that holds for one person in n isolates somebody in 37 % of tables "
    "without any leak: only the excess over the control is evidence. Singled out is not named: who "
    "the person is takes further knowledge. Other predicates may single out more.",
    threat="Someone sees the synthetic table alone, finds what is special about one of its records "
    "and claims that exactly one person in the training data is like that. Counted against holdout "
    "persons, for whom the claim can only be true by chance.",
    opening="This singling-out attack reads",
)
MOST_MATCHES = 64
ATTEMPTS = 2000
AT_ONCE = 100_000


@described(CARD)
def singling_out(
    comparison: Comparison,
    *,
    attacks: int = 2000,
    columns: int = 3,
    permutations: Annotated[int, AtLeast(2)] = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of predicates from the synthetic table that hold for exactly one training person.

    ``attacks`` is how many predicates of each kind are wanted, ``columns`` how many columns a
    multivariate one has. Where fewer are found than wanted, rates are of those found.
    """
    from understudy.kernels.boxes import Index, box_members

    if not enough(*(comparison.height(which) for which in real_tables(comparison))):
        return CARD.not_applicable(FEW_PERSONS)
    places = Places.of(
        [comparison.source(which) for which in ("synthetic", *real_tables(comparison))],
        sorted(comparison.names),
    )
    kinds, notes = _predicates(comparison, places, attacks, columns)
    if not kinds:
        return CARD.not_applicable(
            "No predicate holds for exactly one record of the synthetic table: its records are "
            "alike, or there is only one."
        )
    index = Index.of(np.concatenate(places.tables[1:], axis=1), places.size)
    lists = [
        box_members(index, p.columns, p.low, p.high, most=MOST_MATCHES)[1] for p in kinds.values()
    ]
    # lists too long to be complete isolate nobody, whatever the labels
    lists = [np.where(m[:, -1:] >= 0, -1, m) for m in lists]
    judged, arms = _judge(
        comparison, list(kinds), lists, permutations=permutations, strata=strata, group=group
    )
    listed = pl.concat(
        _singled_out(comparison.height("train"), kind, predicates, members, places.names)
        for (kind, predicates), members in zip(kinds.items(), lists, strict=True)
    )
    listed = listed.sort("times", descending=True, maintain_order=True).head(MOST_LISTED)
    return attack_finding(CARD, judged, arms, original=1.0, notes=notes, register=listed)


def _predicates(
    comparison: Comparison, places: Places, attacks: int, columns: int
) -> tuple[dict[str, "Predicates"], list[str]]:
    """Make the predicates of both kinds, and say where there are fewer than wanted."""
    from understudy.kernels.boxes import Index

    codes = places.tables[0]
    order, first = fixed_order(codes)
    distinct = np.ascontiguousarray(codes[:, order[first]])
    varied = np.flatnonzero((distinct != distinct[:, :1]).any(axis=1))
    if not len(varied):
        return {}, []
    index = Index.of(distinct, places.size)
    ends = [coder.bins for coder in places.codec.columns]
    width = min(columns, len(varied))
    made = {
        "univariate": univariate(
            index, varied, ends, attacks, comparison.stream(CARD.name, "univariate")
        )
    }
    if width > 1:
        rng = comparison.stream(CARD.name, "multivariate")
        most = ATTEMPTS * attacks
        made["multivariate"] = multivariate(index, varied, ends, width, attacks, most, rng)
    notes = [
        f"{kind.capitalize()}: {len(p.columns):,} predicates single out a synthetic record, of "
        f"{attacks:,} wanted ({p.how}); rates are of those."
        for kind, p in made.items()
        if len(p.columns) < attacks
    ]
    if 1 < width < columns:
        notes.append(f"Multivariate predicates have {width} columns: no more vary.")
    return {kind: p for kind, p in made.items() if len(p.columns)}, notes


def _judge(
    comparison: Comparison,
    names: list[str],
    lists: list[Members],
    *,
    permutations: int,
    strata: str | None,
    group: str | None,
) -> tuple[Judgement, list[Arms]]:
    """Count who is singled out, and again with the labels of all who match swapped.

    Predicates share persons: without a holdout there is no interval.
    """
    train = comparison.height("train")
    if not comparison.has_holdout:
        weight = 1 / comparison.height("synthetic")
        beside = [{"naive": train * weight * (1 - weight) ** (train - 1)}] * len(names)
        hits = [int(((m >= 0).sum(axis=1) == 1).sum()) for m in lists]
        value = np.array([won / len(m) for won, m in zip(hits, lists, strict=True)])
        arms = [[(float(won), len(m))] for won, m in zip(hits, lists, strict=True)]
        return unjudged(names, value, beside, beyond_naive=True), arms
    holdout = comparison.height("holdout")
    size = min(train, holdout)
    one_of = [alone(MOST_MATCHES, size, rows) for rows in (train, holdout)]
    is_train = np.arange(train + holdout) < train
    who = np.unique(np.concatenate([m[m >= 0] for m in lists]))
    if group:
        who = np.arange(train + holdout)
    labels = swap_some_labels(
        comparison, who, is_train, permutations, name=CARD.name, strata=strata, group=group
    )
    arms, draws, beside = [], [], []
    for members in lists:
        inside = members >= 0
        total = inside.sum(axis=1)
        places = np.searchsorted(who, members[inside])
        owner = np.repeat(np.arange(len(members)), total)
        mine = np.bincount(owner, is_train[members[inside]], len(members)).astype(np.int64)
        main, control = one_of[0][mine], one_of[1][total - mine]
        arms.append([(float(main.sum()), len(members)), (float(control.sum()), len(members))])
        draws.append(_differences(labels, places, total, one_of))
        beside.append({"naive": float(chances(total, train, holdout, one_of[0]).mean())})
    value, reference = np.array([[wins / tried for wins, tried in arm] for arm in arms]).T
    return judge_draws(names, value, reference, np.stack(draws, axis=1), beside=beside), arms


def chances(total: Ints, train: int, holdout: int, one_of: Floats) -> Floats:
    """Give the chance that predicates with so many matches isolate a training person.

    Labels are swapped at will: it is what predicates of their weights do without any knowledge.
    """
    many = np.arange(len(one_of))
    table = hypergeometric(many[None, :], train + holdout, many[:, None], train)
    made: Floats = (table @ one_of)[total]
    return made


def _differences(labels: Flags, places: Ints, total: Ints, one_of: list[Floats]) -> Floats:
    """Give main less control for each row of labels; members stand predicate by predicate."""
    used = total > 0
    if not used.any():
        return np.zeros(len(labels))
    starts = np.concatenate([[0], np.cumsum(total[used])[:-1]])
    made = np.empty(len(labels))
    for swap, row in enumerate(labels):
        mine = np.add.reduceat(row[places].astype(np.int64), starts)
        made[swap] = one_of[0][mine].sum() - one_of[1][total[used] - mine].sum()
    return made / len(total)


def _singled_out(
    train: int, kind: str, predicates: "Predicates", members: Members, names: tuple[str, ...]
) -> pl.DataFrame:
    """List the training persons for whom alone, of all in training, a predicate holds."""
    mine = (members >= 0) & (members < train)
    isolating = np.flatnonzero(mine.sum(axis=1) == 1)
    who = members[isolating, mine[isolating].argmax(axis=1)].astype(np.int64)
    persons, first, times = np.unique(who, return_index=True, return_counts=True)
    order = np.lexsort((persons, -times))
    agree = [
        ", ".join(names[c] for c in sorted(predicates.columns[isolating[first[i]]])) for i in order
    ]
    return register(CARD.name, persons[order], kind, agree, times=times[order])


@dataclass(frozen=True)
class Predicates:
    """Ranges of codes, of shape (predicates, columns), and how they were looked for."""

    columns: Ints
    low: Ints
    high: Ints
    how: str

    @classmethod
    def isolating(cls, index: "Index", boxes: tuple[Ints, Ints, Ints], how: str) -> "Predicates":
        """Keep those that hold for exactly one record, each of them once."""
        from understudy.kernels.boxes import box_members

        columns, low, high = boxes
        counts, _ = box_members(index, columns, low, high, most=1, list_them=False)
        kept = [part[counts == 1] for part in boxes]
        _, first = np.unique(np.hstack(kept), axis=0, return_index=True)
        first.sort()
        return cls(kept[0][first], kept[1][first], kept[2][first], how)

    def some(self, wanted: int, rng: np.random.Generator) -> "Predicates":
        """Draw so many of them, or take them all."""
        if len(self.columns) <= wanted:
            return self
        drawn = rng.permutation(len(self.columns))[:wanted]
        return Predicates(self.columns[drawn], self.low[drawn], self.high[drawn], self.how)


def univariate(
    index: "Index", varied: Ints, ends: Sequence[int], wanted: int, rng: np.random.Generator
) -> Predicates:
    """Look at all values that one record holds, and beyond the smallest and largest number.

    Parameters
    ----------
    index : Index
        The distinct synthetic records.
    varied : array of int
        The columns that vary.
    ends : sequence of int
        The last code that stands for a number, for each column; 0 for a category.
    """
    columns: list[int] = []
    low: list[int] = []
    high: list[int] = []
    for column in varied.tolist():
        held = np.diff(index.starts[column])
        alone = np.flatnonzero(held == 1)
        numbers = np.flatnonzero(held[1 : ends[column] + 1]) + 1
        low += [*alone, *([1, numbers[-1]] if len(numbers) else [])]
        high += [*alone, *([numbers[0], ends[column]] if len(numbers) else [])]
        columns += [column] * (len(low) - len(columns))
    boxes = tuple(np.array(part, np.int64)[:, None] for part in (columns, low, high))
    every = "all values were looked at"
    return Predicates.isolating(index, (boxes[0], boxes[1], boxes[2]), every).some(wanted, rng)


def multivariate(
    index: "Index",
    varied: Ints,
    ends: Sequence[int],
    width: int,
    wanted: int,
    attempts: int,
    rng: np.random.Generator,
) -> Predicates:
    """Take several columns of a record: all ways where they are few, else drawn at random.

    A number above the median of its column asks for numbers as large, one below for as small;
    categories, words and missing values ask for the same.
    """
    records = index.codes.shape[1]
    medians = [_median(index, column, end) for column, end in enumerate(ends)]
    last = np.array(ends)
    if comb(len(varied), width) * records <= attempts:
        subsets = np.array(list(combinations(varied.tolist(), width)))
        columns = np.repeat(subsets, records, axis=0)
        rows = np.tile(np.arange(records), len(subsets))
        boxes = _around(index, columns, rows, last, np.array(medians))
        every = "all records and sets of columns were tried"
        return Predicates.isolating(index, boxes, every).some(wanted, rng)
    tried, batch = 0, min(2 * wanted, AT_ONCE)
    found: list[Ints] = []
    while tried < attempts:
        batch = min(batch, attempts - tried)
        rows = rng.integers(0, records, batch)
        columns = varied[rng.random((batch, len(varied))).argpartition(width - 1, axis=1)]
        boxes = _around(index, np.sort(columns[:, :width], axis=1), rows, last, np.array(medians))
        found.append(np.stack(boxes, axis=1))
        tried += batch
        pooled = np.concatenate(found)
        made = Predicates.isolating(
            index, (pooled[:, 0], pooled[:, 1], pooled[:, 2]), f"{tried:,} were tried"
        )
        if len(made.columns) >= wanted:
            break
        found = [np.stack([made.columns, made.low, made.high], axis=1)]
        batch = min(2 * batch, AT_ONCE)
    return made.some(wanted, rng)


def _median(index: "Index", column: int, end: int) -> int:
    """Give the code of the middle number of a column, 0 where there is none."""
    held = np.cumsum(np.diff(index.starts[column])[1 : end + 1])
    return 0 if not end or not held[-1] else int(np.searchsorted(held, held[-1] / 2)) + 1


def _around(
    index: "Index", columns: Ints, rows: Ints, last: Ints, medians: Ints
) -> tuple[Ints, Ints, Ints]:
    codes = index.codes[columns, rows[:, None]].astype(np.int64)
    end = last[columns]
    is_number = (codes > 0) & (codes <= end)
    above = is_number & (codes > medians[columns])
    below = is_number & ~above
    return columns, np.where(below, 1, codes), np.where(above, end, codes)
