"""Files of every format, and of every way to be broken."""

import gzip
import os
import random
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from understudy.cli import cli
from understudy.data.datasets import registry
from understudy.data.schema import dumps, infer
from understudy.data.tables import read_file, split, whole_file, write_file
from understudy.errors import DataError, OptionError, UnderstudyError

FRAME = pl.DataFrame(
    {
        "whole": [1, None, -3],
        "part": [0.5, 2.25, None],
        "word": ["x", None, 'a,b;c\t"d"\nline two'],
        "naïve 🎭": ["é", "N", None],
    }
)
TEXT_FORMATS = ["csv", "csv.gz", "tsv", "tsv.gz", "txt", "CSV"]
TYPED_FORMATS = ["parquet", "pq", "arrow", "feather", "ipc", "xlsx"]


@pytest.fixture
def make(tmp_path: Path) -> Any:
    def write(content: str | bytes, name: str = "people.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def fails(path: Path, kind: type[UnderstudyError] = DataError) -> str:
    """Read a broken file; the one error names it and gives a hint."""
    with pytest.raises(kind) as caught:
        read_file(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return str(caught.value)


@pytest.mark.parametrize("extension", TEXT_FORMATS)
def test_text_formats_give_every_cell_back_as_text(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{extension}"
    write_file(FRAME, path)
    assert_frame_equal(read_file(path), FRAME.cast(pl.String))


@pytest.mark.parametrize("extension", TYPED_FORMATS)
def test_typed_formats_give_the_same_frame_back(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{extension}"
    write_file(FRAME, path)
    assert_frame_equal(read_file(path), FRAME)


@pytest.mark.parametrize("extension", [*TEXT_FORMATS, *TYPED_FORMATS])
def test_a_missing_value_between_others_stays_a_row(extension: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"only": ["x", None, "y"]})
    write_file(frame, tmp_path / f"table.{extension}")
    assert_frame_equal(read_file(tmp_path / f"table.{extension}"), frame)


@pytest.mark.parametrize("extension", [*TEXT_FORMATS, *TYPED_FORMATS])
def test_a_table_without_rows_keeps_its_columns(extension: str, tmp_path: Path) -> None:
    write_file(FRAME.head(0), tmp_path / f"table.{extension}")
    made = read_file(tmp_path / f"table.{extension}")
    assert made.columns == FRAME.columns
    assert made.height == 0


@pytest.mark.parametrize("extension", ["csv", "parquet", "arrow", "xlsx"])
def test_a_name_with_wildcards_is_one_file(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"a[1]*?.{extension}"
    write_file(FRAME.select("whole"), path)
    assert read_file(path).height == 3


def test_byte_order_mark_is_no_part_of_the_first_name(make: Any) -> None:
    assert read_file(make(b"\xef\xbb\xbfa,b\n1,2\n")).columns == ["a", "b"]
    assert read_file(make(b'\xef\xbb\xbf"a","b"\n1,2\n')).columns == ["a", "b"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(delimiter: str, make: Any) -> None:
    path = make(delimiter.join("abc") + "\n" + delimiter.join(["1", "x y", "2"]) + "\n")
    assert read_file(path).rows() == [("1", "x y", "2")]


def test_other_delimiters_in_the_values_do_not_mislead(make: Any) -> None:
    path = make("name;note\nann;a, b, c\nbob;d, e, f\n")
    assert read_file(path).rows() == [("ann", "a, b, c"), ("bob", "d, e, f")]
    assert read_file(make('a,b\n"1;2;3",x\n"4;5;6",y\n')).columns == ["a", "b"]


def test_decimal_commas_become_points(make: Any) -> None:
    path = make("a;b;c\n1,5;x,1;2,5e-3\n-2;y;1e5\n;z;3\n")
    assert read_file(path).rows() == [
        ("1.5", "x,1", "2.5e-3"),
        ("-2", "y", "1e5"),
        (None, "z", "3"),
    ]


def test_a_word_among_decimal_commas_spoils_only_itself(make: Any) -> None:
    path = make("a;b\n1,5;1\nN;2\n2,25;3\n13,9,58;4\n3;5\n")
    assert read_file(path)["a"].to_list() == ["1.5", "N", "2.25", "13,9,58", "3"]


def test_commas_of_lists_are_no_decimal_commas(make: Any) -> None:
    path = make("a;b\n1,2,3;x\n4,5,6;y\n")
    assert read_file(path)["a"].to_list() == ["1,2,3", "4,5,6"]


def test_quoted_newlines_delimiters_and_quotes(make: Any) -> None:
    path = make('a,"b\nc"\n"x,y","one\ntwo"\n"say ""hi""",2\n')
    frame = read_file(path)
    assert frame.columns == ["a", "b\nc"]
    assert frame.rows() == [("x,y", "one\ntwo"), ('say "hi"', "2")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str, make: Any) -> None:
    assert read_file(make(end.join(["a,b", "1,2", "3,4", ""]))).rows() == [("1", "2"), ("3", "4")]


def test_blank_lines_are_no_rows_but_empty_cells_are(make: Any) -> None:
    path = make("a,b\n1,2\n\n,\n3,4\n\n\n")
    assert read_file(path).rows() == [("1", "2"), (None, None), ("3", "4")]


def test_marks_of_missing_values(make: Any) -> None:
    marks = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>", "#N/A"]
    frame = read_file(make("a,b\n" + "".join(f"{mark},x\n" for mark in marks)))
    assert frame["a"].null_count() == len(marks)
    assert read_file(make("a,b\nN,-\nnone,NAN\n")).null_count().row(0) == (0, 0)


def test_a_short_line_is_refused(make: Any) -> None:
    assert "line 2 has 1 field, the header 2" in fails(make("a,b\n1\n3,4\n"))


def test_a_very_wide_header(make: Any) -> None:
    names = [f"column number {i}" for i in range(10_000)]
    frame = read_file(make(",".join(names) + "\n" + ",".join(["1"] * 10_000) + "\n"))
    assert frame.columns == names


def test_nameless_columns_are_numbered(make: Any) -> None:
    assert read_file(make(",a,\n0,x,1\n")).columns == ["unnamed_1", "a", "unnamed_3"]


def test_pandas_index_is_read_as_a_column(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": ["x", "y"]}).to_csv(tmp_path / "t.csv")
    assert read_file(tmp_path / "t.csv").columns == ["unnamed_1", "a"]


@pytest.mark.parametrize("where", ["start", "end"])
def test_not_utf8(where: str, make: Any) -> None:
    lines = ["plain,1\n"] * 50_000
    lines.insert(0 if where == "start" else len(lines), "José,2\n")
    message = fails(make(("name,n\n" + "".join(lines)).encode("latin1")))
    assert "not UTF-8" in message
    assert "iconv -f latin1" in message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16(encoding: str, make: Any) -> None:
    message = fails(make("name,n\nann,1\n".encode(encoding)))
    assert "not UTF-8" in message
    assert "iconv -f utf-16" in message


def test_not_utf8_inside_gzip(make: Any) -> None:
    assert "not UTF-8" in fails(make(gzip.compress("a\né\n".encode("latin1")), "t.csv.gz"))


@pytest.mark.parametrize("content", ["", "\n", "  \n\n"])
def test_empty_file(content: str, make: Any) -> None:
    assert "empty" in fails(make(content))


def test_header_only_is_a_table_without_rows(make: Any) -> None:
    for content in ("a,b\n", "a,b"):
        frame = read_file(make(content))
        assert frame.columns == ["a", "b"]
        assert frame.height == 0


def test_ragged_line_is_named_by_its_number(make: Any) -> None:
    assert "line 4 has 3 fields, the header 2" in fails(make('a,b\n"1\n1",2\n1,2,3\n'))
    gz = make(gzip.compress(b"a,b\n1,2\n1,2,3\n"), "t.csv.gz")
    assert "line 3 has 3 fields" in fails(gz)


def test_open_quote(make: Any) -> None:
    fails(make('a,b\n"x,1\n2,3\n'))


@pytest.mark.parametrize("content", ["a,a\n1,2\n", ",unnamed_1\n1,2\n"])
def test_duplicate_names(content: str, make: Any) -> None:
    assert "stands twice" in fails(make(content))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "no such file" in fails(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "folder" in fails(tmp_path / "folder.csv")


@pytest.mark.parametrize("name", ["table.doc", "table", "csv"])
def test_unknown_extension(name: str, make: Any) -> None:
    assert ".parquet" in fails(make("a\n1\n", name), OptionError)


@pytest.mark.parametrize("extension", ["parquet", "arrow", "xlsx", "xls", "csv.gz"])
@pytest.mark.parametrize("content", [b"a,b\n1,2\n" * 50, b""])
def test_another_kind_of_file_under_that_extension(
    extension: str, content: bytes, make: Any
) -> None:
    fails(make(content, f"table.{extension}"))


@pytest.mark.parametrize("extension", ["csv.gz", "parquet", "arrow", "xlsx"])
def test_truncated_file(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{extension}"
    write_file(pl.DataFrame({"x": range(5000)}), path)
    whole = path.read_bytes()
    for kept in (len(whole) // 2, len(whole) - 8):
        path.write_bytes(whole[:kept])
        fails(path)


def test_no_columns(tmp_path: Path) -> None:
    pl.DataFrame().write_parquet(tmp_path / "t.parquet")
    assert "no columns" in fails(tmp_path / "t.parquet")


def test_a_missing_folder_to_write_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder") as caught:
        write_file(FRAME, tmp_path / "none" / "t.csv")
    assert caught.value.hint


def test_old_excel_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not written"):
        write_file(FRAME, tmp_path / "t.xls")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "parquet", "arrow", "xlsx"])
@pytest.mark.parametrize("before", [None, b"precious"])
def test_a_full_disk_leaves_nothing_half_written(
    extension: str, before: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"t.{extension}"
    if before:
        path.write_bytes(before)

    def full(self: pl.DataFrame, file: Any, *args: Any, **more: Any) -> None:
        if isinstance(file, Path):
            file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    for name in ("write_csv", "write_parquet", "write_ipc", "write_excel"):
        monkeypatch.setattr(pl.DataFrame, name, full)
    with pytest.raises(DataError, match="No space left") as caught:
        write_file(FRAME, path)
    assert str(path) in caught.value.message
    assert [p.name for p in tmp_path.iterdir()] == ([path.name] if before else [])
    assert not before or path.read_bytes() == before


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **more: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(DataError, match="Permission denied") as caught:
        write_file(FRAME, tmp_path / "t.csv")
    assert "rights" in caught.value.hint
    assert not list(tmp_path.iterdir())


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with whole_file(tmp_path / "t.csv") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_written_files_have_ordinary_permissions(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write_file(FRAME, tmp_path / "t.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "parquet", "arrow"])
def test_same_frame_same_bytes(
    extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / f"one.{extension}", tmp_path / f"two.{extension}"
    write_file(FRAME, one)
    monkeypatch.setattr("time.time", lambda: 1e9)
    write_file(FRAME, two)
    assert one.read_bytes() == two.read_bytes()


def test_a_path_is_split_like_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_file(pl.DataFrame({"x": range(10), "y": ["007", "012"] * 5}), path)
    train, holdout = split(path, holdout=0.3, seed=1)
    assert (train.height, holdout.height) == (7, 3)
    assert train.schema == {"x": pl.Int64, "y": pl.String}


def test_real_files_are_read(real_data: Callable[[str], Path]) -> None:
    for name, entry in registry().items():
        read = read_file(real_data(name))
        assert read.shape == (entry.rows, entry.columns), name


def test_a_link_is_followed_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    target, link, pipe = (tmp_path / name for name in ("real.csv", "link.csv", "pipe.csv"))
    target.write_text("old")
    link.symlink_to(target)
    write_file(pl.DataFrame({"a": [1]}), link)
    assert link.is_symlink()
    assert target.read_text() == "a\n1\n"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pl.DataFrame({"a": [1]}), pipe)
    assert os.read(reader, 100) == b"a\n1\n"
    os.close(reader)
    assert not pipe.is_file()


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "parquet", "arrow", "xlsx"])
def test_links_in_a_circle_and_pipes_are_refused_at_once(extension: str, tmp_path: Path) -> None:
    one, other, pipe = (tmp_path / f"{name}.{extension}" for name in ("one", "other", "pipe"))
    one.symlink_to(other)
    other.symlink_to(one)
    os.mkfifo(pipe)
    assert "symbolic links" in fails(one)
    assert "no ordinary file" in fails(pipe)
    with pytest.raises(DataError, match="links that lead to each other"):
        write_file(FRAME, one)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    for arguments in ([one], [tmp_path / "t.csv", "--out", one]):
        found = CliRunner().invoke(cli, ["schema", *map(str, arguments)]).exception
        assert isinstance(found, DataError), found


def test_a_packed_file_that_fills_the_memory_is_refused(
    make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("understudy.data.tables.files.LARGE", 1 << 20)
    bomb = gzip.compress(b"a,b\n" + b"0,0\n" * (1 << 19))
    assert "over 200 times as many" in fails(make(bomb, "t.csv.gz"))
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", "0" * (1 << 21))
    assert "over 200 times as many" in fails(tmp_path / "t.xlsx")
    honest = "".join(f"{number},{number % 7}\n" for number in range(300_000))
    assert read_file(make(gzip.compress(f"a,b\n{honest}".encode()), "h.csv.gz")).height == 300_000


@pytest.mark.parametrize("extension", ["csv.gz", "parquet", "arrow", "xlsx"])
def test_damaged_files_are_read_or_refused(extension: str, tmp_path: Path) -> None:
    """Whatever a reader of such files does, a panic among it, the error is one of data."""
    path, rng = tmp_path / f"t.{extension}", random.Random(extension)
    days = pl.date_range(pl.date(2000, 1, 1), pl.date(2000, 7, 18), eager=True)
    write_file(pl.DataFrame({"n": range(200), "day": days, "x": ["a", None] * 100}), path)
    whole = path.read_bytes()
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.sample(range(len(whole)), 6):
            damaged[place] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            dumps(infer(read_file(path)))
        except DataError:
            refused += 1
    assert refused
