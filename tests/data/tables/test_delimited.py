"""Records of delimited text: none of them decides how another is read."""

import gzip
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.schema import Column, Schema
from understudy.data.tables import Table, read_file
from understudy.data.tables.files import MISSING_MARKS, read_alone, read_delimited
from understudy.errors import DataError

PATH = Path("people.csv")
CELLS = st.one_of(
    st.sampled_from(["NA", "", "1", "2.5", "say hi", "a\rb", "\ra", "é🎭", " "]),
    st.text(alphabet='ab1 ,;"\n\r|', max_size=6),
)


def written(cell: str, delimiter: str, *, quoted: bool) -> str:
    """Write a cell, without quotes where it can be read without."""
    needs = any(mark in cell for mark in ('"', delimiter, "\n")) or cell.endswith("\r")
    return '"' + cell.replace('"', '""') + '"' if quoted or needs else cell


@st.composite
def files(draw: st.DrawFn, newlines: bool = True) -> tuple[list[str], list[tuple], list[str], str]:
    """Draw a header, records as they are written and as they are meant, and the end of lines."""
    width = draw(st.integers(1, 3))
    delimiter = draw(st.sampled_from([",", ";", "\t", "|"])) if width > 1 else ","
    end = draw(st.sampled_from(["\n", "\r\n", *["\r"] * newlines]))
    cells = CELLS if newlines else CELLS.filter(lambda cell: end[-1] not in cell)
    rows = draw(st.lists(st.tuples(*[cells] * width), min_size=1, max_size=6))
    lines = [
        delimiter.join(
            written(cell, delimiter, quoted=draw(st.booleans()) or end == "\r") for cell in row
        )
        for row in rows
    ]
    names = delimiter.join("xyz"[:width])
    meant = [tuple(None if cell in MISSING_MARKS else cell for cell in row) for row in rows]
    return lines, meant, [names, *[""] * draw(st.integers(0, 2))] if width > 1 else [names], end


def file_of(header: list[str], lines: list[str], end: str, *, ended: bool = True) -> bytes:
    blank = header[1:]
    parts = [header[0]]
    for place, line in enumerate(lines):
        parts += [*(blank if place % 2 else []), line]
    parts += blank
    return (end.join(parts) + (end if ended else "")).encode()


@given(files(), st.booleans())
def test_records_are_read_as_they_are_meant(file, ended) -> None:
    lines, meant, header, end = file
    frame, _ = read_delimited(PATH, file_of(header, lines, end, ended=ended or not lines[-1]))
    assert frame.rows() == meant


@given(files(), st.data())
def test_one_record_more_adds_itself_and_changes_no_other(file, data) -> None:
    lines, meant, header, end = file
    left_out = data.draw(st.integers(0, len(lines) - 1))
    fewer = [line for place, line in enumerate(lines) if place != left_out]
    with_it, _ = read_delimited(PATH, file_of(header, lines, end))
    without, _ = read_delimited(PATH, file_of(header, fewer, end))
    more = Counter(with_it.rows())
    more.subtract(without.rows())
    assert {row: many for row, many in more.items() if many} == {meant[left_out]: 1}


LINES = st.one_of(
    st.text(alphabet='ab1,"\r ', max_size=8).map(str.encode),
    st.sampled_from([b"1,2", b'"a,b",2', b'"open,2', b'2,op"en', b"1", b"1,2,3", b"", b"\r"]),
    st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"")),
)


@given(st.lists(LINES, max_size=6), LINES, st.data(), st.sampled_from([b"a,b", b"a"]))
def test_alone_one_line_more_is_one_row_more_whatever_it_holds(lines, line, data, header) -> None:
    place = data.draw(st.integers(0, len(lines)))

    def rows(body: list[bytes]) -> list[tuple]:
        return read_alone(PATH, b"\n".join([header, *body, b""]))[0].rows()

    before, alone = rows(lines), rows([line])
    assert len(alone) <= 1
    many = len(rows(lines[:place]))
    assert rows([*lines[:place], line, *lines[place:]]) == before[:many] + alone + before[many:]


@given(files(newlines=False), st.booleans())
def test_alone_well_formed_lines_are_read_as_otherwise(file, ended) -> None:
    lines, meant, header, end = file
    frame, _ = read_alone(PATH, file_of(header, lines, end, ended=ended or not lines[-1]))
    assert frame.rows() == meant


def test_a_lone_carriage_return_makes_no_records_of_blank_lines(tmp_path: Path) -> None:
    lines = "a,b\n" + "1,2\n\n" * 50
    for cell in ("x\ry", '"x\ry"'):
        (tmp_path / "t.csv").write_text(f"{lines}{cell},3\n", newline="")
        frame = read_file(tmp_path / "t.csv")
        assert frame.height == 51
        assert frame.row(-1) == ("x\ry", "3")


def test_a_long_cell_before_a_blank_line(tmp_path: Path) -> None:
    long = "x" * 200_000
    (tmp_path / "t.csv").write_text(f"a,b\n{long},1\n\n2,3\n")
    assert read_file(tmp_path / "t.csv").rows() == [(long, "1"), ("2", "3")]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("1,2\n3\n", "line 3 has 1 field, the header 2"),
        ("1,2\n\n3,4,5\n", "line 4 has 3 fields, the header 2"),
        ("1,2\n3,4,\n", "line 3 has 3 fields, the header 2"),
        ('"1\n1",2\n"3",4,5\n', "line 4 has 3 fields, the header 2"),
        ('1,2\n"x,1\n2,3\n', "line 3 has a quote that is not closed"),
        ('1,2\n5" pipe,1\n2,3\n', "line 3 has a quote that is not closed, or stands in a cell"),
        ('1,2\n""x"",1\n', "line 3 has a quote"),
        ('1,"x\n', "line 2 has a quote"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_malformed_line_is_named_by_its_number(body, told, packed, tmp_path: Path) -> None:
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    data = ("a,b\n" + body).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(DataError) as caught:
        read_file(path)
    assert told in caught.value.message
    assert caught.value.hint


def test_alone_a_malformed_line_is_a_row_of_missing_values() -> None:
    lines = [b"1,2", b'"open,3', b"4", b"5,6,7", b"8,\xff", b'9" pipe,1', b"x\ry,1", b"", b"3,4"]
    frame, _ = read_alone(PATH, b"\n".join([b"a,b", *lines, b""]))
    nothing = (None, None)
    assert frame.rows() == [("1", "2"), *[nothing] * 5, ("x\ry", "1"), ("3", "4")]


def test_alone_lines_end_with_a_line_feed() -> None:
    with pytest.raises(DataError, match="with a carriage return alone"):
        read_alone(PATH, b"a,b\r1,2\r")


@pytest.mark.parametrize("data", [b'a,"b\n1,2\n"c\n', b'a,"b\nc"\n1,2\n'])
def test_alone_the_header_ends_with_its_line(data: bytes) -> None:
    with pytest.raises(DataError, match="a quote in the header is not closed"):
        read_alone(PATH, data)


def test_the_header_alone_tells_the_delimiter(tmp_path: Path) -> None:
    records = [f"{n};a, b, c" for n in range(40)]
    for extra in ([], ["1|2|3|4;x"], ['"a;b";"c|d|e|f"']):
        (tmp_path / "t.csv").write_text("\n".join(["id;weight, kg", *extra, *records]))
        frame = read_file(tmp_path / "t.csv")
        assert frame.columns == ["id", "weight, kg"]
        assert frame.height == len(records) + len(extra)


def test_lines_before_the_header_are_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n\na,b\n1,2\n3\n")
    with pytest.raises(DataError, match="line 5 has 1 field"):
        read_file(tmp_path / "t.csv")


def test_what_looks_packed_is_a_value(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\nx\x01,1\nx\x9c,2\n".replace(b"\x9c", "\x9c".encode()))
    assert read_file(tmp_path / "t.csv")["a"].to_list() == ["x\x01", "x\x9c"]


@pytest.mark.parametrize("odd", ["b;f", "b;m\nb;m\nb;m", '"1,5', "7"])
def test_alone_no_row_decides_on_the_decimal_commas_of_others(odd: str, tmp_path: Path) -> None:
    schema = Schema(
        (
            Column("step", "number", "float", decimals=1, bounds=(0.0, 9.0), levels=("b",)),
            Column("code", "category", levels=("1,5", "f", "m")),
        )
    )
    lines = ["step;code", "1,5;1,5", "2,5;f", "b;2,5"]
    frames = []
    for name, more in (("without.csv", []), ("with.csv", [odd])):
        (tmp_path / name).write_text("\n".join([*lines, *more, ""]))
        frames.append(Table.of(tmp_path / name, schema, alone=True).frame[:3])
    assert frames[0].rows() == [("1.5", "1,5"), ("2.5", "f"), ("b", "2.5")]
    assert frames[0].equals(frames[1], null_equal=True)
    assert frames[1].schema == {"step": pl.String, "code": pl.String}


@pytest.mark.parametrize("read", [read_delimited, read_alone])
def test_the_last_line_is_read_as_if_another_followed(read) -> None:
    """A carriage return at its very end belongs to its cell, as it does before another record."""
    start = b"a,b\r\n1,2\r\n3,4\r"
    alone, more = read(PATH, start)[0], read(PATH, start + b"\r\n5,6\r\n")[0]
    assert more.rows() == [*alone.rows(), ("5", "6")]
