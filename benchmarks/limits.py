"""Odd and large tables, and whole measures on adult: nothing takes for ever."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from measuring import best, cpu

import understudy as us
from understudy.data.datasets import dataset
from understudy.data.tables import Table
from understudy.judging.comparison import compare_tables
from understudy.measures import MEASURES
from understudy.synthesizers.bayes.conditionals import merge_codes
from understudy.workflows.advise import advise
from understudy.workflows.measuring import run_measure as measured


def run() -> Iterator[tuple[str, str, str]]:
    many = np.arange(60_000.0)[::-1]
    seconds = best(lambda: merge_codes(many, 0, (24, 8)))
    yield "`bayes`: 60,000 levels grouped", f"{seconds:.2f} s", "< 2 s"
    table = Table.of(codes(20_000, 40))
    seconds = best(lambda: advise(table, budget=0.1), 1)
    yield "`keys`: 20,000 × 40 within 0.1 s, stopped after", f"{seconds:.1f} s", "< 10 s"
    for method in ("cart", "sequential"):
        seconds = fitted(method, streets(20_000), 20_000)
        yield f"`{method}`: 20,000 rows, 1,000 levels twice", f"{seconds:.1f} CPU s", "< 10 s"
    seconds = fitted("bayes", wide(71_000, 52), 0)
    yield "`bayes`: 71,000 rows × 52 columns", f"{seconds:.1f} CPU s", "< 60 s"
    for label, frame, rows, options in (
        ("2,000 rows × 200 columns", wide(2000, 200), 2000, {}),
        ("240,000 rows, 40,000 levels, 4 trees", levels(240_000, 40_000), 50_000, {"trees": 4}),
        ("2 million rows × 4 columns, 4 trees", tall(2_000_000), 20_000, {"trees": 4}),
    ):
        seconds = fitted("forest", frame, rows, **options)
        yield f"`forest`: {label}", f"{seconds:.1f} CPU s", "< 60 s"
    files = [dataset(f"adult_{part}").path() for part in ("trn", "synthpop", "val")]
    for name, target, options, limit in (
        ("utility.classification", "income", {}, "< 60 s"),
        ("fidelity.detection", None, {}, "< 20 s"),
        ("utility.regression", "age", {"models": "linear,svr,mlp,boosting"}, "< 120 s"),
    ):
        comparison = compare_tables(*files, target=target, options={name: options})
        seconds = cpu(partial(measured, MEASURES[name], comparison), 1)
        yield f"`{name}`, adult", f"{seconds:.1f} CPU s", limit


def fitted(method: str, frame: pl.DataFrame, rows: int, **options: int) -> float:
    """Give the processor time of a fit and a draw; what is compiled, is compiled before."""
    us.synthesizer(method, **options).fit(frame.head(500)).sample(10)
    return cpu(lambda: us.synthesizer(method, seed=1, **options).fit(frame).sample(rows), 1)


def codes(rows: int, columns: int) -> pl.DataFrame:
    drawn = np.random.default_rng(1).integers(0, 50, (rows, columns)).astype(str)
    return pl.DataFrame(drawn, schema=[f"c{i}" for i in range(columns)])


def streets(rows: int) -> pl.DataFrame:
    """Draw towns and streets of a thousand levels each, and a number that goes with them."""
    rng = np.random.default_rng(3)
    town = rng.integers(0, 1000, rows)
    street = (7 * town + rng.integers(0, 30, rows)) % 1000
    size = np.round(town / 10 + rng.normal(size=rows), 3)
    level = np.array([f"level {i}" for i in range(1000)])
    return pl.DataFrame({"town": level[town], "street": level[street], "size": size})


def wide(rows: int, columns: int) -> pl.DataFrame:
    """Draw numbers and levels by turns that hang together."""
    rng = np.random.default_rng(0)
    hidden, made = rng.normal(size=(rows, 6)), {}
    for j in range(columns):
        x = hidden @ rng.normal(size=6) + rng.normal(size=rows)
        made[f"c{j}"] = np.round(np.exp(x / 3), 2) if j % 2 else np.digitize(x, range(-4, 5))
    return pl.DataFrame(made)


def levels(rows: int, many: int) -> pl.DataFrame:
    level = np.arange(rows) % many
    near = level + np.random.default_rng(0).normal(size=rows) * 50
    return pl.DataFrame({"near": near, "level": [f"v{v}" for v in level], "even": level % 2 == 0})


def tall(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    normal = rng.normal(size=rows)
    return pl.DataFrame(
        {
            "float": normal,
            "whole": np.round(1000 * normal).astype(int),
            "town": rng.integers(0, 50, rows).astype(str),
            "yes": rng.random(rows) < 0.3,
        }
    )
