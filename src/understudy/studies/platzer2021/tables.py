"""Tables as the authors' code saw them: read by pandas, without pandas, and turned into codes.

The figures depend on what ``pandas.read_csv`` makes of a file: which columns hold numbers, which
cells are missing, and what becomes of a word among numbers. These rules are repeated on text.

For fidelity, bins and levels come from training, at most ``c`` of them, and all else is one more
level. For distances, bins come from the rows of all tables together and every level is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import Codec, ColumnCodec
from understudy.data.schema import Column, Values
from understudy.data.tables import read_file
from understudy.errors import DataError

Floats = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]
MISSING = "nan"
MORE_MISSING_MARKS = ("-1.#IND", "1.#QNAN", "1.#IND", "-1.#QNAN", "#N/A N/A", "#NA")
NUMBER = r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"
WHOLE = r"^\s*[+-]?[0-9]+\s*$"
INFINITY = r"(?i)^[+-]?inf(?:inity)?$"
TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")


@dataclass(frozen=True)
class Columns:
    """The columns of a file, in the order of training: numbers (NaN where missing) or text."""

    rows: int
    numbers: dict[str, Floats]
    texts: dict[str, pl.Series]

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [*self.numbers, *self.texts]


def read_training(path: Path) -> Columns:
    """Read a training file, which decides what the columns hold."""
    frame = _read(path)
    numeric = {name for name in frame.columns if is_numeric(frame[name])}
    return _columns(frame, frame.columns, numeric)


def read_other(path: Path, training: Columns) -> Columns:
    """Read a file with the columns of training, in any order."""
    frame = _read(path)
    lacking = [n for n in training.names if n not in frame.columns]
    added = [n for n in frame.columns if n not in training.names]
    if lacking or added:
        raise DataError(
            f"{path}: there is no column '{lacking[0]}', which training has"
            if lacking
            else f"{path}: training has no column '{added[0]}'",
            hint="all files of a data set need the same columns",
        )
    return _columns(frame, training.names, set(training.numbers))


def _read(path: Path) -> pl.DataFrame:
    frame = read_file(path)
    if not frame.height:
        raise DataError(f"{path}: there are no rows", hint="give a table with rows")
    marked = pl.all().is_in(list(MORE_MISSING_MARKS))
    return frame.select(pl.when(~marked).then(pl.all()).name.keep())


def _columns(frame: pl.DataFrame, names: list[str], numeric: set[str]) -> Columns:
    return Columns(
        frame.height,
        {name: to_numbers(frame[name], frame.width) for name in names if name in numeric},
        {name: frame[name] for name in names if name not in numeric},
    )


def is_numeric(text: pl.Series) -> bool:
    """Tell whether pandas would keep a column of training as numbers or as booleans.

    Booleans among which some are missing are objects to pandas, and so categories to the authors.
    So is a column in which a whole number beyond 64 bits comes before any fraction.

    Examples
    --------
    >>> is_numeric(pl.Series(["1", "2.5", None])), is_numeric(pl.Series(["True", "False"]))
    (True, True)
    >>> is_numeric(pl.Series(["True", None])), is_numeric(pl.Series(["1", "13.9.58"]))
    (False, False)
    """
    known = text.drop_nulls()
    if len(known) and known.is_in([*TRUE, *FALSE]).all():
        return len(known) == len(text)
    if not (known.str.contains(NUMBER) | known.str.contains(INFINITY)).all():
        return False
    others = (~known.str.contains(WHOLE)).arg_true()
    leading = known.head(others[0]) if len(others) else known
    return not (leading.str.strip_chars().cast(pl.Float64, strict=False).abs() >= 2.0**64).any()


def to_numbers(text: pl.Series, width: int) -> Floats:
    """Read numbers as pandas does; what is none is missing.

    pandas reads a file in blocks of lines, fewer the wider the table. ``True`` and ``False``
    count as 1 and 0 in a block that holds nothing else, and as words elsewhere.

    Examples
    --------
    >>> to_numbers(pl.Series(["1", " 2.50", "13.9.58", None, "inf"]), 3)
    array([1. , 2.5, nan, nan, inf])
    """
    known = text.str.contains(NUMBER) | text.str.contains(INFINITY)
    stripped = text.set(~known.fill_null(False), None).str.strip_chars()
    values = stripped.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().copy()
    true, false = text.is_in(list(TRUE)), text.is_in(list(FALSE))
    if (true | false).any():
        fits = (true | false | text.is_null()).to_numpy()
        block = block_rows(width)
        for start in range(0, len(text), block):
            rows = slice(start, start + block)
            if fits[rows].all():
                values[rows] = np.where(true[rows], 1.0, np.where(false[rows], 0.0, np.nan))
    return values


def block_rows(width: int) -> int:
    """Give the number of lines that pandas reads at a time.

    Examples
    --------
    >>> block_rows(15), block_rows(18)
    (65536, 32768)
    """
    rows, most = 1, 2**20 // width
    while 2 * rows < most:
        rows *= 2
    return rows


def training_breaks(values: Floats, most: int) -> Floats:
    """Give the edges of at most so many bins: quantiles of the known values, each once.

    Examples
    --------
    >>> training_breaks(np.array([1.0, 1.0, 2.0, 4.0, np.nan]), 2)
    array([1. , 1.5, 4. ])
    """
    return _quantiles(values, np.linspace(0, 1, most + 1))


def pooled_breaks(values: Floats, most: int) -> Floats:
    """Give the edges that ``pandas.qcut`` takes.

    A share that has no exact binary form is rounded up, so that a value exactly at a quantile
    stays in the lower bin.
    """
    shares = np.linspace(0, 1, most + 1)
    inexact = most * shares != np.arange(most + 1)
    return _quantiles(values, np.where(inexact, np.nextafter(shares, 1), shares))


def _quantiles(values: Floats, shares: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.empty(0)
    with np.errstate(invalid="ignore"):
        breaks = np.unique(np.quantile(known, shares))
    return breaks[~np.isnan(breaks)]


def cut(values: Floats, breaks: Floats) -> NDArray[np.int64]:
    """Give each value the number of its bin, from 1; 0 where it is missing or in none.

    Bins are closed on the right, the first also on the left. A single edge makes no bin.

    Examples
    --------
    >>> cut(np.array([1.0, 1.5, 2.0, 9.0, np.nan]), np.array([1.0, 1.5, 4.0]))
    array([1, 1, 2, 0, 0])
    """
    if len(breaks) < 2:
        return np.zeros(len(values), np.int64)
    bins = np.searchsorted(breaks, values, side="left")
    bins[values == breaks[0]] = 1
    bins[bins == len(breaks)] = 0
    return bins


@dataclass(frozen=True)
class Lumped:
    """The most frequent bins and levels of all columns of training; all else has the last code.

    Missing is a bin, or a level, among the others. Of equally frequent ones, those seen first are
    kept. Bins are levels by their number, for which of them have codes is decided as for texts.

    Examples
    --------
    >>> lumped = Lumped.learn(Columns(4, {}, {"c": pl.Series(["b", "a", None, "a"])}), 2)
    >>> lumped.codes(Columns(3, {}, {"c": pl.Series(["a", "b", None])}))[:, 0].tolist()
    [0, 1, 2]
    """

    breaks: dict[str, Floats]
    codec: Codec

    @classmethod
    def learn(cls, training: Columns, most: int) -> "Lumped":
        """Learn at most so many bins and levels of each column."""
        breaks = {name: training_breaks(x, most) for name, x in training.numbers.items()}
        texts = {name: _bins(x, breaks[name]) for name, x in training.numbers.items()}
        texts |= {name: x.fill_null(MISSING) for name, x in training.texts.items()}
        return cls(breaks, Codec(tuple(_most_frequent(n, x, most) for n, x in texts.items())))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of codes of each column."""
        return np.array(self.codec.sizes, np.int64) + 1

    def codes(self, table: Columns) -> Codes:
        """Code all columns of a table; what is outside the bins is lumped."""
        texts = {}
        for name, breaks in self.breaks.items():
            values = table.numbers[name]
            texts[name] = _bins(values, breaks)
            if len(breaks):
                outside = (values < breaks[0]) | (values > breaks[-1])
                texts[name] = texts[name].set(pl.Series(outside), None)
        texts |= {name: x.fill_null(MISSING) for name, x in table.texts.items()}
        columns = [c.encode(Values(None, texts[c.column.name])) for c in self.codec.columns]
        return np.column_stack(columns).astype(np.uint8)


def _bins(values: Floats, breaks: Floats) -> pl.Series:
    return pl.Series(cut(values, breaks)).cast(pl.String)


def _most_frequent(name: str, texts: pl.Series, most: int) -> ColumnCodec:
    counted = texts.alias("level").to_frame().group_by("level", maintain_order=True).len("rows")
    kept = counted.sort("rows", descending=True, maintain_order=True)["level"].head(most)
    return ColumnCodec(Column(name, "category"), labels=tuple(kept), first=0)


def every_level(name: str, tables: Sequence[Columns]) -> ColumnCodec:
    """Number all levels of a column of texts from 1, in the order seen; 0 is missing."""
    seen = pl.concat([table.texts[name] for table in tables]).drop_nulls()
    return ColumnCodec.listed(Column(name, "category"), seen.unique(maintain_order=True))
