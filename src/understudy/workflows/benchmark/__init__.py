"""Split, synthesize, assess, over methods and splits; mean and spread by method."""

import json
import math
import os
import re
import secrets
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from understudy._version import __version__
from understudy.data.schema import Schema, dumps, few
from understudy.data.tables import Table, split, warn_left_out, write_text
from understudy.documents import check_form, read_json, read_text
from understudy.errors import DataError, OptionError
from understudy.jobs.fingerprint import fingerprint
from understudy.jobs.locks import locked
from understudy.jobs.progress import Progress, ProgressOrBar, reporter, shows_progress, silent
from understudy.jobs.runner import run
from understudy.judging.comparison import stream
from understudy.measures import MEASURES
from understudy.options import (
    REPLICATES,
    OptionsByName,
    Rows,
    Seed,
    Texts,
    by_name,
    check_arguments,
    check_each,
    check_plain,
)
from understudy.synthesizers import SYNTHESIZERS, synthesizer
from understudy.synthesizers.generators import method_identity
from understudy.workflows.benchmark.cell import CellJob, CellTask

__all__ = ["MEASURED", "Benchmark", "benchmark"]

KEY_FILE = "key"
KEY = re.compile("[0-9a-f]{64}")
LARGEST_KEY = 1024
MEASURED = (
    "fidelity.univariate",
    "fidelity.bivariate",
    "fidelity.trivariate",
    "fidelity.detection",
    "fidelity.relations",
    "utility.classification",
    "privacy.identical_matches",
    "privacy.closest_record",
)
FEWEST_ROWS = 40
HINT = "wait until it has ended, or name another folder (--out)"
VERSION = 1
PHASES = ("fit", "sample")
COSTS = ("cpu_seconds", "wall_seconds", "peak_mib")
Cell = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Benchmark:
    """Cells (one method on one split each) and where they come from."""

    cells: tuple[Cell, ...]
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        failed = sum(cell["status"] != "ok" for cell in self.cells)
        return f"Benchmark({len(self.cells)} cells, {failed} failed; methods: {few(self.methods)})"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods tried."""
        return tuple(dict.fromkeys(cell["method"] for cell in self.cells))

    @property
    def all_failed(self) -> bool:
        """Whether no cell worked."""
        return all(cell["status"] != "ok" for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the summary by method, the references, all cells."""
        return {
            "version": VERSION,
            "methods": [self._summary(method) for method in self.methods],
            "references": _by_measure(self._one_a_split(), "reference"),
            "cells": [{k: v for k, v in cell.items() if k != "key"} for cell in self.cells],
            "provenance": dict(self.provenance),
        }

    def frame(self) -> pl.DataFrame:
        """Give one row for each method, split and measure."""
        rows = []
        for cell in self.cells:
            head = {"method": cell["method"], "split": cell["split"]}
            if cell["status"] != "ok":
                rows.append({**head, "status": cell["status"], "note": cell["reason"]})
            for name, found in cell.get("findings", {}).items():
                low, high = found["interval"] or (None, None)
                row = {k: found[k] for k in ("status", "value", "reference", "flagged", "note")}
                rows.append({**head, "measure": name, **row, "low": low, "high": high})
            for phase in PHASES:
                for cost, number in cell.get(phase, {}).items():
                    name = f"{phase}.{cost}"
                    rows.append({**head, "measure": name, "status": "ok", "value": number})
        return pl.DataFrame(rows, schema=COLUMNS)

    def _one_a_split(self) -> list[Cell]:
        """Give one finished cell of each split: the reference is the same for all its methods."""
        return list({c["split"]: c for c in reversed(self.cells) if c["status"] == "ok"}.values())

    def _summary(self, method: str) -> dict[str, Any]:
        own = [cell for cell in self.cells if cell["method"] == method]
        good = [cell for cell in own if cell["status"] == "ok"]
        return {
            "method": method,
            "options": dict(own[0]["options"]),
            "splits": len(good),
            "failed": len(own) - len(good),
            "reasons": list(dict.fromkeys(c["reason"] for c in own if c["status"] != "ok")),
            "measures": _by_measure(good, "value"),
            "notes": _troubles(good),
            **{
                phase: {cost: mean_and_sd(c[phase][cost] for c in good) for cost in COSTS}
                for phase in PHASES
            },
        }


COLUMNS = {
    "method": pl.String,
    "split": pl.Int64,
    "measure": pl.String,
    "status": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "reference": pl.Float64,
    "flagged": pl.Boolean,
    "note": pl.String,
}


NUMBER = (float, None)
FINISHED = {
    "findings": {
        str: {
            **dict.fromkeys(("status", "better", "unit", "note"), str),
            **dict.fromkeys(("value", "reference"), NUMBER),
            "interval": ([NUMBER], None),
            "flagged": (bool, None),
        }
    },
    "warnings": [str],
    "sizes": dict.fromkeys(("train", "synthetic", "control"), int),
    **dict.fromkeys(PHASES, dict.fromkeys(COSTS, NUMBER)),
}


def is_whole(cell: Cell) -> bool:
    """Whether a document is a finished cell, with all that is made of it."""
    try:
        check_form(cell, FINISHED)
    except ValueError:
        return False
    ends = [finding["interval"] for finding in cell["findings"].values()]
    return cell.get("status") == "ok" and all(pair is None or len(pair) == 2 for pair in ends)


def mean_and_sd(values: Iterable[float | None]) -> dict[str, Any]:
    """Give mean, standard deviation over splits, and how many there were.

    Examples
    --------
    >>> mean_and_sd([1.0, 3.0, None])
    {'mean': 2.0, 'sd': 1.414..., 'splits': 2}
    """
    known = [value for value in values if value is not None]
    return {
        "mean": statistics.fmean(known) if known else None,
        "sd": statistics.stdev(known) if len(known) > 1 else None,
        "splits": len(known),
    }


def _by_measure(cells: Sequence[Cell], field: str) -> dict[str, dict[str, Any]]:
    """Sum up one field of each measure; what was not measured is not part of it."""
    found = [(name, f) for cell in cells for name, f in cell.get("findings", {}).items()]
    made = {}
    for name in dict.fromkeys(name for name, _ in found):
        own = [f for measure, f in found if measure == name]
        made[name] = {
            **mean_and_sd(f[field] for f in own if f["status"] == "ok"),
            "unit": own[0]["unit"],
            "better": own[0]["better"],
        }
        if field == "value":
            made[name]["flagged"] = sum(bool(f["flagged"]) for f in own)
    return made


def _troubles(cells: Sequence[Cell]) -> list[str]:
    """Say which measures did not work on some split, and why."""
    reasons = {
        f"{name}: {f['note']}": None
        for cell in cells
        for name, f in cell["findings"].items()
        if f["status"] != "ok"
    }
    warnings = {warning: None for cell in cells for warning in cell.get("warnings", [])}
    return [*reasons, *warnings]


@dataclass(frozen=True)
class _Plan:
    """What all cells of a benchmark share."""

    real: Table
    control: Table | None
    options: Mapping[str, Mapping[str, Any]]
    target: str | None
    rows: int | None
    seed: int
    digest: str
    identities: Mapping[str, str] = field(default_factory=dict)

    def cell(self, method: str, number: int) -> dict[str, Any]:
        """Describe one cell; its key tells whether it was done before."""
        cell = {
            "understudy": __version__,
            "method": method,
            "options": dict(self.options.get(method, {})),
            "split": number,
            "seed": int(stream(self.seed, "benchmark", str(number)).integers(2**31)),
            "rows": self.rows,
            "target": self.target,
            "measures": self.measures(),
            "measure_options": {n: dict(o) for n, o in self.options.items() if n in MEASURES},
        }
        text = json.dumps(cell, sort_keys=True)
        return {**cell, "key": fingerprint(text, self.digest, self.identities.get(method))}

    def measures(self) -> list[str]:
        """Name what is measured: a number is predicted by regression, and none without a target."""
        if self.target is None:
            return [name for name in MEASURED if "target" not in MEASURES[name].card.needs]
        if not self.real.schema[self.target].is_numeric:
            return list(MEASURED)
        return ["utility.regression" if n == "utility.classification" else n for n in MEASURED]

    def halves(self, number: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Give the rows to fit and the control: halves, or the two tables, swapped in turn."""
        if self.control is None:
            fit, control = split(self.real.modelled, holdout=0.5, seed=seed)
            return fit, control
        pair = self.real.modelled, self.control.modelled
        return pair if number % 2 else (pair[1], pair[0])


@shows_progress
def benchmark(
    train: Any,
    *,
    methods: Texts,
    splits: Annotated[int, REPLICATES] = 10,
    holdout: Any = None,
    target: str | None = None,
    rows: Rows = None,
    options: OptionsByName = None,
    schema: Schema | str | Path | None = None,
    out: str | Path | None = None,
    seed: Seed = 0,
    progress: ProgressOrBar = silent,
) -> Benchmark:
    """Try methods on splits of real data, each in a process of its own.

    Parameters
    ----------
    train, holdout : path or frame
        With a holdout, odd splits fit the training table and even ones the holdout, the other
        being the control; without, each split cuts the training table into random halves.
    methods : names of methods
    splits : int
    target : name of a column, optional
        What is to be predicted; without it prediction is not measured.
    rows : int, optional
        Synthetic rows; as many as the control has if not given.
    options : mapping, optional
        Options by name of the method or measure: ``{"flip": {"p": 0.2}}``.
    schema : Schema or path, optional
    out : path of a folder, optional
        Finished cells are kept there and not done again by a later run on the same data with
        the same options, seed and version. It holds figures, no rows.
    seed : int
    progress : True or callable, optional
        True shows a bar; a function is called with (label, done, total).

    Returns
    -------
    Benchmark
        A method that fails is in it, with its reason.
    """
    check_arguments(benchmark, locals())
    given = by_name(options)
    names = _checked([methods] if isinstance(methods, str) else methods, given)
    progress = reporter(progress)
    real = Table.of(train, schema, name="training table").with_rows()
    warn_left_out(real, train, schema)
    control = None
    if holdout is not None:
        control = Table.of(holdout, real.schema, name="holdout").with_rows()
    elif real.height < FEWEST_ROWS:
        raise DataError(
            f"{real.name}: {real.height} rows are too few to split",
            hint=f"give at least {FEWEST_ROWS} rows",
        )
    real.schema.check_modelled("target", [] if target is None else [target])
    folder = None if out is None else Path(out)
    # where cells are kept, a method or a program that was changed is another
    own = {n: method_identity(n, given.get(n, {})) for n in names if folder is not None}
    with _alone(folder):
        rows_known = [table.modelled for table in (real, control) if table is not None]
        # by a key: a bare hash would confirm a guessed table
        digest = fingerprint(_key(folder), dumps(real.schema), rows_known)
        plan = _Plan(real, control, given, target, rows, seed, digest, own)
        done = _cells(plan, names, splits, folder, progress)
    progress("done", len(done), len(done))
    provenance = {
        "understudy": __version__,
        "seed": seed,
        "splits": splits,
        "swapped": control is not None,
        "target": target,
        "rows": rows,
        "train": {"rows": real.height, "columns": len(real.schema)},
        "holdout": None if control is None else {"rows": control.height},
        "options": given,
    }
    return Benchmark(tuple(done), provenance)


def _checked(methods: Iterable[str], options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Refuse, before any work is done, what cannot be run."""
    names = list(dict.fromkeys(methods))
    if not names:
        raise OptionError("there is no method to try", hint=f"there are: {', '.join(SYNTHESIZERS)}")
    for name in names:
        synthesizer(name, **options.get(name, {})).ready()
    others = {name: given for name, given in options.items() if name not in names}
    for name in others:
        if name in SYNTHESIZERS:
            raise OptionError(f"'{name}' has options but is not among the methods", hint="add it")
    check_each(others, {**{n: SYNTHESIZERS[n] for n in names}, **MEASURES}, "method or measure")
    check_plain(options)
    return names


@contextmanager
def _alone(folder: Path | None) -> Iterator[None]:
    """Keep other runs off a folder of results."""
    with ExitStack() as stack:
        if folder is not None and folder.is_dir():
            try:
                stack.enter_context(locked(folder / KEY_FILE, hint=HINT))
            except OSError as error:
                raise DataError(
                    f"{folder}: cannot be written: {error.strerror}", hint="name another folder"
                ) from error
        yield


def _key(folder: Path | None) -> bytes:
    """Give the key of the hashes in a folder of results; a new one for a new folder."""
    if folder is None:
        return secrets.token_bytes(32)
    file = folder / KEY_FILE
    if not os.path.lexists(file):
        write_text(secrets.token_hex(32), file, for_owner=True)
    hint = "name another folder, or delete it to begin anew"
    key = read_text(file, "key of finished cells", hint, largest=LARGEST_KEY).strip()
    if not KEY.fullmatch(key):
        raise DataError(f"{file}: this is no key of finished cells", hint=hint)
    return key.encode()


def _cells(
    plan: _Plan, names: Sequence[str], splits: int, folder: Path | None, progress: Progress
) -> list[Cell]:
    """Do the cells one after the other, split by split; skip those done before."""
    cells = [plan.cell(name, number) for number in range(1, splits + 1) for name in names]
    done: dict[str, Cell] = {}

    def waiting() -> Iterator[CellTask]:
        halves, of = None, 0
        for place, cell in enumerate(cells):
            number = cell["split"]
            progress(f"{cell['method']}, split {number} of {splits}", place, len(cells))
            kept = _finished_before(folder, cell)
            if kept is not None:
                done[cell["key"]] = kept
                continue
            if halves is None or of != number:
                halves, of = plan.halves(number, cell["seed"]), number
            yield CellTask(cell, *halves, plan.real.schema, plan.real.is_inferred)

    for outcome in run(CellJob(), waiting(), workers=1, limit=math.inf, alone=True):
        cell = outcome.task.cell
        result = {**cell, **(outcome.value or {"status": "failed", "reason": outcome.error})}
        if folder is not None:
            write_text(json.dumps(result, indent=1) + "\n", _place(folder, cell))
        done[cell["key"]] = result
    return [done[cell["key"]] for cell in cells]


def _place(folder: Path, cell: Mapping[str, Any]) -> Path:
    return folder / f"{cell['method']}-{cell['split']:03d}.json"


def _finished_before(folder: Path | None, cell: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read a cell that an earlier run finished; one that failed or is spoilt is done again."""
    if folder is None or not _place(folder, cell).is_file():
        return None
    try:
        kept = read_json(_place(folder, cell), "finished cell", "delete it")
    except DataError:
        return None
    same = isinstance(kept, dict) and kept.get("key") == cell["key"] and is_whole(kept)
    return {**kept, **cell} if same else None
