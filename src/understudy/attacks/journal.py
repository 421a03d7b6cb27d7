"""Answers on disk, one a line: who was killed goes on where they stopped."""

import hashlib
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._version import __version__
from understudy.attacks.games import Game, Task
from understudy.errors import OptionError
from understudy.schema import dumps
from understudy.tables import OWNER

ARTICLES = {"attack": "an attack", "calibration": "a calibration"}


class Journal:
    """Answers on disk, for one attack or calibration: another cannot be taken for it."""

    def __init__(self, path: Path, known: dict[str, dict[str, Any]]) -> None:
        self.path, self.known = path, known

    @classmethod
    def open(cls, path: Path, own: str, of: str = "attack") -> "Journal":
        """Read the journal of what has this fingerprint, or begin one.

        Failures are not among the answers known: they are tried again.
        """
        try:
            # a file without a word is what a program leaves that was killed right here
            if not path.exists() or not path.stat().st_size:
                path.touch(OWNER)
                if path.is_file():  # it may have been made by another, for all to read
                    path.chmod(OWNER)
                head = {"understudy": "journal", "of": of, "game": own}
                path.write_text(json.dumps(head) + "\n", "utf-8")
                return cls(path, {})
            lines = path.read_text("utf-8", errors="replace").splitlines()
        except OSError as error:
            raise OptionError(
                f"{path}: cannot be a journal: {error.strerror}", hint="name another file"
            ) from error
        read = [entry for line in lines if (entry := _entry(line)) is not None]
        if not read or read[0].get("understudy") != "journal" or read[0].get("of", "attack") != of:
            raise OptionError(f"{path} is no journal of {ARTICLES[of]}", hint="name another file")
        if read[0].get("game") != own:
            raise OptionError(
                f"{path} is the journal of another {of} (other data, method, options or version)",
                hint="name another file, or delete it to begin anew",
            )
        return cls(path, {entry["task"]: entry for entry in read[1:] if not entry["error"]})

    def found(self, key: str) -> NDArray[np.float64] | None:
        """Give the numbers of a task that was done before."""
        entry = self.known.get(key)
        return None if entry is None else np.array(entry["numbers"], float)

    def add(
        self, key: str, numbers: NDArray[np.float64] | None, error: str = "", **more: Any
    ) -> None:
        """Write an answer down at once."""
        told = None if numbers is None else numbers.tolist()
        entry = {"task": key, "numbers": told, "error": error, **more}
        # on a line of its own, also after one that was cut off
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(entry))


def _entry(line: str) -> dict[str, Any] | None:
    """Read a line; one that was cut off when the program was killed does not count."""
    try:
        read = json.loads(line)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def fingerprint(words: Iterable[str], *frames: pl.DataFrame) -> str:
    """Give a hash of all that decides the answers: words, tables, and the version of the program.

    It is kept beside the answers, which are as revealing: a journal is for its owner alone.
    """
    hashed = hashlib.sha256("\0".join([__version__, *words]).encode())
    for frame in frames:
        hashed.update(frame.hash_rows(seed=0).to_numpy().tobytes())
    return hashed.hexdigest()


def of_game(game: Game) -> str:
    """Give the fingerprint of the refits of an attack."""
    words = [repr(getattr(game, name)) for name in ("generator", "summary", "rows", "copies")]
    return fingerprint([*words, dumps(game.base.schema)], game.base.frame)


def of_task(task: Task) -> str:
    """Name a task by its world's rows and records too: worlds of another record are others."""
    hashed = hashlib.sha256()
    for part in (task.world.rows, task.world.added):
        hashed.update(b"\0" if part is None else pickle.dumps(_plain(part)))
    return f"{task.name} {hashed.hexdigest()[:16]}"


def _plain(part: NDArray[np.int64] | pl.DataFrame) -> Any:
    return part.rows() if isinstance(part, pl.DataFrame) else part.tolist()
