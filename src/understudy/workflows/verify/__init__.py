"""verify(): repeat the assessment of a receipt and say what differs.

A receipt is all that is needed for it: the request, the tables by their places and keyed hashes.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from understudy.data.schema import loads
from understudy.data.source import source_of
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.progress import Progress, ProgressOrBar, reporter, shows_progress, silent
from understudy.measures import MEASURES
from understudy.options import Between, check_arguments
from understudy.workflows import policy as policies
from understudy.workflows.assess import MARKED, assess_tables
from understudy.workflows.assessment import Assessment
from understudy.workflows.verify.differences import Change, of_findings, of_values, of_verdicts
from understudy.workflows.verify.receipt import (
    ROLES,
    Entry,
    Receipt,
    bytes_of,
    listed,
    machine,
    of,
    read,
)

__all__ = ["Change", "Receipt", "Verification", "of", "read", "verify"]

TOLERANCE = 1e-6
TOLERATED = Between(0, below=1, why="use 0 or a small number, such as 1e-9")
SAME = "the same values in the columns assessed"
CHECKED = ("exchangeability_p_value", "warnings", "notes")
ASKED = ("keys = auto:", "sensitive = all:", MARKED)  # how arguments were found: now they are given


@dataclass(frozen=True, repr=False)
class Verification:
    """What came of repeating an assessment.

    ``read`` names the files that were read, ``files`` the tables that hold other values than those
    assessed, ``notes`` those that have other bytes only; ``checks`` is what differs in the check of
    the holdout, the warnings and the notes. Other versions alone do not make a result unequal.
    """

    result: Assessment
    read: tuple[str, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]
    versions: tuple[Change, ...]
    checks: tuple[Change, ...]
    findings: tuple[Change, ...]
    verdicts: tuple[Change, ...]
    tolerance: float
    largest: float

    def __repr__(self) -> str:
        parts = ("files", "checks", "findings", "verdicts")
        others = [f"{len(getattr(self, part))} {part}" for part in parts if getattr(self, part)]
        return f"Verification({'equal' if self.equal else 'different: ' + ', '.join(others)})"

    @property
    def equal(self) -> bool:
        """Whether the tables are those assessed and every number came out again."""
        return not (self.files or self.checks or self.findings or self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        changes = ("versions", "checks", "findings", "verdicts")
        return {
            "equal": self.equal,
            **{name: list(getattr(self, name)) for name in ("read", "files", "notes")},
            **{name: [change.to_dict() for change in getattr(self, name)] for name in changes},
            "tolerance": self.tolerance,
            "largest_relative_difference": None if self.largest == inf else self.largest,
        }


@shows_progress
def verify(
    path: Annotated[str | Path, "give the path of a receipt"],
    *,
    train: Any = None,
    synthetic: Any = None,
    holdout: Any = None,
    tolerance: Annotated[float | None, TOLERATED] = None,
    progress: ProgressOrBar = silent,
) -> Verification:
    """Repeat the assessment of a receipt and say what differs.

    Parameters
    ----------
    path : path
        The receipt.
    train, synthetic, holdout : path or frame, optional
        Where the tables are now, if neither beside the receipt nor where they were.
    tolerance : float, optional
        The relative difference that still counts as equal: none with the same versions on the
        same kind of machine, a millionth otherwise.
    progress : True or callable, optional
        True shows a bar; a function is called with (label, done, total).
    """
    check_arguments(verify, locals())
    receipt = read(path)
    given = {"train": train, "synthetic": synthetic, "holdout": holdout}
    places = {
        role: _places(receipt.files[role], listed(given[role]), role, Path(path).parent)
        for role in ROLES
    }
    tables, files, notes = _tables(receipt, places)
    tables["synthetic"] = places["synthetic"]  # as files they say how they were made
    result = _again(receipt, tables, reporter(progress))
    before = receipt.assessment
    versions = tuple(_versions(receipt, result.provenance))
    if tolerance is None:
        tolerance = TOLERANCE if versions else 0.0
    now = json.loads(result.to_json())
    findings, largest = of_findings(before["findings"], now["findings"], tolerance)
    was, is_now = (_repeated(told["provenance"]) for told in (before, now))
    checks, apart = of_values("checks", was, is_now, CHECKED, tolerance)
    decided = of_verdicts(before["verdicts"], now["verdicts"])
    return Verification(
        result,
        tuple(_read(places)),
        tuple(files),
        tuple(notes),
        versions,
        tuple(checks),
        tuple(findings),
        tuple(decided),
        tolerance,
        max(largest, apart),
    )


def _again(receipt: Receipt, tables: Mapping[str, list[Any]], progress: Progress) -> Assessment:
    """Assess and judge as the receipt says."""
    train, holdout = tables["train"][0], next(iter(tables["holdout"]), None)
    result = assess_tables(receipt.request, train, tables["synthetic"], holdout, progress=progress)
    if receipt.policy is None:
        return result
    rules = policies.loads(receipt.policy, name="the receipt's policy", measures=MEASURES)
    return rules.apply(result)


def _repeated(told: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the notes that an assessment with given arguments does not make again."""
    return {**told, "notes": [note for note in told["notes"] if not note.startswith(ASKED)]}


def _places(entries: Sequence[Entry], given: list[Any], role: str, folder: Path) -> list[Any]:
    """Find the tables: those given, or beside the receipt, or where the files were."""
    if not given:
        return [_place(entry, role, folder) for entry in entries]
    if len(given) != len(entries):
        raise OptionError(
            f"{role}: the receipt is of {len(entries)}, {len(given)} given",
            hint="give as many files, in the same order",
        )
    return given


def _place(entry: Entry, role: str, folder: Path) -> Path:
    """Find a file as seen from the receipt: whoever has both together means these."""
    path, absolute = entry.get("path"), entry.get("absolute")
    if path is None or absolute is None:
        raise DataError(f"{role}: what was assessed was no file", hint=f"give it (--{role})")
    seen = Path(os.path.normpath(folder.absolute() / path))
    for place in (seen, folder.absolute() / seen.name, Path(absolute)):
        if os.path.isfile(place):  # no error, whatever is written there
            return place
    raise DataError(
        f"{role}: there is no file {absolute} any more", hint=f"say where it is now (--{role})"
    )


def _read(places: Mapping[str, list[Any]]) -> Iterator[str]:
    """Name the files that are read."""
    for role, found in places.items():
        for place in found:
            is_file = isinstance(place, str | Path)
            yield f"{role}: {Path(place).absolute() if is_file else 'a frame'}"


def _tables(
    receipt: Receipt, places: Mapping[str, list[Any]]
) -> tuple[dict[str, list[Any]], list[str], list[str]]:
    """Read the tables; say which hold other values, and which other bytes alone."""
    schema = loads(receipt.schema, name="the receipt's schema")
    tables: dict[str, list[Any]] = {}
    changed, notes = [], []
    for role, found in places.items():
        hashes = listed(receipt.assessment["provenance"][role])
        tables[role] = [Table.of(place, schema, name=role).with_rows() for place in found]
        for table, place, entry, known in zip(
            tables[role], found, receipt.files[role], hashes, strict=True
        ):
            if source_of(table).digest(receipt.key) != known["hash"]:
                changed.append(f"{role}: {table.name} holds other values than what was assessed")
            elif (
                isinstance(place, str | Path)
                and entry["bytes"] is not None
                and bytes_of(Path(place), receipt.key) != entry["bytes"]
            ):
                notes.append(f"{role}: {table.name} has other bytes, but {SAME}")
    return tables, changed, notes


def _versions(receipt: Receipt, now: Mapping[str, Any]) -> Iterator[Change]:
    before = receipt.assessment["provenance"]
    was = {"understudy": before["understudy"], "python": before["python"], **before["libraries"]}
    is_now = {"understudy": now["understudy"], "python": now["python"], **now["libraries"]}
    was["machine"], is_now["machine"] = receipt.machine, machine()
    for name in is_now:
        if was.get(name) != is_now[name]:
            yield Change("version", name, was.get(name), is_now[name])
