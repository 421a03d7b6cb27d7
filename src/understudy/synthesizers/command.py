"""Any program as a method: it reads a training file and writes a synthetic one."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import polars as pl

from understudy.coding import write_values
from understudy.comparison import Progress
from understudy.errors import DataError, OptionError
from understudy.schema import Column, Schema, near, read_values
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.model_file import State
from understudy.tables import Table, read_file, write_file

PLACES = ("train", "out", "rows", "seed")
FORMATS = ("csv", "parquet")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
LAST_LINES = 5
LARGEST_SEED = 2**31
EXAMPLE = "such as 'Rscript make.R {train} {out} {rows} {seed}'"
GUARD = Path(__file__).with_name("guard.py")


@dataclass(kw_only=True)
class Command:
    """A program that is run anew for every sample.

    Parameters
    ----------
    command : str
        The program and its words. ``{train}`` is replaced by the path of the training file,
        ``{out}`` by that of the file to write, ``{rows}`` by the number of rows to make, ``{seed}``
        by a whole number that differs from sample to sample. No shell is involved.
    format : {"csv", "parquet"}
        Of both files.
    seconds : float
        After which the program and all that it started are ended.
    environment : dict, optional
        The program's environment variables, beside PATH; the caller's own if not given.
    """

    command: str = ""
    format: str = "csv"
    seconds: float = 600.0
    environment: dict[str, str] | None = None
    table_: Table = field(init=False, repr=False)

    card: ClassVar[MethodCard] = MethodCard(
        name="command",
        title="Any program",
        keeps="whatever the program keeps",
        loses="whatever the program loses",
        claim="None: nothing is known of the program but what it writes. Assess it, and attack it.",
        file="no model file is written: the program keeps what it learns, or does not",
        source="the program's own",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.command, str) or not self.command.strip():
            raise OptionError("command: no program is named", hint=f"give command, {EXAMPLE}")
        if self.format not in FORMATS:
            raise OptionError(
                f"command: format = {self.format!r}", hint=f"use one of {', '.join(FORMATS)}"
            )
        if not self.seconds > 0:
            raise OptionError(f"command: seconds = {self.seconds}", hint="use a number above 0")
        if not (self.environment is None or isinstance(self.environment, dict)):
            raise OptionError(
                f"command: environment = {self.environment!r}", hint="give names with values"
            )
        self._check_places()

    def _check_places(self) -> None:
        found = PLACEHOLDER.findall(" ".join(self.words))
        for name in found:
            if name not in PLACES:
                raise OptionError(
                    f"command: {{{name}}} stands for nothing", hint=near(name, PLACES)
                )
        for name in ("train", "out"):
            if name not in found:
                raise OptionError(
                    f"command: {{{name}}} does not occur in '{self.command}'", hint=EXAMPLE
                )

    @property
    def words(self) -> list[str]:
        """The program and its words."""
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise OptionError(
                f"command: '{self.command}' cannot be split into words ({error})",
                hint="close the quotes",
            ) from error

    @property
    def program(self) -> str:
        """What to call the program."""
        return Path(self.words[0]).name

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Keep the table: the program learns when it is run."""
        if shutil.which(self.words[0]) is None:
            raise OptionError(
                f"command: there is no program '{self.words[0]}'",
                hint="name its path, or one that lies on PATH",
            )
        self.table_ = table
        return self

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Run the program, and read what it writes."""
        if rows == 0:
            return self.table_.modelled[:0]
        seed = int(rng.integers(LARGEST_SEED))
        with tempfile.TemporaryDirectory(prefix="understudy-") as folder:
            train, out = (Path(folder) / f"{name}.{self.format}" for name in ("train", "out"))
            write_file(self.table_.modelled, train)
            places = {"train": train, "out": out, "rows": rows, "seed": seed}
            words = [PLACEHOLDER.sub(lambda m: str(places[m[1]]), word) for word in self.words]
            self._run(words, Path(folder) / "said")
            if not out.is_file():
                raise DataError(f"{self.program} ended and wrote no table", hint="write to {out}")
            return self._read(out, rows)

    def _run(self, words: list[str], said: Path) -> None:
        given = self.environment
        environment = None
        if given is not None:
            environment = {"PATH": os.environ.get("PATH", ""), **{k: str(given[k]) for k in given}}
        with said.open("wb") as heard:
            # the guard ends the program when this process is killed: its pipe closes then
            guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), *words],
                stdin=subprocess.PIPE,
                stdout=heard,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                status = guard.wait(self.seconds)
            except subprocess.TimeoutExpired:
                raise DataError(
                    f"{self.program} did not finish within {self.seconds:g} seconds and was "
                    f"stopped{_last_lines(said)}",
                    hint="allow more with command.seconds",
                ) from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(guard.pid, signal.SIGKILL)
                guard.wait()
                if guard.stdin is not None:
                    guard.stdin.close()
        if status:
            raise DataError(
                f"{self.program} ended with exit status {status}{_last_lines(said)}",
                hint="run it by hand on a small table",
            )

    def _read(self, out: Path, rows: int) -> pl.DataFrame:
        """Read the table, and refuse what does not fit the schema."""
        schema = self.table_.schema
        try:
            frame = read_file(out)
        except DataError as error:
            told = error.message.replace(str(out), "its table")
            raise DataError(f"{self.program}: {told}", hint=error.hint) from error
        for name in schema.modelled:
            if name not in frame.columns:
                raise DataError(
                    f"{self.program}: the column '{name}' is missing in its table",
                    hint=near(name, frame.columns),
                )
        for name in frame.columns:
            if name not in schema.modelled:
                raise DataError(
                    f"{self.program}: the column '{name}' of its table is not in training",
                    hint=near(name, schema.modelled),
                )
        if frame.height != rows:
            raise DataError(
                f"{self.program} gave {frame.height:,} rows, and {rows:,} were asked for",
                hint="{rows} in the command stands for their number",
            )
        return pl.DataFrame([self._stored(frame[name], schema[name]) for name in schema.modelled])

    def _stored(self, series: pl.Series, column: Column) -> pl.Series:
        """Store a column as the schema says; a number that is none is refused."""
        values = read_values(series, column)
        if column.is_numeric:
            known = values.labels.is_in([*column.levels, "inf", "-inf"])
            strange = values.labels.filter(~known.fill_null(True))
            if len(strange):
                raise DataError(
                    f"{self.program}: the column '{column.name}' of its table holds "
                    f"{len(strange):,} values that are no {column.kind} ('{strange[0][:40]}')",
                    hint="write the values as in the training file",
                )
        return write_values(values, column).alias(column.name)

    def state(self) -> State:
        """Refuse: what the program learnt is not known."""
        raise OptionError(
            "command: a program's model cannot be saved, for it is not known",
            hint="keep the command; it makes further rows from the training table",
        )

    def restore(self, state: State, schema: Schema) -> Self:
        """Refuse, as no such file is written."""
        raise OptionError("command: there are no model files", hint="run the command again")


def _last_lines(said: Path) -> str:
    lines = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    told = "".join(f"\n  {line[:200]}" for line in lines[-LAST_LINES:])
    return f"; it said:{told}" if told else ""
