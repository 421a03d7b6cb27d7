"""assess(): run measures over a comparison and keep what they found."""

import dataclasses
import math
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.data.schema import Schema
from understudy.data.tables import Marker, Table, believed_marker, warn_left_out
from understudy.jobs.progress import Progress, ProgressOrBar, reporter, shows_progress, silent
from understudy.judging.comparison import Comparison, Synthesis, compare_tables
from understudy.judging.multiplicity import several_tests
from understudy.judging.swaps import kept_together
from understudy.measures import Wanted
from understudy.options import OptionsByName, Seed, Texts
from understudy.workflows.assessment import Assessment
from understudy.workflows.calibrate.calibration import (
    CalibrationOrPath,
    check_fits,
    with_calibration,
)
from understudy.workflows.measuring import (
    HoldoutCheck,
    by_subject,
    check_holdout,
    measure_all,
    subgroups,
)
from understudy.workflows.provenance import origins, provenance
from understudy.workflows.request import Fit, PolicyOrPath, Request


@shows_progress
def assess(
    train: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    keys: Texts = (),
    sensitive: Texts = (),
    target: str | None = None,
    formula: Texts = (),
    aligned: bool = False,
    fit: Fit = None,
    by: Texts | None = None,
    measures: Wanted | None = None,
    options: OptionsByName = None,
    calibration: CalibrationOrPath = None,
    schema: Schema | str | Path | None = None,
    seed: Seed = 0,
    policy: PolicyOrPath = None,
    progress: ProgressOrBar = silent,
) -> Assessment:
    """Say how faithful a synthetic table is and what it discloses.

    Parameters
    ----------
    train, synthetic, holdout : path or frame
        The rows the generator saw, its output (a list: replicates of one release), and fresh
        real rows that it never saw.
    keys, sensitive, target : names of columns
        What an attacker knows, what must not be learnt, what is to be predicted. Keys may be
        "auto" (proposed by the advisor), sensitive columns "all" (all but the keys).
    formula : str, or several
        The analyst's own model, such as ``income ~ age + sex``: see ``utility.estimates``.
    aligned : bool
        Row i of the synthetic table stands for person i of the training table. Files that
        understudy marked as such need no word about it.
    fit : name of a method, Synthesizer or function, optional
        The generator: what can be measured over refits is (``utility.regression``: ten splits).
    by : name of a column, or several, optional
        Measure also the rows of each of their levels by themselves, as parts of the findings.
    measures : names, prefixes, "all" or functions with a card, optional
        By default all that need no more than the roles given: without keys, none that needs keys.
    options : mapping, optional
        Options by name of the measure: ``{"fidelity.hellinger": {"bins": 20}}``.
    calibration : path or Calibration, optional
        Of the same columns: shows beside each privacy finding what the measure would notice.
    schema : Schema or path, optional
        Declared kinds; inferred from the training table otherwise.
    seed : int
        Every measure draws from its own stream, derived from the seed and its name.
    policy : path or Policy, optional
        Rules: what they name is measured too, and ``verdicts`` says what became of each.
    progress : True or callable, optional
        True shows a bar; a function is called with (label, done, total).

    Warns
    -----
    LeftOutWarning
        Columns were taken for identifiers or free text; ``result.notes`` says which, and why.

    Examples
    --------
    >>> import polars as pl
    >>> real = pl.DataFrame({"sex": ["f", "m"] * 50, "age": list(range(20, 70)) * 2})
    >>> result = assess(real, real, measures=["fidelity.hellinger"])
    >>> result["fidelity.hellinger"].value
    0.0
    """
    request = Request.of(
        keys=keys,
        sensitive=sensitive,
        target=target,
        formula=formula,
        aligned=aligned,
        fit=fit,
        by=by,
        measures=measures,
        functions=True,
        options=options,
        calibration=calibration,
        seed=seed,
        policy=policy,
    )
    real = Table.of(train, schema, name="training table")
    warn_left_out(real, train, schema)
    result = assess_tables(request, real, synthetic, holdout, progress=reporter(progress))
    return result.with_frames_like(train)


def assess_tables(
    request: Request,
    train: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    progress: Progress = silent,
) -> Assessment:
    """Assess tables as a request says, and judge the findings by its policy if it has one."""
    if progress is not silent:
        progress = _first_run(progress)
    real = Table.of(train, name="training table").with_rows()
    request, proposed = request.settled(real)
    comparison = compare_tables(
        real, synthetic, holdout, progress=progress, **request.of_comparison
    )
    result = assess_comparison(request, comparison, synthetic, proposed)
    progress("done", len(result), len(result))
    return result if request.policy is None else request.policy.apply(result)


def assess_comparison(
    request: Request,
    comparison: Comparison,
    synthetic: Any,
    proposed: Sequence[str] = (),
    *,
    checked: HoldoutCheck | None = None,
    key: bytes | None = None,
) -> Assessment:
    """Assess one release as a request says.

    ``synthetic`` is what was given for the release: its files may say how it was made.
    ``proposed`` says what the advisor chose. ``checked`` is what is known of the holdout already,
    and ``key`` that of the hashes, where several releases are assessed.
    """
    markers, doubts = markers_of(synthetic)
    if request.calibration is not None:
        check_fits(request.calibration, comparison)
    comparison = dataclasses.replace(comparison, synthesis=synthesis_of(markers))
    comparison = dataclasses.replace(comparison, together=kept_together(comparison))
    comparison, said = as_marked(comparison, markers)
    levels = [subgroups(comparison, column) for column in request.by]
    fresh, known, spent = check_holdout(comparison) if checked is None else checked
    findings, seconds = measure_all(comparison, request.measures, fresh=fresh, levels=levels)
    key = secrets.token_bytes(32) if key is None else key
    told = {**provenance(comparison, key), **_stated_by_markers(markers), **known}
    told["seconds"] = {**spent, **seconds}
    told |= {"fit": request.fit} if isinstance(request.fit, str) else {}
    told |= {"doubts": doubts} if doubts else {}
    whose = by_subject(comparison, request.measures)
    told["notes"] = [*proposed, *doubts, *said, *_beyond(told), *whose, *told["notes"]]
    told["notes"] += filter(None, [several_tests(findings)])
    if request.calibration is not None:
        findings, told["calibration"] = with_calibration(findings, request.calibration, comparison)
    if others := origins(request.measures):
        told["extensions"] = others
    if levels:
        told["by"] = [split.by for split in levels]
        told["notes"] += [note for split in levels for note in split.notes]
    return Assessment(tuple(findings), told, key=key, own_cards=request.own_cards)


def markers_of(synthetic: Any) -> tuple[list[Marker | None], list[str]]:
    """Read what each synthetic file says about itself, and say what of it is not believed."""
    files = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    told = [believed_marker(f) if isinstance(f, str | Path) else (None, "") for f in files]
    return [marker for marker, _ in told], [doubt for _, doubt in told if doubt]


def synthesis_of(markers: Sequence[Marker | None]) -> Synthesis | None:
    """Say how a release was made, if every file says the same."""
    told = {
        None if m is None else Synthesis(m.method, m.kind != FULLY, m.proper, m.models)
        for m in markers
    }
    return told.pop() if len(told) == 1 else None


def _stated_by_markers(markers: Sequence[Marker | None]) -> dict[str, Any]:
    """Say by which method the release was made and what epsilon it spent, if every file says so.

    Noise that a seed drew is no claim.
    """
    known = [marker for marker in markers if marker is not None]
    if not known or len(known) < len(markers):
        return {}
    methods = {marker.method for marker in known}
    said: dict[str, Any] = {"method": methods.pop()} if len(methods) == 1 else {}
    if any(marker.seeded or marker.epsilon is None for marker in known):
        return said
    return {**said, "epsilon_spent": _spent(known)}


def _spent(markers: Sequence[Marker]) -> float:
    """Add up what releases spent: files made together spent it once, others each."""
    releases: dict[Marker, dict[int | None, set[str]]] = {}
    for marker in markers:
        # beside files stands one marker for all; inside a file, one that tells of no other file
        alike = marker if marker.files else dataclasses.replace(marker, replicate=None, digests=())
        made = releases.setdefault(alike, {})
        made.setdefault(marker.replicate, set()).add("".join(marker.digests))
    return math.fsum(
        (marker.epsilon or 0.0) * max(map(len, made.values())) for marker, made in releases.items()
    )


def _beyond(told: Mapping[str, Any]) -> list[str]:
    """Say of a release under epsilon what its epsilon does not cover."""
    spent = told.get("epsilon_spent")
    return [] if spent is None else [BEYOND.format(spent=spent)]


def as_marked(
    comparison: Comparison, markers: Sequence[Marker | None]
) -> tuple[Comparison, list[str]]:
    """Take row i for person i where every file is marked so and its kept columns agree."""
    marked = [marker for marker in markers if marker is not None and marker.aligned]
    if comparison.aligned or not marked or len(marked) < len(markers):
        return comparison, []
    train = comparison.rows("train")
    for number, marker in enumerate(marked):
        kept = [name for name in comparison.names if name not in marker.replaced]
        release = comparison.replicate(number).rows("synthetic")
        if not release.select(kept).equals(train.select(kept)):
            return comparison, [MARKED_ELSEWHERE]
    return dataclasses.replace(comparison, aligned=True), [MARKED]


def _first_run(progress: Progress) -> Progress:
    """Say on the first run ever that the kernels are being compiled."""
    from understudy.kernels import compiled_before

    if compiled_before():
        return progress
    return lambda label, done, total: progress(f"{label} (first run: compiling)", done, total)


FULLY = "fully synthetic"
MARKED = "synthetic: marked as partially synthetic: row i is taken for person i of training."
MARKED_ELSEWHERE = (
    "synthetic: marked as partially synthetic, but the columns that were kept differ from "
    "training: rows are not taken for persons. Is this the table that it was made from?"
)
BEYOND = (
    "The release claims to have spent epsilon {spent:g}. The numbers here are exact: computed from "
    "the real table without noise, they lie outside that claim, and whoever sees them learns more "
    "than epsilon allows (Ganev 2024)."
)
