"""The caller's own kind of frame, taken in and given back.

pandas, polars, pyarrow and anything with an Arrow stream come in without being changed. What
goes back is of the same kind, with the same types and the same order of columns.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.datatypes import IntegerType

from understudy.data.schema import Schema, values
from understudy.data.tables.files import format_of, no_repeats, read_file, within_years
from understudy.errors import DataError
from understudy.optional import need

GiveBack = Callable[[pl.DataFrame], Any]
FrameKind = Literal["polars", "pandas", "pyarrow"]


def as_it_is(frame: pl.DataFrame) -> pl.DataFrame:
    """Give a polars frame back as it is."""
    return frame


def free_name(name: str, taken: Sequence[str]) -> str:
    """Lengthen a name until no column is called so.

    Examples
    --------
    >>> free_name("copies", ["age", "copies"])
    'copies_'
    """
    return name if name not in taken else free_name(f"{name}_", taken)


@dataclass(frozen=True)
class IncomingFrame:
    """A frame as polars, what to call it in messages, and how to give the same kind back.

    ``give_plain`` gives back a frame of the same library whose types owe nothing to this one's.
    """

    frame: pl.DataFrame
    name: str
    give_back: GiveBack
    give_plain: GiveBack = as_it_is
    is_text_file: bool = False


def take_in(data: Any, name: str = "table", alone: Schema | None = None) -> IncomingFrame:
    """Take in a path or a frame of any kind; ``alone`` as in ``read_file``."""
    if isinstance(data, str | Path):
        frame = read_file(Path(data), alone)
        return IncomingFrame(frame, str(data), as_it_is, is_text_file=_all_text(frame))
    taken = _take_frame(data, name)
    return replace(taken, frame=within_years(taken.frame, name, refuse=alone is None))


def _take_frame(data: Any, name: str) -> IncomingFrame:
    if isinstance(data, nw.DataFrame | nw.LazyFrame):
        data = data.to_native()
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        dtypes = dict(data.schema)
        return _checked(data, name, partial(_cast, dtypes=dtypes))
    if nw.dependencies.is_pandas_dataframe(data):
        return _take_pandas(data, name)
    if nw.dependencies.is_pyarrow_table(data):
        no_repeats(data.column_names, name)
        return _checked(
            pl.DataFrame(data),
            name,
            partial(_to_pyarrow, schema=data.schema),
            pl.DataFrame.to_arrow,
        )
    if hasattr(data, "__arrow_c_stream__"):
        return _checked(pl.DataFrame(data), name, as_it_is)
    raise DataError(
        f"{name}: an object of type {type(data).__name__} is not a table",
        hint="give a path, a pandas or polars DataFrame, or a pyarrow Table",
    )


def kind_of_frame(data: Any) -> FrameKind:
    """Name the library of a frame; of a path or anything else, polars."""
    native = nw.to_native(data, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(native):
        return "pandas"
    return "pyarrow" if nw.dependencies.is_pyarrow_table(native) else "polars"


def in_kind(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """Give a frame of our own making in the caller's kind."""
    if kind == "pandas":
        pandas = need("pandas", extra="pandas")
        made = {series.name: series.to_numpy() for series in frame}
        return pandas.DataFrame(made, index=pandas.RangeIndex(frame.height), columns=frame.columns)
    return frame.to_arrow() if kind == "pyarrow" else frame


def typed_by_rows(data: Any, names: Collection[str]) -> str:
    """Say what has its type by the values of all rows, so that one odd row would change the others.

    An Excel file has, and a pandas column of Python objects that are not texts, or of categories
    that are such; else it is nothing.
    """
    if isinstance(data, str | Path):
        return "an Excel file" if format_of(Path(data)) == "excel" else ""
    native = nw.to_native(data, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(native):
        for place, name in enumerate(map(str, native.columns)):
            series = native.iloc[:, place]
            categories = getattr(series.dtype, "categories", None)
            told = series if categories is None else categories
            kind = getattr(told.dtype, "subtype", told.dtype)  # of a sparse column
            known = told[told.notna()] if name in names and kind == "object" else ()
            if not all(isinstance(value, str) for value in known):
                return f"the column '{name}' of Python objects"
    return ""


def _all_text(frame: pl.DataFrame) -> bool:
    return all(dtype == pl.String for dtype in frame.dtypes)


def _checked(
    frame: pl.DataFrame, name: str, give_back: GiveBack, give_plain: GiveBack = as_it_is
) -> IncomingFrame:
    if not frame.width:
        raise DataError(f"{name}: there are no columns", hint="give a table with columns")
    dtypes = dict(frame.schema)
    return IncomingFrame(
        frame,
        name,
        partial(_given, give=give_back, dtypes=dtypes),
        partial(_given, give=give_plain, dtypes=dtypes),
    )


def _given(out: pl.DataFrame, give: GiveBack, dtypes: dict[str, pl.DataType]) -> Any:
    return give(_in_range(out, dtypes))


def _in_range(out: pl.DataFrame, dtypes: dict[str, pl.DataType]) -> pl.DataFrame:
    """Bring integers of 128 bits, rounded beyond the type that they came in, back into it."""
    columns = []
    for series in out.select(pl.col(pl.Int128)):
        dtype = dtypes.get(series.name, pl.Int128())
        if isinstance(dtype, IntegerType) and dtype != pl.Int128:
            low, high = pl.select(low=dtype.min(), high=dtype.max()).row(0)
            columns.append(series.clip(low, high).cast(dtype))
    return out.with_columns(columns)


def _cast(out: pl.DataFrame, dtypes: dict[str, pl.DataType]) -> pl.DataFrame:
    return out.with_columns(
        out[n].cast(dtypes[n]) for n in out.columns if n in dtypes and out[n].dtype != dtypes[n]
    )


def _to_pyarrow(out: pl.DataFrame, schema: Any) -> Any:
    pyarrow = need("pyarrow", extra="pandas")
    return out.to_arrow().cast(pyarrow.schema([schema.field(n) for n in out.columns]))


def _take_pandas(data: Any, name: str) -> IncomingFrame:
    header = data.columns
    names = [str(column) for column in header]
    no_repeats(names, name)
    columns = [_from_pandas(data.iloc[:, i], n, name) for i, n in enumerate(names)]
    likes = {n: _Like.of(data.iloc[:, i], columns[i]) for i, n in enumerate(names)}
    return _checked(
        pl.DataFrame(columns),
        name,
        partial(_as_pandas, header=header, likes=likes),
        partial(_as_pandas, header=header, likes={}),
    )


def _as_pandas(out: pl.DataFrame, header: Any, likes: Mapping[str, "_Like"]) -> Any:
    """Make a pandas frame; columns that are like none have the types that their values ask for."""
    pandas = need("pandas", extra="pandas")
    made = {s.name: _to_pandas(s, likes[s.name]) if likes else s.to_numpy() for s in out}
    frame = pandas.DataFrame(made, index=pandas.RangeIndex(out.height))
    places = {str(name): place for place, name in enumerate(header)}
    frame.columns = header[[places[n] for n in out.columns]]
    return frame


@dataclass(frozen=True)
class _Like:
    """What a pandas column was made of, as far as its type does not say it.

    ``mark`` is how an object column writes a missing value (None, nan or NA), ``objects``
    the Python object behind each text that stands for one, such as ``2**70`` for its digits.
    """

    dtype: Any
    taken: pl.DataType
    mark: Any = None
    objects: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, series: Any, taken: pl.Series) -> "_Like":
        """Remember a column that was taken in."""
        dtype = series.dtype
        if dtype.kind != "O" or hasattr(dtype, "categories"):
            return cls(dtype, taken.dtype)
        gone = series.isna()
        mark = series[gone].iloc[0] if gone.any() else None
        objects = {}
        if taken.dtype == pl.String:
            objects = {str(v): v for v in series[~gone].tolist() if not isinstance(v, str)}
        return cls(dtype, taken.dtype, mark, objects)


def _from_pandas(series: Any, name: str, table: str) -> pl.Series:
    pandas = need("pandas", extra="pandas")
    dtype = series.dtype
    if isinstance(dtype, pandas.SparseDtype):
        return _from_pandas(series.sparse.to_dense(), name, table)
    if isinstance(dtype, np.dtype) and dtype.kind in "iufbmM":
        array = series.to_numpy().copy()
        if dtype == np.float16:
            array = array.astype(np.float32)
        return pl.Series(name, _finer(array), nan_to_null=True)
    if isinstance(dtype, pandas.CategoricalDtype):
        texts = values.labels(_from_objects(list(dtype.categories), name, table))
        if texts.n_unique() != len(texts):
            raise DataError(
                f"{table}: column '{name}' has categories that differ in their type only",
                hint="make them all text, or all numbers",
            )
        enum = pl.Enum(texts)
        codes = pl.Series(name, series.cat.codes.to_numpy().copy()).cast(pl.Int64)
        return texts.gather(codes.set(codes < 0, None)).cast(enum).alias(name)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        naive = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy().copy()
        moments = pl.Series(name, _finer(naive)).dt.replace_time_zone("UTC")
        try:
            return moments.dt.convert_time_zone(str(dtype.tz))
        except pl.exceptions.ComputeError:
            return moments
    if isinstance(dtype, pandas.ArrowDtype):
        return pl.Series(name, pl.from_arrow(series.array.__arrow_array__()))
    gone = series.isna().to_numpy()
    objects = [None if g else v for v, g in zip(series.tolist(), gone, strict=True)]
    return _from_objects(objects, name, table)


def _finer(array: NDArray[Any]) -> NDArray[Any]:
    """Count times in milliseconds where numpy counts them in seconds, which polars does not."""
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] == "s":
        return array.astype(f"{array.dtype.kind}8[ms]")
    return array


def _from_objects(objects: list[Any], name: str, table: str) -> pl.Series:
    """Turn Python objects into a series: of their own type if they share one, else text."""
    kinds = {type(v) for v in objects if v is not None}
    if not kinds:
        return pl.Series(name, objects, dtype=pl.String)
    if all(issubclass(k, int | np.integer) and not issubclass(k, bool) for k in kinds):
        if all(v is None or -(2**63) <= v < 2**63 for v in objects):
            return pl.Series(name, objects, dtype=pl.Int64)
    elif all(issubclass(k, int | float | np.number) and not issubclass(k, bool) for k in kinds):
        return pl.Series(name, [None if v is None else float(v) for v in objects], dtype=pl.Float64)
    elif all(issubclass(k, bool | np.bool_) for k in kinds):
        return pl.Series(name, [None if v is None else bool(v) for v in objects])
    elif _have_a_type(kinds, objects):
        return pl.Series(name, objects)
    try:
        return pl.Series(name, [None if v is None else str(v) for v in objects], dtype=pl.String)
    except UnicodeEncodeError as error:
        raise DataError(
            f"{table}: column '{name}' holds text that is not valid Unicode",
            hint="decode the file it came from with its own encoding",
        ) from error


def _have_a_type(kinds: set[type], objects: list[Any]) -> bool:
    """Whether polars has a type for such objects: dates, times, decimals that are not too long."""
    if kinds == {Decimal}:
        return all(v is None or (v.is_finite() and abs(v.adjusted()) < 18) for v in objects)
    return len(kinds) == 1 and all(issubclass(k, date | time | timedelta) for k in kinds)


def _to_pandas(series: pl.Series, like: _Like) -> Any:
    pandas = need("pandas", extra="pandas")
    dtype = like.dtype
    if isinstance(dtype, pandas.SparseDtype):
        return _to_pandas(series, replace(like, dtype=dtype.subtype)).astype(dtype)
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
        if series.null_count() and dtype.kind in "iub":
            return pandas.Series(series.cast(pl.Float64).to_numpy())
        return pandas.Series(series.to_numpy().astype(dtype))
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return pandas.Series(series.to_numpy()).astype(dtype)
    if isinstance(dtype, pandas.CategoricalDtype):
        texts = values.labels(_from_objects(list(dtype.categories), "", "categories"))
        codes = series.cast(pl.String).replace_strict(
            texts, pl.Series(range(len(texts)), dtype=pl.Int64), default=-1, return_dtype=pl.Int64
        )
        made = pandas.Categorical.from_codes(codes.fill_null(-1).to_numpy(), dtype=dtype)
        return pandas.Series(made)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        naive = pandas.Series(moments.to_numpy())
        return naive.dt.tz_localize("UTC").dt.tz_convert(dtype.tz).astype(dtype)
    if dtype.kind != "O":
        return pandas.Series(pandas.array(series.to_list(), dtype=dtype))
    plain = series.cast(like.taken) if like.taken.is_decimal() else series
    objects = [like.mark if v is None else v for v in plain.to_list()]
    if like.objects:
        objects = [like.objects.get(v, v) if isinstance(v, str) else v for v in objects]
    if not isinstance(dtype, np.dtype):
        return pandas.Series(pandas.array(objects, dtype=dtype))
    made = np.empty(len(objects), dtype=object)
    made[:] = objects
    return pandas.Series(made, dtype=object)
