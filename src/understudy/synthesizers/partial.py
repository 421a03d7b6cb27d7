"""Partial synthesis: some columns drawn anew given the others, every record in its place."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.relations import relations_of
from understudy.data.schema import Relation, Schema
from understudy.data.tables import Condition, Table, warn_left_out
from understudy.errors import DataError, OptionError
from understudy.jobs.progress import ProgressOrBar, reporter, shows_progress, silent
from understudy.options import MOST_REPLICATES, Between, Seed, check_arguments
from understudy.synthesizers import (
    DEFAULT,
    SYNTHESIZERS,
    Synthesizer,
    abilities_of,
    synthesizer,
)
from understudy.synthesizers.constraints import all_constraints, check_names
from understudy.synthesizers.holding import Held, with_identifiers

FALLBACK = "cart"
COMPUTED = ("formula", "classes")
FOLLOWS = (*COMPUTED, "lookup", "missing")


class Completes(Protocol):
    """A method that can draw the columns that it does not keep."""

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Give all columns for these rows: the kept ones untouched, the others drawn."""


def can_complete(method: str) -> bool:
    """Whether a method draws some columns given others."""
    known = SYNTHESIZERS.get(method)
    return known is not None and "complete" in abilities_of(known)


def default_method() -> str:
    """Name the method for partial synthesis: the default one, if it can."""
    return DEFAULT if can_complete(DEFAULT) else FALLBACK


@shows_progress
def replace(
    real: Any,
    columns: Annotated[Iterable[str] | str, "give the names of columns"],
    *,
    where: str | Condition | None = None,
    train_on: Any = None,
    method: str | None = None,
    replicates: Annotated[int | None, Between(1, MOST_REPLICATES)] = None,
    schema: Schema | str | Path | None = None,
    seed: Seed = 0,
    progress: ProgressOrBar = silent,
    constraints: Annotated[Sequence[str], 'give a list of texts, such as ["start <= end"]'] = (),
    relations: bool = True,
    **options: Any,
) -> Any:
    """Draw columns of a table anew, given its other columns; row i stays the same person.

    Parameters
    ----------
    real : path or frame
        The records. All columns but those named are kept as they are; identifiers, names and free
        text are dropped.
    columns : names
        What is drawn, in this order.
    where : condition, optional
        Only records that meet it are changed, such as ``"income > 70000 or age < 26"``. The
        model then learns from such records alone.
    train_on : path or frame, optional
        Other records to learn from; without it the model learns from the table itself.
    method, seed, options
        As in ``synthesizer``; the method must be able to complete records.
    progress : function of (label, done, total), or True for a bar
    replicates : int, optional
        How many tables; without it, one table and no list.
    constraints : list of str, optional
        What every record meets, such as ``"start <= end"``, beside those of the schema. The model
        learns from records that meet them, and a record that breaks one is drawn again.
    relations : bool
        Whether columns that follow from replaced ones are computed anew, such as ``bmi`` from
        ``weight``. A column that follows from kept ones alone is drawn: computed, it would be as
        it was.

    Examples
    --------
    >>> real = pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10})
    >>> replace(real, ["age"], where="sex == f", method="cart")["sex"].equals(real["sex"])
    True
    """
    check_arguments(replace, locals())
    made = Replacement.of(
        real,
        columns,
        where=where,
        train_on=train_on,
        method=method,
        schema=schema,
        seed=seed,
        progress=reporter(progress),
        constraints=constraints,
        relations=relations,
        options=options,
    )
    warn_left_out(made.real, real, schema, columns=made.held.left_out)
    tables = [made.real.give_back(made.table(number)) for number in range(replicates or 1)]
    return tables[0] if replicates is None else tables


def able(name: str) -> str:
    """Insist on a method that can complete records."""
    if name in SYNTHESIZERS and not can_complete(name):
        others = [other for other in SYNTHESIZERS if can_complete(other)]
        raise OptionError(
            f"the method '{name}' cannot keep some columns and replace others",
            hint=f"use {', '.join(others)}",
        )
    return name


@dataclass
class Replacement:
    """Records of which some columns are drawn anew, and the model that draws them."""

    real: Table
    columns: tuple[str, ...]
    where: Condition | None
    chosen: NDArray[np.bool_]
    train: Table
    made: Synthesizer
    held: Held
    learnt_elsewhere: bool = False
    said: tuple[str, ...] = ()
    fitted_: int | None = None

    @classmethod
    def of(
        cls,
        real: Any,
        columns: Iterable[str],
        *,
        where: str | Condition | None = None,
        train_on: Any = None,
        method: str | None = None,
        schema: Any = None,
        seed: int = 0,
        progress: ProgressOrBar = silent,
        constraints: Sequence[str] = (),
        relations: bool = True,
        fixed: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Check what is asked for, before any work is done.

        Columns that follow from replaced ones are replaced too, unless they are ``fixed``.
        """
        name, given = method or default_method(), dict(options or {})
        if "keep" in given:
            raise OptionError(f"{name}: keep is what is not replaced", hint="leave it out")
        if given.get("epsilon") is not None:
            raise OptionError(
                "epsilon holds for whole rows only: the columns that are kept are real values",
                hint="replace no single columns, or leave epsilon out",
            )
        able(name)
        condition = Condition.parse(where) if isinstance(where, str) else where
        table = Table.of(real, schema, name="training table").with_rows()
        table = with_identifiers(table, all_constraints(table.schema, constraints))
        names = check_columns(columns, table.schema)
        known = relations_of(table) if relations else ()
        names, said = with_dependents(names, known, table.schema, fixed)
        kept = tuple(n for n in table.schema.modelled if n not in names)
        made = synthesizer(
            name, seed=seed, progress=progress, relations=relations, **{**given, "keep": kept}
        )
        source = table
        if train_on is not None:
            source = Table.of(train_on, table.schema, name="table to learn from").with_rows()
        columns_in_order = tuple(table.schema[n] for n in (*kept, *names))
        held = Held.fit(table, table.schema.constraints, keep=kept, whole_rows=False)[0]
        ordered = dataclasses.replace(
            table.schema,
            columns=columns_in_order,
            visit=(),
            constraints=held.texts,
            relations=known,
        )
        learns = _chosen(source, condition) & held.met(source)
        if not learns.any():
            raise DataError(
                f"{source.name}: no record to learn from meets all constraints",
                hint="drop one of them, or correct the records",
            )
        rows = source.frame.filter(learns).select(ordered.names)
        train = Table(rows, ordered, source.name)
        chosen = _chosen(table, condition)
        elsewhere = train_on is not None
        whole = cls(table, names, condition, chosen, train, made, held, elsewhere, said)
        whole._refuse_what_stays()
        return whole

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that stay as they are."""
        return tuple(n for n in self.real.schema.modelled if n not in self.columns)

    def table(self, replicate: int = 0) -> pl.DataFrame:
        """Draw one replicate: all records, in their order."""
        self._fit(replicate)
        schema = self.train.schema
        rows = self.real.frame.filter(self.chosen).select(self.kept)
        kept = Table(rows, Schema(tuple(schema[n] for n in self.kept)), self.real.name)
        drawn = self.made.complete(kept, replicate)
        frame = self.real.modelled
        places = np.flatnonzero(self.chosen)
        put = [_put(frame[name], places, drawn[name]) for name in self.columns]
        made = frame.with_columns(put)
        return self.held.identified(made, 0, frame.height, self.made.names(replicate), {})

    def _refuse_what_stays(self) -> None:
        """Refuse constraints that values break which nobody draws anew."""
        for one in self.held.conditions:
            broken = one.fails(self.real)
            if set(one.names) & set(self.columns):
                broken = broken & ~self.chosen
            if broken.any():
                raise OptionError(
                    f"{int(broken.sum()):,} records break the constraint {one.text} in values that "
                    "are kept",
                    hint="replace one of its columns for them, or drop the constraint",
                )

    def _fit(self, replicate: int) -> None:
        """Fit once; a method that draws its own model (proper synthesis), for each replicate."""
        wanted = replicate if self.made.is_proper else 0
        if self.fitted_ != wanted:
            self.made.fit(self.train, replicate=wanted)
            related = self.made.held_.related.notes()
            self.made.notes_ = [*self.held.notes(self.real), *self.said, *related]
            self.fitted_ = wanted


def with_dependents(
    names: tuple[str, ...],
    relations: Sequence[Relation],
    schema: Schema,
    fixed: Sequence[str] = (),
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Add the columns that are computed from replaced ones; says which, and which not and why.

    A country that follows from the city is not computed, so it stays where only the city is
    replaced: the city is drawn given the country.
    """
    made, said = list(names), []
    held = [
        one
        for one in relations
        if one.kind in FOLLOWS and not one.is_near and one.target in schema.modelled
    ]
    computed = [one for one in held if one.kind in COMPUTED and one.target not in fixed]
    while len(made) + 1 < len(schema.modelled):
        open_ = (one for one in computed if one.target not in made and {*one.sources} & {*made})
        found = next(open_, None)
        if found is None:
            break
        made.append(str(found.target))
        said.append(f"{found.target} is made anew, since it follows from what is replaced: {found}")
    for one in held:
        told = ", ".join(name for name in one.sources if name in made)
        if told and one.target not in made:
            sure = "no longer holds" if one.kind in COMPUTED else "may break"
            said.append(
                f"{one.target} is kept, so {one} {sure} in records whose {told} is replaced"
            )
    return tuple(made), tuple(said)


def all_but(keep: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """Name the columns to be replaced, in the order of visit, if these are to be kept."""
    check_names(keep, "keep", schema)
    visit = () if isinstance(schema.visit, str) else schema.visit
    others = tuple(n for n in dict.fromkeys((*visit, *schema.modelled)) if n not in keep)
    if not others:
        raise OptionError(
            "keep: every column would be kept, none replaced", hint="keep fewer columns"
        )
    return others


def check_columns(columns: Iterable[str], schema: Schema) -> tuple[str, ...]:
    """Check the names of columns to be replaced: some of those modelled, not all."""
    columns = [columns] if isinstance(columns, str) else list(columns)
    check_names(columns, "replace", schema)
    names = tuple(dict.fromkeys(columns))
    if not names:
        raise OptionError("replace: no column is named", hint="name the columns to be drawn anew")
    if len(names) < len(columns):
        twice = next(n for n in names if columns.count(n) > 1)
        raise OptionError(f"replace: the column '{twice}' stands twice", hint="name it once")
    if len(names) == len(schema.modelled):
        raise OptionError(
            "replace: every column would be replaced, none kept",
            hint="for a fully synthetic table, leave this out",
        )
    return names


def _chosen(table: Table, condition: Condition | None) -> NDArray[np.bool_]:
    if condition is None:
        return np.ones(table.height, bool)
    chosen = condition.mask(table)
    if not chosen.any():
        raise DataError(
            f"{table.name}: no record meets the condition {condition}", hint="check its values"
        )
    return chosen


def _put(series: pl.Series, places: NDArray[np.int64], drawn: pl.Series) -> pl.Series:
    """Put drawn values into a column, which keeps its type."""
    index = np.arange(len(series))
    index[places] = len(series) + np.arange(len(places))
    both = pl.concat([series, drawn.cast(series.dtype).alias(series.name)])
    return both.gather(pl.Series(index))
