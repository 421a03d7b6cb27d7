"""Is the holdout a random part of the same data? If not, no reference means what it says."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison
from understudy.measures.fidelity.marginals import on_all_cores

LEVEL = 0.01
PERMUTATIONS = 399


@dataclass(frozen=True)
class HoldoutCheck:
    """The p-value of the test, what to warn of, and whether holdout rows are fresh ones."""

    p_value: float
    warnings: tuple[str, ...]
    fresh: bool


def exchangeability(comparison: Comparison) -> HoldoutCheck:
    """Test training against holdout, blind to the labels but for the statistic itself.

    The statistic is the mean distance between their two-way tables (one-way if there is a single
    column), and the labels are permuted. Holdout rows that are training rows are looked for
    separately.
    """
    from understudy.kernels.marginals import Layout, count_tables, table_distances

    codec = comparison.pooled_codec(bins=5, levels=5)
    train, holdout = (comparison.codes(t, codec) for t in ("train", "holdout"))
    pooled = np.asfortranarray(np.concatenate([train, holdout]))
    layout = Layout.all_ways(np.array(codec.sizes), min(2, len(codec.names)))
    every = count_tables(pooled, layout)

    def apart(rows: NDArray[np.int64]) -> float:
        part = count_tables(pooled, layout, rows)
        return float(table_distances(part, every - part, layout).mean())

    def shuffled(time: int) -> float:
        order = comparison.stream("exchangeability", str(time)).permutation(len(pooled))
        return apart(order[: len(train)])

    observed = apart(np.arange(len(train)))
    swapped = list(on_all_cores(shuffled, PERMUTATIONS, comparison, "is the holdout a fair one"))
    p_value = (1 + sum(v >= observed - 1e-12 for v in swapped)) / (1 + PERMUTATIONS)
    warnings = []
    if p_value <= LEVEL:
        times = observed / float(np.mean(swapped))
        warnings.append(
            f"The holdout does not look like a random part of the same data as training: their "
            f"tables are {times:.3g} times as far apart as chance explains (p = {p_value:.4f}). "
            "References, intervals and p-values below assume that it is."
        )
    overlap = _overlap(comparison)
    return HoldoutCheck(p_value, (*warnings, *overlap), fresh=not overlap)


def _overlap(comparison: Comparison) -> list[str]:
    """Warn of holdout rows that stand in training, beyond the twins that training has itself."""
    in_train = comparison.copies("train", comparison.rows("holdout")) > 0
    twins = comparison.copies("train", comparison.rows("train")) > 1
    shares = in_train.mean(), twins.mean()
    noise = sum(s * (1 - s) / len(r) for s, r in zip(shares, (in_train, twins), strict=True))
    excess = shares[0] - shares[1]
    if excess <= 0.01 or excess <= 5 * np.sqrt(noise):
        return []
    return [
        f"{shares[0]:.1%} of the holdout rows stand in training, where only {shares[1]:.1%} of the "
        "rows have a twin: the holdout is not fresh."
    ]
