"""What an attacker guesses: sensitive columns, how wrong a guess is, and guesses without keys.

Persons are training rows, then holdout rows if there are any. An attacker who knows their keys
and sees a table (the release; for a ceiling, training itself) guesses their sensitive values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import MISSING
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Part
from understudy.judging.judge import Judgement, Scores, judge
from understudy.judging.register import FEW_PERSONS, register
from understudy.measures.privacy.coding import Floats, Ints, real_codec, real_tables
from understudy.measures.privacy.keys import same_keys

ADVANTAGE = "advantage: how much less wrong about training persons"


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column: numbers (nan where there is none) or the codes of its levels.

    ``table`` has the values of the table that the attacker sees. Missing is a level of a category.
    Dates are counted from the first one of a real person.
    """

    name: str
    is_number: bool
    persons: Floats | Ints
    table: Floats | Ints
    size: int

    @property
    def width(self) -> int:
        """How many amounts a point needs: count and sum, or the votes for each level."""
        return 2 if self.is_number else self.size

    def from_training(self, train: int) -> "SensitiveColumn":
        """Let training persons be guessed from the training table itself: the attack's ceiling."""
        own = self.persons[:train]
        return SensitiveColumn(self.name, self.is_number, own, own, self.size)

    def naive_number(self) -> float:
        """Give the mean of the table: a guess without keys."""
        return float(np.nanmean(self.table))

    def naive_shares(self) -> Floats:
        """Give the share of each person's level in the table: a guess without keys."""
        share = np.bincount(self.table.astype(np.int64), minlength=self.size)
        made: Floats = share[self.persons.astype(np.int64)] / len(self.table)
        return made


def sensitive_columns(comparison: Comparison) -> tuple[list[SensitiveColumn], list[str]] | str:
    """Give the sensitive columns that can be guessed from the keys, or why there is none.

    With them comes what is to be said of the others.
    """
    keys = list(dict.fromkeys(comparison.keys))
    both = [name for name in comparison.sensitive if name in keys]
    if both:
        raise OptionError(
            f"'{both[0]}' is both a key and sensitive",
            hint="name it once: as known to the attacker (keys) or as to be guessed (sensitive)",
        )
    if all(comparison.labels("train", name).n_unique() <= 1 for name in keys):
        return same_keys(keys)
    made, notes = [], []
    for name in dict.fromkeys(comparison.sensitive):
        column = _column(comparison, name)
        own = column.persons[: comparison.height("train")]
        if _nothing(own) or _nothing(column.table):
            notes.append(f"'{name}' has no value in training or in the synthetic table.")
        elif len(np.unique(own)) == 1:
            notes.append(f"'{name}' is the same for all training persons: nothing to learn.")
        else:
            made.append(column)
    return (made, notes) if made else " ".join(notes)


def _column(comparison: Comparison, name: str) -> SensitiveColumn:
    tables: tuple[Which, ...] = (*real_tables(comparison), "synthetic")
    if comparison.schema[name].is_numeric:
        values = [comparison.source(table).numbers(name) for table in tables]
        persons = np.concatenate(values[:-1])
        first = 0.0
        if comparison.schema[name].kind == "date" and not np.isnan(persons).all():
            first = float(np.nanmin(persons))
        return SensitiveColumn(name, True, persons - first, values[-1] - first, 0)
    codec = real_codec(comparison)
    codes = [comparison.source(t).coded(codec).column(name).astype(np.int64) for t in tables]
    return SensitiveColumn(name, False, np.concatenate(codes[:-1]), codes[-1], codec[name].size)


def _nothing(values: NDArray[np.float64] | NDArray[np.int64]) -> bool:
    missing = np.isnan(values) if values.dtype.kind == "f" else values == MISSING
    return bool(missing.all())


@dataclass(frozen=True)
class Amounts:
    """What stands at points, as a sparse table: a row a point, some places a sensitive column.

    For a number, how many values and their sum; for a category, the records of each level.

    Parameters
    ----------
    cells : array
        Row x width + place, in order.
    amounts : array
        What stands there.
    starts : array
        Where each row begins.
    first : tuple of int
        The first place of each sensitive column.
    width : int
        The number of places.
    """

    cells: Ints
    amounts: Floats
    starts: Ints
    first: tuple[int, ...]
    width: int

    @classmethod
    def of(
        cls, columns: Sequence[SensitiveColumn], at: Ints, points: int, *, records: bool = False
    ) -> "Amounts":
        """Add up the records of each point; ``records`` counts them in the first place, too."""
        ends = np.cumsum([int(records), *(column.width for column in columns)])
        width, none = int(ends[-1]), np.zeros(0, np.int64)
        cells, values = [at * width if records else none], [np.ones(len(at) if records else 0)]
        for column, start in zip(columns, ends, strict=False):
            if column.is_number:
                here = ~np.isnan(column.table)
                cells += [at[here] * width + start, at[here] * width + start + 1]
                values += [np.ones(int(here.sum())), column.table[here].astype(float)]
            else:
                cells.append(at * width + start + column.table.astype(np.int64))
                values.append(np.ones(len(at)))
        kept, which = np.unique(np.concatenate(cells), return_inverse=True)
        totals: Floats = np.bincount(which, np.concatenate(values), minlength=len(kept)).astype(
            float
        )
        starts = np.searchsorted(kept, np.arange(points + 1) * width)
        return cls(kept, totals, starts, tuple(ends[:-1].tolist()), width)

    @property
    def rows(self) -> tuple[Ints, Ints, Floats]:
        """Where rows begin, the places in them and the amounts, as kernels want them."""
        return self.starts, self.cells % self.width, self.amounts

    def find(self, point: Ints, place: Ints | int) -> tuple[Floats, Floats]:
        """Give what stands at a place of points, and at the next place where there is something."""
        wanted = point * self.width + place
        found = np.searchsorted(self.cells, wanted).clip(0, len(self.cells) - 1)
        there = self.cells[found] == wanted
        following = self.amounts[np.minimum(found + 1, len(self.cells) - 1)]
        return np.where(there, self.amounts[found], 0.0), np.where(there, following, 0.0)


@dataclass(frozen=True)
class GuessLook:
    """How wrong each person's guess is, in one way to guess, beside a guess without keys.

    ``original`` is the mean error of guesses about training persons from the training table itself;
    ``some`` says that only some persons have a score.
    """

    name: str
    scores: Floats
    naive: Floats
    original: float | None
    some: bool = False

    def register(self, measure: str, train: int, distance: Floats | None = None) -> pl.DataFrame:
        """List the training persons about whom the keys gain most, nearest record first."""
        error, naive = self.scores[:train], self.naive[:train]
        gain = np.where(np.isnan(error), -np.inf, naive - error)
        far = np.zeros(train) if distance is None else distance[:train]
        order = np.lexsort((far, -gain))
        order = order[gain[order] > 0]
        beside: dict[str, Any] = {} if distance is None else {"distance": far[order]}
        return register(
            measure, order, self.name, error=error[order], naive_error=naive[order], **beside
        )


def judge_guesses(
    comparison: Comparison, looks: Sequence[GuessLook], *, largest: float, **swaps: Any
) -> tuple[Judgement, list[GuessLook], str] | None:
    """Judge errors that are at most so large; none if too few persons have one.

    Beside the judgement: the looks that were judged, and words on those that were not. ``swaps``
    are the options of ``judge``.
    """
    train = comparison.height("train")
    beside = []
    for look in looks:
        numbers = {"original": look.original, "naive": mean(look.naive[:train])}
        if look.some:
            numbers["persons"] = float((~np.isnan(look.scores[:train])).sum())
        beside.append(numbers)
    values = np.column_stack([look.scores for look in looks])
    scores, few = Scores(
        [look.name for look in looks], values, train, beside, leak=-1
    ).large_enough()
    if scores is None:
        return None
    judged = judge(comparison, scores, bounds=(0.0, largest), **swaps)
    said = f"{few:,} of {len(looks):,} looks left out: {FEW_PERSONS}" if few else ""
    return judged, [look for look in looks if look.name in scores.names], said


def mean(scores: Floats) -> float | None:
    """Give the mean over persons who have a score, if there are any."""
    present = scores[~np.isnan(scores)]
    return float(present.mean()) if len(present) else None


def advantage(judged: Judgement) -> list[Part]:
    """Say by how much the error about training persons is below that about holdout persons."""
    if judged.reference is None or judged.spread is None:
        return []
    ahead = float(judged.reference[judged.headline] - judged.value[judged.headline])
    half = judged.reach * float(judged.spread[judged.headline])
    return [Part(ADVANTAGE, ahead, 0.0, interval=(ahead - half, ahead + half))]
