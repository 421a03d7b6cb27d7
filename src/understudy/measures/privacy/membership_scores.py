"""What three attacks on membership give every real person: the larger, the more like a member.

The holdout is cut in two. One part is the attacker's reference, real people who resemble those in
the training data; the other part are the non-members. A score is made of the synthetic table, the
reference and the person alone, so that training persons and non-members are treated alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.measures.boosting import boosted, one_by_one
from understudy.measures.privacy.guesses import distinct
from understudy.measures.privacy.pool import groups, points_of

NAME = "privacy.membership"
BINS = 100
SHARP = 4.0
MOST_LEVELS = 254
CUTS = (1 / 8, 1 / 4, 1 / 2, 1.0)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Points = NDArray[np.float32]


@dataclass(frozen=True)
class Sides:
    """Who is attacked, and what the attacker holds.

    Parameters
    ----------
    synthetic, reference, persons : array
        Rows as points for the mixed distance, in an order that depends on their values and on
        chance. Training persons come first, then non-members.
    rows : array
        The row that each person is in training followed by holdout.
    is_member : array of bool
    units : array
        Persons with the same number belong together.
    is_category : array of bool
        Which columns are categories.
    """

    synthetic: Points
    reference: Points
    persons: Points
    rows: Ints
    is_member: NDArray[np.bool_]
    units: Ints
    is_category: NDArray[np.bool_]


def sides(comparison: Comparison, share: float, group: str | None) -> Sides:
    """Cut the holdout into a reference and non-members, whole groups together."""
    synthetic, train, holdout, is_category, _ = points_of(comparison, "mixed", BINS)
    by_name = np.argsort(np.array(comparison.names))
    synthetic, train, holdout = (points[:, by_name] for points in (synthetic, train, holdout))
    order = [np.lexsort(points.T[::-1]) for points in (synthetic, train, holdout)]
    fresh = order[2] + len(train)
    whose = _whose(comparison, group, len(train), np.concatenate([order[1], fresh]))
    known = first_part(whose[len(train) :], share, comparison.stream(NAME, "reference"))
    rows = np.concatenate([order[1], fresh[~known]])
    kept = np.concatenate([np.ones(len(train), bool), ~known])
    shuffled = order[0][comparison.stream(NAME, "release").permutation(len(synthetic))]
    return Sides(
        synthetic[shuffled],
        holdout[fresh[known] - len(train)],
        np.concatenate([train, holdout])[rows],
        rows,
        np.arange(len(rows)) < len(train),
        np.unique(whose[kept], return_inverse=True)[1],
        is_category[by_name],
    )


def _whose(comparison: Comparison, group: str | None, train: int, rows: Ints) -> Ints:
    """Number who belongs together; everybody alone if no group is named."""
    if not group:
        return np.arange(len(rows))
    made = groups(comparison, group, rows)
    if len(np.intersect1d(made[:train], made[train:])):
        raise OptionError(
            f"group = '{group}': a group is in training and in holdout",
            hint="split with --group, so that groups stay together",
        )
    return made


def first_part(units: Ints, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose units at random until they have this share of the rows, give or take one unit."""
    names, place = np.unique(units, return_inverse=True)
    sizes = np.bincount(place)
    order = rng.permutation(len(names))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = np.zeros(len(names), bool)
    chosen[order] = before + sizes[order] / 2 <= share * len(units)
    made: NDArray[np.bool_] = chosen[place]
    return made


@dataclass(frozen=True)
class Density:
    """How dense a table is around persons, as far as their nearest distinct records tell.

    Parameters
    ----------
    first : array
        The distance to the nearest record.
    level : array
        The logarithm of the density: Σ exp(−distance / bandwidth) over the nearest records,
        divided by the number of records.
    """

    first: Floats
    level: Floats


class Around:
    """The nearest records of persons in a table that is looked through piece by piece."""

    def __init__(self, sides: Sides, table: Points, nearest: int) -> None:
        self.sides, self.table, self.nearest = sides, table, nearest

    def pieces(self, ends: tuple[int, ...]) -> Iterator[tuple[Floats, Floats, int]]:
        """Give distances, how many records are that near, and the rows seen, after each piece."""
        from understudy.kernels.neighbors import mixed_neighbors

        persons, whose = distinct(self.sides.persons)
        start, far, weight = 0, [], []
        for end in ends:
            points, at = distinct(self.table[start:end])
            near, place = mixed_neighbors(
                persons, points, self.sides.is_category, min(self.nearest, len(points))
            )
            far.append(near.astype(np.float64))
            weight.append(np.bincount(at)[place].astype(np.float64))
            start = end
            yield np.hstack(far)[whose], np.hstack(weight)[whose], end


def density(far: Floats, weight: Floats, rows: int, bandwidth: float) -> Density:
    """Sum kernels over the nearest records, in logarithms so that none is lost."""
    first = far.min(axis=1)
    kernels = np.exp((first[:, None] - far) / bandwidth) * weight
    return Density(first, np.log(kernels.sum(axis=1)) - first / bandwidth - np.log(rows))


@dataclass(frozen=True)
class Scores:
    """The scores of persons: a column for each attack, and by how much was released."""

    names: tuple[str, ...]
    values: Floats
    released: tuple[tuple[int, Floats], ...]


def scores(
    comparison: Comparison, sides: Sides, *, nearest: int, iterations: int, rows: int, curve: bool
) -> Scores:
    """Let three attacks score every person."""
    many = len(sides.synthetic)
    ends = tuple(dict.fromkeys(max(1, int(many * cut)) for cut in (CUTS if curve else CUTS[-1:])))
    comparison.progress(f"{NAME}: neighbours", 0, len(ends) + 1)
    known = Around(sides, sides.reference, nearest)
    far, weight, height = next(known.pieces((len(sides.reference),)))
    bandwidth = _bandwidth(far)
    control = density(far, weight, height, bandwidth)
    released = []
    for number, (far, weight, seen) in enumerate(
        Around(sides, sides.synthetic, nearest).pieces(ends), start=1
    ):
        found = density(far, weight, seen, bandwidth)
        released.append((seen, np.column_stack([-found.first, found.level - control.level])))
        comparison.progress(f"{NAME}: neighbours", number + 1, len(ends) + 1)
    judged = _judged(comparison, sides, iterations=iterations, rows=rows)
    return Scores(
        ("distance to the closest record", "density ratio", "classifier"),
        np.column_stack([released[-1][1], judged]),
        tuple(released),
    )


def _bandwidth(far: Floats) -> float:
    """Take a part of the usual distance between a person and the nearest other record."""
    apart = np.where(far > 0, far, np.inf).min(axis=1)
    apart = apart[np.isfinite(apart)]
    return float(np.median(apart)) / SHARP if len(apart) else 1.0


def _judged(comparison: Comparison, sides: Sides, *, iterations: int, rows: int) -> Floats:
    """Let boosting tell synthetic rows from the reference, and judge the persons by it."""
    tables = (sides.synthetic[:rows], sides.reference[:rows])
    matrix = np.concatenate(tables).astype(np.float64)
    label = np.repeat([1, 0], [len(table) for table in tables])
    is_category = sides.is_category & (
        np.maximum(matrix.max(axis=0), sides.persons.max(axis=0)) <= MOST_LEVELS
    )

    def judge(_: int) -> Floats:
        model = boosted(matrix, label, is_category, iterations=iterations)
        made: Floats = model.decision_function(sides.persons.astype(np.float64))
        return made

    return next(one_by_one(judge, 1, comparison.progress, f"{NAME}: classifier"))
