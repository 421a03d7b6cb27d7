"""Plain values written as their column stores them."""

import numpy as np
import polars as pl

from understudy.data.schema import Column, Values

WHOLE = ("integer", "duration", "time")


def write_values(values: Values, column: Column) -> pl.Series:
    """Turn plain values back into a series as the column is stored."""
    texts, numbers = values.labels, values.numbers
    if numbers is None:
        return _write_labels(texts, column)
    made = pl.Series(numbers, nan_to_null=True)
    if column.kind == "date":
        return write_dates(made, texts, column)
    infinite = texts.replace_strict(
        {"inf": np.inf, "-inf": -np.inf}, default=None, return_dtype=pl.Float64
    )
    others = texts.is_not_null() & infinite.is_null()
    if others.any():
        written = (
            _whole(made).cast(pl.String) if column.stored == "integer" else made.cast(pl.String)
        )
        return pl.select(pl.coalesce(texts, written)).to_series()
    made = pl.select(pl.coalesce(made, infinite)).to_series()
    return _write_whole(_whole(made), column) if column.stored in WHOLE else made


def _whole(numbers: pl.Series) -> pl.Series:
    """Turn numbers, as floats or text, into integers; of 128 bits where 64 are too few."""
    rounded = numbers.round() if numbers.dtype.is_float() else numbers
    made = rounded.cast(pl.Int64, strict=False)
    return made if made.null_count() == numbers.null_count() else rounded.cast(pl.Int128)


def _write_whole(integers: pl.Series, column: Column) -> pl.Series:
    if column.stored == "duration":
        return integers.cast(pl.Duration("us"))
    if column.stored == "time":
        return (integers * 1000).cast(pl.Time)
    return integers


def _write_labels(texts: pl.Series, column: Column) -> pl.Series:
    if column.stored == "boolean":
        return texts == "true"
    if column.stored == "float":
        return texts.cast(pl.Float64)
    if column.stored == "time":
        return texts.str.to_time()
    if column.stored in WHOLE:
        return _write_whole(_whole(texts), column)
    if column.stored == "date":
        return texts.str.to_date()
    if column.stored == "datetime":
        return texts.str.to_datetime(time_unit="us", time_zone=column.time_zone)
    return texts


def write_dates(instants: pl.Series, texts: pl.Series, column: Column) -> pl.Series:
    """Write instants, in microseconds from 1970, as a column of dates stores them."""
    moments = instants.round().cast(pl.Int64).cast(pl.Datetime("us"))
    if column.stored == "date":
        return moments.cast(pl.Date)
    if column.stored == "datetime":
        if column.time_zone is None:
            return moments
        return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(column.time_zone)
    form = (column.format or "%Y-%m-%d").replace(
        "%.f", "%.6f" if column.unit == "microsecond" else ""
    )
    if form.endswith("%:z"):
        moments = moments.dt.replace_time_zone("UTC")
    return pl.select(pl.coalesce(texts, moments.dt.strftime(form))).to_series()
