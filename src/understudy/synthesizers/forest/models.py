"""How one coded column is drawn given others: by shrunk trees, or by boosted odds."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from understudy.kernels.boosting import Boosted
    from understudy.kernels.forest import Splits

Codes = NDArray[np.uint16]
Arrays = Mapping[str, NDArray[Any]]

GROUPS = 24
LEVELS_AS_GROUPS = 64
PRIOR = 20
MOST_LEAVES = 2048
GROWN_ON = 100_000
BOOSTED_ON = 200_000
INNER = 5
ROUNDS = 600
GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Settings:
    """How trees are grown and filled."""

    trees: int = 20
    min_leaf: int = 10
    penalty: float = 1.5
    fine: float = 64.0


@dataclass(frozen=True)
class Given:
    """The predictors of a column: where they stand, and the order in which their codes are cut."""

    places: tuple[int, ...]
    ranks: tuple[NDArray[np.uint16], ...]

    def see(self, codes: Codes) -> Codes:
        """Give the predictors of rows, column by column."""
        made = np.empty((len(codes), len(self.places)), np.uint16, order="F")
        for j, (place, rank) in enumerate(zip(self.places, self.ranks, strict=True)):
            made[:, j] = rank[codes[:, place]]
        return made

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of codes of each predictor."""
        return np.array([len(rank) for rank in self.ranks], np.int64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        return {
            "places": np.array(self.places, np.int64),
            "sizes": self.sizes,
            "ranks": np.concatenate([*self.ranks, np.empty(0, np.uint16)]),
        }

    @classmethod
    def of(cls, arrays: Arrays) -> Self:
        """Take what was saved."""
        ranks = np.split(arrays["ranks"], np.cumsum(arrays["sizes"])[:-1])
        places = tuple(arrays["places"].tolist())
        return cls(places, tuple(ranks[: len(places)]))


@dataclass(frozen=True)
class Trees:
    """Trees of one column, one after the other; a row is drawn from one of them.

    ``line`` says for each leaf in which line of ``cumulative`` its distribution is.
    """

    given: Given
    roots: NDArray[np.int64]
    feature: NDArray[np.int16]
    cut: NDArray[np.uint16]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    line: NDArray[np.int32]
    cumulative: NDArray[np.float32]

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row."""
        from understudy.kernels import forest

        tree = rng.permutation(len(codes)) % len(self.roots)
        lines = forest.apply_each(
            self.given.see(codes), self.roots[tree], self.feature, self.cut, self.left,
            self.right, self.line,
        )  # fmt: skip
        return forest.draw(self.cumulative, lines, rng.random())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        own = {name: getattr(self, name) for name in TREE_ARRAYS}
        return {**own, **self.given.arrays()}

    @classmethod
    def of(cls, arrays: Arrays) -> Self:
        """Take what was saved; trees that lead nowhere are refused."""
        made = cls(Given.of(arrays), **{name: arrays[name] for name in TREE_ARRAYS})
        asks = made.feature >= 0
        child = np.concatenate([made.left[asks], made.right[asks]])
        parent = np.concatenate([np.flatnonzero(asks)] * 2)
        ok = (
            (made.feature < len(made.given.places)).all()
            and (child > parent).all()
            and (child < len(made.feature)).all()
            and (made.line[~asks] >= 0).all()
            and (made.line < len(made.cumulative)).all()
            and (made.roots < len(made.feature)).all()
        )
        if not ok:
            raise ValueError("a tree leads nowhere")
        return made


TREE_ARRAYS = ("roots", "feature", "cut", "left", "right", "line", "cumulative")


@dataclass(frozen=True)
class Odds:
    """Boosted log-odds of a column that shows two codes."""

    given: Given
    boosted: "Boosted"

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row; rows of like odds share them out evenly."""
        p = 1 / (1 + np.exp(-self.boosted.log_odds(self.given.see(codes))))
        order = np.argsort(p, kind="stable")
        spread = (rng.random() + GOLDEN * np.arange(len(p))) % 1
        made = np.empty(len(p), np.uint16)
        made[order] = spread < p[order]
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        own = {name: getattr(self.boosted, name) for name in BOOSTED_ARRAYS}
        return {**own, "start": np.array([self.boosted.start]), **self.given.arrays()}

    @classmethod
    def of(cls, arrays: Arrays) -> Self:
        """Take what was saved."""
        from understudy.kernels.boosting import Boosted

        own = {name: arrays[name] for name in BOOSTED_ARRAYS}
        made = cls(Given.of(arrays), Boosted(float(arrays["start"][0]), **own))
        if (own["feature"] < 0).any() or (own["feature"] >= len(made.given.places)).any():
            raise ValueError("a tree asks for a predictor that there is not")
        return made


BOOSTED_ARRAYS = ("feature", "cut", "value")


def group_codes(counts: NDArray[np.int64], *, ordered: bool) -> NDArray[np.int64]:
    """Give the group of each code: neighbouring codes share one where there are many."""
    if len(counts) <= (GROUPS if ordered else LEVELS_AS_GROUPS):
        return np.arange(len(counts))
    middle = np.cumsum(counts) - counts / 2
    group = (middle * GROUPS / max(counts.sum(), 1)).astype(np.int64)
    return np.unique(group, return_inverse=True)[1]


def rank_levels(codes: Codes, size: int, groups: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Rank the levels of a predictor along the axis on which their targets differ most."""
    many = int(groups.max(initial=0)) + 1
    table = np.bincount(codes * np.int64(many) + groups, minlength=size * many)
    table = table.reshape(size, many).astype(float)
    weight, share = table.sum(axis=1), table.sum(axis=0) / table.sum()
    profile = (table + PRIOR * share) / (weight[:, None] + PRIOR)
    apart = (profile - share) / np.sqrt(share + 1e-12)
    _, _, axes = np.linalg.svd(apart * np.sqrt(weight[:, None]), full_matrices=False)
    rank = np.empty(size, np.uint16)
    rank[np.argsort(apart @ axes[0], kind="stable")] = np.arange(size)
    return rank


def fit_trees(
    codes: Codes,
    given: Given,
    target: Codes,
    group_of: NDArray[np.int64],
    settings: Settings,
    rng: np.random.Generator,
    workers: Executor,
) -> Trees:
    """Grow trees, each on a random half of the rows, and fill them with the other half."""
    from understudy.kernels import forest

    seen, sizes = given.see(codes), given.sizes
    groups = group_of[target].astype(np.uint16)
    counts = np.bincount(target, minlength=len(group_of))
    root = counts / counts.sum()
    halves: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    while len(halves) < settings.trees:
        order = rng.permutation(len(target))
        one, other = order[: len(order) // 2], order[len(order) // 2 :]
        halves += [(one, other), (other, one)]

    def make(half: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Any:
        grown_on, filled_by = half
        tree = forest.grow(
            seen, sizes, groups, grown_on[:GROWN_ON], min_leaf=settings.min_leaf,
            penalty=settings.penalty, most_leaves=MOST_LEAVES,
        )  # fmt: skip
        shares = forest.fill(
            tree, seen[filled_by], target[filled_by], group_of, root, fine=settings.fine
        )
        leaves = np.flatnonzero(tree.feature < 0)
        leaves = leaves[np.argsort(tree.place[leaves], kind="stable")]
        line = np.full(len(tree.feature), -1)
        line[leaves] = np.arange(len(leaves))
        return tree, line, np.cumsum(shares[leaves], axis=1).astype(np.float32)

    return _stack(given, list(workers.map(make, halves[: settings.trees])))


def _stack(given: Given, made: Sequence[tuple["Splits", Any, Any]]) -> Trees:
    """Put trees one after the other."""
    trees, lines, shares = zip(*made, strict=True)
    nodes = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    first = np.cumsum([0, *map(len, shares)])

    def joined(parts: Sequence[NDArray[Any]], starts: NDArray[np.int64]) -> NDArray[np.int32]:
        moved = [
            np.where(part < 0, -1, part + start) for part, start in zip(parts, starts, strict=False)
        ]
        return np.concatenate(moved).astype(np.int32)

    return Trees(
        given,
        nodes[:-1].astype(np.int64),
        np.concatenate([tree.feature for tree in trees]),
        np.concatenate([tree.cut for tree in trees]),
        joined([tree.left for tree in trees], nodes),
        joined([tree.right for tree in trees], nodes),
        joined(lines, first),
        np.concatenate(shares),
    )


def fit_odds(codes: Codes, given: Given, target: Codes, rng: np.random.Generator) -> Odds:
    """Boost on four fifths until the last fifth is predicted best, then as long on all rows."""
    from understudy.kernels.boosting import boost

    seen, sizes, is_one = given.see(codes), given.sizes, target == 1
    rows, seed = rng.permutation(len(target))[:BOOSTED_ON], int(rng.integers(1 << 62))
    inner = len(rows) // INNER
    tried = boost(seen, sizes, is_one, rows[inner:], rows[:inner], rounds=ROUNDS, seed=seed)
    rounds = len(tried.feature)
    return Odds(given, boost(seen, sizes, is_one, rows, rows[:0], rounds=rounds, seed=seed))
