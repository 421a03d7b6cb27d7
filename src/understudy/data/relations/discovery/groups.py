"""What columns say of each other without arithmetic: one-hot groups, orders, missing, codes."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.relations.discovery.evidence import ENOUGH, NEAR, exceptions
from understudy.data.relations.discovery.fields import Field, Floats, Mask
from understudy.data.relations.discovery.formulas import plain, quoted
from understudy.data.relations.discovery.switches import condition

NEGATIVE = tuple(
    float(-v) for v in (*range(1, 10), *range(90, 100), *range(990, 1000), 9999, 99999)
)
POSITIVE = tuple(float(v) for v in (77, 88, *range(96, 100), 777, 888, *range(996, 1000)))
POSITIVE += (9998.0, 9999.0, 99999.0, 999999.0)
CLEARLY_NEGATIVE = -7.0
MOST_CODES = 4
CODE_GAP = 0.2  # of the range of all other numbers
CODE_SHARE = 0.02
MOST_STEPS = 2000
FEWEST_ROWS = 40
FEWEST_MISSING = 20
MOST_LEVELS = 20
AT_THE_BOUND = 1 / 3
LOWEST = 0.05
OFTEN, OFTEN_IF_NEAR = 0.9, 0.6
"""How often an order may hold with rows shuffled: else it says too little."""
FEWEST_NUMBERS = 10


def find_one_hot(fields: Sequence[Field]) -> list[tuple[str, ...]]:
    """Find columns of 0 and 1 (or true and false) of which exactly one is 1 in every row."""
    binary = [(f, ones) for f in fields if (ones := _ones(f)) is not None]
    if len(binary) < 3:
        return []
    matrix = np.column_stack([ones for _, ones in binary]).astype(np.int64)
    rows = len(matrix)
    together = matrix.T @ matrix
    counts = np.diagonal(together)
    apart = together == 0
    found: list[tuple[str, ...]] = []
    free = set(range(len(binary)))
    steps = 0

    def grow(group: list[int], total: int, start: int) -> list[int] | None:
        nonlocal steps
        steps += 1
        if total == rows:
            return group if len(group) >= 3 else None
        if steps > MOST_STEPS:
            return None
        for i in range(start, len(binary)):
            if i in free and total + counts[i] <= rows and apart[i, group].all():
                made = grow([*group, i], total + int(counts[i]), i + 1)
                if made is not None:
                    return made
        return None

    for first in range(len(binary)):
        if first not in free:
            continue
        steps = 0
        group = grow([first], int(counts[first]), first + 1)
        if group is not None and _surprising(counts[group] / rows, rows):
            found.append(tuple(binary[i][0].name for i in group))
            free -= set(group)
    return found


def _ones(field: Field) -> Mask | None:
    """Give the rows in which a column of 0 and 1, without missing values, is 1."""
    if field.levels != 2 or field.is_missing.any():
        return None
    if field.numbers is not None:
        if set(field.ordered[[0, -1]]) != {0.0, 1.0}:
            return None
        made: Mask = field.numbers == 1
        return made
    labels = [field.label(0).lower(), field.label(1).lower()]
    if labels != ["false", "true"]:
        return None
    return np.asarray(field.codes == 1)


def _surprising(shares: Floats, rows: int) -> bool:
    """Whether exactly one of independent columns would hardly be 1 in every row."""
    none = np.prod(1 - shares)
    chance = min(float(none * (shares / np.maximum(1 - shares, 1e-12)).sum()), 1.0)
    return -rows * math.log(max(chance, 1e-300)) > ENOUGH + 5 * len(shares)


def find_orders(fields: Sequence[Field], rows: NDArray[np.int64]) -> list[tuple[str, str]]:
    """Find columns of one kind of which the first is never above the second.

    The order must say something (with rows of the second shuffled it would often be broken), and
    the difference must reach its bound: the smallest differences lie at 0, not anywhere above.
    """
    lines = [f for f in fields if f.numbers is not None and f.levels >= FEWEST_NUMBERS]
    lines = [f for f in lines if f.column.is_numeric]
    if len(lines) < 2:
        return []
    numbers = np.column_stack([f.numbers[rows] for f in lines if f.numbers is not None])
    found = []
    for a, field in enumerate(lines):
        with np.errstate(invalid="ignore"):
            above = (numbers[:, [a]] > numbers).sum(0)
            below = (numbers[:, [a]] < numbers).sum(0)
        fits = (above <= 2 * NEAR * np.maximum(below, 1)) & (below >= FEWEST_ROWS / 2)
        for b in np.flatnonzero(fits):
            if not _one_kind(field, lines[b]) or _often(numbers[:, a], numbers[:, b]) > OFTEN:
                continue
            if _is_ordered(field, lines[b]):
                found.append((field.name, lines[b].name))
    return found


def _one_kind(a: Field, b: Field) -> bool:
    one, other = a.column, b.column
    alike = one.kind == other.kind and (one.unit is None) == (other.unit is None)
    return alike and a.decimals == b.decimals


def _often(low: Floats, high: Floats) -> float:
    """Say how often a number of the first is not above one of the second, with rows shuffled."""
    low, high = np.sort(low[~np.isnan(low)]), high[~np.isnan(high)]
    return float(np.searchsorted(low, high, "right").mean()) / max(len(low), 1)


def _is_ordered(a: Field, b: Field) -> bool:
    assert a.numbers is not None
    assert b.numbers is not None
    both = ~np.isnan(a.numbers) & ~np.isnan(b.numbers)
    rows = int(both.sum())
    low, high = a.numbers[both], b.numbers[both]
    gap = high - low
    broken = int((gap < 0).sum())
    if rows < FEWEST_ROWS or broken > NEAR * rows:
        return False
    mixed = _often(low, high)
    saved = -(rows - broken) * math.log(max(float(mixed), 1e-300)) - exceptions(rows, broken)
    if saved < ENOUGH + 5 or mixed > (OFTEN_IF_NEAR if broken else OFTEN):
        return False
    gap = gap[gap >= 0]
    edge = float(np.quantile(gap, LOWEST))
    lowest = gap[gap <= edge]
    return bool((lowest <= edge / 2).mean() >= AT_THE_BOUND) and float(np.ptp(gap)) > 0


def without_detours(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out orders that follow from two others, and one of two columns that are equal.

    Examples
    --------
    >>> without_detours([("a", "b"), ("a", "c"), ("b", "c")])
    [('a', 'b'), ('b', 'c')]
    """
    after: dict[str, set[str]] = {}
    for low, high in pairs:
        after.setdefault(low, set()).add(high)
    return [
        (low, high)
        for low, high in pairs
        if not any(
            high in after.get(mid, ())
            for mid in after[low]
            if mid != high and low not in after.get(mid, ())
        )
        and low not in after.get(high, ())
    ]


def find_missing(fields: Sequence[Field], k: int) -> list[tuple[str, str, str]]:
    """Find columns that are missing exactly where another is, or where a category has a level.

    Gives the column, the text of the condition and the column that it looks at.
    """
    found: list[tuple[str, str, str]] = []
    seen: list[tuple[Field, Mask]] = []
    for field in fields:
        gone = field.is_missing
        many = int(gone.sum())
        if min(many, len(gone) - many) < max(k, FEWEST_MISSING):
            continue
        first = next((f for f, mask in seen if _same_rows(mask, gone)), None)
        if first is not None:
            found.append((field.name, f"{quoted(first.name)} is missing", first.name))
            continue
        seen.append((field, gone))
        for other in fields:
            levels = _missing_levels(field, other, k)
            if levels:
                found.append((field.name, condition(other.name, levels), other.name))
                break
    return found


def _same_rows(one: Mask, other: Mask) -> bool:
    differ = int((one != other).sum())
    rows, many = len(one), int(one.sum())
    if differ > min(NEAR * rows, 0.1 * min(many, rows - many)):
        return False
    share = many / rows
    entropy = -(share * math.log(share) + (1 - share) * math.log(1 - share))
    return rows * entropy - exceptions(rows, differ) > ENOUGH + 5


def _missing_levels(field: Field, other: Field, k: int) -> list[str]:
    if other is field or other.column.kind != "category" or not 2 <= other.levels <= MOST_LEVELS:
        return []
    gone, codes = field.is_missing, other.codes + 1
    total = np.bincount(codes, minlength=other.levels + 1)
    lost = np.bincount(codes[gone], minlength=other.levels + 1)
    always = lost > 0.5 * total
    if always[0] or (total[1:] < k)[total[1:] > 0].any():
        return []
    levels = [other.label(int(code)) for code in np.flatnonzero(always[1:])]
    if not levels:
        return []
    predicted: Mask = always[codes]
    return levels if _same_rows(gone, predicted) else []


def find_codes(field: Field, k: int) -> list[str]:
    """Find numbers of a column that are no quantities.

    They are conventional ones, held by several rows, beyond a gap from all others: -8 where all
    others are 0 or more, 99 among 0 to 16.
    """
    column = field.column
    if column.kind != "number" or column.unit is not None or field.levels < FEWEST_NUMBERS:
        return []
    values, counts = np.unique(field.ordered, return_counts=True)
    low = _codes_below(values, counts, k)
    high = _codes_above(values[len(low) :], counts[len(low) :], k)
    return [plain(value) for value in (*low, *high)]


def _codes_below(values: Floats, counts: NDArray[np.int64], k: int) -> list[float]:
    many = int((values < 0).sum())
    if not 0 < many <= MOST_CODES or len(values) - many < FEWEST_NUMBERS // 2:
        return []
    found, rest = values[:many], values[many:]
    if not np.isin(found, NEGATIVE).all() or counts[:many].min() < k:
        return []
    if found[-1] > CLEARLY_NEGATIVE:  # -1 may be a quantity: one value, often, of whole numbers
        often = counts[0] >= max(CODE_SHARE * counts.sum(), 3 * float(np.median(counts[1:])))
        if many > 1 or not often or len(rest) < FEWEST_NUMBERS:
            return []
    return [float(value) for value in found]


def _codes_above(values: Floats, counts: NDArray[np.int64], k: int) -> list[float]:
    found: list[float] = []
    for many in range(1, MOST_CODES + 1):
        if len(values) - many < FEWEST_NUMBERS // 2 or values[-many] not in POSITIVE:
            break
        rest = values[:-many]
        gap, widest = values[-many] - rest[-1], float(np.diff(rest[-10:]).max())
        if gap > max(CODE_GAP * (rest[-1] - rest[0]), 3 * widest) and counts[-many:].min() >= k:
            found = [float(value) for value in values[-many:]]
    return found
