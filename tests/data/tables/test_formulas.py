"""Text that a spreadsheet would run gets an apostrophe; numbers and data do not change."""

import polars as pl
import pytest

from understudy.data.tables import without_formulas


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("=cmd()", "'=cmd()"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-3.5", "-3.5"),
        ("+1e-9", "+1e-9"),
        ("a=b", "a=b"),
        ("", ""),
        (None, None),
    ],
)
def test_formulas_are_made_harmless(text, made):
    frame = pl.DataFrame({"a": pl.Series([text], dtype=pl.String), "n": [-1.0]})
    found = without_formulas(frame)
    assert found["a"].to_list() == [made]
    assert found["n"].to_list() == [-1.0]


def test_an_empty_register_stays_empty():
    assert without_formulas(pl.DataFrame()).is_empty()
