"""One run of a calibration: split, plant, and ask measures whether they raise an alarm."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.memory import MemorySource
from understudy.data.tables import Table
from understudy.errors import UnderstudyError
from understudy.judging.comparison import Comparison
from understudy.measures import MEASURES
from understudy.workflows.calibrate.planting import Ground, Kind, plant
from understudy.workflows.measuring import run_measure


@dataclass(frozen=True)
class Cell:
    """What to plant, how many rows of it, from which seed, and which measures look at it."""

    kind: Kind
    count: int
    seed: int
    measures: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the journal calls it."""
        return f"{self.kind} {self.count} #{self.seed}"


@dataclass(frozen=True)
class Bench:
    """What all runs share; a worker process holds one."""

    ground: Ground
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def answer(self, cell: Cell) -> tuple[NDArray[np.float64] | None, str]:
        """Give (alarm, seconds) of each measure; nan where there is no finding, and why."""
        try:
            numbers, notes = self.look(cell)
        except UnderstudyError as error:
            return None, str(error).replace("\n", "; ")
        return numbers, json.dumps(notes)

    def look(self, cell: Cell) -> tuple[NDArray[np.float64], dict[str, list[str]]]:
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
        return numbers, notes

    def comparison(self, cell: Cell) -> Comparison:
        """Plant, and put the tables side by side."""
        made = plant(self.ground, cell.kind, cell.count, cell.seed)

        def source(frame: pl.DataFrame) -> MemorySource:
            return MemorySource(Table(frame, self.ground.schema))

        return Comparison(
            source(made.train),
            (source(made.release),),
            source(made.control),
            keys=self.keys,
            sensitive=self.sensitive,
            options=self.options,
            seed=cell.seed,
        )
