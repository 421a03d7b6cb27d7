"""Made-up people with every kind of column, drawn from one distribution."""

import datetime as dt

import numpy as np
import polars as pl

FIRST_DAY = dt.date(2020, 1, 1)


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
