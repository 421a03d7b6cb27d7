"""Adapter: what methods that run somebody else's tool share."""

import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import DataError, MissingExtraError, OptionError
from understudy.jobs.temporary import TemporaryFolder
from understudy.judging.comparison import Progress
from understudy.options import check_number
from understudy.synthesizers.adapters.exchange import Handed, hand_over, take_back
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.model_file import State
from understudy.synthesizers.program import Program

SCRIPTS = Path(__file__).with_name("scripts")
LARGEST_SEED = 2**31
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


@dataclass(frozen=True)
class Tool:
    """Somebody else's tool: what it is called, which package brings it, and its licence."""

    name: str
    package: str
    licence: str
    script: str


@dataclass(kw_only=True)
class Adapter:
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
    seconds: float = 3600.0
    version_: str = field(default="", init=False, repr=False)
    handed_: tuple[Handed, ...] = field(default=(), init=False, repr=False)
    empty_: pl.DataFrame = field(init=False, repr=False)
    folder_: TemporaryFolder = field(init=False, repr=False)

    foreign: ClassVar[bool] = True
    tool: ClassVar[Tool]
    card: ClassVar[MethodCard]

    def __post_init__(self) -> None:
        if not isinstance(self.python, str):
            raise OptionError(
                f"{self.card.name}: python = {self.python!r}", hint="give the path of a Python"
            )
        check_number(f"{self.card.name}: seconds", self.seconds, above=0)
        self.check()

    def check(self) -> None:
        """Refuse options that the tool cannot take."""

    def settings(self) -> dict[str, Any]:
        """Give the options that the tool is told."""
        raise NotImplementedError

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
            "task": task,
            "folder": str(self.folder_.path),
            "columns": [sent for one in self.handed_ for sent in one.sent],
            "options": self.settings(),
            "seed": int(rng.integers(LARGEST_SEED)),
            **more,
        }
        self._place("job.json").write_text(json.dumps(job), encoding="utf-8")
        # what a tool writes beside its result (SDV a log in the user's folder) goes with the folder
        environment = {**_environment(self.python), "XDG_DATA_HOME": str(self.folder_.path)}
        Program(
            self.program,
            [
                _interpreter(self.python),
                str(SCRIPTS / self.tool.script),
                str(self._place("job.json")),
            ],
            self.seconds,
            environment,
            more=f"allow more with {self.card.name}.seconds",
        ).run(self._place("said"))

    def state(self) -> State:
        """Refuse: the model is the tool's."""
        raise OptionError(
            f"{self.card.name}: the model of {self.tool.name} cannot be saved here",
            hint="save the rows, or use the tool itself",
        )

    def restore(self, state: State, schema: Schema) -> Self:
        """Refuse, as no such file is written."""
        raise OptionError(f"{self.card.name}: there are no model files", hint="fit it again")


def _interpreter(python: str) -> str:
    return python or sys.executable


def _environment(python: str) -> dict[str, str]:
    """Give the environment of the caller; another interpreter must not find this one's packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME") if python else ()
    return {name: value for name, value in os.environ.items() if name not in hidden}


@functools.lru_cache
def version_of(tool: Tool, method: str, python: str) -> str:
    """Ask an interpreter which version of the tool it has; if none, say what to do."""
    interpreter = _interpreter(python)
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
