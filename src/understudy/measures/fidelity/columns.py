"""How far the columns of two tables are apart, one histogram at a time.

Numbers are cut at the training table's quantiles, categories keep their most frequent levels;
missing values and values never seen in training have cells of their own.
"""

import itertools
import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import Codec
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import (
    Card,
    Finding,
    Part,
    Shown,
    TableOfNumbers,
    around,
    box,
    described,
)
from understudy.measures import pictures
from understudy.measures.fidelity.distances import DISTANCES, Histogram
from understudy.options import AtLeast

Histograms = dict[Which, list[Histogram]]
BOX = ("of", "smallest", "lower quartile", "median", "upper quartile", "largest")


TOTAL_VARIATION = Card(
    name="fidelity.total_variation",
    title="Total variation distance",
    meaning="The share of records that would have to move to another value, mean over columns.",
    formula="mean over columns of ½ Σ |p − q|",
    unit="fraction",
    better="lower",
    headline="mean over columns",
    source="Sosnovchyk 2021, section 4.1.3, equation 4.1.3",
    not_shown="Columns are looked at one by one: broken relations between columns, and copies "
    "of real records, do not show.",
)

HELLINGER = Card(
    name="fidelity.hellinger",
    title="Hellinger distance",
    meaning="How far apart the columns' histograms are, from 0 (equal) to 1 (disjoint); "
    "sensitive to rare values, mean over columns.",
    formula="mean over columns of √(½ Σ (√p − √q)²)",
    unit="fraction",
    better="lower",
    headline="mean over columns",
    source="Sosnovchyk 2021, section 4.1.2, equation 4.1.2",
    not_shown="Columns are looked at one by one: broken relations between columns, and copies "
    "of real records, do not show.",
)

RELATIVE_ENTROPY = Card(
    name="fidelity.relative_entropy",
    title="Relative entropy",
    meaning="The extra bits a record costs if the synthetic columns are taken for the real "
    "ones (Kullback-Leibler divergence), mean over columns.",
    formula="mean over columns of Σ p log₂(p / q), p training, q synthetic, half a count "
    "added to every cell that either table uses",
    unit="bits",
    better="lower",
    headline="mean over columns",
    source="Sosnovchyk 2021, section 4.1.5 (whose table repeats the total variation distance)",
    not_shown="Columns are looked at one by one: broken relations between columns, and copies "
    "of real records, do not show. The number grows with the number of cells.",
)


@described(TOTAL_VARIATION)
def total_variation(
    comparison: Comparison,
    *,
    bins: int = 10,
    levels: int = 100,
    resamples: Annotated[int, AtLeast(2)] = 100,
    pairs: Shown = 1000,
) -> Finding:
    """Mean total variation distance of the columns."""
    return _compare(comparison, TOTAL_VARIATION, bins, levels, resamples, pairs)


@described(HELLINGER)
def hellinger(
    comparison: Comparison,
    *,
    bins: int = 10,
    levels: int = 100,
    resamples: Annotated[int, AtLeast(2)] = 100,
    pairs: Shown = 1000,
) -> Finding:
    """Mean Hellinger distance of the columns."""
    return _compare(comparison, HELLINGER, bins, levels, resamples, pairs)


@described(RELATIVE_ENTROPY)
def relative_entropy(
    comparison: Comparison,
    *,
    bins: int = 10,
    levels: int = 100,
    resamples: Annotated[int, AtLeast(2)] = 100,
    pairs: Shown = 1000,
) -> Finding:
    """Mean relative entropy of the columns."""
    return _compare(comparison, RELATIVE_ENTROPY, bins, levels, resamples, pairs)


def _compare(
    comparison: Comparison, card: Card, bins: int, levels: int, resamples: int, pairs: int
) -> Finding:
    distance = card.name.removeprefix("fidelity.")
    codec = comparison.codec(bins=bins, levels=levels)
    histograms = counted(comparison, bins, levels)
    value, reference = _mean_distance(histograms, distance, _scale(comparison, distance))
    draws = _redraw(comparison, codec, distance, resamples)
    top = math.inf if distance == "relative_entropy" else 1.0
    two_way, capped = comparison.once(
        ("pairs", bins, levels, pairs), lambda: _pair_distances(comparison, codec, pairs)
    )
    return Finding(
        card.name,
        unit=card.unit,
        better=card.better,
        value=value,
        interval=around(value, float(draws.std(ddof=1)), 0.0, top),
        reference=reference,
        parts=_parts(comparison, codec, histograms, distance),
        tables={
            **pictures.histograms(comparison),
            "box": _boxes(histograms, distance, two_way.get(distance, [])),
        },
        note=" ".join(filter(None, ["" if comparison.has_holdout else NO_HOLDOUT, capped])),
        draws=draws,
    )


NO_HOLDOUT = (
    "No holdout was given, so there is no reference: what fresh real rows would get is not known."
)


def counted(comparison: Comparison, bins: int, levels: int) -> Histograms:
    """Count every column of all tables, once."""
    codec = comparison.codec(bins=bins, levels=levels)
    return comparison.once(("histograms", bins, levels), lambda: _histograms(comparison, codec))


def _histograms(comparison: Comparison, codec: Codec) -> Histograms:
    return {
        table: [comparison.counts(table, [name], codec) for name in codec.names]
        for table in comparison.tables
    }


def _scale(comparison: Comparison, distance: str) -> float:
    """Bring the holdout's own distance to the size of the synthetic table.

    Total variation and Hellinger distance are of the order of the square root of the sampling
    noise, relative entropy of the noise itself.
    """
    if not comparison.has_holdout:
        return 1.0
    ratio = comparison.size_ratio()
    return ratio if distance == "relative_entropy" else math.sqrt(ratio)


def _mean_distance(
    histograms: Histograms, distance: str, scale: float
) -> tuple[float, float | None]:
    measure = DISTANCES[distance]
    train = histograms["train"]
    value = float(
        np.mean([measure(p, q) for p, q in zip(train, histograms["synthetic"], strict=True)])
    )
    if "holdout" not in histograms:
        return value, None
    fresh = [measure(p, q) for p, q in zip(train, histograms["holdout"], strict=True)]
    return value, scale * float(np.mean(fresh))


def _redraw(comparison: Comparison, codec: Codec, distance: str, times: int) -> NDArray[np.float64]:
    """Give the difference to the reference when all rows are drawn again, time after time."""
    scale = _scale(comparison, distance)
    differences = []
    for histograms in redrawn(comparison, codec, times):
        value, reference = _mean_distance(histograms, distance, scale)
        differences.append(value - (reference or 0.0))
    return np.array(differences)


def redrawn(comparison: Comparison, codec: Codec, times: int) -> list[Histograms]:
    """Count the columns again with the rows of all tables drawn again, time after time, once."""
    if times < 2:
        raise OptionError(f"resamples = {times}", hint="use at least 2")

    def redraw() -> list[Histograms]:
        drawn = []
        for number, again in enumerate(comparison.resamples(times), start=1):
            drawn.append(_histograms(again, codec))
            comparison.progress("fidelity by column", number, times)
        return drawn

    return comparison.once(("redrawn", id(codec), times), redraw)


def _parts(
    comparison: Comparison, codec: Codec, histograms: Histograms, distance: str
) -> tuple[Part, ...]:
    measure, scale = DISTANCES[distance], _scale(comparison, distance)
    parts = []
    for i, name in enumerate(codec.names):
        p, q = histograms["train"][i], histograms["synthetic"][i]
        h = histograms["holdout"][i] if "holdout" in histograms else None
        more = {other: function(p, q) for other, function in DISTANCES.items() if other != distance}
        parts.append(Part(name, measure(p, q), None if h is None else scale * measure(p, h), more))
    return tuple(sorted(parts, key=lambda part: (-(part.value or 0.0), part.name)))


def _pair_distances(
    comparison: Comparison, codec: Codec, most: int
) -> tuple[dict[str, list[float]], str]:
    """Give the distances of all two-way tables, or of as many as the cap allows."""
    every = list(itertools.combinations(codec.names, 2))
    chosen, note = every, ""
    if len(every) > most:
        picked = np.sort(comparison.stream("pairs").choice(len(every), most, replace=False))
        chosen = [every[i] for i in picked]
        note = f"The box of pairs shows {most:,} of {len(every):,}, drawn at random (option pairs)."
    if not most:
        note = "No pairs are counted (option pairs)."
    found: dict[str, list[float]] = {name: [] for name in DISTANCES}
    for number, pair in enumerate(chosen, start=1):
        p = comparison.counts("train", pair, codec)
        q = comparison.counts("synthetic", pair, codec)
        for name in ("total_variation", "hellinger", "relative_entropy"):
            found[name].append(DISTANCES[name](p.ravel(), q.ravel()))
        if number % 50 == 0 or number == len(chosen):
            comparison.progress("fidelity by pair", number, len(chosen))
    return found, note


def _boxes(histograms: Histograms, distance: str, pairs: list[float]) -> TableOfNumbers:
    measure = DISTANCES[distance]
    columns = [
        measure(p, q) for p, q in zip(histograms["train"], histograms["synthetic"], strict=True)
    ]
    rows = [("columns", *box(columns))]
    if pairs:
        rows.append(("pairs", *box(pairs)))
    return TableOfNumbers(BOX, tuple(rows))
