"""Tables from files, by extension: CSV, CSV.gz, TSV, Parquet, Arrow, Excel.

Text files are read as text, every cell as it is written: what a column means is the schema's
business. An empty cell and the usual marks (``NA``, ``NaN``, ``null`` …) are missing values.

Nothing that one record of a delimited file holds decides how another is read. The header alone
tells the delimiter and the end of a line. polars reads the cells; what it would pass over without
a word, such as a line with too few fields, is looked for before.

A record may go over several lines, between quotes, and one that is malformed is an error with the
number of its line. Read ``alone``, each line is a record, whatever the others hold: no quote
reaches into the next line, and a malformed line is a row of missing values, no error.
"""

import gzip
import io
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from understudy.data.schema import Schema, beyond_years
from understudy.errors import DataError, OptionError, UnderstudyError
from understudy.optional import need

LARGE, MOST_TIMES = 1 << 28, 200
MISSING_MARKS = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>",
)  # fmt: skip
DELIMITERS = (",", ";", "\t", "|")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HEADER = re.compile(rb'(?:[^"\r\n]++|"[^"]*+")*+')
QUOTED = re.compile(r'".*"', re.DOTALL)
FIRST_LINE = re.compile(rb'(?:[^"\r\n]++|"[^"\r\n]*+")*+')
WITH_COMMA = r"^\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*$"
GROUPED_COMMA = r"^\s*[+-]?\d{1,3}(?:[.'’\s]\d{3})+,\d+\s*$"
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
    One with a further writing, such as ``1.234,50``, is left to the schema.
    """
    commas = pl.all().str.contains(WITH_COMMA)
    numeric = commas | pl.all().str.contains(PLAIN_NUMBER)
    some, share = frame.select(commas.any()), frame.select(numeric.mean())
    other = frame.select(pl.all().str.contains(GROUPED_COMMA).any())
    names = [
        n for n in frame.columns if some[n].item() and share[n].item() > 0.5 and not other[n].item()
    ]
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
    written = {column.name for column in declared if column.writing is not None}
    names = [name for name in frame.columns if name not in written]
    return frame.with_columns(_pointed(name, levels.get(name, ())) for name in names)


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


@dataclass(frozen=True)
class Text:
    """A delimited file: what its header says, and the records under it."""

    path: Path
    names: tuple[str, ...]
    delimiter: str
    end: str
    body: bytes
    first: int  # the number of the line with which the body begins


def read_delimited(path: Path, data: bytes) -> tuple[pl.DataFrame, str]:
    """Read the rows of a file, every cell as text, and its delimiter."""
    text = _open(path, data, HEADER)
    frame = _plain(text)
    if frame is not None:
        return frame, text.delimiter
    records = _records(text, _lines(text))
    wrong = records.filter(~pl.col("good") & ~pl.col("blank")).head(1)
    if len(wrong):
        raise _malformed(text, **wrong.row(0, named=True))
    if records["blank"].any():
        return _parse(text, _joined(text, records.filter(~pl.col("blank")))), text.delimiter
    return _parse(text, text.body), text.delimiter


def _plain(text: Text) -> pl.DataFrame | None:
    """Read a body without quotes and blank lines at once, unless a line may be malformed.

    polars refuses a line with too many fields; so there are as many delimiters as there should be
    only where no line has too few.
    """
    if b'"' in text.body:
        return None
    try:
        frame = _parse(text, text.body)
    except pl.exceptions.ComputeError:
        return None
    many = text.body.count(text.delimiter.encode())
    return frame if many == frame.height * (len(text.names) - 1) else None


def read_alone(path: Path, data: bytes) -> tuple[pl.DataFrame, str]:
    """Read each line by itself, every cell as text; a line that is malformed has no values."""
    text = _open(path, data, FIRST_LINE)
    if text.end == "\r":  # a line feed in the first cell would make another file of it
        raise DataError(
            f"{path}: under epsilon, lines end with a line feed, here with a carriage return alone",
            hint=f"convert it: tr '\\r' '\\n' < {path.name} > lines.csv",
        )
    nothing = text.delimiter * (len(text.names) - 1)
    lines = _judged(text, _lines(text)).filter(~pl.col("blank"))
    lines = lines.with_columns(pl.when("good").then("record").otherwise(pl.lit(nothing)))
    return _parse(text, _joined(text, lines)), text.delimiter


def sniff_delimiter(header: str) -> str:
    """Find the delimiter of a file: the one that splits its header into most names.

    Of two that split it alike, it is the one behind which fewer names begin with a space.

    Examples
    --------
    >>> sniff_delimiter("a;b"), sniff_delimiter("a,b"), sniff_delimiter("id;weight, kg")
    (';', ',', ';')
    """

    def fits(delimiter: str) -> tuple[int, int]:
        names = _cells(header, delimiter)
        return len(names), -sum(name.startswith(" ") for name in names)

    return max(DELIMITERS, key=fits)


def _cells(header: str, delimiter: str) -> list[str]:
    ends = re.escape(delimiter)
    cells = re.findall(f'("(?:[^"]|"")*+"|[^{ends}]*+){ends}', header + delimiter)
    return [cell[1:-1].replace('""', '"') if QUOTED.fullmatch(cell) else cell for cell in cells]


def no_repeats(names: Sequence[str], where: str) -> None:
    """Refuse a table in which two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{where}: the column '{twice[0]}' stands twice", hint="rename one of them")


def _open(path: Path, data: bytes, pattern: re.Pattern[bytes]) -> Text:
    """Read the header, as far as the pattern reaches."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    start = len(data) - len(data.lstrip(b"\r\n"))
    if not data[start : start + 1000].strip() and not data.strip():
        raise DataError(f"{path}: the file is empty", hint="give a table with a header line")
    found = pattern.match(data, start)
    stop = found.end() if found else start
    after = data[stop : stop + 2]
    if after.startswith(b'"'):
        raise DataError(
            f"{path}: a quote in the header is not closed", hint="close it, within the line"
        )
    try:
        header = data[start:stop].decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, data) from error
    if "\0" in header:
        raise _not_utf8(path, data)
    delimiter = sniff_delimiter(header)
    cells = _cells(header, delimiter)
    names = tuple(name or f"unnamed_{place}" for place, name in enumerate(cells, start=1))
    no_repeats(names, str(path))
    end = "\r" if after.startswith(b"\r") and after != b"\r\n" else "\n"
    begin = stop + (2 if after == b"\r\n" else 1)
    first = 1 + data.count(end.encode(), 0, begin)
    body = data[begin:]
    if body and not body.endswith(end.encode()):
        body += b"\r\n" if after == b"\r\n" else end.encode()  # as before another record
    return Text(path, names, delimiter, end, body, first)


def _parse(text: Text, body: bytes) -> pl.DataFrame:
    """Read the cells of well-formed records."""
    # this header is never taken for the start of a compressed file, as a first record may be
    header = text.delimiter.join(str(place) for place in range(len(text.names))) + text.end
    return pl.read_csv(
        header.encode() + body,
        separator=text.delimiter,
        new_columns=list(text.names),
        infer_schema=False,
        null_values=list(MISSING_MARKS),
        quote_char='"' if b'"' in body else None,
        eol_char=text.end,
    )


def _joined(text: Text, records: pl.DataFrame) -> bytes:
    made = io.BytesIO()
    records.select("record").write_csv(
        made, include_header=False, quote_style="never", line_terminator=text.end
    )
    return made.getvalue()


def _lines(text: Text) -> pl.DataFrame:
    """Split the body into lines; one that is not UTF-8 has no text."""
    lines = text.body.split(text.end.encode())
    if not lines[-1]:
        lines.pop()
    try:
        records = pl.Series(lines, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:
        records = pl.Series([_decoded(line) for line in lines], dtype=pl.String)
    numbers = pl.int_range(text.first, text.first + len(lines), eager=True)
    return pl.DataFrame({"line": numbers, "record": records})


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _records(text: Text, lines: pl.DataFrame) -> pl.DataFrame:
    """Put lines together that a quoted cell goes over, and judge the records."""
    if lines["record"].null_count():
        raise _not_utf8(text.path, text.body)
    quotes = lines["record"].str.count_matches('"', literal=True)
    if (quotes % 2 == 1).any():
        begins = (quotes.cum_sum() - quotes) % 2 == 0
        lines = (
            lines.group_by(begins.cum_sum().alias("number"), maintain_order=True)
            .agg(pl.col("line").first(), pl.col("record").str.join(text.end))
            .drop("number")
        )
    return _judged(text, lines)


def _judged(text: Text, records: pl.DataFrame) -> pl.DataFrame:
    """Tell the blank lines, the fields of each record, and whether it is well-formed.

    A cell begins with a quote and ends with one, and quotes in it are doubled; or it does not begin
    with one. Quotes come in pairs, since polars ends a record where they do.
    """
    record = pl.col("record").str.strip_suffix("\r") if text.end == "\n" else pl.col("record")
    blank = (record.str.strip_chars(" ") == "").fill_null(False)
    fields, closed = record.str.count_matches(text.delimiter, literal=True) + 1, pl.lit(True)
    if b'"' in text.body:
        delimiter, end = re.escape(text.delimiter), text.end
        cell = f'(?:"(?:[^"]|"")*"|[^"{delimiter}{end}][^{delimiter}{end}]*|)'
        paired = record.str.count_matches('"', literal=True) % 2 == 0
        closed = paired & record.str.contains(f"^{cell}(?:{delimiter}{cell})*$")
        fields = (record + text.delimiter).str.count_matches(cell + delimiter)
    width = len(text.names)
    return records.with_columns(
        fields=fields, closed=closed, blank=blank & (width > 1)
    ).with_columns(good=(pl.col("closed") & (pl.col("fields") == width)).fill_null(False))


def _malformed(text: Text, line: int, fields: int, closed: bool, **_: object) -> DataError:
    place, width = f"{text.path}: line {line}", len(text.names)
    if not closed:
        return DataError(
            f"{place} has a quote that is not closed, or stands in a cell without quotes",
            hint='put quotes around the whole cell, and double those in it: "5"" pipe"',
        )
    told = f"{place} has {fields} {'field' if fields == 1 else 'fields'}, the header {width}"
    if fields > width:
        return DataError(told, hint=f"put quotes around values that hold '{text.delimiter}'")
    return DataError(told, hint=f"write a '{text.delimiter}' for each value that is missing")


def _not_utf8(path: Path, data: bytes) -> DataError:
    start = data[:2]
    encoding = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start else "latin1"
    return DataError(
        f"{path}: the file is not UTF-8 text",
        hint=f"convert it, for instance: iconv -f {encoding} -t utf-8 {path.name} > utf8.csv",
    )
