"""Sensitive columns, each seen through sets of keys: one look each, judged together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import LEVEL, Card, Finding, Part, TableOfNumbers
from understudy.measures.pictures.rule import K
from understudy.measures.privacy.disclosure.codes import check_bins, column
from understudy.measures.privacy.disclosure.persons import (
    FEW_HOLDOUT,
    FEW_TRAINING,
    Look,
    real,
    settings,
)
from understudy.measures.privacy.looks import each_alone, take_looks

Floats = NDArray[np.float64]
Interval = tuple[float, float]
REGISTER = {
    "measure": pl.String,
    "training_row": pl.Int64,
    "attack": pl.String,
    "why": pl.String,
}
MOST_LISTED = 1000


def prepare(
    comparison: Comparison, *, name: str, target_bins: int, missing: bool, **options: Any
) -> tuple[list[Look], tuple[Which, ...], list[str]] | str:
    """Give a look for each set of keys and sensitive column worth learning, or why there is none.

    With the looks come the tables of real persons that may be told about, and what is to be said.
    ``name`` is the measure's; ``options`` are those of ``settings``.
    """
    check_bins(target_bins=target_bins)
    known = settings(comparison, name=name, missing=missing, **options)
    if isinstance(known, str):
        return known
    worth, dull = _worth_learning(comparison)
    if not worth:
        return " ".join(dull)
    said = [*known[1], *dull]
    if target_bins and any(comparison.schema[column].is_numeric for column in worth):
        said.append(f"Sensitive numbers were cut into {target_bins} bins.")
    looks = [
        Look.of(
            setting, column, target_bins=target_bins, missing=missing, several=len(known[0]) > 1
        )
        for setting in known[0]
        for column in worth
    ]
    told = [look for look in looks if look.enough("train")]
    if not told:
        return FEW_TRAINING
    tables = real(comparison)
    compared = [look for look in told if all(look.enough(which) for which in tables)]
    if compared:
        told = compared
    else:
        tables = ("train",)
        said.append(FEW_HOLDOUT)
    kept = {look.title for look in told}
    few = [look.title for look in looks if look.title not in kept]
    if few:
        said.append(f"Left out, for fewer than {K} persons are targets: {', '.join(few)}.")
    return told, tables, said


def _worth_learning(comparison: Comparison) -> tuple[list[str], list[str]]:
    """Give the sensitive columns that differ between training persons, and words on the others."""
    kept, said = [], []
    for name in comparison.sensitive:
        values = column(comparison, name).of["train"]
        if not values.any():
            said.append(f"'{name}' has no value in training: there is nothing to learn about it.")
        elif np.ptp(values) == 0:
            said.append(f"'{name}' is the same for all training persons: nothing to learn.")
        else:
            kept.append(name)
    return kept, said


@dataclass(frozen=True)
class Judged:
    """What the looks give on training persons, on holdout persons, and the worst of them."""

    names: list[str]
    value: list[float]
    reference: list[float | None]
    interval: list[Interval]
    p_value: list[float | None]
    worst: int
    draws: Floats | None
    note: str

    @classmethod
    def of(
        cls,
        card: Card,
        looks: Sequence[Look],
        scores: Mapping[Which, Floats],
        *,
        permutations: int,
        alone: Callable[[Floats], Interval],
        naive: Sequence[float] | None = None,
        without: str = "",
        strata: str | None = None,
        group: str | None = None,
    ) -> "Judged":
        """Judge scores of shape (persons, looks), nan where a person is no target.

        Without a holdout, each look has the interval that ``alone`` gives and the largest is
        shown, less its naive guess if there is one; ``without`` says what is then not known.
        ``strata`` or ``group`` names the column that the split respected.
        """
        comparison = looks[0].setting.comparison
        names = [look.title for look in looks]
        if "holdout" in scores:
            pooled = np.vstack([scores["train"], scores["holdout"]])
            found = take_looks(
                comparison,
                pooled,
                names,
                name=card.name,
                permutations=permutations,
                strata=strata,
                group=group,
            )
            return cls(
                names,
                found.value.tolist(),
                found.reference.tolist(),
                [found.interval(look, 0.0, 1.0) for look in range(len(looks))],
                found.p_value.tolist(),
                found.worst,
                found.draws[:, 0] if len(looks) == 1 else None,
                found.note,
            )
        own = [scores["train"][:, place] for place in range(len(looks))]
        own = [score[~np.isnan(score)] for score in own]
        value = [float(score.mean()) for score in own]
        nothing: list[None] = [None] * len(looks)
        worst = int(np.argmax(np.array(value) - (0.0 if naive is None else np.array(naive))))
        beyond = "" if naive is None else " beyond its naive guess"
        several = each_alone(names, worst, f"the largest{beyond}")
        return cls(
            names,
            value,
            [*nothing],
            [alone(score) for score in own],
            [*nothing],
            worst,
            None,
            f"{several} {without}".strip(),
        )

    def finding(
        self,
        card: Card,
        *,
        original: Sequence[float],
        naive: Sequence[float],
        tables: Mapping[str, TableOfNumbers],
        notes: Sequence[str],
        register: pl.DataFrame,
    ) -> Finding:
        """Put the worst look in front, and all looks into parts."""
        p_value = self.p_value[self.worst]
        return Finding(
            card.name,
            unit=card.unit,
            better=card.better,
            value=self.value[self.worst],
            interval=self.interval[self.worst],
            reference=self.reference[self.worst],
            baselines={"original": original[self.worst], "naive": naive[self.worst]},
            p_value=p_value,
            flagged=p_value is not None and p_value < 1 - LEVEL,
            parts=tuple(
                Part(
                    name,
                    self.value[i],
                    self.reference[i],
                    {"original": original[i], "naive": naive[i], "p_value": self.p_value[i]},
                    interval=self.interval[i],
                )
                for i, name in enumerate(self.names)
            ),
            tables=tables,
            note=" ".join(filter(None, notes)),
            register=register,
            draws=self.draws,
        )


def titles(tables: Sequence[Which]) -> tuple[str, ...]:
    """Name the tables of real persons as headings."""
    return tuple({"train": "training", "holdout": "holdout"}.get(w, w) for w in tables)
