"""The records with the keys nearest to a person's, and what they say about a sensitive value.

Records with equal keys are one point. Where more records are equally near than are wanted, each
counts its part: no guess depends on the order of the rows, nor on the names of levels. Where
equally near points are more than are listed, they are a crowd: added up, and not listed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.measures.privacy.guesses import (
    Floats,
    Ints,
    Secret,
    distinct,
    relative_change,
)

BLOCK = 65_536
CELLS = 20_000_000
SPARE = 11
ALIKE = 1 + 1e-6

Values = NDArray[Any]


@dataclass(frozen=True)
class Nearest:
    """The nearest points of each distinct person, nearest first, and who has which.

    Parameters
    ----------
    distance, point : array of shape (distinct persons, points)
    times : array
        How many records each point stands for.
    at : array
        The point of each record.
    whose : array
        The distinct person that each person is.
    queries, points, is_category : array
        The keys of distinct persons and of points, and which of them are categories.
    cut : array of bool
        Whether the last of a distinct person's points are part of a crowd that is not listed.
    """

    distance: Floats
    point: Ints
    times: Ints
    at: Ints
    whose: Ints
    queries: NDArray[np.float32]
    points: NDArray[np.float32]
    is_category: NDArray[np.bool_]
    cut: NDArray[np.bool_]

    def first(self) -> Floats:
        """Give each person's distance to the nearest record."""
        made: Floats = self.distance[self.whose, 0]
        return made

    def doubt(self) -> tuple[Floats, Floats]:
        """Give what the adversary is sure by, surest lowest.

        First how near the nearest record is as a part of the second (1 where two are equally
        near), then how far the second is, as a negative number.
        """
        near = self.distance[:, 0]
        alone = self.times[self.point[:, 0]] == 1
        next_ = self.distance[:, min(1, self.distance.shape[1] - 1)]
        second = np.where(alone & np.isfinite(next_), next_, near)
        ratio = np.divide(near, second, out=np.ones(len(near)), where=second > 0)
        return ratio[self.whose], -second[self.whose]


def nearest_keys(
    persons: NDArray[np.float32],
    table: NDArray[np.float32],
    is_category: NDArray[np.bool_],
    wanted: int,
) -> Nearest:
    """Find the nearest points of a table, a few more than wanted for those equally near."""
    from understudy.kernels.neighbors import mixed_neighbors

    points, at = distinct(table)
    queries, whose = distinct(persons)
    listed = min(wanted + SPARE, len(points))
    near, point = mixed_neighbors(queries, points, is_category, listed)
    distance, times = near.astype(float), np.bincount(at)
    cut = np.zeros(len(queries), bool)
    if listed < len(points):
        group = _groups(distance)
        reached = (np.cumsum(times[point], axis=1) >= wanted).argmax(axis=1)
        cut = group[np.arange(len(group)), reached] == group[:, -1]
    return Nearest(distance, point, times, at, whose, queries, points, is_category, cut)


def nearest_errors(secrets: list[Secret], found: Nearest, counts: list[int]) -> list[Floats]:
    """Give each person's error for each secret and number of records.

    It is nan where nothing can be guessed.
    """
    made = [np.full((len(found.whose), len(counts)), np.nan) for _ in secrets]
    tallies = [_Tally.of(secret, found) for secret in secrets]
    for who, crowd in _blocks(found, tallies):
        mine = found.whose[who]
        weights = [
            record_weights(found.distance[mine], found.times[found.point[mine]], crowd[:, 0], k)
            for k in counts
        ]
        first = 1
        for errors, secret, tally in zip(made, secrets, tallies, strict=True):
            truth, sums = secret.persons[who], crowd[:, first : first + secret.width]
            first += secret.width
            many, total = tally.listed(found, found.point[mine], truth)
            others, their_total = tally.crowded(sums, crowd[:, 0], truth)
            for place, (each, of_crowd) in enumerate(weights):
                weight_of_all = (each * many).sum(axis=1) + of_crowd * others
                weight_of_sum = (each * total).sum(axis=1) + of_crowd * their_total
                guess = np.full(len(who), np.nan)
                np.divide(weight_of_sum, weight_of_all, out=guess, where=weight_of_all > 0)
                errors[who, place] = (
                    relative_change(truth.astype(float), guess) if secret.is_number else 1 - guess
                )
    return made


def record_weights(
    distance: Floats, times: NDArray[np.number], crowd: Floats, k: int
) -> tuple[Floats, Floats]:
    """Give the part of each listed point's records that is among the k nearest, and of a crowd's.

    Points that are equally near share what is left of k. ``crowd`` is how many records are in the
    crowd to which the last points belong, 0 where there is none.
    """
    times, cut = times.astype(float), crowd > 0
    group = _groups(distance)
    rows = np.arange(len(times))
    flat = (rows[:, None] * times.shape[1] + group).ravel()
    size = np.bincount(flat, times.ravel(), minlength=times.size).reshape(times.shape)
    last = group[:, -1]
    size[rows[cut], last[cut]] = crowd[cut]
    before = np.cumsum(size, axis=1) - size
    part = np.clip(np.divide(k - before, size, out=np.zeros_like(size), where=size > 0), 0, 1)
    of_crowd = np.where(cut, part[rows, last], 0.0)
    part[rows[cut], last[cut]] = 0
    return np.take_along_axis(part, group, axis=1), of_crowd


def _groups(distance: Floats) -> Ints:
    """Number the groups of points that are equally near, from the nearest."""
    fresh = np.zeros(distance.shape, np.int64)
    fresh[:, 1:] = distance[:, 1:] > distance[:, :-1] * ALIKE
    return np.cumsum(fresh, axis=1)


@dataclass(frozen=True)
class _Tally:
    """What stands at points: for a number how many values and their sum, else votes by level.

    ``cells`` are point x width + place, in order.
    """

    secret: Secret
    cells: Ints
    amount: Floats

    @classmethod
    def of(cls, secret: Secret, found: Nearest) -> "_Tally":
        """Count the records of each point."""
        if not secret.is_number:
            level = secret.synthetic.astype(np.int64)
            cells, times = np.unique(found.at * secret.size + level, return_counts=True)
            return cls(secret, cells, times.astype(float))
        present = ~np.isnan(secret.synthetic)
        here, points = found.at[present], len(found.times)
        many = np.bincount(here, minlength=points)
        total = np.bincount(here, secret.synthetic[present], minlength=points)
        return cls(secret, np.arange(2 * points), np.stack([many * 1.0, total], axis=1).ravel())

    def listed(self, found: Nearest, point: Ints, truth: Values) -> tuple[Values, Values]:
        """Give how many records stand at points, and their sum or who has the true level."""
        if self.secret.is_number:
            return self.amount[2 * point], self.amount[2 * point + 1]
        wanted = point * self.secret.size + truth.astype(np.int64)[:, None]
        place = np.searchsorted(self.cells, wanted).clip(0, len(self.cells) - 1)
        right = np.where(self.cells[place] == wanted, self.amount[place], 0.0)
        return found.times[point], right

    def crowded(self, sums: Floats, size: Floats, truth: Values) -> tuple[Values, Values]:
        """Give the same of a whole crowd."""
        if self.secret.is_number:
            return sums[:, 0], sums[:, 1]
        return size, sums[np.arange(len(sums)), truth.astype(np.int64)]


def _blocks(found: Nearest, tallies: list[_Tally]) -> Iterator[tuple[Ints, Floats]]:
    """Give persons, some at a time, with what stands in their crowds: records, then each tally."""
    from understudy.kernels.neighbors.crowd import crowd_sums

    width = 1 + sum(tally.secret.width for tally in tallies)
    order = np.argsort(found.whose, kind="stable")
    size = max(1, min(BLOCK, CELLS // width))
    if found.cut.any():
        starts, place, amount = _standing(found, tallies)
    for begin in range(0, len(order), size):
        who = order[begin : begin + size]
        each, back = np.unique(found.whose[who], return_inverse=True)
        sums = np.zeros((len(each), width))
        cut = np.flatnonzero(found.cut[each])
        if len(cut):
            crowded = each[cut]
            distance = found.distance[crowded]
            group = _groups(distance)
            nearest = distance[np.arange(len(group)), (group == group[:, -1:]).argmax(axis=1)]
            sums[cut] = crowd_sums(
                found.queries[crowded], found.points, found.is_category,
                nearest.astype(np.float32), (distance[:, -1] * ALIKE).astype(np.float32),
                starts, place, amount, width,
            )  # fmt: skip
        yield who, sums[back.reshape(-1)]


def _standing(found: Nearest, tallies: list[_Tally]) -> tuple[Ints, Ints, Floats]:
    """Put what stands at each point in one list: where a point starts, places, amounts."""
    points = len(found.times)
    owner, place, amount = [np.arange(points)], [np.zeros(points, np.int64)], [found.times * 1.0]
    first = 1
    for tally in tallies:
        width = tally.secret.width
        owner.append(tally.cells // width)
        place.append(tally.cells % width + first)
        amount.append(tally.amount)
        first += width
    owners = np.concatenate(owner)
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(points + 1))
    return starts, np.concatenate(place)[order], np.concatenate(amount)[order]
