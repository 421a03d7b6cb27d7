"""Training and holdout as one pool, queried blind to the labels.

The neighbours of synthetic rows in the pool do not depend on the labels training and holdout, so
that labels may be swapped without a new search.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.measures.privacy.coding import (
    Flags,
    Floats,
    Ints,
    MixedPoints,
    label_points,
    mixed_points,
)

CAP = 20
AT_ONCE = 4_000_000
DISTANCES = ("hamming", "mixed", "euclidean")
Near = dict[str, Floats]


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of each synthetic row in training and holdout together.

    Parameters
    ----------
    indices : array of shape (queries, cap)
        Nearest pool rows; for a distance with few values, the rows at the smallest distance only.
    ties : array of int
        How many of the indices are at the smallest distance.
    distance : array of shape (queries, cap)
        The distance of each (of the nearest only, where ties are meant).
    second : array
        The second smallest distance: how far out a record lies, blind to the labels.
    order : array
        Position i of the pool is row ``order[i]`` of training followed by holdout. The order is
        random, so that of many nearest rows a random part is kept.
    is_train : array of bool
        The label of each pool row.
    """

    indices: Ints
    ties: Ints
    distance: Floats
    second: Floats
    order: Ints
    is_train: Flags

    @property
    def equal_sizes(self) -> bool:
        """Whether there are as many training rows as holdout rows, but for an odd one."""
        train = int(self.is_train.sum())
        return abs(2 * train - len(self.is_train)) <= 1


def pool_neighbours(
    comparison: Comparison, distance: Any = "hamming", *, bins: int = 100, cap: int = CAP
) -> Neighbours:
    """Find the neighbours of all synthetic rows in the pool, once for each distance.

    Distances are ``hamming``, those of ``points_of``, or a function of two frames.
    """

    def find() -> Neighbours:
        rows = comparison.height("train") + comparison.height("holdout")
        order = comparison.stream("pool order").permutation(rows)
        if compares_pairs(distance):
            found = pairwise(comparison, distance, cap)[0]
        elif not callable(distance) and distance == "hamming":
            found = _by_hamming(comparison, order, bins, cap)
        else:
            found = points_of(comparison, distance, bins).neighbours(comparison, order, cap)
        return Neighbours(*found, order, order < comparison.height("train"))

    return comparison.once(("pool", distance, bins, cap), find)


Found = tuple[Ints, Ints, Floats, Floats]


def _by_hamming(comparison: Comparison, order: Ints, bins: int, cap: int) -> Found:
    from understudy.kernels.neighbors import hamming_neighbors

    codec = comparison.pooled_codec(bins=bins)
    pooled = np.concatenate([comparison.codes(t, codec) for t in ("train", "holdout")])[order]
    found = hamming_neighbors(
        comparison.codes("synthetic", codec),
        pooled,
        cap=cap,
        progress=lambda done, total: comparison.progress("nearest records", done, total),
    )
    return (
        found.indices.astype(np.int64),
        np.minimum(found.count, cap),
        found.distance[:, None].astype(float),
        found.second.astype(float),
    )


def compares_pairs(distance: Any) -> bool:
    """Tell a user's function of two frames from an embedding of one."""
    if not callable(distance):
        return False
    needed = [p for p in inspect.signature(distance).parameters.values() if p.default is p.empty]
    return len(needed) == 2


def pairwise(
    comparison: Comparison, distance: Callable[..., Any], cap: int = CAP
) -> tuple[Found, Near]:
    """Find neighbours by a user's function of two frames, a few rows of the first at a time.

    Also gives the distances to the nearest training and the nearest holdout record.
    """
    key = ("pairwise", distance, cap)
    return comparison.once(key, lambda: _pairwise(comparison, distance, cap))


def _pairwise(comparison: Comparison, distance: Callable[..., Any], cap: int) -> tuple[Found, Near]:
    pooled = pl.concat([comparison.rows("train"), comparison.rows("holdout")])
    order = comparison.stream("pool order").permutation(pooled.height)
    pooled, is_train = pooled[order], order < comparison.height("train")
    queries = comparison.rows("synthetic")
    kept, cap = [], min(cap, pooled.height)
    near: dict[str, list[Floats]] = {"training": [], "holdout": []}
    for block in queries.iter_slices(max(1, AT_ONCE // pooled.height)):
        far = np.asarray(distance(block, pooled), float)
        if far.shape != (block.height, pooled.height) or not np.isfinite(far).all():
            raise OptionError(
                f"distance: a result of shape {far.shape}, not all of it finite numbers",
                hint="return one number for each pair, of shape (first rows, second rows)",
            )
        nearest = np.argsort(far, axis=1, kind="stable")[:, :cap]
        kept.append((nearest, np.take_along_axis(far, nearest, axis=1)))
        near["training"].append(far[:, is_train].min(axis=1))
        near["holdout"].append(far[:, ~is_train].min(axis=1))
        comparison.progress("nearest records", sum(len(n) for n, _ in kept), queries.height)
    index, smallest = (np.concatenate(part) for part in zip(*kept, strict=True))
    return _with_ties(index, smallest), {name: np.concatenate(d) for name, d in near.items()}


def _with_ties(index: Ints, distance: Floats) -> Found:
    """Tell which of the nearest are nearest alike, and how far the second is."""
    ties = (distance <= distance[:, :1] * (1 + 1e-6)).sum(axis=1)
    return index, ties, distance, distance[:, min(1, distance.shape[1] - 1)]


@dataclass(frozen=True)
class TablePoints:
    """The rows of all tables as points, which columns are categories, and the kind of distance."""

    synthetic: MixedPoints
    train: MixedPoints
    holdout: MixedPoints
    is_category: Flags
    euclidean: bool

    def distances(self, queries: MixedPoints, reference: MixedPoints, wanted: int) -> MixedPoints:
        """Give the distances of rows to their nearest rows among others."""
        from understudy.kernels.neighbors import mixed_neighbors

        found = mixed_neighbors(
            queries, reference, self.is_category, wanted, euclidean=self.euclidean
        )
        return found[0]

    def by_label(self, wanted: int) -> Near:
        """Give the distances of each synthetic row to its nearest training and holdout rows."""
        wanted = min(wanted, len(self.train), len(self.holdout))
        return {
            name: self.distances(self.synthetic, rows, wanted).astype(float)
            for name, rows in (("training", self.train), ("holdout", self.holdout))
        }

    def neighbours(self, comparison: Comparison, order: Ints, cap: int) -> Found:
        """Find the neighbours of synthetic rows in the pool, and which are nearest alike."""
        from understudy.kernels.neighbors import mixed_neighbors

        distance, index = mixed_neighbors(
            self.synthetic,
            np.concatenate([self.train, self.holdout])[order],
            self.is_category,
            min(cap, len(order)),
            euclidean=self.euclidean,
            progress=lambda done, total: comparison.progress("nearest records", done, total),
        )
        return _with_ties(index, distance.astype(float))


def points_of(comparison: Comparison, distance: Any, bins: int = 100) -> TablePoints:
    """Give the rows of all tables as points for a distance.

    - ``mixed``: numbers by their rank in the pool, levels by their codes.
    - ``euclidean``: numbers, and levels by their place, scaled to mean 0 and deviation 1 in the
      pool.
    - ``unit``: the same scaled to [0, 1] in the pool, the largest possible distance being 1.
    - an embedding: a function from a frame of plain rows to an array of points.

    Points are coordinates for a distance, one a column; ``data.matrix`` makes features for models.
    """
    if callable(distance):
        return _embedded(comparison, distance)
    if distance == "mixed":
        points, is_category = mixed_points(comparison, bins=bins)
        return TablePoints(
            points["synthetic"], points["train"], points["holdout"], is_category, False
        )
    placed = label_points(comparison)
    pooled = np.concatenate([placed["train"], placed["holdout"]])
    columns = pooled.shape[1]
    if distance == "unit":
        zero, one = pooled.min(axis=0), np.ptp(pooled, axis=0)
        one = np.where(one > 0, one, 1) * math.sqrt(columns)
    else:
        zero, one = pooled.mean(axis=0), pooled.std(axis=0)
        one = np.where(one > 0, one, 1)
    scaled = {table: ((rows - zero) / one).astype(np.float32) for table, rows in placed.items()}
    no_category = np.zeros(columns, bool)
    return TablePoints(scaled["synthetic"], scaled["train"], scaled["holdout"], no_category, True)


def _embedded(comparison: Comparison, embed: Callable[[pl.DataFrame], Any]) -> TablePoints:
    """Take an embedding: a function from a frame of plain rows to an array of points."""
    tables: tuple[Which, ...] = ("synthetic", "train", "holdout")
    made: list[MixedPoints] = []
    for table in tables:
        points = np.asarray(embed(comparison.rows(table)), np.float32)
        shape = (comparison.height(table), *(made[0] if made else points).shape[1:])
        if points.ndim != 2 or points.shape != shape or not np.isfinite(points).all():
            raise OptionError(
                "distance: the embedding must give finite numbers, one row each, equally many",
                hint="return an array of shape (rows, dimensions)",
            )
        made.append(points)
    return TablePoints(made[0], made[1], made[2], np.zeros(made[0].shape[1], bool), True)
