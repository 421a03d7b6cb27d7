"""What a foreign program returns, judged by the schema: refused, taken, or taken with a note."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.data.codec import write_values
from understudy.data.schema import Column, Schema, Values, read_values, same_level
from understudy.errors import DataError
from understudy.synthesizers.program import check_shape


@dataclass(frozen=True)
class Strange:
    """Values of a column that training does not have, and an example."""

    column: str
    what: str
    many: int
    example: str

    def __str__(self) -> str:
        return (
            f"the column '{self.column}' of its table holds {self.many:,} values {self.what} "
            f"({self.example})"
        )


def take_in(
    frame: pl.DataFrame, schema: Schema, rows: int, program: str
) -> tuple[pl.DataFrame, list[Strange]]:
    """Store a program's table as the schema says, and tell what is strange about it.

    Refused are other columns, another number of rows, words where numbers stand, and whatever
    lies outside levels or bounds that a person declared. Values that merely do not occur in
    training are the program's to make: they are taken.
    """
    check_shape(frame, schema.modelled, rows, program)
    columns, strange = [], []
    for name in schema.modelled:
        column = schema[name]
        values = _as_in_training(read_values(frame[name], column), column)
        _refuse_words(values, column, program)
        for found in _strange(values, column):
            if "declared" in found.what:
                raise DataError(
                    f"{program}: {found}", hint="mend the program, or what the schema declares"
                )
            strange.append(found)
        columns.append(written(values, column, program))
    return pl.DataFrame(columns), strange


def _as_in_training(values: Values, column: Column) -> Values:
    """Write levels as training does, whatever the program made of them: TRUE, 1.0."""
    if column.is_numeric or not column.levels:
        return values
    known = pl.Series(column.levels, dtype=pl.String)
    alias = dict(zip(same_level(known, column.levels), column.levels, strict=True))
    own = values.labels.is_in(list(column.levels))
    plain = same_level(values.labels, column.levels).replace(alias)
    return Values(None, pl.select(pl.when(own).then(values.labels).otherwise(plain)).to_series())


def _refuse_words(values: Values, column: Column, program: str) -> None:
    if not column.is_numeric:
        return
    strange = _unknown(values.labels, (*column.levels, "inf", "-inf"))
    if len(strange):
        raise DataError(
            f"{program}: the column '{column.name}' of its table holds "
            f"{len(strange):,} values that are no {column.kind} ('{strange[0][:40]}')",
            hint="write the values as in the training file",
        )


def _strange(values: Values, column: Column) -> Iterator[Strange]:
    if values.numbers is None and column.levels:
        new = _unknown(values.labels, column.levels)
        if len(new):
            yield Strange(column.name, _outside(column, "levels"), len(new), f"'{new[0][:40]}'")
    if values.numbers is not None and column.bounds is not None:
        low, high = column.bounds
        far = values.numbers[(values.numbers < low) | (values.numbers > high)]
        if len(far):
            shown = far[:1].astype("M8[us]")[0] if column.kind == "date" else f"{far[0]:.15g}"
            yield Strange(column.name, _outside(column, "bounds"), len(far), str(shown))
    if values.numbers is not None and column.stored == "integer":
        broken = values.numbers[np.isfinite(values.numbers) & (values.numbers % 1 != 0)]
        if len(broken):
            yield Strange(column.name, "that are not whole; rounded", len(broken), f"{broken[0]:g}")
    empty = values.labels.is_null()
    if values.numbers is not None:
        empty &= pl.Series(np.isnan(values.numbers))
    if not column.missing and empty.any():
        yield Strange(column.name, "missing", int(empty.sum()), "in training none is")


def _outside(column: Column, fact: str) -> str:
    """Say whose levels or bounds are left: those that a person declared, or training's."""
    whose = "the declared" if column.source(fact) == "declared" else "training's"
    return f"outside {whose} {fact}"


def _unknown(labels: pl.Series, known: tuple[str, ...]) -> pl.Series:
    return labels.filter(~labels.is_in(list(known)).fill_null(True))


def written(values: Values, column: Column, program: str) -> pl.Series:
    """Store a column as the schema says; what cannot be stored so is refused."""
    odd = pl.Series([], dtype=pl.String)
    if column.stored == "boolean" and values.numbers is None:
        odd = _unknown(values.labels, ("true", "false"))
    if not len(odd):
        try:
            return write_values(values, column).alias(column.name)
        except pl.exceptions.PolarsError:
            odd = _unknown(values.labels, column.levels)
    example = f" ('{odd[0][:40]}')" if len(odd) else ""
    raise DataError(
        f"{program}: the column '{column.name}' of its table holds values that cannot be stored "
        f"as {column.stored}{example}",
        hint="write the values as in the training file",
    )
