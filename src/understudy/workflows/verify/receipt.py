"""Receipt: an assessment, the key of its hashes and where its tables are.

A receipt is the steward's: whoever has the key can confirm a guessed table.
"""

import hashlib
import hmac
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.data.schema import Schema, dumps
from understudy.data.tables import Table, write_text
from understudy.documents import check_form, read_json
from understudy.errors import DataError
from understudy.measures import MEASURES
from understudy.workflows.assessment import Assessment
from understudy.workflows.request import Request

VERSION = 1
KEY_BYTES = 32
KEEP = (
    "For the steward alone: the key below lets its holder confirm a guessed table, and the paths "
    "lead to real data. Do not share this file."
)
HINT = "give a file written by understudy assess --receipt or understudy release"
ROLES = ("train", "synthetic", "holdout")

TEXT = (str, None)
TABLE = {"hash": str}
FORM = {
    "key": str,
    "files": {role: [{"path": TEXT, "absolute": TEXT, "bytes": TEXT}] for role in ROLES},
    "machine": str,
    "schema": str,
    "policy": TEXT,
    "assessment": {
        "findings": [{"measure": str}],
        "verdicts": [{"rule?": str, "outcome?": str}],
        "provenance": {
            "understudy": str,
            "python": str,
            "libraries": {str: str},
            "seed": int,
            "options": {str: {str: object}},
            "keys": [str],
            "sensitive": [str],
            "target": TEXT,
            "aligned": bool,
            "train": TABLE,
            "synthetic": [TABLE],
            "holdout": (TABLE, None),
            "notes": [str],
            "warnings": [str],
            "by?": [str],
            "formula?": [str],
            "fit?": str,
        },
    },
}

Entry = Mapping[str, str | None]


@dataclass(frozen=True)
class Receipt:
    """An assessment with all that is needed to repeat it.

    The request, the seed and the versions stand in the provenance of the assessment.
    """

    key: bytes = field(repr=False)
    files: Mapping[str, Sequence[Entry]]
    schema: str
    policy: str | None
    machine: str
    assessment: Mapping[str, Any]

    def __repr__(self) -> str:
        many = f"{len(self.assessment['findings'])} findings"
        files = ", ".join(f"{len(self.files[role])} {role}" for role in ROLES)
        return f"Receipt({many}; tables: {files}; {'no' if self.policy is None else 'a'} policy)"

    @property
    def request(self) -> Request:
        """What was asked for, as far as the findings depend on it: the policy is beside it."""
        measures = [finding["measure"] for finding in self.assessment["findings"]]
        return Request.from_dict({**self.assessment["provenance"], "measures": measures})

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "understudy_receipt": VERSION,
            "keep": KEEP,
            "key": self.key.hex(),
            "files": {role: [dict(entry) for entry in made] for role, made in self.files.items()},
            "machine": self.machine,
            "schema": self.schema,
            "policy": self.policy,
            "assessment": dict(self.assessment),
        }

    def write(self, path: str | Path, *, home: Path | None = None) -> None:
        """Write the receipt to a file that only its owner may read.

        ``home`` is the folder that its own folder will become, with all files in it.
        """
        folder = Path(path).absolute().parent
        files = {
            role: [_seen_from(folder, entry, home) for entry in entries]
            for role, entries in self.files.items()
        }
        data = {**self.to_dict(), "files": files}
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        write_text(text + "\n", Path(path), for_owner=True)


def of(
    result: Assessment,
    train: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    schema: Any = None,
    policy: str | None = None,
) -> Receipt:
    """Make the receipt of an assessment.

    Parameters
    ----------
    result : Assessment
    train, synthetic, holdout : path or frame
        What was assessed. A frame has no place, so it must be given again to ``verify``.
    schema : Schema or path, optional
        As it was given to ``assess``; inferred otherwise.
    policy : str, optional
        The text of the policy file whose verdicts the result holds.
    """
    known = schema if isinstance(schema, Schema) else Table.of(train, schema).schema
    tables = (train, synthetic, holdout)
    return Receipt(
        result.key,
        {
            role: [_entry(table, result.key) for table in listed(given)]
            for role, given in zip(ROLES, tables, strict=True)
        },
        dumps(known),
        policy,
        machine(),
        result.to_dict(),
    )


def read(path: str | Path) -> Receipt:
    """Read a receipt; what is none, cut off or of another version is an error that says so."""
    path = Path(path)
    data = read_json(path, "receipt", HINT)
    try:
        if not isinstance(data, dict) or "understudy_receipt" not in data:
            raise ValueError("it is of another kind")
        if data["understudy_receipt"] != VERSION:
            raise DataError(
                f"{path}: a receipt of version {data['understudy_receipt']}",
                hint=f"this program reads version {VERSION}",
            )
        return _checked(data)
    except ValueError as error:
        raise DataError(f"{path}: this is not a whole receipt ({error})", hint=HINT) from error


def _checked(data: Mapping[str, Any]) -> Receipt:
    """Refuse a receipt in which something is missing or of the wrong form."""
    check_form(data, FORM)
    assessment = data["assessment"]
    try:
        measured = [finding.measure for finding in Assessment.from_dict(assessment)]
    except DataError as error:
        raise ValueError(error.message) from error
    if not measured:
        raise ValueError("it holds no findings")
    for name in measured:
        if name not in MEASURES or measured.count(name) > 1:
            raise ValueError(f"'{name}' is no measure, or stands twice")
    if assessment["provenance"]["seed"] < 0:
        raise ValueError("seed is below 0")
    for role in ROLES:
        entries, hashes = data["files"][role], listed(assessment["provenance"][role])
        if len(hashes) != len(entries):
            raise ValueError(f"{len(entries)} files of {role}, {len(hashes)} hashes")
    key = bytes.fromhex(data["key"])
    if len(key) != KEY_BYTES:
        raise ValueError("its key is cut off")
    files = {role: data["files"][role] for role in ROLES}
    return Receipt(key, files, data["schema"], data["policy"], data["machine"], assessment)


def listed(tables: Any) -> list[Any]:
    """Give one table, several or none as a list."""
    if isinstance(tables, list | tuple):
        return list(tables)
    return [] if tables is None else [tables]


def _entry(table: Any, key: bytes) -> dict[str, str | None]:
    """Describe an input: its place as given and in full, and a keyed hash of its bytes."""
    if not isinstance(table, str | Path):
        return {"path": None, "absolute": None, "bytes": None}
    path = Path(table)
    return {"path": str(table), "absolute": str(path.absolute()), "bytes": bytes_of(path, key)}


def _seen_from(folder: Path, entry: Entry, home: Path | None) -> Entry:
    """Name a file by its place as seen from the receipt's folder, and in full."""
    if entry["absolute"] is None:
        return entry
    path = os.path.relpath(entry["absolute"], folder)
    absolute = entry["absolute"] if home is None else str(home / path)
    return {**entry, "path": path, "absolute": absolute}


def bytes_of(path: Path, key: bytes) -> str:
    """Give a keyed hash of a file."""
    keyed = hmac.new(key, digestmod=hashlib.sha256)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            keyed.update(chunk)
    return keyed.hexdigest()


def machine() -> str:
    """Name the kind of machine: on another, the last digits may differ."""
    return f"{platform.system()} {platform.machine()}"
