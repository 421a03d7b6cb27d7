"""Fixed combinations: columns that a method sees as one category, and that come apart again."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Schema, labels, read_values, same_level
from understudy.data.tables import Table, free_name
from understudy.errors import DataError
from understudy.synthesizers.model_file import Damaged, State, texts

KEY = "key"


@dataclass(frozen=True)
class Combination:
    """Columns whose combinations are those of training.

    Parameters
    ----------
    names : tuple of str
        The columns, in the order of the table.
    merged : str or None
        What the one category is called; none where a column is kept: combinations are checked then.
    pool : DataFrame
        A combination each row, with its key, as the one category shows it.
    """

    names: tuple[str, ...]
    merged: str | None
    pool: pl.DataFrame

    @classmethod
    def fit(cls, table: Table, names: Sequence[str], *, merge: bool) -> Self:
        """Find the combinations of a table."""
        ordered = tuple(name for name in table.schema.names if name in names)
        frame = table.frame.select(ordered)
        key = free_name(KEY, ordered)
        pool = frame.with_columns(_keys(frame).alias(key)).unique(key, keep="first").sort(key)
        merged = free_name(", ".join(ordered), table.schema.names) if merge else None
        return cls(ordered, merged, pool)

    @classmethod
    def restore(
        cls, plain: Mapping[str, Any], state: State, frame: str, schema: Schema, inner: Schema
    ) -> Self:
        """Take what was saved; refuse columns that there are not."""
        names, merged = texts(plain["names"]), plain["merged"]
        if not names or not set(names) <= set(schema.modelled):
            raise Damaged("columns that belong together are not there")
        shown = set(inner.modelled)
        if not (merged in shown if merged is not None else set(names) <= shown):
            raise Damaged("no column shows the columns that belong together")
        pool = state.frame(frame, [*names, free_name(KEY, names)])
        if pool.dtypes[-1] != pl.String or not pool[:, -1].is_unique().all():
            raise Damaged("combinations have no keys of their own")
        return cls(names, merged, pool)

    @property
    def keys(self) -> pl.Series:
        """The keys of the combinations."""
        return self.pool[self.pool.columns[-1]]

    def merge(self, table: Table) -> Table:
        """Put one category in the place of the columns."""
        if self.merged is None:
            return table
        columns = []
        for column in table.schema:
            if column.name == self.names[0]:
                columns.append(self._column(table.schema))
            elif column.name not in self.names:
                columns.append(
                    dataclasses.replace(column, predictors=self._named(column.predictors))
                )
        visit = table.schema.visit
        if not isinstance(visit, str):
            visit = self._named(visit) or ()
        schema = dataclasses.replace(table.schema, columns=tuple(columns), visit=visit)
        keys = _keys(table.frame.select(self.names)).alias(self.merged)
        return dataclasses.replace(
            table, frame=table.frame.with_columns(keys).select(schema.names), schema=schema
        )

    def _column(self, schema: Schema) -> Column:
        """Describe the one category."""
        parts = [schema[name] for name in self.names]
        given = [part.predictors for part in parts if part.predictors is not None]
        others = dict.fromkeys(name for names in given for name in names if name not in self.names)
        return Column(
            str(self.merged),
            "category",
            levels=tuple(self.keys.to_list()),
            inferred=frozenset({"kind", "levels"}),
            method=next((part.method for part in parts if part.method is not None), None),
            predictors=tuple(others) if given else None,
        )

    def _named(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None or self.merged is None:
            return None if names is None else tuple(names)
        return tuple(dict.fromkeys(self.merged if n in self.names else n for n in names))

    def split(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
        """Take the category apart; says also which rows show no combination of training."""
        if self.merged is None:
            return frame, self.unknown(frame)
        place = self._places(frame[self.merged].cast(pl.String))
        parts = [self.pool[name].gather(place) for name in self.names]
        return frame.drop(self.merged).with_columns(parts), place.is_null().to_numpy()

    def unknown(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Say which rows hold a combination that training does not have."""
        found: NDArray[np.bool_] = (
            self._places(_keys(frame.select(self.names))).is_null().to_numpy()
        )
        return found

    def _places(self, keys: pl.Series) -> pl.Series:
        return keys.replace_strict(
            self.keys,
            pl.Series(range(self.pool.height), dtype=pl.Int64),
            default=None,
            return_dtype=pl.Int64,
        )

    def shown(self, schema: Schema, inner: Schema) -> tuple[Self, Schema]:
        """Forget the combinations that the method never shows, and what else tells of them."""
        if self.merged is None:
            return self, schema
        rows = self.pool.filter(self.keys.is_in(list(inner[self.merged].levels)))
        # made anew: a filtered frame still holds the texts of the rows that are gone
        kept = dataclasses.replace(self, pool=pl.DataFrame(rows.rows(), rows.schema, orient="row"))
        if not kept.pool.height:
            raise DataError(
                f"together {', '.join(self.names)}: no combination is frequent enough to be shown",
                hint="drop the constraint, or let the method show rarer values (a smaller k; "
                "in bayes, least)",
            )
        columns = {name: _shown(kept.pool[name], schema[name]) for name in self.names}
        columns_now = tuple(columns.get(column.name, column) for column in schema)
        return kept, dataclasses.replace(schema, columns=columns_now)


def _keys(frame: pl.DataFrame) -> pl.Series:
    """Write each combination in one text: a JSON list."""
    texts = frame.select(labels(series).alias(series.name) for series in frame)
    distinct = texts.unique(maintain_order=True)
    keys = [json.dumps(row, ensure_ascii=False) for row in distinct.iter_rows()]
    name = free_name(KEY, frame.columns)
    known = distinct.with_columns(pl.Series(name, keys, dtype=pl.String))
    return texts.join(known, on=texts.columns, how="left", nulls_equal=True, maintain_order="left")[
        name
    ]


def _shown(series: pl.Series, column: Column) -> Column:
    """Describe a column by what it may show."""
    values = read_values(series, column)
    texts = values.labels.drop_nulls()
    bounds, known = None, values.labels.is_not_null().to_numpy()
    if values.numbers is not None:
        numbers = values.numbers[~np.isnan(values.numbers)]
        known = known | ~np.isnan(values.numbers)
        bounds = (float(numbers.min()), float(numbers.max())) if len(numbers) else None
    seen = set(same_level(texts, column.levels)) if column.levels else set(texts)
    same = same_level(pl.Series(column.levels, dtype=pl.String), column.levels).to_list()
    levels = tuple(level for level, text in zip(column.levels, same, strict=True) if text in seen)
    return dataclasses.replace(
        column, levels=levels, bounds=bounds, missing=not known.all(), why=""
    )
