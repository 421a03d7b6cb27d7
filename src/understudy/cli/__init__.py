"""The command line: one small module a command, loaded when it is used."""

import importlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

import click

from understudy._version import __version__
from understudy.errors import LeftOutWarning, UnderstudyError, interrupted, interruption
from understudy.jobs.temporary import sweep_here

COMMANDS = {
    "schema": "Say what the columns of a table are, and why.",
    "keys": "Propose what an attacker may know and what must not be learnt.",
    "split": "Split real rows into training and holdout.",
    "synthesize": "Make a synthetic table.",
    "ledger": "Say what epsilon was spent on the same people, over all fits.",
    "assess": "Say how faithful a synthetic table is and what it discloses.",
    "compare": "Compare synthetic tables of one training table, side by side.",
    "benchmark": "Try methods on splits of real data: faithful, useful, close, costly?",
    "attack": "Play a game against a generator: what could be found out?",
    "calibrate": "Plant leaks in real data: how small a leak would each measure notice?",
    "release": "Split, synthesize, assess and judge: the folder to hand over, if it passes.",
    "verify": "Repeat the assessment of a receipt: equal, or what differs.",
    "policy": "Write a starting policy: rules that an assessment must keep to.",
    "measures": "List the measures and what each does not show.",
    "methods": "List the methods that make synthetic tables.",
    "study": "Compute the figures of a published study again.",
    "demo": "Split, synthesize and assess real microdata, and write a report.",
}
HEEDED = ("SIGTERM", "SIGHUP")  # taken like Ctrl-C, so that nothing is left behind
RESEND_AFTER = 0.05  # seconds
TRACEBACK = "UNDERSTUDY_TRACEBACK"  # names the file for the traceback of an unforeseen error


class Commands(click.Group):
    """Commands by name; a command's module is imported when the command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"understudy.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 done, 1 policy failed, 2 usage or bad input, 3 policy inconclusive.",
)
@click.version_option(__version__, prog_name="understudy")
def cli() -> None:
    """Synthetic tables that stand in for real ones, and the evidence for it."""


class Ended(KeyboardInterrupt):
    """Somebody asked the program to end; cleaned up is as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def heeding() -> Iterator[None]:
    """Take signals that end a program as Ctrl-C; one that is ignored (nohup) stays ignored.

    Where nothing can be raised, as while an object is removed, a signal is sent once more.
    """
    numbers = [getattr(signal, name) for name in HEEDED if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    before = sys.unraisablehook

    def lost(unraisable: "sys.UnraisableHookArgs") -> None:
        found = interruption(unraisable.exc_value)
        if found is None:
            before(unraisable)
            return
        number = found.number if isinstance(found, Ended) else signal.SIGINT
        later = threading.Timer(RESEND_AFTER, os.kill, (os.getpid(), number))
        later.daemon = True
        later.start()

    sys.unraisablehook = lost
    for number in taken:
        signal.signal(number, _raise_ended)
    try:
        yield
    finally:
        sys.unraisablehook = before
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _raise_ended(number: int, frame: FrameType | None) -> None:
    if interruption(sys.exception()) is None:  # else cleaning up has begun: let it end
        raise Ended(number)


def status_and_words(error: BaseException) -> tuple[int, str]:
    """Give the exit status after an interruption, and what to say."""
    found = interruption(error)
    if isinstance(found, Ended):
        name = signal.Signals(found.number).name
        return 128 + found.number, f"ended by {name}, nothing half written"
    return 130, "interrupted, nothing half written"


def main() -> None:
    """Run the command line; whatever goes wrong ends in two lines, not in a traceback."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    warnings.simplefilter("ignore", LeftOutWarning)  # for Python; assess lists the columns
    with heeding():
        _main()


def _main() -> None:
    try:
        sweep_here()
        status = cli.main(prog_name="understudy", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except SystemExit:
        raise
    except click.exceptions.NoArgsIsHelpError as error:
        _end(2, error.format_message())
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "understudy"
        _stop(2, error.format_message(), f"see {command} --help")
    except click.ClickException as error:
        _stop(2, error.format_message(), "see understudy --help")
    except UnderstudyError as error:
        _stop(2, error.message, error.hint)
    except OSError as error:
        reason = error.strerror or str(error)
        _stop(2, f"the output cannot be written: {reason}", "is there space left?")
    except MemoryError:
        _stop(2, "there is not enough memory", "give fewer rows or columns at once")
    except BaseException as error:  # a panic of compiled code is no Exception
        if isinstance(error, click.Abort) or interrupted(error):
            _stop(*status_and_words(error))
        # status 1 is that of a failed policy, which nobody has decided here
        said = "".join(f": {line}" for line in str(error).splitlines()[:1])
        _stop(2, f"an error that was not foreseen ({type(error).__name__}{said})", _offer(error))


def _offer(error: BaseException) -> str:
    """Write the traceback to the file that the user named; without one, say how to name it."""
    named = os.environ.get(TRACEBACK)
    if not named:
        return f"please report it; with {TRACEBACK}=FILE set, its traceback is written there"
    try:
        Path(named).write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as failed:
        return f"please report it; {named} cannot be written: {failed.strerror}"
    return f"please report it; the traceback is in {named}"


def _stop(status: int, message: str, hint: str = "") -> NoReturn:
    _end(status, "\n".join([f"understudy: {message}", *([f"hint: {hint}"] if hint else [])]))


def _end(status: int, text: str) -> NoReturn:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
    if not _flushes(sys.stdout):
        os._exit(status)  # Python itself would try to flush once more, and complain
    sys.exit(status)


def _flushes(file: TextIO) -> bool:
    try:
        file.flush()
    except OSError:
        return False
    return True
