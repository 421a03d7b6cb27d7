"""Releases made with and without a record: refits planned and gathered, and what tells them apart.

An attacker asks of every release counts near the record and of its values. On some of the refits a
linear discriminant learns with from without; the others test what it says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.refits import (
    AttackSetting,
    Floats,
    Refit,
    RefitJob,
    World,
    shareable,
)
from understudy.data.codec import Codec
from understudy.data.source import source_of
from understudy.data.tables import Table

BINS = 20
RADII = (0.05, 0.1, 0.25, 0.5, 1.0)
NEIGHBOURS = 5
SINGLES = 4
PAIRS = 6
TAILS = 4
WAYS = (0.5, 1.0)
AT_ONCE = 4096
FOLDS = 4
LEAST_SPREAD = 1e-3
MOST_ERRORS = 3
HOPELESS = 20
NOT_USED = "The attack makes its own releases; the one given was not used."

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Question:
    """What is asked about one record.

    Parameters
    ----------
    point, codes : array
        The record on the scale of the mixed distance, and as codes.
    radii : tuple of float
        Distances within which rows are counted.
    singles, pairs : tuple
        Columns, and pairs of them, in which the record is rare.
    tails : tuple of (column, sign, number)
        Rows are counted whose number lies at least as far out as this one.
    """

    point: NDArray[np.float32]
    codes: Ints
    radii: tuple[float, ...]
    singles: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    tails: tuple[tuple[int, float, float], ...]

    @property
    def size(self) -> int:
        """How many numbers answer it: exact matches and two distances beside what is listed."""
        return 3 + sum(map(len, (self.radii, self.singles, self.pairs, self.tails)))

    def ask(self, points: NDArray[np.float32], codes: Ints, numbers: Floats) -> Floats:
        """Answer for a table; counts as square roots, whose noise does not grow with them."""
        # categories are whole numbers, so a difference is 0 or at least 1, as for the kernels
        far = np.concatenate(
            [
                np.minimum(np.abs(points[start : start + AT_ONCE] - self.point), 1).sum(axis=1)
                for start in range(0, len(points), AT_ONCE)
            ]
        ).astype(np.float64)
        same = codes == self.codes
        nearest = np.partition(far, min(NEIGHBOURS, len(far)) - 1)[:NEIGHBOURS]
        counts = [
            (far <= 1e-6).sum(),
            *((far <= radius).sum() for radius in self.radii),
            *(same[:, i].sum() for i in self.singles),
            *((same[:, i] & same[:, j]).sum() for i, j in self.pairs),
            *((sign * numbers[:, i] >= sign * end).sum() for i, sign, end in self.tails),
        ]
        return np.array([*np.sqrt(np.array(counts, float)), nearest.min(), nearest.mean()])


@dataclass(frozen=True)
class Queries:
    """The questions about some records, for whole samples and for their first rows.

    Examples
    --------
    >>> table = Table.of(pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10}))
    >>> queries = Queries.about(table, table.frame[:1], (10, 40))
    >>> queries.shape, len(queries([table])) == 2 * queries.shape[2]
    ((2, 1, 11), True)
    """

    codec: Codec
    questions: tuple[Question, ...]
    sizes: tuple[int, ...]

    @classmethod
    def about(cls, base: Table, records: pl.DataFrame, sizes: Sequence[int]) -> "Queries":
        """Choose the questions by a table that the attacker knows, and the records."""
        frame = base.frame.select(records.columns)
        known = Table(pl.concat([frame, records.cast(frame.schema)]), base.schema)
        codec = Codec.fit(source_of(known), bins=BINS)
        points, codes, numbers = _read(codec, known)
        rows = base.height
        # a record is rare among the others: it does not count itself
        made = [
            _question(points, codes, numbers, rows + place, rows) for place in range(len(records))
        ]
        return cls(codec, tuple(made), tuple(sorted(sizes)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Sizes, records, and the numbers of each; short questions are filled up with zeros."""
        return len(self.sizes), len(self.questions), max(q.size for q in self.questions)

    def __call__(self, samples: Sequence[Table]) -> Floats:
        """Give all numbers in one row, the mean over samples."""
        made = np.zeros((len(samples), *self.shape))
        for own, sample in zip(made, samples, strict=True):
            points, codes, numbers = _read(self.codec, sample)
            for place, size in enumerate(self.sizes):
                for record, question in enumerate(self.questions):
                    asked = question.ask(points[:size], codes[:size], numbers[:size])
                    own[place, record, : question.size] = asked
        mean: Floats = made.mean(axis=0).reshape(-1)
        return mean


def _read(codec: Codec, table: Table) -> tuple[NDArray[np.float32], Ints, Floats]:
    asked = source_of(table)
    coded = asked.coded(codec, scaled=True)
    numbers = np.full((table.height, len(codec.columns)), np.nan)
    for place, coder in enumerate(codec.columns):
        if coder.column.is_numeric:
            numbers[:, place] = asked.numbers(coder.column.name)
    return coded.points()[0], coded.codes.astype(np.int64), numbers


def _question(
    points: NDArray[np.float32], codes: Ints, numbers: Floats, own: int, rows: int
) -> Question:
    """Ask about the values that are rarest, and the numbers that lie farthest out."""
    far = np.minimum(np.abs(points[:rows] - points[own]), 1).sum(axis=1)
    apart = far[far > 1e-6]
    nearest = float(apart.min()) if len(apart) else 1.0
    same = codes[:rows] == codes[own]
    columns = range(codes.shape[1])
    singles = sorted(columns, key=lambda i: (int(same[:, i].sum()), i))[:SINGLES]
    pairs = sorted(
        ((i, j) for i in columns for j in columns if i < j),
        key=lambda pair: (int((same[:, pair[0]] & same[:, pair[1]]).sum()), pair),
    )[:PAIRS]
    tails = []
    for i in columns:
        known = numbers[:rows, i][~np.isnan(numbers[:rows, i])]
        value = numbers[own, i]
        if not len(known) or np.isnan(value):
            continue
        middle = float(np.median(known))
        if value == middle:
            continue
        sign = float(np.sign(value - middle))
        beyond = float((sign * known >= sign * value).mean())
        tails.append((beyond, i, sign, middle, float(value)))
    ends = tuple(
        (i, sign, middle + way * (value - middle))
        for _, i, sign, middle, value in sorted(tails)[:TAILS]
        for way in WAYS
    )
    return Question(
        points[own],
        codes[own],
        tuple(nearest * part for part in RADII),
        tuple(singles),
        tuple(pairs),
        ends,
    )


@dataclass(frozen=True)
class Planned:
    """A refit, which records are inside (1), outside (0) or not asked for (nan), and its use."""

    refit: Refit
    inside: Floats
    teaches: bool


@dataclass(frozen=True)
class Runs:
    """What came of refits: features, who was inside, which runs teach; and what is to be said."""

    features: Floats
    inside: Floats
    teaches: Flags
    note: str


def plan(
    setting: AttackSetting,
    name: str,
    worlds: Sequence[tuple[World, Floats]],
    times: int,
    *,
    every: int = 2,
) -> list[Planned]:
    """Refit in all worlds, round by round; every second (or so) round teaches, the others test.

    Every world has seeds of its own, so that no run says anything about another.
    """
    seeds = [
        setting.stream(name, "seeds", world.name).choice(2**31, times, replace=False)
        for world, _ in worlds
    ]
    return [
        Planned(Refit(world, int(own[time])), inside, time % every == 0)
        for time in range(times)
        for (world, inside), own in zip(worlds, seeds, strict=True)
    ]


def gather(
    setting: AttackSetting,
    planned: Sequence[Planned],
    job: RefitJob,
) -> Runs:
    """Play, and put answers back into the order of the plan.

    A generator that fails from the start, time after time, is given up.
    """
    asked = planned if setting.refits is None else planned[: setting.refits]
    numbers: dict[str, Floats] = {}
    errors: list[tuple[str, str]] = []
    for answer in setting.refit(job, [one.refit for one in asked]):
        if answer.kind == "out of time":
            continue
        if answer.value is None:
            errors.append((answer.task.world.name, answer.error))
            if len(errors) >= HOPELESS and not numbers:
                break
        else:
            numbers[answer.task.name] = answer.value
    kept = [one for one in asked if one.refit.name in numbers]
    width = len(planned[0].inside)
    return Runs(
        np.array([numbers[one.refit.name] for one in kept]).reshape(len(kept), -1 if kept else 0),
        np.array([one.inside for one in kept]).reshape(len(kept), width),
        np.array([one.teaches for one in kept], bool),
        _note(len(planned), len(kept), sorted(errors)),
    )


def _note(planned: int, done: int, errors: Sequence[tuple[str, str]]) -> str:
    said = [f"{done:,} refits."]
    late = planned - done - len(errors)
    if late and len(errors) >= HOPELESS and not done:
        said.append(f"{late:,} more were planned; it was given up.")
    elif late:
        said.append(f"{late:,} more were planned and not made for want of time (budget, refits).")
    if errors:
        told = list(dict.fromkeys(f"{w}: {shareable(e)}" for w, e in errors))
        more = f"; and {len(told) - MOST_ERRORS:,} more" if len(told) > MOST_ERRORS else ""
        said.append(f"{len(errors):,} refits failed ({'; '.join(told[:MOST_ERRORS])}{more}).")
    return " ".join(said)


@dataclass(frozen=True)
class HitCounts:
    """How often an attack said "with the record": of runs with it, and of runs without it."""

    hits: int
    members: int
    wrong: int
    others: int

    def rates(self) -> dict[str, float | None]:
        """Give the rates of true and false positives, and how many tests there were."""
        return {
            "true_positives": self.hits / self.members,
            "false_positives": self.wrong / self.others,
            "tests": float(self.members + self.others),
        }


def enough(runs: Runs, fewest: int) -> bool:
    """Tell whether every record has so many runs of each kind, with and without it."""
    return all(
        int(((runs.inside[runs.teaches == teaches] == side).sum(axis=0)).min(initial=fewest))
        >= fewest
        for teaches in (True, False)
        for side in (0.0, 1.0)
    )


def discriminant(features: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Learn a linear discriminant: weights for features less their middle, by their spread.

    The covariance is drawn towards independent features, the more the fewer rows there are.
    """
    middle, spread = features.mean(axis=0), features.std(axis=0)
    scale = np.where(spread > 0, spread, np.inf)
    known = (features - middle) / scale
    rows, columns = known.shape
    apart = known[positive].mean(axis=0) - known[~positive].mean(axis=0)
    within = known - np.where(
        positive[:, None], known[positive].mean(axis=0), known[~positive].mean(axis=0)
    )
    share = columns / (columns + rows)
    covariance = (1 - share) * within.T @ within / rows + share * np.eye(columns)
    weights: Floats = np.linalg.solve(covariance, apart).astype(np.float64)
    return weights, middle, scale


def discriminant_score(features: Floats, learnt: tuple[Floats, Floats, Floats]) -> Floats:
    """Score rows by a discriminant."""
    weights, middle, scale = learnt
    made: Floats = ((features - middle) / scale) @ weights
    return made


def held_out(features: Floats, own: Floats, teaches: Flags) -> Floats:
    """Score all runs; those that teach by what was learnt on others, for honest thresholds."""
    teach = np.flatnonzero(teaches & ~np.isnan(own))
    made = _learnt(features, own, teach)
    # with and without take turns, so that every fold has both
    turn = np.empty(len(teach), np.int64)
    for side in (0, 1):
        chosen = own[teach] == side
        turn[chosen] = np.arange(int(chosen.sum())) % FOLDS
    for fold in range(FOLDS):
        made[teach[turn == fold]] = _learnt(features, own, teach[turn != fold])[teach[turn == fold]]
    return made


def _learnt(features: Floats, own: Floats, teach: NDArray[np.int64]) -> Floats:
    """Learn on these runs, and score all by their distance to the mean run without the record."""
    score = discriminant_score(features, discriminant(features[teach], own[teach] == 1))
    with_, without = (score[teach[own[teach] == side]] for side in (1, 0))
    # where runs without the record are all alike, their distance to the others is the scale
    spread = float(np.hypot(without.std(), LEAST_SPREAD * (with_.mean() - without.mean())))
    made: Floats = (score - without.mean()) / (spread if spread > 0 else 1.0)
    return made
