"""``random_forest``: many trees, each on resampled rows, its splits from random predictors.

A tree is grown in stages of about four leaves; each stage looks at another random half of the
predictors, at all of them where that half splits nothing (after Breiman 2001, who draws for each
split). A row is drawn from one tree, so that every tree must have met all predictors.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.columns.given import Floats, Given
from understudy.synthesizers.columns.samplers import Sampler, Settings
from understudy.synthesizers.columns.trees import leaves, unpruned

if TYPE_CHECKING:
    from understudy.kernels.trees import Tree

STAGE = 4


def fit_forest(
    given: Given, target: Floats, settings: Settings, rng: np.random.Generator, *, classes: bool
) -> Sampler:
    """Grow the trees."""
    trees, rows = [], []
    for _ in range(settings.trees if given.table.shape[1] else 1):
        drawn = np.sort(rng.integers(0, len(target), len(target)))
        tree = _Growth(given.take(drawn), target[drawn], settings.minbucket, classes, rng).tree()
        trees.append(tree)
        rows.append(drawn[tree.rows])
    return leaves(trees, target, rows)


@dataclass
class _Growth:
    """A tree as it grows, stage upon stage."""

    given: Given
    target: Floats
    size: int
    classes: bool
    rng: np.random.Generator
    nodes: list[list[Any]] = field(default_factory=lambda: [_leaf()])
    flags: list[NDArray[np.bool_]] = field(default_factory=list)
    used: int = 0

    def tree(self) -> "Tree":
        from understudy.kernels.trees import Tree

        waiting = [(0, np.arange(len(self.target)))]
        order, begin = [], 0
        while waiting:
            node, rows = waiting.pop()
            grown = self._stage(node, rows)
            if grown:
                waiting += grown
            else:
                self.nodes[node][5:] = [begin, begin + len(rows)]
                begin += len(rows)
                order.append(rows)
        kinds = (np.int32, float, np.int32, np.int32, np.int64, np.int64, np.int64)
        fields = zip(*self.nodes, strict=True)
        column, cut, left, right, start, first, last = (
            np.array(values, kind) for values, kind in zip(fields, kinds, strict=True)
        )
        flags = np.concatenate([*self.flags, np.empty(0, np.bool_)])
        return Tree(column, cut, left, right, start, flags, first, last, np.concatenate(order))

    def _stage(self, node: int, rows: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
        """Split a node; give its new leaves, none where it stays one."""
        width = self.given.table.shape[1]
        if len(rows) < 2 * self.size or (self.target[rows] == self.target[rows[0]]).all():
            return []
        for many in ((width + 1) // 2, width):
            chosen = np.sort(self.rng.permutation(width)[:many])
            part = self._part(rows, chosen)
            if part.left[0] >= 0:
                return self._join(node, rows, chosen, part)
        return []

    def _part(self, rows: NDArray[np.int64], chosen: NDArray[np.int64]) -> "Tree":
        target = self.target[rows]
        if self.classes:
            target = np.unique(target, return_inverse=True)[1].astype(float)
        size = max(self.size, len(rows) // STAGE)
        return unpruned(self.given.take(rows).pick(chosen), target, size, self.classes)

    def _join(
        self, node: int, rows: NDArray[np.int64], chosen: NDArray[np.int64], part: "Tree"
    ) -> list[tuple[int, NDArray[np.int64]]]:
        """Put a tree in the place of a node."""
        places = [node, *range(len(self.nodes), len(self.nodes) + len(part.column) - 1)]
        self.nodes += [_leaf() for _ in places[1:]]
        made = []
        for own, place in enumerate(places):
            if part.left[own] < 0:
                made.append((place, rows[part.rows[part.begin[own] : part.end[own]]]))
                continue
            start = part.start[own] + self.used if part.start[own] >= 0 else -1
            self.nodes[place] = [
                chosen[part.column[own]], part.cut[own], places[part.left[own]],
                places[part.right[own]], start, 0, 0,
            ]  # fmt: skip
        self.flags.append(part.goes_left)
        self.used += len(part.goes_left)
        return made


def _leaf() -> list[Any]:
    return [-1, 0.0, -1, -1, -1, 0, 0]
