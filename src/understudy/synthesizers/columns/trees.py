"""Trees: ``cart`` as rpart prunes it, ``tree`` unpruned.

A draw takes the value of a random training row in the leaf. For classes that is a draw from the
multinomial of the leaf's shares; with a random tree for each row, from the mean of the trees'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.columns.given import Floats, Given
from understudy.synthesizers.columns.samplers import Asked, Sampler, Settings, shares
from understudy.synthesizers.model_file import Damaged, State

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

    @staticmethod
    def arrays_of(state: State, asked: Asked) -> dict[str, Any]:
        """Take the arrays of a stack; refuse trees that lead nowhere or ask for what is not."""
        nodes = state.array("nodes", np.int64, (None,), 1, step=1)
        flags = state.array("flags", np.int64, nodes.shape, 0, step=0)
        if not len(nodes):
            raise Damaged("there is no tree")
        shape, last = (int(nodes[-1]),), int(nodes[-1]) - 1
        made: dict[str, Any] = {
            "column": state.array("column", np.int32, shape, -1, len(asked.levels) - 1),
            "cut": state.array("cut", float, shape),
            "left": state.array("left", np.int32, shape, -1, last),
            "right": state.array("right", np.int32, shape, -1, last),
            "start": state.array("start", np.int64, shape, -1, int(flags[-1])),
            "begin": state.array("begin", np.int64, shape, 0),
            "end": state.array("end", np.int64, shape, 0),
            "goes_left": state.array("goes_left", np.bool_, (int(flags[-1]),)),
        }
        # places are counted within each tree
        of_tree = np.repeat(np.arange(len(nodes)), np.diff(nodes, prepend=0))
        here = np.arange(len(of_tree)) - np.append(0, nodes)[of_tree]
        many = np.diff(nodes, prepend=0)[of_tree]
        asks = made["column"] >= 0
        child = np.stack([made["left"][asks], made["right"][asks]])
        sets = asks & (made["start"] >= 0)
        levels = np.append(asked.levels, 0)[made["column"]]
        room = np.diff(flags, prepend=0)[of_tree]
        if (
            (child <= here[asks]).any()
            or (child >= many[asks]).any()
            or (levels[sets] < 1).any()
            or (made["start"][sets] + levels[sets] > room[sets]).any()
        ):
            raise Damaged("a tree leads nowhere")
        return {**made, "nodes": nodes, "flags": flags}

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

    @classmethod
    def of(cls, state: State, asked: Asked) -> Self:
        """Take what was saved; refuse leaves without training rows."""
        trees = cls.arrays_of(state, asked)
        nodes = trees["nodes"]
        rows = state.array("rows", np.int64, nodes.shape, 1, step=1)
        donors = asked.values(state, "donors", (int(rows[-1]),))
        leaf = trees["column"] < 0
        many = np.repeat(np.diff(rows, prepend=0), np.diff(nodes, prepend=0))
        begin, end = trees["begin"][leaf], trees["end"][leaf]
        if (begin >= end).any() or (end > many[leaf]).any():
            raise Damaged("a leaf holds no training row")
        return cls(**trees, donors=donors, rows=rows)

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
