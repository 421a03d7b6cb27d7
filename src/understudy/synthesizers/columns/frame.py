"""Frame: columns drawn one after the other, each given those before it.

A column is modelled on the original values and drawn given the synthetic ones. What is no number
in a column of numbers (missing values, words) and spikes, numbers that many rows hold, are drawn
first as a category; then the rest as a number.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.memory import MemorySource
from understudy.data.schema import Schema, near, read_values
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.workers import one_thread
from understudy.judging.comparison import Progress
from understudy.options import MOST, check_number
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.columns import COLUMN_METHODS, KEEP, Settings
from understudy.synthesizers.columns.chances import KNOWN, log_chances
from understudy.synthesizers.columns.given import Given
from understudy.synthesizers.columns.models import (
    ColumnModel,
    Fixed,
    dump,
    fit_model,
    rebuild,
)
from understudy.synthesizers.columns.plan import Plan, Wishes, methods_of
from understudy.synthesizers.columns.variables import Variable
from understudy.synthesizers.model_file import State


@dataclass(kw_only=True)
class Frame:
    """What all sequential methods share: the order, the fitting and the drawing of columns."""

    minbucket: int = 5
    cp: float = 1e-8
    smooth: bool = False
    proper: bool = False
    keep: Sequence[str] = ()
    models_: list[ColumnModel] = field(init=False, repr=False, default_factory=list)
    schema_: Schema = field(init=False, repr=False)
    methods_: tuple[str, ...] = field(init=False, repr=False, default=())

    card: ClassVar[MethodCard]

    def __post_init__(self) -> None:
        check_number(f"{self.card.name}: minbucket", self.minbucket, 1, MOST)
        check_number(f"{self.card.name}: cp", self.cp, 0)
        self.keep = names_in(self.keep, f"{self.card.name}: keep")

    def wishes(self) -> Wishes:
        """What the options ask for."""
        raise NotImplementedError

    def settings(self) -> Settings:
        """The options of the column methods."""
        names = {f.name for f in dataclasses.fields(self)}  # type: ignore[arg-type,unused-ignore]
        own = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(Settings) if f.name in names
        }
        return Settings(**own)

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Model each column given those before it."""
        with one_thread():
            return self._fit(table, rng, progress)

    def _fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        plan, settings, source = Plan.of(self.wishes(), table), self.settings(), MemorySource(table)
        rows = np.arange(table.height)
        if self.proper:
            rows = rng.integers(0, table.height, table.height)
        places = {name: place for place, name in enumerate(plan.order)}
        matrix = np.empty((table.height, len(places)), order="F")
        self.models_, self.schema_ = [], table.schema
        self.methods_ = tuple(sorted({*plan.methods.values()} - {KEEP}))
        for name, place in places.items():
            how = COLUMN_METHODS[plan.methods[name]]
            variable = Variable.fit(
                source, table.schema[name], codes_are_numbers=how.codes_are_numbers
            )
            codes, numbers = variable.read(table.values(name))
            matrix[:, place] = variable.predictor(codes, numbers)
            model = ColumnModel(variable)
            if plan.methods[name] != KEEP:
                free = np.ones(table.height, bool)
                for rule in plan.rules_of(name):
                    free &= ~rule.holds(table)
                given = tuple(places[other] for other in plan.predictors[name])
                model = fit_model(
                    variable, codes, numbers, self._given(matrix, given), rows, free,
                    plan.methods[name], settings, rng,
                )  # fmt: skip
                fixed = (Fixed.of(r, table, codes, numbers) for r in plan.rules_of(name))
                model = dataclasses.replace(model, predictors=given, fixed=tuple(fixed))
            self.models_.append(model)
            progress("modelling columns", place + 1, len(places))
        return self

    def _given(self, matrix: Any, places: tuple[int, ...]) -> Given:
        variables = [self.models_[place].variable for place in places]
        first = places == tuple(range(len(places)))
        return Given(
            matrix[:, : len(places)] if first else matrix[:, list(places)],
            np.array([v.levels for v in variables], np.int64),
            np.array([not v.column.is_numeric for v in variables], bool),
        )

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw column after column, each given the synthetic values before it."""
        kept = [model.name for model in self.models_ if model.is_kept]
        if kept:
            raise OptionError(
                f"{self.card.name}: the columns that are kept ({', '.join(kept)}) need rows",
                hint="complete the rows of a table, or keep no column",
            )
        with one_thread():
            return self._draw(rows, None, rng)

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Draw all other columns for the rows of a table whose kept columns stay untouched."""
        for model in self.models_:
            if model.is_kept and model.name not in kept.frame.columns:
                raise DataError(
                    f"{kept.name}: the column '{model.name}' that is kept is missing",
                    hint=near(model.name, kept.frame.columns),
                )
        with one_thread():
            return self._draw(kept.height, kept, rng)

    def _draw(self, rows: int, kept: Table | None, rng: np.random.Generator) -> pl.DataFrame:
        matrix = np.empty((rows, len(self.models_)), order="F")
        made: dict[str, pl.Series] = {}
        settings = self.settings()
        for place, model in enumerate(self.models_):
            variable = model.variable
            if kept is not None and model.is_kept:
                made[model.name] = kept.frame[model.name]
                codes, numbers = variable.read(read_values(made[model.name], variable.column))
            else:
                given = self._given(matrix, model.predictors)
                codes, numbers = self._fill(model, given, made, settings, rng)
                made[model.name] = variable.write(codes, numbers)
            matrix[:, place] = variable.predictor(codes, numbers)
        return pl.DataFrame(made).select(n for n in self.schema_.modelled if n in made)

    def _fill(
        self,
        model: ColumnModel,
        given: Given,
        made: dict[str, pl.Series],
        settings: Settings,
        rng: np.random.Generator,
    ) -> Any:
        """Draw a column; where a rule holds, its value is fixed, by the first rule of several."""
        if not model.fixed:
            return model.draw(given, rng, settings)
        before = Table(
            pl.DataFrame(made), Schema(tuple(self.schema_[name] for name in made)), "drawn so far"
        )
        codes = np.zeros(len(given), np.int64)
        numbers = model.variable.numbers_of(codes)
        free = np.ones(len(given), bool)
        for fixed in model.fixed:
            here = free & fixed.rule.condition.mask(before)
            codes[here] = fixed.code
            if numbers is not None:
                numbers[here] = fixed.number
            free &= ~here
        rest = np.flatnonzero(free)
        codes[rest], drawn = model.draw(given.take(rest), rng, settings)
        if numbers is not None:
            numbers[rest] = drawn
        return codes, numbers

    def knows_chances(self, schema: Schema) -> bool:
        """Whether rows have a known chance, the same for every fit to one table."""
        used = set(methods_of(self.wishes(), schema).values())
        return not (self.proper or self.smooth or self.keep) and used <= set(KNOWN)

    def log_likelihood(self, rows: Table) -> NDArray[np.float64] | None:
        """Give the log of each row's chance under this fit; none where it is not known."""
        if any(model.is_kept for model in self.models_):
            return None
        return log_chances(self.models_, rows, self.settings(), self._given)

    def state(self) -> State:
        """Give the models of the columns."""
        return dump(self.models_)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take the models of the columns."""
        self.models_, self.schema_ = rebuild(state, schema), schema
        return self


def listed(value: Any) -> tuple[Any, ...]:
    """Give the items of a list; none of anything else."""
    return tuple(value) if isinstance(value, list | tuple) else ()


def names_in(value: Any, what: str) -> tuple[str, ...]:
    """Take one text or a list of texts."""
    made = (value,) if isinstance(value, str) else listed(value)
    if not all(isinstance(name, str) for name in made) or (not made and value not in ((), [])):
        raise OptionError(f"{what} = {value!r}", hint="give a list of texts")
    return made
