"""A small method that claims an epsilon: noisy counts of each column's declared levels."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl

from understudy.data.schema import Column, Schema
from understudy.errors import SchemaError
from understudy.synthesizers import MethodCard
from understudy.synthesizers.budget import Budget, Step
from understudy.synthesizers.model_file import State

PEOPLE = pl.DataFrame(
    {
        "person": [f"p{i}" for i in range(200)],
        "sex": ["f", "m", "f", "f"] * 50,
        "town": ["Wien", "Graz"] * 100,
    }
)
LEVELS = {"sex": ("f", "m", "x"), "town": ("Graz", "Linz", "Wien")}
DECLARED = Schema(
    (
        Column("person", "identifier", why="200 values in 200 rows"),
        *(Column(name, "category", levels=levels) for name, levels in LEVELS.items()),
    )
)


@dataclass(kw_only=True)
class Noisy:
    epsilon: float | None = None
    proper: bool = False
    counts_: dict[str, list[int]] = field(default_factory=dict, init=False)
    schema_: Schema | None = field(default=None, init=False)
    rows_: int = field(default=0, init=False)
    spending_: tuple[Step, ...] = field(default=(), init=False)

    card: ClassVar[MethodCard] = MethodCard(
        "noisy", "Noisy counts", "columns", "the rest", "epsilon", "noisy counts", "nobody",
        holds="model",
    )  # fmt: skip

    def fit(self, table, rng, progress):
        columns = [c for c in table.schema if c.is_modelled]
        if self.epsilon is not None and any("levels" in c.inferred for c in columns):
            raise SchemaError("the levels of a column must be declared", hint="declare them")
        budget = None if self.epsilon is None else Budget(self.epsilon, rng)
        for column in columns:
            found = table.values(column.name).labels
            counts = [int((found == level).sum()) for level in column.levels]
            if budget is not None:
                counts = budget.counts(
                    f"counts of {column.name}", counts, epsilon=budget.epsilon / len(columns)
                ).tolist()
            self.counts_[column.name] = [max(count, 0) for count in counts]
        self.schema_ = table.schema
        if budget is not None:
            self.rows_, self.spending_ = sum(self.counts_[columns[0].name]), budget.steps
        return self

    def sample(self, rows, rng):
        assert self.schema_ is not None
        made = {}
        for name, counts in self.counts_.items():
            chances = (np.array(counts) + 1e-9) / (np.array(counts) + 1e-9).sum()
            levels = self.schema_[name].levels
            made[name] = [levels[code] for code in rng.choice(len(levels), rows, p=chances)]
        return pl.DataFrame(made, schema=dict.fromkeys(made, pl.String))

    def state(self):
        return State(values=self.counts_)

    def restore(self, state, schema):
        self.counts_, self.schema_ = dict(state.values), schema
        return self

    def knows_chances(self, schema):
        return True
