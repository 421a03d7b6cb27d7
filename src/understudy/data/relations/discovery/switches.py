"""Equal by switch: y = x where k is one of some levels.

Two columns that are equal in many rows, but not in all, and a category that says in which.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.grammar import quoted_value
from understudy.data.relations.discovery.evidence import ENOUGH, NEAR
from understudy.data.relations.discovery.fields import Field, Floats
from understudy.data.relations.discovery.formulas import Proposal, check, quoted
from understudy.data.relations.discovery.transforms import is_line

FEWEST_ROWS = 40
FEWEST_VALUES = 5
LEAST_SHARE = 0.05
MOST_LEVELS = 20
MOST_PAIRS = 200


def find_switches(
    fields: Sequence[Field], rows: NDArray[np.int64], k: int
) -> list[tuple[Proposal, str, frozenset[str]]]:
    """Find equalities that a category switches on; each with the category and its levels."""
    lines = [f for f in fields if is_line(f) and f.levels >= FEWEST_VALUES]
    keys = [f for f in fields if 2 <= f.levels <= MOST_LEVELS and f.column.kind == "category"]
    if len(lines) < 2 or not keys:
        return []
    found = []
    for y, x in _equal_in_part(lines, rows):
        for key in keys:
            if key is lines[y] or key is lines[x]:
                continue
            if not _may_switch(lines[y], lines[x], key, rows):
                continue
            made = _switched(lines[y], lines[x], key, k)
            if made is not None:
                found.append(made)
    return found


def _equal_in_part(lines: Sequence[Field], rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Give the pairs that are equal in some rows, more often than single numbers explain."""
    numbers = np.column_stack([f.numbers[rows] for f in lines if f.numbers is not None])
    found: list[tuple[int, int, int]] = []
    for x in range(len(lines)):
        equal = numbers == numbers[:, [x]]
        many = equal.sum(0)
        for y in np.flatnonzero(many >= max(LEAST_SHARE * len(rows), 10)):
            both = int((~np.isnan(numbers[:, y]) & ~np.isnan(numbers[:, x])).sum())
            same = numbers[equal[:, y], y]
            if y != x and many[y] < (1 - NEAR) * both and len(np.unique(same)) >= FEWEST_VALUES:
                found.append((-int(many[y]), int(y), x))
    return [(y, x) for _, y, x in sorted(found)[:MOST_PAIRS]]


def _may_switch(y: Field, x: Field, key: Field, rows: NDArray[np.int64]) -> bool:
    """Whether on the screened rows some levels have equal numbers, and others hardly any."""
    assert y.numbers is not None
    assert x.numbers is not None
    mine, theirs, codes = y.numbers[rows], x.numbers[rows], key.codes[rows] + 1
    both = ~np.isnan(mine) & ~np.isnan(theirs)
    equal = (np.abs(mine - theirs) <= y.rounding(mine)) & both
    total = np.bincount(codes[both], minlength=key.levels + 1)[1:]
    right = np.bincount(codes[equal], minlength=key.levels + 1)[1:]
    on = (total > 0) & (right >= 0.98 * total)
    return bool(on.any() and right[~on].sum() <= 0.3 * total[~on].sum())


def _switched(
    y: Field, x: Field, key: Field, k: int
) -> tuple[Proposal, str, frozenset[str]] | None:
    assert y.numbers is not None
    assert x.numbers is not None
    both = ~np.isnan(y.numbers) & ~np.isnan(x.numbers) & (key.codes >= 0)
    if both.sum() < FEWEST_ROWS:
        return None
    equal = (np.abs(y.numbers - x.numbers) <= y.rounding(y.numbers)) & both
    total = np.bincount(key.codes[both], minlength=key.levels)
    right = np.bincount(key.codes[equal], minlength=key.levels)
    on = (total >= k) & (right >= (1 - NEAR) * total)
    off = total > right
    if not on.any() or not (off & ~on).any() or right[~on].sum() > 0.2 * total[~on].sum():
        return None
    rows = on[np.maximum(key.codes, 0)] & (key.codes >= 0)
    if len(np.unique(y.codes[rows & both])) < FEWEST_VALUES:
        return None
    checked = check(y, [x], _same, rows=rows)
    nats = checked.nats - key.levels - 10
    if len(checked.holds) < FEWEST_ROWS or not checked.is_near or nats < ENOUGH:
        return None
    levels = [key.label(int(code)) for code in np.flatnonzero(on)]
    text = f"{quoted(y.name)} = {quoted(x.name)} where {condition(key.name, levels)}"
    made = Proposal(text, y.name, (x.name, key.name), nats, checked.broken)
    return made, key.name, frozenset(levels)


def condition(name: str, levels: Sequence[str]) -> str:
    """Write that a column has one of some levels.

    Examples
    --------
    >>> condition("paid", ["hourly"]), condition("sex", ["1", "2"])
    ("paid == 'hourly'", 'sex in (1, 2)')
    """
    if len(levels) == 1:
        return f"{quoted(name)} == {quoted_value(levels[0])}"
    return f"{quoted(name)} in ({', '.join(map(quoted_value, levels))})"


def _same(x: Floats) -> Floats:
    return x
