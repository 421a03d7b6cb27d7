"""Any program as a method: it reads a training file and writes a synthetic one."""

import itertools
import os
import re
import shlex
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
import polars as pl

from understudy.data.tables import Table, read_file, write_file
from understudy.errors import DataError, OptionError, near
from understudy.jobs.fingerprint import file_digest
from understudy.jobs.progress import Progress
from understudy.jobs.temporary import TemporaryFolder
from understudy.options import Above, OneOf
from understudy.synthesizers.base import MethodCard, check_options
from understudy.synthesizers.program import LARGEST_SEED, ForeignMethod, Oddity, take_in

PLACES = ("train", "out", "rows", "seed")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
MOST_NOTES = 8
INTERPRETER = re.compile(
    r"(python|pypy|R|Rscript|julia|java|node|ruby|perl|(ba|da|z|k)?sh)[\d.]*(\.exe)?$"
)
CODE = re.compile(r"-([mce]|[A-Za-z]{1,2}[mce]$)")  # a module or code, in no file of the command
LAUNCHER = re.compile(r"(env|uv|uvx|npx|conda|mamba|docker|podman|ssh|sudo|nice|time)(\.exe)?$")
EXAMPLE = "such as 'Rscript make.R {train} {out} {rows} {seed}'"


@dataclass(kw_only=True)
class Command(ForeignMethod):
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
    version : str
        What tells this program from earlier ones where results are kept; any text, to be changed
        whenever the program changes. If empty, the content of the files that the command names.
    """

    command: str = ""
    format: Annotated[str, OneOf("csv", "parquet")] = "csv"
    seconds: Annotated[float, Above(0)] = 600.0
    environment: dict[str, str] | None = None
    version: str | float = ""
    table_: Table = field(init=False, repr=False)
    oddities_: dict[tuple[str, str], Oddity] = field(default_factory=dict, init=False, repr=False)

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
        check_options(self)
        self.version = str(self.version)
        if not self.command.strip():
            raise OptionError("command: no program is named", hint=f"give command, {EXAMPLE}")
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

    @property
    def _environment(self) -> dict[str, str] | None:
        given = self.environment
        if given is None:
            return None
        return {"PATH": os.environ.get("PATH", ""), **{k: str(given[k]) for k in given}}

    def identity(self) -> list[tuple[str, str]]:
        """Give what tells the program from others: its version, or the files of the command.

        That of an interpreter is the script, its first word that is no option. What a launcher
        starts, or what lies on PATH, may change unseen.
        """
        if self.version:
            return [("version", str(self.version))]
        first, *rest = self.words
        found = shutil.which(first, path=(self._environment or os.environ).get("PATH"))
        named = [part for word in rest for part in (word, word.partition("=")[2]) if _is_file(part)]
        if INTERPRETER.match(self.program):
            options = list(itertools.takewhile(lambda word: word.startswith("-"), rest))
            script = next(iter(rest[len(options) :]), "")
            is_named = _is_file(script) and not any(map(CODE.match, options))
        else:
            by_path = found is not None and bool(os.path.dirname(first))
            is_named = by_path and not LAUNCHER.match(self.program)
        if not is_named:
            raise OptionError(
                f"command: whether '{self.program}' is still the program that it was cannot be "
                "told, for no file of the command is it",
                hint="say which version it is, -o command.version=TEXT, and change that whenever "
                "it changes",
            )
        files = [*([found] if found else []), *named]
        return [(file, file_digest(Path(file))) for file in files]

    def ready(self) -> None:
        """Look for the program."""
        if shutil.which(self.words[0]) is None:
            raise OptionError(
                f"command: there is no program '{self.words[0]}'",
                hint="name its path, or one that lies on PATH",
            )

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Keep the table: the program learns when it is run."""
        self.ready()
        self.table_, self.oddities_ = table, {}
        return self

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Run the program, and read what it writes."""
        if rows == 0:
            return self.table_.modelled[:0]
        seed = int(rng.integers(LARGEST_SEED))
        with TemporaryFolder() as folder:
            train, out = (folder / f"{name}.{self.format}" for name in ("train", "out"))
            write_file(self.table_.modelled, train)
            places = {"train": train, "out": out, "rows": rows, "seed": seed}
            words = [PLACEHOLDER.sub(lambda m: str(places[m[1]]), word) for word in self.words]
            self.run_program(words, folder, self._environment)
            if not out.is_file():
                raise DataError(f"{self.program} ended and wrote no table", hint="write to {out}")
            return self._read(out, rows)

    def _read(self, out: Path, rows: int) -> pl.DataFrame:
        """Read the table, and refuse what does not fit the schema."""
        try:
            frame = read_file(out)
        except DataError as error:
            told = error.message.replace(str(out), "its table")
            raise DataError(f"{self.program}: {told}", hint=error.hint) from error
        made, found = take_in(frame, self.table_.schema, rows, self.program)
        for odd in found:
            before = self.oddities_.setdefault((odd.column, odd.what), replace(odd, many=0))
            self.oddities_[odd.column, odd.what] = replace(before, many=before.many + odd.many)
        return made

    @property
    def notes_(self) -> tuple[str, ...]:
        """What is strange about the tables that the program made, so far."""
        told = [f"{self.program}: {odd}" for odd in self.oddities_.values()]
        if len(told) > MOST_NOTES:
            told[MOST_NOTES:] = [f"{self.program}: and {len(told) - MOST_NOTES} more such columns"]
        return tuple(told)


def _is_file(word: str) -> bool:
    try:
        return bool(word) and Path(word).is_file()
    except (OSError, ValueError):  # too long, or with a character that no path has
        return False
