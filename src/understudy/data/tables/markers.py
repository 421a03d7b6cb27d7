"""Markers: what a synthetic file says about itself, in its metadata or in a README beside it.

A Parquet file carries its marker inside. Beside a file of another kind stands ``NAME.README.md``,
for several replicates one for all, with the marker in a line that a reader does not see. The seed
is not in it: who knows the seed and can guess a training table can confirm the guess. A digest of
the rows is: what a marker says is believed of these rows alone.
"""

import dataclasses
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from understudy._version import __version__
from understudy.data.tables.digests import digest_file
from understudy.data.tables.files import format_of
from understudy.documents import check_form, loads_json, read_text
from understudy.errors import DataError
from understudy.options import is_finite

KEY = "understudy"
HIDDEN = re.compile(r"^<!-- understudy: (\{.*\}) -->$", re.M)
LONGEST = 1 << 22  # bytes of a README
NUMBERED = re.compile(r"_\d+((?:\.\w+){1,2})$")


@dataclass(frozen=True)
class Marker:
    """That a table is synthetic, and how it was made.

    ``epsilon`` is what all files of the release together spent, where a method claims one, and
    ``seeded`` that a seed drew its noise, so that it holds against nobody who knows the seed;
    ``proper`` that every replicate has a model of its own draw, and ``models`` the column methods.
    ``digests`` are of the rows of each of the ``files``; inside a file, of its own.

    Examples
    --------
    >>> Marker.from_json(Marker("cart", 100, files=("a.csv",)).to_json()).method
    'cart'
    """

    method: str
    rows: int
    kind: str = "fully synthetic"
    aligned: bool = False
    replaced: tuple[str, ...] = ()
    where: str | None = None
    given: str | None = None
    margins: str | None = None
    constraints: tuple[str, ...] = ()
    replicate: int | None = 1
    replicates: int = 1
    files: tuple[str, ...] = ()
    epsilon: float | None = None
    seeded: bool = False
    proper: bool = False
    models: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    version: str = __version__

    def to_json(self) -> str:
        """Give the marker as one line of JSON that can stand in a comment."""
        plain = {"synthetic": True, **dataclasses.asdict(self)}
        return json.dumps(plain).replace(">", "\\u003e")

    @classmethod
    def from_json(cls, text: str) -> "Marker | None":
        """Read a marker; what is none, or no longer one, gives none."""
        try:
            plain: dict[str, Any] = loads_json(text)
            check_form(plain, FORM)
        except ValueError:
            return None
        if not plain["synthetic"]:
            return None
        known = {f.name for f in dataclasses.fields(cls)}
        facts = {name: value for name, value in plain.items() if name in known}
        if not _is_epsilon(facts.get("epsilon")):
            facts["epsilon"] = None
        for name in LISTS:
            facts[name] = tuple(facts.get(name, ()))
        return cls(**facts)

    def digest_of(self, path: Path) -> str:
        """Give the digest that it holds of a file; nothing, if it holds none."""
        if not self.files:
            return self.digests[0] if len(self.digests) == 1 else ""
        if len(self.files) != len(self.digests) or path.name not in self.files:
            return ""
        return self.digests[self.files.index(path.name)]


LISTS = ("replaced", "constraints", "files", "models", "digests")
FORM = {
    "synthetic": bool,
    "method": str,
    "rows": int,
    **dict.fromkeys(("kind?", "version?"), str),
    **dict.fromkeys(("aligned?", "seeded?", "proper?"), bool),
    **dict.fromkeys(("where?", "given?", "margins?"), (str, None)),
    **{f"{name}?": [str] for name in LISTS},
    "replicate?": (int, None),
    "replicates?": int,
}


def _is_epsilon(value: Any) -> bool:
    return is_finite(value) and value >= 0


def sidecar(path: Path) -> Path:
    """Give the place of the README beside a file."""
    return path.with_name(f"{path.name}.README.md")


def read_marker(path: str | Path) -> Marker | None:
    """Read what a file says about itself; nothing, if nobody marked it."""
    path = Path(path)
    if not path.is_file():
        return None
    if format_of(path) == "parquet":
        try:
            inside = pl.read_parquet_metadata(path).get(KEY)
        except (OSError, pl.exceptions.PolarsError):
            return None
        return None if inside is None else Marker.from_json(inside)
    for beside in (path, path.with_name(NUMBERED.sub(r"\1", path.name))):
        marker = read_note(sidecar(beside))
        if marker is not None and path.name in marker.files:
            return marker
    return None


def read_note(path: Path) -> Marker | None:
    """Read the marker in a README."""
    try:
        found = HIDDEN.search(read_text(path, "README", "", largest=LONGEST))
    except DataError:
        return None
    return None if found is None else Marker.from_json(found[1])


def believed_marker(path: str | Path) -> tuple[Marker | None, str]:
    """Read what a file says about itself, if its rows are those that it is said of.

    Returns
    -------
    marker, doubt
        No marker where there is none, or where it is not believed; then the doubt says why.
    """
    path = Path(path)
    marker = read_marker(path)
    if marker is None:
        return None, ""
    known = marker.digest_of(path)
    if not known:
        return None, NO_DIGEST.format(name=path.name)
    if known != digest_file(path):
        return None, OTHER_ROWS.format(name=path.name)
    return marker, ""


NO_DIGEST = (
    "synthetic: the marker of {name} holds no digest of its rows, as earlier versions wrote it: "
    "what it says is not believed. Make the file again."
)
OTHER_ROWS = (
    "synthetic: the marker of {name} was written for other rows than the file holds now: what it "
    "says is not believed. Give the file as it was made, or make it again."
)
