"""Outcomes on disk, one a line: whoever was killed goes on where they stopped."""

import contextlib
import json
import math
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.documents import loads_json, read_text
from understudy.errors import DataError, OptionError
from understudy.jobs.locks import OWNER, in_use, take

ARTICLES = {"attack": "an attack", "calibration": "a calibration", "study": "a study"}
ANOTHER = "name another file"
ANEW = "name another file, or delete it to begin anew"
MOST_BYTES = 1 << 31  # many tasks make a long journal
INFINITE = {"inf": math.inf, "-inf": -math.inf}

Entry = dict[str, Any]


def value_entry(value: Any) -> Entry:
    """Write a plain value as an entry."""
    return {"value": value}


def entry_value(entry: Entry) -> Any:
    """Read the plain value of an entry."""
    if "value" not in entry:
        raise ValueError("holds no value")
    return entry["value"]


def numbers_entry(value: Any) -> Entry:
    """Write an array of numbers as an entry; JSON has none that are not finite."""
    return {"numbers": None if value is None else _plain_numbers(value.tolist())}


def entry_numbers(entry: Entry, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    """Read an array of numbers of an entry, and refuse whatever is none.

    Examples
    --------
    >>> entry_numbers(numbers_entry(np.array([0.5, np.nan, -np.inf])))
    array([ 0.5,  nan, -inf])
    """
    try:
        numbers = np.array(_numbers(entry.get("numbers")), float)
    except (ValueError, TypeError) as error:
        raise ValueError("holds no numbers") from error
    if shape is not None and numbers.shape != shape:
        raise ValueError("has not as many numbers")
    return numbers


class Journal:
    """Outcomes on disk, for one job: another cannot be taken for it.

    Nobody else can write it until it is closed. ``known`` holds the values by the keys of their
    tasks, ``spent`` the seconds that the work had taken when the last of them was written.
    """

    def __init__(self, path: Path, handle: int, write: Callable[[Any], Entry]) -> None:
        self.path, self.handle, self.write = path, handle, write
        self.known: dict[str, Any] = {}
        self.spent = 0.0
        self.close = weakref.finalize(self, os.close, handle)

    @classmethod
    def open(
        cls,
        path: Path,
        fingerprint: str,
        of: str = "attack",
        *,
        read: Callable[[Entry], Any] = entry_numbers,
        write: Callable[[Any], Entry] = numbers_entry,
    ) -> "Journal":
        """Read the journal of the job that has this fingerprint, or begin one.

        Failures are not among the values known: they are tried again, and so is what a line
        says that was cut off at the end.

        Parameters
        ----------
        fingerprint : str
            Of all that decides the values: data, options, versions, generator.
        of : {"attack", "calibration", "study"}
        read, write : callable
            From an entry to a value, and back; what is no entry of this job is a ValueError.
        """
        head = json.dumps({"understudy": "journal", "of": of, "game": fingerprint}) + "\n"
        journal = cls(path, _open_alone(path), write)
        try:
            text = read_text(path, "journal", ANOTHER, largest=MOST_BYTES)
            if head.startswith(text):  # it is new, or whoever began it was killed right there
                text = ""
                path.chmod(OWNER)  # another may have made it, for all to read
            else:
                text = journal._read(text, fingerprint, of, read)
            os.truncate(journal.handle, len(text.encode()))
            if not text:
                journal._append(head)
        except BaseException:
            journal.close()
            raise
        return journal

    def _read(self, text: str, own: str, of: str, read: Callable[[Entry], Any]) -> str:
        """Take in the entries; give the text without a line that was cut off at its end."""
        lines = text.split("\n")
        head = _parsed(lines[0])
        if not (
            isinstance(head, dict) and head.get("understudy") == "journal" and head.get("of") == of
        ):
            raise OptionError(f"{self.path} is no journal of {ARTICLES[of]}", hint=ANOTHER)
        if head.get("game") != own:
            raise OptionError(
                f"{self.path} is the journal of another {of} (other data, generator, options or "
                "version)",
                hint=ANEW,
            )
        while len(lines) > 2 and _parsed(lines[-1]) is None:
            lines.pop()  # a line is written with its end before it
        for number, line in enumerate(lines[1:], start=2):
            try:
                if line:
                    self._take_in(_parsed(line), read)
            except ValueError as error:
                raise DataError(
                    f"{self.path}: line {number} {error} as a journal has them", hint=ANEW
                ) from error
        return "\n".join(lines)

    def _take_in(self, entry: Any, read: Callable[[Entry], Any]) -> None:
        spent = entry.get("spent", 0.0) if isinstance(entry, dict) else None
        if not (
            isinstance(spent, int | float)
            and spent >= 0
            and isinstance(entry.get("task"), str)
            and isinstance(entry.get("error"), str)
        ):
            raise ValueError("is no entry")
        if not entry["error"]:
            self.known[entry["task"]] = read(entry)
            self.spent = float(spent)

    def add(self, key: str, value: Any, error: str = "", spent: float = 0.0) -> None:
        """Write the value of a task down at once, or why there is none."""
        entry = {"task": key, **self.write(value), "error": error, "spent": spent}
        self._append("\n" + json.dumps(entry))

    def _append(self, text: str) -> None:
        left = text.encode()
        while left:
            left = left[os.write(self.handle, left) :]


@contextlib.contextmanager
def opened(
    journal: str | Path | Journal | None,
    fingerprint: Callable[[], str],
    of: str = "attack",
    **coding: Any,
) -> Iterator[Journal | None]:
    """Open the journal of a job, if there is to be one, and close it in the end.

    See ``Journal.open``; the fingerprint, which takes a look at all data, is asked for if needed.
    A journal that is open already stays so: whoever opened it closes it.
    """
    if journal is None or isinstance(journal, Journal):
        yield journal
        return
    with contextlib.closing(Journal.open(Path(journal), fingerprint(), of, **coding)) as own:
        yield own


def _open_alone(path: Path) -> int:
    """Open a journal, and keep other runs off it."""
    try:
        # a pipe that nobody reads is not waited for; on Windows an end of a line is one byte
        flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | flags, OWNER)
    except OSError as error:
        raise OptionError(f"{path}: cannot be a journal: {error.strerror}", hint=ANOTHER) from error
    try:
        alone = take(handle)
    except BaseException:
        os.close(handle)
        raise
    if not alone:
        os.close(handle)
        raise in_use(path, path, "wait until it has ended, or name another file")
    return handle


def _parsed(line: str) -> Any:
    """Read a line; one that was cut off when the program was killed is none."""
    with contextlib.suppress(ValueError):
        return loads_json(line)
    return None


def _plain_numbers(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_plain_numbers(number) for number in numbers]
    if math.isfinite(numbers):
        return numbers
    return None if math.isnan(numbers) else str(numbers)


def _numbers(told: Any, depth: int = 0) -> Any:
    if isinstance(told, list) and depth < 3:
        return [_numbers(one, depth + 1) for one in told]
    if depth and told is None:
        return math.nan
    if depth and isinstance(told, str):
        return INFINITE.get(told, told)
    if depth and isinstance(told, int | float) and not isinstance(told, bool):
        return told
    raise ValueError("no number")
