"""Documents that come from outside: JSON and TOML, read without trusting whoever wrote them.

What a file can do to its reader is bounded: its size, how deep it is nested, how long its numbers
are. A number that is not finite and a text that cannot be written again are refused, so that what
was read can be compared and printed.
"""

import json
import math
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from understudy.errors import DataError

MOST_BYTES = 1 << 28
DEEPEST = 100
LARGEST_WHOLE = 10**39  # a seed of 128 bits is below


def read_json(path: Path, what: str, hint: str, form: Any = object) -> Any:
    """Read a JSON file of a form (see ``check_form``); errors call it by its kind (``what``)."""
    try:
        document = loads_json(read_text(path, what, hint))
        check_form(document, form)
        return document
    except ValueError as error:
        raise DataError(f"{path}: this is not a whole {what} ({error})", hint=hint) from error


def read_text(path: Path, what: str, hint: str, largest: int = MOST_BYTES) -> str:
    """Read an ordinary text file of a bounded size; nothing is waited for."""
    try:
        # opened without waiting: a pipe that nobody writes to would keep us for ever
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise DataError(f"{path}: this is no ordinary file", hint=hint)
            if facts.st_size > largest:
                raise DataError(
                    f"{path}: {facts.st_size:,} bytes are too many for a {what}", hint=hint
                )
            return file.read().decode("utf-8")
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such {what}", hint="check the path") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the {what} is not UTF-8 text", hint=hint) from error


def loads_json(text: str | bytes) -> Any:
    """Parse JSON; whatever is wrong with it is a ValueError.

    Examples
    --------
    >>> loads_json('{"rows": 3}')
    {'rows': 3}
    """
    try:
        return _bounded(json.loads(text))
    except RecursionError:
        raise ValueError(_too_deep()) from None


def loads_toml(text: str) -> dict[str, Any]:
    """Parse TOML; whatever is wrong with it is a ValueError."""
    try:
        made: dict[str, Any] = _bounded(tomllib.loads(text))
    except RecursionError:
        raise ValueError(_too_deep()) from None
    return made


def check_form(value: Any, form: Any, place: str = "it") -> None:
    """Refuse, by a ValueError that says where, a document that has not this form.

    Parameters
    ----------
    form
        A type (``float`` is any number, ``object`` anything), None, a list of one form (a list of
        such), a tuple of forms (the first of the value's kind), or a dict: of names, those with
        a ``?`` behind them need not be there; the name ``str`` stands for every other name.

    Examples
    --------
    >>> check_form({"rows": 3, "names": ["a"]}, {"rows": int, "names": [str], "note?": str})
    >>> check_form({"rows": [True]}, {"rows": [int]})
    Traceback (most recent call last):
    ValueError: rows 1 has the wrong form
    """
    if isinstance(form, tuple):
        form = next((other for other in form if _has_kind(value, other)), form[0])
    if not _has_kind(value, form):
        raise ValueError(f"{place} has the wrong form")
    if isinstance(form, list):
        for number, inside in enumerate(value, start=1):
            check_form(inside, form[0], f"{place} {number}")
    elif isinstance(form, dict):
        _check_names(value, form, "" if place == "it" else f"{place}.")


def _check_names(value: dict[str, Any], form: dict[Any, Any], place: str) -> None:
    named = {name.removesuffix("?"): inner for name, inner in form.items() if name is not str}
    for name in form:
        if name is not str and not name.endswith("?") and name not in value:
            raise ValueError(f"{place}{name} is missing")
    for name, inside in value.items():
        inner = named.get(name, form.get(str, object))
        check_form(inside, inner, f"{place}{name}")


def _has_kind(value: Any, form: Any) -> bool:
    """Whether a value is of the kind of a form, whatever is within."""
    if form is None:
        return value is None
    kind = type(form) if isinstance(form, list | dict) else form
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(
            value, bool
        )
    return isinstance(value, kind)


def _bounded(document: Any) -> Any:
    level, depth = [document], 0
    while level:
        if depth > DEEPEST:
            raise ValueError(_too_deep())
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value.keys()
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            else:
                _check(value)
        level, depth = inner, depth + 1
    return document


def _check(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("it holds a number that is not finite")
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise ValueError("it holds a number with too many digits")
    if isinstance(value, str) and not value.isascii():
        value.encode()


def _too_deep() -> str:
    return f"it is nested more than {DEEPEST} deep"
