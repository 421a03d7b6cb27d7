"""Tables as the authors' code saw them: read by pandas, without pandas.

The figures depend on what ``pandas.read_csv`` makes of a file: which columns hold numbers, which
cells are missing, and what becomes of a word among numbers. This module repeats those rules on
text.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.tables import read_file
from understudy.errors import DataError

MORE_MISSING_MARKS = ("-1.#IND", "1.#QNAN", "1.#IND", "-1.#QNAN", "#N/A N/A", "#NA")
NUMBER = r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"
WHOLE = r"^\s*[+-]?[0-9]+\s*$"
INFINITY = r"(?i)^[+-]?inf(?:inity)?$"
TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")


@dataclass(frozen=True)
class Columns:
    """The columns of a file, in the order of training: numbers (NaN where missing) or text."""

    rows: int
    numbers: dict[str, NDArray[np.float64]]
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
    for name in training.names:
        if name not in frame.columns:
            raise DataError(
                f"{path}: there is no column '{name}', which training has",
                hint="all files of a data set need the same columns",
            )
    for name in frame.columns:
        if name not in training.names:
            raise DataError(
                f"{path}: training has no column '{name}'",
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


def to_numbers(text: pl.Series, width: int) -> NDArray[np.float64]:
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
