"""Which run comes next, and what all of them say.

Cheap measures get more runs than costly ones. Of each measure the schedule gives its false alarms,
its power, and the smallest leak that it would notice.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.documents import check_form
from understudy.jobs.journal import Journal, entry_numbers, numbers_entry
from understudy.jobs.workers import Outcome
from understudy.judging.comparison import stream
from understudy.judging.findings import LEVEL, plain
from understudy.judging.rates import clopper_pearson
from understudy.workflows.calibrate.planting import LEAK_KINDS, Cell, CellFindings, Kind
from understudy.workflows.calibrate.probit import POWER, Point, Power, fit_power, next_size

SMALLEST_LEAK, LARGEST_LEAK, SIZES = 0.001, 0.1, 9
CONTROLS = 8  # runs at the largest size come first: the positive control
CLEAR = 3  # so many alarms there, and none missed, and smaller leaks are tried
MOST_NULLS, MOST_RUNS = 400, 160
PATIENCE = 3
TOO_MANY = 0.01  # how often a good measure of any may be called unreliable
NULL = "none"
FOREIGN = "is no run of this calibration"
NEEDED = {NULL: 1, "copies": CLEAR}
ENTRY = {"kind": str, "count": int, "seed": int, "measures": [str], "notes": {str: [str]}}
WEIGHTS = {NULL: 2.0, "copies": 1.5, "noisy": 1.0, "outliers": 1.0, "unique": 0.5}


@dataclass
class MeasureTrials:
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
    return sorted(
        {max(1, round(s * rows)) for s in np.geomspace(SMALLEST_LEAK, LARGEST_LEAK, SIZES)}
    )


class Schedule:
    """The lanes of all measures, and what each wants to see next."""

    def __init__(self, measures: Collection[str], rows: int, seed: int) -> None:
        self.rows, self.seed = rows, seed
        self.counts = grid(rows)
        self.measures = set(measures)
        self.lanes = {(m, k): MeasureTrials(m, k) for m in measures for k in (NULL, *LEAK_KINDS)}
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
        while (cell := self._cell(first.kind, count, along)).key in self._before:
            pass
        return cell

    def _cell(self, kind: str, count: int, lanes: Iterable[MeasureTrials]) -> Cell:
        asked = self._asked[kind, count] = self._asked.get((kind, count), 0) + 1
        seed = int(stream(self.seed, "calibration", kind, str(count), str(asked)).integers(2**31))
        planted: Kind = "copies" if kind == NULL else kind  # type: ignore[assignment]
        return Cell(planted, count, seed, tuple(lane.measure for lane in lanes))

    def go_on(self, journal: Journal) -> None:
        """Take in the runs of an earlier go, in the order in which they ended.

        Each counts with the seconds that it took then, so that the schedule is where it was.
        """
        for key, seen in journal.known.items():
            self._before.add(key)
            for name in seen.cell.measures:
                self.lane(name, seen.cell).pending += 1
            self.take_in(Outcome(seen.cell, seen))

    def take_in(self, outcome: Outcome) -> None:
        """Take in what a run gave: numbers and a note on each that is none, or why it failed."""
        cell, seen = outcome.task, outcome.value
        if seen is None:
            self.add(cell, np.full((len(cell.measures), 2), [np.nan, 0.0]))
            for name in cell.measures:
                self.failed(name, "failed", outcome.error)
            return
        self.add(cell, seen.numbers)
        for name, (status, note) in seen.notes.items():
            self.failed(name, status, note)

    def read(self, entry: dict[str, Any]) -> CellFindings:
        """Read an entry of a journal; refuse what no run of this schedule leaves."""
        try:
            check_form(entry, ENTRY)
            cell = Cell(entry["kind"], entry["count"], entry["seed"], tuple(entry["measures"]))
            alarms, seconds = entry_numbers(entry, (len(cell.measures), 2)).T
        except ValueError as error:
            raise ValueError(FOREIGN) from error
        if not (
            cell.key == entry["task"]
            and cell.kind in LEAK_KINDS
            and cell.count in (0, *self.counts)
            and cell.seed >= 0
            and len(set(cell.measures)) == len(cell.measures)
            and set(entry["notes"]) <= set(cell.measures) <= self.measures
            and all(len(note) == 2 for note in entry["notes"].values())
            and np.isin(alarms[~np.isnan(alarms)], (0, 1)).all()
            and (np.isfinite(seconds) & (seconds >= 0)).all()
        ):
            raise ValueError(FOREIGN)
        return CellFindings(cell, np.column_stack([alarms, seconds]), entry["notes"])

    def add(self, cell: Cell, numbers: NDArray[np.float64]) -> None:
        """Count an answer: (alarm, seconds) of each measure."""
        for name, (alarm, seconds) in zip(cell.measures, numbers, strict=True):
            self.lane(name, cell).add(cell.count, float(alarm), float(seconds))

    def lane(self, measure: str, cell: Cell) -> MeasureTrials:
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

    def _done(self, lane: MeasureTrials) -> bool:
        if lane.measure in self.retired:
            return True
        if lane.kind == NULL:
            return lane.total >= MOST_NULLS
        return lane.total >= MOST_RUNS or hopeless(*lane.runs.get(self.counts[-1], (0, 0)))

    def _count(self, lane: MeasureTrials) -> int:
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
    return runs >= CONTROLS and float(clopper_pearson(alarms, runs)[1]) < POWER


def seen_entry(seen: CellFindings | None) -> dict[str, Any]:
    """Write what was seen as an entry of a journal."""
    if seen is None:
        return {}
    return {**asdict(seen.cell), **numbers_entry(seen.numbers), "notes": dict(seen.notes)}


def summary(schedule: Schedule) -> dict[str, dict[str, Any]]:
    """Give the figures of every measure that looked at anything, and why others did not."""
    names = list(dict.fromkeys(name for name, _ in schedule.lanes))
    looked = [name for name in names if name not in schedule.retired]
    made = {}
    for name in names:
        if name in schedule.retired:
            status, note = schedule.retired[name]
            made[name] = {"status": status, "note": note}
        else:
            made[name] = _figures(schedule, name, TOO_MANY / len(looked))
    return made


def _figures(schedule: Schedule, name: str, alpha: float) -> dict[str, Any]:
    lanes = {kind: schedule.lanes[name, kind] for kind in (NULL, *LEAK_KINDS)}
    runs, alarms = lanes[NULL].runs.get(0, (0, 0))
    kinds: dict[str, Any] = {}
    top = schedule.counts[-1]
    power: dict[str, Power | None] = {}
    for kind in LEAK_KINDS:
        points = lanes[kind].points(schedule.rows)
        power[kind] = found = fit_power(points, alarms, runs)
        told: dict[str, Any] = {"probit": None, "smallest": None}
        if found is not None:
            told = found.to_dict()
            told["smallest"]["missed"] = _missed(found, lanes[kind].runs.get(top, (0, 0)))
        kinds[kind] = {"points": [list(point) for point in points], **told}
    tried, noticed = lanes["copies"].runs.get(top, (0, 0))
    seconds = sum(lane.seconds for lane in lanes.values())
    finished = sum(lane.finished for lane in lanes.values())
    failures = schedule.failures.get(name, [])
    note = f"{len(failures)} runs gave no finding: {failures[0]}" if failures else ""
    return {
        "status": "ok",
        "note": note,
        "false_alarms": {
            "alarms": alarms,
            "runs": runs,
            "interval": [float(end) for end in clopper_pearson(alarms, runs)] if runs else None,
        },
        "kinds": kinds,
        **_blindness(power["copies"], (tried, noticed), alarms, runs, alpha),
        "seconds_per_run": plain(round(seconds / finished, 4)) if finished else None,
    }


def _missed(power: Power, controls: Sequence[int]) -> bool:
    """Tell whether enough runs show that even the largest leak is noticed in fewer than 80 %."""
    tried, noticed = controls
    shown = power.beyond or hopeless(tried, noticed)
    return power.censored == "above" and tried >= CONTROLS and shown


def _blindness(
    copies: Power | None, controls: Sequence[int], alarms: int, runs: int, alpha: float
) -> dict[str, Any]:
    """Say whether the measure misses its positive control, or alarms without a leak."""
    if copies is None:
        return {"blind": None, "why": "there was no time for its positive control"}
    if copies.censored == "above" and not _missed(copies, controls):
        said = f"it noticed its positive control in {controls[1]} of {controls[0]} runs, too few"
        return {"blind": None, "why": f"{said} to tell whether it would in {100 * POWER:.0f} %"}
    if copies.censored == "above":
        return {
            "blind": True,
            "why": f"it missed its positive control: where {100 * LARGEST_LEAK:.0f} % of released "
            f"rows are exact copies of training rows, it notices fewer than {100 * POWER:.0f} %",
        }
    if runs and float(clopper_pearson(alarms, runs, 2 * alpha)[0]) > 1 - LEVEL:
        return {
            "blind": True,
            "why": f"it raised an alarm without a leak in {alarms} of {runs} runs, where "
            f"{100 * (1 - LEVEL):.0f} % are allowed",
        }
    return {"blind": False, "why": ""}
