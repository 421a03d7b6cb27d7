"""The README beside a synthetic file: how it was made, how to analyse it, what it is not for."""

import math
from collections.abc import Sequence

from understudy.data.tables import Marker
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.budget import NEIGHBOURS, Step
from understudy.synthesizers.claims import SEEDED

SEVERAL = """\
Analyse each of the {m} files alone, with the same code. The estimate is the average of the {m}
estimates. For its variance, write v for the average of the {m} squared standard errors{more}.
"""
FULLY = """\
The variance is v * (s / n + 1 / m), for s rows in a file, n rows {real} and m = {m}
files. With as many rows as the real table has, that is v * (1 + 1 / m). The squared standard
error of one file alone is too small: it leaves out that the file is a sample of a sample.
"""
PROPER = """\
The variance is v * (s / n + (1 + s / n) / m), for s rows in a file, n rows {real} and
m = {m} files. The squared standard error of one file alone is too small.
"""
PARTLY = """\
The variance is v + b / m, for m = {m} files; intervals take Student's t with
(m - 1) * (1 + v / (b / m))^2 degrees of freedom (Reiter 2003).
"""
ALONE = """\
With one file, the part of the variance that comes from the synthesis cannot be told: intervals
are too narrow where they rest on replaced columns. Several files (`--replicates`) show it.
"""
ELSEWHERE = """\
The model learnt from other records than these. No formula here counts that those are a sample
themselves: intervals may still be too narrow.
"""


EPSILON = """\
The method spent epsilon = {epsilon:g} of differential privacy{together}: whatever is made of the
release, no outcome is more than exp({epsilon:g}) = {factor:.3g} times as likely with a person as
without. Two tables are neighbours here if one is the other with {neighbours}: one row is taken for
one person, so whoever has several rows is covered less. Facts that were declared in the schema
are taken for public and cost nothing. It was spent in these steps; the scale is that of the noise.
"""
OUTSIDE = """\
- The epsilon covers these files alone. Whatever else was computed from the real table, such as an
  assessment, comes on top, and so does every further release of it."""


NOISE = """\
Noise was added as well (above), and no formula here counts it: intervals are too narrow.
"""


def readme(
    marker: Marker,
    card: MethodCard,
    *,
    proper: bool = False,
    learnt_elsewhere: bool = False,
    spending: Sequence[Step] = (),
) -> str:
    """Write the README of a file or of several replicates; under epsilon, with its spending."""
    parts = [
        f"# Synthetic data: {_listed(marker.files)}",
        _what(marker),
        "## How it was made",
        f"By understudy {marker.version}, method `{marker.method}` ({card.title.lower()}). It "
        f"keeps {card.keeps}. It loses {card.loses}.",
        f"What the method claims about disclosure: {card.claim}",
        *([] if marker.epsilon is None else _spent(marker, marker.epsilon, spending)),
        "## How to analyse it",
        _analysis(marker, proper)
        + (ELSEWHERE if learnt_elsewhere else "")
        + ("" if marker.epsilon is None else NOISE),
        "## What it is not good for",
        _limits(marker),
        f"<!-- understudy: {marker.to_json()} -->",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _listed(names: Sequence[str]) -> str:
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]} to {names[-1]} ({len(names)} files)"


def _what(marker: Marker) -> str:
    several = f" The {marker.replicates} files are replicates: different draws of one release."
    rows = f"{marker.rows:,} rows"
    if marker.kind == "fully synthetic":
        text = (
            f"{rows}, fully synthetic: a program made every row. Rows are not linked to persons; "
            "they may still equal real ones."
        )
        if marker.given:
            text += f" Only rows with {marker.given} were kept."
        if marker.margins:
            text += f" Shares of the rows were set: {marker.margins}."
    else:
        names = ", ".join(f"`{name}`" for name in marker.replaced)
        whom = f" of the records with {marker.where}" if marker.where else ""
        text = (
            f"{rows}, partially synthetic. A program drew the values of {names}{whom} anew, given "
            "the other columns. All other values are real ones, and each row stands for the real "
            "person of that row."
        )
    if marker.constraints:
        text += f" Constraints that every row meets: {'; '.join(marker.constraints)}."
    return text + (several if marker.replicates > 1 else "")


def _spent(marker: Marker, epsilon: float, spending: Sequence[Step]) -> list[str]:
    together = ", all files together" if marker.replicates > 1 else ""
    factor = math.exp(min(epsilon, 700))
    text = EPSILON.format(epsilon=epsilon, factor=factor, together=together, neighbours=NEIGHBOURS)
    rows = [
        f"| {step.what.replace('|', '/')} | {step.mechanism} | {step.epsilon:.4g} | "
        f"{step.sensitivity:.4g} | {step.scale:.4g} |"
        for step in spending
    ]
    head = ["| step | mechanism | epsilon | sensitivity | scale |", "|---|---|---|---|---|"]
    seeded = [f"**{SEEDED.format(epsilon=epsilon)}**"] if marker.seeded else []
    return ["## What it spent", *seeded, text, "\n".join([*head, *rows])]


def _analysis(marker: Marker, proper: bool) -> str:
    m, partly = marker.replicates, marker.kind != "fully synthetic"
    real = f"of the real table with {marker.given}" if marker.given else "in the real table"
    if m == 1 and partly:
        text = "Analyse the file as the real one. " + ALONE
    elif m == 1:
        text = "Analyse the file as the real one; v is the squared standard error. "
        text += (PROPER if proper else FULLY).format(m=m, real=real)
    else:
        more = f",\nand b for the variance of the {m} estimates" if partly else ""
        text = SEVERAL.format(m=m, more=more)
        text += (PARTLY if partly else PROPER if proper else FULLY).format(m=m, real=real)
    return text


def _limits(marker: Marker) -> str:
    lines = [
        "- Conclude nothing about a single person: a row that looks like one need not be theirs.",
        "- Rare groups, extremes and relations that the method loses (above) are not to be relied "
        "on. Confirm what matters on the real table.",
        "- That a program drew the values is no statement on what the file discloses about the "
        "people in the real table. `understudy assess` measures that.",
    ]
    if marker.margins:
        lines.append(
            "- The shares that were set say nothing about the real table, nor does any total over "
            "all rows: weight the rows back first."
        )
    if marker.kind != "fully synthetic":
        lines.append("- The columns that were kept are real data, to be handled as such.")
    if marker.epsilon is not None:
        lines.append(OUTSIDE)
    return "\n".join(lines)
