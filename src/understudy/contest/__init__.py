"""compare(): several releases of one training table, and what the evidence says of each."""

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy._version import __version__
from understudy.assessment import NOT_FRESH, Assessment
from understudy.comparison import Comparison, Progress, silent
from understudy.contest.differences import DECIDING, Difference, differences, spaced
from understudy.contest.judgement import Judgement, judge
from understudy.contest.plane import FLIPS, NO_PLANE, can_be_placed, flips, plane
from understudy.contest.result import Contest
from understudy.engines import MemorySource
from understudy.errors import OptionError
from understudy.findings import Finding
from understudy.measures import MEASURES, choose
from understudy.measures.exchangeability import exchangeability
from understudy.running import check_options, run
from understudy.tables import Table

__all__ = ["Contest", "Difference", "Judgement", "compare"]

OF_REAL_TABLES = ("codec", "pooled codec")


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
    ) -> Comparison:
        """Compare a release; codecs, and with them the codes of the real tables, are shared."""
        kept = _Shared(self._codecs)
        kept["replicate", 0] = _Shared(self._codecs)
        return Comparison(
            self.train,
            (MemorySource(release),),
            self.holdout,
            options=options,
            progress=progress,
            _kept=kept,
            **self.roles,
        )


class _Shared(dict[Any, Any]):
    """Work kept for one candidate; what concerns the real tables only is kept for all."""

    def __init__(self, common: dict[Any, Any]) -> None:
        super().__init__()
        self._common = common

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._common

    def __missing__(self, key: Any) -> Any:
        return self._common[key]

    def __setitem__(self, key: Any, made: Any) -> None:
        if key[0] in OF_REAL_TABLES:
            self._common[key] = made
        else:
            super().__setitem__(key, made)


def compare(
    train: Any,
    candidates: Mapping[str, Any],
    *,
    holdout: Any = None,
    keys: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    target: str | None = None,
    measures: Iterable[str] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    schema: Any = None,
    curve: bool = True,
    seed: int = 0,
    progress: Progress = silent,
) -> Contest:
    """Compare several synthetic tables made from one training table.

    Parameters
    ----------
    train, holdout : path or frame
        The rows that the generators saw, and fresh real rows that none of them saw.
    candidates : mapping of names to paths or frames
        One release each.
    keys, sensitive, target, measures, options, schema, seed, progress
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
    chosen = choose(None if measures is None else [*measures, *DECIDING])
    options = options or {}
    check_options(options)
    real = Table.of(train, schema, name="training table").with_rows()
    fresh = None
    if holdout is not None:
        fresh = Table.of(holdout, real.schema, name="holdout").with_rows()
    tables = {
        name: Table.of(table, real.schema, name=f"candidate '{name}'").with_rows()
        for name, table in candidates.items()
    }
    roles = {"keys": tuple(keys), "sensitive": tuple(sensitive), "target": target, "seed": seed}
    ring = _Ring(MemorySource(real), None if fresh is None else MemorySource(fresh), roles)
    start = time.perf_counter()
    checked: dict[str, Any] = {"warnings": []}
    is_fresh = True
    if fresh is not None:
        check = exchangeability(ring.comparison(next(iter(tables.values())), options, progress))
        checked = {"warnings": list(check.warnings), "exchangeability_p_value": check.p_value}
        is_fresh = check.fresh
    assessments, order = {}, {}
    for number, (name, table) in enumerate(tables.items(), start=1):
        step = _numbered(progress, f"candidate {number} of {len(tables)}")
        comparison = ring.comparison(table, options, step)
        findings, seconds = _findings(comparison, chosen, is_fresh)
        provenance = {**_provenance(comparison, options), **checked, "seconds": seconds}
        assessments[name] = Assessment(tuple(findings), provenance)
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
    first = next(iter(assessments.values())).provenance
    shared = {name: first[name] for name in first if name not in ("synthetic", "seconds", "notes")}
    return Contest(
        assessments,
        found,
        judge(assessments, found),
        placed,
        {
            **shared,
            "notes": [] if placed else [NO_PLANE],
            "seconds": {"all together": round(time.perf_counter() - start, 3)},
        },
    )


def _numbered(progress: Progress, which: str) -> Progress:
    return lambda label, done, total: progress(f"{which}: {label}", done, total)


def _findings(
    comparison: Comparison, chosen: Sequence[str], is_fresh: bool
) -> tuple[list[Finding], dict[str, float]]:
    findings, seconds = [], {}
    for number, name in enumerate(chosen):
        comparison.progress(name, number, len(chosen))
        start = time.perf_counter()
        card = MEASURES[name].card
        usable = is_fresh or "holdout" not in card.needs
        findings.append(
            run(MEASURES[name], comparison) if usable else card.not_applicable(NOT_FRESH)
        )
        seconds[name] = round(time.perf_counter() - start, 3)
    return findings, seconds


def _provenance(comparison: Comparison, options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Say what was compared and how; no hashes, for nothing is verified by them here."""
    columns = len(comparison.schema)

    def size(source: Any) -> dict[str, int]:
        return {"rows": source.height, "columns": columns}

    return {
        "understudy": __version__,
        "python": platform.python_version(),
        "seed": comparison.seed,
        "options": {
            name: {option: _plain(value) for option, value in given.items()}
            for name, given in options.items()
        },
        "keys": list(comparison.keys),
        "sensitive": list(comparison.sensitive),
        "target": comparison.target,
        "train": size(comparison.train),
        "synthetic": [size(source) for source in comparison.synthetic],
        "holdout": None if comparison.holdout is None else size(comparison.holdout),
        "left_out": [
            {"column": column.name, "kind": column.kind, "why": column.why}
            for column in comparison.schema.left_out
        ],
        "notes": comparison.notes(),
    }


def _plain(value: Any) -> Any:
    return getattr(value, "__qualname__", str(value)) if callable(value) else value
