"""How one coded column is drawn given those before it: by shrunk trees, or by boosted odds."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import boosting, forest
from understudy.kernels.forest import Splits

Codes = NDArray[np.uint16]
Grown = tuple[Splits, NDArray[np.int64], NDArray[np.float32]]
GROUPS = 24
IDENTITY = 64
LEAVES = 2048
GROWN_ON = 100_000
INNER = 5
ROUNDS = 800


@dataclass(frozen=True)
class Trees:
    """Trees of one column; a row is drawn from one of them."""

    ranks: tuple[NDArray[np.uint16], ...]
    roots: NDArray[np.int64]
    feature: NDArray[np.int16]
    cut: NDArray[np.int16]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    line: NDArray[np.int32]
    cumulative: NDArray[np.float32]

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row."""
        tree = rng.permutation(len(codes)) % len(self.roots)
        leaves = forest.apply_each(
            ranked(codes, self.ranks), self.roots[tree], self.feature, self.cut, self.left,
            self.right, self.line,
        )  # fmt: skip
        return forest.draw(self.cumulative, leaves, rng.random())


@dataclass(frozen=True)
class Odds:
    """Boosted shares of a column that shows few codes."""

    ranks: tuple[NDArray[np.uint16], ...]
    pairs: boosting.Pairs

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row."""
        shares = self.pairs.shares(ranked(codes, self.ranks))
        if shares.shape[1] == 1:
            shares = np.hstack([1 - shares, shares])
        until = np.cumsum(shares, axis=1)
        likely = shares.argmax(axis=1)
        order = np.argsort(likely + 0.999 * shares[np.arange(len(shares)), likely], kind="stable")
        spread = (rng.random() + 0.6180339887498949 * np.arange(len(order))) % 1
        made = np.empty(len(order), np.uint16)
        made[order] = (spread[:, None] >= until[order, :-1]).sum(axis=1)
        return made


def ranked(codes: Codes, ranks: Sequence[NDArray[np.uint16]]) -> Codes:
    """Put the codes of the predictors into the order in which a model cuts them."""
    made = np.empty((len(codes), len(ranks)), np.uint16, order="F")
    for j, rank in enumerate(ranks):
        made[:, j] = rank[codes[:, j]]
    return made


def group_codes(counts: NDArray[np.int64], ordered: bool) -> NDArray[np.int64]:
    """Give the group of each code: codes in order share a group where there are many."""
    size = len(counts)
    if size <= (GROUPS if ordered else IDENTITY):
        return np.arange(size)
    middle = np.cumsum(counts) - counts / 2
    group = (middle * GROUPS / max(counts.sum(), 1)).astype(np.int64)
    return np.unique(group, return_inverse=True)[1]


def order_levels(
    codes: NDArray[np.uint16], size: int, groups: NDArray[np.int64], many: int
) -> NDArray[np.uint16]:
    """Rank the levels of a predictor along the axis on which their targets differ most."""
    table = np.bincount(codes * np.int64(many) + groups, minlength=size * many)
    table = table.reshape(size, many).astype(float)
    weight = table.sum(axis=1)
    share = table.sum(axis=0) / table.sum()
    profile = (table + 20 * share) / (weight[:, None] + 20)
    apart = (profile - share) / np.sqrt(share + 1e-12)
    _, _, axes = np.linalg.svd(apart * np.sqrt(weight[:, None] / weight.sum()), full_matrices=False)
    along = apart @ axes[0]
    rank = np.empty(size, np.uint16)
    rank[np.argsort(along, kind="stable")] = np.arange(size)
    return rank


@dataclass(frozen=True)
class Settings:
    """How trees are grown."""

    trees: int
    min_leaf: int
    penalty: float
    base: float
    power: float
    share: float = 0.8
    fine: float = 64.0


def fit_trees(
    codes: Codes,
    ranks: tuple[NDArray[np.uint16], ...],
    target: Codes,
    size: int,
    group_of: NDArray[np.int64],
    settings: Settings,
    rng: np.random.Generator,
    pool: Executor,
) -> Trees:
    """Grow trees, each on a random half of the rows, and fill them with the other half."""
    given = ranked(codes, ranks)
    sizes = np.array([int(rank.max(initial=0)) + 1 for rank in ranks], np.int64)
    groups = group_of[target].astype(np.uint16)
    counts = np.bincount(target, minlength=size)
    root = counts / counts.sum()
    halves: list[tuple[NDArray[np.int64], NDArray[np.int64], int]] = []
    while len(halves) < settings.trees:
        order = rng.permutation(len(target))
        one, other = order[: len(order) // 2], order[len(order) // 2 :]
        halves += [(one, other, int(rng.integers(1 << 62))) for one, other in ((one, other), (other, one))]

    def make(half: tuple[NDArray[np.int64], NDArray[np.int64], int]) -> Grown:
        one, other, seed = half
        tree = forest.grow(
            given, sizes, groups, one[:GROWN_ON], min_leaf=settings.min_leaf,
            penalty=settings.penalty, base=settings.base, power=settings.power, share=settings.share, most_leaves=LEAVES, seed=seed,
        )  # fmt: skip
        shares = forest.fill(tree, given[other], target[other], group_of, root, fine=settings.fine)
        leaf = np.flatnonzero(tree.feature < 0)
        leaf = leaf[np.argsort(tree.place[leaf], kind="stable")]
        line = np.full(len(tree.feature), -1)
        line[leaf] = np.arange(len(leaf))
        return tree, line, np.cumsum(shares[leaf], axis=1).astype(np.float32)

    return _stack(ranks, list(pool.map(make, halves[: settings.trees])))


def _stack(ranks: tuple[NDArray[np.uint16], ...], made: list[Grown]) -> Trees:
    nodes = np.cumsum([0, *(len(tree.feature) for tree, _, _ in made)])[:-1]
    lines = np.cumsum([0, *(len(shares) for _, _, shares in made)])[:-1]
    left = [np.where(tree.left < 0, -1, tree.left + node) for (tree, _, _), node in zip(made, nodes, strict=True)]
    right = [np.where(tree.right < 0, -1, tree.right + node) for (tree, _, _), node in zip(made, nodes, strict=True)]
    line = [np.where(at < 0, -1, at + first) for (_, at, _), first in zip(made, lines, strict=True)]
    return Trees(
        ranks,
        nodes.astype(np.int64),
        np.concatenate([tree.feature for tree, _, _ in made]),
        np.concatenate([tree.cut for tree, _, _ in made]),
        np.concatenate(left).astype(np.int32),
        np.concatenate(right).astype(np.int32),
        np.concatenate(line).astype(np.int32),
        np.concatenate([shares for _, _, shares in made]),
    )


def fit_odds(
    codes: Codes,
    ranks: tuple[NDArray[np.uint16], ...],
    target: Codes,
    size: int,
    rng: np.random.Generator,
    *, caution=1.0, rate=0.2, looks=0.9, min_leaf=20, ridge=5.0, patience=8, share=0.6,
) -> Odds:
    """Boost on four fifths until the last fifth is predicted best, then as long on all rows."""
    given = ranked(codes, ranks)
    sizes = np.array([int(rank.max(initial=0)) + 1 for rank in ranks], np.int64)
    order, seed = rng.permutation(len(target)), int(rng.integers(1 << 62))
    inner = len(order) // INNER
    if size == 2:
        caution, rate, patience, min_leaf = 0.0, 0.1, 40, 10
    kw = dict(rate=rate, min_leaf=min_leaf, ridge=ridge, share=share, looks=looks, patience=patience, caution=caution, seed=seed)
    tried = boosting.boost(given, sizes, target, size, order[inner:], order[:inner], rounds=ROUNDS, **kw)
    rounds = int(np.argmin(tried.watched + caution * (tried.watched - tried.seen))) + 1
    made = boosting.boost(given, sizes, target, size, order, order[:0], rounds=rounds, **kw)
    return Odds(ranks, boosting.Pairs.of(made, rounds, sizes))
