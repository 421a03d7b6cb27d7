"""A folder with one sound file of every kind that the program reads: what the trials spoil."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl

from hostile.outcome import environment
from people import people

NATIVE = (
    "independent", "bootstrap", "flip", "corrupt", "cart", "sequential", "forest", "copula", "bayes"
)  # fmt: skip
POLICY = """\
version = 1
required = ["privacy.identical_matches"]
maximum_epsilon = 2.0

[[rule]]
measure = "privacy.closest_record"
upper = 0.99
reason = "a wide bound"

[[rule]]
measure = "fidelity.univariate"
ratio_to_reference = 9.0
"""
PLAIN = '[[rule]]\nmeasure = "fidelity.univariate"\nratio_to_reference = 99.0\n'
MEASURES = "fidelity.univariate,privacy.identical_matches"


def furnish(folder: Path) -> None:
    """Make the sound files."""
    rows = people(300, 1).drop("nothing")
    rows.write_csv(folder / "train.csv")
    rows.write_parquet(folder / "train.parquet")
    rows.write_ipc(folder / "train.arrow")
    rows.write_excel(folder / "train.xlsx")
    people(300, 2).drop("nothing").write_csv(folder / "holdout.csv")
    small = rows.select("sex", "smoker", "children")
    small.write_csv(folder / "small.csv")
    levels = {"sex": ["f", "m"], "smoker": ["false", "true"], "children": list("01234")}
    (folder / "declared.toml").write_text(
        "".join(
            f"[[column]]\nname = '{name}'\nkind = 'category'\nlevels = {json.dumps(values)}\n"
            for name, values in levels.items()
        )
    )
    (folder / "policy.toml").write_text(POLICY)
    (folder / "plain.toml").write_text(PLAIN)
    do(folder, "schema", "train.csv", "--out", "schema.toml", "--quiet")
    do(folder, "synthesize", "train.csv", "--out", "synthetic.csv", "--method", "cart", "--quiet")
    for method in NATIVE:
        words = ("synthesize", "train.csv", "--out", "spare.csv", "--method", method)
        do(folder, *words, "--save", f"{method}.model", "--rows", "5", "--quiet")
    do(
        folder, "assess", "train.csv", "synthetic.csv", "--holdout", "holdout.csv", "--measures",
        MEASURES, "--json", "assessment.json", "--receipt", "receipt.json", "--quiet",
    )  # fmt: skip
    do(
        folder, "synthesize", "small.csv", "--schema", "declared.toml", "--method", "bayes",
        "--epsilon", "1", "--ledger", "ledger.json", "--out", "noisy.csv", "--quiet",
    )  # fmt: skip
    do(folder, *attack("attack.journal"), "--quiet")
    do(folder, *calibrate("calibration.json", "calibration.journal"), "--quiet")
    do(folder, *benchmark("cells"), "--quiet")


def attack(journal: str) -> tuple[str, ...]:
    """Attack a small table in a handful of refits."""
    words = ("attack", "worlds", "small.csv", "--method", "flip", "--refits", "32", "--workers")
    return (*words, "1", "--journal", journal, "--budget", "40")


def calibrate(out: str, journal: str) -> tuple[str, ...]:
    """Calibrate one measure for a few seconds."""
    words = ("calibrate", "small.csv", "--measures", "privacy.identical_matches", "--workers", "1")
    return (*words, "--budget", "6", "--out", out, "--journal", journal)


def benchmark(out: str) -> tuple[str, ...]:
    """Try two quick methods on two splits."""
    words = ("benchmark", "small.csv", "--methods", "independent,bootstrap", "--splits", "2")
    return (*words, "--out", out)


def release(out: str) -> tuple[str, ...]:
    """Release a small table by a quick method."""
    words = ("release", "train.csv", "--policy", "plain.toml", "--out", out, "--method", "cart")
    return (*words, "--measures", MEASURES, "--seed", "1")


def do(folder: Path, *words: str) -> None:
    """Run a command that must not fail."""
    done = subprocess.run(
        [sys.executable, "-m", "understudy", *words],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"{' '.join(words)}: status {done.returncode}\n{done.stderr}")


def leftovers(folder: Path) -> list[str]:
    """Name what runs left behind: hidden files of ours and temporary folders."""
    temporary = [str(path) for path in (folder / "temporary").iterdir()]
    hidden = [
        os.path.join(place, name)
        for place, folders, names in os.walk(folder)
        for name in (*folders, *names)
        if name.startswith(".understudy-") and not name.endswith(".lock")
    ]
    return sorted({*temporary, *hidden})


def column(values: list[object], name: str = "odd") -> pl.DataFrame:
    """Put an odd column beside sound ones."""
    rows = people(len(values), 3).select("sex", "age", "income")
    return rows.with_columns(pl.Series(name, values, strict=False))
