"""The plane of privacy and fidelity (Platzer and Reutterer 2021, figure 9).

Across: three-way fidelity over what fresh real rows of that number get. Up: the share of synthetic
records closer to training. The holdout, at 1 and one half, is the north star; the control ``flip``
draws the curve from copying to noise that a method should stay below.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from understudy.data.tables import Table
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Finding, TableOfNumbers, plain
from understudy.measures import MEASURES
from understudy.synthesizers import synthesizer
from understudy.workflows.assessment import Assessment
from understudy.workflows.compare.differences import DECIDING, FIDELITY, SHARE
from understudy.workflows.running import run

FLIPS = tuple(tenth / 10 for tenth in range(1, 10))
CHEAP: Mapping[str, Mapping[str, Any]] = {
    FIDELITY: {"resamples": 2, "permutations": 1},
    SHARE: {"permutations": 2, "register": 0.0},
}
POINTS = ("candidate", "x", "x low", "x high", "y", "y low", "y high")
CURVE = ("flip", "x", "y")
NO_PLANE = (
    "There is no plane of privacy and fidelity: it needs a holdout, three-way fidelity over that "
    "of the holdout, and the share of records closer to training than to the holdout."
)


def plane(
    assessments: Mapping[str, Assessment], curve: tuple[tuple[float, float, float], ...]
) -> dict[str, Any] | None:
    """Give the places of candidates, holdout and curve; None without a holdout."""
    placed = {
        name: (assessment[FIDELITY], assessment[SHARE])
        for name, assessment in assessments.items()
        if can_be_placed(assessment)
    }
    if not placed:
        return None
    rows = tuple(
        (name, *_over_reference(fidelity), share.value, *(share.interval or (None, None)))
        for name, (fidelity, share) in placed.items()
    )
    star = next(iter(placed.values()))[1].reference
    return {
        "x": f"{FIDELITY} over its reference",
        "y": SHARE,
        "star": {"x": 1.0, "y": plain(star)},
        "points": TableOfNumbers(POINTS, rows).to_dict(),
        "curve": TableOfNumbers(CURVE, curve).to_dict(),
    }


def can_be_placed(assessment: Assessment) -> bool:
    """Tell whether both measures are there, with a reference to divide by."""
    both = [assessment[name] for name in DECIDING]
    return (
        all(f.status == "ok" and f.reference is not None for f in both) and both[0].reference != 0
    )


def _over_reference(finding: Finding) -> tuple[float | None, ...]:
    ends = finding.interval or (None, None)
    reference = finding.reference or 1.0
    return tuple(None if x is None else x / reference for x in (finding.value, *ends))


def flips(
    train: Table, comparisons: Any, options: Mapping[str, Mapping[str, Any]], seed: int
) -> Iterator[tuple[float, float, float]]:
    """Perturb training more and more by the control ``flip`` and place each result.

    ``comparisons`` compares a table as the candidates are compared. Only the two measures are
    taken, without intervals.
    """
    cheap = {name: {**options.get(name, {}), **CHEAP[name]} for name in DECIDING}
    for p in FLIPS:
        made = synthesizer("flip", p=p, seed=seed).fit(train)
        table = Table.of(pl.concat(list(made.batches())), train.schema, name="flip")
        comparison: Comparison = comparisons(table, cheap)
        fidelity, share = (run(MEASURES[name], comparison) for name in DECIDING)
        if fidelity.value is not None and share.value is not None and fidelity.reference:
            yield p, fidelity.value / fidelity.reference, share.value
