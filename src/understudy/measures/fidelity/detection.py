"""The distinguishing game: a model that has seen examples tells synthetic from real rows.

Both sides have the same number of rows, identical rows stay in one fold, and every row is judged by
models that have not seen it. Which columns gave the rows away is told by shuffling them.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from understudy.data.matrix import Floats, Labels, Marks, groups, mixed, places
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, around, described
from understudy.judging.rates import area, area_contributions
from understudy.measures.boosting import boosted, one_by_one
from understudy.options import AtLeast

FEWEST_ROWS = 20
MANY_TWINS = 10
SHUFFLED_ROWS = 2000
TWICE = 2.0
TREES = 20
LEAVES = 64
MOST_COLUMNS = 6
TELLING = 0.005
ERRORS = 3.0
MOST_NAMED = 3
AT_ONCE = 16
Names = tuple[str, ...]

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
    "each fold); a × b, of the six most telling columns: what is lost by shuffling a alone and b "
    "alone beyond what is lost by giving both to other rows together, which is what needs both to "
    "be told (shown from 0.005 and three standard errors over the folds); and the areas of a "
    "classification tree (64 leaves) and a forest (20 trees, each of half the rows) in the same "
    "folds, which take levels in the order of their frequency",
    unit="AUC",
    better="lower",
    headline="area under the ROC curve of gradient boosting",
    source="Lopez-Paz and Oquab 2017 (classifier two-sample test); DeLong et al. 1988; "
    "Obuchowski 1997; Breiman 2001 (forest, shuffling columns)",
    not_shown="Copies of training rows are as hard to tell from fresh rows as training itself: "
    "a low value says nothing about copying. What this model cannot see, another may.",
    needs=("holdout",),
)


@dataclass(frozen=True)
class Interplay:
    """What of the area needs two columns together, and its standard error over the folds."""

    names: tuple[str, str]
    value: float
    error: float

    @property
    def tells(self) -> bool:
        """Whether it is more than noise, and worth a word.

        Three errors are those of 15 looks at 5 %, one side, with some 60 degrees of freedom; where
        a pair's own error is the larger one, it is the stricter rule.
        """
        return self.value >= TELLING and self.value > ERRORS * self.error


@dataclass(frozen=True)
class Area:
    """An area under the ROC curve and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class DetectionResult:
    """How a game went: the area by boosting, what columns and pairs were worth, other models."""

    value: float
    error: float
    lost: Mapping[str, float]
    by_row: bool
    others: Mapping[str, Area] = field(default_factory=dict)
    together: tuple[Interplay, ...] = ()


@described(CARD)
def detection(
    comparison: Comparison,
    *,
    folds: Annotated[int, AtLeast(2)] = 5,
    iterations: int = 100,
    rows: int = 50_000,
) -> Finding:
    """Area under the ROC curve of telling synthetic from holdout rows."""
    heights = {t: comparison.height(t) for t in comparison.tables}
    size = min(heights["synthetic"], heights["holdout"], rows)
    if size < FEWEST_ROWS:
        return CARD.not_applicable(
            f"The game needs {FEWEST_ROWS} rows of each side, and there are {size}."
        )
    game = play(comparison, "synthetic", size, folds=folds, iterations=iterations, shuffle=True)
    notes = [
        f"{size:,} of {height:,} {table} rows were drawn, for equal numbers{_cap(size, rows)}."
        for table, height in heights.items()
        if table != "train" and height > size
    ]
    real, known = None, min(size, heights["train"])
    if known < FEWEST_ROWS:
        notes.append(f"The reference is 0.5 by theory: training has fewer than {FEWEST_ROWS} rows.")
    else:
        real = play(comparison, "train", known, folds=folds, iterations=iterations)
    reference = 0.5 if real is None else real.value
    if game.by_row and game.lost:
        notes.append(
            "Rows have so many twins that folds were made by rows, not by distinct rows: few "
            "values in few columns."
        )
    interval = around(game.value, game.error, 0.0, 1.0)
    flagged = interval[0] > max(0.5, reference)
    if flagged:
        notes.insert(0, in_words(game.lost, game.together))
    return CARD.finding(
        value=game.value,
        interval=interval,
        reference=reference,
        p_value=_p_value(game),
        flagged=flagged,
        parts=_parts(game, real),
        note=" ".join(notes),
    )


def _cap(size: int, rows: int) -> str:
    return " and the option rows" if size == rows else ""


def _p_value(game: DetectionResult) -> float:
    """Test whether the area is above one half."""
    if game.error == 0:
        return 1.0 if game.value <= 0.5 else 0.0
    return math.erfc((game.value - 0.5) / game.error / math.sqrt(2)) / 2


def _parts(game: DetectionResult, real: DetectionResult | None) -> tuple[Part, ...]:
    """List columns, then pairs, then the other models."""
    columns = [
        Part(name, loss) for name, loss in sorted(game.lost.items(), key=lambda i: (-i[1], i))
    ]
    pairs = [Part(" × ".join(one.names), one.value) for one in game.together if one.tells]
    models = [
        Part(
            f"model: {name}",
            area.value,
            0.5 if real is None or name not in real.others else real.others[name].value,
            interval=around(area.value, area.error, 0.0, 1.0),
        )
        for name, area in game.others.items()
    ]
    return (*columns, *pairs, *models)


def play(
    comparison: Comparison,
    player: Which,
    size: int,
    *,
    folds: int,
    iterations: int,
    shuffle: bool = False,
) -> DetectionResult:
    """Let models tell a table from the holdout, cross-fitted, at this number of rows each.

    Both games draw from the same streams: a copy of training gets the reference exactly.
    """
    made = comparison.matrix((player, "holdout"))
    matrix, is_player = mixed(
        made.draw("holdout", size, comparison.stream(CARD.name, "holdout")),
        made.draw(player, size, comparison.stream(CARD.name, "player")),
    )
    twins = groups(matrix)
    distinct = int(twins[-1]) + 1
    by_row = len(matrix) / distinct > MANY_TWINS
    units = np.arange(len(matrix)) if by_row else twins
    fold = _folds(units, folds, comparison.stream(CARD.name, "folds"))
    placed = places(matrix)

    def judge(number: int) -> tuple[dict[str, Floats], Judge, dict[str, float]] | None:
        test = fold == number
        if not _both(is_player[test]) or not _both(is_player[~test]) or not matrix.shape[1]:
            return None
        known, labels = ~test, is_player.astype(np.int64)
        model = boosted(matrix[known], labels[known], made.is_category, iterations=iterations)
        scores = {"boosting": model.decision_function(matrix[test])}
        seed = int(comparison.stream(CARD.name, "models", str(number)).integers(2**31))
        for name, other in _others(seed).items():
            other.fit(placed[known], labels[known])
            scores[name] = other.predict_proba(placed[test])[:, 1]
        rng = comparison.stream(CARD.name, "shuffle", str(number))
        seen = rng.permutation(int(test.sum()))[:SHUFFLED_ROWS]
        fitted = Judge(model, matrix[test][seen], is_player[test][seen])
        return scores, fitted, alone(fitted, made.columns, rng) if shuffle else {}

    scores: dict[str, Floats] = {}
    judges: list[Judge] = []
    found: dict[str, list[float]] = {name: [] for name in made.columns}
    used = np.zeros(len(matrix), bool)
    for number, judged in enumerate(
        one_by_one(judge, folds, comparison.progress, f"{CARD.name}: {player}")
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
        return DetectionResult(0.5, 0.0, lost, by_row)
    areas = {
        name: _area(own, is_player, np.where(used, fold, -1), units) for name, own in scores.items()
    }
    whole = areas.pop("boosting")

    def pairs(number: int) -> dict[tuple[str, str], float]:
        rng = comparison.stream(CARD.name, "pairs", str(number))
        return excesses(judges[number], made.columns, most_telling(lost), rng)

    looks = len(judges) if shuffle else 0
    together = over_folds(
        list(one_by_one(pairs, looks, comparison.progress, f"{CARD.name}: pairs of columns"))
    )
    return DetectionResult(whole.value, whole.error, lost, by_row, areas, together)


def _area(scores: Floats, is_player: Marks, fold: Labels, units: Labels) -> Area:
    """Give the mean of the folds' areas, weighted by their pairs of rows."""
    values, weights, errors = [], [], np.zeros(len(scores))
    for number in range(int(fold.max()) + 1):
        test = fold == number
        if not test.any():
            continue
        value, contributions = area_contributions(scores[test], is_player[test])
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


def _both(labels: Marks) -> bool:
    return bool(labels.any() and not labels.all())


def _folds(units: Labels, folds: int, rng: np.random.Generator) -> Labels:
    """Deal units (rows that stay together) to folds of about the same number of rows."""
    sizes = np.bincount(units)
    order = rng.permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    fold_of = np.empty(len(sizes), np.int64)
    fold_of[order] = before * folds // len(units)
    return fold_of[units]


@dataclass(frozen=True)
class Judge:
    """A fitted model and rows that it has not seen, with their labels."""

    model: Any
    matrix: Floats
    is_player: Marks

    def losses(
        self, columns: tuple[str, ...], names: Sequence[Names], rng: np.random.Generator
    ) -> dict[Names, float]:
        """Say what the area loses when some columns get the values of other rows, set by set.

        Columns of a set get those of the same row. Sets are judged together, for a call of
        scikit-learn takes longer than a few rows.
        """
        if not _both(self.is_player):
            return {}
        whole = self._areas([self.matrix])[0]
        lost: dict[Names, float] = {}
        for begin in range(0, len(names), AT_ONCE):
            some = names[begin : begin + AT_ONCE]
            made = [_shuffled(self.matrix, columns, own, rng) for own in some]
            areas = self._areas(made)
            lost |= {own: whole - left for own, left in zip(some, areas, strict=True)}
        return lost

    def _areas(self, tables: list[Floats]) -> list[float]:
        scores = self.model.decision_function(np.concatenate(tables))
        return [area(own, self.is_player) for own in np.split(scores, len(tables))]


def alone(judge: Judge, columns: tuple[str, ...], rng: np.random.Generator) -> dict[str, float]:
    """Shuffle one column after the other, and say what the area loses."""
    each = [(name,) for name in dict.fromkeys(columns)]
    return {own[0]: loss for own, loss in judge.losses(columns, each, rng).items()}


def excesses(
    judge: Judge, columns: tuple[str, ...], names: Sequence[str], rng: np.random.Generator
) -> dict[tuple[str, str], float]:
    """Say of each pair of columns what of the area needs both.

    If one column is shuffled, all that the model reads from it is lost, alone and in combination.
    So what is read from the combination of two columns is lost by either of the two shuffles, but
    only once if both go to other rows together: the excess of the two losses over the joint one.
    Columns that tell independently lose more together than apart, for the area is bounded.
    """
    pairs = list(itertools.combinations(sorted(names), 2))
    lost = judge.losses(columns, [*((name,) for name in names), *pairs], rng)
    return {(a, b): lost[a,] + lost[b,] - lost[a, b] for a, b in pairs if lost}


def most_telling(lost: Mapping[str, float]) -> list[str]:
    """Name the columns whose pairs are looked at."""
    return sorted(lost, key=lambda name: (-lost[name], name))[:MOST_COLUMNS]


def over_folds(found: Sequence[Mapping[tuple[str, str], float]]) -> tuple[Interplay, ...]:
    """Put what the folds say of each pair together, the largest first.

    The noise is that of shuffling, and five folds tell little of it, so that all pairs share its
    variance; pairs with a column that tells much have more of it, and then their own counts.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for fold in found:
        for pair, excess in fold.items():
            values.setdefault(pair, []).append(excess)
    several = {pair: own for pair, own in values.items() if len(own) > 1}
    if not several:
        return ()
    single = {pair: float(np.var(own, ddof=1)) / len(own) for pair, own in several.items()}
    shared = float(np.mean(list(single.values())))
    made = [
        Interplay(pair, float(np.mean(own)), math.sqrt(max(shared, single[pair])))
        for pair, own in several.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.value, one.names)))


def _shuffled(
    matrix: Floats,
    columns: tuple[str, ...],
    names: tuple[str, ...],
    rng: np.random.Generator,
) -> Floats:
    """Give columns the values of other rows, all of them those of the same row."""
    own = [i for i, column in enumerate(columns) if column in names]
    made = matrix.copy()
    made[:, own] = matrix[rng.permutation(len(matrix))][:, own]
    return made


def in_words(lost: Mapping[str, float], together: Sequence[Interplay]) -> str:
    """Say what gave the rows away.

    Examples
    --------
    >>> in_words({"age": 0.12, "sex": 0.03, "town": 0.001},
    ...          [Interplay(("age", "sex"), 0.02, 0.001)])
    'Mostly told apart by age (0.12 of the area) and sex (0.03), and by the combination of age and
     sex (0.02).'
    """
    order = sorted(lost, key=lambda name: (-lost[name], name))
    telling = [name for name in order if lost[name] >= TELLING][:MOST_NAMED]
    if not telling:
        return "No single column gives them away: what tells is spread over many."
    named = [f"{name} ({lost[name]:.2g})" for name in telling]
    named[0] = f"{telling[0]} ({lost[telling[0]]:.2g} of the area)"
    pairs = [one for one in together if one.tells][:MOST_NAMED]
    said = f"Mostly told apart by {_listed(named)}"
    if pairs:
        both = [f"{one.names[0]} and {one.names[1]} ({one.value:.2g})" for one in pairs]
        said += f", and by the combination of {'; of '.join(both)}"
    return f"{said}."


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
