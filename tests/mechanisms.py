"""Mechanisms of differential privacy, right and wrong, for audits: ``fit(table, seed) → sample``.

All make a histogram over colour and amount and add Laplace noise for one record more or less.
"""

import numpy as np
import polars as pl

EPSILON = 1.0
COLOURS = ["blue", "green", "red", "white"]
EDGES = np.linspace(0.0, 100.0, 5)


def paint(rows: int, seed: int) -> pl.DataFrame:
    """Draw a table of the domain that the mechanisms know."""
    rng = np.random.default_rng(seed)
    colours = rng.choice(COLOURS, rows, p=[0.5, 0.3, 0.15, 0.05])
    return pl.DataFrame(
        {"colour": colours, "amount": np.round(rng.gamma(4, 5, rows).clip(0, 99), 2)}
    )


def _histogram(table, seed, scale, edges):
    rng = np.random.default_rng(seed)
    colours = np.searchsorted(COLOURS, table["colour"].to_numpy())
    bins = np.clip(np.searchsorted(edges, table["amount"].to_numpy(), "right") - 1, 0, 3)
    counts = np.bincount(4 * colours + bins, minlength=16) + rng.laplace(0, scale, 16)
    counts = np.maximum(counts, 0)
    chances = counts / counts.sum() if counts.sum() > 0 else np.full(16, 1 / 16)

    def sample(rows):
        cells = rng.choice(16, rows, p=chances)
        amount = edges[cells % 4] + rng.random(rows) * (edges[1] - edges[0])
        return pl.DataFrame({"colour": [COLOURS[c] for c in cells // 4], "amount": amount})

    return sample


def right(table, seed):
    """Keep epsilon: noise of scale 1/ε, bounds known beforehand."""
    return _histogram(table, seed, 1 / EPSILON, EDGES)


def half_the_noise(table, seed):
    """Add half the noise that the claim needs: it spends 2 ε."""
    return _histogram(table, seed, 0.5 / EPSILON, EDGES)


def learnt_bounds(table, seed):
    """Learn the bounds of amounts from the data without paying for it."""
    low, high = table["amount"].min(), table["amount"].max()
    return _histogram(table, seed, 1 / EPSILON, np.linspace(low, max(high, low + 1e-9), 5))


right.epsilon = half_the_noise.epsilon = learnt_bounds.epsilon = EPSILON


def blind(table, seed):
    """Draw people who have nothing to do with the table."""
    from people import people

    return lambda rows: people(rows, 1000 + seed % 100_000)


def picky(table, seed):
    """Copy rows, but refuse small tables."""
    if table.height < 60:
        raise ValueError(f"I need 60 rows, not {table.height}")
    rng = np.random.default_rng(seed)
    return lambda rows: table[rng.integers(0, table.height, rows)]
