"""Training and holdout as one pool, queried blind to the labels, and labels swapped at will.

If the holdout is a random part of the same data, the labels training and holdout carry no
information: swapping them gives the distribution that any statistic would have without a leak.
Nothing is recomputed for it, because the neighbours in the pool do not depend on the labels.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which

CAP = 20
AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Pool:
    """The neighbours of each synthetic row in training and holdout together.

    Parameters
    ----------
    indices : array of shape (queries, cap)
        Nearest pool rows, in a random order of the pool; for a distance with few values, the
        rows at the smallest distance only.
    ties : array of int
        How many of the indices are at the smallest distance.
    distance : array of shape (queries, cap)
        The distance of each (of the nearest only, where ties are meant).
    second : array
        The second smallest distance: how far out a record lies, blind to the labels.
    is_train : array of bool
        The label of each pool row.
    """

    indices: NDArray[np.int64]
    ties: NDArray[np.int64]
    distance: NDArray[np.float64]
    second: NDArray[np.float64]
    is_train: NDArray[np.bool_]

    @property
    def equal_sizes(self) -> bool:
        """Whether there are as many training rows as holdout rows, but for an odd one."""
        train = int(self.is_train.sum())
        return abs(2 * train - len(self.is_train)) <= 1


def swap_labels(
    comparison: Comparison,
    pool_order: NDArray[np.int64],
    is_train: NDArray[np.bool_],
    times: int,
    *,
    name: str,
    strata: str | None = None,
    group: str | None = None,
) -> NDArray[np.bool_]:
    """Swap the labels of the pool at random, within strata or by whole groups if named."""
    rng = comparison.stream(name, "labels")
    if strata and group:
        raise OptionError(
            "strata and group are both named", hint="name the one the split respected"
        )
    made = np.empty((times, len(is_train)), bool)
    if group:
        of_row = groups(comparison, group, pool_order)
        # of some rows only, the numbers have gaps
        _, first, of_row = np.unique(of_row, return_index=True, return_inverse=True)
        by_group = is_train[first]
        if not np.array_equal(by_group[of_row], is_train):
            raise OptionError(
                f"group = '{group}': a group is in training and in holdout",
                hint="split with --group, so that groups stay together",
            )
        for time in range(times):
            made[time] = rng.permutation(by_group)[of_row]
        return made
    if strata:
        of_row = _numbered(comparison, strata)[pool_order]
        home = np.argsort(of_row, kind="stable")
        labels = is_train[home]
        for time in range(times):
            shuffled = np.lexsort((rng.random(len(of_row)), of_row))
            made[time, shuffled] = labels
        return made
    train = int(is_train.sum())
    for time in range(times):
        made[time] = random_labels(rng, len(is_train), train)
    return made


def random_labels(rng: np.random.Generator, rows: int, train: int) -> NDArray[np.bool_]:
    """Label ``train`` of the rows, all choices alike.

    Every row is labelled by chance, then as many as are missing or too many are turned at random:
    no row is treated unlike another, so every choice of that size is as likely as any other, and
    it takes a fraction of the time of a permutation.
    """
    labels: NDArray[np.bool_] = rng.random(rows, dtype=np.float32) < train / max(rows, 1)
    surplus = int(labels.sum()) - train
    if surplus:
        candidates = np.flatnonzero(labels == (surplus > 0))
        turned = rng.choice(candidates, abs(surplus), replace=False, shuffle=False)
        labels[turned] = surplus < 0
    return labels


def groups(comparison: Comparison, name: str, pool_order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the groups of the pool rows; a row without one is a group of its own."""
    of_row = _numbered(comparison, name)
    alone = np.flatnonzero(of_row == 0)
    of_row[alone] = of_row.max() + 1 + np.arange(len(alone))
    return np.unique(of_row, return_inverse=True)[1][pool_order]


def _numbered(comparison: Comparison, name: str) -> NDArray[np.int64]:
    """Number the values of a column over training and holdout from 1; missing is 0."""
    texts = pl.concat([comparison.labels("train", name), comparison.labels("holdout", name)])
    return np.array(texts.rank("dense").fill_null(0), np.int64)


def pool_neighbors(
    comparison: Comparison, distance: Any = "hamming", *, bins: int = 100, cap: int = CAP
) -> tuple[Pool, NDArray[np.int64]]:
    """Find the neighbours of all synthetic rows in the pool, once for each distance.

    Also gives the order of the pool: position i of it is row ``order[i]`` of training followed
    by holdout. The order is random, so that of many nearest rows a random part is kept.
    """
    if not callable(distance) and distance not in DISTANCES:
        raise OptionError(f"distance = {distance!r}", hint=f"use one of {', '.join(DISTANCES)}")
    return comparison.once(
        ("pool", distance, bins, cap), lambda: _find(comparison, distance, bins, cap)
    )


def _find(
    comparison: Comparison, distance: Any, bins: int, cap: int
) -> tuple[Pool, NDArray[np.int64]]:
    rows = comparison.height("train") + comparison.height("holdout")
    order = comparison.stream("pool order").permutation(rows)
    is_train = order < comparison.height("train")
    if distance == "hamming":
        found = _by_hamming(comparison, order, bins, cap)
    elif compares_pairs(distance):
        found = pairwise(comparison, distance, cap)[0]
    else:
        synthetic, train, holdout, is_category, euclidean = points_of(comparison, distance, bins)
        pooled = np.concatenate([train, holdout])[order]
        found = nearest_points(comparison, synthetic, pooled, is_category, cap, euclidean)
    return Pool(*found, is_train), order


Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def _by_hamming(comparison: Comparison, order: NDArray[np.int64], bins: int, cap: int) -> Found:
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
) -> tuple[Found, dict[str, NDArray[np.float64]]]:
    """Find neighbours by a user's function of two frames, a few rows of the first at a time.

    Also gives the distances to the nearest training and the nearest holdout record.
    """
    return comparison.once(
        ("pairwise", distance, cap), lambda: _pairwise(comparison, distance, cap)
    )


def _pairwise(
    comparison: Comparison, distance: Callable[..., Any], cap: int
) -> tuple[Found, dict[str, NDArray[np.float64]]]:
    pooled = pl.concat([comparison.rows("train"), comparison.rows("holdout")])
    order = comparison.stream("pool order").permutation(pooled.height)
    pooled, is_train = pooled[order], order < comparison.height("train")
    queries = comparison.rows("synthetic")
    kept, cap = [], min(cap, pooled.height)
    near: dict[str, list[NDArray[np.float64]]] = {"training": [], "holdout": []}
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


def nearest_points(
    comparison: Comparison,
    queries: NDArray[np.float32],
    pooled: NDArray[np.float32],
    is_category: NDArray[np.bool_],
    cap: int,
    euclidean: bool,
) -> Found:
    """Find neighbours among points, and which of them are nearest alike."""
    from understudy.kernels.neighbors import mixed_neighbors

    distance, index = mixed_neighbors(
        queries,
        pooled,
        is_category,
        min(cap, len(pooled)),
        euclidean=euclidean,
        progress=lambda done, total: comparison.progress("nearest records", done, total),
    )
    return _with_ties(index, distance.astype(float))


def _with_ties(index: NDArray[np.int64], distance: NDArray[np.float64]) -> Found:
    """Tell which of the nearest are nearest alike, and how far the second is."""
    ties = (distance <= distance[:, :1] * (1 + 1e-6)).sum(axis=1)
    return index, ties, distance, distance[:, min(1, distance.shape[1] - 1)]


Points = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]
TABLES: tuple[Which, ...] = ("synthetic", "train", "holdout")


def points_of(comparison: Comparison, distance: Any, bins: int) -> tuple[*Points, bool]:
    """Give synthetic, training and holdout rows as points for a distance.

    Beside them: which columns are categories, and whether the distance is the straight line.
    """
    if distance == "mixed":
        return *_mixed_points(comparison, bins), False
    made = _embedded(comparison, distance) if callable(distance) else _standard_points(comparison)
    return *made, True


def nearest_by_label(points: tuple[*Points, bool], wanted: int) -> dict[str, NDArray[np.float64]]:
    """Give the distances of each synthetic row to its nearest training and holdout rows."""
    from understudy.kernels.neighbors import mixed_neighbors

    synthetic, train, holdout, is_category, euclidean = points
    wanted = min(wanted, len(train), len(holdout))
    return {
        name: mixed_neighbors(synthetic, rows, is_category, wanted, euclidean=euclidean)[0].astype(
            float
        )
        for name, rows in (("training", train), ("holdout", holdout))
    }


def _mixed_points(comparison: Comparison, bins: int) -> Points:
    """Give numbers by their rank in the pool and categories by their codes."""
    codec = comparison.pooled_codec(bins=bins)
    synthetic, train, holdout = (comparison.points(t, codec) for t in TABLES)
    return synthetic[0], train[0], holdout[0], train[1]


def _standard_points(comparison: Comparison) -> Points:
    """Give numbers and encoded categories, scaled to mean 0 and deviation 1 in the pool."""
    made = label_points(comparison)
    pooled = np.concatenate(made[1:])
    middle, spread = pooled.mean(axis=0), pooled.std(axis=0)
    synthetic, train, holdout = (
        ((points - middle) / np.where(spread > 0, spread, 1)).astype(np.float32) for points in made
    )
    return synthetic, train, holdout, np.zeros(pooled.shape[1], bool)


def label_points(comparison: Comparison) -> list[NDArray[np.float64]]:
    """Give synthetic, training and holdout rows as numbers: a category is the place of its level.

    Levels that are numbers count as such. What is not a number is the mean of the pool, the same
    point in every table.
    """
    codec = comparison.pooled_codec(bins=100)
    made = [np.empty((comparison.height(t), len(codec.columns))) for t in TABLES]
    for place, coder in enumerate(codec.columns):
        name = coder.column.name
        levels = pl.Series(coder.levels, dtype=pl.String).cast(pl.Float64, strict=False)
        numeric = coder.column.is_numeric or not levels.null_count()
        for table, points in zip(TABLES, made, strict=True):
            source = comparison.source(table)
            points[:, place] = source.numbers(name) if numeric else source.coded(codec).column(name)
        real = np.concatenate([points[:, place] for points in made[1:]])
        middle = 0.0 if np.isnan(real).all() else float(np.nanmean(real))
        for points in made:
            points[np.isnan(points[:, place]), place] = middle
    return made


def _embedded(comparison: Comparison, embed: Callable[[pl.DataFrame], Any]) -> Points:
    """Take an embedding: a function from a frame of plain rows to an array of points."""
    made: list[NDArray[np.float32]] = []
    for table in TABLES:
        points = np.asarray(embed(comparison.rows(table)), np.float32)
        shape = (comparison.height(table), *(made[0] if made else points).shape[1:])
        if points.ndim != 2 or points.shape != shape or not np.isfinite(points).all():
            raise OptionError(
                "distance: the embedding must give finite numbers, one row each, equally many",
                hint="return an array of shape (rows, dimensions)",
            )
        made.append(points)
    return made[0], made[1], made[2], np.zeros(made[0].shape[1], bool)


DISTANCES = ("hamming", "mixed", "euclidean")
