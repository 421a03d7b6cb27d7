"""Fitted margins: the numbers of a column as points of a curve with two or three parameters."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.support import Floats, Grid, Support, as_written

CODES = 20
LARGEST = 0.05
ROWS = 5_000
POINTS = 100


def fit_margin(
    support: Support,
    codes: NDArray[np.uint16],
    numbers: Floats,
    k: int,
    rng: np.random.Generator,
    *,
    single: bool,
) -> tuple[Support, str | None]:
    """Let a column of many different numbers show points of a curve; gives its name too.

    The curve is the one of least AIC. It is cut off where the support ends, and no point is a
    number that 1 to k - 1 rows hold.
    """
    counts = np.bincount(codes, minlength=support.size + 1)[: support.bins]
    if (
        support.column.kind != "number"
        or support.bins <= CODES
        or counts.max() > LARGEST * counts.sum()
    ):
        return support, None
    present = numbers[~np.isnan(numbers)]
    some = present if len(present) <= ROWS else rng.choice(present, ROWS, replace=False)
    name, curve = best_curve(some)
    low, high = support.numbers.min(), support.numbers.max()
    ends = curve.cdf(np.array([low, high]))
    until = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
    at = until[:-1, None] + np.diff(until)[:, None] * ((np.arange(POINTS) + 0.5) / POINTS)
    points = np.clip(curve.ppf(ends[0] + at * (ends[1] - ends[0])), low, high)
    values, held = np.unique(present, return_counts=True)
    grid = Grid.of(support.column, single=single)
    written = grid.write(points)
    rare = as_written(values[(held < k) | (grid.blurs(values) & (k > 1))], grid)
    good = ~np.isin(written, rare) & np.isfinite(written) & (written >= low) & (written <= high)
    parts = []
    for code, (own, kept) in enumerate(zip(written, good, strict=True)):
        here = slice(support.begin[code], support.begin[code + 1])
        old = support.numbers[here], support.weights[here]
        shown = np.unique(own[kept], return_counts=True)
        parts.append(shown if kept.any() else old)
    begin = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])])
    made = dataclasses.replace(
        support,
        numbers=np.concatenate([part[0] for part in parts]),
        begin=begin.astype(np.int64),
        weights=np.concatenate([part[1] for part in parts]).astype(float),
    )
    return made, name


def best_curve(numbers: Floats) -> tuple[str, Any]:
    """Fit curves by likelihood and choose by AIC (Akaike 1974); gives name and distribution.

    Examples
    --------
    >>> best_curve(np.random.default_rng(0).gamma(2.0, 10.0, 2000))[0]
    'gamma'
    """
    from scipy import stats

    low, high = numbers.min(), numbers.max()
    middle, width = float(np.median(numbers)), float(np.subtract(*np.quantile(numbers, [0.9, 0.1])))
    width = width or float(high - low) or 1.0
    with np.errstate(all="ignore"):
        freedom, center, scale = stats.t.fit((numbers - middle) / width)
        curves = {
            "normal": (2, stats.norm(numbers.mean(), numbers.std())),
            "uniform": (2, stats.uniform(low, high - low)),
            "student": (3, stats.t(freedom, middle + width * center, width * scale)),
        }
        if low > 0:
            logs = np.log(numbers)
            shape, _, size = stats.gamma.fit(numbers / width, floc=0)
            curves["lognormal"] = (2, stats.lognorm(logs.std(), scale=np.exp(logs.mean())))
            curves["gamma"] = (2, stats.gamma(shape, scale=size * width))
        if low > 0 and high < 1:
            a, b, *_ = stats.beta.fit(numbers, floc=0, fscale=1)
            curves["beta"] = (2, stats.beta(a, b))
        aic = {
            name: 2 * many - 2 * curve.logpdf(numbers).sum()
            for name, (many, curve) in curves.items()
        }
    best = min((n for n in aic if np.isfinite(aic[n])), key=lambda n: aic[n])
    return best, curves[best][1]
