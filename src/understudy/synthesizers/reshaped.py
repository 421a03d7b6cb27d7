"""Columns that take another form while a method learns and draws.

``OneHotGroup``: several columns as one category. ``CodeWords``: codes among numbers as words.
``MissingWhere``: as it is, and missing exactly where a condition says so.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from understudy.data.codec import write_values
from understudy.data.relations import Relation
from understudy.data.relations.judging import is_missing, missing_where, truth, written_numbers
from understudy.data.schema import Column, Values
from understudy.data.tables import Table
from understudy.synthesizers.derived import (
    READ,
    Mask,
    Replaced,
    taken_where,
)
from understudy.synthesizers.model_file import Damaged, State


@dataclass(frozen=True)
class OneHotGroup:
    """Columns of which exactly one is 1, as one category in the place of the first."""

    kind: ClassVar[str] = "one_hot"
    relation: Relation

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns."""
        return self.relation.sources

    @property
    def needs(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""
        return (self.relation,)

    def inward(self, table: Table) -> Replaced:
        """Put one category in the place of the columns."""
        names = self.relation.sources
        truths = np.stack([truth(table, name) for name in names])
        known = ~np.isnan(truths).any(axis=0) & (truths == 1).any(axis=0)
        place = pl.Series((truths == 1).argmax(axis=0)).set(pl.Series(~known), None)
        first = table.schema[names[0]]
        read = any(table.schema[name].inferred for name in names)
        told = Column(
            names[0],
            "category",
            levels=names,
            missing=any(table.schema[name].missing for name in names),
            inferred=READ if read else frozenset(),
            predictors=first.predictors,
        )
        series = pl.Series(names, dtype=pl.String).gather(place).alias(names[0])
        return {names[0]: (told, series), **dict.fromkeys(names[1:])}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Write 1 where the category is the column, 0 elsewhere."""
        chosen = drawn.frame[self.relation.sources[0]].cast(pl.String)
        made = []
        for name in self.relation.sources:
            zero, one = binary_levels(drawn.schema[name])
            texts = pl.select(
                pl.when(chosen == name)
                .then(pl.lit(one))
                .when(chosen.is_not_null())
                .then(pl.lit(zero))
            ).to_series()
            column = drawn.schema[name]
            if column.is_numeric:
                numbers = texts.cast(pl.Float64).fill_null(float("nan")).to_numpy()
                made.append(written_numbers(numbers, column).alias(name))
            else:
                made.append(write_values(Values(None, texts), column).alias(name))
        complete = not any(drawn.schema[name].missing for name in self.relation.sources)
        return made, chosen.is_null().to_numpy() & complete

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell 0 and 1."""
        return dataclasses.replace(column, why="")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "holds": self.relation.text}

    def frame(self) -> pl.DataFrame | None:
        """None is needed."""
        return None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], state: State, frame: str, names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        if relation.kind != "one_hot":
            raise Damaged("a group of columns is none")
        return cls(relation)


def binary_levels(column: Column) -> tuple[str, str]:
    """Give how a column writes 0 and 1: as they are, or ``False`` and ``True``."""
    words = {level.lower(): level for level in column.levels}
    for zero, one in (("0", "1"), ("false", "true")):
        if zero in words or one in words:
            other = {"0": "0", "1": "1"}
            cased = str.title if words.get(zero, words.get(one, ""))[:1].isupper() else str
            other |= {"false": cased("false"), "true": cased("true")}
            return words.get(zero, other[zero]), words.get(one, other[one])
    return ("false", "true") if column.stored == "boolean" else ("0", "1")


@dataclass(frozen=True)
class CodeWords:
    """Numbers that are no quantities, as words: no average and no bin mixes them with others."""

    kind: ClassVar[str] = "code"
    relation: Relation

    @property
    def name(self) -> str:
        """The column."""
        return str(self.relation.target)

    @property
    def makes(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def needs(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""
        return (self.relation,)

    @property
    def words(self) -> dict[str, str]:
        """The word of each code."""
        return {f"code {text}": text for text in self.relation.said.values}

    def inward(self, table: Table) -> Replaced:
        """Write words for the codes."""
        column, values = table.schema[self.name], table.values(self.name)
        assert values.numbers is not None
        numbers, labels = values.numbers.copy(), values.labels
        for word, text in self.words.items():
            here = numbers == float(text)
            numbers[here] = np.nan
            labels = labels.set(pl.Series(here), word)
        bounds, present = column.bounds, numbers[~np.isnan(numbers)]
        if "bounds" in column.inferred and len(present):
            bounds = (float(present.min()), float(present.max()))
        told = dataclasses.replace(column, levels=(*column.levels, *self.words), bounds=bounds)
        written = write_values(Values(numbers, labels), told).cast(pl.String)
        return {self.name: (told, written.alias(self.name))}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Write the codes for the words."""
        column, series = drawn.schema[self.name], drawn.frame[self.name]
        if series.dtype == pl.String:
            series = series.replace(self.words)
            if not set(column.levels) - {"inf", "-inf"}:
                series = series.cast(pl.Float64, strict=False)
        if column.stored == "integer" and series.dtype.is_float():
            series = series.round().cast(pl.Int64, strict=False)
        return [series.alias(self.name)], np.zeros(drawn.height, bool)

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell what is shown, the codes as numbers."""
        if told is None:
            return column
        shown = [float(text) for word, text in self.words.items() if word in told.levels]
        ends = [*(told.bounds or ()), *shown]
        return dataclasses.replace(
            told,
            levels=tuple(level for level in told.levels if level not in self.words),
            bounds=(min(ends), max(ends)) if ends else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "holds": self.relation.text}

    def frame(self) -> pl.DataFrame | None:
        """None is needed."""
        return None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], state: State, frame: str, names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        if relation.kind != "code":
            raise Damaged("codes of a column are none")
        return cls(relation)


@dataclass(frozen=True)
class MissingWhere:
    """A column that is missing exactly where a condition is met.

    ``fills``: elsewhere, a missing value is that of another row; not if it follows from others.
    """

    kind: ClassVar[str] = "missing"
    relation: Relation
    fills: bool = True

    @property
    def name(self) -> str:
        """The column."""
        return str(self.relation.target)

    @property
    def makes(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the condition."""
        return self.relation.sources

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What it holds."""
        return (self.relation,)

    def inward(self, table: Table) -> Replaced:
        """Leave the column as it is."""
        return {}

    def outward(self, drawn: Table) -> tuple[list[pl.Series], Mask]:
        """Take values out where they are to be missing; where not, take that of another row.

        Such rows are not drawn again: that would make the condition more frequent than it is.
        """
        where = missing_where(self.relation, drawn)
        lacking = is_missing(drawn, self.name) & ~where
        made = taken_where(~where, drawn.frame[self.name], None)
        if lacking.any() and self.fills:
            if made.dtype.is_float():
                made = made.fill_nan(None)
            filled = made.forward_fill().backward_fill()
            made = taken_where(lacking, filled, made)
        lost = not self.fills or made.null_count() == drawn.height
        return [made.alias(self.name)], lacking & lost

    def emitted(self, column: Column, told: Column | None) -> Column:
        """Tell what the method tells."""
        return column if told is None else told

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "holds": self.relation.text, "fills": self.fills}

    def frame(self) -> pl.DataFrame | None:
        """None is needed."""
        return None

    @classmethod
    def restore(cls, plain: Mapping[str, Any], state: State, frame: str, names: Any) -> Self:
        """Take what was saved."""
        relation = Relation.parse(plain["holds"], names)
        if relation.kind != "missing" or type(plain["fills"]) is not bool:
            raise Damaged("a column is missing nowhere")
        return cls(relation, plain["fills"])
