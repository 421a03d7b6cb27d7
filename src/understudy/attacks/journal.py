"""Answers on disk, one a line: who was killed goes on where they stopped."""

import contextlib
import json
import math
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.games import Game, Task
from understudy.data.schema import dumps
from understudy.documents import loads_json, read_text
from understudy.errors import DataError, OptionError
from understudy.jobs.fingerprint import fingerprint
from understudy.jobs.locks import OWNER, take

ARTICLES = {"attack": "an attack", "calibration": "a calibration"}
ANOTHER = "name another file"
ANEW = "name another file, or delete it to begin anew"
LARGEST = 1 << 31  # bytes; many refits make a long journal
INFINITE = {"inf": math.inf, "-inf": -math.inf}


class Journal:
    """Answers on disk, for one attack or calibration: another cannot be taken for it.

    Nobody else can write it until it is closed.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self.handle = path, handle
        self.known: dict[str, dict[str, Any]] = {}
        self.close = weakref.finalize(self, os.close, handle)

    @classmethod
    def open(cls, path: Path, own: str, of: str = "attack") -> "Journal":
        """Read the journal of what has this fingerprint, or begin one.

        Failures are not among the answers known: they are tried again, and so is what a line
        says that was cut off at the end.
        """
        head = json.dumps({"understudy": "journal", "of": of, "game": own}) + "\n"
        journal = cls(path, _opened(path))
        try:
            text = read_text(path, "journal", ANOTHER, largest=LARGEST)
            if head.startswith(text):  # it is new, or whoever began it was killed right there
                text = ""
                path.chmod(OWNER)  # another may have made it, for all to read
            else:
                text = journal._read(text, own, of)
            os.truncate(journal.handle, len(text.encode()))
            if not text:
                journal._write(head)
        except BaseException:
            journal.close()
            raise
        return journal

    def _read(self, text: str, own: str, of: str) -> str:
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
            if line:
                self._take_in(_parsed(line), number)
        return "\n".join(lines)

    def _take_in(self, entry: Any, line: int) -> None:
        if not (
            isinstance(entry, dict)
            and isinstance(entry.get("task"), str)
            and isinstance(entry.get("error"), str)
        ):
            raise self.wrong(line, "is no entry")
        if entry["error"]:
            return
        try:
            entry["numbers"] = np.array(_numbers(entry.get("numbers")), float)
        except (ValueError, TypeError) as error:
            raise self.wrong(line, "holds no numbers") from error
        self.known[entry["task"]] = {**entry, "line": line}

    def wrong(self, line: int, what: str) -> DataError:
        """Say what is wrong with a line."""
        return DataError(f"{self.path}: line {line} {what} as a journal has them", hint=ANEW)

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse answers that have not the shape that all have."""
        for entry in self.known.values():
            if entry["numbers"].shape != shape:
                raise self.wrong(entry["line"], "has not as many numbers")

    def found(self, key: str) -> NDArray[np.float64] | None:
        """Give the numbers of a task that was done before."""
        entry = self.known.get(key)
        return None if entry is None else np.array(entry["numbers"], float)

    def add(
        self, key: str, numbers: NDArray[np.float64] | None, error: str = "", **more: Any
    ) -> None:
        """Write an answer down at once."""
        told = None if numbers is None else _told(numbers.tolist())
        self._write("\n" + json.dumps({"task": key, "numbers": told, "error": error, **more}))

    def _write(self, text: str) -> None:
        left = text.encode()
        while left:
            left = left[os.write(self.handle, left) :]


def _opened(path: Path) -> int:
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
        raise DataError(
            f"{path}: another run is at work on it",
            hint="wait until it has ended, or name another file",
        )
    return handle


def _parsed(line: str) -> Any:
    """Read a line; one that was cut off when the program was killed is none."""
    with contextlib.suppress(ValueError):
        return loads_json(line)
    return None


def _told(numbers: Any) -> Any:
    """Write numbers in JSON, which has none that are not finite."""
    if isinstance(numbers, list):
        return [_told(number) for number in numbers]
    if math.isfinite(numbers):
        return numbers
    return None if math.isnan(numbers) else str(numbers)


def _numbers(told: Any, depth: int = 0) -> Any:
    """Read numbers, and refuse whatever is none."""
    if isinstance(told, list) and depth < 3:
        return [_numbers(one, depth + 1) for one in told]
    if depth and told is None:
        return math.nan
    if depth and isinstance(told, str):
        return INFINITE.get(told, told)
    if depth and isinstance(told, int | float) and not isinstance(told, bool):
        return told
    raise ValueError("no number")


def of_game(game: Game) -> str:
    """Give the fingerprint of the refits of an attack.

    It is kept beside the answers, which are as revealing: a journal is for its owner alone.
    """
    generator = getattr(game.generator, "identity", game.generator)
    base = dumps(game.base.schema), game.base.frame
    return fingerprint(type(game), generator, game.summary, game.rows, game.copies, *base)


def of_task(task: Task) -> str:
    """Name a task by its world's rows and records too: worlds of another record are others."""
    return f"{task.name} {fingerprint(task.world.rows, task.world.added)[:16]}"
