"""How far work is: a function of (label, done, total), or ``True`` for a bar."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, ParamSpec, TypeVar

from understudy.errors import OptionError

HINT = "give True, or a function of (label, done, total)"
Progress = Callable[[str, int, int], None]
ProgressOrBar = Annotated[Progress | bool, HINT]
P = ParamSpec("P")
T = TypeVar("T")


def silent(label: str, done: int, total: int) -> None:
    """Report no progress."""


def reporter(progress: Progress | bool) -> Progress:
    """Give the function that progress is reported to.

    Examples
    --------
    >>> reporter(False) is silent
    True
    >>> reporter(3)
    Traceback (most recent call last):
    understudy.errors.OptionError: progress = 3
    hint: give True, or a function of (label, done, total)
    """
    if callable(progress):
        return progress
    if progress:
        raise OptionError(f"progress = {progress!r}", hint=HINT)
    return silent


def shows_progress(function: Callable[P, T]) -> Callable[P, T]:
    """Let ``progress=True`` of a function show a bar while it runs."""

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        if given.get("progress") is not True:
            return function(*args, **given)
        with bar() as shown:
            return function(*args, **{**given, "progress": shown})  # type: ignore[arg-type]

    return call


@contextmanager
def reporting(progress: Progress | bool) -> Iterator[Progress]:
    """Give the function that progress is reported to; ``True`` shows a bar until the block ends."""
    if progress is not True:
        yield reporter(progress)
        return
    with bar() as shown:
        yield shown


@contextmanager
def bar(*, transient: bool = False) -> Iterator[Progress]:
    """Show a bar on standard error; a transient one is gone when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=transient) as shown:
        task = shown.add_task("", total=1)
        yield lambda label, done, total: shown.update(
            task, description=label, completed=done, total=total
        )
