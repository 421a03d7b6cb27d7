"""Split, synthesize, assess, over methods and splits."""

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import polars as pl

from understudy._version import __version__
from understudy.data.memory import MemorySource
from understudy.data.schema import dumps, near
from understudy.data.tables import Table, split, write_text
from understudy.documents import read_json, read_text
from understudy.errors import DataError, OptionError
from understudy.jobs.progress import Progress, reporter, shows_progress, silent
from understudy.jobs.temporary import TemporaryFolder
from understudy.judging.comparison import stream
from understudy.measures import MEASURES
from understudy.options import MOST_REPLICATES, MOST_ROWS, check_number
from understudy.synthesizers import SYNTHESIZERS, synthesizer
from understudy.synthesizers.generators import method_identity
from understudy.synthesizers.program import guarded, wait_for
from understudy.workflows.benchmark.result import Benchmark, is_whole
from understudy.workflows.provenance import warn_left_out
from understudy.workflows.running import check_options

__all__ = ["MEASURED", "Benchmark", "benchmark"]

KEY_FILE = "key"
KEY = re.compile("[0-9a-f]{64}")
LARGEST_KEY = 1024
MEASURED = (
    "fidelity.univariate",
    "fidelity.bivariate",
    "fidelity.trivariate",
    "fidelity.detection",
    "utility.classification",
    "privacy.identical_matches",
    "privacy.closest_record",
)
FEWEST_ROWS = 40
HERE = str(Path(__file__).parents[3])


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
        known = [cell, self.digest, self.identities.get(method)]
        text = json.dumps(known, sort_keys=True, default=str)
        return {**cell, "key": hashlib.sha256(text.encode()).hexdigest()}

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
    methods: Sequence[str],
    splits: int = 10,
    holdout: Any = None,
    target: str | None = None,
    rows: int | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    schema: Any = None,
    out: str | Path | None = None,
    seed: int = 0,
    progress: Progress | bool = silent,
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
    names = _checked(methods, options or {}, splits, rows)
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
    if target is not None and target not in real.schema.modelled:
        raise OptionError(
            f"target: there is no column '{target}'", hint=near(target, real.schema.modelled)
        )
    folder = None if out is None else Path(out)
    # where cells are kept, a method or a program that was changed is another
    own = {n: method_identity(n, (options or {}).get(n, {})) for n in names if folder is not None}
    digest = _digest(real, control, _key(folder))
    plan = _Plan(real, control, options or {}, target, rows, seed, digest, own)
    done = list(_cells(plan, names, splits, folder, progress))
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
        "options": {name: dict(given) for name, given in (options or {}).items()},
    }
    return Benchmark(tuple(done), provenance)


def _checked(
    methods: Iterable[str],
    options: Mapping[str, Mapping[str, Any]],
    splits: int,
    rows: int | None,
) -> list[str]:
    """Refuse, before any work is done, what cannot be run."""
    names = list(dict.fromkeys(methods))
    if not names:
        raise OptionError("there is no method to try", hint=f"there are: {', '.join(SYNTHESIZERS)}")
    check_number("splits", splits, 1, MOST_REPLICATES, whole=True)
    if rows is not None:
        check_number("rows", rows, 1, MOST_ROWS, whole=True)
    for name in names:
        synthesizer(name, **options.get(name, {})).ready()
    others = {name: given for name, given in options.items() if name not in names}
    for name in others:
        if name in SYNTHESIZERS:
            raise OptionError(f"'{name}' has options but is not among the methods", hint="add it")
        if name not in MEASURES:
            raise OptionError(
                f"there is no method or measure '{name}'", hint=near(name, [*names, *MEASURES])
            )
    check_options(others)
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"an option is no plain value: {error}", hint="use numbers, texts and lists of them"
        ) from error
    return names


def _digest(real: Table, control: Table | None, key: bytes) -> str:
    """Tell the tables apart by a keyed hash: a bare one would confirm a guessed table."""
    tables = [real] if control is None else [real, control]
    contents = [MemorySource(table).digest(key) for table in tables]
    text = "\n".join([*contents, dumps(real.schema)])
    return hmac.new(key, text.encode(), "sha256").hexdigest()


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
) -> Iterator[Mapping[str, Any]]:
    """Do the cells one after the other, split by split; skip those done before."""
    total = splits * len(names)
    with TemporaryFolder() as temporary:
        for number in range(1, splits + 1):
            written: Path | None = None
            for place, name in enumerate(names):
                cell = plan.cell(name, number)
                progress(
                    f"{name}, split {number} of {splits}", (number - 1) * len(names) + place, total
                )
                kept = _kept(folder, cell)
                if kept is not None:
                    yield kept
                    continue
                if written is None:
                    written = _write_halves(plan, number, cell["seed"], temporary)
                result = {**cell, **_run(cell, written)}
                if folder is not None:
                    write_text(json.dumps(result, indent=1) + "\n", _place(folder, cell))
                yield result


def _write_halves(plan: _Plan, number: int, seed: int, folder: Path) -> Path:
    for name, part in zip(("train", "control"), plan.halves(number, seed), strict=True):
        part.write_ipc(folder / f"{name}.arrow")
    (folder / "schema.toml").write_text(dumps(plan.real.schema), encoding="utf-8")
    return folder


def _place(folder: Path, cell: Mapping[str, Any]) -> Path:
    return folder / f"{cell['method']}-{cell['split']:03d}.json"


def _kept(folder: Path | None, cell: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read a cell that an earlier run finished; one that failed or is spoilt is done again."""
    if folder is None or not _place(folder, cell).is_file():
        return None
    try:
        kept = read_json(_place(folder, cell), "finished cell", "delete it")
    except DataError:
        return None
    same = isinstance(kept, dict) and kept.get("key") == cell["key"] and is_whole(kept)
    return {**kept, **cell} if same else None


def _run(cell: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Run a cell in a process of its own; if that dies, say how."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    (folder / "cell.json").write_text(json.dumps(cell), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([HERE, *filter(None, sys.path)]),
        # what a method writes goes with the folder, however the run ends
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder)),
    }
    words = [sys.executable, "-P", "-m", "understudy.workflows.benchmark.cell", str(folder)]
    with (folder / "said").open("w+b") as said:
        with guarded(words, folder, stdout=DEVNULL, stderr=said, env=environment) as cell_process:
            status = wait_for(cell_process)
        if answer.is_file():
            made: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
            return made
        said.seek(0)
        lines = said.read().decode("utf-8", errors="replace").strip().splitlines()
    last = (lines or ["it left no message"])[-1]
    how = f"signal {status - 128}" if status > 128 else f"status {status}"
    return {"status": "failed", "reason": f"the process ended with {how}: {last}"}
