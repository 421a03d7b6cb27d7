"""Histograms: one of each column for all tables, and of distances."""

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import FIRST, MISSING, UNSEEN, ColumnCodec
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import TableOfNumbers
from understudy.measures.pictures.cuts import (
    Cut,
    Numbers,
    counts,
    joined,
    labels,
    round_cuts,
    unit_of,
)
from understudy.measures.pictures.dates import calendar_cuts
from understudy.measures.pictures.rule import K, Rare, share

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
