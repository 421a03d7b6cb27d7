"""What the last record could have been, as far as the attacker knows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.attacks.refits import World, several
from understudy.data.codec import write_values
from understudy.data.schema import Schema, Values
from understudy.data.tables import Table, free_name
from understudy.errors import DataError, OptionError, near


@dataclass(frozen=True)
class PossibleRecords:
    """Rows that might be the last record, each once; ``truth`` is the place of the real one."""

    rows: pl.DataFrame
    truth: int
    columns: tuple[str, ...]
    how: str

    def __len__(self) -> int:
        return self.rows.height

    def worlds(self, base: Table, record: int) -> list[World]:
        """Give the worlds: all other records, and one of the candidates."""
        others = np.delete(np.arange(base.height), record)
        return [World(f"world {i + 1}", others, self.rows[i]) for i in range(len(self))]

    def in_words(self) -> pl.Series:
        """Give the candidates in words, for the steward alone."""
        text = [
            pl.format("{} = {}", pl.lit(name), pl.col(name).cast(pl.String).fill_null("missing"))
            for name in self.columns
        ]
        return self.rows.select(pl.concat_str(text, separator=", ")).to_series()


def candidates(
    train: Table,
    record: int,
    columns: Sequence[str] | str | None,
    most: int,
    alternatives: int,
    stream: np.random.Generator,
) -> PossibleRecords:
    """Give all combinations of values, or what some other records hold where those are too many.

    Parameters
    ----------
    record : int
        The place of the real one, which is always among the candidates.
    columns : names, optional
        What the attacker does not know; all columns if not given.
    most, alternatives : int
        The most combinations, and how many other records are taken where there are more.
    """
    schema = train.schema
    names = _named(schema, columns)
    if most < 2 or alternatives < 1:
        raise OptionError(
            f"most = {most}, alternatives = {alternatives}", hint="there are at least 2 candidates"
        )
    own = train.frame[record]
    true = own.select(names)
    domains = [_domain(train, name) for name in names]
    many = math.prod(len(domain) for domain in domains)
    open_ended = columns is None and any(schema[name].is_numeric for name in names)
    if many <= most and not open_ended:
        rows = pl.DataFrame({names[0]: domains[0]})
        for domain in domains[1:]:
            rows = rows.join(pl.DataFrame({domain.name: domain}), how="cross")
        how = f"all {many:,} combinations of the values of {several(len(names), 'column')}"
    else:
        others = train.frame.select(names).unique()
        others = others.join(true, on=names, how="anti", nulls_equal=True).sort(names)
        drawn = stream.choice(others.height, min(alternatives, others.height), replace=False)
        rows = pl.concat([true, others[np.sort(drawn)]])
        how = (
            f"the record itself and what {rows.height - 1} other records drawn at random hold in "
            f"{several(len(names), 'column')}"
        )
    if rows.height < 2:
        raise DataError(
            "there is only one candidate for the last record",
            hint="name columns that have more than one value",
        )
    rows = rows[stream.permutation(rows.height)]  # no place in the list tells which is real
    place = free_name("place", names)
    same = rows.with_row_index(place).join(true, on=names, nulls_equal=True)
    rest = own.drop(names)
    known = pl.concat([rest] * rows.height) if rest.width else None
    whole = rows if known is None else pl.concat([rows, known], how="horizontal")
    return PossibleRecords(whole.select(train.frame.columns), int(same[place][0]), names, how)


def _named(schema: Schema, columns: Sequence[str] | str | None) -> tuple[str, ...]:
    """Give the columns named, each once; a text names several with commas between them."""
    if columns is None:
        return tuple(schema.modelled)
    if isinstance(columns, str) and columns not in schema.modelled:
        columns = [name.strip() for name in columns.split(",") if name.strip()]
    names = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
    if not names:
        raise OptionError("columns: none is named", hint="leave it out to guess all columns")
    for name in names:
        if name not in schema.modelled:
            raise OptionError(f"columns: there is no '{name}'", hint=near(name, schema.modelled))
    return names


def _domain(train: Table, name: str) -> pl.Series:
    """Give the values of a column, those that a person declared among them."""
    column, series = train.schema[name], train.frame[name]
    values = series.unique()
    if not column.is_numeric and column.levels and "levels" not in column.inferred:
        declared = write_values(Values(None, pl.Series(column.levels, dtype=pl.String)), column)
        values = pl.concat([values, declared.alias(name).cast(series.dtype, strict=False)]).unique()
    return values.sort().alias(name)
