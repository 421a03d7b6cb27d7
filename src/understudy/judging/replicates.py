"""One finding of several replicates: their mean, and what all of them say together."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.findings import LEVEL, Finding, Part, TableOfNumbers


def average(findings: Sequence[Finding]) -> Finding:
    """Average the findings of several replicates of one release.

    The ends of the intervals are averaged: the spread of a mean of dependent values is at
    most the mean of their spreads, so the interval is on the wide side. Twice the mean of the
    p-values is a p-value whatever their dependence (Vovk and Wang, 2020).
    """
    first = findings[0]
    if len(findings) == 1:
        return first
    for number, finding in enumerate(findings, start=1):
        if finding.status != "ok":
            return dataclasses.replace(finding, note=f"replicate {number}: {finding.note}")
    by_name: dict[str, list[Part]] = {}
    for finding in findings:
        for part in finding.parts:
            by_name.setdefault(part.name, []).append(part)
    rows = tuple((i, f.value, f.reference, f.p_value) for i, f in enumerate(findings, start=1))
    mean_p = _mean([f.p_value for f in findings])
    combined = None if mean_p is None else min(1.0, 2 * mean_p)
    return dataclasses.replace(
        first,
        value=_mean([f.value for f in findings]),
        interval=_mean_interval([f.interval for f in findings]),
        reference=_mean([f.reference for f in findings]),
        baselines={n: _mean([f.baselines.get(n) for f in findings]) for n in first.baselines},
        p_value=combined,
        flagged=(
            None if combined is None else combined < 1 - LEVEL and any(f.flagged for f in findings)
        ),
        parts=tuple(
            Part(
                name,
                _mean([p.value for p in parts]),
                _mean([p.reference for p in parts]),
                {n: _mean([p.more.get(n) for p in parts]) for n in parts[0].more},
                parts[0].unit,
                _mean_interval([p.interval for p in parts]),
            )
            for name, parts in by_name.items()
            if len(parts) == len(findings)
        ),
        tables={
            **first.tables,
            "replicates": TableOfNumbers(("replicate", "value", "reference", "p_value"), rows),
        },
        register=_registers(findings),
        draws=_mean_draws(findings),
        note=" ".join(
            filter(
                None, [first.note, f"Mean of {len(findings)} replicates; pictures show the first."]
            )
        ),
    )


def _registers(findings: Sequence[Finding]) -> pl.DataFrame | None:
    numbered = [
        finding.register.with_columns(replicate=pl.lit(number))
        for number, finding in enumerate(findings, start=1)
        if finding.register is not None
    ]
    return pl.concat(numbered) if numbered else None


def _mean_draws(findings: Sequence[Finding]) -> NDArray[np.float64] | None:
    draws = [finding.draws for finding in findings if finding.draws is not None]
    if len(draws) < len(findings) or len({len(d) for d in draws}) > 1:
        return None
    made: NDArray[np.float64] = np.mean(draws, axis=0)
    return made


def _mean_interval(ends: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [interval for interval in ends if interval is not None]
    if len(known) < len(ends):
        return None
    low, high = np.mean(known, axis=0)
    return float(low), float(high)


def _mean(values: Sequence[float | None]) -> float | None:
    present = [v for v in values if v is not None]
    return float(np.mean(present)) if present and len(present) == len(values) else None
