"""Model files: one archive of JSON, arrays and frames; versioned, nothing that runs."""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import DataError

VERSION = 1
EPOCH = (1980, 1, 1, 0, 0, 0)
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
    OSError,
    pl.exceptions.PolarsError,
)


@dataclass(frozen=True)
class State:
    """What a fitted method is made of: plain values, arrays and frames, by name."""

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def part(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Give the arrays whose names begin so, by the rest of their names."""
        size = len(prefix)
        return {k[size:]: v for k, v in self.arrays.items() if k.startswith(prefix)}


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
            document = _read_head(archive, path)
            arrays, frames = {}, {}
            for name in archive.namelist():
                content = io.BytesIO(archive.read(name))
                if name.startswith("arrays/"):
                    arrays[name[7:-4]] = np.load(content, allow_pickle=False)
                elif name.startswith("frames/"):
                    frames[name[7:-6]] = pl.read_ipc(content)
    except BROKEN as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"{path}: this is not a whole model file ({reason})",
            hint="give a file written by --save",
        ) from error
    return document, State(document.pop("values"), arrays, frames)


def _read_head(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    document = json.loads(archive.read("model.json"))
    if not isinstance(document, dict) or "understudy_model" not in document:
        raise ValueError("model.json is of another program")
    version = document["understudy_model"]
    if version != VERSION:
        raise DataError(
            f"{path}: a model file of version {version}",
            hint=f"this program reads version {VERSION}; fit the model again",
        )
    for name, kind in HEAD.items():
        if not isinstance(document.get(name), kind):
            raise ValueError(f"model.json has no {name}")
    return document
