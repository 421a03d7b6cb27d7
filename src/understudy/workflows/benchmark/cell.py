"""One cell of a benchmark, a process of its own: fit, sample, assess, and count what it takes."""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from understudy.data.relations import with_relations
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.synthesizers import SYNTHESIZERS, Synthesizer, abilities_of, synthesizer
from understudy.workflows.assess import assess

WARM_UP = 500
FIELDS = ("status", "value", "interval", "reference", "flagged", "better", "unit", "note")
T = TypeVar("T")


@dataclass(frozen=True)
class CellTask:
    """A cell, as plain values, and the rows to fit and to compare with."""

    cell: dict[str, Any]
    train: pl.DataFrame
    control: pl.DataFrame
    schema: Schema
    is_inferred: bool = False

    @property
    def table(self) -> Table:
        """The rows to fit; where nobody gave a schema, their relations are looked for."""
        return Table(self.train, self.schema, "training table", is_inferred=self.is_inferred)


class CellJob:
    """The job of a benchmark."""

    def do(self, task: CellTask) -> dict[str, Any]:
        """Fit, sample and assess."""
        cell, train, control = task.cell, task.train, task.control
        warm_up(cell, train, task.schema)
        made = _synthesizer(cell)
        table = task.table
        _, fit = spent(lambda: made.fit(table))
        rows = cell["rows"] or control.height
        synthetic, sample = spent(lambda: made.sample(rows))
        if _is_foreign(cell):
            fit["peak_mib"] = sample["peak_mib"] = peak_of_programs()
        result = assess(
            train,
            synthetic,
            holdout=control,
            target=cell["target"],
            measures=cell["measures"],
            options=cell["measure_options"],
            schema=with_relations(table).schema,
            seed=cell["seed"],
        )
        findings = [finding.to_dict() for finding in result]
        answer = {
            "status": "ok",
            "sizes": {"train": train.height, "synthetic": rows, "control": control.height},
            "findings": {f["measure"]: {name: f[name] for name in FIELDS} for f in findings},
            "warnings": list(result.provenance["warnings"]),
            "fit": fit,
            "sample": sample,
        }
        plain: dict[str, Any] = json.loads(json.dumps(answer, allow_nan=False))
        return plain


def _synthesizer(cell: dict[str, Any]) -> Synthesizer:
    made = synthesizer(cell["method"], seed=cell["seed"], **cell["options"])
    made.tell = lambda text: None  # under epsilon too, a benchmark is to be repeated
    return made


def _is_foreign(cell: dict[str, Any]) -> bool:
    return "program" in abilities_of(SYNTHESIZERS[cell["method"]])


def warm_up(cell: dict[str, Any], train: pl.DataFrame, schema: Schema) -> None:
    """Run the method on a small piece of the table, so that compiling is not timed.

    A foreign program is left alone: what it compiles, it compiles anew in every run.
    """
    if _is_foreign(cell):
        return
    piece = train.sample(min(WARM_UP, train.height), seed=0)
    try:
        _synthesizer(cell).fit(piece, schema=schema).sample(10)
    except Exception:
        return  # if the method cannot do it at all, the run itself will say why


def spent(work: Callable[[], T]) -> tuple[T, dict[str, float]]:
    """Do the work; give CPU and wall seconds, and the process's peak memory meanwhile in MiB."""
    reset_peak()
    cpu, wall = sum(os.times()[:4]), time.perf_counter()
    made = work()
    return made, {
        "wall_seconds": round(time.perf_counter() - wall, 4),
        "cpu_seconds": round(sum(os.times()[:4]) - cpu, 4),
        "peak_mib": peak_memory(),
    }


def reset_peak() -> None:
    """Forget the peak so far, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory() -> float:
    """Give the largest memory the process held, in MiB.

    Linux hands the parent's peak on to ``getrusage`` of a child, so its own page is read there.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return round(next(int(x.split()[1]) for x in lines if x.startswith("VmHWM")) / 1024, 1)
    except (OSError, StopIteration):
        return _largest_mib()


def peak_of_programs() -> float:
    """Give the largest memory that one of the programs held that were run and are done, in MiB."""
    return _largest_mib(of_programs=True)


def _largest_mib(*, of_programs: bool = False) -> float:
    import resource

    whose = resource.RUSAGE_CHILDREN if of_programs else resource.RUSAGE_SELF
    peak = resource.getrusage(whose).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
