"""The record of a release: a keyed digest of every file that it made.

A stage that is done is taken over, and a candidate handed over, only as it was made. Who has the
steward's folder has the key too: the record tells of a change, not of who made it.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from understudy.data.tables import write_text
from understudy.documents import check_form, read_json
from understudy.errors import DataError
from understudy.workflows.verify.record import bytes_of

FILE = "files.json"
HINT = "give up what is there (--restart), or name another folder (--out)"


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
        files = [path for path in self.folder.rglob("*") if path.is_file() and path.name != FILE]
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
            raise DataError(f"{self.folder / FILE}: it names no file of {part}", hint=HINT)
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
        path = self.folder / FILE
        if not path.is_file():
            return {}
        known: dict[str, list[str]] = read_json(path, "record of a release", HINT)
        try:
            check_form(known, {str: [str]})
        except ValueError as error:
            raise DataError(
                f"{path}: this is no record of a release ({error})", hint=HINT
            ) from error
        return known

    def _write(self, known: dict[str, list[str]]) -> None:
        write_text(json.dumps(known, indent=1) + "\n", self.folder / FILE, for_owner=True)
