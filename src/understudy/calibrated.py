"""What a calibration says beside a finding: the smallest leak that the measure would notice."""

import dataclasses
import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.comparison import Comparison
from understudy.documents import read_json
from understudy.errors import DataError, OptionError
from understudy.findings import Finding
from understudy.measures import MEASURES

VERSION = 1
HINT = "give a file written by understudy calibrate --out"
MAIN = "copies"
# what a file must look like: a type, any of several forms, a list or mapping of one, named parts
SIZE = (float, int, None)
LEAK = {
    "value": SIZE,
    "bound": SIZE,
    "interval": [SIZE],
    "planted": ([SIZE], None),
    "censored": (str, None),
}
FOUND = {"status": str, "why": (str, None), "kinds": ({...: {"smallest": (LEAK, None)}}, None)}
FORM = {
    "measures": {...: FOUND},
    "provenance": {
        "columns": {...: str},
        "rows": {"each": int},
        "keys": ([str], None),
        "sensitive": ([str], None),
        "options": ({...: {}}, None),
    },
}


def read_calibration(given: Any) -> dict[str, Any]:
    """Read a calibration from its file, its dict, or the object itself.

    What is none, cut off or of another version is an error that says so.
    """
    if hasattr(given, "to_dict"):
        given = given.to_dict()
    if isinstance(given, Mapping):
        return _checked(given, "calibration")
    return _checked(read_json(Path(given), "calibration", HINT), str(given))


def _checked(data: Any, name: str) -> dict[str, Any]:
    if not isinstance(data, Mapping) or "understudy_calibration" not in data:
        raise DataError(f"{name}: this is no calibration", hint=HINT)
    if data["understudy_calibration"] != VERSION:
        raise DataError(
            f"{name}: a calibration of version {data['understudy_calibration']}",
            hint=f"this program reads version {VERSION}",
        )
    if not _is_like(data, FORM):
        raise DataError(f"{name}: this is not a whole calibration", hint=HINT)
    for measure, found in data["measures"].items():
        leaks = [kind.get("smallest") for kind in (found.get("kinds") or {}).values()]
        if (found["status"] == "ok" and not leaks) or not all(map(_is_told, filter(None, leaks))):
            raise DataError(f"{name}: what is said of {measure} is damaged", hint=HINT)
    return dict(data)


def _is_like(value: Any, form: Any) -> bool:
    """Whether a value has a form; parts that are absent are none."""
    if isinstance(form, tuple):
        return any(_is_like(value, one) for one in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_is_like(item, form[0]) for item in value)
    if isinstance(form, dict):
        if not isinstance(value, Mapping):
            return False
        if ... in form:
            return all(_is_like(item, form[...]) for item in value.values())
        return all(_is_like(value.get(name), part) for name, part in form.items())
    return value is None if form is None else isinstance(value, form)


def _is_told(leak: Mapping[str, Any]) -> bool:
    """Whether a smallest leak has a size, or says on which side of those planted it lies."""
    pairs = [leak["interval"], leak.get("planted") or (None, None)]
    size = {None: "value", "above": "bound", "below": "bound"}.get(leak.get("censored"), "")
    return leak.get(size) is not None and all(len(pair) == 2 for pair in pairs)


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
    for option in inspect.signature(MEASURES[measure]).parameters.values():
        if option.kind is not option.KEYWORD_ONLY or option.name == "permutations":
            continue
        was, now = (
            _as_read(given.get(measure, {}).get(option.name, option.default))
            for given in (there, here)
        )
        if was != now:
            made.append(f"the calibration had {measure}.{option.name} = {was}, here it is {now}")
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
