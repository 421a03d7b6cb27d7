"""Split real rows into training and holdout."""

import math
from pathlib import Path
from typing import Annotated, Any

import narwhals as nw
import numpy as np
import polars as pl

from understudy.data.schema import Schema, as_schema
from understudy.data.schema.inference import infer
from understudy.data.schema.values import labels
from understudy.data.tables.frames import IncomingFrame, take_in
from understudy.data.tables.table import typed
from understudy.errors import DataError, OptionError, near
from understudy.options import Between, Seed, check_arguments

PART = Between(above=0, below=1, why="give a share between 0 and 1, such as 0.5")


def split(
    real: Any,
    *,
    holdout: Annotated[float, PART] = 0.5,
    seed: Seed = 0,
    stratify: str | None = None,
    group: str | None = None,
    schema: Schema | str | Path | None = None,
) -> tuple[Any, Any]:
    """Split a table at random into training and holdout.

    Parameters
    ----------
    real : path or frame
    holdout : float
        The share of rows (of groups, if a group is named) for the holdout.
    seed : int
    stratify : str, optional
        A column whose values keep their shares in both parts.
    group : str, optional
        A column that names persons or households; the rows of one stay together.
    schema : Schema or path, optional
        Where no group is named, the subject that the schema names (``id is a subject``) is it.

    Returns
    -------
    training, holdout
        Of the caller's own kind, rows in their original order, indexes kept.

    Examples
    --------
    >>> train, control = split(pl.DataFrame({"x": range(10)}), holdout=0.3, seed=1)
    >>> train.height, control.height
    (7, 3)
    """
    check_arguments(split, locals())
    taken = take_in(real)
    group = group or subject_of(as_schema(schema))
    chosen = holdout_rows(taken, holdout=holdout, seed=seed, stratify=stratify, group=group)
    if isinstance(real, str | Path):
        native: Any = taken.frame
        if taken.is_text_file:
            kinds = {column.name: column.stored for column in infer(native)}
            native = native.with_columns(typed(series, kinds[series.name]) for series in native)
    else:
        native = real.collect() if isinstance(real, pl.LazyFrame) else real
    if isinstance(native, nw.DataFrame):
        return native[np.flatnonzero(~chosen)], native[np.flatnonzero(chosen)]
    wrapped = nw.from_native(native, eager_only=True, pass_through=True)
    if not isinstance(wrapped, nw.DataFrame):
        return taken.frame.filter(~chosen), taken.frame.filter(chosen)
    training = wrapped[np.flatnonzero(~chosen)].to_native()
    return training, wrapped[np.flatnonzero(chosen)].to_native()


def subject_of(schema: Schema | None) -> str | None:
    """Name the column that a schema calls a subject: several rows belong to one."""
    known = () if schema is None else schema.relations
    return next((one.target for one in known if one.kind == "subject"), None)


def holdout_rows(
    taken: IncomingFrame, *, holdout: float, seed: int, stratify: str | None, group: str | None
) -> Any:
    """Choose the holdout: a mask over the rows."""
    rows = taken.frame.height
    PART.check("holdout", holdout)
    if rows < 2:
        raise DataError(f"{taken.name}: {rows} rows cannot be split", hint="give at least two rows")
    rng = np.random.default_rng(seed)
    units = _codes(taken, group) if group else np.arange(rows)
    strata = _codes(taken, stratify) if stratify else np.zeros(rows, dtype=np.int64)
    first = np.unique(units, return_index=True)[1]
    if len(first) < 2:
        raise DataError(
            f"{taken.name}: the column '{group}' has a single group", hint="name another column"
        )
    stratum_of = strata[first]
    if group and stratify and not np.array_equal(strata, stratum_of[units]):
        raise OptionError(
            f"'{stratify}' differs within a group of '{group}'",
            hint="stratify by a column that is the same for all rows of a group",
        )
    chosen = np.zeros(len(first), dtype=bool)
    order = rng.permutation(len(first))
    order = order[np.argsort(stratum_of[order], kind="stable")]
    sizes = np.unique(stratum_of, return_counts=True)[1]
    for size, take, start in zip(
        sizes, _shares(sizes, holdout), np.cumsum(sizes) - sizes, strict=True
    ):
        chosen[order[start : start + size][:take]] = True
    return chosen[units]


def _shares(sizes: Any, share: float) -> list[int]:
    """Give each stratum its part of the holdout: the total is right, remainders largest first."""
    exact = sizes * share
    parts = np.floor(exact + 1e-9).astype(int)
    total = min(max(math.floor(sizes.sum() * share + 0.5), 1), int(sizes.sum()) - 1)
    by_rest = np.argsort(parts - exact, kind="stable")
    parts[by_rest[: total - parts.sum()]] += 1
    return [int(part) for part in parts]


def _codes(taken: IncomingFrame, name: str) -> Any:
    if name not in taken.frame.columns:
        raise DataError(
            f"{taken.name}: there is no column '{name}'", hint=near(name, taken.frame.columns)
        )
    texts = labels(taken.frame[name]).fill_null("\0missing")
    return texts.rank("dense").to_numpy().astype(np.int64) - 1
