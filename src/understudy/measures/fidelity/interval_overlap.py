"""Whether an analyst who estimates a mean or a share gets the same interval from both tables.

What is shown of single estimates must not give a record away. The width of a real interval is the
deviation of the real column, so a mean that few records make (see ``moments``) is left out, where
the normal interval does not hold either. Real shares are taken in steps of five records for the
parts, and levels of fewer than five training records are not looked at. Overlaps, differences and
width ratios are rounded, the coarser the fewer the records: who knows all records but one learns
that one no better than to ± half a deviation.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from understudy.data.codec import FIRST, MISSING, Codec
from understudy.data.matrix import Floats
from understudy.data.source import Source
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import (
    LEVEL,
    Card,
    Finding,
    Part,
    TableOfNumbers,
    Z,
    around,
    described,
)
from understudy.measures.fidelity.columns import NO_HOLDOUT, Means, beyond_reference, redrawn
from understudy.measures.overlap import Intervals, overlaps, standardised, width_ratios
from understudy.measures.pictures.rule import K, few_dominate, share
from understudy.options import AtLeast

MEAN = -1
MOST_ROWS = 200

CARD = Card(
    name="fidelity.interval_overlap",
    title="Overlap of intervals",
    meaning="How far the 95 % intervals of simple estimates from the synthetic table overlap with "
    "training's: 1 is the same interval, 0 is no overlap; mean over columns.",
    formula="(U − L)/2 · (1/w_training + 1/w_synthetic) with L, U the ends of the common part and "
    "w the widths, 0 where there is none. A number has the interval of its mean, mean ± 1.96 "
    "standard errors; a category those of the shares of its levels with at least 5 training "
    "records; both that of the share missing; mean over the estimates of a column, then over "
    "columns. Columns that do not vary, and means that 4 records make half of, are left out. "
    "Reference: the same of the holdout, its difference and width rescaled to the number of "
    "synthetic rows (two samples of one size get 0.71); interval: ± 1.96 standard deviations of "
    "the difference when the rows of all tables are drawn again. p: twice the smaller of that of "
    "the largest difference of training and synthetic in standard errors, Bonferroni over all "
    "estimates, and that of value against reference; flagged below 0.05. Beside it: "
    "width_ratio (synthetic to training) and difference (in standard errors of training)",
    unit="fraction",
    better="higher",
    headline="mean over columns",
    source="Karr et al. 2006; Dandekar et al. 2019, equation 1, cut at 0",
    not_shown="A uselessly wide interval around training's has an overlap of ½: read the ratio of "
    "the widths. Intervals narrow as tables grow, so that a small bias costs little in small "
    "tables and all of the overlap in large ones. Means and shares alone: no relation between "
    "columns, no copies.",
)


@dataclass(frozen=True)
class Estimands:
    """What is estimated: of which column, and which code's share (or the mean)."""

    columns: tuple[str, ...]
    codes: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns)


@described(CARD)
def interval_overlap(
    comparison: Comparison, *, resamples: Annotated[int, AtLeast(2)] = 100
) -> Finding:
    """Mean overlap of the intervals of means and shares."""
    codec = comparison.codec(bins=1, levels=None)
    wanted, left_out = _estimands(comparison, codec)
    if not len(wanted):
        return CARD.not_applicable(
            "No column has an estimate that at least 5 training records bear and that varies."
        )

    def estimate(tables: Comparison) -> dict[Which, Intervals]:
        return {t: _estimate(tables.source(t), codec, wanted) for t in comparison.tables}

    found = estimate(comparison)
    value, reference = _means(comparison, wanted, found)
    label = f"{CARD.name}: interval"
    drawn = redrawn(comparison, resamples, label, estimate)
    draws = beyond_reference(_means(comparison, wanted, one) for one in drawn)
    spread = float(draws.std(ddof=1))
    p_value = _p_value(found, value, reference, spread)
    parts, table, capped = _parts(comparison, wanted, found)
    few = f"Left out, for few records make most of the mean: {', '.join(left_out)}."
    notes = [
        "" if comparison.has_holdout else NO_HOLDOUT,
        f"Number of estimates: {len(wanted):,}, of columns: {len(parts):,}.",
        few if left_out else "",
        capped,
    ]
    return CARD.finding(
        value=value,
        interval=around(value, spread, 0.0, 1.0),
        reference=reference,
        p_value=p_value,
        flagged=p_value < 1 - LEVEL,
        parts=parts,
        tables={"estimates": table},
        note=" ".join(filter(None, notes)),
        draws=draws,
    )


def _fresh(comparison: Comparison, found: dict[Which, Intervals]) -> Intervals:
    """Bring the holdout's differences and widths to the size of the synthetic table."""
    train, holdout = found["train"], found["holdout"]
    nearer = math.sqrt(comparison.size_ratio())
    narrower = math.sqrt(comparison.height("holdout") / comparison.height("synthetic"))
    moved = train.estimate + nearer * (holdout.estimate - train.estimate)
    return Intervals.normal(moved, narrower * holdout.error)


def _means(comparison: Comparison, wanted: Estimands, found: dict[Which, Intervals]) -> Means:
    """Give the mean overlap of training with synthetic, and with the holdout."""

    def mean(other: Intervals) -> float:
        return float(np.mean(list(_by_column(wanted, overlaps(found["train"], other)).values())))

    fresh = mean(_fresh(comparison, found)) if comparison.has_holdout else None
    return mean(found["synthetic"]), fresh


def _by_column(wanted: Estimands, by_estimate: Floats) -> dict[str, float]:
    own: dict[str, list[float]] = {}
    for name, value in zip(wanted.columns, by_estimate.tolist(), strict=True):
        own.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in own.items()}


def _p_value(
    found: dict[Which, Intervals], value: float, reference: float | None, spread: float
) -> float:
    """Test the largest difference of all looks, and the mean overlap against the reference."""
    train, made = found["train"], found["synthetic"]
    error = np.sqrt(train.error**2 + made.error**2)
    apart = np.abs(made.estimate - train.estimate)
    steps = np.divide(apart, error, out=np.where(apart > 0, np.inf, 0.0), where=error > 0)
    # a mean of which the synthetic table has no value is as far off as can be
    steps[np.isnan(made.estimate)] = np.inf
    farthest = float(steps.max())
    largest = min(1.0, len(steps) * math.erfc(farthest / math.sqrt(2)))
    if reference is None:
        return largest
    below = (reference - value) / spread if spread else 0.0
    return min(1.0, 2 * min(largest, math.erfc(below / math.sqrt(2)) / 2))


def _parts(
    comparison: Comparison, wanted: Estimands, found: dict[Which, Intervals]
) -> tuple[tuple[Part, ...], TableOfNumbers, str]:
    """Give overlap, width ratio and difference by column, and of every estimate."""
    rows = comparison.height("train")
    real, made = _rounded(comparison, wanted, found["train"]), found["synthetic"]
    by_estimate, ratios = overlaps(real, made), width_ratios(real, made)
    apart = standardised(real, made)
    fresh: dict[str, float] = {}
    if comparison.has_holdout:
        scaled: dict[Which, Intervals] = {**found, "train": real}
        fresh = _by_column(wanted, overlaps(real, _fresh(comparison, scaled)))
    by_column = {
        "value": _by_column(wanted, by_estimate),
        "width_ratio": _by_column(wanted, ratios),
        "difference": _by_column(wanted, np.abs(apart)),
    }
    parts = [
        Part(
            name,
            _shown(by_column["value"][name], rows),
            _shown(fresh.get(name), rows),
            {
                "width_ratio": _ratio(by_column["width_ratio"][name], rows),
                "difference": _difference(by_column["difference"][name], rows),
            },
        )
        for name in dict.fromkeys(wanted.columns)
    ]
    order = sorted(
        range(len(wanted)), key=lambda i: (by_estimate[i], wanted.columns[i], wanted.codes[i])
    )
    table = TableOfNumbers(
        ("column", "estimate", "overlap", "width_ratio", "difference"),
        tuple(
            (
                wanted.columns[i],
                wanted.names[i],
                _shown(by_estimate[i], rows),
                _ratio(ratios[i], rows),
                _difference(apart[i], rows),
            )
            for i in order[:MOST_ROWS]
        ),
    )
    capped = f"The {MOST_ROWS} worst estimates are listed." if len(wanted) > MOST_ROWS else ""
    return tuple(sorted(parts, key=lambda p: (p.value, p.name))), table, capped


def _shown(value: float | None, rows: int) -> float | None:
    """Round an overlap to a hundredth, or to what half a deviation of one record makes."""
    if value is None:
        return None
    steps = min(100, math.floor(2 * Z * math.sqrt(rows)))
    return round(round(float(value) * steps) / steps, 2)


def _ratio(value: float, rows: int) -> float | None:
    return round(float(value), 2 if rows >= 100 else 1) if math.isfinite(value) else None


def _difference(value: float, rows: int) -> float | None:
    if not math.isfinite(value):
        return None
    step = 0.1 if rows >= 100 else 0.5
    return round(step * round(float(value) / step), 1)


def _estimands(comparison: Comparison, codec: Codec) -> tuple[Estimands, list[str]]:
    """Choose what is estimated, and say of which numbers the mean is left out."""
    found: list[tuple[str, int, str]] = []
    left_out = []
    for name in codec.names:
        counts = {t: comparison.counts(t, [name], codec) for t in comparison.tables}
        train = counts["train"]
        if comparison.schema[name].is_numeric:
            usable = _usable(comparison, name)
            found += [(name, MEAN, "mean")] if usable else []
            left_out += [name] if usable is False else []
        elif any((c > 0).sum() > 1 for c in counts.values()) or _differ(counts):
            levels = codec[name].levels
            found += [
                (name, FIRST + i, f"share of {level}")
                for i, level in enumerate(levels)
                if train[FIRST + i] >= K
            ]
        gone = {t: int(c[MISSING]) for t, c in counts.items()}
        every = all(gone[t] == comparison.height(t) for t in gone)
        if any(gone.values()) and not every and not 0 < gone["train"] < K:
            found.append((name, MISSING, "share missing"))
    columns, codes, names = zip(*found, strict=True) if found else ((), (), ())
    return Estimands(columns, codes, names), left_out


def _differ(counts: dict[Which, Floats]) -> bool:
    """Tell whether a column that varies in no table has different values in two of them."""
    return len({int(c.argmax()) for c in counts.values()}) > 1


def _usable(comparison: Comparison, name: str) -> bool | None:
    """Tell whether a normal interval of the mean holds; none where the column does not vary."""
    real: tuple[Which, ...] = tuple(t for t in comparison.tables if t != "synthetic")
    own = {t: comparison.source(t).numbers(name) for t in comparison.tables}
    own = {t: numbers[~np.isnan(numbers)] for t, numbers in own.items()}
    if len(own["train"]) == 0 or len(np.unique(np.concatenate(list(own.values())))) < 2:
        return None
    for table in real:
        if len(own[table]) < K or few_dominate((own[table] - own[table].mean()) ** 2):
            return False
    return True


def _estimate(source: Source, codec: Codec, wanted: Estimands) -> Intervals:
    """Estimate all means and shares, with their standard errors."""
    centre, error = np.full(len(wanted), np.nan), np.full(len(wanted), np.nan)
    counts: dict[str, Floats] = {}
    for i, (name, code) in enumerate(zip(wanted.columns, wanted.codes, strict=True)):
        if code == MEAN:
            moments = source.moments(name)
            if moments is not None:
                centre[i] = moments.mean
                error[i] = moments.deviation / math.sqrt(max(moments.count - 1, 1))
            continue
        if name not in counts:
            counts[name] = source.counts([name], codec)
        centre[i] = counts[name][code] / source.height
        error[i] = _share_error(centre[i], source.height)
    return Intervals.normal(centre, error)


def _share_error(part: float, rows: int) -> float:
    return math.sqrt(max(part * (1 - part), 0.0) / rows)


def _rounded(comparison: Comparison, wanted: Estimands, real: Intervals) -> Intervals:
    """Take the real shares in steps of five records."""
    rows = comparison.height("train")
    centre, error = real.estimate.copy(), real.error.copy()
    for i, code in enumerate(wanted.codes):
        if code != MEAN:
            centre[i] = share(centre[i] * rows, rows, real=True) or 0.0
            error[i] = _share_error(centre[i], rows)
    return Intervals.normal(centre, error)
