"""Trees: ``cart`` as rpart prunes it, ``tree`` unpruned.

A draw takes the value of a random training row in the leaf. For classes that is a draw from the
multinomial of the leaf's shares; with a random tree for each row, from the mean of the trees'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.columns.given import Floats, Given
from understudy.synthesizers.columns.samplers import Sampler, Settings, shares

if TYPE_CHECKING:
    from understudy.kernels.trees import Tree

NODES = ("column", "cut", "left", "right", "start", "begin", "end")
UNPRUNED = -1.0


@dataclass(frozen=True)
class Stack:
    """Trees one after the other; ``nodes`` and ``flags`` say where those of each tree end."""

    column: NDArray[np.int32]
    cut: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    start: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    goes_left: NDArray[np.bool_]
    nodes: NDArray[np.int64]
    flags: NDArray[np.int64]

    def tree(self, number: int) -> "Tree":
        """Give one of the trees."""
        from understudy.kernels.trees import Tree

        own: dict[str, Any] = {n: part(getattr(self, n), self.nodes, number) for n in NODES}
        flags = part(self.goes_left, self.flags, number)
        return Tree(**own, goes_left=flags, rows=np.empty(0, np.int64))


def stacked(trees: Sequence["Tree"]) -> dict[str, Any]:
    """Give the fields of a stack."""
    return {
        **{name: np.concatenate([getattr(tree, name) for tree in trees]) for name in NODES},
        "goes_left": np.concatenate([tree.goes_left for tree in trees]),
        "nodes": np.cumsum([len(tree.column) for tree in trees]),
        "flags": np.cumsum([len(tree.goes_left) for tree in trees]),
    }


def part(array: NDArray[Any], ends: NDArray[np.int64], number: int) -> NDArray[Any]:
    """Give the entries of one tree."""
    return array[ends[number - 1] if number else 0 : ends[number]]


@dataclass(frozen=True)
class Leaves(Stack):
    """Trees, and what the training rows of each hold, leaf by leaf."""

    donors: Floats
    rows: NDArray[np.int64]

    def draw(self, given: Given, rng: np.random.Generator) -> Floats:
        """Draw for each row what a random training row of its leaf holds."""
        if len(self.nodes) == 1:
            return self._draw_from(0, given.table, rng)
        chosen = rng.integers(0, len(self.nodes), len(given))
        made = np.empty(len(given))
        for number in range(len(self.nodes)):
            mine = np.flatnonzero(chosen == number)
            made[mine] = self._draw_from(number, given.table[mine], rng)
        return made

    def _draw_from(self, number: int, table: Floats, rng: np.random.Generator) -> Floats:
        tree, donors = self.tree(number), part(self.donors, self.rows, number)
        leaf = tree.apply(table)
        begin, end = tree.begin[leaf], tree.end[leaf]
        place = begin + np.floor(rng.random(len(leaf)) * (end - begin)).astype(np.int64)
        made: Floats = donors[place]
        return made

    def share(self, given: Given, drawn: Floats) -> Floats:
        """Give the share of what was drawn in the leaf of each row, the mean over the trees."""
        made = np.zeros(len(given))
        for number in range(len(self.nodes)):
            tree, donors = self.tree(number), part(self.donors, self.rows, number)
            leaf_of = np.empty(len(donors), np.int64)
            waiting = [0]
            while waiting:  # nodes that pruning cut off are not reached
                node = waiting.pop()
                leaf_of[tree.begin[node] : tree.end[node]] = node
                if tree.left[node] >= 0:
                    waiting += [int(tree.left[node]), int(tree.right[node])]
            made += shares(leaf_of, donors, tree.apply(given.table).astype(np.int64), drawn)
        return made / len(self.nodes)


def fit_cart(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator, *, classes: bool
) -> Sampler:
    """Grow a tree that stops and is pruned as rpart does."""
    from understudy.kernels.trees import grow

    kinds = int(target.max()) + 1 if classes else 0
    size = settings.minbucket
    tree = grow(given.table, given.levels, target, kinds, min_leaf=size, cp=settings.cp)
    return leaves([tree], target, [tree.rows])


def fit_tree(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator, *, classes: bool
) -> Sampler:
    """Grow a tree down to leaves of ``minbucket`` rows."""
    tree = unpruned(given, target, settings.minbucket, classes)
    return leaves([tree], target, [tree.rows])


def unpruned(given: Given, target: Floats, size: int, classes: bool) -> "Tree":
    """Grow a tree down to leaves of a size, of which nothing is cut off."""
    from understudy.kernels.trees import grow

    kinds = int(target.max()) + 1 if classes else 0
    return grow(
        given.table, given.levels, target, kinds, min_leaf=size, min_split=2 * size, cp=UNPRUNED
    )


def leaves(trees: list["Tree"], target: Floats, rows: list[NDArray[np.int64]]) -> Leaves:
    """Put the values of the training rows into the leaves."""
    return Leaves(
        **stacked(trees),
        donors=np.concatenate([target[drawn] for drawn in rows]),
        rows=np.cumsum([len(drawn) for drawn in rows]),
    )
