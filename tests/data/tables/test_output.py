"""Tables written batch by batch, several files at once, whole or not at all."""

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from understudy.data.tables import WholeFiles, read_file, write_batches, write_file
from understudy.errors import DataError, OptionError
from understudy.jobs import temporary

WHOLE = pl.DataFrame(
    {
        "whole": [1, None, -3, 4, 5, 6, 7],
        "part": [0.5, 2.25, None, 1e-9, 1e20, -0.0, 3.0],
        "word": ["x", None, 'a,b\t"d"\nline two', "", "é", "0", "y"],
        "when": pl.Series([None, *range(6)], dtype=pl.Int64).cast(pl.Datetime("us")),
        "cat": pl.Series(["a", "b", "a", None, "c", "a", "b"], dtype=pl.Categorical),
    }
)
BATCHES = [WHOLE[:2], WHOLE[2:3], WHOLE[3:3], WHOLE[3:]]
FORMATS = ["csv", "csv.gz", "tsv", "tsv.gz", "parquet", "arrow"]


@pytest.mark.parametrize("extension", [*FORMATS, "xlsx"])
def test_batches_make_the_same_file_as_the_whole(extension: str, tmp_path: Path) -> None:
    frame = WHOLE if extension != "xlsx" else WHOLE.drop("cat")
    one, many = tmp_path / f"one.{extension}", tmp_path / f"many.{extension}"
    write_file(frame, one)
    rows = write_batches((b.select(frame.columns) for b in BATCHES), many, like=many)
    assert rows == 7
    assert_frame_equal(read_file(many), read_file(one))
    if extension in ("csv", "tsv"):
        assert many.read_bytes() == one.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([one.name, many.name])


@pytest.mark.parametrize("batches", [[WHOLE], BATCHES, [WHOLE.head(0)]])
def test_metadata_of_parquet(batches: list[pl.DataFrame], tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_batches(batches, path, like=path, metadata=lambda: {"understudy": "näme"})
    assert pl.read_parquet_metadata(path)["understudy"] == "näme"


@pytest.mark.parametrize("extension", FORMATS)
def test_no_more_than_a_few_batches_are_in_memory(extension: str, tmp_path: Path) -> None:
    made: list[weakref.ref[pl.DataFrame]] = []
    most: list[int] = []

    def batches() -> Iterator[pl.DataFrame]:
        for number in range(20):
            frame = pl.DataFrame({"big": range(number * 10, number * 10 + 10)})
            made.append(weakref.ref(frame))
            most.append(sum(ref() is not None for ref in made))
            yield frame

    write_batches(batches(), tmp_path / "t", like=Path(f"t.{extension}"))
    assert len(most) == 20
    assert max(most) <= 4


class Interrupt(BaseException):
    """Stands for Ctrl-C."""


@pytest.mark.parametrize("extension", [*FORMATS, "xlsx"])
@pytest.mark.parametrize("error", [Interrupt, DataError("too rare"), OSError(28, "No space left")])
def test_several_files_appear_together_or_not_at_all(
    extension: str, error: BaseException, tmp_path: Path
) -> None:
    first, second = tmp_path / f"a.{extension}", tmp_path / f"b.{extension}"
    first.write_bytes(b"precious")

    def broken() -> Iterator[pl.DataFrame]:
        yield WHOLE[:2].drop("cat")
        yield WHOLE[2:4].drop("cat")
        raise error

    def write() -> None:
        with WholeFiles() as files:
            write_batches([WHOLE.drop("cat")], files.add(first), like=first)
            write_batches(broken(), files.add(second), like=second)

    with pytest.raises((Interrupt, DataError)) as caught:
        write()
    if isinstance(error, OSError):
        assert str(second) in str(caught.value)
        assert "No space left" in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == [first.name]
    assert first.read_bytes() == b"precious"


def test_more_rows_than_excel_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.data.tables.output.MOST_IN_EXCEL", 6)
    with pytest.raises(OptionError, match="7 rows, Excel holds 6"):
        write_file(WHOLE, tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


def test_several_files_are_written(tmp_path: Path) -> None:
    with WholeFiles() as files:
        for name in "abc":
            files.add(tmp_path / name).write_text(name)
        assert not [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {n: n for n in "abc"}


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "parquet", "arrow"])
def test_a_full_device(extension: str, tmp_path: Path) -> None:
    link = tmp_path / f"t.{extension}"
    link.symlink_to("/dev/full")
    with pytest.raises(DataError, match="cannot be written"):
        write_file(pl.DataFrame({"x": range(100_000)}), link)
    assert list(tmp_path.iterdir()) == [link]


@pytest.mark.parametrize(
    ("extension", "batches"),
    [
        ("csv", 3),
        ("csv.gz", 3),
        ("xlsx", 3),
        *((e, b) for e in ("parquet", "arrow") for b in (1, 3)),
    ],
)
def test_a_disk_that_fills_up(extension: str, batches: int, tmp_path: Path) -> None:
    code = (
        "import polars as pl, random, sys, resource\nfrom pathlib import Path\n"
        "from understudy.errors import DataError\n"
        "from understudy.data.tables import WholeFiles, write_batches\n"
        "frames = [pl.DataFrame({'x': [random.random() for _ in range(9000)]})] * "
        f"{batches}\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try:\n"
        "    with WholeFiles() as files:\n"
        f"        path = Path('t.{extension}')\n"
        "        write_batches(frames, files.add(path), like=path)\n"
        "except DataError as error:\n"
        "    sys.exit(f'found: {error.message}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert f"found: t.{extension}: cannot be written: File too large\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_interrupted_process_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import time, sys, polars as pl\nfrom pathlib import Path\n"
        "from understudy.data.tables import WholeFiles, write_batches\n"
        "def slow():\n"
        "    for i in range(10**6):\n"
        "        yield pl.DataFrame({'x': range(1000)})\n"
        "        print(i, flush=True); time.sleep(.01)\n"
        "with WholeFiles() as files:\n"
        "    for name in ('a.parquet', 'b.csv'):\n"
        "        batches = slow() if name == 'a.parquet' else [pl.DataFrame({'x': [1]})]\n"
        "        write_batches(batches, files.add(Path(name)), like=Path(name))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ,
    )  # fmt: skip
    assert process.stdout is not None
    while process.stdout.readline() != b"3\n":
        time.sleep(0.001)
    assert list(tmp_path.iterdir())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert not list(tmp_path.iterdir())


def test_an_interrupted_cleaning_up_is_done_again(tmp_path: Path, monkeypatch) -> None:
    remove, called = temporary._remove_one, []

    def interrupted_once(path: Path) -> None:
        called.append(path)
        if len(called) == 1:
            raise KeyboardInterrupt
        remove(path)

    monkeypatch.setattr(temporary, "_remove_one", interrupted_once)
    path = tmp_path / "t.parquet"
    with pytest.raises(KeyboardInterrupt), WholeFiles() as files:
        write_batches(BATCHES, files.add(path), like=path)
    assert len(called) > 1
    assert not list(tmp_path.iterdir())


def test_excel_files_are_made_without_files_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows in temporary files of another library would stay if the program were killed."""

    def refuse(*args: Any, **more: Any) -> None:
        raise AssertionError("a file of another library's own")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    write_file(WHOLE.drop("cat"), tmp_path / "t.xlsx")
    assert read_file(tmp_path / "t.xlsx").height == WHOLE.height
