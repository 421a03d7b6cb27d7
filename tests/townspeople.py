"""Townspeople of a declared domain, and budgets that keep or repeat what they handed out."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.schema import Column, Schema
from understudy.data.tables import Table
from understudy.judging.comparison import silent
from understudy.synthesizers.bayes import Bayes
from understudy.synthesizers.bayes import method as method_module
from understudy.synthesizers.budget import Budget

DECLARED = Schema(
    (
        Column("key", "identifier", "integer"),
        Column("sex", "category", levels=("f", "m", "x")),
        Column("age", "number", "integer", decimals=0, bounds=(0.0, 120.0)),
        Column("wage", "number", "float", decimals=2, bounds=(0.0, 9000.0), levels=("N",)),
        Column("born", "date", "date", bounds=(0.0, 1e15), unit="day"),
        Column("city", "category", levels=("Graz", "Linz", "Wien", "Wels")),
    )
)


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    age = rng.integers(18, 90, rows)
    wage = [f"{w:.2f}" for w in rng.gamma(3, 500, rows) * (1 + (sex == "m"))]
    wage = ["N" if rng.random() < 0.1 else None if rng.random() < 0.1 else w for w in wage]
    born = pl.Series((2025 - age) * 365 - 1970 * 365).cast(pl.Int32).cast(pl.Date)
    city = np.where(sex == "m", "Wien", rng.choice(["Graz", "Linz", "Wien"], rows))
    return pl.DataFrame(
        {"key": np.arange(rows), "sex": sex, "age": age, "wage": wage, "born": born, "city": city}
    )


def table(rows: int = 400, seed: int = 1) -> Table:
    return Table.of(people(rows, seed), DECLARED)


def fit(data: Table, seed: int = 0, **options) -> Bayes:
    method = Bayes(**{"epsilon": 1.0, **options})
    return method.fit(data, np.random.default_rng(seed), silent)


def seeded(*args, **options):
    """Fit through the front door; that a seed is given is warned about."""
    with pytest.warns(UserWarning, match="seed"):
        return us.synthesizer("bayes", seed=1, **options).fit(*args)


class Replay(Budget):
    """A budget that hands out what another one did, and checks how far one row reaches."""

    def follow(self, tape):
        self.tape, self.reach = iter(tape), []
        return self

    def counts(self, what, counts, *, epsilon, sensitivity=1):
        name, exact, made = next(self.tape)
        assert (name, exact.shape) == (what, np.shape(counts))
        self.reach.append(np.abs(exact - counts).sum())
        assert self.reach[-1] <= sensitivity
        super().counts(what, counts, epsilon=epsilon, sensitivity=sensitivity)
        return made

    def choose(self, what, scores, *, epsilon, sensitivity):
        name, exact, made = next(self.tape)
        assert (name, exact.shape) == (what, np.shape(scores))
        self.reach.append(np.abs(exact - scores).max())
        assert self.reach[-1] <= sensitivity + 1e-6
        super().choose(what, scores, epsilon=epsilon, sensitivity=sensitivity)
        return made


class Tape(Budget):
    """A budget that keeps what was asked and given."""

    def counts(self, what, counts, *, epsilon, sensitivity=1):
        made = super().counts(what, counts, epsilon=epsilon, sensitivity=sensitivity)
        self.__dict__.setdefault("tape", []).append((what, np.array(counts), made))
        return made

    def choose(self, what, scores, *, epsilon, sensitivity):
        made = super().choose(what, scores, epsilon=epsilon, sensitivity=sensitivity)
        self.__dict__.setdefault("tape", []).append((what, np.array(scores), made))
        return made


def taped(data: Table, monkeypatch, seed: int = 0, **options):
    budgets = []
    monkeypatch.setattr(
        method_module, "Budget", lambda e, rng: budgets.append(Tape(e, rng)) or budgets[0]
    )
    return fit(data, seed, **options), budgets[0].tape
