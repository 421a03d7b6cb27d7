"""Folders that appear whole or not at all, that overwrite nothing, and one run at a time."""

import itertools
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from understudy.data.tables import OWNER
from understudy.errors import DataError, OptionError
from understudy.jobs.locks import locked
from understudy.jobs.temporary import HIDDEN, sweep_once

MARK = f"{HIDDEN}copy"  # stands in a folder that was made for copying


def unfinished(folder: Path) -> Path:
    """Give the place of a folder that is being made."""
    return folder.parent / f"{folder.name}.unfinished"


def beside(out: Path, steward: str | Path | None) -> Path:
    """Give the steward's folder; refuse to overwrite, and to put one folder into the other."""
    if os.path.lexists(out):
        raise OptionError(
            f"{out} is there already and is never overwritten", hint="name another folder (--out)"
        )
    folder = out.with_name(f"{out.name}-steward") if steward is None else Path(steward)
    places = [
        Path(os.path.realpath(path)) for path in (out, unfinished(out), folder, unfinished(folder))
    ]
    for first, second in itertools.combinations(places, 2):
        if first == second or first in second.parents or second in first.parents:
            raise OptionError(
                f"{folder}: the steward's folder holds real rows: it cannot be {out}, nor within "
                "or around it; nor can either be called as the other is until it is finished",
                hint="put it beside (--steward-out)",
            )
    _check_way(unfinished(out))
    return folder


def _check_way(copy: Path) -> None:
    """Refuse to remove a folder that was not made for copying."""
    if os.path.lexists(copy) and (copy.is_symlink() or not (copy / MARK).is_file()):
        raise DataError(f"{copy} is in the way", hint="move it away")


@contextmanager
def alone(*folders: Path) -> Iterator[None]:
    """Keep other runs off these folders; a run that is killed keeps nobody off."""
    with ExitStack() as stack:
        for folder in folders:
            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                sweep_once(folder.parent.absolute())
                hint = "wait until it has ended, or name another folder (--out)"
                stack.enter_context(locked(folder, hint=hint))
            except OSError as error:
                raise _cannot_make(folder, error) from error
        yield


def make(folder: Path) -> None:
    """Make a folder that only its owner may enter."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise _cannot_make(folder, error) from error


def _cannot_make(folder: Path, error: OSError) -> DataError:
    return DataError(
        f"{folder}: cannot be made a folder: {error.strerror}", hint="name another folder"
    )


def tidy(folder: Path) -> None:
    """Remove what a killed run left half written."""
    for path in list(folder.rglob(f"{HIDDEN}*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def for_owner(folder: Path) -> None:
    """Let nobody but the owner read the files of a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(OWNER)


def put_in_place(folder: Path, to: Path) -> None:
    """Give a finished folder its name."""
    try:
        folder.rename(to)
    except OSError as error:
        raise DataError(
            f"{to}: cannot be put in place: {error.strerror}",
            hint="what is done is kept: put it right and repeat the command",
        ) from error


def copy_whole(
    source: Path, to: Path, names: Collection[str], check: Callable[[Path], object]
) -> None:
    """Copy these files of a folder; the copy appears when it is whole and was checked.

    A half copy left by a kill is removed.
    """
    place = unfinished(to)
    _check_way(place)
    try:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / MARK).touch()
        # as new files: those of the source are for their owner alone
        shutil.copytree(
            source,
            place / to.name,
            ignore=lambda folder, found: set(found) - set(names),
            copy_function=shutil.copyfile,
        )
        check(place / to.name)
        put_in_place(place / to.name, to)
    except OSError as error:
        reason = error.strerror or "some files cannot be copied"
        raise DataError(
            f"{to}: cannot be written: {reason}", hint="is there space left?"
        ) from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
