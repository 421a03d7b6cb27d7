"""What an attacker knows and guesses: keys as points, sensitive values, and how wrong guesses are.

Persons are training rows, then holdout rows if there are any. An attacker who knows their keys
and sees a table (the release; for a ceiling, training itself) guesses their sensitive values.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import MISSING, Codec
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Part
from understudy.measures import pictures
from understudy.measures.privacy.looks import Looks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BINS = 100
ADVANTAGE = "advantage: how much less wrong about training persons"
MOST_LISTED = 1000
TOO_FEW = "Fewer than five training or holdout persons have a value that is guessed."
WITHOUT_HOLDOUT = (
    "No holdout was given: how well the same attack does on people who were never in the data is "
    "not known, and what is learnt from the table in general cannot be told from a leak."
)


def people(comparison: Comparison) -> tuple[Which, ...]:
    """Name the tables of real persons."""
    return ("train", "holdout") if comparison.has_holdout else ("train",)


def real_codec(comparison: Comparison) -> Codec:
    """Code by what all real persons have; no level is lumped."""
    if comparison.has_holdout:
        return comparison.pooled_codec(bins=BINS)
    return comparison.codec(bins=BINS, levels=None)


@dataclass(frozen=True)
class Secret:
    """A sensitive column: numbers (nan where there is none) or the codes of its levels.

    Missing is a level of a category. Dates are counted from the first one of a real person.
    """

    name: str
    is_number: bool
    persons: NDArray[np.float64] | NDArray[np.int64]
    synthetic: NDArray[np.float64] | NDArray[np.int64]
    size: int

    @property
    def width(self) -> int:
        """How many amounts a point needs: count and sum, or the votes for each level."""
        return 2 if self.is_number else self.size

    def from_training(self, train: int) -> "Secret":
        """Let training persons be guessed from the training table itself: the attack's ceiling."""
        own = self.persons[:train]
        return Secret(self.name, self.is_number, own, own, self.size)


def secrets(comparison: Comparison) -> tuple[list[Secret], list[str]]:
    """Give the sensitive columns that can be guessed, and say which cannot and why."""
    both = [name for name in comparison.sensitive if name in comparison.keys]
    if both:
        raise OptionError(
            f"'{both[0]}' is both a key and sensitive",
            hint="name it once: as known to the attacker (keys) or as to be guessed (sensitive)",
        )
    made, notes = [], []
    for name in dict.fromkeys(comparison.sensitive):
        secret = _secret(comparison, name)
        own = secret.persons[: comparison.height("train")]
        if _nothing(own) or _nothing(secret.synthetic):
            notes.append(f"'{name}' has no value in training or in the synthetic table.")
        elif len(np.unique(own)) == 1:
            notes.append(f"'{name}' is the same for all training persons: nothing to learn.")
        else:
            made.append(secret)
    return made, notes


def dull_keys(comparison: Comparison) -> str:
    """Say so if no key differs between training persons."""
    names = dict.fromkeys(comparison.keys)
    if any(comparison.labels("train", name).n_unique() > 1 for name in names):
        return ""
    return (
        f"The keys ({', '.join(names)}) have one value for all training persons: nobody can be "
        "told apart by them. Name keys that differ between persons."
    )


def _secret(comparison: Comparison, name: str) -> Secret:
    tables: tuple[Which, ...] = (*people(comparison), "synthetic")
    column = comparison.schema[name]
    if column.is_numeric:
        values = [comparison.source(table).numbers(name) for table in tables]
        persons = np.concatenate(values[:-1])
        first = 0.0
        if column.kind == "date" and not np.isnan(persons).all():
            first = float(np.nanmin(persons))
        return Secret(name, True, persons - first, values[-1] - first, 0)
    codec = real_codec(comparison)
    codes = [comparison.source(t).coded(codec).column(name).astype(np.int64) for t in tables]
    return Secret(name, False, np.concatenate(codes[:-1]), codes[-1], codec[name].size)


def _nothing(values: NDArray[np.float64] | NDArray[np.int64]) -> bool:
    missing = np.isnan(values) if values.dtype.kind == "f" else values == MISSING
    return bool(missing.all())


@dataclass(frozen=True)
class Known:
    """Columns of points, one or two for each key, and which of them are categories."""

    persons: Floats
    synthetic: Floats
    is_category: NDArray[np.bool_]
    key: tuple[str, ...]

    def from_training(self, train: int) -> "Known":
        """Let training persons be looked for in the training table itself."""
        own = self.persons[:train]
        return Known(own, own, self.is_category, self.key)

    def only(self, keys: tuple[str, ...]) -> "Known":
        """Keep the columns of some keys."""
        kept = [place for place, name in enumerate(self.key) if name in keys]
        return Known(
            self.persons[:, kept], self.synthetic[:, kept],
            self.is_category[kept], tuple(self.key[place] for place in kept),
        )  # fmt: skip


def known_points(comparison: Comparison) -> Known:
    """Give the keys as points for the straight line.

    Numbers, and categories whose levels are numbers, are scaled to mean 0 and deviation 1 over
    all real persons. What is no number is their mean, and a category beside says what it is.
    """
    return comparison.once(("known points",), lambda: _known_points(comparison))


def _known_points(comparison: Comparison) -> Known:
    tables: tuple[Which, ...] = (*people(comparison), "synthetic")
    codec = real_codec(comparison)
    real = sum(comparison.height(table) for table in tables[:-1])
    columns: list[Floats] = []
    is_category: list[bool] = []
    keys: list[str] = []
    for name in dict.fromkeys(comparison.keys):
        codes = np.concatenate([comparison.source(t).coded(codec).column(name) for t in tables])
        if _on_a_line(codec, name):
            numbers = np.concatenate([comparison.source(t).numbers(name) for t in tables])
            absent = np.isnan(numbers)
            columns.append(_standard(numbers, real))
            if absent.any():
                columns.append(np.where(absent, codes, -1.0))
            is_category += [False, True][: 1 + bool(absent.any())]
        else:
            columns.append(codes.astype(float))
            is_category.append(True)
        keys += [name] * (len(columns) - len(keys))
    made = np.column_stack(columns)
    return Known(made[:real], made[real:], np.array(is_category, bool), tuple(keys))


def _on_a_line(codec: Codec, name: str) -> bool:
    """Tell numbers, and categories whose levels are all numbers."""
    coder = codec[name]
    if coder.column.is_numeric:
        return True
    try:
        return len(coder.levels) > 0 and all(np.isfinite(float(level)) for level in coder.levels)
    except ValueError:
        return False


def _standard(numbers: Floats, real: int) -> Floats:
    present = numbers[:real][~np.isnan(numbers[:real])]
    middle = float(present.mean()) if len(present) else 0.0
    spread = float(present.std()) if len(present) else 0.0
    return np.where(np.isnan(numbers), 0.0, (numbers - middle) / (spread if spread > 0 else 1.0))


P = TypeVar("P", NDArray[np.float32], NDArray[np.float64])


def distinct(points: P) -> tuple[P, Ints]:
    """Give the distinct points in order, and which of them each row is.

    Examples
    --------
    >>> rows, which = distinct(np.array([[2.0], [1.0], [2.0]]))
    >>> rows.tolist(), which.tolist()
    ([[1.0], [2.0]], [1, 0, 1])
    """
    if not points.shape[1]:
        return points[:1], np.zeros(len(points), np.int64)
    order = np.lexsort(points.T[::-1])
    differ = (points[order][1:] != points[order][:-1]).any(axis=1)
    number = np.concatenate([[0], np.cumsum(differ)]).astype(np.int64)
    which = np.empty(len(points), np.int64)
    which[order] = number
    first = order[np.concatenate([[True], differ])]
    return points[first], which


def relative_change(truth: Floats, guess: Floats) -> Floats:
    """Give |truth − guess| as a part of the mean of their sizes; 0/0 is 0.

    Examples
    --------
    >>> relative_change(np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.0, 3.0])).tolist()
    [0.666..., 0.0, 2.0]
    """
    apart, size = np.abs(truth - guess), (np.abs(truth) + np.abs(guess)) / 2
    return np.divide(apart, size, out=np.where(np.isnan(apart), np.nan, 0.0), where=size > 0)


def naive_shares(secret: Secret) -> Floats:
    """Give the share of each person's level in the synthetic table: a guess without keys."""
    share = np.bincount(secret.synthetic.astype(np.int64), minlength=secret.size)
    made: Floats = share[secret.persons.astype(np.int64)] / len(secret.synthetic)
    return made


def naive_number(secret: Secret) -> float:
    """Give the mean of the synthetic table: a guess without keys."""
    return float(np.nanmean(secret.synthetic))


def enough(comparison: Comparison, scores: Floats) -> bool:
    """Tell whether so many persons have a score that none can be read off their mean."""
    train, here = comparison.height("train"), ~np.isnan(scores)
    counts = [here[:train].sum(), here[train:].sum()][: 1 + comparison.has_holdout]
    return bool(min(counts) >= pictures.K)


def advantage(looks: Looks, shown: int) -> Part:
    """Say by how much the error about training persons is below that about holdout persons."""
    ahead = float(looks.reference[shown] - looks.value[shown])
    half = looks.reach * float(looks.spread[shown])
    return Part(ADVANTAGE, ahead, 0.0, interval=(ahead - half, ahead + half))


def listed(measure: str, attack: str, rows: Ints, **numbers: Floats) -> pl.DataFrame:
    """List training persons for the register, with numbers beside them."""
    return pl.DataFrame(
        [
            pl.repeat(measure, len(rows), dtype=pl.String, eager=True).alias("measure"),
            pl.Series("training_row", rows, pl.Int64),
            pl.repeat(attack, len(rows), dtype=pl.String, eager=True).alias("attack"),
            *(pl.Series(name, values[rows], pl.Float64) for name, values in numbers.items()),
        ]
    )


def mean(scores: Floats) -> float | None:
    """Give the mean over persons who have a score, if there are any."""
    present = scores[~np.isnan(scores)]
    return float(present.mean()) if len(present) else None
