"""Runs that are killed, and run again; and two runs at once."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile.outcome import Outcome, Trial, environment, run
from hostile.workshop import attack, benchmark, calibrate, leftovers, release

KILLS = 20
GENTLE = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
TIMES = ("seconds", "megabytes", "peak_mb", "spent")


@dataclass(frozen=True)
class Job:
    """A command that can be killed; what it makes, and how to read what must be the same again.

    ``kept`` is a file or folder in which it keeps what is done.
    """

    name: str
    words: tuple[str, ...]
    makes: tuple[str, ...]
    result: Callable[[Path], Any]
    kept: str | None = None


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in TIMES}
    return [_without_times(v) for v in value] if isinstance(value, list) else value


def _findings(folder: Path) -> Any:
    return _without_times(json.loads((folder / "attacked.json").read_text())["findings"])


def _cells(folder: Path) -> Any:
    files = sorted((folder / "killed_cells").glob("*.json"))
    wanted = ("method", "split", "seed", "status", "findings", "sizes")
    cells = [json.loads(file.read_text()) for file in files]
    return [{name: cell.get(name) for name in wanted} for cell in cells]


def _released(folder: Path) -> Any:
    return (folder / "killed_release" / "synthetic.csv").read_bytes()


def _calibrated(folder: Path) -> Any:
    """Its schedule goes by the clock: only that the file is whole can be said."""
    return sorted(json.loads((folder / "killed.json").read_text()))


def jobs() -> list[Job]:
    """Give the five commands that take long."""
    synthesize = ("synthesize", "train.csv", "--method", "cart", "--rows", "400000", "--out")
    return [
        Job(
            "attack", (*attack("killed.journal"), "--json", "attacked.json"),
            ("killed.journal", "attacked.json"), _findings, "killed.journal",
        ),
        Job(
            "calibrate", calibrate("killed.json", "killed.cjournal"),
            ("killed.json", "killed.cjournal"), _calibrated, "killed.cjournal",
        ),
        Job("benchmark", benchmark("killed_cells"), ("killed_cells",), _cells, "killed_cells"),
        Job(
            "release", release("killed_release"), ("killed_release", "killed_release-steward"),
            _released,
        ),
        Job(
            "synthesize", (*synthesize, "killed.csv", "--save", "killed.model"),
            ("killed.csv", "killed.model", "killed.csv.README.md"),
            lambda folder: (folder / "killed.csv").read_bytes(),
        ),
    ]  # fmt: skip


def _chosen(only: Collection[str]) -> list[Job]:
    return [job for job in jobs() if not only or job.name in only]


def kill(folder: Path, only: Collection[str] = (), kills: int = KILLS) -> Iterator[Outcome]:
    """Kill each command again and again, and look what the same command makes afterwards."""
    for job in _chosen(only):
        _clear(folder, job)
        before = time.monotonic()
        first = run(_trial(job, "undisturbed"), folder)
        lasts = time.monotonic() - before
        yield first
        if not first.is_good:
            continue
        right = job.result(folder)
        rng = random.Random(job.name)
        for number in range(kills):
            number_of = signal.SIGKILL if number % 2 else GENTLE[number // 2 % len(GENTLE)]
            _clear(folder, job)
            yield _killed_once(folder, job, number_of, rng.uniform(0.3, lasts), right)


def _trial(job: Job, name: str) -> Trial:
    return Trial(f"kills: {job.name}", name, job.words, (0, 1, 3), seconds=180)


def _killed_once(folder: Path, job: Job, how: signal.Signals, after: float, right: Any) -> Outcome:
    trial = _trial(job, f"{how.name} after {after:.2f} s")
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", *job.words],
        cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        process.communicate(timeout=after)
        ended = True
    except subprocess.TimeoutExpired:
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
        ended = False
        if "Traceback" in said:
            return Outcome(trial, "traceback", said)
    if not ended and how != signal.SIGKILL and (left := leftovers(folder)):
        return Outcome(trial, "left rows behind", "\n".join(left))
    done = _done(folder, job)
    if ended or (job.name == "release" and (folder / job.makes[0]).exists()):
        again = Outcome(trial, "done", "it had ended")  # a release is never made over another
    else:
        again = run(trial, folder)
    if not again.is_good:
        return again
    if job.result(folder) != right:
        return Outcome(trial, "another result", again.said)
    if _done(folder, job) < done:
        return Outcome(trial, "lost results", again.said)
    if left := _leftovers_in_a_while(folder):
        return Outcome(trial, "left rows behind", "\n".join(left))
    return again


def _leftovers_in_a_while(folder: Path) -> list[str]:
    """Name what is left; workers that lost their parent soon notice it."""
    for _ in range(30):
        if not (left := leftovers(folder)):
            return []
        time.sleep(0.1)
    return left


def _done(folder: Path, job: Job) -> int:
    """Count what is kept of the work."""
    if job.kept is None or not (folder / job.kept).exists():
        return 0
    kept = folder / job.kept
    return len(list(kept.glob("*.json"))) if kept.is_dir() else kept.read_text().count('"task"')


def _clear(folder: Path, job: Job) -> None:
    for name in job.makes:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)


def two_at_once(folder: Path, only: Collection[str] = ()) -> Iterator[Outcome]:
    """Start the same command twice: one may be refused, the result is whole."""
    for job in _chosen(only):
        for number in range(3):
            _clear(folder, job)
            trial = _trial(job, f"two at once, {number}")
            trial = Trial("two at once", f"{job.name} {number}", trial.words, (0, 1, 2, 3))
            other = subprocess.Popen(
                [sys.executable, "-m", "understudy", *job.words],
                cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            time.sleep(number * 0.7)
            one = run(trial, folder)
            _, said = other.communicate(timeout=180)
            if "Traceback" in said:
                yield Outcome(trial, "traceback", said)
            elif one.is_good and one.what == "refused" and other.returncode == 2:
                yield Outcome(trial, "both refused", one.said + said)
            elif one.is_good and (left := _leftovers_in_a_while(folder)):
                yield Outcome(trial, "left rows behind", "\n".join(left))
            else:
                if one.is_good:
                    job.result(folder)
                yield one
