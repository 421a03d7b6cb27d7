"""The tables people have: how a method does on public tables of 200 to 20,000 rows.

python benchmarks/zoo.py --out zoo           the default method, all tables, two seeds
python benchmarks/zoo.py --out zoo-cart --method cart --part tuning
python benchmarks/zoo.py --out zoo-k -o k=10 --tables causaldata/titanic,pydataset/MASS/Boston

Each table is halved, by row or by subject (``zoo.toml``); the method is fitted on one half, the
release is as large as that half, and the other half is the holdout. A table with a seed is a cell,
kept as a JSON file in ``--out``: what is there is not done again. Then medians over cells and, in
brackets, how many are flagged:

association  value / reference of fidelity.correlation: the error of associations over that of the
             holdout, rescaled to the size of the release
detection    fidelity.detection, an area under the ROC curve
F1 F2 F3     value / reference of fidelity.univariate, bivariate and trivariate
share        privacy.closest_record, in percent
membership   privacy.membership, an area under the ROC curve
relations    cells in which a record breaks a relation that all training records keep
             (fidelity.relations), of those that have one
lost         columns that vary in training and are missing in the release: absent or all null
seconds      processor seconds of fit and sample, one thread, after a first fit that is not counted
failed       cells in which the method or a measure failed

Settings are chosen on ``--part tuning``, a third of the list; the rest is for one run at the end.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

for _threads in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl  # noqa: E402
from zoo_tables import is_tuning, listed, table  # noqa: E402

import understudy as us  # noqa: E402
from understudy.data.schema import infer  # noqa: E402

warnings.simplefilter("ignore", us.LeftOutWarning)  # said below, as lost columns
SEEDS = (1, 2)
RATIOS = {
    "association": "fidelity.correlation",
    "F1": "fidelity.univariate",
    "F2": "fidelity.bivariate",
    "F3": "fidelity.trivariate",
}
VALUES = {
    "detection": "fidelity.detection",
    "share": "privacy.closest_record",
    "membership": "privacy.membership",
    "relations": "fidelity.relations",
}
SHOWN = ("association", "detection", "F1", "F2", "F3", "share", "membership", "relations")
CLASSES = {
    "under 500 rows": (0, 500),
    "500 to 2,499": (500, 2_500),
    "2,500 and more": (2_500, 10**9),
}
DIGITS = {"association": 2, "F1": 2, "F2": 2, "F3": 2, "share": 1}


def cell(name: str, subject: str | None, seed: int, method: str, options: dict[str, Any]) -> Any:
    """Fit, sample and measure one table with one seed; give plain values."""
    train, holdout = us.split(table(name), holdout=0.5, seed=seed, group=subject)
    kept = {"table": name, "seed": seed, "method": method, "options": options}
    kept |= {"version": us.__version__, "rows": train.height, "columns": train.width}
    try:
        start = time.process_time()
        fitted = us.synthesizer(method, seed=seed, **options).fit(train)
        release = fitted.sample(train.height)
        kept["seconds"] = time.process_time() - start
        kept["lost"] = lost(train, release)
        measures = [m for m in (*RATIOS.values(), *VALUES.values()) if m in us.MEASURES]
        found = us.assess(train, release, holdout=holdout, measures=measures, seed=seed)
    except Exception as error:  # a failure is a result of the benchmark
        return kept | {"failed": f"{type(error).__name__}: {error}"}
    shown = ("value", "reference", "flagged", "note")
    kept["findings"] = {
        f.measure: {name: getattr(f, name) for name in shown} for f in found if f.status == "ok"
    }
    broken = [f"{f.measure}: {f.note}" for f in found if f.status == "failed"]
    return kept | ({"failed": "; ".join(broken)} if broken else {})


def lost(train: pl.DataFrame, release: pl.DataFrame) -> list[str]:
    """Name the columns that vary in training and have no value in the release, with their kind."""
    kinds = infer(train)
    return [
        f"{name} ({kinds[name].kind})"
        for name in train.columns
        if train[name].drop_nulls().n_unique() > 1
        and (name not in release.columns or release[name].null_count() == release.height)
    ]


def warm(method: str, options: dict[str, Any]) -> None:
    """Fit once what is not counted: functions are compiled when they are first called."""
    rows = range(1_500)
    frame = pl.DataFrame(
        {
            "real": [i * 37 % 101 / 7 for i in rows],
            "whole": [i * 11 % 67 if i % 9 else None for i in rows],
            "word": [f"{i * i % 5}" for i in rows],
            "rare": [f"{i % 97 % 53}" if i % 7 else None for i in rows],
            "flag": [bool(i * 7 % 3) for i in rows],
        }
    )
    us.synthesizer(method, **options).fit(frame).sample(len(rows))


def numbers(kept: dict[str, Any]) -> dict[str, float]:
    """Give the numbers of a cell, as far as there are any."""
    findings = kept.get("findings", {})
    found = {}
    for name, measure in RATIOS.items():
        if measure in findings and findings[measure]["reference"]:
            found[name] = findings[measure]["value"] / findings[measure]["reference"]
    for name, measure in VALUES.items():
        if measure in findings:
            found[name] = findings[measure]["value"] * (100 if name == "share" else 1)
    return found


def report(cells: list[dict[str, Any]]) -> str:
    """Write medians and flagged counts by size class, then what was lost and what failed."""
    head = ["training rows", "cells", *SHOWN, "lost", "seconds", "failed"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for label, (low, high) in {"all": (0, 10**9), **CLASSES}.items():
        own = [c for c in cells if low <= c["rows"] < high]
        row = [label, str(len(own))]
        for name in SHOWN:
            known = [v[name] for c in own if name in (v := numbers(c))]
            measure = RATIOS.get(name) or VALUES[name]
            flags = sum(bool(c.get("findings", {}).get(measure, {}).get("flagged")) for c in own)
            digits = DIGITS.get(name, 3)
            said = f"{statistics.median(known):.{digits}f} ({flags})" if known else ""
            if name == "relations":
                said = f"{sum(value > 0 for value in known)} of {len(known)}"
            row.append(said)
        seconds = [c["seconds"] for c in own if "seconds" in c]
        row.append(str(sum(len(c.get("lost", ())) for c in own)))
        row.append(f"{statistics.median(seconds):.2f} (≤ {max(seconds):.1f})" if seconds else "")
        row.append(str(sum("failed" in c for c in own)))
        lines.append("| " + " | ".join(row) + " |")
    lines.append("")
    for kept in cells:
        if kept.get("lost"):
            lines.append(f"lost: {kept['table']}, seed {kept['seed']}: {', '.join(kept['lost'])}")
        if numbers(kept).get("relations"):
            share = numbers(kept)["relations"]
            lines.append(f"relations: {kept['table']}, seed {kept['seed']}: {share:.4f} of rows")
        if "failed" in kept:
            lines.append(f"failed: {kept['table']}, seed {kept['seed']}: {kept['failed']}")
    return "\n".join(lines)


def wanted(names: str, part: str) -> dict[str, str | None]:
    """Choose tables by name or by part of the list."""
    known = listed()
    if names:
        unknown = [name for name in names.split(",") if name not in known]
        if unknown:
            raise SystemExit(f"not on the list (benchmarks/zoo.toml): {', '.join(unknown)}")
        return {name: known[name] for name in names.split(",")}
    parts = {"all": (True, False), "tuning": (True,), "rest": (False,)}
    return {name: subject for name, subject in known.items() if is_tuning(name) in parts[part]}


def option(text: str) -> tuple[str, Any]:
    """Read name=value; a value is JSON, or else a word."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def path_of(out: Path, name: str, seed: int) -> Path:
    return out / f"{name.replace('/', '.')}.{seed}.json"


def run(out: Path, tasks: list[tuple[Any, ...]], method: str, options: Any, workers: int) -> None:
    """Do the cells that are not there, each written as soon as it is done."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=warm, initargs=(method, options))
    with pool:
        running = {pool.submit(cell, *task, method, options): task for task in tasks}
        for done, future in enumerate(as_completed(running), 1):
            name, _, seed = running[future]
            kept = future.result()
            path = path_of(out, name, seed)
            path.with_suffix(".part").write_text(json.dumps(kept, indent=1), "utf-8")
            path.with_suffix(".part").replace(path)
            said = ", ".join(f"{k} {v:.3g}" for k, v in numbers(kept).items())
            print(f"{done} of {len(tasks)}: {name}, seed {seed}: {kept.get('failed', said)}",
                  file=sys.stderr, flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="How a method does on public tables.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the cells")
    parser.add_argument("--method", default="forest")
    parser.add_argument("-o", dest="options", action="append", default=[], help="name=value")
    parser.add_argument("--tables", default="", help="names of the list, with commas")
    parser.add_argument("--part", choices=("all", "tuning", "rest"), default="all")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    options = dict(map(option, asked.options))
    asked.out.mkdir(parents=True, exist_ok=True)
    tables = wanted(asked.tables, asked.part)
    tasks = [(name, subject, seed) for name, subject in tables.items() for seed in asked.seeds]
    absent = [t for t in tasks if not path_of(asked.out, t[0], t[2]).exists()]
    if absent:
        run(asked.out, absent, asked.method, options, asked.workers)
    cells = [json.loads(path_of(asked.out, t[0], t[2]).read_text("utf-8")) for t in tasks]
    others = {c["table"] for c in cells if (c["method"], c["options"]) != (asked.method, options)}
    if others:
        raise SystemExit(f"{asked.out} holds cells of another method or options: {min(others)}")
    print(f"{asked.method} {options or ''}, understudy {us.__version__}, {len(tables)} tables, "
          f"part {'chosen' if asked.tables else asked.part}, seeds {asked.seeds}\n")  # fmt: skip
    print(report(cells))


if __name__ == "__main__":
    main()
