"""compare(): several releases of one training table, and what the evidence says of each.

The plane of privacy and fidelity is that of Platzer and Reutterer 2021, figure 9. Across:
three-way fidelity over what fresh real rows of that number get. Up: the share of synthetic records
closer to training. The holdout, at 1 and one half, is the north star; the control ``flip`` draws
the curve from copying to noise that a method should stay below.
"""

import dataclasses
import json
import math
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from understudy.data.schema import Schema, few
from understudy.data.source import source_of
from understudy.data.tables import Table, in_kind, warn_left_out, write_text
from understudy.errors import NameNotFoundError, OptionError, near
from understudy.jobs.progress import Progress, ProgressOrBar, reporter, shows_progress, silent
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Finding, TableOfNumbers, plain
from understudy.judging.multiplicity import several_tests
from understudy.measures import MEASURES, Wanted
from understudy.options import OptionsByName, Seed, Texts, check_arguments
from understudy.synthesizers import synthesizer
from understudy.workflows.assess import assess_comparison
from understudy.workflows.assessment import Assessment, cards, notes_of
from understudy.workflows.calibrate.calibration import CalibrationOrPath
from understudy.workflows.compare.differences import (
    DECIDING,
    FIDELITY,
    SHARE,
    Difference,
    differences,
    spaced,
)
from understudy.workflows.compare.judgement import Dominance, judge
from understudy.workflows.measuring import check_holdout, run_measure
from understudy.workflows.request import Request

__all__ = ["Candidates", "Contest", "Difference", "Dominance", "compare"]

VERSION = 1
FINDING_FIELDS = ("status", "value", "interval", "reference", "p_value", "flagged", "note")
FLIPS = tuple(tenth / 10 for tenth in range(1, 10))
CHEAP: Mapping[str, Mapping[str, Any]] = {
    FIDELITY: {"resamples": 2, "permutations": 1},
    SHARE: {"permutations": 2, "register": 0.0},
}
OF_ONE_CANDIDATE = ("synthetic", "seconds", "notes", "method", "epsilon_spent", "doubts")
POINTS = ("candidate", "x", "x low", "x high", "y", "y low", "y high")
CURVE = ("flip", "x", "y")
NO_PLANE = (
    "There is no plane of privacy and fidelity: it needs a holdout, three-way fidelity over that "
    "of the holdout, and the share of records closer to training than to the holdout."
)


@dataclass(frozen=True, repr=False)
class Candidates:
    """Candidates side by side. Everything shown is rendered from ``to_dict()``.

    ``candidates["cart"]`` is the assessment of that candidate, with all its parts and tables.
    """

    assessments: Mapping[str, Assessment]
    differences: tuple[Difference, ...]
    judgement: Dominance
    plane: Mapping[str, Any] | None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        some = "1 candidate" if len(self) == 1 else f"{len(self)} candidates"
        said = f"{some}: {few(self)}; not dominated: {few(self.pareto) or 'none'}"
        return f"Candidates({said})"

    def __getitem__(self, candidate: str) -> Assessment:
        if candidate not in self.assessments:
            raise NameNotFoundError(
                f"there is no candidate '{candidate}'", hint=near(candidate, self.assessments)
            )
        return self.assessments[candidate]

    def __iter__(self) -> Iterator[str]:
        return iter(self.assessments)

    def __len__(self) -> int:
        return len(self.assessments)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of all candidates; each has notes of its own too."""
        return notes_of(self.provenance)

    @property
    def pareto(self) -> tuple[str, ...]:
        """The candidates that none dominates on fidelity and the share closer to training."""
        return self.judgement.pareto

    @property
    def recommendation(self) -> tuple[str, ...]:
        """What the intervals support, in sentences."""
        return self.judgement.sentences

    def to_frame(self) -> Any:
        """Give all findings as a frame of the kind that the training table was: one row each."""
        first = next(iter(self.assessments.values()))
        frames = [
            dataclasses.replace(assessment, frame_kind="polars")
            .to_frame()
            .select(pl.lit(name).alias("candidate"), pl.all())
            for name, assessment in self.assessments.items()
        ]
        return in_kind(pl.concat(frames), first.frame_kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; parts and tables of single findings stay with the assessments."""
        return {
            "version": VERSION,
            "candidates": [self._candidate(name) for name in self],
            "measures": [self._measure(f) for f in next(iter(self.assessments.values()))],
            "differences": [difference.to_dict() for difference in self.differences],
            "plane": None if self.plane is None else dict(self.plane),
            "pareto": list(self.pareto),
            "recommendation": list(self.recommendation),
            "provenance": dict(self.provenance),
        }

    def _candidate(self, name: str) -> dict[str, Any]:
        assessment = self.assessments[name]
        by = self.judgement.dominated_by.get(name)
        replicates = assessment.provenance["synthetic"]
        elsewhere = (several_tests(assessment.findings), *self.notes)
        return {
            "name": name,
            "rows": replicates[0]["rows"],
            **({"replicates": len(replicates)} if len(replicates) > 1 else {}),
            "pareto": None if by is None else not by,
            "dominated_by": list(by or ()),
            "flagged": [f.measure for f in assessment if f.flagged],
            "failed": [f.measure for f in assessment if f.status == "failed"],
            # a note on all tests is for the reader of one assessment, and what holds for all
            # candidates is told once
            "notes": [n for n in assessment.provenance["notes"] if n not in elsewhere],
            "seconds": round(sum(assessment.provenance["seconds"].values()), 3),
        }

    def _measure(self, of: Finding) -> dict[str, Any]:
        """Give a measure of all candidates; its reference once if it is the same for all."""
        found = {name: self[name][of.measure].to_dict() for name in self}
        references = [f["reference"] for f in found.values() if f["status"] == "ok"]
        return {
            "measure": of.measure,
            "unit": of.unit,
            "better": of.better,
            "level": of.level,
            "decides": of.measure in DECIDING,
            "reference": references[0] if _alike(references) else None,
            "findings": [
                {"candidate": name, **{key: f[key] for key in FINDING_FIELDS}}
                for name, f in found.items()
            ],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Give the comparison as JSON, and write it to a file if a path is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(text + "\n", Path(path))
        return text

    def to_html(self, path: str | Path | None = None, *, title: str = "Comparison") -> str:
        """Give the page as one HTML file, and write it to a file if a path is given."""
        from understudy.report import compare

        text = compare.render(self.to_dict(), self._cards(), title=title)
        if path is not None:
            write_text(text, Path(path))
        return text

    def _cards(self) -> dict[str, dict[str, Any]]:
        own = (card for assessment in self.assessments.values() for card in assessment.own_cards)
        return {**cards(), **{card.name: card.to_dict() for card in own}}

    def _repr_html_(self) -> str:
        from understudy.report import compare

        return compare.fragment(self.to_dict())


def _alike(numbers: Sequence[float | None]) -> bool:
    """Tell whether all numbers are there and the same, but for the order of summing up."""
    known = [number for number in numbers if number is not None]
    return 0 < len(known) == len(numbers) and all(
        math.isclose(number, known[0], rel_tol=1e-9) for number in known
    )


Contest = Candidates  # its name in version 0.1.0


@shows_progress
def compare(
    train: Any,
    candidates: Annotated[Mapping[str, Any], 'give tables by name: {"cart": table}'],
    *,
    holdout: Any = None,
    keys: Texts = (),
    sensitive: Texts = (),
    target: str | None = None,
    formula: Texts = (),
    aligned: bool = False,
    by: Texts | None = None,
    measures: Wanted | None = None,
    options: OptionsByName = None,
    calibration: CalibrationOrPath = None,
    schema: Schema | str | Path | None = None,
    curve: bool = True,
    seed: Seed = 0,
    progress: ProgressOrBar = silent,
) -> Candidates:
    """Compare several synthetic tables made from one training table.

    Parameters
    ----------
    train, holdout : path or frame
        The rows that the generators saw, and fresh real rows that none of them saw.
    candidates : mapping of names to paths or frames
        One release each; a list is one release of several replicates, as for ``assess``.
    keys, sensitive, target, formula, aligned, by, measures, options, calibration, schema, seed,
    progress
        As for ``assess``: measures that need keys are taken where keys are given. Three-way
        fidelity and the share closer to training are always measured: they decide.
    curve : bool
        Draw the reference curve of the control ``flip`` on the plane, by perturbing training.

    Examples
    --------
    >>> import polars as pl
    >>> real = pl.DataFrame({"sex": ["f", "m"] * 50, "age": list(range(20, 70)) * 2,
    ...                      "town": ["a", "b", "c", "d"] * 25})
    >>> found = compare(real, {"copy": real, "half": real.head(50)}, measures=["fidelity"])
    >>> found["copy"]["fidelity.trivariate"].value
    0.0
    >>> found.plane is None, found.recommendation[0][:19]
    (True, 'Nothing is recommen')
    """
    check_arguments(compare, locals())
    if not candidates:
        raise OptionError("there is no candidate", hint='give at least one: {"cart": table}')
    asked = Request.of(
        keys=keys,
        sensitive=sensitive,
        target=target,
        formula=formula,
        aligned=aligned,
        by=by,
        measures=measures,
        functions=True,
        always=DECIDING,
        options=options,
        calibration=calibration,
        seed=seed,
    )
    progress = reporter(progress)
    real = Table.of(train, schema, name="training table").with_rows()
    warn_left_out(real, train, schema)
    control = None
    if holdout is not None:
        control = Table.of(holdout, real.schema, name="holdout").with_rows()
    tables = {
        name: [
            Table.of(table, real.schema, name=f"candidate '{name}'").with_rows()
            for table in (given if isinstance(given, list | tuple) else [given])
        ]
        for name, given in candidates.items()
    }
    request, proposed = asked.settled(real)
    compared = _Comparisons(real, control, request)
    start = time.perf_counter()
    fresh, checked, _ = check_holdout(compared.with_release(next(iter(tables.values())), progress))
    key = secrets.token_bytes(32)
    assessments, order = {}, {}
    for number, (name, release) in enumerate(tables.items(), start=1):
        step = _numbered(progress, f"candidate {number} of {len(tables)}")
        comparison = compared.with_release(release, step)
        result = assess_comparison(
            request, comparison, candidates[name], proposed, checked=(fresh, checked, {}), key=key
        )
        assessments[name] = result.with_frames_like(train)
        codes = comparison.codes("synthetic", comparison.codec(bins=5, levels=5))
        order[name] = spaced(codes)
    found = tuple(differences(assessments, order))
    curve_points = []
    if curve and fresh and any(map(_can_be_placed, assessments.values())):
        for point in _flips(real, compared):
            curve_points.append(point)
            progress("the curve of flip", len(curve_points), len(FLIPS))
    progress("done", 1, 1)
    placed = _plane(assessments, tuple(curve_points))
    told = dict(next(iter(assessments.values())).provenance)
    shared = {name: value for name, value in told.items() if name not in OF_ONE_CANDIDATE}
    doubts = [doubt for a in assessments.values() for doubt in a.provenance.get("doubts", [])]
    return Candidates(
        assessments,
        found,
        judge(assessments, found),
        placed,
        {
            **shared,
            "notes": [*proposed, *([] if placed else [NO_PLANE]), *doubts],
            "seconds": {"all together": round(time.perf_counter() - start, 3)},
        },
    )


class _Comparisons:
    """Comparisons of releases with the same real tables, which keep the work that they share."""

    def __init__(self, train: Table, holdout: Table | None, request: Request) -> None:
        self.train = source_of(train)
        self.holdout = None if holdout is None else source_of(holdout)
        self.request = request

    def with_release(
        self,
        release: Sequence[Table],
        progress: Progress = silent,
        *,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Comparison:
        """Compare a release, all its replicates; options may differ from those of the request."""
        arguments = self.request.of_comparison
        return Comparison(
            self.train,
            tuple(map(source_of, release)),
            self.holdout,
            progress=progress,
            **{**arguments, "options": arguments["options"] if options is None else options},
        )


def _numbered(progress: Progress, which: str) -> Progress:
    return lambda label, done, total: progress(f"{which}: {label}", done, total)


def _plane(
    assessments: Mapping[str, Assessment], curve: tuple[tuple[float, float, float], ...]
) -> dict[str, Any] | None:
    """Give the places of candidates, holdout and curve; None without a holdout."""
    placed = {
        name: (assessment[FIDELITY], assessment[SHARE])
        for name, assessment in assessments.items()
        if _can_be_placed(assessment)
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


def _can_be_placed(assessment: Assessment) -> bool:
    """Tell whether both measures are there, with a reference to divide by."""
    both = [assessment[name] for name in DECIDING]
    return (
        all(f.status == "ok" and f.reference is not None for f in both) and both[0].reference != 0
    )


def _over_reference(finding: Finding) -> tuple[float | None, ...]:
    ends = finding.interval or (None, None)
    reference = finding.reference or 1.0
    return tuple(None if x is None else x / reference for x in (finding.value, *ends))


def _flips(train: Table, compared: _Comparisons) -> Iterator[tuple[float, float, float]]:
    """Perturb training more and more by the control ``flip`` and place each result.

    Only the two measures that decide are taken, without intervals.
    """
    request = compared.request
    cheap = {name: {**request.options.get(name, {}), **CHEAP[name]} for name in DECIDING}
    for p in FLIPS:
        made = synthesizer("flip", p=p, seed=request.seed, relations=False).fit(train)
        table = Table.of(pl.concat(list(made.batches())), train.schema, name="flip")
        comparison = compared.with_release([table], options=cheap)
        fidelity, share = (run_measure(MEASURES[name], comparison) for name in DECIDING)
        if fidelity.value is not None and share.value is not None and fidelity.reference:
            yield p, fidelity.value / fidelity.reference, share.value
