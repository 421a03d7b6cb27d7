"""ColumnModel: how one column is drawn given those before it; fitted, saved and restored."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.bins import on_grid
from understudy.data.codec import MISSING
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.synthesizers.columns import COLUMN_METHODS, SAMPLERS, Sampler, Settings, arrays_of
from understudy.synthesizers.columns.given import Floats, Given
from understudy.synthesizers.columns.rules import Rule
from understudy.synthesizers.columns.samplers import Asked, Pool
from understudy.synthesizers.columns.variables import NUMBER, Variable
from understudy.synthesizers.model_file import Damaged, State, number, texts, whole

Codes = NDArray[np.int64]
STICKS_OUT = 3
PARTS = ("kind", "number")
NAMES = {sampler: name for name, sampler in SAMPLERS.items()}


@dataclass(frozen=True)
class Fixed:
    """A rule, and the code and number that it fixes."""

    rule: Rule
    code: int
    number: float

    @classmethod
    def of(cls, rule: Rule, table: Table, codes: Codes, numbers: Floats | None) -> "Fixed":
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
    fixed: tuple[Fixed, ...] = ()
    kind: Sampler | None = None
    number: Sampler | None = None
    bounds: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The column."""
        return self.variable.column.name

    @property
    def is_kept(self) -> bool:
        """Whether the column is not drawn."""
        return self.kind is None and self.number is None

    def draw(
        self, given: Given, rng: np.random.Generator, settings: Settings
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
            numbers[chosen] = self._finished(drawn, rng, settings)
        return codes, numbers

    def _finished(self, drawn: Floats, rng: np.random.Generator, settings: Settings) -> Floats:
        """Bring numbers into the range and onto the grid of the column; smooth training values."""
        donors: Floats | None = getattr(self.number, "donors", None)
        alone = np.ones(len(drawn), bool)
        noisy = drawn
        if donors is not None:
            if not settings.smooth or len(donors) < 2:
                return drawn
            values, times = np.unique(donors, return_counts=True)
            alone = times[np.searchsorted(values, drawn)] < settings.minbucket
            width = 0.9 * float(np.std(donors)) * len(donors) ** -0.2
            noisy = drawn + width * rng.normal(size=len(drawn))
        if self.bounds is not None:
            noisy = np.clip(noisy, *self.bounds)
        step = self.variable.column.step
        if step is not None:
            noisy = on_grid(np.round(noisy / step), step)
        return np.where(alone, noisy, drawn)


def fit_model(
    variable: Variable,
    codes: Codes,
    numbers: Floats | None,
    given: Given,
    rows: Codes,
    free: NDArray[np.bool_],
    method: str,
    settings: Settings,
    rng: np.random.Generator,
) -> ColumnModel:
    """Model a column on the training rows ``rows`` that are ``free``: no rule fixes their value."""
    how = COLUMN_METHODS[method]
    every = np.flatnonzero(free) if free.any() else np.arange(len(free))
    rows = rows[free[rows]] if free[rows].any() else every
    number, bounds = None, None
    if variable.counted and numbers is not None:
        spikes = _spikes(numbers[rows], settings.spike)
        if settings.classes and how.k_class:
            spikes = tuple(np.unique(numbers[rows][~np.isnan(numbers[rows])]).tolist())
        variable = dataclasses.replace(variable, spikes=spikes)
        codes = variable.mark_spikes(codes, numbers)
        base = every if how.posterior else rows
        present = base[codes[base] == NUMBER]
        if len(present):
            bounds = (float(numbers[present].min()), float(numbers[present].max()))
            number = how.numbers(given.take(present), numbers[present], settings, rng)
    kinds = codes[rows].astype(float)
    kind: Sampler | None = None
    if number is None or len(np.unique(kinds)) > 1:
        only = len(np.unique(kinds)) == 1
        kind = Pool(kinds[:1]) if only else how.classes(given.take(rows), kinds, settings, rng)
    return ColumnModel(variable, (), (), kind, number, bounds)


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


def dump(models: Sequence[ColumnModel]) -> State:
    """Give models as plain values and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    plain: list[dict[str, Any]] = []
    for place, model in enumerate(models):
        parts = {part: getattr(model, part) for part in PARTS if getattr(model, part) is not None}
        for part, sampler in parts.items():
            arrays |= {f"{place}_{part}_{name}": a for name, a in arrays_of(sampler).items()}
        plain.append(
            {
                "name": model.name,
                "labels": list(model.variable.labels),
                "counted": model.variable.counted,
                "spikes": list(model.variable.spikes),
                "predictors": list(model.predictors),
                "fixed": [
                    [f.rule.text, f.code, None if np.isnan(f.number) else f.number]
                    for f in model.fixed
                ],
                "bounds": model.bounds,
                **{part: NAMES[type(sampler)] for part, sampler in parts.items()},
            }
        )
    return State({"columns": plain}, arrays)


def rebuild(state: State, schema: Schema) -> list[ColumnModel]:
    """Take models back; refuse what does not fit together."""
    made: list[ColumnModel] = []
    for place, entry in enumerate(state.values["columns"]):
        spikes = tuple(map(number, entry["spikes"]))
        labels, counted = texts(entry["labels"]), entry["counted"] is True
        variable = Variable(schema[entry["name"]], labels, counted, spikes)
        predictors = tuple(whole(other, 0, place - 1) for other in entry["predictors"])
        levels = np.array([made[other].variable.levels for other in predictors], np.int64)
        samplers: dict[str, Sampler | None] = dict.fromkeys(PARTS)
        for part, codes in zip(PARTS, (variable.codes, None), strict=True):
            if entry.get(part) is not None:
                own = state.part(f"{place}_{part}_")
                samplers[part] = SAMPLERS[entry[part]].of(own, Asked(levels, codes))
        if list(spikes) != sorted(set(spikes)) or (counted and not variable.is_number):
            raise Damaged(f"the column '{variable.column.name}' is drawn as something else")
        if variable.column.name in [model.name for model in made]:
            raise Damaged(f"the column '{variable.column.name}' is drawn twice")
        fixed = tuple(
            Fixed(
                Rule.parse(text),
                whole(code, 0, variable.codes - 1),
                float("nan") if value is None else number(value),
            )
            for text, code, value in entry["fixed"]
        )
        bounds = entry["bounds"]
        if bounds is not None:
            low, high = map(number, bounds)
            bounds = (low, high)
        made.append(ColumnModel(variable, predictors, fixed, **samplers, bounds=bounds))
    return made
