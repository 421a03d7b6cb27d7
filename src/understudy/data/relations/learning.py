"""What a relation reads off training: the pairs of a lookup, the cuts of classes.

A lookup speaks of the levels that at least k training rows hold. Classes are cut at the roundest
number between two neighbours, but directly beside a number that many rows hold.
"""

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.relations.judging import Learnt, key_texts
from understudy.data.schema import Relation
from understudy.data.tables import Table

ATOM = 0.02  # of the rows: a number that a cut lies directly beside


def learn(relation: Relation, table: Table, *, k: int = 5) -> Learnt:
    """Read off a table what a lookup or classes need; nothing that fewer than k rows tell.

    Examples
    --------
    >>> frame = pl.DataFrame({"city": ["Graz", "Linz", "Bonn"] * 5, "land": ["A", "A", "D"] * 5})
    >>> table = Table.of(frame)
    >>> made = learn(Relation.parse("city determines land", table.schema.names), table)
    >>> made.keys, made.pool.to_list()
    (('Bonn', 'Graz', 'Linz'), ['D', 'A', 'A'])
    """
    if relation.kind == "lookup":
        return _learn_lookup(relation, table, k)
    if relation.kind == "classes":
        return _learn_classes(relation, table, k)
    digits = ""
    if relation.kind == "formula":
        digits = _digits(table, str(relation.target))
    return Learnt(relation, digits=digits)


def _digits(table: Table, name: str) -> str:
    """Say whether a column is kept in floats of 32 bits, or holds such as doubles."""
    if table.frame[name].dtype == pl.Float32:
        return "single"
    column = table.schema[name]
    if column.kind != "number" or column.decimals is not None:
        return ""
    numbers = table.numbers(name)
    numbers = numbers[~np.isnan(numbers)]
    with np.errstate(over="ignore"):
        return "float32" if np.array_equal(numbers.astype(np.float32), numbers) else ""


def _learn_lookup(relation: Relation, table: Table, k: int) -> Learnt:
    (source,), target = relation.sources, str(relation.target)
    frame = pl.DataFrame(
        {
            "key": key_texts(table, source),
            "value": key_texts(table, target),
            "row": pl.Series(range(table.height), dtype=pl.Int64),
        }
    )
    held = frame.group_by("value").agg(pl.len().alias("held"))
    counted = frame.group_by("key", "value").agg(pl.len().alias("rows"), pl.col("row").min())
    counted = counted.join(held, on="value", nulls_equal=True)
    present = pl.col("value").is_not_null()
    # of a level the value that most rows have; missing only where all rows are
    first = (
        counted.sort(
            "key", present, "rows", "value", descending=[False, True, True, False], nulls_last=True
        )
        .group_by("key", maintain_order=True)
        .agg(
            pl.col("row").first(),
            pl.col("held").first(),
            pl.col("rows").first(),
            present.sum().alias("values"),
        )
    )
    # a missing source says something of the target only where it always has the same value
    first = first.filter(pl.col("key").is_not_null() | (pl.col("values") <= 1))
    enough = (first["rows"] >= k) & (first["held"] >= k)
    first = first.filter(enough)
    pool = table.frame[target].gather(first["row"])
    keys = tuple(first["key"].to_list())
    return Learnt(relation, keys=keys, pool=_anew(pool), known=np.ones(len(keys), bool))


def _learn_classes(relation: Relation, table: Table, k: int) -> Learnt:
    (source,), target = relation.sources, str(relation.target)
    numbers, texts = table.numbers(source), key_texts(table, target)
    present = ~np.isnan(numbers) & texts.is_not_null().to_numpy()
    names, codes = np.unique(texts.filter(pl.Series(present)).to_numpy(), return_inverse=True)
    rows = np.flatnonzero(present)
    order = np.lexsort((codes, numbers[present]))
    values, counts = np.unique(numbers[present][order], return_counts=True)
    if not len(values):
        return Learnt(relation, pool=_anew(table.frame[target].head(0)))
    many = np.zeros((len(values), len(names)), np.int64)
    place = np.repeat(np.arange(len(values)), counts)
    np.add.at(many, (place, codes[order]), 1)
    own = _without_short_runs(many.argmax(axis=1), counts, k)  # the class of most rows of a number
    edges = np.flatnonzero(own[1:] != own[:-1])
    atoms = np.where(counts >= max(k, ATOM * len(order)), counts, 0)
    cuts, closed = [], []
    for edge in edges:
        low, high = float(values[edge]), float(values[edge + 1])
        if atoms[edge] > atoms[edge + 1]:
            cuts.append(low)
            closed.append(True)
        elif atoms[edge + 1]:
            cuts.append(high)
            closed.append(False)
        else:
            cut = roundest(low, high)
            cuts.append(cut)
            closed.append(cut == low)
    starts = np.concatenate([[0], edges + 1])
    size = np.add.reduceat(counts, starts)
    held = np.bincount(codes, minlength=len(names))[own[starts]]
    where = {
        code: int(rows[np.flatnonzero(codes == code)[0]]) for code in set(own[starts].tolist())
    }
    pool = table.frame[target].gather([where[code] for code in own[starts].tolist()])
    known = (size >= k) & (held >= k)
    pool = _anew(pool.set(pl.Series(~known), None) if not known.all() else pool)
    return Learnt(
        relation, cuts=np.array(cuts), closed=np.array(closed, bool), pool=pool, known=known
    )


def _without_short_runs(own: NDArray[np.int64], counts: NDArray[np.int64], k: int) -> Any:
    """Give numbers between two classes the class before, if fewer than k rows hold them.

    Cuts on both sides would tell where these rows lie.
    """
    starts = np.concatenate([[0], np.flatnonzero(own[1:] != own[:-1]) + 1])
    ends = np.append(starts[1:], len(own))
    made = own.copy()
    for start, end in list(zip(starts, ends, strict=True))[1:-1]:
        if counts[start:end].sum() < k:
            made[start:end] = made[start - 1]
    return made


def roundest(low: float, high: float) -> float:
    """Find the number of fewest digits from one number to another, the first one left out.

    Examples
    --------
    >>> roundest(29.7, 31.2), roundest(29.0, 30.0), roundest(0.11, 0.19)
    (30.0, 30.0, 0.15)
    """
    if not low < high:
        return high
    digits = math.floor(math.log10(high - low)) if high > low else 0
    for place in range(digits + 1, digits - 18, -1):
        for unit in (10.0**place, 5 * 10.0 ** (place - 1)):
            first, last = math.floor(low / unit) + 1, math.floor(high / unit + 1e-12)
            if first <= last:
                middle = (low + high) / 2 / unit
                best = min(max(round(middle), first), last)
                made = best * unit if unit >= 1 else best / round(1 / unit)
                if low < made <= high:
                    return float(made)
    return high


def _anew(series: pl.Series) -> pl.Series:
    """Give a series that holds nothing of the rows that it was taken from."""
    return pl.Series(series.name, series.to_list(), dtype=series.dtype)
