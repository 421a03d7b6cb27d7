"""How far the columns of two tables are apart, one histogram at a time.

Numbers are cut at the training table's quantiles, categories keep their most frequent levels;
missing values and values never seen in training have cells of their own.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import Codec
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
from understudy.measures.fidelity import distances
from understudy.measures.fidelity.distances import DISTANCES, Distance, Histogram
from understudy.options import AtLeast

Histograms = dict[Which, list[Histogram]]
Means = tuple[float, float | None]  # of the synthetic table, and of the holdout
T = TypeVar("T")
BOX = ("of", "smallest", "lower quartile", "median", "upper quartile", "largest")
NO_HOLDOUT = (
    "No holdout was given, so there is no reference: what fresh real rows would get is not known."
)


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
    histograms = _counted(comparison, codec)
    measure, scale = DISTANCES[distance], _scale(comparison, distance)

    def means(counts: Histograms) -> Means:
        value, fresh = _means(counts, measure, measure)
        return value, None if fresh is None else scale * fresh

    value, reference = means(histograms)
    draws = _redraw(comparison, codec, resamples, means)
    parts = []
    for name, p, q, h in _cells(codec, histograms):
        more = {other: function(p, q) for other, function in DISTANCES.items() if other != distance}
        parts.append(Part(name, measure(p, q), None if h is None else scale * measure(p, h), more))
    two_way, capped = comparison.once(
        ("pairs", codec, pairs), lambda: _pair_distances(comparison, codec, pairs)
    )
    boxes = [("columns", *box([part.value or 0.0 for part in parts]))]
    boxes += [("pairs", *box(two_way[distance]))] if two_way[distance] else []
    top = math.inf if distance == "relative_entropy" else 1.0
    return card.finding(
        value=value,
        interval=around(value, float(draws.std(ddof=1)), 0.0, top),
        reference=reference,
        parts=tuple(sorted(parts, key=lambda part: (-(part.value or 0.0), part.name))),
        tables={**pictures.histograms(comparison), "box": TableOfNumbers(BOX, tuple(boxes))},
        note=" ".join(filter(None, ["" if comparison.has_holdout else NO_HOLDOUT, capped])),
        draws=draws,
    )


def _counted(comparison: Comparison, codec: Codec) -> Histograms:
    """Count every column of all tables, once."""
    return comparison.once(
        ("histograms", codec),
        lambda: {
            table: [comparison.counts(table, [name], codec) for name in codec.names]
            for table in comparison.tables
        },
    )


def _cells(
    codec: Codec, histograms: Histograms
) -> Iterator[tuple[str, Histogram, Histogram, Histogram | None]]:
    """Give the name of each column and its histograms of training, synthetic and holdout."""
    fresh = histograms.get("holdout", [None] * len(codec.names))
    return zip(codec.names, histograms["train"], histograms["synthetic"], fresh, strict=True)


def _scale(comparison: Comparison, distance: str) -> float:
    """Bring the holdout's own distance to the size of the synthetic table.

    Total variation and Hellinger distance are of the order of the square root of the sampling
    noise, relative entropy of the noise itself.
    """
    if not comparison.has_holdout:
        return 1.0
    ratio = comparison.size_ratio()
    return ratio if distance == "relative_entropy" else math.sqrt(ratio)


def _means(histograms: Histograms, own: Distance, fresh: Distance) -> Means:
    """Give the mean over columns of what synthetic and what the holdout is from training."""
    train = histograms["train"]
    value = np.mean([own(p, q) for p, q in zip(train, histograms["synthetic"], strict=True)])
    if "holdout" not in histograms:
        return float(value), None
    reference = np.mean([fresh(p, h) for p, h in zip(train, histograms["holdout"], strict=True)])
    return float(value), float(reference)


def _redraw(
    comparison: Comparison, codec: Codec, times: int, means: Callable[[Histograms], Means]
) -> NDArray[np.float64]:
    drawn = comparison.once(
        ("redrawn", codec, times),
        lambda: list(
            redrawn(comparison, times, "fidelity by column", lambda c: _counted(c, codec))
        ),
    )
    return beyond_reference(map(means, drawn))


def redrawn(
    comparison: Comparison, times: int, label: str, statistic: Callable[[Comparison], T]
) -> Iterator[T]:
    """Work out a statistic of all tables with their rows drawn again, time after time."""
    for number, again in enumerate(comparison.resamples(times), start=1):
        yield statistic(again)
        comparison.progress(label, number, times)


def beyond_reference(means: Iterable[Means]) -> NDArray[np.float64]:
    """Give the differences of values to their references, or the values where there are none."""
    return np.array([value - (reference or 0.0) for value, reference in means])


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
    found: dict[str, list[float]] = {
        name: [] for name in ("total_variation", "hellinger", "relative_entropy")
    }
    for number, pair in enumerate(chosen, start=1):
        p, q = (comparison.counts(t, pair, codec).ravel() for t in ("train", "synthetic"))
        for name, values in found.items():
            values.append(DISTANCES[name](p, q))
        if number % 50 == 0 or number == len(chosen):
            comparison.progress("fidelity by pair", number, len(chosen))
    return found, note


NORMALIZED_KL = Card(
    name="fidelity.normalized_kl",
    title="Normalised relative entropy",
    meaning="How near the columns' histograms are to training's, from 1 (equal) towards 0: one "
    "over one plus the relative entropy, mean over columns.",
    formula="mean over columns of 1 / (1 + KL), KL = Σ p ln(p / q) in nats (natural logarithm), "
    "from p training to q synthetic, half a count added to every cell that either table uses; "
    "numbers in 10 quantile bins of training, missing and unseen values in cells of their own. "
    "Reference: the same of the holdout, its KL rescaled to the number of synthetic rows. By "
    "chance alone KL is about (K − 1)/2 · (1/n + 1/m) with K cells and n and m rows, which "
    "gives the baseline chance",
    unit="fraction",
    better="higher",
    headline="mean over columns",
    source="Dandekar et al. 2019, section 4.2, who name a normalised Kullback-Leibler divergence "
    "and do not define it: direction, base, smoothing and the form 1 / (1 + KL) are ours",
    not_shown="Columns are looked at one by one: broken relations between columns, and copies "
    "of real records, do not show. One ruined column among many moves the mean little: read the "
    "parts.",
    in_memory=False,
)


@described(NORMALIZED_KL)
def normalized_kl(
    comparison: Comparison,
    *,
    bins: int = 10,
    levels: int = 100,
    resamples: Annotated[int, AtLeast(2)] = 100,
) -> Finding:
    """Mean of 1 / (1 + KL) of the columns."""
    card, codec = NORMALIZED_KL, comparison.codec(bins=bins, levels=levels)
    histograms = _counted(comparison, codec)
    ratio = comparison.size_ratio() if comparison.has_holdout else 1.0

    def means(counts: Histograms) -> Means:
        return _means(
            counts,
            lambda p, q: normalized(divergence(p, q)),
            lambda p, h: normalized(ratio * divergence(p, h)),
        )

    value, reference = means(histograms)
    draws = _redraw(comparison, codec, resamples, means)
    noise = 1 / comparison.height("train") + 1 / comparison.height("synthetic")
    parts, chances = [], []
    for name, p, q, h in _cells(codec, histograms):
        nats, cells = divergence(p, q), int(((p + q) > 0).sum())
        expected = max(0, cells - 1) / 2 * noise
        chances.append(normalized(expected))
        fresh = None if h is None else normalized(ratio * divergence(p, h))
        more = {"nats": nats, "nats_by_chance": expected}
        parts.append(Part(name, normalized(nats), fresh, more))
    return card.finding(
        value=value,
        interval=around(value, float(np.std(draws, ddof=1)), 0.0, 1.0),
        reference=reference,
        baselines={"chance": float(np.mean(chances))},
        parts=tuple(sorted(parts, key=lambda part: (part.value, part.name))),
        note="" if comparison.has_holdout else NO_HOLDOUT,
        draws=draws,
    )


def divergence(p: Histogram, q: Histogram) -> float:
    """Give the relative entropy of q from p in nats, half a count in every cell used.

    Examples
    --------
    >>> round(divergence(np.array([9.5, 0.0]), np.array([0.0, 9.5])), 4)
    2.7104
    """
    return distances.relative_entropy(p, q) * math.log(2)


def normalized(nats: float) -> float:
    """Bring a divergence to the scale from 1 (none) to 0 (endless).

    Examples
    --------
    >>> normalized(0.0), normalized(1.0)
    (1.0, 0.5)
    """
    return 1 / (1 + nats)
