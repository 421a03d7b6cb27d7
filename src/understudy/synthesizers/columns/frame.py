"""Frame: columns drawn one after the other, each given those before it.

A column is modelled on the original values and drawn given the synthetic ones. What is no number
in a column of numbers (missing values, words) and spikes, numbers that many rows hold, are drawn
first as a category; then the rest as a number.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Schema, read_values
from understudy.data.source import source_of
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError, near
from understudy.jobs.progress import Progress
from understudy.jobs.workers import one_thread
from understudy.options import AtLeast
from understudy.synthesizers.base import MethodCard, check_options
from understudy.synthesizers.columns import COLUMN_METHODS, KEEP
from understudy.synthesizers.columns.models import ColumnModel, FixedValue
from understudy.synthesizers.columns.plan import Plan, PlanRequest
from understudy.synthesizers.columns.samplers import ColumnOptions, PredictorRows, Training
from understudy.synthesizers.columns.variables import Variable
from understudy.synthesizers.model_file import State


@dataclass(kw_only=True)
class Frame:
    """What all sequential methods share: the order, the fitting and the drawing of columns."""

    minbucket: Annotated[int, AtLeast(1)] = 5
    cp: Annotated[float, AtLeast(0)] = 1e-8
    smooth: bool = False
    proper: bool = False
    keep: Sequence[str] | str = ()
    models_: list[ColumnModel] = field(init=False, repr=False, default_factory=list)
    schema_: Schema = field(init=False, repr=False)
    methods_: tuple[str, ...] = field(init=False, repr=False, default=())

    card: ClassVar[MethodCard]

    def __post_init__(self) -> None:
        check_options(self)
        self.keep = listed(self.keep)

    def wishes(self) -> PlanRequest:
        """What the options ask for."""
        raise NotImplementedError

    def options(self) -> ColumnOptions:
        """The options of the column methods."""
        names = {f.name for f in dataclasses.fields(self)}  # type: ignore[arg-type,unused-ignore]
        known = [f.name for f in dataclasses.fields(ColumnOptions) if f.name in names]
        return ColumnOptions(**{name: getattr(self, name) for name in known})

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Model each column given those before it."""
        plan = Plan.of(self.wishes(), table)
        rows = np.arange(table.height)
        if self.proper:
            rows = rng.integers(0, table.height, table.height)
        matrix = np.empty((table.height, len(plan.order)), order="F")
        self.models_, self.schema_ = [], table.schema
        self.methods_ = tuple(sorted({*plan.methods.values()} - {KEEP}))
        with one_thread():
            for place, name in enumerate(plan.order):
                self.models_.append(self._fit_column(name, plan, table, matrix, rows, rng))
                progress("modelling columns", place + 1, len(plan.order))
        return self

    def _fit_column(
        self,
        name: str,
        plan: Plan,
        table: Table,
        matrix: NDArray[np.float64],
        rows: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> ColumnModel:
        """Model a column, and put it into the matrix of predictors."""
        how, column = COLUMN_METHODS[plan.methods[name]], table.schema[name]
        numeric = how.codes_are_numbers
        variable = Variable.fit(source_of(table), column, codes_are_numbers=numeric)
        codes, numbers = variable.read(table.values(name))
        matrix[:, len(self.models_)] = variable.predictor(codes, numbers)
        if plan.methods[name] == KEEP:
            return ColumnModel(variable)
        free, rules = np.ones(table.height, bool), plan.rules_of(name)
        for rule in rules:
            free &= ~rule.holds(table)
        predictors = tuple(plan.order.index(other) for other in plan.predictors[name])
        fixed = tuple(FixedValue.of(rule, table, codes, numbers) for rule in rules)
        given = self._given(matrix, predictors)
        training = Training(given, np.empty(0), self.options(), rng)
        model = ColumnModel(variable, predictors, fixed)
        return model.fitted(how, (codes, numbers), rows, free, training)

    def _given(self, matrix: Any, places: tuple[int, ...]) -> PredictorRows:
        variables = [self.models_[place].variable for place in places]
        first = places == tuple(range(len(places)))
        return PredictorRows(
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
        return self._draw(rows, None, rng)

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Draw all other columns for the rows of a table whose kept columns stay untouched."""
        for model in self.models_:
            if model.is_kept and model.name not in kept.frame.columns:
                raise DataError(
                    f"{kept.name}: the column '{model.name}' that is kept is missing",
                    hint=near(model.name, kept.frame.columns),
                )
        return self._draw(kept.height, kept, rng)

    def _draw(self, rows: int, kept: Table | None, rng: np.random.Generator) -> pl.DataFrame:
        matrix = np.empty((rows, len(self.models_)), order="F")
        made: dict[str, pl.Series] = {}
        with one_thread():
            for place, model in enumerate(self.models_):
                variable = model.variable
                if kept is not None and model.is_kept:
                    made[model.name] = kept.frame[model.name]
                    codes, numbers = variable.read(read_values(made[model.name], variable.column))
                else:
                    given = self._given(matrix, model.predictors)
                    codes, numbers = self._draw_column(model, given, made, rng)
                    made[model.name] = variable.write(codes, numbers)
                matrix[:, place] = variable.predictor(codes, numbers)
        return pl.DataFrame(made).select(n for n in self.schema_.modelled if n in made)

    def _draw_column(
        self,
        model: ColumnModel,
        given: PredictorRows,
        made: dict[str, pl.Series],
        rng: np.random.Generator,
    ) -> Any:
        """Draw a column; where a rule holds, its value is fixed, by the first rule of several."""
        if not model.fixed:
            return model.draw(given, rng, self.options())
        schema = Schema(tuple(self.schema_[name] for name in made))
        free, codes, fixed = model.fixed_values(Table(pl.DataFrame(made), schema, "drawn so far"))
        numbers = fixed if model.variable.is_number else None
        rest = np.flatnonzero(free)
        codes[rest], drawn = model.draw(given.take(rest), rng, self.options())
        if numbers is not None:
            numbers[rest] = drawn
        return codes, numbers

    def knows_chances(self, schema: Schema) -> bool:
        """Whether rows have a known chance, the same for every fit to one table."""
        exact = {name for name, how in COLUMN_METHODS.items() if how.exact}
        used = set(self.wishes().methods_of(schema).values())
        return used <= exact and not (self.proper or self.smooth or self.keep)

    def log_likelihood(self, rows: Table) -> NDArray[np.float64] | None:
        """Give the log of each row's chance under this fit, -inf where it cannot be drawn.

        It is the product over the columns of each value's chance given those before; none where a
        column is kept, smoothed or drawn by a regression or a network: these give a density.
        """
        options = self.options()
        if not all(model.knows_chances(options) for model in self.models_):
            return None
        matrix = np.empty((rows.height, len(self.models_)), order="F")
        total = np.zeros(rows.height)
        for place, model in enumerate(self.models_):
            values = model.variable.read(rows.values(model.name))
            given = self._given(matrix, model.predictors)
            with np.errstate(divide="ignore"):
                total += np.log(model.chances(rows, values, given))
            matrix[:, place] = model.variable.predictor(*values)
        return total

    def state(self) -> State:
        """Give the models of the columns."""
        arrays = {
            f"{place}_{name}": array
            for place, model in enumerate(self.models_)
            for name, array in model.arrays().items()
        }
        return State({"columns": [model.to_dict() for model in self.models_]}, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take the models of the columns."""
        self.models_, self.schema_ = [], schema
        for place, plain in enumerate(state.values["columns"]):
            own = state.part(f"{place}_")
            self.models_.append(ColumnModel.restore(plain, own, schema, self.models_))
        return self


def listed(names: Sequence[str] | str) -> tuple[str, ...]:
    """Take one name or a list of names."""
    return (names,) if isinstance(names, str) else tuple(names)
