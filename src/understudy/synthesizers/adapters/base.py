"""Adapter: what methods that run somebody else's tool share, and what they exchange with it.

A table travels with its columns called c0, c1 … and levels v0, v1 …, so that no name, word or sign
of a missing value is misread on the way. Dates are whole numbers of their unit since 1970. The
words that stand among numbers travel in a column of their own, which then also tells what is
missing; where it does not say "none", the number is one drawn from the others. A column that never
varies stays here.
"""

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Values
from understudy.data.tables import Table
from understudy.errors import DataError, MissingExtraError, OptionError
from understudy.jobs.progress import Progress
from understudy.jobs.temporary import TemporaryFolder
from understudy.options import Above
from understudy.synthesizers.base import check_options
from understudy.synthesizers.program import LARGEST_SEED, ForeignMethod, check_shape, stored

SCRIPT = Path(__file__).parent / "scripts" / "run_tool.py"
NO_FILE = "no model file is written: the tool's model lives as long as the method"
ASK = """
import sys
from importlib.metadata import PackageNotFoundError, metadata
try:
    found = metadata(sys.argv[1])
except PackageNotFoundError:
    sys.exit(3)
sys.stdout.write(found["Version"])
"""
NOT_INSTALLED = 3
SECONDS_TO_ANSWER = 60
NO_WORD = "none"
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class SentColumn:
    """One column, and how it travels: as numbers, as levels, as both, or not at all."""

    column: Column
    name: str
    varies: bool
    levels: tuple[str, ...]
    only: Any = None

    @property
    def word(self) -> str:
        """The name of the column of words."""
        return f"{self.name}w"

    @property
    def codes(self) -> list[str]:
        """What stands for the levels."""
        return [f"v{i}" for i in range(len(self.levels))]

    @property
    def step(self) -> float | None:
        """The unit of dates, times and durations, in microseconds; none for plain numbers."""
        timed = self.column.kind == "date" or self.column.unit is not None
        return self.column.step if timed else None

    @property
    def sent(self) -> list[dict[str, Any]]:
        """What the tool is told: the columns that travel, and their kinds."""
        level = {"kind": "category"}
        if not self.column.is_numeric:
            return [{"name": self.name, **level}] if self.varies else []
        whole = self.step is not None or self.column.decimals == 0
        date = self.column.kind == "date"
        number: dict[str, Any] = {"name": self.name, "kind": "date" if date else "number"}
        number |= {"whole": whole, "microseconds": self.step if date else None}
        made = [number] if self.varies else []
        return [*made, {"name": self.word, **level}] if self.levels else made


def hand_over(
    table: Table, rng: np.random.Generator
) -> tuple[pl.DataFrame, tuple[SentColumn, ...]]:
    """Give the columns that travel, and what is needed to read what comes back."""
    sent: dict[str, pl.Series] = {}
    handed = []
    for place, name in enumerate(table.schema.modelled):
        column, values = table.schema[name], table.values(name)
        levels = tuple(values.labels.drop_nulls().unique().sort().to_list())
        plain = values.labels
        if values.numbers is not None:
            plain = pl.Series(values.numbers, nan_to_null=True)
        kept = plain.drop_nulls() if levels and values.numbers is not None else plain
        varies = kept.n_unique() > 1
        only = None if varies or not len(kept) else kept[0]
        one = SentColumn(column, f"c{place}", varies, levels, only)
        coded = values.labels.replace_strict(
            list(levels), one.codes, default=None, return_dtype=pl.String
        )
        if values.numbers is None and varies:
            sent[one.name] = coded
        elif varies:
            drawn = pl.Series(rng.choice(kept.to_numpy(), table.height)) if levels else plain
            sent[one.name] = _number(plain.zip_with(plain.is_not_null(), drawn), one)
        if values.numbers is not None and levels:
            no_word = pl.Series([NO_WORD]).new_from_index(0, table.height)
            sent[one.word] = no_word.zip_with(plain.is_not_null(), coded)
        handed.append(one)
    return pl.DataFrame(sent), tuple(handed)


def _number(numbers: pl.Series, handed: SentColumn) -> pl.Series:
    if handed.step is not None:
        numbers = (numbers / handed.step).round()
    whole = handed.sent[0]["whole"] and bool((numbers.abs() < LARGEST_EXACT).all())
    return numbers.cast(pl.Int64) if whole else numbers


def take_back(
    frame: pl.DataFrame, handed: tuple[SentColumn, ...], rows: int, tool: str
) -> pl.DataFrame:
    """Read a tool's rows; what it was never given is refused."""
    names = [sent["name"] for one in handed for sent in one.sent]
    check_shape(frame, names, rows, tool)
    made = []
    for one in handed:
        if one.column.is_numeric:
            values = _numeric(frame, one, rows, tool)
        elif one.varies:
            values = Values(None, _levels(frame[one.name], one, tool))
        else:
            values = Values(None, pl.Series([one.only] * rows, dtype=pl.String))
        made.append(stored(values, one.column, tool))
    return pl.DataFrame(made)


def _numeric(frame: pl.DataFrame, one: SentColumn, rows: int, tool: str) -> Values:
    if one.varies:
        numbers = _read_numbers(frame[one.name], one, tool)
    else:
        numbers = np.full(rows, np.nan if one.only is None else one.only)
    words = pl.Series([None] * rows, dtype=pl.String)
    if one.levels:
        told = frame[one.word]
        words = _levels(told.replace(NO_WORD, None), one, tool)
        numbers = np.where((told == NO_WORD).fill_null(False).to_numpy(), numbers, np.nan)
    return Values(numbers, words)


def _levels(codes: pl.Series, one: SentColumn, tool: str) -> pl.Series:
    strange = codes.filter(~codes.is_in(one.codes).fill_null(True))
    if len(strange):
        raise DataError(
            f"{tool}: the column '{one.column.name}' came back with a level that was never given "
            f"('{strange[0][:40]}')",
            hint="report it, with the version of the tool",
        )
    return codes.replace_strict(one.codes, list(one.levels), default=None, return_dtype=pl.String)


def _read_numbers(texts: pl.Series, one: SentColumn, tool: str) -> NDArray[np.float64]:
    """Read numbers, finite ones, as fine as training's."""
    numbers = texts.cast(pl.Float64, strict=False)
    bad = texts.filter((numbers.is_null() & texts.is_not_null()) | ~numbers.is_finite())
    if len(bad):
        raise DataError(
            f"{tool}: the column '{one.column.name}' came back with '{bad[0][:40]}', no number",
            hint="report it, with the version of the tool",
        )
    made = numbers.fill_null(float("nan")).to_numpy()
    if one.step is not None:
        return np.asarray(np.round(made) * one.step)
    if one.column.decimals is not None:
        return np.asarray(np.round(made, one.column.decimals))
    return np.asarray(made)


@dataclass(frozen=True)
class Tool:
    """Somebody else's tool: what it is called, which package brings it, and its licence."""

    name: str
    package: str
    licence: str


@dataclass(kw_only=True)
class Adapter(ForeignMethod):
    """A tool that learns once in its own environment, and is run anew for every sample.

    The tool gets neither identifiers nor free text. Its model lies in a temporary folder that
    goes when the method does.

    Parameters
    ----------
    python : str
        The interpreter of the environment in which the tool is installed; this one if empty.
    seconds : float
        After which the tool is ended; for learning, and for each sample.
    """

    python: str = ""
    seconds: Annotated[float, Above(0)] = 3600.0
    version_: str = field(default="", init=False, repr=False)
    handed_: tuple[SentColumn, ...] = field(default=(), init=False, repr=False)
    empty_: pl.DataFrame = field(init=False, repr=False)
    folder_: TemporaryFolder = field(init=False, repr=False)

    tool: ClassVar[Tool]

    def __post_init__(self) -> None:
        check_options(self)

    def settings(self) -> dict[str, Any]:
        """Give the options that the tool is told: those that not every adapter has."""
        common = {f.name for f in dataclasses.fields(Adapter)}
        own = [f.name for f in dataclasses.fields(self) if f.name not in common]
        return {name: getattr(self, name) for name in own}

    def identity(self) -> str:
        """Give what tells the tool from others where results are kept: its version."""
        return version_of(self.tool, self.card.name, self.python)

    @property
    def program(self) -> str:
        """What to call the tool, with its version."""
        return f"{self.tool.name} {self.version_}"

    @property
    def notes_(self) -> tuple[str, ...]:
        """Say who made the rows."""
        return (f"the rows were made by {self.program}; its licence: {self.tool.licence}",)

    def ready(self) -> None:
        """Ask for the tool's version; one that is not there is told."""
        self.version_ = version_of(self.tool, self.card.name, self.python)

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Hand the table over, and let the tool learn."""
        self.ready()
        sent, self.handed_ = hand_over(table, rng)
        self.empty_ = table.modelled[:0]
        self.folder_ = TemporaryFolder()
        if sent.width:
            progress(f"{self.tool.name} is learning", 0, 1)
            train = self._place("train.csv")
            sent.write_csv(train)
            self._run("fit", rng)
            train.unlink()
        return self

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Let the tool make rows."""
        if rows == 0:
            return self.empty_
        made = pl.DataFrame(height=rows)
        if any(one.sent for one in self.handed_):
            out = self._place("out.csv")
            out.unlink(missing_ok=True)
            self._run("sample", rng, rows=rows)
            if not out.is_file():
                raise DataError(
                    f"{self.program} ended and wrote no table", hint="try other options"
                )
            made = self._read(out)
        return take_back(made, self.handed_, rows, self.program)

    def _read(self, out: Path) -> pl.DataFrame:
        try:
            return pl.read_csv(out, infer_schema=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = str(error).strip().splitlines()[0]
            raise DataError(
                f"{self.program}: its table cannot be read: {reason}", hint="try other options"
            ) from error

    def _place(self, name: str) -> Path:
        return self.folder_.path / name

    def _run(self, task: str, rng: np.random.Generator, **more: int) -> None:
        job = {
            "tool": self.card.name,
            "task": task,
            "folder": str(self.folder_.path),
            "columns": [sent for one in self.handed_ for sent in one.sent],
            "options": self.settings(),
            "seed": int(rng.integers(LARGEST_SEED)),
            **more,
        }
        file = self._place("job.json")
        file.write_text(json.dumps(job), encoding="utf-8")
        # what a tool writes beside its result (SDV a log in the user's folder) goes with the folder
        environment = {**_environment(self.python), "XDG_DATA_HOME": str(self.folder_.path)}
        words = [self.python or sys.executable, str(SCRIPT), str(file)]
        self.run_program(words, self.folder_.path, environment)


def _environment(python: str) -> dict[str, str]:
    """Give the environment of the caller; another interpreter must not find this one's packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME") if python else ()
    return {name: value for name, value in os.environ.items() if name not in hidden}


@functools.lru_cache
def version_of(tool: Tool, method: str, python: str) -> str:
    """Ask an interpreter which version of the tool it has; if none, say what to do."""
    interpreter = python or sys.executable
    elsewhere = f"-o {method}.python=PATH names the Python of another environment"
    if shutil.which(interpreter) is None:
        raise OptionError(
            f"{method}: there is no interpreter '{python}'", hint=f"install one: {elsewhere}"
        )
    try:
        asked = subprocess.run(
            [interpreter, "-c", ASK, tool.package],
            env=_environment(python),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS_TO_ANSWER,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OptionError(
            f"{method}: '{interpreter}' does not answer ({error})", hint=elsewhere
        ) from error
    if asked.returncode == NOT_INSTALLED:
        raise MissingExtraError(
            f"{method}: {tool.name} is not installed for {interpreter}",
            hint=f"pip install {tool.package} (its licence: {tool.licence}), best in an "
            f"environment of its own; {elsewhere}",
        )
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or ["it left no message"])[-1]
        raise OptionError(f"{method}: '{interpreter}' is no Python ({last})", hint=elsewhere)
    return asked.stdout.strip()
