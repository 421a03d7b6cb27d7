"""Six tables of different shape, and the roles of their columns."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

Find = Callable[[str], Path]


@dataclass(frozen=True)
class Case:
    """A real table and what an analyst and an attacker would say of it."""

    frame: Callable[[Find], Any]
    roles: Mapping[str, Any] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()
    attacked: bool = False


def _mixed(find: Find) -> pl.DataFrame:
    """Dates, words among numbers, missing values, a rare level, a skip pattern."""
    rng = np.random.default_rng(7)
    rows = 600
    region = rng.choice(
        ["north", "south", "east", "west", "isle"], rows, p=[0.4, 0.3, 0.2, 0.09, 0.01]
    )
    visits = rng.poisson(3, rows)
    cost = np.round(np.exp(3 + 0.2 * visits + rng.normal(0, 0.6, rows)), 2)
    words = [str(v) for v in visits]
    for place in rng.choice(rows, 40, replace=False):
        words[place] = ["refused", "unknown"][place % 2]
    seen = [dt.date(2021, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 500, rows)]
    insured = rng.random(rows) < 0.7
    frame = pl.DataFrame(
        {"region": region, "visits": words, "cost": cost, "seen": seen, "insured": insured,
         "premium": np.where(insured, np.round(cost * 0.3 + 20, 0), np.nan)}
    )  # fmt: skip
    gone = pl.Series(rng.random(rows) < 0.12)
    return frame.with_columns(
        pl.col("premium").fill_nan(None),
        pl.when(~gone).then(pl.col("region")).alias("region"),
    )


def _pair(find: Find) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    group = rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2])
    return pl.DataFrame({"group": group, "score": rng.integers(0, 20, 400) + (group == "a") * 5})


def _first(name: str, rows: int | None = None) -> Callable[[Find], pl.DataFrame]:
    def read(find: Find) -> pl.DataFrame:
        frame = pl.read_csv(find(name), infer_schema_length=None, null_values=["NA", ""])
        return frame if rows is None else frame.sample(rows, seed=3)

    return read


CASES: dict[str, Case] = {
    "randhie": Case(
        _first("randhie", 3000),
        {"keys": ["physlm", "idp", "hlthg"], "sensitive": ["mdvis"], "target": "mdvis",
         "formula": "mdvis ~ lncoins + idp + disea"},
        ("mdvis",),
    ),
    "sd2011": Case(
        _first("sd2011"),
        {"keys": ["sex", "age", "region"], "sensitive": ["income", "ls"], "target": "smoke"},
        ("income",),
    ),
    "insurance": Case(
        _first("insurance"),
        {"keys": ["age", "sex", "region"], "sensitive": ["charges", "smoker"], "target": "charges",
         "formula": "charges ~ age + bmi + smoker"},
        ("charges", "bmi"),
    ),
    "adult": Case(
        _first("adult_trn", 3000),
        {"keys": ["age", "sex", "race"], "sensitive": ["income"], "target": "income"},
        ("income",),
    ),
    "mixed": Case(
        _mixed,
        {"keys": ["region", "visits"], "sensitive": ["insured", "cost"], "target": "insured",
         "formula": "cost ~ insured"},
        ("cost",),
        attacked=True,
    ),
    "pair": Case(
        _pair, {"keys": ["group"], "sensitive": ["score"], "target": "group"}, ("score",),
        attacked=True,
    ),
}  # fmt: skip
