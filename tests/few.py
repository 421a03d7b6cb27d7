"""Columns whose values few rows hold, and the check that none of those is shown."""

import datetime as dt

import numpy as np
import polars as pl

ROWS = 400
DAY = dt.datetime(2020, 1, 1)


def adversarial(rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    """Draw columns in which most values, extremes above all, are held by few rows."""
    rng = np.random.default_rng(seed)
    normal, each = rng.normal(size=rows), np.arange(rows)
    heavy = np.exp(3 * normal)
    heavy[:3] = 1e12, -1e12, 7e11
    gone = np.where(rng.random(rows) < 0.3, 5.0, np.round(normal, 1))
    gone[:3] = np.nan
    days = rng.integers(0, 300, rows)
    seconds = [DAY + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 10**8, rows)]
    words = [str(v) for v in rng.integers(0, 150, rows)]
    words[:3], words[3:20] = ["refused", "unknown", "unknown"], ["N"] * 17
    return pl.DataFrame(
        {
            "float": normal,
            "heavy": heavy,
            "below": np.concatenate([-(10.0 ** np.arange(17)), rng.random(rows - 17)]),
            "single": pl.Series(normal, dtype=pl.Float32),
            "cents": np.round(np.exp(8 + normal), 2),
            "few_cents": np.round(rng.random(rows), 2),
            "micro": np.round(rng.random(rows) / 1000, 5),
            "nano": np.round(rng.random(rows) / 10**6, 9),
            "noisy": rng.integers(0, 200, rows) * 0.1 + 0.2,
            "unique": 1000 + 7 * rng.permutation(rows),
            "dense": np.repeat(np.arange(-50, rows), 3)[:rows],
            "dense_odd": np.repeat(np.arange(-50, rows), 3)[:rows] * 2 + (each % 97 == 0),
            "age": rng.integers(18, 90, rows),
            "count": rng.geometric(0.2, rows),
            "huge": 2**60 + rng.integers(0, 3000, rows),
            "huge_few": 2**61 + 512 * (each // 6) + each % 2,
            "even_huge": 2**61 + 512 * rng.integers(0, 100, rows),
            "gone": gone,
            "words": words,
            "day": [(DAY + dt.timedelta(days=int(d))).date() for d in days],
            "moment": seconds,
            "span": [dt.timedelta(minutes=int(m)) for m in rng.integers(0, 600, rows)],
            "clock": [(DAY + dt.timedelta(minutes=int(m))).time() for m in days * 4],
            "german": [(DAY + dt.timedelta(days=int(d))).strftime("%d.%m.%Y") for d in days],
            "level": [f"level {v}" for v in rng.geometric(0.1, rows)],
            "yes": each < 3,
            "yes_often": rng.random(rows) < 0.3,
            "constant": ["same"] * rows,
            "code": pl.Series([1, 2, 3, 4] * (rows // 4)).set(pl.Series(each < 2), 9),
        }
    )


def check(train: pl.Series, made: pl.Series, k: int) -> None:
    """Insist that no value is held by 1 to k - 1 rows, and none lies among the k - 1 extremes."""
    assert made.dtype == train.dtype
    if made.null_count() == len(made):
        return
    if train.dtype == pl.String:
        both = [s.str.to_date("%d.%m.%Y", strict=False) for s in (train, made)]
        if both[0].is_null().any():
            both = [s.cast(pl.Float64, strict=False) for s in (train, made)]
        _spare(train, made, k)
        if both[0].count() > k and both[1].count():
            check(*(s.drop_nulls() for s in both), k)
        return
    _spare(train.fill_nan(None) if train.dtype.is_float() else train, made, k)
    if train.dtype != pl.Boolean and made.count():
        ordered = train.drop_nulls().sort()
        if train.dtype.is_float():
            ordered = ordered.drop_nans()
        assert made.min() >= ordered[k - 1]
        assert made.max() <= ordered[-k]


def _spare(train: pl.Series, made: pl.Series, k: int) -> None:
    counts = dict(train.rename("value").value_counts().iter_rows())
    for value in made.unique().to_list():
        assert not 0 < counts.get(value, 0) < k, (train.name, value, counts[value])


def check_all(train: pl.DataFrame, made: pl.DataFrame, k: int) -> None:
    for name in made.columns:
        check(train[name], made[name], k)
