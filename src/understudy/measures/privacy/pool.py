"""Training and holdout as one pool, queried blind to the labels, and labels swapped at will.

If the holdout is a random part of the same data, the labels training and holdout carry no
information: swapping them gives the distribution that any statistic would have without a leak.
Nothing is recomputed for it, because the neighbours in the pool do not depend on the labels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.comparison import Comparison
from understudy.errors import OptionError

CAP = 20


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
        of_row = _values(comparison, group)[pool_order]
        first = np.unique(of_row, return_index=True)[1]
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
        of_row = _values(comparison, strata)[pool_order]
        home = np.argsort(of_row, kind="stable")
        labels = is_train[home]
        for time in range(times):
            shuffled = np.lexsort((rng.random(len(of_row)), of_row))
            made[time, shuffled] = labels
        return made
    for time in range(times):
        made[time] = rng.permutation(is_train)
    return made


def _values(comparison: Comparison, name: str) -> NDArray[np.int64]:
    """Number the values of a column over training and holdout."""
    texts = pl.concat([comparison.labels("train", name), comparison.labels("holdout", name)])
    made: NDArray[np.int64] = texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return np.unique(made, return_inverse=True)[1]


def pool_neighbors(
    comparison: Comparison, distance: Any = "hamming", *, bins: int = 100, cap: int = CAP
) -> tuple[Pool, NDArray[np.int64]]:
    """Find the neighbours of all synthetic rows in the pool, once for each distance.

    Also gives the order of the pool: position i of it is row ``order[i]`` of training followed
    by holdout. The order is random, so that of many nearest rows a random part is kept.
    """
    key = ("pool", distance if isinstance(distance, str) else id(distance), bins, cap)
    return comparison.once(key, lambda: _find(comparison, distance, bins, cap))


def _find(
    comparison: Comparison, distance: Any, bins: int, cap: int
) -> tuple[Pool, NDArray[np.int64]]:
    rows = comparison.height("train") + comparison.height("holdout")
    order = comparison.stream("pool order").permutation(rows)
    is_train = order < comparison.height("train")
    search = DISTANCES.get(distance) if isinstance(distance, str) else _by_user(distance)
    if search is None:
        raise OptionError(f"distance = '{distance}'", hint=f"use one of {', '.join(DISTANCES)}")
    indices, ties, far, second = search(comparison, order, bins, cap)
    return Pool(indices, ties, far, second, is_train), order


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


def _by_points(points: Callable[[Comparison, int], Any], euclidean: bool) -> Callable[..., Found]:
    def search(comparison: Comparison, order: NDArray[np.int64], bins: int, cap: int) -> Found:
        synthetic, train, holdout, is_category = points(comparison, bins)
        return nearest_points(
            comparison,
            synthetic,
            np.concatenate([train, holdout])[order],
            is_category,
            cap,
            euclidean,
        )

    return search


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
    ties = (distance <= distance[:, :1] * (1 + 1e-6)).sum(axis=1)
    second = distance[:, min(1, distance.shape[1] - 1)]
    return index, ties, distance.astype(float), second.astype(float)


def mixed_points(comparison: Comparison, bins: int) -> Any:
    """Give numbers by their rank in the pool and categories by their codes."""
    codec = comparison.pooled_codec(bins=bins)
    made = [comparison.points(t, codec) for t in ("synthetic", "train", "holdout")]
    return *(points for points, _ in made), made[0][1]


def standard_points(comparison: Comparison, bins: int) -> Any:
    """Give numbers and encoded categories, scaled to mean 0 and deviation 1 in the pool."""
    made = label_points(comparison, ("synthetic", "train", "holdout"))
    pooled = np.concatenate(made[1:])
    middle, spread = pooled.mean(axis=0), pooled.std(axis=0)
    scaled = [((p - middle) / np.where(spread > 0, spread, 1)).astype(np.float32) for p in made]
    return *scaled, np.zeros(pooled.shape[1], bool)


def label_points(comparison: Comparison, tables: tuple[Any, ...]) -> list[NDArray[np.float64]]:
    """Give numbers as they are and categories as the place of their level; missing is the mean."""
    codec = comparison.pooled_codec(bins=100)
    return [comparison.label_points(t, codec) for t in tables]


def _by_user(distance: Any) -> Callable[..., Found] | None:
    """Take an embedding: a function from a frame of plain rows to an array of points."""
    if not callable(distance):
        return None

    def points(comparison: Comparison, bins: int) -> Any:
        tables = [
            np.asarray(distance(comparison.rows(t)), np.float32)
            for t in ("synthetic", "train", "holdout")
        ]
        for made in tables:
            if made.ndim != 2 or made.shape[1] != tables[0].shape[1] or not np.isfinite(made).all():
                raise OptionError(
                    "distance: the embedding must give finite numbers, one row each, equally many",
                    hint="return an array of shape (rows, dimensions)",
                )
        return *tables, np.zeros(tables[0].shape[1], bool)

    return _by_points(points, euclidean=True)


DISTANCES: dict[str, Callable[..., Found]] = {
    "hamming": _by_hamming,
    "mixed": _by_points(mixed_points, euclidean=False),
    "euclidean": _by_points(standard_points, euclidean=True),
}
