"""What is done to noisy counts after they are bought; none of it looks at the data."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

SWEEPS = 5


def project(noisy: Floats, total: float) -> Floats:
    """Give the nearest counts that are not negative and add up to the total.

    Examples
    --------
    >>> project(np.array([6.0, 5.0, -2.0]), 9.0).tolist()
    [5.0, 4.0, 0.0]
    """
    flat = np.sort(noisy.ravel())[::-1]
    cut = (np.cumsum(flat) - total) / np.arange(1, len(flat) + 1)
    last = int(np.flatnonzero(flat > cut)[-1])
    made: Floats = np.maximum(noisy - cut[last], 0)
    return made


def adjust(
    noisy: Floats, variance: float, groups: Places, totals: Floats, their_variance: float
) -> Floats:
    """Move noisy counts towards totals of their groups that were bought elsewhere.

    The two are averaged by how noisy they are; the cells of a group share the difference.

    Examples
    --------
    >>> adjust(np.array([4.0, 6.0]), 1.0, np.zeros(2, int), np.array([16.0]), 2.0).tolist()
    [5.5, 7.5]
    """
    many = np.bincount(groups)
    own = many * variance
    gap = (totals - np.bincount(groups, noisy)) * own / (own + their_variance)
    made: Floats = noisy + (gap / many)[groups]
    return made


def shrink_lines(noisy: Floats, margin: Floats, variance: float) -> Floats:
    """Give the shares in each line of a noisy table, shrunk to those of the line above it.

    The last axis is the child. Lines of one parent are shrunk to the child's own shares, those
    of two parents to those of the first, and so on: by as much as noise explains of how far they
    are from it (James and Stein 1961).
    """
    size = noisy.shape[-1]
    above = margin[None]
    for depth in range(1, noisy.ndim):
        table = noisy.sum(axis=tuple(range(depth, noisy.ndim - 1))).reshape(-1, size)
        lumped = variance * math.prod(noisy.shape[depth:-1])
        above = np.repeat(above, len(table) // len(above), axis=0)
        expected = above * np.maximum(table.sum(axis=1, keepdims=True), 0)
        apart = table - expected
        far = (apart**2).sum(axis=1, keepdims=True)
        kept = np.maximum(1 - size * lumped / np.maximum(far, 1e-300), 0)
        above = normalise(np.maximum(expected + kept * apart, 0), above)
    return above


def rake(shares: Floats, weights: Floats, margin: Floats) -> Floats:
    """Change the shares of lines so that all together, weighted, they come close to a margin."""
    for _ in range(SWEEPS):
        together = weights @ shares / weights.sum()
        ratio = np.where(together > 0, margin / np.where(together > 0, together, 1), 1)
        shares = normalise(shares * ratio, margin[None])
    return shares


def normalise(made: Floats, otherwise: Floats) -> Floats:
    """Make lines add up to 1; empty ones become another."""
    total = made.sum(axis=1, keepdims=True)
    return np.where(total > 0, made / np.where(total > 0, total, 1), otherwise)


def share_out(shares: Floats, cells: Floats, groups: Places) -> Floats:
    """Share groups out among their cells, as the shares of the cells say."""
    whole, many = np.bincount(groups, cells), np.bincount(groups)
    inside = np.where(
        whole[groups] > 0, cells / np.where(whole > 0, whole, 1)[groups], 1 / many[groups]
    )
    made: Floats = shares[:, groups] * inside
    return made
