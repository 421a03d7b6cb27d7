"""The distinguishing game: a model that has seen examples tells synthetic from real rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.comparison import Comparison, Which
from understudy.errors import OptionError
from understudy.findings import Card, Finding, Part, around, described
from understudy.measures.boosting import auc, boosted, one_by_one
from understudy.measures.features import Features, draw, features, groups, in_order

FEWEST = 20
MANY_TWINS = 10
SHUFFLED_ROWS = 2000
TWICE = 2.0

CARD = Card(
    name="fidelity.detection",
    title="Detection",
    meaning="How well gradient boosting tells synthetic rows from fresh real ones: the chance "
    "that it ranks a synthetic row above a real one. 0.5 is a coin, 1 is certainty.",
    formula="synthetic against holdout at equal numbers; histogram gradient boosting, five folds, "
    "identical rows in one fold; mean over folds of the area under the ROC curve of rows that the "
    "model has not seen. Interval: DeLong's variance, rows that are identical summed first, and "
    "doubled, for every row is judged by models and also trains those that judge others. The "
    "reference is training against holdout by the same game; flagged when the interval lies above "
    "both it and 0.5. Parts: what the area loses when a column is shuffled (in up to 2,000 rows of "
    "each fold)",
    unit="AUC",
    better="lower",
    headline="area under the ROC curve of gradient boosting",
    source="Lopez-Paz and Oquab 2017 (classifier two-sample test); DeLong et al. 1988; "
    "Obuchowski 1997",
    not_shown="Copies of training rows are as hard to tell from fresh rows as training itself: "
    "a low value says nothing about copying. What this model cannot see, another may.",
    needs=("holdout",),
)


@dataclass(frozen=True)
class Game:
    """How a game went: the area, its standard error, what each column was worth."""

    value: float
    error: float
    lost: Mapping[str, float]
    by_row: bool


@described(CARD)
def detection(
    comparison: Comparison, *, folds: int = 5, iterations: int = 100, rows: int = 50_000
) -> Finding:
    """Area under the ROC curve of telling synthetic from holdout rows."""
    if folds < 2:
        raise OptionError(f"{CARD.name}: folds = {folds}", hint="use at least 2")
    heights = {t: comparison.height(t) for t in comparison.tables}
    size = min(heights["synthetic"], heights["holdout"], rows)
    if size < FEWEST:
        return CARD.not_applicable(
            f"The game needs {FEWEST} rows of each side, and there are {size}."
        )
    game = play(comparison, "synthetic", size, folds=folds, iterations=iterations, shuffle=True)
    notes = [
        f"{size:,} of {height:,} {table} rows were drawn, for equal numbers{_cap(size, rows)}."
        for table, height in heights.items()
        if table != "train" and height > size
    ]
    reference, known = 0.5, min(size, heights["train"])
    if known < FEWEST:
        notes.append(f"The reference is 0.5 by theory: training has fewer than {FEWEST} rows.")
    else:
        real = play(comparison, "train", known, folds=folds, iterations=iterations)
        reference = real.value
    if game.by_row:
        notes.append(
            "Rows have so many twins that folds were made by rows, not by distinct rows: few "
            "values in few columns."
        )
    interval = around(game.value, game.error, 0.0, 1.0)
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=game.value,
        interval=interval,
        reference=reference,
        p_value=_p_value(game),
        flagged=interval[0] > max(0.5, reference),
        parts=tuple(
            Part(name, loss) for name, loss in sorted(game.lost.items(), key=lambda i: (-i[1], i))
        ),
        note=" ".join(notes),
    )


def _cap(size: int, rows: int) -> str:
    return " and the option rows" if size == rows else ""


def _p_value(game: Game) -> float:
    """Test whether the area is above one half."""
    if game.error == 0:
        return 1.0 if game.value <= 0.5 else 0.0
    return math.erfc((game.value - 0.5) / game.error / math.sqrt(2)) / 2


def play(
    comparison: Comparison,
    player: Which,
    size: int,
    *,
    folds: int,
    iterations: int,
    shuffle: bool = False,
) -> Game:
    """Let boosting tell a table from the holdout, cross-fitted, at this number of rows each.

    Both games draw from the same streams: a copy of training gets the reference exactly.
    """
    made = features(comparison, (player, "holdout"))
    sides: tuple[Which, Which] = (player, "holdout")
    parts = [
        made.tables[table][draw(made, table, size, comparison.stream(CARD.name, side))]
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
    fold = _folds(units, folds, comparison.stream(CARD.name, "folds"))

    def judge(number: int) -> tuple[float, NDArray[np.float64], dict[str, float]] | None:
        test = fold == number
        if not _both(is_player[test]) or not _both(is_player[~test]) or not matrix.shape[1]:
            return None
        model = boosted(
            matrix[~test],
            is_player[~test].astype(np.int64),
            made.is_category,
            iterations=iterations,
        )
        value, contributions = auc(model.decision_function(matrix[test]), is_player[test])
        rng = comparison.stream(CARD.name, "shuffle", str(number))
        seen = rng.permutation(int(test.sum()))[:SHUFFLED_ROWS]
        lost = (
            _losses(model, made, matrix[test][seen], is_player[test][seen], rng) if shuffle else {}
        )
        return value, contributions, lost

    values, weights, errors = [], [], np.zeros(len(matrix))
    losses: dict[str, list[float]] = {name: [] for name in made.columns}
    for number, judged in enumerate(
        one_by_one(judge, folds, comparison.progress, f"{CARD.name}: {player}")
    ):
        if judged is None:
            continue
        test = fold == number
        weight = float(is_player[test].sum()) * float((~is_player[test]).sum())
        values.append(judged[0])
        weights.append(weight)
        errors[test] = judged[1] * weight
        for name, loss in judged[2].items():
            losses[name].append(loss)
    lost = {name: float(np.mean(found)) if found else 0.0 for name, found in losses.items()}
    if not values:
        return Game(0.5, 0.0, lost, by_row)
    value = float(np.average(values, weights=weights))
    together = np.bincount(units, errors / sum(weights))
    return Game(value, math.sqrt(TWICE * float(together @ together)), lost, by_row)


def _both(labels: NDArray[np.bool_]) -> bool:
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


def _losses(
    model: object,
    made: Features,
    matrix: NDArray[np.float64],
    is_player: NDArray[np.bool_],
    rng: np.random.Generator,
) -> dict[str, float]:
    """Shuffle one column after the other, and say what the area loses."""
    if not _both(is_player):
        return {}
    score = model.decision_function  # type: ignore[attr-defined]
    whole = auc(score(matrix), is_player)[0]
    losses = {}
    for name in dict.fromkeys(made.columns):
        own = [i for i, column in enumerate(made.columns) if column == name]
        shuffled = matrix.copy()
        shuffled[:, own] = matrix[rng.permutation(len(matrix))][:, own]
        losses[name] = whole - auc(score(shuffled), is_player)[0]
    return losses
