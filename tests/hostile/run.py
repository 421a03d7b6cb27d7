"""Everything that was thought of to break the program, one process each: ``make test-hostile``."""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hostile import documents, kills, tables
from hostile.outcome import Outcome, Trial, run, table
from hostile.workshop import furnish

KINDS = {
    "files": tables.bad_files,
    "names": tables.bad_names,
    "cells": tables.bad_cells,
    "options": tables.bad_options,
    "disk": tables.full_disk,
    "documents": documents.bad_documents,
    "models": documents.bad_models,
}
RUNNING = {"kills": kills.kill, "two": kills.two_at_once}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials; 1 if one ended badly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join([*KINDS, *RUNNING])}")
    parser.add_argument("--share", type=float, default=1.0, help="of the malformed inputs")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=(), help="commands that are killed; else all")
    given = parser.parse_args(arguments)
    wanted = given.kinds or [*KINDS, *RUNNING]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        folder = Path(name)
        furnish(folder)
        trials = [trial for kind in KINDS if kind in wanted for trial in KINDS[kind](folder)]
        if given.share < 1:
            trials = random.Random(0).sample(trials, int(len(trials) * given.share))
        outcomes += told(tried(trials, folder, given.workers))
        if (folder / "ran_a_program").exists():
            outcomes.append(Outcome(Trial("bad models", "forged", ()), "ran a program", ""))
        for kind in RUNNING:
            if kind in wanted:
                outcomes += told(RUNNING[kind](folder, given.only))
    bad = [outcome for outcome in outcomes if not outcome.is_good]
    for outcome in bad:
        tail = "\n    ".join(outcome.said.strip().splitlines()[-6:])
        sys.stdout.write(
            f"{outcome.what}: {outcome.trial.kind}: {outcome.trial.name}\n    {tail}\n"
        )
    sys.stdout.write(table(outcomes) + "\n")
    sys.stdout.write(f"{len(outcomes) - len(bad)} passed, {len(bad)} failed\n")
    return 1 if bad else 0


def tried(trials: Sequence[Trial], folder: Path, workers: int) -> Iterator[Outcome]:
    """Run trials side by side; the order of the outcomes is that of the trials."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda trial: run(trial, folder), trials)


def told(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Print what ended badly as it comes."""
    kept = []
    for outcome in outcomes:
        kept.append(outcome)
        if not outcome.is_good:
            tail = "\n    ".join(outcome.said.strip().splitlines()[-6:])
            sys.stdout.write(f"{outcome.what}: {outcome.trial.kind}: {outcome.trial.name}\n")
            sys.stdout.write(f"    {tail}\n")
            sys.stdout.flush()
    return kept


if __name__ == "__main__":
    sys.exit(main())
