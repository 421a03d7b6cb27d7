"""Held: the constraints of a fit, between the method and the rows that leave the synthesizer."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Schema
from understudy.data.tables import Table
from understudy.data.tables.grammar import shown
from understudy.errors import DataError, OptionError
from understudy.synthesizers.columns.plan import ColumnRule
from understudy.synthesizers.combinations import Combination
from understudy.synthesizers.constraints import Constraint, read_constraints
from understudy.synthesizers.identifiers import Identifier
from understudy.synthesizers.model_file import State

Masks = dict[str, NDArray[np.bool_]]
FRAME = "together_"


@dataclass(frozen=True)
class Held:
    """Conditions to check, combinations to take apart, identifiers to count.

    ``fitted`` is the schema of the rows that leave.
    """

    fitted: Schema
    conditions: tuple[Constraint, ...] = ()
    combinations: tuple[Combination, ...] = ()
    identifiers: tuple[Identifier, ...] = ()

    @classmethod
    def fit(
        cls, table: Table, texts: Sequence[str], *, keep: Sequence[str] = (), reads: bool = True
    ) -> tuple[Self, Table]:
        """Take what the constraints need of a training table; gives also the table to learn from.

        Columns that belong together are one there, unless some of them are kept. With ``reads`` =
        False nothing is read off the rows, as a privacy budget demands.
        """
        table = with_identifiers(table, texts)
        constraints = read_constraints(texts, table.schema)
        together = [one for one in constraints if one.kind == "together"]
        if together and not reads:
            raise OptionError(
                f"constraint {together[0].text}: the combinations are read off the data, which "
                "epsilon does not pay for",
                hint="drop it, or declare one category with all combinations as its levels",
            )
        conditions = tuple(one for one in constraints if one.condition is not None)
        if reads:
            _refuse_impossible(conditions, table)
        _refuse_rules(together, table.schema)
        combinations = tuple(
            Combination.fit(table, one.names, merge=not set(one.names) & set(keep))
            for one in together
            if not set(one.names) <= set(keep)
        )
        identifiers = tuple(
            Identifier.fit(
                table.frame[name] if name in table.frame.columns else None,
                table.schema[name],
                reads=reads,
            )
            for one in constraints
            if one.kind == "unique"
            for name in one.names
        )
        made = cls(table.schema, conditions, combinations, identifiers)
        inner = dataclasses.replace(table, schema=dataclasses.replace(table.schema, constraints=()))
        for combination in combinations:
            inner = combination.merge(inner)
        return made, inner

    def notes(self, table: Table) -> list[str]:
        """Say how many training rows break a constraint."""
        return [
            f"{broken:,} of {table.height:,} training rows break the constraint {one.text}; "
            "no synthetic row does"
            for one in self.conditions
            if (broken := int(one.fails(table).sum()))
        ]

    def shown(self, inner: Schema) -> Self:
        """Keep only the combinations that a method shows, and the schema that tells of no other."""
        schema, kept = self.fitted, []
        for combination in self.combinations:
            narrow, schema = combination.shown(schema, inner)
            kept.append(narrow)
        told = {column.name: column for column in inner}
        columns = tuple(told.get(column.name, column) for column in schema)
        schema = dataclasses.replace(schema, columns=columns)
        return dataclasses.replace(self, fitted=schema, combinations=tuple(kept))

    @property
    def texts(self) -> tuple[str, ...]:
        """The constraints that are not about identifiers."""
        together = (f"together {', '.join(map(shown, one.names))}" for one in self.combinations)
        return (*(one.text for one in self.conditions), *together)

    @property
    def left_out(self) -> tuple[Column, ...]:
        """The columns that no row has."""
        made = {one.name for one in self.identifiers}
        return tuple(column for column in self.fitted.left_out if column.name not in made)

    @property
    def rejects(self) -> bool:
        """Whether rows may have to be drawn again."""
        return bool(self.conditions or self.combinations)

    def outward(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Masks]:
        """Take combinations apart; says also which rows show none of training."""
        broken: Masks = {}
        for one in self.combinations:
            frame, unknown = one.split(frame)
            broken[f"together {', '.join(map(shown, one.names))}"] = unknown
        return frame, broken

    def broken(self, table: Table) -> Masks:
        """Say for each condition which rows break it."""
        return {one.text: one.fails(table) for one in self.conditions}

    def met(self, table: Table) -> NDArray[np.bool_]:
        """Say which rows meet all conditions."""
        made = np.ones(table.height, bool)
        for broken in self.broken(table).values():
            made &= ~broken
        return made

    def identified(self, frame: pl.DataFrame, start: int, total: int) -> pl.DataFrame:
        """Put fresh identifiers in their places."""
        if not self.identifiers:
            return frame
        stop = start + frame.height
        made = frame.with_columns(one.values(start, stop, total) for one in self.identifiers)
        return made.select(name for name in self.fitted.names if name in made.columns)

    def to_dict(self) -> dict[str, Any]:
        """Give what the head of a model file says."""
        return {
            "together": [{"names": one.names, "merged": one.merged} for one in self.combinations],
            "unique": [one.to_dict() for one in self.identifiers],
        }

    def frames(self) -> dict[str, pl.DataFrame]:
        """Give the frames of a model file."""
        return {f"{FRAME}{i}": one.pool for i, one in enumerate(self.combinations)}

    def without(self, state: State) -> State:
        """Give what is the method's own of what was saved."""
        return state.without_frames(self.frames())

    @classmethod
    def restore(cls, plain: Mapping[str, Any], state: State, schema: Schema, inner: Schema) -> Self:
        """Take what was saved; ``inner`` is the schema of what the method makes."""
        # what was learnt is narrower than what was checked: a rare level is not in this schema
        constraints = [Constraint.parse(text, schema, check=False) for text in schema.constraints]
        combinations = tuple(
            Combination.restore(one, state, f"{FRAME}{i}", schema, inner)
            for i, one in enumerate(plain.get("together", ()))
        )
        identifiers = tuple(Identifier.from_dict(one, schema) for one in plain.get("unique", ()))
        conditions = tuple(one for one in constraints if one.condition is not None)
        return cls(schema, conditions, combinations, identifiers)


def with_identifiers(table: Table, texts: Sequence[str]) -> Table:
    """Give a table whose unique columns are identifiers, and which has these constraints."""
    schema = dataclasses.replace(table.schema, constraints=tuple(dict.fromkeys(texts)))
    for one in read_constraints(texts, schema):
        if one.kind == "unique":
            none: dict[str, Any] = {"levels": (), "bounds": None, "decimals": None}
            schema = schema.replace(one.names[0], kind="identifier", why=one.text, **none)
    return dataclasses.replace(table, schema=schema)


def _refuse_impossible(conditions: Sequence[Constraint], table: Table) -> None:
    """Refuse conditions that no training row meets, or only rows with missing values do."""
    every = np.ones(table.height, bool)
    for one in conditions:
        meets = ~one.fails(table)
        if not meets.any():
            raise DataError(
                f"{table.name}: no row meets the constraint {one.text}",
                hint="correct the constraint or the rows",
            )
        if not meets.all() and one.condition is not None and not one.condition.mask(table).any():
            raise DataError(
                f"{table.name}: no row meets the constraint {one.text} but by a missing value",
                hint="correct the constraint; write 'A is missing' if that is meant",
            )
        every &= meets
    if not every.any():
        raise DataError(
            f"{table.name}: no row meets all constraints at once",
            hint="drop one of them, or correct the rows",
        )


def _refuse_rules(together: Sequence[Constraint], schema: Schema) -> None:
    for text in schema.rules if together else ():
        rule = ColumnRule.parse(text)
        for one in together:
            both = set(rule.names) & set(one.names)
            if both:
                raise OptionError(
                    f"constraint {one.text}: the rule '{text}' is about '{min(both)}'",
                    hint="the method sees these columns as one; drop the rule or the constraint",
                )
