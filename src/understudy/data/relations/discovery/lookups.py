"""A column that determines another: level by level (a lookup), or by cuts (classes).

A lookup must save far more than it costs to state: the entropy of the determined column in the
rows it speaks of, against one value for each level. It speaks only of levels that at least k rows
hold, and those must be nearly all rows. Classes need one cut and one value for each run.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.relations.discovery.evidence import ENOUGH, NEAR, exceptions
from understudy.data.relations.discovery.fields import Codes, Field
from understudy.data.relations.discovery.formulas import Proposal, quoted

FEW_LEVELS = 60
ROWS_PER_LEVEL = 10
REPEATS = 20
FEW_OF_THE_REST = 0.1  # broken rows beside those without the most frequent value
SPOKEN_OF = 0.9  # the least share of rows whose level k rows hold
FEWEST_NUMBERS = 5
MOST_CLASSES = 30
UNSURE = 0.01  # the largest share of new rows that may fall between two classes
LOOSE = 0.05  # the share of screened rows that may break what is verified afterwards


def find_lookups(fields: Sequence[Field], rows: NDArray[np.int64], k: int) -> list[Proposal]:
    """Find every pair of columns of which the first determines the second."""
    if len(fields) < 2:
        return []
    codes = np.column_stack([f.codes[rows] for f in fields])
    found = []
    for x, field in enumerate(fields):
        if not _can_determine(field, k):
            continue
        for y in _screened(codes, x):
            if 1 < fields[y].levels <= field.levels:
                made = _lookup(field, fields[y], k, len(fields))
                if made is not None:
                    found.append(made)
    return found


def _can_determine(field: Field, k: int) -> bool:
    present = int(field.counts.sum())
    if not 2 <= field.levels <= max(FEW_LEVELS, present / ROWS_PER_LEVEL):
        return False
    return bool(field.counts[field.counts >= k].sum() >= SPOKEN_OF * present)


def _screened(codes: Codes, x: int) -> list[int]:
    """Give the columns that repeat the value of the middle row of their level, but for a few."""
    known = codes[:, x] >= 0
    mine = codes[known, x]
    if not len(mine):
        return []
    _, level, many = np.unique(mine, return_inverse=True, return_counts=True)
    middle = np.argsort(level, kind="stable")[np.cumsum(many) - 1 - many // 2]
    theirs = codes[known]
    expected = theirs[middle][level]
    both = (theirs >= 0) & (expected >= 0)
    differs = ((theirs != expected) & both).sum(0)
    fits = differs <= LOOSE * np.maximum(both.sum(0), 1)
    fits[x] = False
    return [int(y) for y in np.flatnonzero(fits)]


def _lookup(x: Field, y: Field, k: int, columns: int) -> Proposal | None:
    both = (x.codes >= 0) & (y.codes >= 0)
    mine, theirs = x.codes[both].astype(np.int64), y.codes[both].astype(np.int64)
    pairs, many = np.unique(mine * y.levels + theirs, return_counts=True)
    level = pairs // y.levels
    rows_of = np.bincount(level, many, minlength=x.levels)
    most = np.zeros(x.levels)
    np.maximum.at(most, level, many)
    spoken = rows_of >= k
    rows, right = int(rows_of[spoken].sum()), int(most[spoken].sum())
    broken = rows - right
    if rows - int(spoken.sum()) < REPEATS or broken > NEAR * rows:
        return None
    if rows < SPOKEN_OF * both.sum():
        return None
    kept = spoken[level]
    share = np.bincount(pairs[kept] % y.levels, many[kept], minlength=y.levels) / rows
    share = share[share > 0]
    if len(share) < 2:
        return None
    if broken > FEW_OF_THE_REST * rows * (1 - share.max()):
        return None
    entropy = float(-(share * np.log(share)).sum())
    cost = int(spoken.sum()) * math.log(len(share)) + 2 * math.log(columns)
    nats = right * entropy - cost - exceptions(rows, broken)
    if nats < ENOUGH:
        return None
    text = f"{quoted(x.name)} determines {quoted(y.name)}"
    return Proposal(text, y.name, (x.name,), nats, broken)


def find_classes(fields: Sequence[Field], rows: NDArray[np.int64], k: int) -> list[Proposal]:
    """Find every column that is another one cut: constant between numbers of the other."""
    few = [f for f in fields if 2 <= f.levels <= MOST_CLASSES]
    if not few:
        return []
    codes = np.column_stack([f.codes[rows] for f in few])
    found = []
    for x in fields:
        if x.numbers is None or x.levels < FEWEST_NUMBERS:
            continue
        numbers = x.numbers[rows]
        order = np.argsort(numbers, kind="stable")[: int((~np.isnan(numbers)).sum())]
        along = codes[order]
        changes = ((along[1:] != along[:-1]) & (along[1:] >= 0) & (along[:-1] >= 0)).sum(0)
        levels = np.array([f.levels for f in few])
        present = (along >= 0).sum(0)
        fits = changes <= 3 * levels + LOOSE * present
        for y in np.flatnonzero(fits):
            if few[y] is not x and few[y].levels < x.levels:
                made = _classes(x, few[y], k, len(fields))
                if made is not None:
                    found.append(made)
    return found


def _classes(x: Field, y: Field, k: int, columns: int) -> Proposal | None:
    assert x.numbers is not None
    both = ~np.isnan(x.numbers) & (y.codes >= 0)
    rows = int(both.sum())
    if rows < REPEATS:
        return None
    mine, theirs = x.codes[both], y.codes[both].astype(np.int64)
    many = np.bincount(mine.astype(np.int64) * y.levels + theirs, minlength=x.levels * y.levels)
    many = many.reshape(-1, y.levels)[: x.levels]
    many = many[many.sum(1) > 0]
    own = many.argmax(1)
    starts = np.concatenate([[0], np.flatnonzero(own[1:] != own[:-1]) + 1])
    size = np.add.reduceat(many.sum(1), starts)
    right = np.add.reduceat(many.max(1), starts)
    spoken = size >= k
    broken = int(size[spoken].sum() - right[spoken].sum()) + int(size[~spoken].sum())
    if broken > NEAR * rows or len(set(own[starts][spoken].tolist())) < 2:
        return None
    if _unsure_cuts(x, mine, starts) > UNSURE * rows:
        return None
    share = np.bincount(theirs) / rows
    share = share[share > 0]
    if broken > FEW_OF_THE_REST * rows * (1 - share.max()):
        return None
    entropy = float(-(share * np.log(share)).sum())
    cost = int(spoken.sum()) * (math.log(rows) + math.log(len(share))) + 2 * math.log(columns)
    nats = (rows - broken) * entropy - cost - exceptions(rows, broken)
    if nats < ENOUGH:
        return None
    text = f"{quoted(y.name)} = classes of {quoted(x.name)}"
    return Proposal(text, y.name, (x.name,), nats, broken)


def _unsure_cuts(x: Field, codes: Codes, starts: NDArray[np.int64]) -> float:
    """Count the cuts that lie anywhere between two numbers, by half: next to one, it is sure."""
    assert x.numbers is not None
    values = np.unique(x.numbers[~np.isnan(x.numbers)])[np.unique(codes)]
    gaps = values[starts[1:]] - values[starts[1:] - 1]
    return float((gaps > 3 * x.half).sum()) / 2
