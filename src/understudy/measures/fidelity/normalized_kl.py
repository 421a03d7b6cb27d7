"""Relative entropy on a scale from 0 to 1, column by column."""

import math

import numpy as np

from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, around, described
from understudy.measures.fidelity.columns import NO_HOLDOUT, Histograms, counted, redrawn
from understudy.measures.fidelity.distances import Histogram, relative_entropy

CARD = Card(
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
)


@described(CARD)
def normalized_kl(
    comparison: Comparison, *, bins: int = 10, levels: int = 100, resamples: int = 100
) -> Finding:
    """Mean of 1 / (1 + KL) of the columns."""
    codec = comparison.codec(bins=bins, levels=levels)
    histograms = counted(comparison, bins, levels)
    ratio = comparison.size_ratio() if comparison.has_holdout else 1.0
    value, reference = _mean(histograms, ratio)
    draws = []
    for again in redrawn(comparison, codec, resamples):
        near, fresh = _mean(again, ratio)
        draws.append(near - (fresh or 0.0))
    noise = 1 / comparison.height("train") + 1 / comparison.height("synthetic")
    parts, chances = [], []
    for i, name in enumerate(codec.names):
        p, q = histograms["train"][i], histograms["synthetic"][i]
        h = histograms["holdout"][i] if "holdout" in histograms else None
        nats, expected = divergence(p, q), by_chance(p, q, noise)
        chances.append(normalized(expected))
        parts.append(
            Part(
                name,
                normalized(nats),
                None if h is None else normalized(ratio * divergence(p, h)),
                {"nats": nats, "nats_by_chance": expected},
            )
        )
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=value,
        interval=around(value, float(np.std(draws, ddof=1)), 0.0, 1.0),
        reference=reference,
        baselines={"chance": float(np.mean(chances))},
        parts=tuple(sorted(parts, key=lambda part: (part.value, part.name))),
        note="" if comparison.has_holdout else NO_HOLDOUT,
        draws=np.array(draws),
    )


def divergence(p: Histogram, q: Histogram) -> float:
    """Give the relative entropy of q from p in nats, half a count in every cell used.

    Examples
    --------
    >>> round(divergence(np.array([9.5, 0.0]), np.array([0.0, 9.5])), 4)
    2.7104
    """
    return relative_entropy(p, q) * math.log(2)


def normalized(nats: float) -> float:
    """Bring a divergence to the scale from 1 (none) to 0 (endless).

    Examples
    --------
    >>> normalized(0.0), normalized(1.0)
    (1.0, 0.5)
    """
    return 1 / (1 + nats)


def by_chance(p: Histogram, q: Histogram, noise: float) -> float:
    """Give the divergence that chance alone makes: half the noise for each cell but one."""
    return max(0, int(((p + q) > 0).sum()) - 1) / 2 * noise


def _mean(histograms: Histograms, ratio: float) -> tuple[float, float | None]:
    train = histograms["train"]

    def mean(others: list[Histogram], scale: float) -> float:
        near = [normalized(scale * divergence(p, q)) for p, q in zip(train, others, strict=True)]
        return float(np.mean(near))

    fresh = mean(histograms["holdout"], ratio) if "holdout" in histograms else None
    return mean(histograms["synthetic"], 1.0), fresh
