"""Folders that appear whole or not at all, and that overwrite nothing."""

import shutil
from pathlib import Path

from understudy.errors import DataError, OptionError

HALF = ".understudy-"  # what files are called until they are in their place


def unfinished(folder: Path) -> Path:
    """Give the place of a folder that is being made."""
    return folder.with_name(f"{folder.name}.unfinished")


def beside(out: Path, steward: str | Path | None) -> Path:
    """Give the steward's folder; refuse to overwrite, and to put one folder into the other."""
    if out.exists():
        raise OptionError(
            f"{out} is there already and is never overwritten", hint="name another folder (--out)"
        )
    folder = out.with_name(f"{out.name}-steward") if steward is None else Path(steward)
    first, second = out.absolute(), folder.absolute()
    if first == second or first in second.parents or second in first.parents:
        raise OptionError(
            f"{folder}: the steward's folder holds real rows: it cannot be {out}, nor within or "
            "around it",
            hint="put it beside (--steward-out)",
        )
    return folder


def make(folder: Path) -> None:
    """Make a folder that only its owner may enter."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be made a folder: {error.strerror}", hint="name another folder"
        ) from error


def tidy(folder: Path) -> None:
    """Remove what a killed run left half written."""
    for path in list(folder.rglob(f"{HALF}*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def put_in_place(folder: Path, to: Path) -> None:
    """Give a finished folder its name."""
    try:
        folder.rename(to)
    except OSError as error:
        raise DataError(
            f"{to}: cannot be put in place: {error.strerror}",
            hint="what is done is kept: put it right and repeat the command",
        ) from error


def copy_whole(source: Path, to: Path) -> None:
    """Copy a folder; the copy appears when it is whole. A half copy left by a kill is removed."""
    copy = unfinished(to)
    if copy.exists() and not {p.name for p in copy.iterdir()} <= {p.name for p in source.iterdir()}:
        raise DataError(f"{copy} is in the way", hint="move it away")
    try:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
    except OSError as error:
        shutil.rmtree(copy, ignore_errors=True)
        reason = error.strerror or "some files cannot be copied"
        raise DataError(
            f"{to}: cannot be written: {reason}", hint="is there space left?"
        ) from error
    put_in_place(copy, to)
