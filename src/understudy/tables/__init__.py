"""Tables: read, write, convert, split."""

from understudy.locks import OWNER
from understudy.tables.conditions import Condition
from understudy.tables.digests import RowDigest, digest_file
from understudy.tables.files import FORMATS, format_of, read_file
from understudy.tables.formulas import without_formulas
from understudy.tables.frames import Taken, free_name, take_in, typed_by_rows
from understudy.tables.markers import Marker, believed_marker, read_marker, sidecar
from understudy.tables.output import (
    WholeFiles,
    check_writable,
    whole_file,
    write_batches,
    write_file,
    write_text,
)
from understudy.tables.splitting import holdout_rows, split
from understudy.tables.table import Table, names_of

__all__ = [
    "FORMATS",
    "OWNER",
    "Condition",
    "Marker",
    "RowDigest",
    "Table",
    "Taken",
    "WholeFiles",
    "believed_marker",
    "check_writable",
    "digest_file",
    "format_of",
    "free_name",
    "holdout_rows",
    "names_of",
    "read_file",
    "read_marker",
    "sidecar",
    "split",
    "take_in",
    "typed_by_rows",
    "whole_file",
    "without_formulas",
    "write_batches",
    "write_file",
    "write_text",
]
