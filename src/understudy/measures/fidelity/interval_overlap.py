"""Whether an analyst who estimates a mean or a share gets the same interval from both tables.

What is shown of single estimates must not give a record away. The width of a real interval is the
deviation of the real column, so a mean that few records make (see ``moments``) is left out, where
the normal interval does not hold either. Real shares are taken in steps of five records for the
parts, and levels of fewer than five training records are not looked at. Overlaps, differences and
width ratios are rounded, the coarser the fewer the records: who knows all records but one learns
that one no better than to ± half a deviation.
"""

import math
from typing import Annotated

import numpy as np

from understudy.data.codec import Codec
from understudy.errors import OptionError
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
from understudy.measures.fidelity.columns import NO_HOLDOUT
from understudy.measures.fidelity.estimates import (
    Estimates,
    Looks,
    Numbers,
    estimates_of,
    looks_of,
    rounded,
)
from understudy.measures.overlap import overlap, standardised_difference, width_ratio
from understudy.options import AtLeast

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


@described(CARD)
def interval_overlap(
    comparison: Comparison, *, resamples: Annotated[int, AtLeast(2)] = 100
) -> Finding:
    """Mean overlap of the intervals of means and shares."""
    if resamples < 2:
        raise OptionError(f"resamples = {resamples}", hint="use at least 2")
    codec = comparison.codec(bins=1, levels=None)
    looks, left_out = looks_of(comparison, codec)
    if not len(looks):
        return CARD.not_applicable(
            "No column has an estimate that at least 5 training records bear and that varies."
        )
    found = {t: estimates_of(comparison.source(t), codec, looks) for t in comparison.tables}
    by_look = _overlaps(found["train"], found["synthetic"])
    value = _mean(looks, by_look)
    reference = None
    if comparison.has_holdout:
        reference = _mean(looks, _overlaps(found["train"], _fresh(comparison, found)))
    draws = np.array(_redraw(comparison, codec, looks, resamples))
    spread = float(draws.std(ddof=1))
    p_value = _p_value(found, value, reference, spread)
    parts, table, capped = _parts(comparison, looks, found)
    few = f"Left out, for few records make most of the mean: {', '.join(left_out)}."
    notes = [
        "" if comparison.has_holdout else NO_HOLDOUT,
        f"Number of estimates: {len(looks):,}, of columns: {len(parts):,}.",
        few if left_out else "",
        capped,
    ]
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
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


def _fresh(comparison: Comparison, found: dict[Which, Estimates]) -> Estimates:
    """Bring the holdout's differences and widths to the size of the synthetic table."""
    train, holdout = found["train"], found["holdout"]
    nearer = math.sqrt(comparison.size_ratio())
    narrower = math.sqrt(comparison.height("holdout") / comparison.height("synthetic"))
    return Estimates(
        train.centre + nearer * (holdout.centre - train.centre), narrower * holdout.error
    )


def _overlaps(real: Estimates, other: Estimates) -> Numbers:
    made = np.zeros(len(real.centre))
    for i in range(len(made)):
        a, b = real.interval(i), other.interval(i)
        made[i] = overlap(a, b) if a is not None and b is not None else 0.0
    return made


def _mean(looks: Looks, by_look: Numbers) -> float:
    return float(np.mean(list(_by_column(looks, by_look).values())))


def _by_column(looks: Looks, by_look: Numbers) -> dict[str, float]:
    own: dict[str, list[float]] = {}
    for name, value in zip(looks.columns, by_look.tolist(), strict=True):
        own.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in own.items()}


def _redraw(comparison: Comparison, codec: Codec, looks: Looks, times: int) -> list[float]:
    """Give the difference to the reference when all rows are drawn again, time after time."""
    draws = []
    for number, again in enumerate(comparison.resamples(times), start=1):
        found = {t: estimates_of(again.source(t), codec, looks) for t in comparison.tables}
        value = _mean(looks, _overlaps(found["train"], found["synthetic"]))
        if comparison.has_holdout:
            value -= _mean(looks, _overlaps(found["train"], _fresh(comparison, found)))
        draws.append(value)
        comparison.progress(f"{CARD.name}: interval", number, times)
    return draws


def _p_value(
    found: dict[Which, Estimates], value: float, reference: float | None, spread: float
) -> float:
    """Test the largest difference of all looks, and the mean overlap against the reference."""
    train, made = found["train"], found["synthetic"]
    error = np.sqrt(train.error**2 + made.error**2)
    apart = np.abs(made.centre - train.centre)
    steps = np.divide(apart, error, out=np.where(apart > 0, np.inf, 0.0), where=error > 0)
    # a mean of which the synthetic table has no value is as far off as can be
    steps[np.isnan(made.centre)] = np.inf
    farthest = float(steps.max())
    looks = min(1.0, len(steps) * math.erfc(farthest / math.sqrt(2)))
    if reference is None:
        return looks
    below = (reference - value) / spread if spread else 0.0
    return min(1.0, 2 * min(looks, math.erfc(below / math.sqrt(2)) / 2))


def _parts(
    comparison: Comparison, looks: Looks, found: dict[Which, Estimates]
) -> tuple[tuple[Part, ...], TableOfNumbers, str]:
    """Give overlap, width ratio and difference by column, and of every estimate."""
    rows = comparison.height("train")
    real, made = rounded(comparison, looks, found["train"]), found["synthetic"]
    overlaps, ratios, apart = (np.full(len(looks), np.nan) for _ in range(3))
    for i in range(len(looks)):
        a, b = real.interval(i), made.interval(i)
        overlaps[i] = overlap(a, b) if a and b else 0.0
        if a and b:
            ratios[i], apart[i] = width_ratio(a, b), standardised_difference(a, b)
    fresh: dict[str, float] = {}
    if comparison.has_holdout:
        scaled: dict[Which, Estimates] = {**found, "train": real}
        fresh = _by_column(looks, _overlaps(real, _fresh(comparison, scaled)))
    by_column = {
        "value": _by_column(looks, overlaps),
        "width_ratio": _by_column(looks, ratios),
        "difference": _by_column(looks, np.abs(apart)),
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
        for name in dict.fromkeys(looks.columns)
    ]
    order = sorted(range(len(looks)), key=lambda i: (overlaps[i], looks.columns[i], looks.codes[i]))
    table = TableOfNumbers(
        ("column", "estimate", "overlap", "width_ratio", "difference"),
        tuple(
            (
                looks.columns[i],
                looks.names[i],
                _shown(overlaps[i], rows),
                _ratio(ratios[i], rows),
                _difference(apart[i], rows),
            )
            for i in order[:MOST_ROWS]
        ),
    )
    capped = f"The {MOST_ROWS} worst estimates are listed." if len(looks) > MOST_ROWS else ""
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
