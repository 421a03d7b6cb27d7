"""Markers: what a synthetic file says about itself, in its metadata or in a README beside it.

A Parquet file carries its marker inside. Beside a file of another kind stands ``NAME.README.md``,
for several replicates one for all, with the marker in a line that a reader does not see. The seed
is not in it: who knows the seed and can guess a training table can confirm the guess. A digest of
the rows is: what a marker says is believed of these rows alone.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from understudy._version import __version__
from understudy.data.schema.values import LARGEST_EXACT, infinities, labels, numbers
from understudy.data.tables.files import MISSING_MARKS, format_of, read_file
from understudy.documents import check_form, loads_json, read_text
from understudy.errors import DataError
from understudy.options import is_finite

KEY = "understudy"
DIGEST_FORM = "rows-1"  # how rows become texts; another form is another digest
WHOLE = r"^(?:0|-?[1-9]\d*)$"
NUMBER = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$"
MOMENT = (
    r"^(?:(?P<day>\d{4}-\d{2}-\d{2})[ T])?(?P<clock>\d{2}:\d{2}:\d{2})(?:\.(?P<part>\d*?)0*)?"
    r"(?:(?P<hours>[+-]\d{2}):?(?P<minutes>\d{2}))?$"
)
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
    relations: tuple[str, ...] = ()
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


LISTS = ("replaced", "constraints", "relations", "files", "models", "digests")
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


class RowDigest:
    """The digest of rows that come in batches: the same whatever file keeps them.

    Every value is written as text in one way, whether a column of numbers, of text or of dates
    kept it: ``1``, ``1.0`` and ``1e0`` are one number, ``2024-05-01 12:00:00.000`` and
    ``2024-05-01T12:00:00`` one moment, an empty text and the usual marks one missing value. Of each
    column, the lengths of the texts and the texts themselves are hashed by SHA-256 as batches go
    by, so no batch is kept and their number does not matter. Names, order of columns and order of
    rows count. Whoever has the rows can compute the digest: it tells of a change, not of who made
    it.

    Examples
    --------
    >>> whole, parts = RowDigest(), RowDigest()
    >>> whole.update(pl.DataFrame({"a": ["1.0", "x"]}))
    >>> _ = [parts.update(pl.DataFrame({"a": [value]})) for value in ("1", "x")]
    >>> whole.text == parts.text
    True
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._hashes: list[tuple[hashlib._Hash, hashlib._Hash]] = []

    def update(self, frame: pl.DataFrame) -> None:
        """Take in the next rows."""
        if not self._names:
            # as readers call a column without a name
            self._names = [name or f"unnamed_{i}" for i, name in enumerate(frame.columns, 1)]
            self._hashes = [(hashlib.sha256(), hashlib.sha256()) for _ in self._names]
        for series, (lengths, texts) in zip(frame, self._hashes, strict=True):
            plain = in_one_way(series)
            lengths.update(plain.str.len_bytes().cast(pl.Int64).fill_null(-1).to_numpy().tobytes())
            texts.update(plain.drop_nulls().str.join().item().encode())

    def over(self, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Hand batches on, and take in each."""
        for batch in batches:
            self.update(batch)
            yield batch

    @property
    def text(self) -> str:
        """The digest of all rows so far."""
        whole = hashlib.sha256()
        for name, parts in zip(self._names, self._hashes, strict=True):
            for part in (hashlib.sha256(name.encode()), *parts):
                whole.update(part.digest())
        return f"{DIGEST_FORM}:{whole.hexdigest()}"


def digest_file(path: Path) -> str:
    """Give the digest of the rows of a file."""
    made = RowDigest()
    made.update(read_file(path))
    return made.text


def in_one_way(series: pl.Series) -> pl.Series:
    """Write values as text in one way, whatever kept them.

    Examples
    --------
    >>> in_one_way(pl.Series(["1.50", "-0.0", "007", "NA", ""])).to_list()[1:]
    ['0', '007', None, None]
    >>> in_one_way(pl.Series(["1.50"])).equals(in_one_way(pl.Series([1.5])))
    True
    """
    if series.dtype.is_float():
        return _numbers(numbers(series))
    is_moment = isinstance(series.dtype, pl.Datetime | pl.Time)
    texts = series.dt.to_string("iso") if is_moment else labels(series)
    if series.dtype.is_integer() or series.dtype == pl.Boolean:
        return texts
    different = texts.unique()
    if len(different) < len(texts) / 2:
        return texts.replace_strict(different, _texts(different), return_dtype=pl.String)
    return _texts(texts)


def _texts(texts: pl.Series) -> pl.Series:
    """Write what texts say in one way: missing values, numbers, moments."""
    text = pl.col("text")
    frame = pl.DataFrame({"text": texts}).with_columns(
        pl.when(~text.is_in(MISSING_MARKS)).then(text)
    )
    is_number = text.str.contains(NUMBER) & ~text.str.contains(WHOLE)
    frame = frame.with_columns(number=pl.when(is_number).then(text).cast(pl.Float64))
    said = text.str.extract_groups(MOMENT).struct
    part = said.field("part").replace("", None)
    moment = pl.concat_str(
        said.field("day") + "T",
        said.field("clock"),
        "." + part,
        said.field("hours"),
        said.field("minutes"),
        ignore_nulls=True,
    )
    made = frame.select(
        pl.when(said.field("clock").is_not_null()).then(moment).otherwise(text).alias("text"),
        "number",
    )
    return pl.select(pl.coalesce(_numbers(made["number"]), made["text"])).to_series()


def _numbers(floats: pl.Series) -> pl.Series:
    """Write whole numbers as such, others by their 64 bits: there are no digits to agree on."""
    words = infinities(floats)
    known = floats.is_finite().fill_null(False)
    whole = known & (floats == floats.floor()) & (floats.abs() < LARGEST_EXACT)
    bits = pl.Series(floats.fill_null(0.0).to_numpy().astype("<f8").view("<i8"))
    return pl.select(
        pl.when(whole)
        .then(floats.set(~whole, None).cast(pl.Int64).cast(pl.String))
        .when(known)
        .then(pl.lit("bits ") + bits.cast(pl.String))
        .otherwise(words)
    ).to_series()
