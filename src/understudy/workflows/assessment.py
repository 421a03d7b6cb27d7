"""Assessment: what was found, as version 1 of the JSON contract."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from understudy.attacks import ATTACKS
from understudy.data.schema import few
from understudy.data.tables import FrameKind, in_kind, kind_of_frame, write_text
from understudy.documents import check_form
from understudy.errors import DataError, NameNotFoundError, OptionError, near
from understudy.judging.findings import Card, Finding, ends_of, plain
from understudy.measures import MEASURES

CONTRACT = 1
STATUSES = {"failed": "failed", "not_applicable": "not applicable"}
COLUMNS = {
    "measure": pl.String,
    "status": pl.String,
    **dict.fromkeys(("value", "low", "high", "level", "reference"), pl.Float64),
    "better": pl.String,
    "unit": pl.String,
    "p_value": pl.Float64,
    "flagged": pl.Boolean,
    "note": pl.String,
}


@dataclass(frozen=True, repr=False)
class Assessment:
    """Findings and where they come from. Everything shown is rendered from ``to_dict()``.

    ``key`` opens the keyed hashes in the provenance; it is never part of what is shared.
    ``own_cards`` are those of measures that were given as functions, and ``frame_kind`` is the
    library of the frame that the caller gave.
    """

    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]
    verdicts: tuple[Mapping[str, Any], ...] = ()
    key: bytes = field(default=b"", repr=False, compare=False)
    own_cards: tuple[Card, ...] = field(default=(), repr=False, compare=False)
    frame_kind: FrameKind = field(default="polars", repr=False, compare=False)

    def __repr__(self) -> str:
        count = {status: sum(f.status == status for f in self) for status in STATUSES}
        others = [f"{many} {STATUSES[status]}" for status, many in count.items() if many]
        flagged = [finding.measure for finding in self if finding.flagged]
        number = "1 finding" if len(self) == 1 else f"{len(self)} findings"
        lines = [number + (f" ({', '.join(others)})" if others else "")]
        lines += [f"flagged: {few(flagged) or 'none'}"]
        if self.verdicts:
            lines.append(f"verdicts: {few([str(v.get('outcome')) for v in self.verdicts])}")
        return f"Assessment({'; '.join(lines)})"

    def __getitem__(self, measure: str) -> Finding:
        for finding in self.findings:
            if finding.measure == measure:
                return finding
        measures = [f.measure for f in self.findings]
        raise NameNotFoundError(f"'{measure}' was not assessed", hint=near(measure, measures))

    def __contains__(self, measure: object) -> bool:
        return any(measure in (finding.measure, finding) for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known about the tables: columns left out, values that could not be read."""
        return notes_of(self.provenance)

    def with_frames_like(self, data: Any) -> "Assessment":
        """Give the same assessment, whose ``to_frame`` gives the kind of frame that data is."""
        kind = kind_of_frame(data)
        findings = tuple(dataclasses.replace(one, frame_kind=kind) for one in self.findings)
        return dataclasses.replace(self, findings=findings, frame_kind=kind)

    def to_frame(self) -> Any:
        """Give the findings as a frame of the kind that the training table was: one row each."""
        rows = [
            {
                **{name: plain(getattr(finding, name, None)) for name in COLUMNS},
                **ends_of(finding.interval),
            }
            for finding in self.findings
        ]
        return in_kind(pl.DataFrame(rows, schema=COLUMNS), self.frame_kind)

    def to_dict(self) -> dict[str, Any]:
        """Give the assessment as in version 1 of the JSON contract."""
        return {
            "version": CONTRACT,
            "findings": [finding.to_dict() for finding in self.findings],
            "verdicts": [dict(verdict) for verdict in self.verdicts],
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Assessment":
        """Read an assessment back."""
        if not isinstance(data, Mapping) or data.get("version") != CONTRACT:
            version = data.get("version") if isinstance(data, Mapping) else None
            raise OptionError(
                f"an assessment of version {version} cannot be read",
                hint=f"this program reads version {CONTRACT}",
            )
        try:
            check_form(data, {"findings": [{}], "verdicts": [{}], "provenance": {}})
            findings = tuple(Finding.from_dict(finding) for finding in data["findings"])
        except ValueError as error:
            raise DataError(
                f"this is not a whole assessment ({error})", hint="give what to_json wrote"
            ) from error
        return cls(findings, data["provenance"], tuple(data["verdicts"]))

    def to_json(self, path: str | Path | None = None) -> str:
        """Give the assessment as JSON, and write it to a file if a path is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(text + "\n", Path(path))
        return text

    def to_html(
        self, path: str | Path | None = None, *, title: str = "Assessment", steward: bool = False
    ) -> str:
        """Give the report as one HTML file, and write it to a file if a path is given.

        The steward's edition lists single records too: its file is for its owner alone.
        """
        from understudy.report import html

        register = self.register().to_dicts() if steward else None
        about = html.ATTACK if "generator" in self.provenance else html.ASSESSMENT
        text = html.render(
            self.to_dict(), self._cards(), title=title, about=about, register=register
        )
        if path is not None:
            write_text(text, Path(path), for_owner=steward)
        return text

    def register(self) -> pl.DataFrame:
        """List single records at risk, for the steward alone; never part of what is shared.

        Rows are numbered from 1, as people count the rows of a file.
        """
        found = [f.register for f in self.findings if f.register is not None]
        listed = pl.concat(found, how="diagonal") if found else pl.DataFrame()
        return listed.with_columns(pl.col("^(training|synthetic)_row$") + 1)

    def _repr_html_(self) -> str:
        from understudy.report import html

        return html.fragment(self.to_dict(), self._cards())

    def _cards(self) -> dict[str, dict[str, Any]]:
        return {**cards(), **{card.name: card.to_dict() for card in self.own_cards}}


def cards() -> dict[str, dict[str, Any]]:
    """Give the cards of all measures and attacks as plain dicts."""
    every = [measure.card for measure in MEASURES.values()]
    every += [attack.card for attack in ATTACKS.values()]
    return {card.name: card.to_dict() for card in every}


def notes_of(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """Say which columns were left out and why, then the notes of a provenance."""
    return (
        *(
            f"left out: '{entry['column']}' ({entry['kind']}: {entry['why']})"
            for entry in provenance.get("left_out") or ()
        ),
        *(provenance.get("notes") or ()),
    )
