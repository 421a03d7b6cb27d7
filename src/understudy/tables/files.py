"""Tables from files, by extension: CSV, CSV.gz, TSV, Parquet, Arrow, Excel.

Text files are read as text, every cell as it is written: what a column means is the schema's
business. An empty cell and the usual marks (``NA``, ``NaN``, ``null`` …) are missing values.
"""

import csv
import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO

import polars as pl

from understudy.errors import DataError, MissingExtraError, OptionError
from understudy.optional import need

MISSING_MARKS = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>",
)  # fmt: skip
DELIMITERS = (",", ";", "\t", "|")
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


def read_file(path: Path) -> pl.DataFrame:
    """Read a table from a file."""
    form = format_of(path)
    if not path.exists():
        raise DataError(f"{path}: there is no such file", hint="check the path")
    if path.is_dir():
        raise DataError(f"{path}: this is a folder", hint="give the path of a file")
    try:
        frame = _READERS[form](path)
    except (MissingExtraError, DataError):
        raise
    except (OSError, EOFError, pl.exceptions.PolarsError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(
            f"{path}: cannot be read as {form}: {reason[0]}",
            hint="check that the file is whole and that its extension says what it is",
        ) from error
    if not frame.width:
        raise DataError(f"{path}: there are no columns", hint="give a table with a header line")
    return frame


def _read_csv(path: Path) -> pl.DataFrame:
    start, delimiter, header = _read_header(path)
    names = [name or f"unnamed_{position}" for position, name in enumerate(header, start=1)]
    no_repeats(names, str(path))
    try:
        frame = pl.read_csv(
            path,
            separator=delimiter,
            has_header=True,
            new_columns=names,
            infer_schema=False,
            null_values=list(MISSING_MARKS),
            eol_char="\r" if "\r" in start and "\n" not in start else "\n",
            glob=False,
        )
    except pl.exceptions.ComputeError as error:
        if "utf-8" in str(error):
            raise _not_utf8(path) from error
        if "more fields" in str(error):
            raise _ragged(path, delimiter, len(names)) from error
        raise
    frame = _without_blank_lines(frame, path, delimiter)
    return _decimal_commas(frame) if delimiter == ";" else frame


def _read_header(path: Path) -> tuple[str, str, list[str]]:
    """Give the start of a text file, its delimiter and its first line."""
    try:
        with _open_text(path) as file:
            start = file.read(1 << 16)
        if not start.strip():
            raise DataError(f"{path}: the file is empty", hint="give a table with a header line")
        delimiter = sniff_delimiter(start)
        with _open_text(path) as file:
            header = next(csv.reader(file, delimiter=delimiter))
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except csv.Error as error:
        raise DataError(f"{path}: line 1: {error}", hint="is this a CSV file?") from error
    if any("\0" in name for name in header):
        raise _not_utf8(path)
    return start, delimiter, header


def sniff_delimiter(start: str) -> str:
    r"""Find the delimiter in the first lines of a file: the one that splits them alike.

    Examples
    --------
    >>> sniff_delimiter("a;b\n1,5;2,5\n"), sniff_delimiter("a,b\n1,2\n")
    (';', ',')
    """
    lines = start.splitlines(keepends=True)[:20]
    if len(lines) > 1 and not start.endswith(("\n", "\r")):
        lines = lines[:-1]
    best, most = ",", 1
    for delimiter in DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if widths and widths[0] > most and min(widths) > 1:
            best, most = delimiter, widths[0]
    return best


def _decimal_commas(frame: pl.DataFrame) -> pl.DataFrame:
    """Files that separate by semicolons may write numbers with a comma.

    A column is of such numbers where most of its values are; a word among them stays as it is.
    """
    commas = pl.all().str.contains(WITH_COMMA)
    numeric = commas | pl.all().str.contains(PLAIN_NUMBER)
    some, share = frame.select(commas.any()), frame.select(numeric.mean())
    names = [n for n in frame.columns if some[n].item() and share[n].item() > 0.5]
    return frame.with_columns(
        pl.when(pl.col(n).str.contains(WITH_COMMA))
        .then(pl.col(n).str.replace(",", ".", literal=True))
        .otherwise(pl.col(n))
        .alias(n)
        for n in names
    )


def _without_blank_lines(frame: pl.DataFrame, path: Path, delimiter: str) -> pl.DataFrame:
    """Drop the rows that blank lines made; in a single column, a blank line is a missing value."""
    if frame.width == 1 or not frame.select(pl.all_horizontal(pl.all().is_null()).any()).item():
        return frame
    with _open_text(path) as file:
        filled = [bool(row) for row in csv.reader(file, delimiter=delimiter)][1:]
    return frame.filter(filled) if len(filled) == frame.height else frame


def _open_text(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _not_utf8(path: Path) -> DataError:
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        start = file.read(2)
    encoding = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start else "latin1"
    return DataError(
        f"{path}: the file is not UTF-8 text",
        hint=f"convert it, for instance: iconv -f {encoding} -t utf-8 {path.name} > utf8.csv",
    )


def _ragged(path: Path, delimiter: str, width: int) -> DataError:
    with _open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter)
        for row in reader:
            if len(row) > width:
                return DataError(
                    f"{path}: line {reader.line_num} has {len(row)} fields, the header {width}",
                    hint="put quotes around values that hold the delimiter",
                )
    return DataError(f"{path}: a line has too many fields", hint="check quotes and delimiters")


def no_repeats(names: list[str], where: str) -> None:
    """Refuse a table in which two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{where}: the column '{twice[0]}' stands twice", hint="rename one of them")


def _read_excel(path: Path) -> pl.DataFrame:
    fastexcel = need("fastexcel", extra="excel")
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
