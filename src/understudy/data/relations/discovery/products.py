"""Products: y = c x^a z^b, written as people write them: ``weight / (height / 100) ** 2``.

Logarithms turn a product into a sum. On the screened rows the exponents that fit best follow from
three correlations, for all triples of columns at once; where they are simple numbers and explain
nearly everything, the product is checked on every row. A product with a column of 0 and 1
(``black * educ``) has no logarithm and is searched by comparing.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.relations.discovery.evidence import ENOUGH
from understudy.data.relations.discovery.fields import Field, Floats
from understudy.data.relations.discovery.formulas import (
    Coefficient,
    Proposal,
    check,
    plain,
    quoted,
    short_numbers,
)
from understudy.data.relations.discovery.transforms import is_line, pairwise

FEWEST_ROWS = 40
FEWEST_VALUES = 5
EXPONENTS = np.array([-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0])
EXPONENT_SLACK = 0.15
EXPLAINED, EXPLAINED_IN_PART = 0.98, 0.9
SHIFTS = (0.0, 1.0, 100.0)  # growth is a ratio less 1, or less 100 %
MOST_TRIPLES = 400


def find_products(fields: Sequence[Field], rows: NDArray[np.int64]) -> list[Proposal]:
    """Find every product of powers of two columns, whichever of the three is computed."""
    lines = [f for f in fields if is_line(f)]
    found = []
    for y, x, z, a, b, shift in _triples(lines, rows):
        made = _product(lines[y], (lines[x], lines[z]), (a, b), shift, rows)
        if made is not None:
            found.append(made)
    return found


def _triples(
    lines: Sequence[Field], rows: NDArray[np.int64]
) -> list[tuple[int, int, int, float, float, float]]:
    if len(lines) < 3:
        return []
    numbers = np.column_stack([f.numbers[rows] for f in lines if f.numbers is not None])
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(numbers))
    logs[~np.isfinite(logs)] = np.nan
    found: list[tuple[float, int, int, int, float, float, float]] = []
    for shift in SHIFTS:
        mine = logs
        if shift:
            lowest = np.where(np.isnan(numbers), np.inf, numbers).min(0)
            with np.errstate(all="ignore"):
                mine = np.log(np.where(lowest > -shift, numbers + shift, np.nan))
            mine[~np.isfinite(mine)] = np.nan
            mine[:, ~((lowest < 0) & (lowest > -shift))] = np.nan
        if not np.isfinite(mine).any():
            continue
        found += [(*one, shift) for one in _fitting(lines, mine, logs)]
    found.sort(key=lambda one: -one[0])
    return [one[1:] for one in found[:MOST_TRIPLES]]


def _fitting(
    lines: Sequence[Field], targets: Floats, logs: Floats
) -> Iterator[tuple[float, int, int, int, float, float]]:
    """Give the triples whose logarithms fit, with simple exponents, and how well they do."""
    known = np.isfinite(logs)
    logs = np.where(known, logs, 0.0)
    among, spread, _ = pairwise(logs, logs, known, known)
    aims = np.isfinite(targets)
    targets = np.where(aims, targets, 0.0)
    with_y, _, seen = pairwise(targets, logs, aims, known)
    whole = known.all()
    bound = EXPLAINED if whole else EXPLAINED_IN_PART
    deviation = np.sqrt(np.diagonal(spread))
    upper = np.triu_indices(len(lines), 1)
    between = among[upper]
    free = 1 - between**2
    usable = (free > 1e-6) & (deviation[upper[0]] > 0) & (deviation[upper[1]] > 0)
    x, z = upper[0][usable], upper[1][usable]
    between, free = between[usable], free[usable]
    for y, field in enumerate(lines):
        if field.levels < FEWEST_VALUES or aims[:, y].sum() < FEWEST_ROWS / 2:
            continue
        yx, yz = with_y[y, x], with_y[y, z]
        own = math.sqrt(max(float(np.var(targets[aims[:, y], y])), 0.0))
        if not own:
            continue
        slope_x, slope_z = (yx - yz * between) / free, (yz - yx * between) / free
        explained = slope_x * yx + slope_z * yz
        a, b = slope_x * own / deviation[x], slope_z * own / deviation[z]
        near_a = EXPONENTS[np.abs(a[:, None] - EXPONENTS).argmin(1)]
        near_b = EXPONENTS[np.abs(b[:, None] - EXPONENTS).argmin(1)]
        fits = (explained > bound) & (x != y) & (z != y)
        fits &= (np.abs(a - near_a) < EXPONENT_SLACK) & (np.abs(b - near_b) < EXPONENT_SLACK)
        fits &= np.minimum(seen[y, x], seen[y, z]) >= FEWEST_ROWS / 2
        for i in np.flatnonzero(fits):
            yield (float(explained[i]), y, int(x[i]), int(z[i]), float(near_a[i]), float(near_b[i]))


def _product(
    y: Field,
    sources: tuple[Field, Field],
    exponents: tuple[float, float],
    shift: float,
    rows: NDArray[np.int64],
) -> Proposal | None:
    """Fit the factor by a median, shorten it, and check."""
    assert y.numbers is not None
    arrays = [f.numbers for f in sources if f.numbers is not None]
    for some in (rows, slice(None)):
        with np.errstate(all="ignore"):
            power = arrays[0][some] ** exponents[0] * arrays[1][some] ** exponents[1]
            ratio = (y.numbers[some] + shift) / power
            allowed = y.rounding(y.numbers[some]) / np.abs(power)
            for source, exponent, array in zip(sources, exponents, arrays, strict=True):
                relative = source.slack / np.abs(array[some]) + source.relative
                allowed = allowed + np.abs(exponent * ratio) * relative
        good = np.isfinite(ratio) & np.isfinite(allowed)
        if good.sum() >= FEWEST_ROWS:
            break
    if good.sum() < FEWEST_ROWS:
        return None
    factor = float(np.median(ratio[good]))
    if not factor or np.mean(np.abs(ratio[good] - factor) <= 3 * allowed[good]) < 0.97:
        return None
    slack = 3 * float(np.quantile(allowed[good], 0.02))
    best: Proposal | None = None
    for short in short_numbers(factor, slack):
        if not short.value:
            continue
        checked = check(y, sources, _computed(exponents, short.value, shift), fitted=True)
        nats = checked.nats - short.cost - 20 - (math.log(10) * 3 if shift else 0)
        if not checked.is_near or len(checked.holds) < FEWEST_ROWS or nats < ENOUGH:
            continue
        text = f"{quoted(y.name)} = {_written(short, sources, exponents)}"
        if shift:
            text += f" - {plain(shift)}"
        made = Proposal(text, y.name, tuple(f.name for f in sources), nats, checked.broken)
        if best is None or (made.broken, -made.nats) < (best.broken, -best.nats):
            best = made
        if not best.broken:
            break
    return best


def _computed(exponents: Sequence[float], factor: float, shift: float) -> Callable[..., Floats]:
    def compute(x: Floats, z: Floats) -> Floats:
        made: Floats = factor * x ** exponents[0] * z ** exponents[1] - shift
        return made

    return compute


def _written(factor: Coefficient, sources: Sequence[Field], exponents: Sequence[float]) -> str:
    """Write a product: what multiplies above, what divides below."""
    value = factor.value
    above = [(quoted(f.name), e) for f, e in zip(sources, exponents, strict=True) if e > 0]
    below = [(quoted(f.name), -e) for f, e in zip(sources, exponents, strict=True) if e < 0]
    scale = math.log10(abs(value)) / 2 if value > 0 else 0.5
    if value != 1 and len(below) == 1 and below[0][1] == 2 and abs(scale - round(scale)) < 1e-12:
        unit = plain(10.0 ** abs(round(scale)))
        inner = f"({below[0][0]} {'/' if scale > 0 else '*'} {unit}) ** 2"
        return f"{_power(*above[0])} / {inner}" if above else f"1 / {inner}"
    sign = "-" if value < 0 else ""
    top = [_power(*one) for one in above]
    if abs(factor.above) != 1 or not top:
        top.insert(0, plain(abs(factor.above)))
    text = sign + " * ".join(top)
    bottom = [_power(*one) for one in below]
    if factor.below != 1:
        bottom.append(plain(factor.below))
    return "".join([text, *(f" / {one}" for one in bottom)])


def _power(name: str, exponent: float) -> str:
    if exponent == 0.5:
        return f"sqrt({name})"
    return name if exponent == 1 else f"{name} ** {plain(exponent)}"


def find_interactions(fields: Sequence[Field], rows: NDArray[np.int64]) -> list[Proposal]:
    """Find columns that are another one times a column of 0 and 1."""
    lines = [f for f in fields if is_line(f)]
    switches = [
        i for i, f in enumerate(lines) if f.levels == 2 and set(f.ordered[[0, -1]]) == {0.0, 1.0}
    ]
    if len(lines) < 3 or not switches:
        return []
    numbers = np.column_stack([f.numbers[rows] for f in lines if f.numbers is not None])
    known = ~np.isnan(numbers)
    found = []
    for k in switches:
        off, on = numbers[:, k] == 0, numbers[:, k] == 1
        zero = ((numbers[off] != 0) & known[off]).sum(0) <= 0.01 * known[off].sum(0)
        some = (known[off].sum(0) > 0) & (np.nan_to_num(numbers[on]) != 0).any(0)
        for y in np.flatnonzero(zero & some):
            if y == k or (lines[y].levels < 3 and not _is_binary(lines[y])):
                continue
            both = known[on] & known[on][:, [y]]
            same = (numbers[on] == numbers[on][:, [y]]).sum(0) >= 0.99 * np.maximum(both.sum(0), 1)
            for x in np.flatnonzero(same & (both.sum(0) >= 10)):
                if x in (y, k) or (x in switches and x > k and lines[y].levels == 2):
                    continue
                made = _interaction(lines[y], lines[x], lines[k])
                if made is not None:
                    found.append(made)
    return found


def _is_binary(field: Field) -> bool:
    return field.levels == 2 and set(field.ordered[[0, -1]]) == {0.0, 1.0}


def _interaction(y: Field, x: Field, k: Field) -> Proposal | None:
    assert y.numbers is not None
    assert x.numbers is not None
    assert k.numbers is not None
    checked = check(y, (x, k), np.multiply)
    nats = checked.nats - 20
    if not checked.is_near or len(checked.holds) < FEWEST_ROWS or nats < ENOUGH:
        return None
    present = checked.applies
    ones, zeros = (k.numbers == 1) & present, (k.numbers == 0) & present
    differs = int((x.numbers[zeros] != 0).sum())  # where the switch is needed
    if min(differs, int((y.numbers[ones] != 0).sum())) < 5:
        return None
    if (x.numbers[ones] == 0).sum() < 5 and x.levels == 2:  # then y is the switch itself
        return None
    text = f"{quoted(y.name)} = {quoted(x.name)} * {quoted(k.name)}"
    return Proposal(text, y.name, (x.name, k.name), nats, checked.broken)
