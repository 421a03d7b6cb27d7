"""Tables from files, by extension: CSV, CSV.gz, TSV, Parquet, Arrow, Excel.

Text files are read as text, every cell as it is written: what a column means is the schema's
business. An empty cell and the usual marks (``NA``, ``NaN``, ``null`` …) are missing values.
"""

import gzip
import io
import stat
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from understudy.data.schema import Schema, beyond_years
from understudy.data.tables.delimited import read_alone, read_delimited
from understudy.errors import DataError, OptionError, UnderstudyError
from understudy.optional import need

LARGE, MOST_TIMES = 1 << 28, 200

WITH_COMMA = r"^\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*$"
PLAIN_NUMBER = r"^\s*[+-]?\d+(?:[eE][+-]?\d+)?\s*$"
FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xls": "excel",
}


def format_of(path: Path) -> str:
    """Name the format of a file by its extension.

    Examples
    --------
    >>> format_of(Path("people.csv.gz"))
    'csv'
    """
    name = path.name.lower()
    for extension, form in FORMATS.items():
        if name.endswith(extension):
            return form
    raise OptionError(
        f"{path}: the extension '{path.suffix}' is not known",
        hint="use .csv, .csv.gz, .tsv, .parquet, .arrow or .xlsx",
    )


def read_file(path: Path, alone: Schema | None = None) -> pl.DataFrame:
    """Read a table from a file.

    With ``alone``, the schema that a person declared, each line of a text file is read by itself,
    as epsilon demands: nothing that another line holds changes it, and none is refused.
    """
    form = format_of(path)
    _refuse_other_than_files(path)
    try:
        if alone is not None and form == "csv":
            frame = _read_csv_alone(path, alone)
        else:
            frame = _READERS[form](path)
    except UnderstudyError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # readers of others raise anything
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(
            f"{path}: cannot be read as {form}: {reason[0]}",
            hint="check that the file is whole and that its extension says what it is",
        ) from error
    if not frame.width:
        raise DataError(f"{path}: there are no columns", hint="give a table with a header line")
    return within_years(frame, str(path), refuse=alone is None)


def within_years(frame: pl.DataFrame, name: str, *, refuse: bool) -> pl.DataFrame:
    """Refuse dates before the year 1 or after 9999, or take them for missing."""
    for series in frame.select(pl.col(pl.Date, pl.Datetime)):
        strange = beyond_years(series)
        if strange.any():
            if refuse:
                raise DataError(
                    f"{name}: the column '{series.name}' holds dates before the year 1 or after "
                    "the year 9999",
                    hint="write a missing value for them",
                )
            frame = frame.with_columns(series.set(strange, None))
    return frame


def _refuse_other_than_files(path: Path) -> None:
    """Refuse what is no ordinary file; a pipe that nobody writes to would keep us for ever."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file", hint="check the path") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: cannot be read: {reason}", hint="check the path") from error
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: this is a folder", hint="give the path of a file")
    if not stat.S_ISREG(mode):
        raise DataError(
            f"{path}: this is no ordinary file", hint="write the table into a file, and give that"
        )


def _read_csv(path: Path) -> pl.DataFrame:
    frame, delimiter = read_delimited(path, _unpacked(path))
    return _decimal_commas(frame) if delimiter == ";" else frame


def _decimal_commas(frame: pl.DataFrame) -> pl.DataFrame:
    """Files that separate by semicolons may write numbers with a comma.

    A column is of such numbers where most of its values are; a word among them stays as it is.
    """
    commas = pl.all().str.contains(WITH_COMMA)
    numeric = commas | pl.all().str.contains(PLAIN_NUMBER)
    some, share = frame.select(commas.any()), frame.select(numeric.mean())
    names = [n for n in frame.columns if some[n].item() and share[n].item() > 0.5]
    return frame.with_columns(_pointed(name) for name in names)


def _pointed(name: str, levels: Sequence[str] = ()) -> pl.Expr:
    """Write a point for the decimal comma, but in the words that are levels."""
    cell, words = pl.col(name), pl.Series(levels, dtype=pl.String).implode()
    turns = cell.str.contains(WITH_COMMA) & ~cell.is_in(words)
    return pl.when(turns).then(cell.str.replace(",", ".", literal=True)).otherwise(cell).alias(name)


def _read_csv_alone(path: Path, declared: Schema) -> pl.DataFrame:
    frame, delimiter = read_alone(path, _unpacked(path))
    if delimiter != ";":
        return frame
    levels = {column.name: column.levels for column in declared}
    return frame.with_columns(_pointed(name, levels.get(name, ())) for name in frame.columns)


def _unpacked(path: Path) -> bytes:
    if not path.name.lower().endswith(".gz"):
        return path.read_bytes()
    packed, made = path.stat().st_size, io.BytesIO()
    with gzip.open(path) as file:
        while chunk := file.read(1 << 24):
            made.write(chunk)
            refuse_bomb(path, packed, made.tell())
    return made.getvalue()


def refuse_bomb(path: Path, packed: int, unpacked: int) -> None:
    """Refuse a compressed file that is small only in order to fill the memory."""
    if unpacked > LARGE and unpacked > MOST_TIMES * packed:
        raise DataError(
            f"{path}: its {packed:,} bytes unpack to more than {unpacked:,}, over {MOST_TIMES} "
            "times as many",
            hint="if it is meant to be so, unpack it and give the larger file",
        )


def _read_excel(path: Path) -> pl.DataFrame:
    fastexcel = need("fastexcel", extra="excel")
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        refuse_bomb(path, path.stat().st_size, unpacked)
    try:
        return pl.read_excel(
            path, engine="calamine", infer_schema_length=None, drop_empty_rows=False
        )
    except fastexcel.FastExcelError as error:
        raise ValueError(str(error)) from error


def _read_arrow(path: Path) -> pl.DataFrame:
    with path.open("rb") as file:
        return pl.read_ipc(file)


_READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    "csv": _read_csv,
    "parquet": lambda path: pl.read_parquet(path, glob=False),
    "arrow": _read_arrow,
    "excel": _read_excel,
}
