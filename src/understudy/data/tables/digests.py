"""A digest of the rows of a table: the same whatever file keeps them, another after any change.

Every value is written as text in one way, whether a column of numbers, of text or of dates kept
it: ``1``, ``1.0`` and ``1e0`` are one number, ``2024-05-01 12:00:00.000`` and
``2024-05-01T12:00:00`` one moment, an empty text and the usual marks one missing value. Of each
column, the lengths of the texts and the texts themselves are hashed by SHA-256 as batches go by,
so no batch is kept and their number does not matter. Names, order of columns and order of rows
count. Whoever has the rows can compute the digest: it tells of a change, not of who made it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from understudy.data.schema.values import LARGEST_EXACT, infinities, labels, numbers
from understudy.data.tables.delimited import MISSING_MARKS
from understudy.data.tables.files import read_file

FORM = "rows-1"  # how rows become texts; another form is another digest
WHOLE = r"^(?:0|-?[1-9]\d*)$"
NUMBER = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$"
MOMENT = (
    r"^(?:(?P<day>\d{4}-\d{2}-\d{2})[ T])?(?P<clock>\d{2}:\d{2}:\d{2})(?:\.(?P<part>\d*?)0*)?"
    r"(?:(?P<hours>[+-]\d{2}):?(?P<minutes>\d{2}))?$"
)


class RowDigest:
    """The digest of rows that come in batches of the same columns.

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
        return f"{FORM}:{whole.hexdigest()}"


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
