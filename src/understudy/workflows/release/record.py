"""The record of a release: its plan, and a keyed digest of every file that it made.

The plan is everything that the results follow from. A stage that is done is taken over, and a
candidate handed over, only as it was made. Who has the steward's folder has the key too: the record
tells of a change, not of who made it.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.tables import write_text
from understudy.documents import read_json
from understudy.errors import DataError
from understudy.jobs.fingerprint import fingerprint
from understudy.jobs.temporary import HIDDEN
from understudy.options import check_plain
from understudy.workflows.provenance import versions
from understudy.workflows.verify.receipt import bytes_of

VERSION = 1
KEY_BYTES = 32
PLAN, FILES = "plan.json", "files.json"
NOT_ASKED_FOR = ("understudy_release", "keep", "key", "path", "steward")
KEEP = (
    "For the steward alone: with the seed, anybody could make the release again from a guessed "
    "table, and so confirm the guess."
)
HINT = "give up what is there (--restart), or name another folder (--out)"


def make_plan(
    frame: pl.DataFrame, path: str | None, asked: Mapping[str, Any], begun: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Make the plan; the key, and a seed that nobody chose, are those of a run begun before."""
    key = bytes.fromhex(begun["key"]) if begun else secrets.token_bytes(KEY_BYTES)
    seed = asked["seed"]
    if seed is None:
        seed = begun["seed"] if begun else secrets.randbits(32)
    plan = {
        "understudy_release": VERSION,
        "keep": KEEP,
        "key": key.hex(),
        "path": path,
        "real_table": fingerprint(key, frame),  # left-out columns too
        **asked,
        "seed": seed,
        "versions": versions(),
    }
    check_plain(plan)
    made: dict[str, Any] = json.loads(json.dumps(plan))
    return made


def write_plan(plan: Mapping[str, Any], folder: Path) -> None:
    """Write the plan into its folder."""
    text = json.dumps(plan, indent=1, ensure_ascii=False) + "\n"
    write_text(text, folder / PLAN, for_owner=True)


def read_plan(folder: Path) -> dict[str, Any] | None:
    """Read the plan of a folder; none, if the folder is not there or nothing was begun in it."""
    if not os.path.lexists(folder):
        return None
    if folder.is_dir() and all(entry.name.startswith(HIDDEN) for entry in folder.iterdir()):
        return None
    try:
        form = {"understudy_release": int, "key": str, "seed": int}
        plan: dict[str, Any] = read_json(folder / PLAN, "plan", "", form)
        if plan["understudy_release"] != VERSION or plan["seed"] < 0:
            raise ValueError(f"version {plan['understudy_release']}, seed {plan['seed']}")
        if len(bytes.fromhex(plan["key"])) != KEY_BYTES:
            raise ValueError("its key is cut off")
    except (DataError, ValueError) as error:
        raise DataError(
            f"{folder} is there, but is no release of this version",
            hint="move it away, or name another folder (--out)",
        ) from error
    return plan


def others(plan: Mapping[str, Any], begun: Mapping[str, Any]) -> list[str]:
    """Name what a plan asks for otherwise than the one begun."""
    names: Iterable[str] = dict.fromkeys([*plan, *begun])
    differing = [n for n in names if n not in NOT_ASKED_FOR and plan.get(n) != begun.get(n)]
    # a fingerprint of another version says nothing of the table
    return [n for n in differing if n != "real_table" or "versions" not in differing]


@dataclass(frozen=True)
class Record:
    """The digests of files by their places in a folder; more than one while a file is replaced."""

    folder: Path
    key: bytes

    def add(self, paths: Iterable[Path]) -> None:
        """Record files as they are now."""
        found = {self._name(path): [bytes_of(path, self.key)] for path in paths}
        self._write({**self._read(), **found})

    def complete(self) -> None:
        """Record the files that are new, and insist that the others are as they were made."""
        known = self._read()
        files = [path for path in self.folder.rglob("*") if path.is_file() and path.name != FILES]
        self.holds(*(path for path in files if self._name(path) in known))
        self.add(path for path in files if self._name(path) not in known)

    def expect(self, path: Path, text: str) -> None:
        """Record what a file is about to become, beside what it is: a kill may leave either."""
        known, name = self._read(), self._name(path)
        made = hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()
        self._write({**known, name: list(dict.fromkeys([*known.get(name, []), made]))})

    def holds(self, *paths: Path) -> bool:
        """Whether these files are recorded and there; one that was changed is an error."""
        known = self._read()
        if not all(self._name(path) in known and path.is_file() for path in paths):
            return False
        for path in paths:
            self._check(path, known[self._name(path)])
        return True

    def check(self, part: Path, copy: Path | None = None) -> list[str]:
        """Insist that a folder, or a copy of it, has its files as they were made; name them."""
        start = f"{self._name(part)}/"
        known = {n.removeprefix(start): d for n, d in self._read().items() if n.startswith(start)}
        if not known:
            raise DataError(f"{self.folder / FILES}: it names no file of {part}", hint=HINT)
        for name, digests in known.items():
            self._check((copy or part) / name, digests)
        return list(known)

    def _check(self, path: Path, digests: list[str]) -> None:
        try:
            found = bytes_of(path, self.key)
        except FileNotFoundError as error:
            raise DataError(f"{path}: it is gone", hint=HINT) from error
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}", hint=HINT) from error
        if found not in digests:
            raise DataError(f"{path}: it was changed after the release had made it", hint=HINT)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _read(self) -> dict[str, list[str]]:
        path = self.folder / FILES
        if not path.is_file():
            return {}
        known: dict[str, list[str]] = read_json(path, "record of a release", HINT, {str: [str]})
        return known

    def _write(self, known: dict[str, list[str]]) -> None:
        write_text(json.dumps(known, indent=1) + "\n", self.folder / FILES, for_owner=True)
