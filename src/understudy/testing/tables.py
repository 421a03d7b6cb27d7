"""Made-up tables that laws are tried on, and what of them must not be shared."""

import datetime as dt
import re
from collections import Counter
from typing import Any

import numpy as np
import polars as pl

FEWEST_SHARED = 5  # records that must hold a value for it to be shared
FIRST_DAY = dt.date(2020, 1, 1)
NUMBER = re.compile(r"-?\d+(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
HASH = re.compile(r"\b[0-9a-f]{12,64}\b")  # random digits, among them 27e5


def people(rows: int, seed: int) -> pl.DataFrame:
    """Draw people: numbers, categories, dates, a constant, missing values, a key."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    age = rng.integers(18, 90, rows)
    income = np.round(rng.lognormal(9 + 0.01 * age, 0.5), 2)
    town = rng.choice([f"town {i}" for i in range(30)], rows, p=np.arange(1, 31) / 465)
    day = [FIRST_DAY + dt.timedelta(days=int(d)) for d in rng.integers(0, 700, rows)]
    frame = pl.DataFrame(
        {
            "person_id": 1_000_000 * seed + np.arange(rows),
            "sex": sex,
            "age": age,
            "income": income,
            "town": town,
            "day": day,
            "children": rng.poisson(1, rows).clip(0, 4),
            "smoker": rng.random(rows) < 0.2,
            "country": ["AT"] * rows,
            "nothing": pl.Series([None] * rows, dtype=pl.String),
        }
    )
    gone = pl.Series(rng.random(rows) < 0.1)
    return frame.with_columns(pl.when(~gone).then(pl.col("income")).alias("income"))


def patients(seed: int, rows: int = 300) -> pl.DataFrame:
    """Draw a table in which every kind of column has values that few records hold.

    They are long enough not to be met by chance among shares, p-values and coordinates.
    """
    rng = np.random.default_rng(seed)
    base = 1000 * seed

    def with_rare(values: list[Any], rare: list[Any], times: int) -> list[Any]:
        places = rng.permutation(rows)[: len(rare) * times]
        for place, value in zip(places, rare * times, strict=True):
            values[place] = value
        return values

    day = dt.date(2015, 1, 1)
    days = [day + dt.timedelta(days=7 * int(d)) for d in rng.integers(0, 30, rows)]
    first = dt.date(1801, 1, 1) + dt.timedelta(days=seed * 400)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "town": with_rare(
                rng.choice(["North", "South", "West"], rows).tolist(),
                [f"hamlet {base + i}" for i in range(12)],
                1 + seed % 4,
            ),
            "illness": with_rare(
                rng.choice(["none", "flu"], rows).tolist(), [f"syndrome-{base}x", f"gene {base}"], 2
            ),
            "class": with_rare(
                rng.choice(["yes", "no"], rows).tolist(), [f"refused {base}"], FEWEST_SHARED - 1
            ),
            "age": with_rare(
                rng.integers(30, 36, rows).tolist(),
                [90_000 + base + i for i in range(4)],
                FEWEST_SHARED - 1,
            ),
            "wealth": with_rare(
                (10_000 * rng.integers(100, 300, rows)).tolist(),  # round, and yet rare
                [-987_654_000 - base, 123_456_000 + base, 31_007_000 + base],
                1,
            ),
            "income": (rng.lognormal(10.5, 0.4, rows) + 10_000).round(3),
            "weight": with_rare(
                rng.choice([0.0, 60.5, 70.5, 80.5], rows).tolist(),
                [round(55_555.125 + base + i, 3) for i in range(20)],
                2,
            ),
            "visit": with_rare(days, [first + dt.timedelta(days=3 * i) for i in range(9)], 2),
            "code": with_rare([str(c) for c in rng.integers(100, 160, rows)], [f"word{base}w"], 3),
            "seldom": [None] * (rows - 3) + [700_001.5 + base, 700_002.5 + base, 700_003.5 + base],
        }
    )


def rare_values(train: pl.DataFrame) -> tuple[set[str], set[float]]:
    """Collect what fewer than five training records hold and nobody meets by chance."""
    texts, numbers = set(), set()
    for name in train.columns:
        for value, times in Counter(train[name].drop_nulls().to_list()).items():
            if times >= FEWEST_SHARED:
                continue
            if isinstance(value, int | float) and abs(value) >= 5000:
                numbers.add(float(value))
            elif not isinstance(value, int | float) and len(str(value)) >= 5:
                texts.add(str(value))
    return texts, numbers


def rare_values_in(shared: str, train: pl.DataFrame) -> list[str]:
    """List the values in a text that fewer than five training records hold.

    Examples
    --------
    >>> train = patients(1)
    >>> rare_values_in("shares by town: North 30 %", train)
    []
    >>> rare_values_in("shares by town: hamlet 1003 1 %", train)
    ['hamlet 1003']
    """
    texts, numbers = rare_values(train)
    found = NUMBER.findall(HASH.sub("", shared))
    printed = {abs(float(number.replace(",", ""))) for number in found}
    seen = [f"{number:g}" for number in numbers if abs(number) in printed]
    return sorted([*seen, *(text for text in texts if text in shared)])
