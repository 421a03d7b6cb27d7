"""Which records an attack is aimed at: those that stand apart, and made-up ones."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.refits import AttackSetting
from understudy.data.codec import Codec
from understudy.data.source import Source, source_of
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
    asked = source_of(table)
    coded = asked.coded(Codec.fit(asked, bins=BINS), scaled=True)
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


def place_of(setting: AttackSetting, record: int | None) -> int:
    """Give the place of the row named, from 1, or of the record that stands most apart."""
    if record is None:
        setting.progress("choosing the record", 0, 1)
        return int(vulnerable(setting.train, 1)[0])
    if not 1 <= record <= setting.train.height:
        raise OptionError(
            f"record = {record}: there is no such row",
            hint=f"name a row from 1 to {setting.train.height:,}",
        )
    return record - 1


def modal(table: Table) -> pl.DataFrame:
    """Give the record of the most frequent value of every column; of equals, the smallest.

    Examples
    --------
    >>> modal(Table.of(pl.DataFrame({"sex": ["f", "f", "m"], "age": [31, 40, 40]}))).row(0)
    ('f', 40)
    """
    return pl.DataFrame(
        [
            pl.Series(s.name, s.drop_nulls().mode().sort()[:1].to_list() or [None], s.dtype)
            for s in table.frame
        ]
    )


def made_up(
    table: Table, many: int, rng: np.random.Generator, unlike: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Make up records of the rarest levels and the outermost numbers that a table has.

    With ``unlike``, no value is that record's, where a column has others.

    Examples
    --------
    >>> table = Table.of(pl.DataFrame({"sex": ["f"] * 9 + ["m"], "age": [*range(30, 39), 90]}))
    >>> set(made_up(table, 1, np.random.default_rng(1))["sex"])
    {'m'}
    """
    asked = source_of(table)
    made: dict[str, pl.Series] = {}
    for name in table.frame.columns:
        rows = np.arange(table.height)
        if unlike is not None:
            others = np.flatnonzero(table.frame[name].ne_missing(unlike[name][0]).to_numpy())
            rows = others if len(others) else rows
        if name in table.schema.modelled:
            rows = _outermost(asked, name, rows, many)
        made[name] = table.frame[name][rng.choice(rows, many)]
    return pl.DataFrame(made)


def _outermost(source: Source, name: str, rows: NDArray[np.int64], many: int) -> NDArray[np.int64]:
    """Choose rows of the smallest and the largest number, or of the rarest levels."""
    if source.schema[name].is_numeric:
        numbers = source.numbers(name)[rows]
        present = np.flatnonzero(~np.isnan(numbers))
        if len(present):
            ends = (np.argmin(numbers[present]), np.argmax(numbers[present]))
            return rows[present[list(ends)]]
    texts, times = source.labels(name).gather(rows), source.levels(name)
    levels = sorted((times[level], level) for level in texts.drop_nulls().unique())
    if not levels:
        return rows
    return rows[[int((texts == level).arg_max() or 0) for _, level in levels[: max(many, 1)]]]
