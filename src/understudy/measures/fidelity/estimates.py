"""Simple estimates of every column, the mean or shares, with their standard errors."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import FIRST, MISSING, Codec
from understudy.data.source import Source
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Z
from understudy.measures.overlap import Interval
from understudy.measures.pictures.rule import K, few_dominate, share

Numbers = NDArray[np.float64]
MEAN = -1


@dataclass(frozen=True)
class Looks:
    """What is estimated: of which column, and which code's share (or the mean)."""

    columns: tuple[str, ...]
    codes: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class Estimates:
    """One estimate and standard error a look; nan where a table has none."""

    centre: Numbers
    error: Numbers

    def interval(self, i: int) -> Interval | None:
        """Give the normal interval of an estimate."""
        centre, half = float(self.centre[i]), Z * float(self.error[i])
        return None if math.isnan(centre) else (centre - half, centre + half)


def looks_of(comparison: Comparison, codec: Codec) -> tuple[Looks, list[str]]:
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
    return Looks(columns, codes, names), left_out


def _differ(counts: dict[Which, Numbers]) -> bool:
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


def estimates_of(source: Source, codec: Codec, looks: Looks) -> Estimates:
    """Estimate all means and shares, with their standard errors."""
    centre, error = np.full(len(looks), np.nan), np.full(len(looks), np.nan)
    counts: dict[str, Numbers] = {}
    for i, (name, code) in enumerate(zip(looks.columns, looks.codes, strict=True)):
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
    return Estimates(centre, error)


def _share_error(part: float, rows: int) -> float:
    return math.sqrt(max(part * (1 - part), 0.0) / rows)


def rounded(comparison: Comparison, looks: Looks, real: Estimates) -> Estimates:
    """Take the real shares in steps of five records."""
    rows = comparison.height("train")
    centre, error = real.centre.copy(), real.error.copy()
    for i, code in enumerate(looks.codes):
        if code != MEAN:
            centre[i] = share(centre[i] * rows, rows, real=True) or 0.0
            error[i] = _share_error(centre[i], rows)
    return Estimates(centre, error)
