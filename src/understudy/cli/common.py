"""What the commands share: options, progress, files that must not be overwritten."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from understudy.documents import loads_json
from understudy.errors import DataError, OptionError
from understudy.jobs.progress import Progress as Progress

FILE = click.Path(path_type=Path)
DEFAULT_METHOD = "forest"  # synthesizers.DEFAULT, named here so that --help need not load it
KEYS = "What an attacker knows; auto: as understudy keys proposes."
SENSITIVE = "What must not be learnt; all: every column that is no key."
GOES_ON = "what is done is kept: the same command goes on"
FORMULA = "The analyst's own model, such as 'income ~ age + sex'; may be given again."
seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
schema = click.option("--schema", type=FILE, help="A schema file with declared kinds.")
quiet = click.option(
    "--quiet", is_flag=True, help="Say nothing but errors, and a verdict that is no pass."
)
as_json = click.option("--json", "json_file", type=FILE, help="Write JSON; - is standard output.")
options = click.option(
    "-o",
    "options",
    multiple=True,
    metavar="NAME.OPTION=VALUE",
    help="An option of a measure or method.",
)


def names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Split a list of names at its commas; a comma within a name is written twice."""
    if value is None:
        return ()
    parts = value.replace(",,", "\0").split(",")
    found = tuple(part.strip().replace("\0", ",") for part in parts if part.strip())
    if not found:
        raise OptionError(
            f"{parameter.opts[0]}: there is no name in '{value}'",
            hint=f"write {parameter.opts[0]} {parameter.metavar}, or leave it out",
        )
    return found


def parse_options(given: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Turn ``NAME.OPTION=VALUE`` into options by name.

    Examples
    --------
    >>> parse_options(["fidelity.hellinger.bins=20", "flip.p=0.2"])
    {'fidelity.hellinger': {'bins': 20}, 'flip': {'p': 0.2}}
    """
    parsed: dict[str, dict[str, Any]] = {}
    for text in given:
        left, equals, value = text.partition("=")
        name, dot, option = left.rpartition(".")
        if not (equals and dot and name and option):
            raise OptionError(
                f"-o {text}", hint="write -o NAME.OPTION=VALUE, such as -o flip.p=0.2"
            )
        parsed.setdefault(name, {})[option] = _value(value)
    return parsed


def _value(text: str) -> Any:
    try:
        return loads_json(text)
    except ValueError:
        return text


def check_outputs(
    outputs: Iterable[Path | None],
    inputs: Iterable[Path | None] = (),
    *,
    json_file: Path | None = None,
) -> None:
    """Refuse, before any work is done, to write where it cannot be or over an input."""
    taken = {os.path.realpath(path) for path in inputs if path is not None}
    named: set[str] = set()
    to_file = [] if str(json_file) == "-" else [json_file]
    for path in (*outputs, *to_file):
        if path is None:
            continue
        if str(path) == "-":
            raise OptionError("only --json can be standard output", hint="give the path of a file")
        if os.path.realpath(path) in taken:
            raise OptionError(
                f"{path} is an input and would be overwritten", hint="name another file"
            )
        if os.path.realpath(path) in named and (path.is_file() or not path.exists()):
            raise OptionError(f"{path} is named for two outputs", hint="name another file")
        named.add(os.path.realpath(path))
        if not path.parent.is_dir():
            raise DataError(
                f"{path}: there is no folder '{path.parent}'", hint="make the folder first"
            )
        if path.is_dir():
            raise DataError(f"{path}: this is a folder", hint="give the path of a file")


def extension_of(path: Path) -> str:
    """Give the extension that names a file's format, both parts of ``.csv.gz`` included."""
    from understudy.data.tables import FORMATS

    known = [e for e in FORMATS if path.name.lower().endswith(e)]
    return path.name[-len(max(known, key=len)) :] if known else path.suffix


def write_json(data: Mapping[str, Any], path: Path) -> None:
    """Write JSON to a file, or to standard output for ``-``."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    if str(path) == "-":
        sys.stdout.write(text + "\n")
        return
    write_text(text + "\n", path)


def write_text(text: str, path: Path) -> None:
    """Write text to a file, which appears whole or not at all."""
    from understudy.data.tables import write_text

    write_text(text, path)


def say(text: str, *, quiet: bool = False) -> None:
    """Tell a person something, on standard error."""
    if not quiet:
        # not by click, which writes into the middle of a progress bar
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def say_verdict(text: str, *, passed: bool, quiet: bool, json_file: Path | None = None) -> None:
    """Tell how it was decided; if all else is silent, only where it is no pass.

    That line is the output then, unless JSON is.
    """
    if quiet and not passed and str(json_file) != "-":
        click.echo(text)
    else:
        say(text, quiet=quiet and passed)


def make_folder(path: Path) -> None:
    """Make a folder for output."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be made a folder: {error.strerror}", hint="name another folder"
        ) from error


def goes_on(journal: Path | None) -> str:
    """Say what becomes of work that is stopped, with a journal and without."""
    lost = "with --journal FILE, the same command would go on from here"
    return lost if journal is None else GOES_ON


@contextmanager
def stopped(text: str, quiet: bool) -> Iterator[None]:
    """After Ctrl-C, say what becomes of the work that was done."""
    from understudy.errors import interrupted

    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        if interrupted(error):
            say(text, quiet=quiet)
        raise


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress]:
    """Show a bar on standard error, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda label, done, total: None
        return
    from understudy.jobs.progress import bar

    with bar(transient=True) as shown:
        yield shown


def only(given: Mapping[str, Any], name: str) -> None:
    """Refuse options of anything but the method that runs."""
    for other in given:
        if other != name:
            raise OptionError(
                f"-o {other}.…: the method is '{name}'", hint=f"write -o {name}.OPTION=VALUE"
            )


def paragraph(text: str) -> None:
    """Print an indented paragraph as wide as the terminal."""
    width = max(40, min(100, shutil.get_terminal_size().columns))
    click.echo(click.wrap_text(text, width=width, initial_indent="  ", subsequent_indent="  "))
