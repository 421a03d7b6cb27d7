"""Answers of an attack on disk: who was killed goes on where they stopped."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.games import Answer, Game, Task
from understudy.errors import OptionError
from understudy.schema import dumps
from understudy.tables import OWNER


class Journal:
    """Answers on disk, one a line, for one game: another game cannot be taken for it."""

    def __init__(self, path: Path, known: dict[str, dict[str, Any]]) -> None:
        self.path, self.known = path, known

    @classmethod
    def open(cls, path: Path, game: Game) -> "Journal":
        """Read a journal, or begin one."""
        own = fingerprint(game)
        if not path.exists():
            path.touch(OWNER)
            path.write_text(json.dumps({"understudy": "journal", "game": own}) + "\n", "utf-8")
            return cls(path, {})
        lines = path.read_text("utf-8").splitlines()
        read = [entry for line in lines if (entry := _entry(line)) is not None]
        if not read or read[0].get("understudy") != "journal":
            raise OptionError(f"{path} is no journal of an attack", hint="name another file")
        if read[0].get("game") != own:
            raise OptionError(
                f"{path} is the journal of another attack (other data, method or options)",
                hint="name another file, or delete it to begin anew",
            )
        return cls(path, {entry["task"]: entry for entry in read[1:] if not entry["error"]})

    def found(self, task: Task) -> Answer | None:
        """Give the answer to a task that was played before; failures are tried again."""
        entry = self.known.get(_key(task))
        return None if entry is None else Answer(task, np.array(entry["numbers"], float))

    def add(self, answer: Answer) -> None:
        """Write an answer down at once."""
        numbers = None if answer.numbers is None else answer.numbers.tolist()
        entry = {"task": _key(answer.task), "numbers": numbers, "error": answer.error}
        # on a line of its own, also after one that was cut off
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(entry))


def _key(task: Task) -> str:
    """Name a task by its world's rows and records too: worlds of another record are others."""
    hashed = hashlib.sha256()
    for part in (task.world.rows, task.world.added):
        hashed.update(b"\0" if part is None else pickle.dumps(_plain(part)))
    return f"{task.name} {hashed.hexdigest()[:16]}"


def _plain(part: NDArray[np.int64] | pl.DataFrame) -> Any:
    return part.rows() if isinstance(part, pl.DataFrame) else part.tolist()


def _entry(line: str) -> dict[str, Any] | None:
    """Read a line; one that was cut off when the program was killed does not count."""
    try:
        read = json.loads(line)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def fingerprint(game: Game) -> str:
    """Give a hash of all that decides the answers of a game.

    It is kept beside the answers, which are as revealing: a journal is for its owner alone.
    """
    hashed = hashlib.sha256()
    words = [repr(getattr(game, name)) for name in ("generator", "summary", "rows", "copies")]
    words.append(dumps(game.base.schema))
    hashed.update("\0".join(words).encode())
    hashed.update(game.base.frame.hash_rows(seed=0).to_numpy().tobytes())
    return hashed.hexdigest()
