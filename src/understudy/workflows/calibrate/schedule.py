"""Which run comes next: cheap measures get more runs than costly ones."""

import json
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import stream
from understudy.workflows.calibrate.cell import Cell
from understudy.workflows.calibrate.planting import KINDS, Kind
from understudy.workflows.calibrate.probit import POWER, Point, next_size

SMALLEST, LARGEST, SIZES = 0.001, 0.1, 9
CONTROLS = 8  # runs at the largest size come first: the positive control
CLEAR = 3  # so many alarms there, and none missed, and smaller leaks are tried
MOST_NULLS, MOST_RUNS = 400, 160
PATIENCE = 3
NULL = "none"
NEEDED = {NULL: 1, "copies": CLEAR}
WEIGHTS = {NULL: 2.0, "copies": 1.5, "noisy": 1.0, "outliers": 1.0, "unique": 0.5}


@dataclass
class Lane:
    """One measure facing one kind of leak (or none): what it has seen so far."""

    measure: str
    kind: str
    runs: dict[int, list[int]] = field(default_factory=dict)
    seconds: float = 0.0
    finished: int = 0
    pending: int = 0

    @property
    def cost(self) -> float:
        """The seconds of a run, as far as known."""
        return self.seconds / self.finished if self.finished else 0.0

    @property
    def step(self) -> float:
        """What a run counts: the root of its cost, less where the lane matters more.

        Runs in proportion to one over the root of their cost make the sum of all variances least.
        """
        return math.sqrt(max(self.cost, 0.01)) / WEIGHTS[self.kind]

    @property
    def spent(self) -> float:
        """What the runs asked for count together."""
        return self.asked * self.step

    @property
    def asked(self) -> int:
        """How many runs there are or will be."""
        return self.finished + self.pending

    @property
    def total(self) -> int:
        """How many runs gave a finding."""
        return sum(tried for tried, _ in self.runs.values())

    def points(self, rows: int) -> list[Point]:
        """Give (size, runs, alarms), the smallest first."""
        return [(k / rows, *self.runs[k]) for k in sorted(self.runs) if k]  # type: ignore[misc]

    def add(self, count: int, alarm: float, seconds: float) -> None:
        """Take in an answer; one that is no number is no finding."""
        self.pending -= 1
        self.finished += 1
        self.seconds += seconds
        if not np.isnan(alarm):
            tried = self.runs.setdefault(count, [0, 0])
            tried[0] += 1
            tried[1] += int(alarm)


def grid(rows: int) -> list[int]:
    """Give the numbers of rows that may leak, from 0.1 % to 10 %, evenly on a log scale.

    Examples
    --------
    >>> grid(1000)
    [1, 2, 3, 6, 10, 18, 32, 56, 100]
    """
    return sorted({max(1, round(s * rows)) for s in np.geomspace(SMALLEST, LARGEST, SIZES)})


class Schedule:
    """The lanes of all measures, and what each wants to see next."""

    def __init__(self, measures: Collection[str], rows: int, seed: int) -> None:
        self.rows, self.seed = rows, seed
        self.counts = grid(rows)
        self.measures = set(measures)
        self.lanes = {(m, k): Lane(m, k) for m in measures for k in (NULL, *KINDS)}
        self.failures: dict[str, list[str]] = {}
        self.retired: dict[str, tuple[str, str]] = {}
        self._asked: dict[tuple[str, int], int] = {}
        self._before: set[str] = set()

    def next(self, *, late: bool = False) -> Cell | None:
        """Choose the lane that had the least so far, and let others look at the same rows.

        When the time is up, only what nothing could be said without is still run.
        """
        open_lanes = [lane for lane in self.lanes.values() if not self._done(lane)]
        if late:
            open_lanes = [lane for lane in open_lanes if lane.asked < NEEDED.get(lane.kind, 0)]
        if not open_lanes:
            return None
        first = min(open_lanes, key=lambda lane: (lane.spent, lane.asked))
        count = self._count(first)
        along = [
            lane
            for lane in open_lanes
            if lane.kind == first.kind
            and (lane is first or lane.spent <= first.spent + lane.step)
            and (lane is first or self._count(lane) == count)
        ]
        for lane in along:
            lane.pending += 1
        while (cell := self._cell(first.kind, count, along)).name in self._before:
            pass
        return cell

    def _cell(self, kind: str, count: int, lanes: Iterable[Lane]) -> Cell:
        asked = self._asked[kind, count] = self._asked.get((kind, count), 0) + 1
        seed = int(stream(self.seed, "calibration", kind, str(count), str(asked)).integers(2**31))
        planted: Kind = "copies" if kind == NULL else kind  # type: ignore[assignment]
        return Cell(planted, count, seed, tuple(lane.measure for lane in lanes))

    def done_before(self, cell: Cell) -> None:
        """Take a run as asked for that an earlier go has finished: it is not asked for again."""
        self._before.add(cell.name)
        for name in cell.measures:
            self.lane(name, cell).pending += 1

    def take_in(self, cell: Cell, numbers: NDArray[np.float64] | None, said: str) -> None:
        """Take in what a run gave: numbers and a note on each that is none, or why it failed."""
        if numbers is None:
            self.add(cell, np.full((len(cell.measures), 2), [np.nan, 0.0]))
            for name in cell.measures:
                self.failed(name, "failed", said)
            return
        self.add(cell, numbers)
        for name, (status, note) in json.loads(said).items():
            self.failed(name, status, note)

    def add(self, cell: Cell, numbers: NDArray[np.float64]) -> None:
        """Count an answer: (alarm, seconds) of each measure."""
        for name, (alarm, seconds) in zip(cell.measures, numbers, strict=True):
            self.lane(name, cell).add(cell.count, float(alarm), float(seconds))

    def lane(self, measure: str, cell: Cell) -> Lane:
        """Give the lane that a cell belongs to."""
        return self.lanes[measure, cell.kind if cell.count else NULL]

    def failed(self, measure: str, status: str, note: str) -> None:
        """Note that there was no finding; who cannot be applied, or never works, is left out."""
        if status == "not_applicable":
            self.retired[measure] = status, note
            return
        notes = self.failures.setdefault(measure, [])
        notes.append(note)
        worked = any(lane.total for (name, _), lane in self.lanes.items() if name == measure)
        if len(notes) >= PATIENCE and not worked:
            self.retired[measure] = "failed", notes[0]

    def _done(self, lane: Lane) -> bool:
        if lane.measure in self.retired:
            return True
        if lane.kind == NULL:
            return lane.total >= MOST_NULLS
        return lane.total >= MOST_RUNS or hopeless(*lane.runs.get(self.counts[-1], (0, 0)))

    def _count(self, lane: Lane) -> int:
        """Say how many rows are to leak next."""
        if lane.kind == NULL:
            return 0
        top = self.counts[-1]
        tried, seen = lane.runs.get(top, (0, 0))
        if tried < (CLEAR if seen == tried else CONTROLS) and lane.total + lane.pending < CONTROLS:
            return top
        rng = stream(self.seed, lane.measure, lane.kind, str(lane.asked))
        sizes = [count / self.rows for count in self.counts]
        return self.counts[next_size(lane.points(self.rows), sizes, rng)]


def hopeless(runs: int, alarms: int) -> bool:
    """Tell whether the positive control was missed so often that its power is below 80 %.

    Examples
    --------
    >>> hopeless(8, 3), hopeless(8, 4), hopeless(4, 0)
    (True, False, False)
    """
    from understudy.judging.rates import clopper_pearson

    return runs >= CONTROLS and float(clopper_pearson(alarms, runs)[1]) < POWER
