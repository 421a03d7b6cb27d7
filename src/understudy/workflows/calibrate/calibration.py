"""A calibration as a document, and what it says beside findings: the smallest leak noticed."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from understudy.data.schema import few
from understudy.data.tables import write_text
from understudy.documents import check_form, read_json
from understudy.errors import DataError, OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Finding
from understudy.measures import MEASURES
from understudy.options import declared

VERSION = 1
HINT = "give a file written by understudy calibrate --out"
MAIN = "copies"
NUMBER, TEXT = (float, None), (str, None)
FORM = {
    "measures": {str: {"status": str, "note?": TEXT}},
    "provenance": {
        "columns": {str: str},
        "rows": {"each": int},
        "keys?": ([str], None),
        "sensitive?": ([str], None),
        "options?": ({str: {str: object}}, None),
        "method?": TEXT,
        "understudy?": TEXT,
    },
}
LEAK = {
    "value": NUMBER,
    "interval": [NUMBER],
    "censored?": TEXT,
    "bound?": NUMBER,
    "planted?": ([float], None),
    "missed?": bool,
}
FOUND: dict[str, Any] = {
    "kinds": {str: {"smallest?": (LEAK, None)}},
    "blind?": (bool, None),
    "why?": TEXT,
    "false_alarms?": ({}, None),
}


@dataclass(frozen=True, repr=False)
class Calibration:
    """Measures by name, and where the figures come from; everything shown is from ``to_dict()``."""

    measures: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        blind = [name for name, found in self.measures.items() if found.get("blind")]
        return f"Calibration({len(self.measures)} measures; blind here: {few(blind) or 'none'})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without rows and without paths."""
        return {
            "understudy_calibration": VERSION,
            "measures": {name: dict(found) for name, found in self.measures.items()},
            "provenance": dict(self.provenance),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Give the calibration as JSON, and write it to a file if a path is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(text + "\n", Path(path))
        return text

    def to_html(self, path: str | Path | None = None, *, title: str = "Calibration") -> str:
        """Give the power curves as one HTML page, and write it to a file if a path is given."""
        from understudy.report import calibration

        text = calibration.page(self.to_dict(), title=title)
        if path is not None:
            write_text(text, Path(path))
        return text


CalibrationOrPath = Annotated[
    Calibration | Mapping[str, Any] | str | Path | None,
    "give an understudy.Calibration, or the path of a file written by understudy calibrate --out",
]


def read_calibration(given: Any) -> dict[str, Any]:
    """Read a calibration from its file, its dict, or the object itself.

    What is none, cut off or of another version is an error that says so.
    """
    if hasattr(given, "to_dict"):
        given = given.to_dict()
    if isinstance(given, Mapping):
        return _checked(given, "calibration")
    path = Path(given)
    return _checked(read_json(path, "calibration", HINT), str(path))


def _checked(data: Any, name: str) -> dict[str, Any]:
    if not isinstance(data, Mapping) or "understudy_calibration" not in data:
        raise DataError(f"{name}: this is no calibration", hint=HINT)
    if data["understudy_calibration"] != VERSION:
        raise DataError(
            f"{name}: a calibration of version {data['understudy_calibration']}",
            hint=f"this program reads version {VERSION}",
        )
    try:
        check_form(data, FORM)
        for found in data["measures"].values():
            if found["status"] == "ok":
                check_form(found, FOUND)
                for kind in found["kinds"].values():
                    _check_smallest(kind.get("smallest"))
    except ValueError as error:
        raise DataError(f"{name}: this is not a whole calibration ({error})", hint=HINT) from error
    return dict(data)


def _check_smallest(leak: Mapping[str, Any] | None) -> None:
    """Refuse a smallest leak that could not be shown."""
    if leak is None:
        return
    ends = (leak["interval"], leak.get("planted") or [0.0, 1.0])
    lacking = leak["value"] is None and leak.get("censored") is None
    if any(len(pair) != 2 for pair in ends) or lacking:
        raise ValueError("a smallest leak has the wrong form")
    if leak.get("censored") is not None and leak.get("bound") is None:
        raise ValueError("a smallest leak has no bound")


def check_fits(data: Mapping[str, Any], comparison: Comparison) -> None:
    """Refuse a calibration of other columns: it says nothing about these."""
    was = data["provenance"]["columns"]
    own = {column.name: column.kind for column in comparison.schema}
    for name in (*own, *was):
        if own.get(name) != was.get(name):
            kinds = [kinds.get(name) or "absent" for kinds in (was, own)]
            raise OptionError(
                f"calibration: the column '{name}' was {kinds[0]} there and is {kinds[1]} here",
                hint="calibrate on this data (understudy calibrate), with the same schema",
            )


def with_calibration(
    findings: Sequence[Finding], data: Mapping[str, Any], comparison: Comparison
) -> tuple[list[Finding], dict[str, Any]]:
    """Put beside each finding what the measure would notice; say how the calibration differs."""
    told = data["provenance"]
    made = [
        finding
        if finding.measure not in data["measures"]
        else dataclasses.replace(finding, calibration=_beside(data["measures"][finding.measure]))
        for finding in findings
    ]
    rows = told["rows"].get("each")
    notes = []
    here = sorted({comparison.height(table) for table in comparison.tables})
    if here != [rows]:
        notes.append(
            f"the calibration had {rows:,} rows a table, here there are "
            f"{' and '.join(f'{n:,}' for n in here)}: with more rows, smaller leaks are noticed"
        )
    for role in ("keys", "sensitive"):
        if list(told.get(role) or []) != list(getattr(comparison, role)):
            named = ", ".join(told.get(role) or []) or "none"
            notes.append(f"the calibration had other {role} columns: {named}")
    for name in dict.fromkeys(finding.measure for finding in findings):
        if name in data["measures"]:
            notes += _other_options(name, told.get("options") or {}, comparison.options)
    if not comparison.has_holdout:
        notes.append("the calibration had a holdout, and here there is none")
    summary = {
        "understudy": told.get("understudy"),
        "rows": dict(told["rows"]),
        "method": told.get("method"),
        "notes": notes,
    }
    return made, summary


def _other_options(
    measure: str,
    there: Mapping[str, Mapping[str, Any]],
    here: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """Say which options differ; how often labels are permuted hardly changes what is noticed."""
    made = []
    for name, option in declared(MEASURES[measure]).items():
        if name == "permutations":
            continue
        was, now = (
            _as_read(given.get(measure, {}).get(name, option.default)) for given in (there, here)
        )
        if was != now:
            made.append(f"the calibration had {measure}.{name} = {was}, here it is {now}")
    return made


def _as_read(value: Any) -> Any:
    """Give an option as a file would give it back."""
    return json.loads(json.dumps(value, default=str))


def _beside(found: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what is shown: the smallest leak of each kind, false alarms, and whether it is blind."""
    if found.get("status") != "ok":
        return {"blind": None, "why": str(found.get("note") or ""), "smallest": None, "kinds": {}}
    smallest = {kind: told.get("smallest") for kind, told in found["kinds"].items()}
    return {
        "blind": found.get("blind"),
        "why": str(found.get("why") or ""),
        "smallest": smallest.get(MAIN),
        "kinds": smallest,
        "false_alarms": found.get("false_alarms"),
    }
