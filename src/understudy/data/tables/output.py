"""Tables to files, batch by batch; every file appears whole or not at all."""

import gzip
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, cast

import polars as pl

from understudy.data.tables.files import format_of
from understudy.errors import DataError, OptionError
from understudy.jobs.locks import OWNER
from understudy.jobs.temporary import TemporaryFolder
from understudy.optional import need

MOST_IN_EXCEL = 1_048_575


def write_file(frame: pl.DataFrame, path: Path, *, for_owner: bool = False) -> None:
    """Write a table to a file; it appears whole or not at all."""
    check_writable(path)
    with whole_file(path, for_owner=for_owner) as temporary:
        write_batches([frame], temporary, like=path)


def write_text(text: str, path: Path, *, for_owner: bool = False) -> None:
    """Write text to a file; it appears whole or not at all."""
    with whole_file(path, for_owner=for_owner) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Refuse a format that cannot be written."""
    if format_of(path) == "excel":
        if path.suffix.lower() == ".xls":
            raise OptionError(f"{path}: .xls can be read but not written", hint="use .xlsx")
        need("xlsxwriter", extra="excel")


def write_batches(
    batches: Iterable[pl.DataFrame],
    file: Path,
    *,
    like: Path,
    metadata: Callable[[], Mapping[str, str]] | None = None,
) -> int:
    """Write batches of one table as they come, in the format of ``like``; count the rows.

    The batches have the same columns and types. Memory is bounded, except for Excel. Metadata
    goes into Parquet files alone; it is asked for after the last batch, and may tell of all.
    """
    form, heights = format_of(like), list[int]()

    def counted() -> Iterator[pl.DataFrame]:
        for batch in batches:
            heights.append(batch.height)
            yield batch

    if form == "csv":
        _write_csv(counted(), file, like.name.lower())
    elif form == "excel":
        _write_excel(pl.concat(counted()), file, like)
    else:
        _write_typed(counted(), file, form, metadata or dict)
    return sum(heights)


def _write_csv(batches: Iterable[pl.DataFrame], path: Path, name: str) -> None:
    delimiter = "\t" if ".tsv" in name else ","
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("wb"))
        if name.endswith(".gz"):
            zipped = stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
            file = cast("IO[bytes]", zipped)
        for number, batch in enumerate(batches):
            batch.write_csv(file, separator=delimiter, include_header=number == 0)


def _write_excel(whole: pl.DataFrame, file: Path, like: Path) -> None:
    if whole.height > MOST_IN_EXCEL:
        raise OptionError(
            f"{like}: {whole.height:,} rows, Excel holds {MOST_IN_EXCEL:,}",
            hint="write .csv or .parquet",
        )
    xlsxwriter = need("xlsxwriter", extra="excel")
    made = io.BytesIO()
    # in memory: rows must not lie in files of its own, which would stay if the program were killed
    with xlsxwriter.Workbook(made, {"in_memory": True}) as workbook:
        whole.write_excel(workbook)
    file.write_bytes(made.getvalue())


def _write_typed(
    batches: Iterable[pl.DataFrame],
    file: Path,
    form: str,
    metadata: Callable[[], Mapping[str, str]],
) -> None:
    """Write Parquet or Arrow: a single batch at once, several through parts on the disk.

    Files are opened here: given a path, an interrupted writer of polars may still make the file
    in the background, after the cleaning up.
    """
    several = iter(batches)
    first, second = next(several), next(several, None)
    if second is None:
        with file.open("wb") as opened:
            if form == "parquet":
                first.write_parquet(opened, metadata=dict(metadata()) or None)
            else:
                first.write_ipc(opened)
        return
    with TemporaryFolder(file.parent) as folder:
        parts = []
        for number, batch in enumerate(chain([first, second], several)):
            parts.append(folder / f"{number:09d}.arrow")
            with parts[-1].open("wb") as opened:
                batch.write_ipc(opened, compression="zstd")
        whole = pl.scan_ipc(parts, glob=False)
        with file.open("wb") as opened:
            if form == "parquet":
                whole.sink_parquet(opened, metadata=dict(metadata()) or None)
            else:
                whole.sink_ipc(opened)


@dataclass
class WholeFiles:
    """Several files that appear together: all are written before the first is put in place."""

    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> "WholeFiles":
        self._stack.__enter__()
        return self

    def __exit__(self, *error: object) -> bool | None:
        return self._stack.__exit__(*error)  # type: ignore[arg-type]

    def add(self, path: Path, *, for_owner: bool = False) -> Path:
        """Hand out a temporary path for one more file."""
        return self._stack.enter_context(whole_file(path, for_owner=for_owner))


@contextmanager
def whole_file(path: Path, *, for_owner: bool = False) -> Iterator[Path]:
    """Hand out a path in a hidden folder beside the target; move it there when all went well.

    A link is followed. What is no ordinary file (a device, a pipe) is written to directly. A file
    for its owner can be read by nobody else, not even for a moment.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.is_symlink():
        raise DataError(f"{path}: links that lead to each other", hint="name another file")
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise DataError(f"{path}: this is a folder", hint="give the path of a file")
        try:
            yield path
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _cannot(path, error) from error
        return
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder '{path.parent}'", hint="make the folder first")
    try:
        beside = TemporaryFolder(path.parent)
    except OSError as error:
        raise _cannot(path, error, hint="check the folder's rights and space") from error
    with beside as folder:
        temporary = folder / path.name
        try:
            temporary.touch(OWNER)
            yield temporary
            temporary.chmod(OWNER if for_owner else 0o666 & ~_umask())
            temporary.replace(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _cannot(path, error) from error


def _cannot(path: Path, error: Exception, hint: str = "is there space left?") -> DataError:
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    reason = re.sub(r" \(os error \d+\)$", "", reason.split("IO error: ")[-1])
    return DataError(f"{path}: cannot be written: {reason}", hint=hint)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+\-]?\d+(\.\d+)?([eE][+\-]?\d+)?$"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run; numbers stay as they are.

    For lists that people open, such as a register; never for data.

    Examples
    --------
    >>> without_formulas(pl.DataFrame({"a": ["=cmd()", "-3", "b"]}))["a"].to_list()
    ["'=cmd()", '-3', 'b']
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.with_columns(
        pl.when(pl.col(name).str.contains(FORMULA) & ~pl.col(name).str.contains(NUMBER))
        .then(pl.lit("'") + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
