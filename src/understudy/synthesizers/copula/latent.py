"""Latent normals: their correlation, learnt by drawing them within the cells that rows lie in.

Stochastic EM (Delyon, Lavielle and Moulines 1999) for the copula of Hoff (2007): given the
correlation, each row's latent values are drawn anew between the cuts of its cells, one line after
the other; given the latent values, the correlation is theirs, shrunk. The shares of single columns
are known beforehand, so the cuts follow from them. Every estimate is positive definite as it is.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.jobs.progress import Progress
from understudy.synthesizers.copula.lines import Floats, Lines

Parts = NDArray[np.int32]

SETTLING = (36, 60, 40_000_000)
AVERAGED = (12, 60, 20_000_000)
EVERY = 4
BLOCK = 2_000
TRIED, TRIED_LAST = 10_000, 100_000
LEAST_SHRINKAGE = 1e-3
MOST_TRIED = 10_000_000
FEWEST_ROWS = 50
TINY = 1e-300


@dataclass(frozen=True)
class Latent:
    """The correlation of all lines, and where each is cut."""

    lines: Lines
    correlation: Floats
    cuts: tuple[Floats, ...]

    def draw(self, rows: int, rng: np.random.Generator) -> Floats:
        """Draw latent values, one row of them for each line."""
        root = np.linalg.cholesky(self.correlation)
        made: Floats = root @ rng.standard_normal((len(root), rows))
        return made

    def given(
        self, known: Sequence[int], parts: Parts, rng: np.random.Generator, *, sweeps: int
    ) -> Floats:
        """Draw all lines for rows of which some lines, those known, lie in given parts."""
        own, others = list(known), [i for i in range(len(self.lines)) if i not in set(known)]
        made = np.empty((len(self.lines), parts.shape[1]))
        between = self.correlation[np.ix_(others, own)]
        within = self.correlation[np.ix_(own, own)]
        cuts = [self.cuts[i] for i in own]
        first = start(parts, cuts)
        for _ in range(sweeps):
            sweep(first, parts, cuts, within, rng)
        made[own] = first
        slope = np.linalg.solve(within, between.T).T
        left = self.correlation[np.ix_(others, others)] - slope @ between.T
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0))
        noise = rng.standard_normal((len(others), parts.shape[1]))
        made[others] = slope @ first + root @ noise
        return made


def fit_latent(
    lines: Lines,
    parts: Parts,
    shrink: float,
    rng: np.random.Generator,
    progress: Progress,
) -> Latent:
    """Learn the correlation from the parts that rows lie in, one row of them for each line.

    Each sweep replaces the second moments at first; those of the last sweeps are averaged. There
    are more sweeps where each is small, so that the draws add little to the error.
    """
    from scipy.special import ndtri

    cuts = [np.asarray(ndtri(line.until)) for line in lines.lines]
    latent = start(parts, cuts)
    moments = latent @ latent.T / parts.shape[1]
    np.fill_diagonal(moments, 1)
    correlation = leaned(moments, parts.shape[1])
    settle, averaged = _sweeps(SETTLING, parts.size), _sweeps(AVERAGED, parts.size)
    for number in range(settle + averaged):
        sweep(latent, parts, cuts, correlation, rng)
        step = latent @ latent.T / parts.shape[1] - moments
        moments += step / max(number - settle + 1, 1)
        correlation = leaned(moments, parts.shape[1])
        if number % EVERY == 0:
            cuts = calibrated(lines, correlation, cuts, TRIED, rng)
        progress("learning correlations", number + 1, settle + averaged)
    correlation = positive(correlation, shrink)
    cuts = calibrated(lines, correlation, cuts, TRIED_LAST, rng)
    return Latent(lines, correlation, tuple(cuts))


def _sweeps(limits: tuple[int, int, int], draws: int) -> int:
    """Give the number of sweeps: at least, at most, or as many as make so many draws."""
    least, most, wanted = limits
    return min(max(wanted // max(draws, 1), least), most)


def start(parts: Parts, cuts: Sequence[Floats]) -> Floats:
    """Put each value into the middle of its cell; 0 where nothing is known."""
    from scipy.special import ndtr, ndtri

    made = np.zeros(parts.shape)
    for number, own in enumerate(parts):
        until = np.concatenate([[0.0], ndtr(cuts[number]), [1.0]])
        middle = ndtri(np.clip((until[:-1] + until[1:]) / 2, 1e-9, 1 - 1e-9))
        made[number] = np.append(middle, 0.0)[own]
    return made


def sweep(
    latent: Floats,
    parts: Parts,
    cuts: Sequence[Floats],
    correlation: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw every line once, given all others and the part that each row lies in, in place."""
    precision = np.linalg.inv(correlation)
    diagonal = np.diag(precision).copy()
    slope = -precision / diagonal[:, None]
    np.fill_diagonal(slope, 0)
    spread = 1 / np.sqrt(diagonal)
    low = [np.concatenate([[-np.inf], c, [-np.inf]]) for c in cuts]
    high = [np.concatenate([c, [np.inf, np.inf]]) for c in cuts]
    starts = range(0, latent.shape[1], BLOCK)

    def fill(begin: int, own: np.random.Generator) -> None:
        here = slice(begin, begin + BLOCK)
        block, part = np.ascontiguousarray(latent[:, here]), parts[:, here]
        uniform = own.random(block.shape)
        for i in range(len(block)):
            expected = slope[i] @ block
            below = (low[i][part[i]] - expected) / spread[i]
            above = (high[i][part[i]] - expected) / spread[i]
            block[i] = expected + spread[i] * truncated(below, above, uniform[i])
        latent[:, here] = block

    streams = rng.spawn(len(starts))
    if len(starts) == 1:
        fill(0, streams[0])
        return
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        list(workers.map(fill, starts, streams))


def truncated(low: Floats, high: Floats, uniform: Floats) -> Floats:
    """Draw standard normals between bounds, exact in both tails."""
    from scipy.special import ndtr, ndtri

    flip = low > 0
    first, last = np.where(flip, -high, low), np.where(flip, -low, high)
    below = ndtr(first)
    made = ndtri(np.maximum(below + (ndtr(last) - below) * uniform, TINY))
    made = np.clip(made, first, last)
    return np.asarray(np.where(flip, -made, made))


def leaned(moments: Floats, rows: int) -> Floats:
    """Scale second moments to a correlation, each leaning to 0 as far as its own noise asks for.

    A correlation r of complete rows has an error of about 1/√rows and is kept by the share
    r² / (r² + 1/rows): the posterior mean under a normal prior of that size. One weight for all
    would weaken strong relations where many lines have none.
    """
    spread = np.sqrt(np.maximum(np.diag(moments), TINY))
    made = moments / np.outer(spread, spread)
    square = made**2
    return positive(made * (square / (square + 1 / rows)), LEAST_SHRINKAGE)


def positive(correlation: Floats, shrink: float) -> Floats:
    """Lean a correlation to independence; lift what is then not positive."""
    made = correlation * (1 - shrink)
    np.fill_diagonal(made, 1)
    values, vectors = np.linalg.eigh(made)
    if len(values) and values[0] < LEAST_SHRINKAGE:
        made = (vectors * np.maximum(values, LEAST_SHRINKAGE)) @ vectors.T
        spread = np.sqrt(np.diag(made))
        made /= np.outer(spread, spread)
    return made


def calibrated(
    lines: Lines,
    correlation: Floats,
    cuts: Sequence[Floats],
    tried: int,
    rng: np.random.Generator,
) -> list[Floats]:
    """Cut the lines so that draws of the model have the shares of training.

    The lines of one column may be correlated: those who come to the second are then no longer
    standard normal on it, so its cuts are quantiles of draws that come there. So are all cuts of
    a column that draws come to only where it follows from no other.
    """
    made = list(cuts)
    for group in lines.tied():
        own = [i for column in group for i in lines.of(column)]
        if len(own) < 2:
            continue
        rows = min(tried, MOST_TRIED // len(own))
        root = np.linalg.cholesky(correlation[np.ix_(own, own)])
        drawn = dict(zip(own, root @ rng.standard_normal((len(own), rows)), strict=True))
        codes = np.zeros((rows, len(lines.sizes)), np.uint16, order="F")
        for column in group:
            state = lines.begin(column, codes)
            for place, number in enumerate(lines.of(column)):
                here = np.flatnonzero(state == -1 - number)
                line = lines.lines[number]
                if (place or lines.follows(column)) and len(here) >= FEWEST_ROWS:
                    made[number] = np.quantile(drawn[number][here], line.until)
                part = np.searchsorted(made[number], drawn[number][here])
                state[here] = line.targets[part]
            codes[:, column] = state
    return made
