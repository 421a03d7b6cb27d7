"""Codes: how a column becomes small integers and back, whatever its kind.

``codec`` has the one codec of a column, and that of a table; ``numbers`` how numbers are coded, by
bins or by the points that stand for them; ``shown`` which points and labels may be shown at all;
``writing`` how values are stored again.
"""

from understudy.data.codec.codec import (
    FIRST,
    MISSING,
    MOST_CODES,
    UNSEEN,
    Codec,
    Coded,
    Codes,
    ColumnCodec,
    Counted,
)
from understudy.data.codec.numbers import Bins, Grid, Points, on_grid
from understudy.data.codec.shown import shown_codec
from understudy.data.codec.writing import write_values

__all__ = [
    "FIRST",
    "MISSING",
    "MOST_CODES",
    "UNSEEN",
    "Bins",
    "Codec",
    "Coded",
    "Codes",
    "ColumnCodec",
    "Counted",
    "Grid",
    "Points",
    "on_grid",
    "shown_codec",
    "write_values",
]
