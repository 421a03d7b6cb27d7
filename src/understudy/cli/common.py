"""What the commands share: options, progress, files that must not be overwritten."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from understudy.documents import loads_json
from understudy.errors import DataError, OptionError
from understudy.jobs.progress import Progress as Progress
from understudy.options import SECONDS, SEED, WORKERS, Between, Option, declared

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
DEFAULT_METHOD = "forest"  # synthesizers.DEFAULT, named here so that --help need not load it
KEYS = "What an attacker knows; auto: as understudy keys proposes."
GOES_ON = "what is done is kept: the same command goes on"


def names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Split a list of names at its commas; a comma within a name is written twice."""
    if value is None:
        return ()
    found = tuple(part.strip() for part in parts(value) if part.strip())
    if not found:
        raise OptionError(
            f"{parameter.opts[0]}: there is no name in '{value}'",
            hint=f"write {parameter.opts[0]} {parameter.metavar}, or leave it out",
        )
    return found


def parts(text: str) -> Iterator[str]:
    """Split at commas, but not where one is written twice, which is a comma."""
    return (part.replace("\0", ",") for part in text.replace(",,", "\0").split(","))


def names_or_none(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Split a list of names; None if it is not given."""
    return names(context, parameter, value) or None


def _parsed(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    return parse_options(value)


def parse_options(given: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Turn ``NAME.OPTION=VALUE`` into options by name, as what takes them declares them.

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
        parsed.setdefault(name, {})[option] = _value(value, _declared(name).get(option))
    return parsed


def _declared(name: str) -> dict[str, Option]:
    """Give the options of a measure, an attack or a method; none if there is none of that name."""
    known: Mapping[str, Any]
    if name.startswith("attack."):
        from understudy.attacks import ATTACKS as known
    elif "." in name:
        from understudy.measures import MEASURES as known
    else:
        from understudy.synthesizers import SYNTHESIZERS as known
    return declared(known[name]) if name in known else {}


def _value(text: str, option: Option | None) -> Any:
    try:
        value = loads_json(text)
    except ValueError:
        return text
    return text if option is not None and option.is_text and not isinstance(value, str) else value


def without_relations(
    options: Mapping[str, dict[str, Any]], methods: Iterable[str], relations: str
) -> dict[str, dict[str, Any]]:
    """Set for methods that no relations are held, if they are switched off."""
    off = {} if relations == "on" else {name: {"relations": False} for name in methods}
    return {name: {**options.get(name, {}), **off.get(name, {})} for name in {**options, **off}}


def listed(name: str, metavar: str, help: str) -> Callable[[Command], Command]:
    """Declare an option that takes names, divided by commas."""
    return click.option(name, callback=names, metavar=metavar, help=help)


class WholeNumber(click.IntRange):
    """A whole number within bounds that the program declares."""

    def __init__(self, bounds: Between) -> None:
        least = None if bounds.least is None else int(bounds.least)
        super().__init__(min=least)
        self.bounds = bounds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a number, and refuse one that is out of bounds."""
        number = super().convert(value, param, ctx)
        self.bounds.check("number" if param is None else str(param.name), number)
        return number


seed = click.option("--seed", type=WholeNumber(SEED), default=0, show_default=True)
schema = click.option("--schema", type=FILE, help="A schema file with declared kinds.")
html = click.option("--html", type=FILE, help="Write the report as one HTML file.")
relations = click.option(
    "--relations",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Hold what follows between columns: those of the schema, or those found.",
)
method = click.option(
    "--method", default=DEFAULT_METHOD, show_default=True, help="See understudy methods."
)
group = click.option(
    "--group", metavar="COLUMN", help="Keep the rows of one person or household together."
)
workers = click.option(
    "--workers", type=WholeNumber(WORKERS), help="Processes; all cores if not given."
)
journal = click.option("--journal", type=FILE, help="A file to go on from; for its owner alone.")
ledger = click.option("--ledger", type=FILE, help="Add up what is spent on the same people.")
keys = listed("--keys", "A,B", KEYS)
sensitive = listed(
    "--sensitive", "C,D", "What must not be learnt; all: every column that is no key."
)
target = click.option("--target", metavar="COLUMN", help="What is to be predicted.")
formula = click.option(
    "--formula",
    multiple=True,
    metavar="Y ~ X",
    help="The analyst's own model, such as 'income ~ age + sex'; may be given again.",
)
quiet = click.option(
    "--quiet", is_flag=True, help="Say nothing but errors, and a verdict that is no pass."
)
as_json = click.option("--json", "json_file", type=FILE, help="Write JSON; - is standard output.")
options = click.option(
    "-o",
    "options",
    multiple=True,
    callback=_parsed,
    metavar="NAME.OPTION=VALUE",
    help="An option of a measure or method.",
)


def measures(help: str) -> Callable[[Command], Command]:
    """Declare the option that names measures; None if it is not given."""
    return click.option("--measures", callback=names_or_none, metavar="NAME,…", help=help)


def seconds(name: str, default: float, help: str) -> Callable[[Command], Command]:
    """Declare an option that is a number of seconds."""
    above = click.FloatRange(min=SECONDS.above, min_open=True)
    return click.option(name, type=above, default=default, show_default=True, help=help)


def roles(command: Command) -> Command:
    """Declare the options that say what columns are."""
    return keys(sensitive(target(formula(command))))


def check_outputs(
    outputs: Iterable[Path | None],
    inputs: Iterable[Path | None] = (),
    *,
    json_file: Path | None = None,
    register: Path | None = None,
) -> None:
    """Refuse, before any work is done, to write where it cannot be or over an input."""
    taken = {os.path.realpath(path) for path in inputs if path is not None}
    named: set[str] = set()
    to_file = [] if str(json_file) == "-" else [json_file]
    for path in (*outputs, register, *to_file):
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
    if register is not None:
        from understudy.data.tables import format_of

        format_of(register)


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


def put_out(
    data: Mapping[str, Any],
    json_file: Path | None,
    quiet: bool,
    show: Callable[[Mapping[str, Any]], object],
) -> None:
    """Write JSON if asked to, and show the same on the screen unless that is where it went."""
    if json_file is not None:
        write_json(data, json_file)
    if str(json_file) != "-" and not quiet:
        show(data)


def show_assessment(data: Mapping[str, Any]) -> None:
    """Print an assessment."""
    from understudy.report import console
    from understudy.workflows.assessment import cards

    console.show(data, cards(), file=sys.stdout)


def write_html(result: Any, path: Path | None, quiet: bool, **more: Any) -> None:
    """Write a report, if asked to."""
    if path is not None:
        result.to_html(path, **more)
        records = " (single records: do not share it)" if more.get("steward") else ""
        say(f"wrote {path}{records}", quiet=quiet)


def write_register(result: Any, path: Path | None, quiet: bool) -> None:
    """Write the register of single records, if asked to."""
    from understudy.data.tables import without_formulas, write_file

    if path is not None:
        write_file(without_formulas(result.register()), path, for_owner=True)
        say(f"wrote {path} (single records: do not share it)", quiet=quiet)


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


def say_policy(outcome: str, *, quiet: bool, json_file: Path | None = None) -> None:
    """Tell how a policy was decided."""
    passed = outcome == "PASS"
    say_verdict(f"policy: {outcome}", passed=passed, quiet=quiet, json_file=json_file)


def table(*columns: str) -> Any:
    """Make a plain table for the terminal; ``>`` before a heading sets its column to the right."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for heading in columns:
        right = heading.startswith(">")
        made.add_column(heading.lstrip(">"), overflow="fold", justify="right" if right else "left")
    return made


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


def show_card(
    name: str, beside: str, texts: Iterable[str], options: Mapping[str, object] | None = None
) -> None:
    """Print what a measure or a method is, and its options with their defaults."""
    click.secho(name, bold=True, nl=False)
    click.echo(f"  {beside}")
    for text in texts:
        paragraph(text)
    if options is not None:
        listed = ", ".join(f"{option}={default}" for option, default in options.items())
        paragraph(f"Options: {listed}" if listed else "No options.")
    click.echo()


def paragraph(text: str) -> None:
    """Print an indented paragraph as wide as the terminal."""
    width = max(40, min(100, shutil.get_terminal_size().columns))
    click.echo(click.wrap_text(text, width=width, initial_indent="  ", subsequent_indent="  "))
