"""How the distinguishing game is played: equal sides, folds that keep twins together, models."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which
from understudy.measures.boosting import auc, boosted, one_by_one
from understudy.measures.features import draw, features, groups, in_order
from understudy.measures.fidelity.giveaways import (
    Interplay,
    Judge,
    alone,
    excesses,
    most_telling,
    over_folds,
)

NAME = "fidelity.detection"
MANY_TWINS = 10
SHUFFLED_ROWS = 2000
TWICE = 2.0
TREES = 20
LEAVES = 64

Matrix = NDArray[np.float64]
Labels = NDArray[np.bool_]


@dataclass(frozen=True)
class Area:
    """An area under the ROC curve and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Game:
    """How a game went: the area by boosting, what columns and pairs were worth, other models."""

    value: float
    error: float
    lost: Mapping[str, float]
    by_row: bool
    others: Mapping[str, Area] = field(default_factory=dict)
    together: tuple[Interplay, ...] = ()


def play(
    comparison: Comparison,
    player: Which,
    size: int,
    *,
    folds: int,
    iterations: int,
    shuffle: bool = False,
) -> Game:
    """Let models tell a table from the holdout, cross-fitted, at this number of rows each.

    Both games draw from the same streams: a copy of training gets the reference exactly.
    """
    made = features(comparison, (player, "holdout"))
    sides: tuple[Which, Which] = (player, "holdout")
    parts = [
        made.tables[table][draw(made, table, size, comparison.stream(NAME, side))]
        for table, side in zip(sides, ("player", "holdout"), strict=True)
    ]
    matrix = np.concatenate(parts)
    label = np.repeat(np.array([1, 0]), size)
    order = in_order(matrix, label)
    matrix, is_player = matrix[order], label[order] == 1
    twins = groups(matrix)
    distinct = int(twins[-1]) + 1
    by_row = len(matrix) / distinct > MANY_TWINS
    units = np.arange(len(matrix)) if by_row else twins
    fold = _folds(units, folds, comparison.stream(NAME, "folds"))
    places = _places(matrix)

    def judge(number: int) -> tuple[dict[str, Matrix], Judge, dict[str, float]] | None:
        test = fold == number
        if not _both(is_player[test]) or not _both(is_player[~test]) or not matrix.shape[1]:
            return None
        known, labels = ~test, is_player.astype(np.int64)
        model = boosted(matrix[known], labels[known], made.is_category, iterations=iterations)
        scores = {"boosting": model.decision_function(matrix[test])}
        seed = int(comparison.stream(NAME, "models", str(number)).integers(2**31))
        for name, other in _others(seed).items():
            other.fit(places[known], labels[known])
            scores[name] = other.predict_proba(places[test])[:, 1]
        rng = comparison.stream(NAME, "shuffle", str(number))
        seen = rng.permutation(int(test.sum()))[:SHUFFLED_ROWS]
        fitted = Judge(model, matrix[test][seen], is_player[test][seen])
        return scores, fitted, alone(fitted, made.columns, rng) if shuffle else {}

    scores: dict[str, Matrix] = {}
    judges: list[Judge] = []
    found: dict[str, list[float]] = {name: [] for name in made.columns}
    used = np.zeros(len(matrix), bool)
    for number, judged in enumerate(
        one_by_one(judge, folds, comparison.progress, f"{NAME}: {player}")
    ):
        if judged is None:
            continue
        test = fold == number
        used |= test
        for name, own in judged[0].items():
            scores.setdefault(name, np.zeros(len(matrix)))[test] = own
        judges.append(judged[1])
        for name, loss in judged[2].items():
            found[name].append(loss)
    lost = {name: float(np.mean(values)) if values else 0.0 for name, values in found.items()}
    if not judges:
        return Game(0.5, 0.0, lost, by_row)
    areas = {
        name: _area(own, is_player, np.where(used, fold, -1), units) for name, own in scores.items()
    }
    whole = areas.pop("boosting")

    def pairs(number: int) -> dict[tuple[str, str], float]:
        rng = comparison.stream(NAME, "pairs", str(number))
        return excesses(judges[number], made.columns, most_telling(lost), rng)

    looks = len(judges) if shuffle else 0
    together = over_folds(
        list(one_by_one(pairs, looks, comparison.progress, f"{NAME}: pairs of columns"))
    )
    return Game(whole.value, whole.error, lost, by_row, areas, together)


def _area(
    scores: Matrix, is_player: Labels, fold: NDArray[np.int64], units: NDArray[np.int64]
) -> Area:
    """Give the mean of the folds' areas, weighted by their pairs of rows."""
    values, weights, errors = [], [], np.zeros(len(scores))
    for number in range(int(fold.max()) + 1):
        test = fold == number
        if not test.any():
            continue
        value, contributions = auc(scores[test], is_player[test])
        weight = float(is_player[test].sum()) * float((~is_player[test]).sum())
        values.append(value)
        weights.append(weight)
        errors[test] = contributions * weight
    together = np.bincount(units, errors / sum(weights))
    return Area(
        float(np.average(values, weights=weights)),
        math.sqrt(TWICE * float(together @ together)),
    )


def _others(seed: int) -> dict[str, Any]:
    """Give a classification tree and a forest of them, each tree of which sees half the rows."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": DecisionTreeClassifier(
            max_leaf_nodes=LEAVES, min_samples_leaf=20, random_state=seed
        ),
        "forest": RandomForestClassifier(
            TREES, min_samples_leaf=5, max_samples=0.5, random_state=seed
        ),
    }


def _places(matrix: Matrix) -> NDArray[np.float32]:
    """Give the place of each value among the distinct ones of its column, -1 where it is missing.

    Trees ask for the order of values only, and scikit-learn's keep seven digits of them.
    """
    made = np.full(matrix.shape, -1, np.float32)
    for j in range(matrix.shape[1]):
        there = ~np.isnan(matrix[:, j])
        made[there, j] = np.unique(matrix[there, j], return_inverse=True)[1]
    return made


def _both(labels: Labels) -> bool:
    return bool(labels.any() and not labels.all())


def _folds(units: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal units (rows that stay together) to folds of about the same number of rows."""
    sizes = np.bincount(units)
    order = rng.permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    fold_of = np.empty(len(sizes), np.int64)
    fold_of[order] = before * folds // len(units)
    made: NDArray[np.int64] = fold_of[units]
    return made
