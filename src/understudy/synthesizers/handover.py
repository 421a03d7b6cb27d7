"""A release on its way to disk: replicates, batch by batch, with the marker and the README.

The README beside a synthetic file tells how it was made, how to analyse it, what it is not for.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.schema import Column
from understudy.data.tables import (
    Marker,
    RowDigest,
    Table,
    WholeFiles,
    digest_file,
    format_of,
    sidecar,
    write_batches,
)
from understudy.data.tables.markers import KEY, read_note
from understudy.errors import OptionError
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.budget import NEIGHBOURS, Step
from understudy.synthesizers.claims import SEEDED
from understudy.synthesizers.constraints import given_condition
from understudy.synthesizers.drawing import Margins
from understudy.synthesizers.partial import Replacement
from understudy.synthesizers.synthesizer import Synthesizer

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


@dataclass(frozen=True)
class Release:
    """What is to be written: the batches of each replicate, and what is said about them."""

    made: Synthesizer
    marker: Marker
    batches: Callable[[int], Iterable[pl.DataFrame]]
    left_out: tuple[Column, ...]
    learnt_elsewhere: bool = False
    shares_one_draw: bool = False
    anew: tuple[str, ...] = ()

    @classmethod
    def of_rows(
        cls,
        made: Synthesizer,
        rows: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        margins: Mapping[str, Mapping[Any, float]] | None = None,
        train: Table | None = None,
    ) -> "Release":
        """Take whole rows from a fitted synthesizer.

        With the training table, a method that draws its own model (proper synthesis) draws
        another for each replicate.
        """
        schema = made.fitted
        shown = None if given is None else str(given_condition(given, schema))
        shares = None if margins is None else str(Margins.of(margins, schema))

        def batches(number: int) -> Iterator[pl.DataFrame]:
            if number and train is not None and made.is_proper:
                made.fit(train, replicate=number)
            return made.batches(rows, replicate=number, given=given, margins=margins)

        count = made.rows_ if rows is None else rows
        epsilon = made.epsilon_spent
        marker = Marker(
            made.method.card.name,
            count,
            given=shown,
            margins=shares,
            constraints=schema.constraints,
            relations=tuple(str(one) for one in schema.relations if one.is_judged),
            epsilon=epsilon,
            seeded=epsilon is not None and made.seeded_,
            rule=getattr(made.method, "rule", None),
        )
        shared = made.is_proper and train is None
        held = made.held_
        return cls(made, marker, batches, held.left_out, shares_one_draw=shared, anew=held.anew)

    @classmethod
    def of_replacement(cls, made: Replacement) -> "Release":
        """Take records of which some columns are drawn anew."""
        real = made.real
        marker = Marker(
            made.made.method.card.name,
            real.height,
            kind="partially synthetic",
            aligned=True,
            replaced=made.columns,
            where=None if made.where is None else str(made.where),
            constraints=real.schema.constraints,
            relations=tuple(
                str(one)
                for one in made.train.schema.relations
                if one.is_judged and not one.is_near and one.target in made.columns
            ),
            rule=getattr(made.made.method, "rule", None),
        )
        left_out = tuple(c for c in made.held.left_out if c.name in real.frame.columns)
        return cls(
            made.made,
            marker,
            lambda n: [made.table(n)],
            left_out,
            made.learnt_elsewhere,
            anew=made.held.anew,
        )

    def write(
        self, outputs: Sequence[Path], *, note: Path | None = None, save: Path | None = None
    ) -> None:
        """Write the replicates, the README and the model: all of them or none."""
        if len(outputs) > 1 and self.shares_one_draw:
            raise OptionError(
                "proper replicates need a model each, and a saved model is one",
                hint="draw one file from the model, or fit again from the real table",
            )
        marker, method = replace(self.marker, replicates=len(outputs)), self.made.method
        proper = self.made.is_proper
        digests: list[str] = []
        with WholeFiles() as files:
            if save is not None:
                self.made.write(files.add(save, for_owner=method.card.is_file_for_owner))
            for number, path in enumerate(outputs):
                batches = self.batches(number)
                # a replacement is fitted when its first batch is asked for
                models = tuple(getattr(method, "methods_", ()))
                marker = replace(marker, proper=proper, models=models)
                inside = replace(marker, replicate=number + 1)
                digests.append(_write(batches, files.add(path), path, inside))
            if note is not None:
                names = tuple(path.name for path in outputs)
                only = 1 if len(names) == 1 else None
                marker = replace(marker, replicate=only, files=names, digests=tuple(digests))
                more: dict[str, Any] = {"learnt_elsewhere": self.learnt_elsewhere}
                more |= {"proper": proper, "anew": self.anew}
                text = readme(marker, method.card, spending=self.made.spending_ or (), **more)
                files.add(note).write_text(text, encoding="utf-8")


def _write(batches: Iterable[pl.DataFrame], file: Path, like: Path, marker: Marker) -> str:
    """Write the rows of one file, and its marker inside if it can have one; give their digest."""
    made = RowDigest()

    def inside() -> dict[str, str]:
        return {KEY: replace(marker, digests=(made.text,)).to_json()}

    write_batches(made.over(batches), file, like=like, metadata=inside)
    # an Excel file keeps fewer digits than a number has: what counts is what is read again
    return digest_file(file) if format_of(like) == "excel" else made.text


def note_for(out: Path) -> Path | None:
    """Give the place of the README; a Parquet file needs none, a pipe can have none."""
    if format_of(out) == "parquet" or (out.exists() and not out.is_file()):
        return None
    note = sidecar(out)
    if note.is_file() and read_note(note) is None:
        raise OptionError(f"{note} is not ours and would be overwritten", hint="name another file")
    return note


def readme(
    marker: Marker,
    card: MethodCard,
    *,
    proper: bool = False,
    learnt_elsewhere: bool = False,
    spending: Sequence[Step] = (),
    anew: Sequence[str] = (),
) -> str:
    """Write the README of a file or of several replicates; under epsilon, with its spending."""
    parts = [
        f"# Synthetic data: {_listed(marker.files)}",
        _what(marker) + _made_anew(anew),
        "## How it was made",
        f"By understudy {marker.version}, method `{marker.method}` ({card.title.lower()}). It "
        f"keeps {card.keeps}. It loses {card.loses}.",
        f"What the method claims about disclosure: {card.claim}"
        + ("" if marker.rule is None else f" In this release {marker.rule}"),
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
    if marker.relations:
        text += (
            " Columns that follow from others were computed or looked up after the draw, or were "
            f"put in order: {'; '.join(marker.relations)}. A number that is computed follows from "
            "values that are shown; it may be one that few real rows hold."
        )
    return text + (several if marker.replicates > 1 else "")


def _made_anew(names: Sequence[str]) -> str:
    if not names:
        return ""
    listed = ", ".join(f"`{name}`" for name in names)
    return (
        " Identifiers and names are made anew and stand for nobody, though a real row may have "
        f"the same: {listed}."
    )


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
