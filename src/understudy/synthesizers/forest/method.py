"""The forest method."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl

from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.forest import models
from understudy.synthesizers.forest.balance import Balance, fit_balance
from understudy.synthesizers.forest.support import Support


@dataclass
class Forest:
    k: int = 5
    trees: int = 20
    min_leaf: int = 10
    penalty: float = 1.5
    base: float = 0.0
    power: float = 1.0
    fine: float = 64.0
    z: float = 0
    slack: float = 0.9
    triples: int = 200
    pool: int = 4
    sweeps: int = 1
    share: float = 1.0
    boost: int = 2
    odds: dict = field(default_factory=dict)
    supports_: list[Support] = field(init=False, repr=False)
    models_: list = field(init=False, repr=False)
    balance_: Balance | None = field(init=False, repr=False, default=None)

    card: ClassVar[MethodCard] = MethodCard("forest", "", "", "", "", "", "")

    def fit(self, table, rng, progress):
        fitted = [Support.fit(table.values(n), table.schema[n], self.k) for n in table.schema.modelled]
        self.supports_ = [s for s, _ in fitted]
        codes = np.column_stack([c for _, c in fitted])
        codes = np.asfortranarray(codes)
        self.codes = codes
        self.models_ = []
        settings = models.Settings(self.trees, self.min_leaf, self.penalty, self.base, self.power, share=self.share, fine=self.fine)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for j, support in enumerate(self.supports_):
                shown = codes[:, j] < support.size
                target = codes[shown, j]
                given = codes[shown, :j]
                counts = np.bincount(target, minlength=support.size)
                group_of = models.group_codes(counts, support.column.is_numeric)
                many = int(group_of[-1]) + 1
                ranks = []
                for i in range(j):
                    s = self.supports_[i]
                    if s.column.is_numeric:
                        ranks.append(np.arange(s.size + 1, dtype=np.uint16))
                    else:
                        ranks.append(models.order_levels(given[:, i], s.size + 1, group_of[target], many))
                if 2 <= support.size <= self.boost and j:
                    self.models_.append(models.fit_odds(given, tuple(ranks), target, support.size, rng, **self.odds))
                else:
                    self.models_.append(
                        models.fit_trees(given, tuple(ranks), target, support.size, group_of, settings, rng, pool)
                    )
        if self.z < 50:
            made = self._draw(min(4 * len(codes), 200_000), rng)
            from understudy.synthesizers.forest import balance as B; B.MOST_TRIPLES=self.triples
            self.balance_ = fit_balance(codes, made, [s.size for s in self.supports_], slack=self.slack)
        return self

    def _draw(self, rows, rng):
        codes = np.empty((rows, len(self.supports_)), np.uint16, order="F")
        for j, model in enumerate(self.models_):
            codes[:, j] = model.draw(codes[:, :j], rng)
        return codes

    def sample(self, rows, rng):
        if self.balance_ is None:
            codes = self._draw(rows, rng)
        else:
            pool = self._draw(self.pool * rows, rng)
            codes = pool[self.balance_.select(pool, rows, sweeps=self.sweeps)]
        return pl.DataFrame({s.column.name: s.decode(codes[:, j], rng) for j, s in enumerate(self.supports_)})

    def state(self): ...
    def restore(self, state, schema): ...
