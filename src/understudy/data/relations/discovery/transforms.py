"""The same column transformed: y = a + b f(x), with f one of a few that people use.

Pairs whose ranks agree on the screened rows are fitted by medians, so that a few broken rows do not
matter, and then checked on every row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.relations.discovery.evidence import ENOUGH
from understudy.data.relations.discovery.fields import Field, Floats
from understudy.data.relations.discovery.formulas import (
    MOST_DIGITS_IF_NEAR,
    Coefficient,
    Proposal,
    check,
    plain,
    quoted,
    short_numbers,
)

FEWEST_ROWS = 40
FEWEST_VALUES = 5
RANKS_AGREE = 0.97
RANKS_AGREE_IN_PART = 0.9  # ranks among all rows, compared where both columns have values
MOST_PAIRS = 2000
LARGEST = 1e60  # whose powers are still numbers
MOST_AGAINST = 0.03  # steps against the direction, where a few rows are broken


@dataclass(frozen=True)
class Shape:
    """A function of one column, and how it is written."""

    text: str
    compute: Callable[[Floats], Floats]
    binds: bool = True  # whether it can be multiplied without parentheses


SHAPES = (
    Shape("{}", lambda x: x),
    Shape("log({})", np.log),
    Shape("{} ** 2", np.square),
    Shape("sqrt({})", np.sqrt),
    Shape("1 / {}", lambda x: 1 / x),
    Shape("exp({})", np.exp),
    Shape("log1p({})", np.log1p),
    Shape("{} ** 3", lambda x: x**3),
    Shape("1 / (1 + {})", lambda x: 1 / (1 + x)),
)


def find_transforms(fields: Sequence[Field], rows: NDArray[np.int64]) -> list[Proposal]:
    """Find every column that is another one transformed, in both directions where it can be."""
    lines = [f for f in fields if is_line(f) and f.levels >= FEWEST_VALUES]
    found = []
    for y, x in _alike(lines, rows):
        best = _best_shape(lines[y], lines[x], rows)
        if best is not None:
            found.append(best)
    return found


def is_line(field: Field) -> bool:
    """Whether formulas may speak of a column: numbers, and neither dates nor durations."""
    column, ordered = field.column, field.ordered
    if not len(ordered) or column.kind == "date" or column.unit is not None:
        return False
    largest = max(abs(float(ordered[0])), abs(float(ordered[-1])))
    return 1 / LARGEST < largest < LARGEST


def _alike(fields: Sequence[Field], rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Give the pairs whose ranks agree, or whose ranks agree after a square."""
    if len(fields) < 2:
        return []
    numbers = np.column_stack([f.numbers[rows] for f in fields if f.numbers is not None])
    plain_ranks, folded_ranks = _ranks(numbers), _ranks(np.abs(numbers))
    known = ~np.isnan(numbers)
    agree, _, seen = pairwise(plain_ranks, plain_ranks, known, known)
    agree = np.where(seen >= FEWEST_ROWS / 2, np.abs(agree), 0)
    folds = np.asarray((numbers < 0).any(0))
    if folds.any():
        folded, _, _ = pairwise(plain_ranks, folded_ranks[:, folds], known, known[:, folds])
        agree[:, folds] = np.maximum(agree[:, folds], np.abs(folded))
    whole = np.asarray(known.all(0))
    bound = np.where(whole[:, None] & whole[None, :], RANKS_AGREE, RANKS_AGREE_IN_PART)
    np.fill_diagonal(agree, 0)
    pairs = np.argwhere(agree > bound)
    order = np.argsort(-agree[pairs[:, 0], pairs[:, 1]], kind="stable")
    return [(int(y), int(x)) for y, x in pairs[order[:MOST_PAIRS]]]


def _ranks(numbers: Floats) -> Floats:
    frame = pl.DataFrame(numbers, schema=[str(i) for i in range(numbers.shape[1])])
    frame = frame.fill_nan(None).select(pl.all().rank("average"))
    made: Floats = frame.fill_null(0.0).to_numpy().astype(float)
    return made


def pairwise(
    left: Floats, right: Floats, known: NDArray[np.bool_], other: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """Correlate columns with columns, each pair in the rows that have both (others hold 0).

    Returns the correlations, the covariances and the numbers of rows.
    """
    mine, theirs = known.astype(float), other.astype(float)
    n = mine.T @ theirs
    many = np.maximum(n, 1)
    left = left - left.sum(0) / np.maximum(mine.sum(0), 1)
    right = right - right.sum(0) / np.maximum(theirs.sum(0), 1)
    a, b = left * mine, right * theirs
    sum_a, sum_b = a.T @ theirs, mine.T @ b
    spread_a = (a * a).T @ theirs - sum_a**2 / many
    spread_b = mine.T @ (b * b) - sum_b**2 / many
    joint = a.T @ b - sum_a * sum_b / many
    spread = np.sqrt(np.maximum(spread_a, 0) * np.maximum(spread_b, 0))
    made: Floats = np.where(spread > 0, joint / np.where(spread > 0, spread, 1), 0)
    return made, joint / many, n


def _best_shape(y: Field, x: Field, rows: NDArray[np.int64]) -> Proposal | None:
    assert y.numbers is not None
    assert x.numbers is not None
    both = ~np.isnan(y.numbers) & ~np.isnan(x.numbers)
    if both.sum() < FEWEST_ROWS:
        return None
    mine = rows[both[rows]]
    if len(mine) < FEWEST_ROWS:
        mine = np.flatnonzero(both)[:4000]
    if not _is_monotone(y, x, mine):
        return None
    best: Proposal | None = None
    for shape in SHAPES:
        fitted = _fit(y, x, shape, mine)
        if fitted is None:
            continue
        made = _shortened(y, x, shape, *fitted)
        if made is not None and (
            best is None or (made.broken, -made.nats) < (best.broken, -best.nats)
        ):
            best = made
    return best


def _is_monotone(y: Field, x: Field, rows: NDArray[np.int64]) -> bool:
    """Whether y goes only up or only down along x (or its absolute value), but for rounding."""
    assert y.numbers is not None
    assert x.numbers is not None
    given, wanted = x.numbers[rows], y.numbers[rows]
    slope = float(np.ptp(wanted)) / max(float(np.ptp(given)), 1e-300)
    for along in (given, np.abs(given)) if given.min() < 0 else (given,):
        order = np.argsort(along, kind="stable")
        steps = np.diff(wanted[order])
        moved = x.slack + x.relative * np.abs(along[order][1:])
        allowed = 4 * y.rounding(wanted[order][1:]) + 20 * slope * moved
        against = min((steps > allowed).sum(), (steps < -allowed).sum())
        if against <= MOST_AGAINST * len(steps):
            return True
    return False


def _fit(
    y: Field, x: Field, shape: Shape, rows: NDArray[np.int64]
) -> tuple[float, float, float, float] | None:
    """Fit a and b by medians, then by least squares in the rows that agree; say how sure."""
    with np.errstate(all="ignore"):
        return _fitted(y, x, shape, rows)


def _fitted(
    y: Field, x: Field, shape: Shape, rows: NDArray[np.int64]
) -> tuple[float, float, float, float] | None:
    assert y.numbers is not None
    assert x.numbers is not None
    f = shape.compute(x.numbers[rows])
    slope_slack = np.abs(shape.compute(x.numbers[rows] + x.slack) - f)
    finite = np.isfinite(f)
    if finite.sum() < max(FEWEST_ROWS, 0.5 * len(rows)):
        return None
    f, wanted = f[finite], y.numbers[rows][finite]
    slope_slack = np.nan_to_num(slope_slack[finite])
    order = np.argsort(f, kind="stable")
    third = len(order) // 3
    low, high = order[:third], order[-third:]
    slopes = (wanted[high] - wanted[low]) / (f[high] - f[low])
    slopes = slopes[np.isfinite(slopes)]
    if not len(slopes):
        return None
    b = float(np.median(slopes))
    a = float(np.median(wanted - b * f))
    for _ in range(3):
        allowed = y.rounding(wanted) + abs(b) * slope_slack
        away = np.abs(wanted - a - b * f)
        fits = away <= np.maximum(4 * allowed, np.median(away) * 2)
        spread = float(np.var(f[fits]))
        if not spread or not np.isfinite(spread):
            return None
        centre = float(f[fits].mean())
        b = float(np.mean((f[fits] - centre) * (wanted[fits] - wanted[fits].mean())) / spread)
        a = float(wanted[fits].mean() - b * centre)
    allowed = y.rounding(wanted) + abs(b) * slope_slack
    if not b or np.mean(np.abs(wanted - a - b * f) <= 2 * allowed) < 0.98:
        return None
    typical = float(np.median(allowed))
    return a, b, typical, float(np.sqrt(spread))


def _shortened(
    y: Field, x: Field, shape: Shape, a: float, b: float, typical: float, spread: float
) -> Proposal | None:
    """Write the formula with the shortest coefficients that hold in as many rows as any."""
    assert y.numbers is not None
    assert x.numbers is not None
    best: Proposal | None = None
    with np.errstate(all="ignore"):
        f = shape.compute(x.numbers)
    for slope in short_numbers(b, 2 * typical / spread):
        if not slope.value:
            continue
        rest = y.numbers - slope.value * f
        middle = float(np.median(rest[np.isfinite(rest)]))
        for start in short_numbers(middle, 2 * typical):
            fitted = slope.value != 1 or start.value != 0
            checked = check(y, [x], _affine(shape, start.value, slope.value), fitted=fitted)
            nats = checked.nats - slope.cost - start.cost - 5
            if not checked.is_near or len(checked.holds) < FEWEST_ROWS or nats < ENOUGH:
                continue
            if checked.broken and max(slope.digits, start.digits) > MOST_DIGITS_IF_NEAR:
                continue
            made = Proposal(
                f"{quoted(y.name)} = {_written(shape, x.name, start, slope)}",
                y.name,
                (x.name,),
                nats,
                checked.broken,
            )
            if best is None or (made.broken, -made.nats) < (best.broken, -best.nats):
                best = made
            if not made.broken:
                break
        if best is not None and not best.broken:
            break
    return best


def _affine(shape: Shape, start: float, slope: float) -> Callable[[Floats], Floats]:
    return lambda x: start + slope * shape.compute(x)


def _written(shape: Shape, name: str, start: Coefficient, slope: Coefficient) -> str:
    if shape.text.startswith("1 / ") and slope.below == 1:
        term = plain(abs(slope.above)) + shape.text.format(quoted(name))[1:]
    else:
        term = slope.times(shape.text.format(quoted(name)))
    return joined([(term, slope.value)], start)


def joined(terms: Sequence[tuple[str, float]], start: Coefficient) -> str:
    """Write a sum of terms with their signs, a constant at its end (or first, if that is simpler).

    Examples
    --------
    >>> joined([("x", 1), ("z", -2)], Coefficient(0)), joined([("x", -1)], Coefficient(1))
    ('x - z', '1 - x')
    """
    parts = [(text, sign > 0) for text, sign in terms]
    if start.value:
        number = plain(abs(start.above))
        number += f" / {plain(start.below)}" if start.below != 1 else ""
        parts.append((number, start.value > 0))
    parts.sort(key=lambda part: not part[1])
    text = ("" if parts[0][1] else "-") + parts[0][0]
    for part, positive in parts[1:]:
        text += f" {'+' if positive else '-'} {part}"
    return text
