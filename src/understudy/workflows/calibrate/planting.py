"""One run of a calibration: a leak of known kind and size is planted, and measures look at it.

The release that it is planted in knows nothing of training.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.records import vulnerable
from understudy.data.schema import Column, Schema
from understudy.data.source import Source, source_of
from understudy.data.tables import Table
from understudy.errors import DataError
from understudy.judging.comparison import Comparison, stream
from understudy.measures import MEASURES
from understudy.workflows.measuring import run_measure

Kind = Literal["copies", "noisy", "outliers", "unique"]
Ints = NDArray[np.int64]

LEAK_KINDS: dict[Kind, str] = {
    "copies": "exact copies of training rows",
    "noisy": "copies of training rows, every number moved by up to 1 %",
    "outliers": "exact copies of the training rows that stand most apart",
    "unique": "one unique training row, copied again and again",
}
NOISE = 0.01
FEWEST_ROWS = 100


@dataclass(frozen=True)
class RealRows:
    """Real rows to be split at random, and a method's output if that is to be the release.

    Without a release the real rows are cut in three: training, control, and a third that is
    released. With one they are cut in two: whatever the release owes to real rows, it owes to
    both alike, since the labels are drawn anew.
    """

    real: pl.DataFrame
    schema: Schema
    release: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        if self.rows < FEWEST_ROWS:
            raise DataError(
                f"{self.real.height} real rows are too few to calibrate on",
                hint=f"{FEWEST_ROWS * self.parts} are needed: they are cut in {self.parts} parts",
            )

    @property
    def parts(self) -> int:
        """In how many parts the real rows are cut."""
        return 3 if self.release is None else 2

    @property
    def rows(self) -> int:
        """How many rows each table has."""
        return self.real.height // self.parts

    @cached_property
    def apart(self) -> Ints:
        """The places of all real rows, those that stand most apart first.

        They are ordered among all real rows, blind to who will be training.
        """
        return vulnerable(Table(self.real, self.schema), self.real.height)

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Which real rows are like no other."""
        return self.real.is_unique().to_numpy()

    def split(self, rng: np.random.Generator) -> tuple[Ints, Ints, pl.DataFrame]:
        """Draw who is training and who is control, and give the release."""
        order, n = rng.permutation(self.real.height), self.rows
        if self.release is None:
            return order[:n], order[n : 2 * n], self.real[order[2 * n : 3 * n]]
        return order[:n], order[n : 2 * n], self.release[rng.permutation(self.release.height)[:n]]


@dataclass(frozen=True)
class Planted:
    """Training, control, and a release in which so many rows leak."""

    train: pl.DataFrame
    control: pl.DataFrame
    release: pl.DataFrame


def plant(ground: RealRows, kind: Kind, count: int, seed: int) -> Planted:
    """Split anew, then put leaks in the place of ``count`` released rows; none is a null.

    Examples
    --------
    >>> rows = pl.DataFrame({"x": range(300), "y": ["a", "b", "c"] * 100})
    >>> made = plant(RealRows(rows, Table.of(rows).schema), "copies", 7, seed=1)
    >>> made.release.join(made.train, on=["x", "y"]).height
    7
    """
    rng = stream(seed, "calibration", kind, str(count))
    train, control, release = ground.split(rng)
    if count:
        leaked = ground.real[_victims(ground, kind, train, count, rng)]
        if kind == "noisy":
            leaked = noisy(leaked, ground.schema, rng)
        both = pl.concat([release[count:], leaked], how="vertical_relaxed")
        release = both[rng.permutation(ground.rows)]
    return Planted(ground.real[train], ground.real[control], release)


def _victims(
    ground: RealRows, kind: Kind, train: Ints, count: int, rng: np.random.Generator
) -> Ints:
    """Choose the training rows that leak."""
    if kind in ("copies", "noisy"):
        return rng.choice(train, count, replace=False)
    inside = np.zeros(ground.real.height, bool)
    inside[train] = True
    apart = ground.apart[inside[ground.apart]]
    if kind == "outliers":
        return apart[:count]
    alone = apart[ground.alone[apart]]
    return np.repeat(alone[:1] if len(alone) else apart[:1], count)


def noisy(rows: pl.DataFrame, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """Move every number by up to 1 % of itself, to as many decimals as its column has.

    As in the control data of Sosnovchyk (2021), section 3.3.4: small whole numbers stay.
    """
    return rows.with_columns(_moved(series, schema[series.name], rng) for series in rows)


def _moved(series: pl.Series, column: Column, rng: np.random.Generator) -> pl.Series:
    if column.kind != "number" or not series.dtype.is_numeric():
        return series
    moved = series.cast(pl.Float64) * (1 + NOISE * rng.uniform(-1, 1, len(series)))
    if column.decimals is not None:
        moved = moved.round(column.decimals)
    return (moved if series.dtype.is_float() else moved.round()).cast(series.dtype)


@dataclass(frozen=True)
class Cell:
    """What to plant, how many rows of it, from which seed, and which measures look at it."""

    kind: Kind
    count: int
    seed: int
    measures: tuple[str, ...]

    @property
    def key(self) -> str:
        """What the journal calls it."""
        return f"{self.kind} {self.count} #{self.seed}"


@dataclass(frozen=True)
class CellFindings:
    """What measures said of a run: (alarm, seconds) of each, nan where there is no finding.

    ``notes`` has the status and the note of each that gave none.
    """

    cell: Cell
    numbers: NDArray[np.float64]
    notes: Mapping[str, list[str]]


@dataclass(frozen=True)
class CalibrationJob:
    """The job of a calibration: what all its runs share."""

    ground: RealRows
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def do(self, cell: Cell) -> CellFindings:
        """Run the measures on one planted release."""
        comparison = self.comparison(cell)
        numbers = np.full((len(cell.measures), 2), np.nan)
        notes = {}
        for place, name in enumerate(cell.measures):
            start = time.perf_counter()
            found = run_measure(MEASURES[name], comparison)
            if found.status == "ok":
                numbers[place, 0] = bool(found.flagged)
            else:
                notes[name] = [found.status, found.note]
            numbers[place, 1] = time.perf_counter() - start
        return CellFindings(cell, numbers, notes)

    def comparison(self, cell: Cell) -> Comparison:
        """Plant, and put the tables side by side."""
        made = plant(self.ground, cell.kind, cell.count, cell.seed)

        def source(frame: pl.DataFrame) -> Source:
            return source_of(Table(frame, self.ground.schema))

        return Comparison(
            source(made.train),
            (source(made.release),),
            source(made.control),
            keys=self.keys,
            sensitive=self.sensitive,
            options=self.options,
            seed=cell.seed,
        )
