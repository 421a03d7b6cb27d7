"""Markers: found again where they were put, never where nobody put them."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.tables import Marker, read_marker, sidecar, write_batches
from understudy.data.tables.markers import KEY

MARKER = Marker("cart", 3, aligned=True, replaced=("a --> b",), where="a > 1", files=("t_2.csv",))
TEXT = st.text(max_size=10)
MARKERS = st.builds(
    Marker,
    TEXT,
    st.integers(0),
    TEXT,
    st.booleans(),
    st.lists(TEXT).map(tuple),
    st.none() | TEXT,
    files=st.lists(TEXT).map(tuple),
)


@given(MARKERS)
def test_json_is_one_line_that_reads_back(marker: Marker) -> None:
    text = marker.to_json()
    assert Marker.from_json(text) == marker
    assert len(text.splitlines()) == 1


def test_nothing_in_it_ends_the_comment() -> None:
    assert "-->" not in MARKER.to_json()
    assert Marker.from_json(MARKER.to_json()) == MARKER


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "1", '{"synthetic": true}', '{"synthetic": false}']
)
def test_what_is_no_marker(text: str) -> None:
    assert Marker.from_json(text) is None


def test_a_later_version_may_say_more() -> None:
    assert Marker.from_json(MARKER.to_json()[:-1] + ', "colour": "blue"}') == MARKER


def test_inside_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"a": [1]})
    write_batches([frame], path, like=path, metadata=lambda: {KEY: MARKER.to_json()})
    assert read_marker(path) == MARKER
    frame.write_parquet(path)
    assert read_marker(path) is None
    path.write_bytes(b"no parquet")
    assert read_marker(path) is None
    assert read_marker(tmp_path / "none.parquet") is None


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "tsv", "arrow", "xlsx"])
def test_in_a_readme_beside_the_file_or_its_replicates(extension: str, tmp_path: Path) -> None:
    marker = Marker("cart", 3, files=(f"t_1.{extension}", f"t_2.{extension}"))
    for number in (1, 2, 3):
        (tmp_path / f"t_{number}.{extension}").touch()
    whole = f"# Words\n\n<!-- understudy: {marker.to_json()} -->\n"
    sidecar(tmp_path / f"t.{extension}").write_text(whole, encoding="utf-8")
    found = [read_marker(tmp_path / f"t_{number}.{extension}") for number in (1, 2, 3)]
    assert found == [marker, marker, None]


def test_a_readme_of_somebody_else(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    assert read_marker(path) is None
    for content in (b"# Mine", b"\xff\xfe", b"<!-- understudy: {broken} -->"):
        sidecar(path).write_bytes(content)
        assert read_marker(path) is None
