"""Trees: ``cart`` as rpart prunes it, ``tree`` unpruned, ``random_forest`` and ``boost``.

Where a leaf has donors, a draw takes the value of a random training row in it. For classes that is
a draw from the multinomial of the leaf's shares; with a random tree for each row, from the mean of
the trees'.

``random_forest``: many trees, each on resampled rows, its splits from random predictors. A tree is
grown in stages of about four leaves; each stage looks at another random half of the predictors, at
all of them where that half splits nothing (after Breiman 2001, who draws for each split). A row is
drawn from one tree, so that every tree must have met all predictors.

``boost``: gradient boosting (Friedman 2001). For several classes each round grows one tree on a
random mixture of the classes' gradients, and each leaf takes a Newton step for every class (Iosipoi
and Vakhrushev 2022), so that many classes cost no more trees than two. Numbers are the prediction
plus the residual of a row predicted alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.synthesizers.columns.samplers import (
    CodeSampler,
    Floats,
    PredictorRows,
    ResidualSampler,
    Sampler,
    Scope,
    Training,
    group_residuals,
    shares,
    softmax,
)
from understudy.synthesizers.model_file import Damaged, State

if TYPE_CHECKING:
    from understudy.kernels.trees import Tree

NODES = ("column", "cut", "left", "right", "start", "begin", "end")
UNPRUNED = -1.0
STAGE = 4
LEAVES = 16
RATE = 0.2
RIDGE = 1.0
MOST_CELLS = 5 * 10**7

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Stack(Sampler):
    """Trees one after the other; ``nodes`` and ``flags`` say where those of each tree end."""

    column: NDArray[np.int32]
    cut: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    start: Rows
    begin: Rows
    end: Rows
    goes_left: NDArray[np.bool_]
    nodes: Rows
    flags: Rows

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        """Take trees; refuse those that lead nowhere or ask for what is not."""
        nodes = state.array("nodes", np.int64, (None,), 1, step=1)
        flags = state.array("flags", np.int64, nodes.shape, 0, step=0)
        if not len(nodes):
            raise Damaged("there is no tree")
        shape, last = (int(nodes[-1]),), int(nodes[-1]) - 1
        made: dict[str, Any] = {
            "column": state.array("column", np.int32, shape, -1, len(scope.levels) - 1),
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
        levels = np.append(scope.levels, 0)[made["column"]]
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


def part(array: NDArray[Any], ends: Rows, number: int) -> NDArray[Any]:
    """Give the entries of one tree."""
    return array[ends[number - 1] if number else 0 : ends[number]]


@dataclass(frozen=True)
class Leaves(Stack):
    """Trees, and what the training rows of each hold, leaf by leaf."""

    donors: Floats
    rows: Rows
    knows_shares: ClassVar[bool] = True

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        """Take the donors too; refuse leaves without training rows."""
        trees = super()._saved(state, scope, outputs)
        nodes = trees["nodes"]
        rows = state.array("rows", np.int64, nodes.shape, 1, step=1)
        donors = scope.values(state, "donors", (int(rows[-1]),))
        leaf = trees["column"] < 0
        many = np.repeat(np.diff(rows, prepend=0), np.diff(nodes, prepend=0))
        begin, end = trees["begin"][leaf], trees["end"][leaf]
        if (begin >= end).any() or (end > many[leaf]).any():
            raise Damaged("a leaf holds no training row")
        return {**trees, "donors": donors, "rows": rows}

    def draw(self, given: PredictorRows, rng: np.random.Generator) -> Floats:
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

    def share(self, given: PredictorRows, drawn: Floats) -> Floats:
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


def _leaves(trees: list["Tree"], target: Floats, rows: list[Rows]) -> Leaves:
    """Put the values of the training rows into the leaves."""
    return Leaves(
        **stacked(trees),
        donors=np.concatenate([target[drawn] for drawn in rows]),
        rows=np.cumsum([len(drawn) for drawn in rows]),
    )


def fit_cart(training: Training) -> Leaves:
    """Grow a tree that stops and is pruned as rpart does."""
    from understudy.kernels.trees import grow

    given, target, options = training.given, training.target, training.options
    kinds = int(target.max()) + 1 if training.classes else 0
    size = options.minbucket
    tree = grow(given.table, given.levels, target, kinds, min_leaf=size, cp=options.cp)
    return _leaves([tree], target, [tree.rows])


def fit_tree(training: Training) -> Leaves:
    """Grow a tree down to leaves of ``minbucket`` rows."""
    size, target = training.options.minbucket, training.target
    tree = _unpruned(training.given, target, size, training.classes)
    return _leaves([tree], target, [tree.rows])


def _unpruned(given: PredictorRows, target: Floats, size: int, classes: bool) -> "Tree":
    """Grow a tree down to leaves of a size, of which nothing is cut off."""
    from understudy.kernels.trees import grow

    kinds = int(target.max()) + 1 if classes else 0
    return grow(
        given.table, given.levels, target, kinds, min_leaf=size, min_split=2 * size, cp=UNPRUNED
    )


def fit_forest(training: Training) -> Leaves:
    """Grow the trees."""
    many, rng = len(training.target), training.rng
    trees, rows = [], []
    for _ in range(training.options.trees if training.given.table.shape[1] else 1):
        drawn = np.sort(rng.integers(0, many, many))
        tree = _Growth(training.take(drawn)).tree()
        trees.append(tree)
        rows.append(drawn[tree.rows])
    return _leaves(trees, training.target, rows)


@dataclass
class _Growth:
    """A tree as it grows, stage upon stage."""

    training: Training
    nodes: list[list[Any]] = field(default_factory=lambda: [_leaf()])
    flags: list[NDArray[np.bool_]] = field(default_factory=list)
    used: int = 0

    def tree(self) -> "Tree":
        from understudy.kernels.trees import Tree

        waiting = [(0, np.arange(len(self.training.target)))]
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

    def _stage(self, node: int, rows: Rows) -> list[tuple[int, Rows]]:
        """Split a node; give its new leaves, none where it stays one."""
        width, least = self.training.given.table.shape[1], self.training.options.minbucket
        target = self.training.target[rows]
        if len(rows) < 2 * least or (target == target[0]).all():
            return []
        if self.training.classes:
            target = np.unique(target, return_inverse=True)[1].astype(float)
        given, size = self.training.given.take(rows), max(least, len(rows) // STAGE)
        for many in ((width + 1) // 2, width):
            chosen = np.sort(self.training.rng.permutation(width)[:many])
            grown = _unpruned(given.pick(chosen), target, size, self.training.classes)
            if grown.left[0] >= 0:
                return self._join(node, rows, chosen, grown)
        return []

    def _join(self, node: int, rows: Rows, chosen: Rows, grown: "Tree") -> list[tuple[int, Rows]]:
        """Put a tree in the place of a node."""
        places = [node, *range(len(self.nodes), len(self.nodes) + len(grown.column) - 1)]
        self.nodes += [_leaf() for _ in places[1:]]
        made = []
        for own, place in enumerate(places):
            if grown.left[own] < 0:
                made.append((place, rows[grown.rows[grown.begin[own] : grown.end[own]]]))
                continue
            start = grown.start[own] + self.used if grown.start[own] >= 0 else -1
            self.nodes[place] = [
                chosen[grown.column[own]], grown.cut[own], places[grown.left[own]],
                places[grown.right[own]], start, 0, 0,
            ]  # fmt: skip
        self.flags.append(grown.goes_left)
        self.used += len(grown.goes_left)
        return made


def _leaf() -> list[Any]:
    return [-1, 0.0, -1, -1, -1, 0, 0]


@dataclass(frozen=True)
class Sum(Stack):
    """Trees whose leaf values add up, one for each output."""

    values: Floats
    base: Floats

    @classmethod
    def _saved(cls, state: State, scope: Scope, outputs: int) -> dict[str, Any]:
        trees = super()._saved(state, scope, outputs)
        values = state.array("values", float, (len(trees["column"]), outputs))
        return {**trees, "values": values, "base": state.array("base", float, (outputs,))}

    def outputs(self, given: PredictorRows) -> Floats:
        """Add up the leaves of each row."""
        made = np.tile(self.base, (len(given), 1))
        for number in range(len(self.nodes)):
            leaf = self.tree(number).apply(given.table)
            made += part(self.values, self.nodes, number)[leaf]
        return made


@dataclass(frozen=True)
class BoostClasses(CodeSampler, Sum):
    """Trees that add up to the logarithms of shares."""


@dataclass(frozen=True)
class BoostNumbers(ResidualSampler, Sum):
    """Trees that add up to a number."""


def fit_boost_classes(training: Training) -> BoostClasses:
    """Boost the likelihood of codes."""
    codes, kind = np.unique(training.target, return_inverse=True)
    rows = np.arange(len(kind))
    if len(rows) * len(codes) > MOST_CELLS:
        raise OptionError(
            f"boost: {len(codes):,} classes of {len(rows):,} rows are too many",
            hint="use the column method tree, random_forest or neural for this column",
        )

    def slopes(outputs: Any) -> tuple[Any, Any]:
        shares = softmax(outputs)
        weight = shares * (1 - shares)
        slope = np.negative(shares, out=shares)
        slope[rows, kind] += 1
        return slope, weight

    fields, _ = _boost(training, np.log(np.bincount(kind) / len(kind)), slopes)
    return BoostClasses(**fields, codes=codes)


def fit_boost_numbers(training: Training) -> BoostNumbers:
    """Boost the squared error of numbers."""
    target = training.target
    weight = np.ones((len(target), 1))
    fields, predicted = _boost(
        training, np.array([target.mean()]), lambda outputs: (target[:, None] - outputs, weight)
    )
    return BoostNumbers(**fields, **group_residuals(predicted[:, 0], target))


def _boost(training: Training, base: Floats, slopes: Any) -> tuple[dict[str, Any], Floats]:
    """Add trees; give the fields of the sum, and its outputs on the training rows."""
    from understudy.kernels.trees import grow

    given, options = training.given, training.options
    outputs = np.tile(base, (len(given), 1))
    if len(base) > 1:
        outputs = outputs.astype(np.float32)
    size = max(options.minbucket, len(given) // LEAVES)
    trees, values = [], []
    for _ in range(options.rounds if given.table.shape[1] else 1):
        slope, weight = slopes(outputs)
        mixture = training.rng.normal(size=len(base)) if len(base) > 1 else np.ones(1)
        tree = grow(
            given.table, given.levels, slope @ mixture, 0, min_leaf=size, min_split=2 * size, cp=0.0
        )
        value = np.zeros((len(tree.column), len(base)))
        for node in np.flatnonzero(tree.column < 0):
            rows = tree.rows[tree.begin[node] : tree.end[node]]
            value[node] = RATE * slope[rows].sum(0) / (weight[rows].sum(0) + RIDGE)
            outputs[rows] += value[node]
        trees.append(tree)
        values.append(value)
    return {**stacked(trees), "values": np.concatenate(values), "base": base}, outputs
