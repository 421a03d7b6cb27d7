"""Tables: read, write, convert, split."""

from understudy.data.tables.conditions import Condition
from understudy.data.tables.files import FORMATS, format_of, read_file
from understudy.data.tables.frames import (
    FrameKind,
    IncomingFrame,
    free_name,
    in_kind,
    kind_of_frame,
    take_in,
    typed_by_rows,
)
from understudy.data.tables.markers import (
    Marker,
    RowDigest,
    believed_marker,
    digest_file,
    read_marker,
    sidecar,
)
from understudy.data.tables.output import (
    WholeFiles,
    check_writable,
    whole_file,
    without_formulas,
    write_batches,
    write_file,
    write_text,
)
from understudy.data.tables.splitting import PART, holdout_rows, split
from understudy.data.tables.table import Table, warn_left_out
from understudy.jobs.locks import OWNER

__all__ = [
    "FORMATS",
    "OWNER",
    "PART",
    "Condition",
    "FrameKind",
    "IncomingFrame",
    "Marker",
    "RowDigest",
    "Table",
    "WholeFiles",
    "believed_marker",
    "check_writable",
    "digest_file",
    "format_of",
    "free_name",
    "holdout_rows",
    "in_kind",
    "kind_of_frame",
    "read_file",
    "read_marker",
    "sidecar",
    "split",
    "take_in",
    "typed_by_rows",
    "warn_left_out",
    "whole_file",
    "without_formulas",
    "write_batches",
    "write_file",
    "write_text",
]
