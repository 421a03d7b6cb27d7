"""From what was seen of a release to the chance of each candidate.

Where the generator knows how likely rows are, each world is fitted once and the answer is exact.
Otherwise rows that are equal or near to a candidate are counted, in the release and in refits.

Every candidate has counts of its own: rows of a sample that equal it, or are near to it. Refits say
how large they are in the candidate's own world and in all others, which are pooled. The log odds of
a candidate are the weighted log likelihood ratios of its counts, with the same few weights for all:
a conditional logit, fitted on the refits, which are releases whose truth is known. So what comes
out is calibrated as far as refits can tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.refits import Floats, Refit, RefitJob, World
from understudy.data.codec import Codec
from understudy.data.source import source_of
from understudy.data.tables import Table, free_name
from understudy.errors import OptionError

Ints = NDArray[np.int64]
SHAPES = (1.0, 4.0, 16.0, 64.0)
GRID = np.linspace(0.0, 8.0, 401)[1:]
FOLDS = 5
STEPS = 50
HALF = 0.5
RAREST = 1e-9
IMPOSSIBLE = -1000.0
BINS = 20
EQUAL = 1
EVERY = 6


def normalised(logs: Floats) -> Floats:
    """Turn logarithms into chances that add up to 1, along the last axis.

    Examples
    --------
    >>> normalised(np.log([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    made: Floats = np.exp(logs - logs.max(axis=-1, keepdims=True))
    made /= made.sum(axis=-1, keepdims=True)
    return made


@dataclass(frozen=True)
class Released:
    """The rows of all copies released, each once, and how often each stands there."""

    rows: Table
    times: NDArray[np.int64]

    @classmethod
    def of(cls, copies: Sequence[Table]) -> "Released":
        """Pool the copies."""
        schema = copies[0].schema
        types = copies[0].modelled.schema
        every = pl.concat([copy.modelled.cast(types) for copy in copies])
        name = free_name("times", every.columns)
        counted = every.group_by(pl.all(), maintain_order=True).len(name)
        times = counted[name].cast(pl.Int64).to_numpy()
        return cls(Table(counted.select(every.columns), schema), times)


@dataclass(frozen=True)
class ChanceJob(RefitJob):
    """Each world is fitted once and says how likely the release, its ``summary``, is.

    What a world gives is the log of the chance of all rows released, in which a row that
    cannot be made there counts as ``IMPOSSIBLE``, and the number of such rows.
    """

    width = 2

    def do(self, refit: Refit) -> Floats:
        """Fit a world, and give the chance of the release."""
        generator: Any = self.generator
        released: Released = self.summary
        logs = generator.log_likelihood(refit.world.of(self.base), released.rows)
        if logs is None:
            raise OptionError(
                f"{self.generator.name} cannot say how likely rows are", hint="use by=counts"
            )
        impossible = ~np.isfinite(logs)
        total = float(np.where(impossible, IMPOSSIBLE, logs) @ released.times)
        return np.array([total, float(released.times[impossible].sum())])


def cell_chances(generator: Any, base: Table, worlds: Sequence[World], cells: Table) -> Floats:
    """Give the log chance of each cell in each world: for many releases of one small domain."""
    return np.array([generator.log_likelihood(world.of(base), cells) for world in worlds])


def knows_chances(generator: Any, table: Table) -> bool:
    """Whether a generator can say how likely rows are."""
    knows = getattr(generator, "knows_chances", None)
    return knows is not None and bool(knows(table.schema))


@dataclass(frozen=True)
class NearRows:
    """For each candidate: how many rows equal it, are nearly so, or hold its rare values.

    Rows that differ in no, one, two or up to a third of the columns are counted apart; numbers are
    compared by bins. The last counts are of equal values in single columns: those that none of
    the records known holds, and all others, where one that few hold weighs more. With ``kinds`` =
    1 equal rows alone are counted.
    """

    codec: Codec
    rows: Table
    weights: Floats
    kinds: int = EVERY

    @classmethod
    def of(cls, known: Table, rows: pl.DataFrame, kinds: int) -> "NearRows":
        """Compare with the candidates, by the bins and frequencies of the records known."""
        wanted = Table(rows.cast(known.frame.schema), known.schema)
        every = Table(pl.concat([known.frame, wanted.frame]), known.schema)
        plain, asked = wanted.plain, source_of(known)
        times = np.array([asked.copies(plain.select(name)) for name in plain.columns]).T
        codec = Codec.fit(source_of(every), bins=BINS)
        return cls(codec, wanted, 1 / np.sqrt(times + 1.0), kinds)

    def __call__(self, samples: Sequence[Table]) -> Floats:
        """Count over all copies: so many numbers for each candidate, one after the other."""
        made: Floats = np.sum([self._counts(sample) for sample in samples], axis=0)
        return made.reshape(-1)

    def _counts(self, sample: Table) -> Floats:
        wanted = source_of(self.rows).coded(self.codec).codes
        codes = source_of(sample).coded(self.codec).codes
        ends = (0, 1, 2, max(3, codes.shape[1] // 3))[: self.kinds]
        made = np.empty((len(wanted), self.kinds))
        for place, candidate in enumerate(wanted):
            differing = (codes != candidate).sum(axis=1)
            within = [int((differing <= end).sum()) for end in ends]
            made[place, : len(ends)] = np.diff([0, *within])
        if self.kinds == EVERY:
            asked, plain = source_of(sample), self.rows.plain
            equal = np.array([asked.copies(plain.select(name)) for name in plain.columns]).T
            own = self.weights == 1
            made[:, -2] = (equal * own).sum(axis=1)
            made[:, -1] = (equal * self.weights * ~own).sum(axis=1)
        return made


@dataclass(frozen=True)
class RefitCounts:
    """Counts of refits by candidate and kind, and the place of each refit's world.

    ``counts`` has the shape (refits, candidates, kinds).
    """

    counts: Floats
    world: Ints

    def __len__(self) -> int:
        return len(self.world)

    @property
    def worlds(self) -> int:
        """The number of candidates."""
        return int(self.counts.shape[1])

    def take(self, rows: Ints | Sequence[int]) -> "RefitCounts":
        """Give some of them."""
        return RefitCounts(self.counts[rows], self.world[rows])

    def redrawn(self, stream: np.random.Generator) -> "RefitCounts":
        """Draw the refits of each world again."""
        rows = [np.flatnonzero(self.world == world) for world in range(self.worlds)]
        return self.take(np.concatenate([stream.choice(own, len(own)) for own in rows if len(own)]))

    def features(self, seen: Floats, stream: np.random.Generator | None = None) -> Floats:
        """Give the log likelihood ratios of samples that are not among these refits.

        For each candidate and kind: its own world against all others, for Poisson counts. With a
        stream, the rates elsewhere are drawn from what their counts allow: a row that no refit
        gave may be rare or impossible, which no choice among the refits tells.
        """
        mine = self.world[:, None] == np.arange(self.worlds)
        sizes = mine.sum(axis=0).astype(float)
        own = np.einsum("nj,njk->jk", mine, self.counts)
        elsewhere = self.counts.sum(axis=0) - own + HALF
        if stream is not None:
            elsewhere = np.maximum(stream.gamma(elsewhere), RAREST)
        rest = elsewhere / (len(self) - sizes + 1)[:, None]
        made = np.empty(seen.shape)
        for kind in range(self.counts.shape[2]):
            shift = shifts(own[:, kind], sizes, rest[:, kind])
            made[..., kind] = seen[..., kind] * np.log1p(shift / rest[:, kind]) - shift
        return made

    def folds(self) -> Ints:
        """Deal the refits of each world out into folds."""
        turn = np.zeros(len(self), np.int64)
        for world in range(self.worlds):
            own = np.flatnonzero(self.world == world)
            turn[own] = np.arange(len(own)) % FOLDS
        return turn

    def own_features(self) -> Floats:
        """Give the features of each refit by refits of other folds."""
        made, turn = np.zeros(self.counts.shape), self.folds()
        for fold in range(FOLDS):
            inside, rest = np.flatnonzero(turn == fold), np.flatnonzero(turn != fold)
            if len(inside) and len(rest):
                made[inside] = self.take(rest).features(self.counts[inside])
        return made


def shifts(own: Floats, sizes: Floats, rest: Floats) -> Floats:
    """Estimate by how much each world's count is larger there than elsewhere.

    Counts are Poisson; the shifts are gamma with a common mean (by moments) and a common shape (the
    likeliest of a few), for a record moves its own count by about as much whatever its values. Each
    is estimated by its posterior mean.

    Parameters
    ----------
    own : array of float
        The counts in each world's own refits, added up.
    sizes : array of float
        The number of these refits.
    rest : array of float
        The mean of the same count in a refit of another world.

    Examples
    --------
    >>> own, sizes, rest = np.array([12.0, 710.0]), np.array([10.0, 10.0]), np.array([0.01, 70.0])
    >>> shifts(own, sizes, rest).round(1).tolist()
    [1.1, 1.1]
    """
    mean = float((own - sizes * rest).sum() / max(sizes.sum(), 1.0))
    if mean <= 0:
        return np.zeros(len(own))
    grid = mean * GRID
    expected = sizes[:, None] * (rest[:, None] + grid)
    logs = own[:, None] * np.log(np.maximum(expected, 1e-300)) - expected
    best, made = -np.inf, np.zeros(len(own))
    for shape in SHAPES:
        prior = (shape - 1) * np.log(GRID) - shape * GRID
        joint = logs + prior - np.log(np.exp(prior).sum())
        top = joint.max(axis=1)
        fit = float((top + np.log(np.exp(joint - top[:, None]).sum(axis=1))).sum())
        if fit > best:
            best, made = fit, normalised(joint) @ grid
    return made


def fit_weights(features: Floats, world: Ints) -> Floats:
    """Fit the weights of a conditional logit; a ridge holds them near 1 for the first, else 0.

    Parameters
    ----------
    features : array of shape (samples, candidates, features)
    world : array of int
        The true candidate of each sample.
    """
    start = np.eye(1, features.shape[2])[0]
    weights: Floats = start.copy()
    true = features[np.arange(len(world)), world].sum(axis=0)
    for _ in range(STEPS):
        expected, curve = _expected(features, weights)
        step = np.linalg.solve(curve, true - expected - (weights - start))
        size = float(np.abs(step).max())
        weights = weights + step * min(1.0, HALF / max(size, 1e-12))
        if size < 1e-8:
            break
    return weights


def _expected(features: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Give the features that these weights expect, and how sharply the fit holds the weights."""
    chances = normalised(features @ weights)
    mean = np.einsum("nj,njf->nf", chances, features)
    curve = np.einsum("nj,njf,njg->fg", chances, features, features) - mean.T @ mean
    return mean.sum(axis=0), curve + np.eye(len(weights))


@dataclass(frozen=True)
class Posterior:
    """The chance of each candidate; the same with refits redrawn; the mean of the true worlds."""

    posterior: Floats
    redrawn: Floats
    mean: float


def judge(
    refits: RefitCounts, seen: Floats, stream: np.random.Generator | None = None, redraws: int = 0
) -> Posterior:
    """Weigh candidates by what is seen of a release.

    Parameters
    ----------
    seen : array of shape (candidates, kinds)
    stream, redraws
        So often the refits are drawn again, for an interval, and the weights with them: from the
        normal distribution that their fit leaves.
    """
    features = refits.own_features()
    weights = fit_weights(features, refits.world)
    posterior = normalised(refits.features(seen) @ weights)
    redrawn = []
    if stream is not None:
        left = np.linalg.inv(_expected(features, weights)[1])
        for drawn in stream.multivariate_normal(weights, left, redraws, method="cholesky"):
            redrawn.append(normalised(refits.redrawn(stream).features(seen, stream) @ drawn))
    return Posterior(posterior, np.array(redrawn), _mean_win(refits, features))


def _mean_win(refits: RefitCounts, features: Floats) -> float:
    """Give the mean chance of the true world over refits, by weights fitted on other folds."""
    turn, wins = refits.folds(), np.full(len(refits), 1 / refits.worlds)
    for fold in range(FOLDS):
        inside, rest = np.flatnonzero(turn == fold), np.flatnonzero(turn != fold)
        if len(inside) and len(rest):
            weights = fit_weights(features[rest], refits.world[rest])
            wins[inside] = normalised(features[inside] @ weights)[
                np.arange(len(inside)), refits.world[inside]
            ]
    return float(wins.mean())
