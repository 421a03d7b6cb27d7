"""Coded methods: columns become codes, rows are drawn as codes, codes show values that they may."""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.bins import Bins, Points
from understudy.data.codec import MOST_CODES, ColumnCodec
from understudy.data.schema import Column, Schema
from understudy.data.shown import shown_codec
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError, near
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.model_file import Damaged, State, labels_in

BLOCK = 50_000

Codes = NDArray[np.uint16]


class Drawn(Protocol):
    """The model of one column, given others."""

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row."""


class CodedMethod:
    """What methods over coded columns share: coding, columns that are kept, showing, saving.

    A method gives its columns with their models in the order in which they are drawn, or draws
    codes in another way; ``saved_as`` begins the names of the arrays of its codecs in a model file.
    """

    card: ClassVar[MethodCard]
    saved_as: ClassVar[str] = "support"
    keep: Sequence[str]
    codecs_: list[ColumnCodec]
    notes_: list[str]

    def _column_models(self) -> Iterable[tuple[int, Drawn | None]]:
        raise NotImplementedError

    def _sampled(self, rows: int, rng: np.random.Generator) -> Codes:
        return self._completed(np.zeros((rows, len(self.codecs_)), np.uint16, order="F"), rng)

    def _completed(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw the columns that are not kept into codes that have those that are."""
        return draw_columns(codes, self._column_models(), rng)

    def _check_table(self, table: Table, **least: int) -> None:
        """Refuse rules, a table too small to show anything, and columns that cannot be kept.

        The one keyword is the option that says how many rows must hold a value that is shown.
        """
        self._check_rules(table.schema)
        ((option, rows),) = least.items()
        if table.height < rows:
            raise DataError(
                f"{table.name}: fewer than {rows} rows, and every value that is shown must be held "
                f"by {rows}",
                hint=f"give more rows, or a smaller {option} (-o {self.card.name}.{option}=1)",
            )
        names = table.schema.modelled
        for name in self.keep:
            if name not in names:
                raise OptionError(
                    f"{self.card.name}: keep names '{name}', which is not modelled",
                    hint=near(name, names),
                )
        if set(self.keep) == set(names):
            raise OptionError("every column is kept", hint="leave at least one to be drawn")

    def _check_rules(self, schema: Schema) -> None:
        if schema.rules:
            raise OptionError(
                f"{self.card.name} cannot hold the rules of a schema",
                hint="use the method sequential, or a schema without rules",
            )

    def _coded(
        self, table: Table, name: str, k: int, *, fine: bool = False, window: bool = False
    ) -> tuple[ColumnCodec, Codes]:
        """Choose what a column may show, and code it."""
        single = table.frame[name].dtype == pl.Float32
        codec, codes = shown_codec(
            table.values(name), table.schema[name], k, single=single, fine=fine, window=window
        )
        if codec.shows_nothing and (codes == codec.unseen).any():
            self.notes_.append(f"{name} is all missing: no value of it is held by {k} rows")
        return codec, codes

    @property
    def _sizes(self) -> list[int]:
        return [codec.size for codec in self.codecs_]

    @property
    def _kept_places(self) -> list[int]:
        return [j for j, codec in enumerate(self.codecs_) if codec.column.name in self.keep]

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw codes, and show values."""
        if self.keep:
            raise OptionError(
                f"{self.card.name}: the columns that are kept ({', '.join(self.keep)}) need rows",
                hint="complete the rows of a table, or keep no column",
            )
        return self._shown(self._sampled(rows, rng), rng)

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Draw all other columns for the rows of a table whose kept columns stay untouched."""
        for name in self.keep:
            if name not in kept.frame.columns:
                raise DataError(
                    f"{kept.name}: the column '{name}' that is kept is missing",
                    hint=near(name, kept.frame.columns),
                )
        codes = np.zeros((kept.height, len(self.codecs_)), np.uint16, order="F")
        for place in self._kept_places:
            codec = self.codecs_[place]
            codes[:, place] = codec.encode(kept.values(codec.column.name))
        return self._shown(self._completed(codes, rng), rng, kept.frame.select(self.keep))

    def _shown(
        self, codes: Codes, rng: np.random.Generator, kept: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """Turn codes into values; columns that are kept stay as they are."""
        own = {} if kept is None else kept.to_dict()
        return pl.DataFrame(
            {
                name: own[name] if name in own else codec.decode(codes[:, place], rng)
                for place, codec in enumerate(self.codecs_)
                for name in [codec.column.name]
            }
        )

    def emitted(self, schema: Schema) -> Schema:
        """Give the schema of what is shown; columns left out tell no level and no bound."""
        none: dict[str, Any] = {"levels": (), "bounds": None, "why": ""}
        columns = {c.name: dataclasses.replace(c, **none) for c in schema.left_out}
        columns |= {codec.column.name: codec.column_shown() for codec in self.codecs_}
        return dataclasses.replace(schema, columns=tuple(columns[c.name] for c in schema))

    def _saved_columns(self) -> list[dict[str, Any]]:
        return [
            {"name": codec.column.name} | ({} if codec.closed else {"labels": list(codec.labels)})
            for codec in self.codecs_
        ]

    def _saved_codec(self, number: int) -> dict[str, NDArray[Any]]:
        arrays = self.codecs_[number].numbers.arrays()
        return {f"{number}_{self.saved_as}_{key}": array for key, array in arrays.items()}

    def _restore_codecs(self, state: State, schema: Schema) -> None:
        self.codecs_ = [
            restored_codec(schema[entry["name"]], entry, state.part(f"{number}_{self.saved_as}_"))
            for number, entry in enumerate(state.values["columns"])
        ]


def restored_codec(column: Column, entry: Mapping[str, Any], state: State) -> ColumnCodec:
    """Take a codec that was saved; one without labels is of a declared domain."""
    numbers: Bins | Points
    if "labels" in entry:
        values = state.array("numbers", float, (None,))
        begin = state.array("begin", np.int64, (None,), 0, len(values), step=1)
        numbers = Points(values, begin, state.array("weights", float, (len(values),), 0))
        if not len(begin) or begin[0] != 0 or begin[-1] != len(values):
            raise Damaged(f"the numbers of the column '{column.name}' are no parts of a whole")
        made = ColumnCodec(column, numbers, labels_in(entry["labels"]), first=0)
    else:
        edges = state.array("edges", float, (None,), step=0)
        numbers = Bins(edges, np.linspace(0, 1, len(edges)))
        if len(edges) == 1:
            raise Damaged(f"the cells of the column '{column.name}' are not its own")
        made = ColumnCodec(column, numbers, (*column.levels, None), first=0, closed=True)
    if not made.size or made.unseen >= MOST_CODES or (made.bins and not column.is_numeric):
        raise Damaged(f"the column '{column.name}' shows nothing, or too much")
    return made


def draw_columns(
    codes: Codes, models: Iterable[tuple[int, Drawn | None]], rng: np.random.Generator
) -> Codes:
    """Draw columns one after the other, each given those before it, in blocks on all cores."""
    listed, starts = list(models), range(0, len(codes), BLOCK)

    def fill(start: int, own: np.random.Generator) -> None:
        block = np.asfortranarray(codes[start : start + BLOCK])
        for place, model in listed:
            if model is not None:
                block[:, place] = model.draw(block, own)
        codes[start : start + BLOCK] = block

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        list(workers.map(fill, starts, rng.spawn(len(starts))))
    return codes
