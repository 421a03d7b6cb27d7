"""Tables for pictures, fit to be shared at the source. Nobody downstream has to hide anything.

The rule, with K = 5:

- **Nothing rare is printed.** A label is never a value that 1 to 4 training records hold: such
  levels share the bar "rare levels", and a bin whose end would be such a value is joined with
  its neighbour. The smallest and the largest value are no ends: the outer bins are open.
- **Real counts are rounded** to the nearest multiple of K before they are divided by the number
  of rows, so a count of 1 to 4 cannot be told from 0 or from 7. A real table of fewer than K
  rows has no shares at all (None). The synthetic table is released anyway: its shares are exact.
- **Bins are joined** until each holds no real record, or at least K of training and of holdout.
- **A date is written as the period it lies in.** Where the cuts follow the calendar (histograms), a
  period is not named if that would name a rare date, as 1985 does where all dates are the first
  of a year. Where they follow the records (heat maps), only a period that at least K training
  records lie in is named.
- **Means and other sums over real records** are withheld where fewer than K records make half
  of them or more: ``few_dominate``.

Shares have six decimals. What is not hidden: the measures' own values are exact, and the
distance of a column with two levels says, with the synthetic table at hand, how often they occur.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import FIRST, MISSING, UNSEEN, Codec, ColumnCodec
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import TableOfNumbers
from understudy.measures.pictures.cuts import (
    Cut,
    Numbers,
    calendar_cuts,
    counts,
    joined,
    labels,
    number_cut,
    period_cuts,
    round_cuts,
    unit_of,
    whole_cut,
)
from understudy.measures.pictures.rule import K, Rare, few_dominate, share, two_digits

__all__ = ["K", "distances", "few_dominate", "heat", "histograms", "two_digits"]

MOST_LEVELS = 40
Bars = list[tuple[str, list[float]]]


def histograms(comparison: Comparison) -> dict[str, TableOfNumbers]:
    """Give the histogram of every column, made once for all measures that show them."""
    return comparison.once("pictures of columns", lambda: _histograms(comparison))


def _histograms(comparison: Comparison) -> dict[str, TableOfNumbers]:
    codec = comparison.codec(bins=1, levels=None)
    tables = comparison.tables
    heights = [comparison.height(t) for t in tables]
    made = {}
    for coder in codec.columns:
        name = coder.column.name
        coded = {t: comparison.counts(t, [name], codec) for t in tables}
        bins, numbers = _bins(comparison, coder)
        rows = []
        for place, (label, counted) in enumerate([*bins, *_levels(coder, coded, numbers)]):
            shares = [
                share(count, height, real=t != "synthetic")
                for t, count, height in zip(tables, counted, heights, strict=True)
            ]
            if place < len(bins) or (any(counted) and any(s != 0 for s in shares)):
                rows.append((label, *shares))
        made[f"histogram:{name}"] = TableOfNumbers(("bin", *tables), tuple(rows))
    return made


def _levels(
    coder: ColumnCodec, coded: dict[Which, NDArray[np.float64]], numbers: NDArray[np.float64]
) -> Bars:
    """Count levels by frequency, then what has no name of its own."""
    start = FIRST + coder.bins
    levels = np.array([coded[t][start:] for t in coded])
    own, rest = levels[:, : len(coder.levels)], levels[:, len(coder.levels) :].sum(axis=1)
    train = own[0]
    shown = sorted(
        np.flatnonzero(train >= K).tolist(), key=lambda place: (-train[place], coder.levels[place])
    )
    named, others = shown[:MOST_LEVELS], shown[MOST_LEVELS:]
    rare = np.flatnonzero(train < K)
    outside = numbers - np.array([coded[t][FIRST:start].sum() for t in coded])
    return [
        *((coder.levels[place], own[:, place].tolist()) for place in named),
        ("other levels", (own[:, others].sum(axis=1) + rest).tolist()),
        ("rare levels", own[:, rare].sum(axis=1).tolist()),
        ("unseen in training", [coded[t][UNSEEN] - n for t, n in zip(coded, outside, strict=True)]),
        ("missing", [coded[t][MISSING] for t in coded]),
    ]


def _bins(comparison: Comparison, coder: ColumnCodec) -> tuple[Bars, NDArray[np.float64]]:
    """Count the bins of the numbers, and how many numbers there are; a category has none."""
    if not coder.column.is_numeric:
        return [], np.zeros(len(comparison.tables))
    name = coder.column.name
    found = {t: comparison.source(t).numbers(name) for t in comparison.tables}
    numbers = {t: n[~np.isnan(n)] for t, n in found.items()}
    make = calendar_cuts if coder.column.kind == "date" else round_cuts
    cuts = make(numbers["train"], coder.column, Rare.of(comparison, name))
    cuts = joined(cuts, [n for t, n in numbers.items() if t != "synthetic"])
    counted = np.array([counts(cuts, n) for n in numbers.values()])
    return _named(cuts, counted, unit_of(coder.column)[1]), np.array(
        [float(len(n)) for n in numbers.values()]
    )


def _named(cuts: list[Cut], counted: NDArray[np.float64], unit: str = "") -> Bars:
    """Name the bins; those outside all numbers are left out."""
    used, names = np.flatnonzero(counted.any(axis=0)), labels(cuts, unit)
    kept = range(used[0], used[-1] + 1) if len(used) else range(0)
    return [(names[place], counted[:, place].tolist()) for place in kept]


def distances(near: dict[str, Numbers]) -> TableOfNumbers:
    """Give the histogram of the distances of synthetic records to the nearest real ones.

    The smallest are withheld: the first bin is open and holds at least K records. Counts
    are rounded as those of real records are, since they tell of real neighbours.
    """
    every = np.concatenate(list(near.values()))
    nothing_rare = Rare(frozenset(), frozenset())
    cuts = joined(round_cuts(every, None, nothing_rare), list(near.values()))
    counted = np.array([counts(cuts, numbers) for numbers in near.values()])
    rows = [
        (label, *(share(c, len(n), real=True) for c, n in zip(held, near.values(), strict=True)))
        for label, held in _named(cuts, counted)
    ]
    return TableOfNumbers(("distance", *near), tuple(rows))


SHORT = 10_000


@dataclass(frozen=True)
class Axis:
    """The cells of a column in reading order, and in which of them each code belongs."""

    labels: list[str]
    cell: NDArray[np.int64]


def heat(
    comparison: Comparison,
    codec: Codec,
    names: list[str],
    counted: dict[Which, NDArray[np.int64]],
    codes: list[NDArray[np.int64]],
) -> TableOfNumbers:
    """Give the table of some columns, one row a cell that some table uses.

    Parameters
    ----------
    names : list of str
        The columns, in the order of the axes of ``counted``.
    counted : mapping
        The counts of each table.
    codes : list of arrays
        The code of the column at each place of an axis.
    """
    order = np.argsort(names, kind="stable").tolist()
    axes = [axis_of(comparison, codec, names[i]) for i in order]
    shape = [len(axis.labels) for axis in axes]
    cells = np.meshgrid(
        *(axis.cell[codes[i]] for axis, i in zip(axes, order, strict=True)), indexing="ij"
    )
    place = np.ravel_multi_index(cells, shape).ravel()
    shares = []
    for table in counted:
        turned = counted[table].transpose(order).ravel()
        held = np.bincount(place, turned, minlength=int(np.prod(shape)))
        height, real = comparison.height(table), table != "synthetic"
        shares.append([share(count, height, real=real) for count in held])
    rows = [
        (*(axis.labels[p] for axis, p in zip(axes, places, strict=True)), *shown)
        for places, shown in zip(np.ndindex(*shape), zip(*shares, strict=True), strict=True)
        if any(shown)
    ]
    return TableOfNumbers((*(names[i] for i in order), *counted), tuple(rows))


def axis_of(comparison: Comparison, codec: Codec, name: str) -> Axis:
    """Name the cells of a column, so that no rare value is printed."""
    return comparison.once_for_real(
        ("axis", codec, name), lambda: _axis(comparison, codec, codec[name])
    )


def _axis(comparison: Comparison, codec: Codec, coder: ColumnCodec) -> Axis:
    name = coder.column.name
    train = comparison.counts("train", [name], codec)
    cuts = _cuts(comparison, coder) if coder.bins else []
    text = labels(cuts, unit_of(coder.column)[1]) if coder.bins else []
    cell = np.zeros(coder.size, np.int64)
    ends = coder.edges[1:] if len(coder.edges) > 1 else coder.edges
    cell[FIRST : FIRST + coder.bins] = np.searchsorted([c.at for c in cuts], ends, side="left")

    def put(codes: list[int], label: str) -> None:
        if codes:
            cell[codes] = len(text)
            text.append(label)

    start = FIRST + coder.bins
    hidden = []
    for code, level in enumerate(coder.levels, start=start):
        if train[code] < K:
            hidden.append(code)
        else:
            put([code], level)
    put([coder.size - 1] if coder.rest else [], "other levels")
    put(hidden, "rare levels")
    put([UNSEEN], "unseen in training")
    put([MISSING], "missing")
    return Axis(text, cell)


def _cuts(comparison: Comparison, coder: ColumnCodec) -> list[Cut]:
    """Write the ends of bins, joined until each holds no real record, or at least K."""
    name, inner = coder.column.name, coder.edges[1:-1]
    found = [comparison.source(t).numbers(name) for t in comparison.tables if t != "synthetic"]
    real = [numbers[~np.isnan(numbers)] for numbers in found]
    if coder.column.kind == "date":
        return joined(period_cuts(inner, real[0]), real)
    return joined(_number_cuts(inner, coder, Rare.of(comparison, name)), real)


def _number_cuts(edges: NDArray[np.float64], coder: ColumnCodec, rare: Rare) -> list[Cut]:
    """Write whole numbers as they are, others with about three digits."""
    unit, _ = unit_of(coder.column)
    whole = coder.column.decimals == 0 or unit > 1
    made: list[Cut] = []
    for edge in (edges / unit).tolist():
        plain = whole and edge % 1 == 0 and abs(edge) < SHORT
        cut = whole_cut(edge, rare, unit) if plain else None
        for digits in (3, 2, 4):
            text = f"{float(f'{edge:.{digits}g}'):.15g}"
            cut = cut or number_cut(edge, text, rare, unit)
        if cut and not (made and made[-1].left == cut.left):
            made.append(cut)
    return made
