"""What a comparison of candidates found: assessments, differences, the plane, the words."""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.schema import few, near
from understudy.data.tables import in_kind, write_text
from understudy.errors import NameNotFoundError
from understudy.judging.findings import Finding
from understudy.workflows.assessment import Assessment, cards
from understudy.workflows.compare.differences import DECIDING, Difference
from understudy.workflows.compare.judgement import Dominance

VERSION = 1
SHOWN = ("status", "value", "interval", "reference", "p_value", "flagged", "note")


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
        said = f"{len(self)} candidates: {few(self)}; not dominated: {few(self.pareto) or 'none'}"
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
        return {
            "name": name,
            "rows": assessment.provenance["synthetic"][0]["rows"],
            "pareto": None if by is None else not by,
            "dominated_by": list(by or ()),
            "flagged": [f.measure for f in assessment if f.flagged],
            "failed": [f.measure for f in assessment if f.status == "failed"],
            "notes": list(assessment.provenance["notes"]),
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
                {"candidate": name, **{key: f[key] for key in SHOWN}} for name, f in found.items()
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
