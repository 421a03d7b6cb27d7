"""Sums, differences and other linear combinations of two to eight columns.

The inverse of the correlation matrix says of every column at once what is left of it given all
others. Where no more is left than rounding explains, terms are dropped from the smallest on, what
stays is written with short coefficients, and the formula is checked on every row. Then the computed
column leaves, and the search goes on. Columns that are often missing are searched in the rows that
have them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.relations.discovery.evidence import ENOUGH
from understudy.data.relations.discovery.fields import Field, Floats
from understudy.data.relations.discovery.formulas import (
    MOST_DIGITS_IF_NEAR,
    Checked,
    Coefficient,
    Proposal,
    check,
    quoted,
    short_numbers,
)
from understudy.data.relations.discovery.transforms import is_line, joined

FEWEST_ROWS = 40
FEWEST_ROWS_IF_ROUNDED = 200  # where rounding may hide that coefficients only approximate
ROWS_PER_COLUMN = 3
MOST_TERMS = 8
MOST_FOUND = 40
MOST_BLOCKS = 8
MOST_FAILED = 12
RIDGE = 1e-11
LEFT = 0.05  # the largest share of a column's variance that may be left to rounding
NO_TERM = 1e-3  # in deviations of the computed column
STEPS = 3


@dataclass(frozen=True, eq=False)
class LinearFormula:
    """A column as a sum of others with coefficients, and how it fares."""

    target: Field
    sources: tuple[Field, ...]
    factors: tuple[Coefficient, ...]
    start: Coefficient
    checked: Checked
    nats: float

    @property
    def text(self) -> str:
        """The formula, written."""
        terms = [
            (factor.times(quoted(field.name)), factor.value)
            for field, factor in zip(self.sources, self.factors, strict=True)
        ]
        return f"{quoted(self.target.name)} = {joined(terms, self.start)}"


def find_sums(fields: Sequence[Field], rows: NDArray[np.int64]) -> list[Proposal]:
    """Find linear combinations; each computed column once, from columns that are not computed."""
    lines = [f for f in fields if is_line(f)]
    if len(lines) < 3:
        return []
    found: list[Proposal] = []
    gone: set[str] = set()
    for block, some in _blocks(lines, rows):
        left = [f for f in block if f.name not in gone]
        for made in _in_block(left, some):
            gone.add(made.target.name)
            names = tuple(f.name for f in made.sources)
            found.append(
                Proposal(made.text, made.target.name, names, made.nats, made.checked.broken)
            )
            if len(found) >= MOST_FOUND:
                return found
    return found


def _blocks(
    lines: Sequence[Field], rows: NDArray[np.int64]
) -> Iterator[tuple[list[Field], NDArray[np.int64]]]:
    """Give columns with the rows that have them all; those often missing in blocks of their own."""
    known = np.column_stack([~np.isnan(f.numbers) for f in lines if f.numbers is not None])
    shown = known[rows]
    covered: set[int] = set()
    starts: list[int | None] = [None, *np.argsort(shown.mean(0), kind="stable").tolist()]
    blocks = 0
    for first in starts:
        if first in covered or blocks >= MOST_BLOCKS:
            continue
        mine = shown if first is None else shown[shown[:, first]]
        kept = np.flatnonzero(mine.mean(0) >= 0.8) if len(mine) else np.empty(0, np.int64)
        while len(kept) >= 3:
            whole = mine[:, kept].all(1)
            if whole.sum() >= max(ROWS_PER_COLUMN * len(kept), FEWEST_ROWS, 0.4 * len(mine)):
                break
            least = int(np.argmin(mine[:, kept].mean(0)))
            kept = np.delete(kept, least)
        if first is not None:
            covered.add(first)
        if len(kept) < 3 or (first is not None and first not in kept):
            continue
        blocks += 1
        covered.update(kept.tolist())
        complete = rows[shown[:, kept].all(1)]
        yield [lines[i] for i in kept.tolist()], complete


def _in_block(block: list[Field], rows: NDArray[np.int64]) -> Iterator[LinearFormula]:
    failed = 0
    refused: set[str] = set()
    while len(block) >= 3 and failed < MOST_FAILED:
        numbers = np.column_stack([f.numbers[rows] for f in block if f.numbers is not None])
        deviation = numbers.std(0)
        varies = deviation > 0
        block = [f for f, v in zip(block, varies, strict=True) if v]
        numbers, deviation = numbers[:, varies], deviation[varies]
        if len(block) < 3 or len(rows) < ROWS_PER_COLUMN * len(block):
            return
        scaled = (numbers - numbers.mean(0)) / deviation
        together = scaled.T @ scaled / len(rows)
        inverse = np.linalg.inv(together + RIDGE * np.eye(len(block)))
        left = 1 / np.diagonal(inverse)
        bound = _explained_by_rounding(block, numbers, deviation, inverse)
        order = [int(i) for i in np.argsort(left / bound) if left[i] <= bound[i]]
        made = None
        for y in order:
            if block[y].name in refused or block[y].levels < 3:
                continue
            kept = _pruned(y, together, block, scaled, numbers, deviation)
            made = _combination(block[y], [block[i] for i in kept], rows) if kept else None
            if made is not None:
                made = _better_target(made, rows, block)
                break
            refused.add(block[y].name)
            failed += 1
            if failed >= MOST_FAILED:
                return
        if made is None:
            return
        yield made
        block = [f for f in block if f is not made.target]


def _explained_by_rounding(
    block: Sequence[Field], numbers: Floats, deviation: Floats, inverse: Floats
) -> Floats:
    """Bound the share of each column's variance that rounding can leave."""
    size = np.abs(numbers).mean(0)
    own = np.array([f.half + f.relative * s for f, s in zip(block, size, strict=True)]) / deviation
    slack = np.array([f.slack + f.relative * s for f, s in zip(block, size, strict=True)])
    factors = -inverse / np.diagonal(inverse)[:, None]  # row y: on the scaled columns
    np.fill_diagonal(factors, 0)
    moved = np.sqrt((factors**2 * (slack / deviation) ** 2).sum(1))
    made: Floats = np.minimum((1.5 * own + 1.5 * moved) ** 2 + 1e-8, LEFT)
    return made


def _pruned(
    y: int,
    together: Floats,
    block: Sequence[Field],
    scaled: Floats,
    numbers: Floats,
    deviation: Floats,
) -> list[int]:
    """Drop terms from the smallest on while what is left fits; none if too many are needed."""
    kept = [i for i in range(len(block)) if i != y]
    wanted = scaled[:, y]
    own = block[y].rounding(numbers[:, y]) / deviation[y]

    def fitted(some: list[int]) -> tuple[Floats, bool]:
        part = together[np.ix_(some, some)] + RIDGE * np.eye(len(some))
        factors: Floats = np.asarray(np.linalg.solve(part, together[some, y]), float)
        slack = np.array([block[i].slack for i in some]) / deviation[some]
        allowed = own + np.abs(factors * slack).sum()
        away = np.abs(wanted - scaled[:, some] @ factors)
        return factors, bool(np.mean(away <= 1.5 * allowed + 1e-5) >= 0.98)

    factors, fits = fitted(kept)
    if not fits:
        return []
    for bound in (0.03, 0.01, NO_TERM, 1e-5):
        fewer = [i for i, f in zip(kept, factors, strict=True) if abs(f) > bound]
        if len(fewer) >= 2 and len(fewer) < len(kept):
            trial, fits = fitted(fewer)
            if fits:
                kept, factors = fewer, trial
                break
    while len(kept) > 2:
        for least in np.argsort(np.abs(factors))[:STEPS]:
            fewer = [i for place, i in enumerate(kept) if place != least]
            trial, fits = fitted(fewer)
            if fits:
                kept, factors = fewer, trial
                break
        else:
            break
    return kept if 2 <= len(kept) <= MOST_TERMS else []


def _combination(
    target: Field, sources: Sequence[Field], rows: NDArray[np.int64]
) -> LinearFormula | None:
    """Fit, shorten the coefficients, and check."""
    assert target.numbers is not None
    x = np.column_stack([f.numbers[rows] for f in sources if f.numbers is not None])
    y = target.numbers[rows]
    middle = x.mean(0)
    spread = x.std(0)
    scaled = (x - middle) / spread
    factors = np.linalg.lstsq(scaled, y - y.mean(), rcond=None)[0] / spread
    allowed = target.rounding(y).mean() + float(
        (np.abs(factors) * np.array([f.slack for f in sources])).sum()
    )
    slack = 6 * allowed / (spread * math.sqrt(len(rows))) + 1e-7 * np.abs(factors)
    best: LinearFormula | None = None
    ways = [list(short_numbers(float(f), float(s))) for f, s in zip(factors, slack, strict=True)]
    loose = [
        list(short_numbers(float(f), float(8 * s))) for f, s in zip(factors, slack, strict=True)
    ]
    for step in range(-1, 5):
        chosen = [
            one[0] if step < 0 else way[min(step, len(way) - 1)]
            for one, way in zip(loose, ways, strict=True)
        ]
        if not all(one.value for one in chosen):
            continue
        made = _with_start(target, sources, chosen, y - x @ [one.value for one in chosen], allowed)
        if made is not None and (
            best is None or (made.checked.broken, -made.nats) < (best.checked.broken, -best.nats)
        ):
            best = made
        if best is not None and not best.checked.broken:
            break
    return best


def _with_start(
    target: Field,
    sources: Sequence[Field],
    factors: Sequence[Coefficient],
    rest: Floats,
    allowed: float,
) -> LinearFormula | None:
    best: LinearFormula | None = None
    for start in list(short_numbers(float(np.median(rest)), 2 * allowed))[:3]:
        numbers = [*factors, start]
        simple = all(abs(one.value) in (0, 1) for one in numbers)
        compute = _computed([f.value for f in factors], start.value)
        checked = check(target, sources, compute, fitted=not simple)
        cost = sum(f.cost for f in factors) + start.cost + 4 * len(sources)
        nats = checked.nats - cost
        if not checked.is_near or len(checked.holds) < FEWEST_ROWS or nats < ENOUGH:
            continue
        if checked.broken and max(one.digits for one in numbers) > MOST_DIGITS_IF_NEAR:
            continue
        if checked.by_rounding and not simple and len(checked.holds) < FEWEST_ROWS_IF_ROUNDED:
            continue
        made = LinearFormula(target, tuple(sources), tuple(factors), start, checked, nats)
        if best is None or checked.broken < best.checked.broken:
            best = made
    return best


def _computed(factors: Sequence[float], start: float) -> Callable[..., Floats]:
    def compute(*arrays: Floats) -> Floats:
        made = np.full(arrays[0].shape, start)
        for factor, array in zip(factors, arrays, strict=True):
            made = made + factor * array
        return made

    return compute


def _better_target(
    made: LinearFormula, rows: NDArray[np.int64], block: Sequence[Field]
) -> LinearFormula:
    """Choose what is computed: the total of a sum, else the column with the largest spread."""
    best, key = made, _as_target(made)
    if key[1]:
        return best
    for field in made.sources:
        if field.levels < 3:
            continue
        names = {made.target.name, *(f.name for f in made.sources)} - {field.name}
        others = [f for f in block if f.name in names]
        other = _combination(field, others, rows)
        if other is None or other.checked.broken > best.checked.broken:
            continue
        mine = _as_target(other)
        if mine > key:
            best, key = other, mine
    return best


def _as_target(made: LinearFormula) -> tuple[int, bool, int, float]:
    decimals = made.target.decimals
    total = made.start.value == 0 and all(f.value > 0 for f in made.factors)
    assert made.target.numbers is not None
    return (
        99 if decimals is None else decimals,
        total,
        -sum(f.digits for f in made.factors),
        float(np.nanstd(made.target.numbers)),
    )
