"""Which records an attack is aimed at: those that stand apart from all others."""

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.tables import Table
from understudy.errors import OptionError

NEIGHBOURS = 5
BINS = 100


def vulnerable(table: Table, many: int, *, neighbours: int = NEIGHBOURS) -> NDArray[np.int64]:
    """Give the places of the records that stand most apart, the most vulnerable first.

    A record is as vulnerable as it is far from its nearest ``neighbours`` other records on
    average (Meeus et al. 2023): categories differ or do not, numbers differ by their ranks. Equal
    distances are decided by the rarer combination, then by the rarer values of single columns, then
    by the values themselves: the order of rows decides between equal records alone.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"sex": ["f", "m"] * 20 + ["m"], "job": ["x", "y"] * 20 + ["x"]}
    >>> vulnerable(Table.of(pl.DataFrame(rows)), 1).tolist()
    [40]
    """
    from understudy.kernels.neighbors import mixed_neighbors

    if many < 1 or neighbours < 1:
        raise OptionError(f"records = {many}, neighbours = {neighbours}", hint="use at least 1")
    source = MemorySource(table)
    coded = source.coded(Codec.fit(source, bins=BINS), scaled=True)
    points, is_category = coded.points()
    width = max(1, len(is_category))
    far = np.zeros(table.height)
    k = min(neighbours, table.height - 1)
    if k:
        distances, _ = mixed_neighbors(points, points, is_category, k, exclude_self=True)
        far = np.round(distances.astype(np.float64).mean(axis=1) / width, 6)
    _, place, times = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    order = np.lexsort((place, -_surprise(coded.codes), times[place], -far))
    return order[:many].astype(np.int64)


def _surprise(codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Give for each row how rare its values are, taken one by one, in bits."""
    made = np.zeros(len(codes))
    for column in codes.T:
        made -= np.log2(np.bincount(column)[column] / len(codes))
    return np.round(made, 6)
