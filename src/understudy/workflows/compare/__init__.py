"""compare(): several releases of one training table, and what the evidence says of each."""

import dataclasses
import time
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.data.memory import MemorySource
from understudy.data.tables import Table, kind_of_frame
from understudy.errors import OptionError
from understudy.jobs.progress import Progress, reporter, shows_progress, silent
from understudy.judging.comparison import Comparison, Kept, Made
from understudy.measures import MEASURES, Wanted, choose
from understudy.measures.utility.estimates import as_formulas, check_formulas
from understudy.workflows.advisor import resolve
from understudy.workflows.assess import check_holdout, how_made, markers_of, measure_all
from understudy.workflows.assessment import Assessment
from understudy.workflows.compare.differences import DECIDING, Difference, differences, spaced
from understudy.workflows.compare.judgement import Judgement, judge
from understudy.workflows.compare.plane import FLIPS, NO_PLANE, can_be_placed, flips, plane
from understudy.workflows.compare.result import Contest
from understudy.workflows.provenance import provenance, warn_left_out
from understudy.workflows.running import check_options

__all__ = ["Contest", "Difference", "Judgement", "compare"]


@dataclass(frozen=True)
class _Ring:
    """The real tables and the roles of columns, the same for every candidate."""

    train: MemorySource
    holdout: MemorySource | None
    roles: Mapping[str, Any]
    _codecs: dict[Any, Any] = field(default_factory=dict)

    def comparison(
        self,
        release: Table,
        options: Mapping[str, Mapping[str, Any]],
        progress: Progress = silent,
        made: Made | None = None,
    ) -> Comparison:
        """Compare a release; codecs, and with them the codes of the real tables, are shared."""
        return Comparison(
            self.train,
            (MemorySource(release),),
            self.holdout,
            options=options,
            progress=progress,
            made=made,
            _kept=Kept(self._codecs),
            **self.roles,
        )


@shows_progress
def compare(
    train: Any,
    candidates: Mapping[str, Any],
    *,
    holdout: Any = None,
    keys: Sequence[str] | str = (),
    sensitive: Sequence[str] | str = (),
    target: str | None = None,
    formula: Sequence[str] | str = (),
    measures: Wanted | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    schema: Any = None,
    curve: bool = True,
    seed: int = 0,
    progress: Progress | bool = silent,
) -> Contest:
    """Compare several synthetic tables made from one training table.

    Parameters
    ----------
    train, holdout : path or frame
        The rows that the generators saw, and fresh real rows that none of them saw.
    candidates : mapping of names to paths or frames
        One release each.
    keys, sensitive, target, formula, measures, options, schema, seed, progress
        As for ``assess``. Three-way fidelity and the share closer to training are always measured:
        they decide.
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
    if not candidates:
        raise OptionError("there is no candidate", hint='give at least one: {"cart": table}')
    formulas = as_formulas(formula)
    wanted = None if measures is None else [*measures, *DECIDING]
    given = {"keys": keys, "sensitive": sensitive, "target": target, "formula": formulas}
    roles = [role for role, names in given.items() if names]
    chosen = choose(wanted, given=roles, functions=True)
    options, progress = options or {}, reporter(progress)
    check_options(options, ChainMap(chosen, MEASURES))
    real = Table.of(train, schema, name="training table").with_rows()
    warn_left_out(real, train, schema)
    fresh = None
    if holdout is not None:
        fresh = Table.of(holdout, real.schema, name="holdout").with_rows()
    tables = {
        name: Table.of(table, real.schema, name=f"candidate '{name}'").with_rows()
        for name, table in candidates.items()
    }
    check_formulas(formulas, real.schema.modelled)
    known, learnt, _ = resolve(real, keys, sensitive)
    of_columns = {
        "keys": known,
        "sensitive": learnt,
        "target": target,
        "formula": formulas,
        "seed": seed,
    }
    ring = _Ring(MemorySource(real), None if fresh is None else MemorySource(fresh), of_columns)
    start = time.perf_counter()
    first = ring.comparison(next(iter(tables.values())), options, progress)
    is_fresh, checked, _ = check_holdout(first)
    assessments, order, doubts = {}, {}, list[str]()
    kind = kind_of_frame(train)
    for number, (name, table) in enumerate(tables.items(), start=1):
        step = _numbered(progress, f"candidate {number} of {len(tables)}")
        markers, unsure = markers_of(candidates[name])
        doubts += unsure
        comparison = ring.comparison(table, options, step, how_made(markers))
        findings, seconds = measure_all(comparison, chosen, fresh=is_fresh)
        told = {**provenance(comparison), **checked, "seconds": seconds}
        assessments[name] = Assessment(
            tuple(dataclasses.replace(finding, frame_kind=kind) for finding in findings),
            told,
            own_cards=tuple(m.card for name, m in chosen.items() if name not in MEASURES),
            frame_kind=kind,
        )
        codes = comparison.codes("synthetic", comparison.codec(bins=5, levels=5))
        order[name] = spaced(codes)
    found = tuple(differences(assessments, order))
    drawn = []
    if curve and is_fresh and any(map(can_be_placed, assessments.values())):
        for point in flips(real, ring.comparison, options, seed):
            drawn.append(point)
            progress("the curve of flip", len(drawn), len(FLIPS))
    progress("done", 1, 1)
    placed = plane(assessments, tuple(drawn))
    own = ("synthetic", "seconds", "notes")
    told = dict(next(iter(assessments.values())).provenance)
    shared = {name: value for name, value in told.items() if name not in own}
    return Contest(
        assessments,
        found,
        judge(assessments, found),
        placed,
        {
            **shared,
            "notes": [*([] if placed else [NO_PLANE]), *doubts],
            "seconds": {"all together": round(time.perf_counter() - start, 3)},
        },
    )


def _numbered(progress: Progress, which: str) -> Progress:
    return lambda label, done, total: progress(f"{which}: {label}", done, total)
