"""How one coded column is drawn given others: by shrunk trees, or by boosted odds."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.bins import equal_groups
from understudy.data.codec import MOST_CODES, ColumnCodec
from understudy.synthesizers.model_file import Damaged, State

if TYPE_CHECKING:
    from understudy.kernels.boosting import Boosted
    from understudy.kernels.forest import Splits

Codes = NDArray[np.uint16]
Rows = NDArray[np.int64]

GROUPS, FEWEST_GROUPS, ROWS_A_GROUP = 24, 4, 100
LEVELS_AS_GROUPS = 64
PRIOR = 20
MOST_LEAVES = 2048
MOST_SHARES = 2**21
GROWN_ON = 100_000
BOOSTED_ON = 200_000
INNER = 5
ROUNDS = 600
MOST_PREDICTORS, SCREENED_ROWS, BANDS = 40, 20_000, 16


@dataclass(frozen=True)
class TreeSettings:
    """How trees are grown and filled."""

    trees: int = 20
    min_leaf: int = 10
    penalty: float = 1.0
    fine: float = 64.0


@dataclass(frozen=True)
class Predictors:
    """The predictors of a column: where they stand, and in which order their codes are cut.

    ``ranks`` holds one line for each tree, the codes of all predictors one after the other.
    """

    places: tuple[int, ...]
    sizes: NDArray[np.int64]
    ranks: NDArray[np.uint16]

    @classmethod
    def ranked(
        cls,
        codecs: Sequence[ColumnCodec],
        places: Sequence[int],
        codes: Codes,
        groups: NDArray[np.int64],
        parts: Sequence[Rows],
    ) -> Self:
        """Order the levels of the columns at these places as each part of the rows tells."""
        chosen = [(place, codecs[place].size + 1) for place in places]
        lines = [
            [
                np.arange(size, dtype=np.uint16)
                if codecs[place].column.is_numeric
                else rank_levels(codes[rows, place], size, groups[rows])
                for place, size in chosen
            ]
            for rows in parts
        ]
        empty = np.empty(0, np.uint16)
        ranks = np.array([np.concatenate([empty, *line]) for line in lines], np.uint16)
        return cls(tuple(places), np.array([size for _, size in chosen], np.int64), ranks)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the codes of each predictor begin."""
        return np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int64)

    def see(self, codes: Codes, line: int = 0) -> Codes:
        """Give the predictors of rows, column by column, as one tree sees them."""
        made = np.empty((len(codes), len(self.places)), np.uint16, order="F")
        for j, (place, start) in enumerate(zip(self.places, self.starts, strict=True)):
            made[:, j] = self.ranks[line, start : start + self.sizes[j]][codes[:, place]]
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        places = np.array(self.places, np.int64)
        return {"places": places, "sizes": self.sizes, "ranks": self.ranks}

    @classmethod
    def of(cls, state: State, before: Sequence[int]) -> Self:
        """Take what was saved, of columns with so many codes each; refuse ranks beyond them."""
        places = state.array("places", np.int64, (None,), 0, len(before) - 1)
        sizes = state.array("sizes", np.int64, places.shape, 1, MOST_CODES + 1)
        if any(before[place] + 1 != size for place, size in zip(places, sizes, strict=True)):
            raise Damaged("a model and its predictors do not fit together")
        most = np.repeat(sizes, sizes)
        ranks = state.array("ranks", np.uint16, (None, len(most)))
        if not len(ranks) or (ranks >= most).any():
            raise Damaged("ranks and codes do not fit together")
        return cls(tuple(places.tolist()), sizes, ranks)


@dataclass(frozen=True)
class Trees:
    """Trees of one column, one after the other; a row is drawn from one of them.

    ``line`` says for each leaf in which line of ``cumulative`` its distribution is.
    """

    given: Predictors
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

        order = rng.permutation(len(codes))
        given = self.given
        lines = forest.apply_each(
            codes, order % len(self.roots), self.roots, self.feature, self.cut, self.left,
            self.right, self.line, np.array(given.places, np.int64), given.starts, given.ranks,
        )  # fmt: skip
        return forest.draw(self.cumulative, lines, order, rng.random())

    def chances(self, codes: Codes, target: Codes, group_of: NDArray[np.int64]) -> Any:
        """Give the chance of each row's group of codes."""
        from understudy.kernels import forest

        given, made = self.given, np.zeros(len(codes))
        same = group_of == group_of[target][:, None]
        for number in range(len(self.roots)):
            lines = forest.apply_each(
                codes, np.full(len(codes), number), self.roots, self.feature, self.cut, self.left,
                self.right, self.line, np.array(given.places, np.int64), given.starts, given.ranks,
            )  # fmt: skip
            made += (np.diff(self.cumulative[lines], axis=1, prepend=0) * same).sum(axis=1)
        return made / len(self.roots)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        own = {name: getattr(self, name) for name in TREE_ARRAYS}
        return {**own, **self.given.arrays()}

    @classmethod
    def of(cls, state: State, before: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with so many codes; refuse trees that lead nowhere."""
        given = Predictors.of(state, before)
        feature = state.array("feature", np.int16, (None,), -1, len(given.places) - 1)
        nodes = feature.shape
        cumulative = state.array("cumulative", np.float32, (None, size))
        made = cls(
            given,
            state.array("roots", np.int64, (len(given.ranks),), 0, len(feature) - 1),
            feature,
            state.array("cut", np.uint16, nodes),
            state.array("left", np.int32, nodes, -1, len(feature) - 1),
            state.array("right", np.int32, nodes, -1, len(feature) - 1),
            state.array("line", np.int32, nodes, -1, len(cumulative) - 1),
            cumulative,
        )
        asks = np.flatnonzero(feature >= 0)
        child = np.minimum(made.left[asks], made.right[asks])
        if not len(feature) or (child <= asks).any() or (made.line[feature < 0] < 0).any():
            raise Damaged("a tree leads nowhere")
        return made


TREE_ARRAYS = ("roots", "feature", "cut", "left", "right", "line", "cumulative")


@dataclass(frozen=True)
class Odds:
    """Boosted log-odds of a column that shows two codes."""

    given: Predictors
    boosted: "Boosted"

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row; rows of like odds share them out evenly."""
        from understudy.kernels.forest import GOLDEN

        p = 1 / (1 + np.exp(-self.boosted.log_odds(self.given.see(codes))))
        order = rng.permutation(len(p))
        order = order[np.argsort(p[order], kind="stable")]
        spread = (rng.random() + GOLDEN * np.arange(len(p))) % 1
        made = np.empty(len(p), np.uint16)
        made[order] = spread < p[order]
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        own = {name: getattr(self.boosted, name) for name in BOOSTED_ARRAYS}
        return {**own, "start": np.array([self.boosted.start]), **self.given.arrays()}

    @classmethod
    def of(cls, state: State, before: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with two codes."""
        from understudy.kernels.boosting import NODES, Boosted

        given = Predictors.of(state, before)
        feature = state.array("feature", np.int16, (None, NODES), 0, len(given.places) - 1)
        boosted = Boosted(
            float(state.array("start", float, (1,))[0]),
            feature,
            state.array("cut", np.uint16, feature.shape),
            state.array("value", np.float32, (len(feature), NODES + 1)),
        )
        if size != 2:
            raise Damaged("odds of a column that shows more than two codes")
        return cls(given, boosted)


BOOSTED_ARRAYS = ("feature", "cut", "value")


def strongest(codes: Codes, places: tuple[int, ...], groups: NDArray[np.int64]) -> tuple[int, ...]:
    """Keep the columns that say most about a target, in their order; all where they are few."""
    if len(places) <= MOST_PREDICTORS:
        return places
    some = slice(None, None, len(codes) // SCREENED_ROWS + 1)
    told = [_information(codes[some, place], groups[some]) for place in places]
    best = np.argsort(-np.array(told), kind="stable")[:MOST_PREDICTORS]
    return tuple(places[i] for i in np.sort(best))


def _information(codes: Codes, groups: NDArray[np.int64]) -> float:
    """Give the mutual information of two columns in nats, less what chance would give."""
    coarse = equal_groups(np.bincount(codes), BANDS)[codes]
    many = int(groups.max()) + 1
    table = np.bincount(coarse * many + groups, minlength=BANDS * many).reshape(BANDS, many)
    table = table[table.sum(axis=1) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    seen = table > 0
    told = float((table[seen] * np.log(table[seen] / expected[seen])).sum())
    free = (len(table) - 1) * ((table.sum(axis=0) > 0).sum() - 1)
    return float((told - free / 2) / len(codes))


def group_codes(
    counts: NDArray[np.int64],
    *,
    ordered: bool,
    most: int = GROUPS,
    rows_each: int = ROWS_A_GROUP,
) -> NDArray[np.int64]:
    """Give the group of each code: neighbouring codes share one where there are many.

    A group has so many rows on average or more, unless that leaves fewer than four groups.
    """
    rows = int(counts.sum())
    groups = min(most, max(FEWEST_GROUPS, rows // rows_each))
    if len(counts) <= (groups if ordered else LEVELS_AS_GROUPS):
        return np.arange(len(counts))
    middle = np.cumsum(counts) - counts / 2
    group = (middle * groups / max(rows, 1)).astype(np.int64)
    return np.unique(group, return_inverse=True)[1]


def rank_levels(codes: Codes, size: int, groups: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Rank the levels of a predictor along the axis on which their targets differ most."""
    many = int(groups.max(initial=0)) + 1
    table = np.bincount(codes * np.int64(many) + groups, minlength=size * many)
    table = table.reshape(size, many).astype(float)
    weight, share = table.sum(axis=1), table.sum(axis=0) / table.sum()
    profile = (table + PRIOR * share) / (weight[:, None] + PRIOR)
    apart = (profile - share) / np.sqrt(share + 1e-12)
    axis = np.linalg.eigh(apart.T @ (apart * weight[:, None]))[1][:, -1]
    axis *= np.sign(axis[np.abs(axis).argmax()])
    rank = np.empty(size, np.uint16)
    rank[np.argsort(apart @ axis, kind="stable")] = np.arange(size)
    return rank


def fit_trees(
    codes: Codes,
    codecs: Sequence[ColumnCodec],
    places: Sequence[int],
    target: Codes,
    group_of: NDArray[np.int64],
    settings: TreeSettings,
    rng: np.random.Generator,
    workers: Executor,
) -> Trees:
    """Grow trees, each on a random third of the rows, and fill them with the others.

    The order of a predictor's levels is told by the third that grows the tree, too.
    """
    from understudy.kernels import forest

    groups = group_of[target]
    most_leaves = max(1, min(MOST_LEAVES, MOST_SHARES // len(group_of)))
    counts = np.bincount(target, minlength=len(group_of))
    root = counts / counts.sum()
    parts: list[tuple[Rows, Rows]] = []
    while len(parts) < settings.trees:
        thirds = np.array_split(rng.permutation(len(target)), 3)
        parts += [(thirds[i], np.concatenate(thirds[:i] + thirds[i + 1 :])) for i in range(3)]
    parts = [(one[:GROWN_ON], others) for one, others in parts[: settings.trees]]
    given = Predictors.ranked(codecs, places, codes, groups, [one for one, _ in parts])

    def make(number: int) -> Any:
        grown_on, filled_by = parts[number]
        seen = given.see(codes, number)
        tree = forest.grow(
            seen, given.sizes, groups.astype(np.uint16), grown_on, min_leaf=settings.min_leaf,
            penalty=settings.penalty, most_leaves=most_leaves,
        )  # fmt: skip
        shares = forest.fill(
            tree, seen[filled_by], target[filled_by], group_of, root, fine=settings.fine
        )
        leaves = np.flatnonzero(tree.feature < 0)
        leaves = leaves[np.argsort(tree.place[leaves], kind="stable")]
        line = np.full(len(tree.feature), -1)
        line[leaves] = np.arange(len(leaves))
        return tree, line, np.cumsum(shares[leaves], axis=1).astype(np.float32)

    return _stack(given, list(workers.map(make, range(len(parts)))))


def _stack(given: Predictors, made: Sequence[tuple["Splits", Any, Any]]) -> Trees:
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


def fit_odds(
    codes: Codes,
    codecs: Sequence[ColumnCodec],
    places: Sequence[int],
    target: Codes,
    rng: np.random.Generator,
) -> Odds:
    """Boost on four fifths until the last fifth is predicted best, then as long on all rows."""
    from understudy.kernels.boosting import boost

    rows, seed = rng.permutation(len(target))[:BOOSTED_ON], int(rng.integers(1 << 62))
    inner = len(rows) // INNER
    given = Predictors.ranked(codecs, places, codes, target.astype(np.int64), [rows[inner:]])
    seen, sizes, is_one = given.see(codes), given.sizes, target == 1
    tried = boost(seen, sizes, is_one, rows[inner:], rows[:inner], rounds=ROUNDS, seed=seed)
    rounds = len(tried.feature)
    return Odds(given, boost(seen, sizes, is_one, rows, rows[:0], rounds=rounds, seed=seed))
