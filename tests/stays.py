"""Made-up stays: dates in order, places that belong together, a key."""

import datetime as dt

import numpy as np
import polars as pl

PLACES = [
    ("Linz", "AT", 1),
    ("Graz", "AT", 1),
    ("Bern", "CH", 2),
    (None, "CH", 2),
    ("Linz", "DE", None),
]
FIRST = dt.date(2020, 1, 1)


def stays(rows: int, seed: int) -> pl.DataFrame:
    """Draw stays: a start before an end (one in twenty is wrong), places, an age, a key."""
    rng = np.random.default_rng(seed)
    place = [PLACES[i] for i in rng.choice(len(PLACES), rows, p=[0.3, 0.3, 0.2, 0.1, 0.1])]
    start = rng.integers(0, 300, rows)
    length = np.where(rng.random(rows) < 0.05, -3, rng.integers(0, 40, rows))
    gone = rng.random(rows) < 0.1
    return pl.DataFrame(
        {
            "key": [f"AT-{i * 7919 % 100_000:05d}" for i in range(rows)],
            "city": [p[0] for p in place],
            "start": [FIRST + dt.timedelta(days=int(d)) for d in start],
            "country": [p[1] for p in place],
            "end": [
                None if g else FIRST + dt.timedelta(days=int(d))
                for d, g in zip(start + length, gone, strict=True)
            ],
            "age": rng.integers(0, 100, rows),
            "zone": pl.Series([p[2] for p in place], dtype=pl.Int64),
            "pay": np.round(rng.normal(50, 30, rows), 2),
        }
    )
