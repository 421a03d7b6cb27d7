"""Tables: read, write, convert, split."""

from understudy.tables.files import FORMATS, format_of, read_file, whole_file, write_file
from understudy.tables.frames import Taken, take_in
from understudy.tables.splitting import holdout_rows, split
from understudy.tables.table import Table, names_of

__all__ = [
    "FORMATS",
    "Table",
    "Taken",
    "format_of",
    "holdout_rows",
    "names_of",
    "read_file",
    "split",
    "take_in",
    "whole_file",
    "write_file",
]
