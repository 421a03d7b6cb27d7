"""ColumnModel: how one column is drawn given those before it; fitted, saved and restored."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.bins import on_grid
from understudy.data.codec import MISSING
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.synthesizers.columns import SAMPLERS, ColumnMethod
from understudy.synthesizers.columns.plan import ColumnRule
from understudy.synthesizers.columns.samplers import (
    ColumnOptions,
    Floats,
    Marginal,
    PredictorRows,
    Sampler,
    Scope,
    Training,
)
from understudy.synthesizers.columns.variables import NUMBER, Variable
from understudy.synthesizers.model_file import Damaged, State, number, texts, whole

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
STICKS_OUT = 3
NAMES = {sampler: name for name, sampler in SAMPLERS.items()}


@dataclass(frozen=True)
class FixedValue:
    """A rule, and the code and number that it fixes."""

    rule: ColumnRule
    code: int
    number: float

    @classmethod
    def of(cls, rule: ColumnRule, table: Table, codes: Codes, numbers: Floats | None) -> Self:
        """Find the value of a rule among the training rows."""
        if rule.is_missing:
            return cls(rule, MISSING, float("nan"))
        found = np.flatnonzero(rule.outcome.mask(table))
        if not len(found):
            raise OptionError(
                f"the rule '{rule.text}': no training row has this value",
                hint="correct the value, or leave the rule out",
            )
        at = int(found[0])
        return cls(rule, int(codes[at]), float("nan") if numbers is None else float(numbers[at]))


@dataclass(frozen=True)
class ColumnModel:
    """A column is drawn as a kind first (category, missing, word, spike), then as a number.

    ``predictors`` are places in the visit order; without samplers the column is kept.
    """

    variable: Variable
    predictors: tuple[int, ...] = ()
    fixed: tuple[FixedValue, ...] = ()
    kind: Sampler | None = None
    number: Sampler | None = None
    bounds: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The column."""
        return self.variable.column.name

    @property
    def samplers(self) -> dict[str, Sampler]:
        """The samplers that there are, by what they draw."""
        both = {"kind": self.kind, "number": self.number}
        return {part: sampler for part, sampler in both.items() if sampler is not None}

    @property
    def is_kept(self) -> bool:
        """Whether the column is not drawn."""
        return not self.samplers

    def fitted(
        self,
        how: ColumnMethod,
        values: tuple[Codes, Floats | None],
        rows: Codes,
        free: Mask,
        training: Training,
    ) -> "ColumnModel":
        """Model a column on those of the training rows ``rows`` that are ``free`` of a rule.

        ``training`` has the predictors of all rows.
        """
        codes, numbers = values
        variable, options = self.variable, training.options
        every = np.flatnonzero(free) if free.any() else np.arange(len(free))
        rows = rows[free[rows]] if free[rows].any() else every
        sampler, bounds = None, None
        if variable.counted and numbers is not None:
            spikes = _spikes(numbers[rows], options.spike)
            if options.classes and how.k_class:
                spikes = tuple(np.unique(numbers[rows][~np.isnan(numbers[rows])]).tolist())
            variable = dataclasses.replace(variable, spikes=spikes)
            codes = variable.mark_spikes(codes, numbers)
            base = every if how.posterior else rows
            present = base[codes[base] == NUMBER]
            if len(present):
                bounds = (float(numbers[present].min()), float(numbers[present].max()))
                own = dataclasses.replace(training, target=numbers)
                sampler = how.numbers(own.take(present))
        kinds = codes[rows].astype(float)
        several = len(np.unique(kinds)) > 1
        kind: Sampler | None = None if sampler is not None else Marginal(kinds[:1])
        if several:
            own = dataclasses.replace(training, target=codes.astype(float), classes=True)
            kind = how.codes(own.take(rows))
        return dataclasses.replace(
            self, variable=variable, kind=kind, number=sampler, bounds=bounds
        )

    def draw(
        self, given: PredictorRows, rng: np.random.Generator, options: ColumnOptions
    ) -> tuple[Codes, Floats | None]:
        """Draw codes and numbers."""
        codes = np.full(len(given), NUMBER, np.int64)
        if self.kind is not None:
            codes = self.kind.draw(given, rng).astype(np.int64)
        numbers = self.variable.numbers_of(codes)
        if self.number is None or numbers is None:
            return codes, numbers
        chosen = np.flatnonzero(codes == NUMBER)
        if len(chosen):
            drawn = self.number.draw(given.take(chosen), rng)
            donors = self.number.training_values
            numbers[chosen] = self._finished(drawn, donors, rng, options)
        return codes, numbers

    def _finished(
        self, drawn: Floats, donors: Floats | None, rng: np.random.Generator, options: ColumnOptions
    ) -> Floats:
        """Bring numbers into the range and onto the grid of the column; smooth training values."""
        alone = np.ones(len(drawn), bool)
        noisy = drawn
        if donors is not None:
            if not options.smooth or len(donors) < 2:
                return drawn
            values, times = np.unique(donors, return_counts=True)
            alone = times[np.searchsorted(values, drawn)] < options.minbucket
            width = 0.9 * float(np.std(donors)) * len(donors) ** -0.2
            noisy = drawn + width * rng.normal(size=len(drawn))
        if self.bounds is not None:
            noisy = np.clip(noisy, *self.bounds)
        step = self.variable.column.step
        if step is not None:
            noisy = on_grid(np.round(noisy / step), step)
        return np.where(alone, noisy, drawn)

    def fixed_values(self, rows: Table) -> tuple[Mask, Codes, Floats]:
        """Say for which rows no rule holds; give the code and number that the first one fixes."""
        first = np.full(rows.height, -1)
        for place in reversed(range(len(self.fixed))):
            first[self.fixed[place].rule.condition.mask(rows)] = place
        codes = np.array([*(one.code for one in self.fixed), MISSING])[first]
        return first < 0, codes, np.array([*(one.number for one in self.fixed), np.nan])[first]

    def knows_chances(self, options: ColumnOptions) -> bool:
        """Whether the chance of each value is known: that of a smoothed number is not."""
        known = all(sampler.knows_shares for sampler in self.samplers.values())
        return known and not self.is_kept and not (options.smooth and self.number is not None)

    def chances(
        self, rows: Table, values: tuple[Codes, Floats | None], given: PredictorRows
    ) -> Floats:
        """Give the chance of each row's value; where a rule holds the value is certain."""
        codes, numbers = values
        free, fixed_codes, fixed_numbers = self.fixed_values(rows)
        same = codes == fixed_codes
        if numbers is not None:
            same &= np.isclose(numbers, fixed_numbers, rtol=0, atol=0, equal_nan=True)
        made: Floats = same.astype(float)
        rest = np.flatnonzero(free)
        if self.kind is None:
            made[rest] = codes[rest] == NUMBER
        else:
            made[rest] = self.kind.share(given.take(rest), codes[rest].astype(float))
        if self.number is not None and numbers is not None:
            chosen = rest[codes[rest] == NUMBER]
            made[chosen] *= self.number.share(given.take(chosen), numbers[chosen])
        return made

    def to_dict(self) -> dict[str, Any]:
        """Give all but the arrays as plain values."""
        return {
            "name": self.name,
            "labels": list(self.variable.labels),
            "counted": self.variable.counted,
            "spikes": list(self.variable.spikes),
            "predictors": list(self.predictors),
            "fixed": [
                [one.rule.text, one.code, None if np.isnan(one.number) else one.number]
                for one in self.fixed
            ],
            "bounds": self.bounds,
            **{part: NAMES[type(sampler)] for part, sampler in self.samplers.items()},
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays of the samplers."""
        return {
            f"{part}_{name}": array
            for part, sampler in self.samplers.items()
            for name, array in sampler.arrays().items()
        }

    @classmethod
    def restore(
        cls, plain: Mapping[str, Any], state: State, schema: Schema, before: Sequence["ColumnModel"]
    ) -> Self:
        """Take what was saved, given the models before it; refuse what does not fit together."""
        spikes = tuple(map(number, plain["spikes"]))
        labels, counted = texts(plain["labels"]), plain["counted"] is True
        variable = Variable(schema[plain["name"]], labels, counted, spikes)
        predictors = tuple(whole(place, 0, len(before) - 1) for place in plain["predictors"])
        levels = np.array([before[place].variable.levels for place in predictors], np.int64)
        samplers = {
            part: SAMPLERS[plain[part]].restore(state.part(f"{part}_"), Scope(levels, codes))
            for part, codes in (("kind", variable.codes), ("number", None))
            if plain.get(part) is not None
        }
        if list(spikes) != sorted(set(spikes)) or (counted and not variable.is_number):
            raise Damaged(f"the column '{variable.column.name}' is drawn as something else")
        if variable.column.name in [model.name for model in before]:
            raise Damaged(f"the column '{variable.column.name}' is drawn twice")
        fixed = tuple(
            FixedValue(
                ColumnRule.parse(text),
                whole(code, 0, variable.codes - 1),
                float("nan") if value is None else number(value),
            )
            for text, code, value in plain["fixed"]
        )
        bounds = plain["bounds"]
        if bounds is not None:
            low, high = map(number, bounds)
            bounds = (low, high)
        return cls(variable, predictors, fixed, **samplers, bounds=bounds)


def _spikes(numbers: Floats, share: float) -> tuple[float, ...]:
    """Give the numbers that stick out: held by more than a share, and more than their neighbours.

    Three times as often as the lower median of the two numbers next on either side.
    """
    values, times = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    made = []
    for place in np.flatnonzero(times > share * len(numbers)):
        beside = [p for p in range(place - 2, place + 3) if p != place and 0 <= p < len(values)]
        near = np.sort(times[beside])
        if not len(near) or times[place] > STICKS_OUT * near[(len(near) - 1) // 2]:
            made.append(float(values[place]))
    return tuple(made)
