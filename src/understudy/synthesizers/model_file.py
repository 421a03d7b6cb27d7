"""Model files: one archive of JSON, arrays and frames; versioned, nothing that runs.

A file may come from anybody. Its size is bounded before it is unpacked, and whatever is taken out
of it is taken by saying what it must be: an array by its type, its shape and the range of its
values, a frame by its columns. What is something else is ``Damaged``.
"""

import dataclasses
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from understudy.data.tables.files import refuse_bomb
from understudy.documents import check_form, loads_json
from understudy.errors import DataError
from understudy.synthesizers.arrow_file import is_plain

VERSION = 1
EPOCH = (1980, 1, 1, 0, 0, 0)
MOST_MEMBERS = 1 << 18
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
PREFIX = 10  # bytes before the head of an array: magic, version, length
ARRAY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<dtype>\|[biu]1|<[iuf][248])', "
    rb"'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,12}, ?)*(?:\d{1,12})?)\), \}",
    re.DOTALL,
)
HEAD: dict[str, type] = {
    "understudy": str,
    "method": str,
    "options": dict,
    "seed": int,
    "rows": int,
    "schema": str,
    "values": dict,
}
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    OSError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
UNSOUND: tuple[type[BaseException], ...] = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


class Damaged(ValueError):
    """Something in a model file is not what it must be."""


@dataclass(frozen=True)
class State:
    """What a fitted method is made of: plain values, arrays and frames, by name.

    ``prefix`` begins the names of the arrays that are asked for.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    prefix: str = ""

    def part(self, prefix: str) -> "State":
        """Give the arrays whose names begin so, by the rest of their names."""
        return dataclasses.replace(self, prefix=self.prefix + prefix)

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.arrays

    def array(
        self,
        name: str,
        dtype: DTypeLike,
        shape: Sequence[int | None],
        low: float | None = None,
        high: float | None = None,
        *,
        step: int | None = None,
        nan: bool = False,
    ) -> NDArray[Any]:
        """Take an array that is of this type and shape and holds these values, or refuse it.

        Parameters
        ----------
        shape : sequence of int or None
            None is any length.
        low, high : float, optional
            The smallest and largest value. Numbers are finite unless these are not.
        step : int, optional
            By how much each value exceeds the one before, at least.
        nan : bool
            Whether values may be nan.

        Examples
        --------
        >>> state = State(arrays={"children": np.array([1, 2, 9])})
        >>> state.array("children", np.int64, (3,), 0, 8)
        Traceback (most recent call last):
        understudy.synthesizers.model_file.Damaged: the array children has values out of range
        """
        full = self.prefix + name
        if full not in self.arrays:
            raise Damaged(f"the array {full} is missing")
        array = self.arrays[full]
        if array.dtype != np.dtype(dtype):
            raise Damaged(f"the array {full} is of the type {array.dtype}")
        if array.ndim != len(shape) or any(
            size not in (None, own) for size, own in zip(shape, array.shape, strict=True)
        ):
            raise Damaged(f"the array {full} has the shape {array.shape}")
        if array.size and not _in_range(array, low, high, nan=nan):
            raise Damaged(f"the array {full} has values out of range")
        if step is not None and len(array) > 1 and np.diff(array).min() < step:
            raise Damaged(f"the array {full} does not rise")
        return array

    def frame(self, name: str, columns: Iterable[str]) -> pl.DataFrame:
        """Take a frame that has these columns, of plain values, and at least one row."""
        if name not in self.frames:
            raise Damaged(f"the frame {name} is missing")
        frame = self.frames[name]
        if frame.columns != list(columns):
            raise Damaged(f"the frame {name} has other columns")
        if not frame.height:
            raise Damaged(f"the frame {name} has no rows")
        for dtype in frame.dtypes:
            if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
                raise Damaged(f"the frame {name} holds values of the type {dtype}")
        return frame

    def without_frames(self, names: Iterable[str]) -> "State":
        """Give all but some frames."""
        left = {name: frame for name, frame in self.frames.items() if name not in set(names)}
        return dataclasses.replace(self, frames=left)


def _in_range(array: NDArray[Any], low: float | None, high: float | None, *, nan: bool) -> bool:
    if array.dtype.kind == "f":
        largest = float(np.finfo(array.dtype).max)
        low, high = -largest if low is None else low, largest if high is None else high
    if array.dtype.kind == "b" or (low is None and high is None):
        return True
    smallest, greatest = (
        (np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None))
        if nan
        else (array.min(), array.max())
    )
    return bool((low is None or smallest >= low) and (high is None or greatest <= high))


def whole(value: Any, low: int, high: int) -> int:
    """Take a whole number of the head that lies between two, both included."""
    if type(value) is not int or not low <= value <= high:
        raise Damaged(f"{value!r} is no whole number from {low} to {high}")
    return value


def number(value: Any) -> float:
    """Take a number of the head."""
    if type(value) not in (int, float):
        raise Damaged(f"{value!r} is no number")
    return float(value)


def texts(value: Any) -> tuple[str, ...]:
    """Take a list of texts of the head."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise Damaged("a list of texts is something else")
    return tuple(value)


def labels_in(value: Any) -> tuple[str | None, ...]:
    """Take the labels of a column, all different; one may stand for a missing value."""
    if not isinstance(value, list) or len(set(map(repr, value))) < len(value):
        raise Damaged("the labels of a column are no list, or not all different")
    if not all(text is None or isinstance(text, str) for text in value):
        raise Damaged("a label of a column is no text")
    return tuple(value)


def write_model(path: Path, head: Mapping[str, Any], state: State) -> None:
    """Write a model; equal models give equal bytes."""
    document = {"understudy_model": VERSION, **head, "values": dict(state.values)}
    with zipfile.ZipFile(path, "w") as archive:
        _add(archive, "model.json", json.dumps(document, ensure_ascii=False, indent=1).encode())
        for name, array in state.arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            _add(archive, f"arrays/{name}.npy", buffer.getvalue())
        for name, frame in state.frames.items():
            buffer = io.BytesIO()
            frame.write_ipc(buffer)
            _add(archive, f"frames/{name}.arrow", buffer.getvalue())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def read_model(path: Path) -> tuple[dict[str, Any], State]:
    """Read a model file; a file of another kind or version is an error that says so."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such model file", hint="check the path")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _entries(archive, path)
            document = _read_head(_unpacked(archive, entries["model.json"]), path)
            arrays, frames = {}, {}
            for name, entry in entries.items():
                if name.startswith("arrays/"):
                    arrays[name[7:-4]] = _read_array(_unpacked(archive, entry))
                elif name.startswith("frames/"):
                    frames[name[7:-6]] = _read_frame(_unpacked(archive, entry))
    except BROKEN as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"{path}: this is not a whole model file ({reason})",
            hint="give a file written by --save",
        ) from error
    return document, State(document.pop("values"), arrays, frames)


def _entries(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """List what is in the archive, and refuse what would be too much once it is unpacked."""
    listed = archive.infolist()
    if len(listed) > MOST_MEMBERS:
        raise ValueError(f"it has {len(listed):,} members, {MOST_MEMBERS:,} at most are read")
    refuse_bomb(path, path.stat().st_size, sum(entry.file_size for entry in listed))
    made = {entry.filename: entry for entry in listed}
    if len(made) < len(listed):
        raise ValueError("it has two members of one name")
    return made


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Unpack as many bytes as the archive says that there are, whatever is packed."""
    if entry.compress_type not in PACKED:
        raise ValueError(f"{entry.filename} is packed in an unknown way")
    with archive.open(entry) as file:
        content = file.read(entry.file_size)
        rest = file.read(1)  # the end of a member is where its checksum is compared
    if len(content) != entry.file_size or rest:
        raise ValueError(f"{entry.filename} is cut off")
    return content


def _read_array(content: bytes) -> NDArray[Any]:
    """Read an array of numbers as ``numpy.save`` writes them, if all that it tells of is there."""
    found = ARRAY.match(content)
    if found is None:
        raise ValueError("an array is of another form")
    dtype, shape = (
        np.dtype(found["dtype"].decode()),
        [*map(int, re.findall(rb"\d+", found["shape"]))],
    )
    start = PREFIX + int.from_bytes(content[PREFIX - 2 : PREFIX], "little")
    if start < found.end() or math.prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError("an array has another size than it tells")
    order: Literal["F", "C"] = "F" if found["fortran"] == b"True" else "C"
    return np.frombuffer(content, dtype, offset=start).reshape(shape, order=order).copy(order)


def _read_frame(content: bytes) -> pl.DataFrame:
    """Read a frame; one that is packed inside could unpack to any size."""
    if not is_plain(content):
        raise ValueError("a frame is packed, or tells of more rows than it has room for")
    return pl.read_ipc(io.BytesIO(content))


def _read_head(content: bytes, path: Path) -> dict[str, Any]:
    document = loads_json(content)
    if not isinstance(document, dict) or "understudy_model" not in document:
        raise ValueError("model.json is of another program")
    version = document["understudy_model"]
    if version != VERSION:
        raise DataError(
            f"{path}: a model file of version {version}",
            hint=f"this program reads version {VERSION}; fit the model again",
        )
    check_form(document, HEAD, "model.json")
    return document


@dataclass(frozen=True)
class Origin:
    """Where a model was read from: that it is damaged may show only when rows are drawn."""

    path: Path
    method: str
    writer: str

    @contextmanager
    def guarded(self, *more: type[Exception]) -> Iterator[None]:
        """Say of what goes wrong that the file is damaged."""
        try:
            yield
        except (*UNSOUND, *more) as error:
            why = f" ({error})" if isinstance(error, Damaged) else ""
            raise DataError(
                f"{self.path}: the model ({self.method}) is damaged or of another version{why}",
                hint=self.writer,
            ) from error
