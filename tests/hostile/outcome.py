"""Run the program on something bad, and say what became of it."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

GOOD = ("done", "refused", "judged")
LIMIT = 60.0
MEMORY = 6 << 30


@dataclass(frozen=True)
class Trial:
    """A command with bad input; ``status`` are the exit statuses that are in order."""

    kind: str
    name: str
    words: tuple[str, ...]
    status: tuple[int, ...] = (0, 2)
    largest_file: int | None = None
    seconds: float = LIMIT


@dataclass(frozen=True)
class Outcome:
    """What became of a trial."""

    trial: Trial
    what: str
    said: str = field(repr=False)

    @property
    def is_good(self) -> bool:
        """Whether it was done, refused in words, or judged."""
        return self.what in GOOD


def run(trial: Trial, folder: Path) -> Outcome:
    """Run a trial in a process group of its own, so that nothing outlives it."""

    def bounds() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        if trial.largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (trial.largest_file, trial.largest_file))

    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", *trial.words],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=bounds,
    )
    try:
        out, err = process.communicate(timeout=trial.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Outcome(trial, "hung", f"no end after {trial.seconds:g} seconds")
    words = err.decode("utf-8", errors="replace")
    return Outcome(trial, _what(trial, process.returncode, out, words), words)


def environment(folder: Path) -> dict[str, str]:
    """Give an environment whose home and temporary folder lie in the folder of the trials."""
    places = {"HOME": folder / "home", "TMPDIR": folder / "temporary"}
    for place in places.values():
        place.mkdir(exist_ok=True)
    made = {**os.environ, **{name: str(place) for name, place in places.items()}}
    return {**made, "COLUMNS": "80", "POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def _what(trial: Trial, status: int, out: bytes, said: str) -> str:
    if "Traceback (most recent call last)" in said or "panicked at" in said:
        return "traceback"
    if status < 0:
        return f"signal {-status}"
    if "not foreseen" in said:
        return "not foreseen"
    if status not in trial.status:
        return f"status {status}"
    if status == 0:
        return "done"
    if status != 2:
        return "judged"
    lines = [line for line in said.splitlines() if line.strip()]
    named = any(line.startswith(("understudy: ", "Usage: ")) and len(line) > 15 for line in lines)
    return "refused" if named else "refused without a word"


def table(outcomes: Sequence[Outcome]) -> str:
    """Count outcomes by kind, as a table in Markdown."""
    kinds = list(dict.fromkeys(outcome.trial.kind for outcome in outcomes))
    columns = [*GOOD, *sorted({o.what for o in outcomes} - set(GOOD))]
    lines = [
        "| tried | runs | " + " | ".join(columns) + " |",
        "|---|" + "---:|" * (len(columns) + 1),
    ]
    for kind in [*kinds, "all"]:
        some = [o.what for o in outcomes if kind in (o.trial.kind, "all")]
        counts = " | ".join(str(some.count(column)) for column in columns)
        lines.append(f"| {kind} | {len(some)} | {counts} |")
    return "\n".join(lines)
