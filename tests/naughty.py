"""Generators that fail in every way, for tests; worker processes import them from here."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl


def shuffled(table, seed):
    """Give rows of the table at random."""
    rng = np.random.default_rng(seed)
    return lambda n: table[rng.integers(0, table.height, n)]


def signed(table, seed, folder):
    """Leave a file with the name of the process."""
    (Path(folder) / str(os.getpid())).touch()
    return shuffled(table, seed)


def talkative(table, seed):
    sys.stdout.write("hello\n")
    sys.stdout.flush()
    os.write(1, b"more words than any protocol bears\n")
    return shuffled(table, seed)


def inherits(table, seed):
    """Say what a program that it starts would inherit."""
    raise ValueError(os.environ.get("PYTHONPATH", "nothing"))


def by_world(table, seed):
    """Fail as the first value of the column ``how`` says."""
    how = table["how"][-1]
    if how == "raises":
        raise ValueError("I do not like this table")
    if how == "hangs":
        time.sleep(60)
    if how == "dies":
        os._exit(7)
    if how == "other columns":
        return lambda n: shuffled(table, seed)(n).rename({"number": "figure"})
    if how == "too few":
        return lambda n: shuffled(table, seed)(n - 1)
    return shuffled(table, seed)


def mean_of_numbers(samples):
    return np.array([float(sample.frame["number"].mean()) for sample in samples])


def remembers(table, seed):
    """Copy rows, but for half of them, which are drawn column by column."""
    rng = np.random.default_rng(seed)

    def sample(n):
        copied = table[rng.integers(0, table.height, n - n // 2)]
        drawn = {c: table[c][rng.integers(0, table.height, n // 2)] for c in table.columns}
        return pl.concat([copied, pl.DataFrame(drawn)])

    return sample


def forgets(table, seed):
    """Give letters, whatever the table holds."""
    rng = np.random.default_rng(seed)
    return lambda n: pl.DataFrame({c: rng.choice(["a", "b"], n) for c in table.columns})
