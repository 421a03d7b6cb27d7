"""Train on synthetic, test on fresh real rows: how well a class is predicted.

The model of synthetic rows is also set beside one of training rows: whether both say the same of
the same rows, and for the same reasons. How far two models agree depends on how many rows they saw,
and two models of fresh rows do not agree fully either. So three models are trained on half of the
rows: one half of training against the other is the reference, and against half of the synthetic
rows the value.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.matrix import Floats, Labels, Matrix
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import (
    Card,
    Finding,
    Part,
    TableOfNumbers,
    around,
    described,
)
from understudy.judging.rates import area_contributions
from understudy.measures.boosting import boosted, one_by_one, rank_correlation
from understudy.measures.utility.training import (
    GROUPS,
    TEACHERS,
    Rows,
    Teachers,
    said_of_sizes,
    teachers,
    too_few,
    word,
)

FEWEST_ROUNDS = 20
SMALLEST_CHANCE = 1e-6
FEWEST = 5
OTHERS = "(all others)"
SHUFFLED_ROWS = 2_000
FEWEST_COLUMNS = 3

CARD = Card(
    name="utility.classification",
    title="Prediction of a class",
    meaning="How well gradient boosting that was trained on the synthetic table predicts the "
    "target of fresh real rows: the area under the ROC curve on the holdout.",
    formula="train on synthetic, test on holdout; the reference is the same model trained on as "
    "many rows of training; one class against the rest, mean over classes, for several (which "
    "share 300 trees, or 20 rounds if that is more). "
    "Interval: of the difference to the reference, around the value: DeLong's variance of the two "
    "models on the same holdout rows, and for each model the jackknife over five groups of the "
    "rows it was trained on. Parts: F1 is the mean over classes (macro), for two classes also that "
    "of the rarer; balanced accuracy the mean over classes of the share recognised; agreement the "
    "share of holdout rows of which a model of half of the synthetic rows says the same as one of "
    "half of training, beside two halves of training; importance ranks the Spearman correlation "
    "over columns of how far the same models' chances move when a column is shuffled (in up to "
    "2,000 holdout rows)",
    unit="AUC",
    better="higher",
    headline="holdout area under the ROC curve of gradient boosting trained on synthetic",
    source="Hittmeir et al. 2019 (train on synthetic, test on real); DeLong et al. 1988; Breiman "
    "2001 (permutation importance)",
    not_shown="One target and one kind of model: other questions may be answered worse. A copy of "
    "training is as useful as training, so a high value says nothing about copying.",
    needs=("target", "holdout"),
)


@dataclass(frozen=True)
class Score:
    """How well a model predicts the holdout: area, errors by row, and the plain scores.

    ``by_class``, ``f1`` and ``recall`` are by number of the class, of those that the holdout has.
    """

    auc: float
    contributions: NDArray[np.float64]
    by_class: dict[int, float]
    accuracy: float
    log_loss: float
    f1: dict[int, float]
    recall: dict[int, float]
    says: Labels

    @property
    def macro_f1(self) -> float:
        """The mean of F1 over classes, each with the same weight."""
        return float(np.mean(list(self.f1.values())))

    @property
    def balanced_accuracy(self) -> float:
        """The mean over classes of the share of their rows that is recognised."""
        return float(np.mean(list(self.recall.values())))


@dataclass(frozen=True)
class Opinion:
    """What a model says of each holdout row, and what each column is worth to it."""

    says: Labels
    worth: Mapping[str, float]


@dataclass(frozen=True)
class Trained:
    """What the models of both tables got, and how far they agree."""

    value: Score
    original: Score
    spread: float
    whole: tuple[Opinion, Opinion]
    halves: tuple[Opinion, Opinion, Opinion]


@described(CARD)
def classification(
    comparison: Comparison, *, iterations: int = 100, rows: int = 50_000, classes: int = 10
) -> Finding:
    """Area under the ROC curve on the holdout of boosting trained on synthetic rows."""
    target = str(comparison.target)
    kind = comparison.schema[target].kind
    if kind == "number":
        return CARD.not_applicable(
            f"The target '{target}' is a number, not a category: see utility.regression, "
            "or declare it a category in a schema file."
        )
    if kind == "date":
        return CARD.not_applicable(
            f"The target '{target}' is a date, not a category: declare it one in a schema file, or "
            "make it a number (days since a day) for utility.regression."
        )
    made, lumped = lump(comparison.matrix(("synthetic", "train", "holdout"), target), classes)
    given: dict[Which, Rows] = {t: np.flatnonzero(made.targets[t] >= 0) for t in made.tables}
    known = {**given, "holdout": testable(made.targets["holdout"])}
    seen = {t: set(made.targets[t][known[t]].tolist()) for t in made.tables}
    for table in ("train", "holdout"):
        if len(seen[table]) < 2:
            how_many = "one class only" if seen[table] else "no class at all"
            enough = f" that {FEWEST} rows or more have" if table == "holdout" else ""
            return CARD.not_applicable(
                f"The target '{target}' has {how_many}{enough} in {word(table)}: nothing to "
                "predict."
            )
    size = min(len(known["synthetic"]), len(known["train"]), rows)
    if too_few(known, size):
        return CARD.not_applicable(too_few(known, size))
    chosen = teachers(comparison, CARD.name, known, size)
    found = _train(comparison, made, known["holdout"], chosen, iterations)
    heights = {t: len(made.targets[t]) for t in made.tables}
    naive = np.bincount(made.targets["train"][known["train"]])
    return CARD.finding(
        value=found.value.auc,
        interval=around(found.value.auc, found.spread, 0.0, 1.0),
        reference=found.original.auc,
        baselines={"original": found.original.auc, "naive": 0.5},
        parts=_parts(found, made, made.targets["holdout"][known["holdout"]], naive),
        tables={"importance": _importance(found.whole)},
        note=" ".join(
            [*said_of_sizes(heights, given, size, rows), *absent(made.classes, seen), *lumped]
        ),
    )


def _train(
    comparison: Comparison, made: Matrix[Which], known: Rows, chosen: Teachers, iterations: int
) -> Trained:
    """Train on both tables, whole, on halves and without a fifth, and test on the holdout."""
    tests, truth = made.tables["holdout"][known], made.targets["holdout"][known]
    few = np.sort(comparison.stream(CARD.name, "shuffled").permutation(len(tests))[:SHUFFLED_ROWS])
    synthetic, train = TEACHERS
    jobs: list[tuple[Which, Rows]] = [
        *((table, chosen.rows(table)) for table in TEACHERS),
        (synthetic, chosen.half(synthetic, 0)),
        *((train, chosen.half(train, half)) for half in (0, 1)),
    ]
    opinions = len(jobs)
    jobs += [(t, chosen.without(t, group)) for t in TEACHERS for group in range(GROUPS)]

    def judge(number: int) -> tuple[Score, Opinion | None]:
        learnt = _Learnt.of(made, *jobs[number], iterations)
        scored = score(learnt.chances(tests), truth)
        if number >= opinions:
            return scored, None
        rng = comparison.stream(CARD.name, "importance")
        return scored, Opinion(scored.says, worth(learnt.chances, tests[few], made.columns, rng))

    label = f"{CARD.name}: training"
    judged = list(one_by_one(judge, len(jobs), comparison.progress, label))
    scores = [scored for scored, _ in judged]
    value, original = scores[:2]
    apart = value.contributions - original.contributions
    variance = float(apart @ apart)
    for start in (opinions, opinions + GROUPS):
        without = np.array([one.auc for one in scores[start : start + GROUPS]])
        variance += (GROUPS - 1) * float(without.var())
    said: list[Any] = [opinion for _, opinion in judged[:opinions]]
    return Trained(
        value, original, math.sqrt(variance), (said[0], said[1]), (said[2], said[3], said[4])
    )


@dataclass(frozen=True)
class _Learnt:
    """A model, and the classes it has seen; a class never seen has no chance."""

    model: Any
    present: Labels
    shares: Floats

    @classmethod
    def of(cls, made: Matrix[Which], table: Which, rows: Rows, iterations: int) -> "_Learnt":
        labels = made.targets[table][rows]
        shares = np.bincount(labels, minlength=len(made.classes)) / len(labels)
        present = np.unique(labels)
        if len(present) == 1 or not made.tables[table].shape[1]:
            return cls(None, present, shares)
        if len(present) > 2:
            iterations = max(FEWEST_ROUNDS, 3 * iterations // len(present))
        matrix = made.tables[table][rows]
        return cls(
            boosted(matrix, labels, made.is_category, iterations=iterations), present, shares
        )

    def chances(self, tests: Floats) -> Floats:
        """Give the chance of each class for the rows to test."""
        made = np.zeros((len(tests), len(self.shares)))
        if self.model is None:
            return np.broadcast_to(self.shares, made.shape)
        made[:, self.present] = self.model.predict_proba(tests)
        return made


def _parts(found: Trained, made: Matrix[Which], truth: Labels, naive: Labels) -> tuple[Part, ...]:
    value, original = found.value, found.original
    guess = float((truth == naive.argmax()).mean())
    parts = [
        Part("accuracy", value.accuracy, original.accuracy, {"naive": guess}, "fraction"),
        Part(
            "balanced accuracy",
            value.balanced_accuracy,
            original.balanced_accuracy,
            {"naive": 1 / len(value.recall)},
            "fraction",
        ),
        Part("F1", value.macro_f1, original.macro_f1, unit="fraction"),
        Part("log loss", value.log_loss, original.log_loss, unit="nats"),
        *_agreement(found.whole, found.halves),
    ]
    if len(value.by_class) > 1:
        loss = {c: value.by_class[c] - original.by_class[c] for c in value.by_class}
        worst = sorted(loss, key=lambda c: (loss[c], made.classes[c]))
        parts += [
            Part(f"class {made.classes[c]}", value.by_class[c], original.by_class[c]) for c in worst
        ]
    elif len(value.f1) == 2:
        rarer = int(naive.argmin())
        title = f"F1 of {made.classes[rarer]}"
        one = Part(title, value.f1[rarer], original.f1[rarer], unit="fraction")
        parts.insert(3, one)
    return tuple(parts)


def score(chances: Floats, truth: Labels) -> Score:
    """Compare chances with the truth; two classes have one area, several one each."""
    tested = np.unique(truth)
    looked = tested[-1:] if len(tested) == chances.shape[1] == 2 else tested
    found = {int(c): area_contributions(chances[:, c], truth == c) for c in looked}
    own = np.clip(chances[np.arange(len(truth)), truth], SMALLEST_CHANCE, 1.0)
    says = chances.argmax(axis=1)
    return Score(
        float(np.mean([value for value, _ in found.values()])),
        np.mean([contributions for _, contributions in found.values()], axis=0),
        {c: value for c, (value, _) in found.items()},
        float((says == truth).mean()),
        float(-np.log(own).mean()),
        {int(c): f1(says == c, truth == c) for c in tested},
        {int(c): float((says[truth == c] == c).mean()) for c in tested},
        says,
    )


def f1(says: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Give the harmonic mean of precision and recall; a class that nobody names has 0.

    Examples
    --------
    >>> f1(np.array([True, True, False]), np.array([True, False, False]))
    0.666...
    """
    both, either = int((says & truth).sum()), int(says.sum()) + int(truth.sum())
    return 2 * both / either if either else 0.0


def lump(made: Matrix[Which], most: int) -> tuple[Matrix[Which], list[str]]:
    """Keep the most frequent classes of training, and make one of all others.

    A class that few real rows have is never named.
    """
    labels = made.targets["train"]
    counts = np.bincount(labels[labels >= 0], minlength=len(made.classes))
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    kept = kept[counts[kept] >= FEWEST]
    if len(kept) == len(made.classes):
        return made, []
    number = np.full(len(made.classes) + 1, len(kept))
    number[kept], number[-1] = np.arange(len(kept)), -1
    others = OTHERS
    while others in made.classes:  # a class may have this name
        others = f"({others})"
    names = (*(made.classes[c] for c in kept), others)
    targets = {table: number[labels] for table, labels in made.targets.items()}
    return dataclasses.replace(made, targets=targets, classes=names), [
        f"{len(kept)} of {len(made.classes)} classes are told apart, the others are one: those "
        f"beyond the {most} most frequent of training (option classes) or with fewer than {FEWEST} "
        "rows there."
    ]


def testable(labels: Labels) -> NDArray[np.intp]:
    """Give the rows that are tested: those of classes that few rows have would be given away."""
    counts = np.bincount(labels[labels >= 0], minlength=1)
    return np.flatnonzero((labels >= 0) & (counts[labels] >= FEWEST))


def absent(classes: tuple[str, ...], seen: Mapping[Which, set[int]]) -> list[str]:
    """Name the classes that a table lacks; ``seen`` of the holdout are those that are tested."""
    notes = []
    if len(seen["synthetic"]) == 1:
        only = classes[min(seen["synthetic"])]
        return [
            f"The synthetic table has one class only ({only!r}): nothing can be learnt from it."
        ]
    lost = sorted(classes[c] for c in seen["holdout"] - seen["synthetic"])
    if lost:
        notes.append(f"Absent from synthetic, so never predicted: {_some(lost)}.")
    untested = sorted(classes[c] for c in (seen["synthetic"] | seen["train"]) - seen["holdout"])
    if untested:
        have = "have it" if len(untested) == 1 else "have each"
        notes.append(
            f"Fewer than {FEWEST} rows of the holdout {have}, so not tested: {_some(untested)}."
        )
    return notes


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(repr(name[:40]) for name in names[:3]) + more


def worth(
    chances: Callable[[Floats], Floats],
    matrix: Floats,
    columns: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, float]:
    """Shuffle one column after the other, and say how far the model's chances move on average.

    It tells on what the model relies, right or wrong; what its score loses would mix in what is
    true of the rows. All models see the same shuffles, if they are given the same stream.
    """
    before = chances(matrix)
    moved = {}
    for name in dict.fromkeys(columns):
        own = [i for i, column in enumerate(columns) if column == name]
        shuffled = matrix.copy()
        shuffled[:, own] = matrix[rng.permutation(len(matrix))][:, own]
        moved[name] = float(np.abs(chances(shuffled) - before).sum(axis=1).mean() / 2)
    return moved


def agreement(first: Labels, second: Labels) -> float:
    """Give the share of rows of which two models say the same."""
    return float((first == second).mean())


def by_chance(first: Labels, second: Labels) -> float:
    """Give the share that would agree if the models said so to rows at random.

    Examples
    --------
    >>> by_chance(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.5
    """
    classes = max(int(first.max()), int(second.max())) + 1
    shares = [np.bincount(says, minlength=classes) / len(says) for says in (first, second)]
    return float(shares[0] @ shares[1])


def same_ranks(first: Mapping[str, float], second: Mapping[str, float]) -> float | None:
    """Give the Spearman correlation of what columns are worth; none for fewer than three columns.

    Examples
    --------
    >>> same_ranks({"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 9.0, "b": 8.0, "c": 7.0})
    1.0
    """
    if len(first) < FEWEST_COLUMNS:
        return None
    return rank_correlation(list(first.values()), [second[name] for name in first])


def _agreement(
    whole: tuple[Opinion, Opinion], halves: tuple[Opinion, Opinion, Opinion]
) -> tuple[Part, ...]:
    """Give both agreements, of models of half of the rows and of all.

    ``whole`` are the models of synthetic and of training; ``halves`` those of half of the
    synthetic rows, of the same half of training, and of its other half.
    """
    made, fresh, other = halves
    both = Part(
        "agreement",
        agreement(made.says, other.says),
        agreement(fresh.says, other.says),
        {
            "all_rows": agreement(whole[0].says, whole[1].says),
            "by_chance": by_chance(made.says, other.says),
        },
        "fraction",
    )
    ranks = same_ranks(made.worth, other.worth)
    if ranks is None:
        return (both,)
    reasons = Part(
        "importance ranks",
        ranks,
        same_ranks(fresh.worth, other.worth),
        {"all_rows": same_ranks(whole[0].worth, whole[1].worth)},
        "correlation",
    )
    return both, reasons


def _importance(whole: tuple[Opinion, Opinion]) -> TableOfNumbers:
    """List how far chances move without each column, the most important for training first."""
    made, real = whole[0].worth, whole[1].worth
    names = sorted(real, key=lambda name: (-real[name], name))
    return TableOfNumbers(
        ("column", "synthetic", "training"), tuple((n, made[n], real[n]) for n in names)
    )
