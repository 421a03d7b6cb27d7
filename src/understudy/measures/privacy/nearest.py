"""The records with the keys nearest to a person's, and what they say about a sensitive value.

Records with equal keys are one point. Where more records are equally near than are wanted, each
counts its part: no guess depends on the order of the rows.
"""

from collections.abc import Callable
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
SPARE = 11
ALIKE = 1 + 1e-6


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
    """

    distance: Floats
    point: Ints
    times: Ints
    at: Ints
    whose: Ints

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
    distance, point = mixed_neighbors(
        queries,
        points,
        is_category,
        min(wanted + SPARE, len(points)),
    )
    return Nearest(distance.astype(float), point, np.bincount(at), at, whose)


def nearest_errors(secret: Secret, found: Nearest, weights: list[Floats]) -> Floats:
    """Give each person's error for each way to weigh points; nan where nothing can be guessed."""
    made = np.full((len(found.whose), len(weights)), np.nan)
    count = _sums(secret, found) if secret.is_number else _votes(secret, found)
    for start in range(0, len(found.whose), BLOCK):
        here = slice(start, start + BLOCK)
        who, truth = found.whose[here], secret.persons[here]
        many, total = count(found.point[who], truth)
        for place, weight in enumerate(weights):
            mine = weight[who]
            weight_of_all, weight_of_sum = ((mine * part).sum(axis=1) for part in (many, total))
            guess = np.full(len(who), np.nan)
            np.divide(weight_of_sum, weight_of_all, out=guess, where=weight_of_all > 0)
            made[here, place] = (
                relative_change(truth.astype(float), guess) if secret.is_number else 1 - guess
            )
    return made


def record_weights(found: Nearest, k: int) -> Floats:
    """Give the part of each point's records that is among the k nearest.

    Points that are equally near share what is left of k.
    """
    times = found.times[found.point].astype(float)
    fresh = np.ones(times.shape, bool)
    fresh[:, 1:] = found.distance[:, 1:] > found.distance[:, :-1] * ALIKE
    group = np.cumsum(fresh, axis=1) - 1
    rows = np.arange(len(times))[:, None]
    flat = (rows * times.shape[1] + group).ravel()
    size = np.bincount(flat, times.ravel(), minlength=times.size).reshape(times.shape)
    before = np.cumsum(size, axis=1) - size
    part = np.clip(np.divide(k - before, size, out=np.zeros_like(size), where=size > 0), 0, 1)
    return np.take_along_axis(part, group, axis=1)


Count = Callable[[Ints, NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]


def _sums(secret: Secret, found: Nearest) -> Count:
    """Give how many values stand at points, and their sum."""
    present = ~np.isnan(secret.synthetic)
    here, points = found.at[present], len(found.times)
    many = np.bincount(here, minlength=points)
    total = np.bincount(here, secret.synthetic[present], minlength=points)
    return lambda point, truth: (many[point], total[point])


def _votes(secret: Secret, found: Nearest) -> Count:
    """Give how many records stand at points, and how many of them have the true level."""
    cells, times = np.unique(
        found.at * secret.size + secret.synthetic.astype(np.int64), return_counts=True
    )

    def count(point: Ints, truth: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        wanted = point * secret.size + truth.astype(np.int64)[:, None]
        place = np.searchsorted(cells, wanted).clip(0, len(cells) - 1)
        return found.times[point], np.where(cells[place] == wanted, times[place], 0)

    return count
