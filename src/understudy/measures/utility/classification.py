"""Train on synthetic, test on fresh real rows: how well a class is predicted."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, around, described
from understudy.measures.boosting import boosted, one_by_one
from understudy.measures.features import Features, features
from understudy.measures.utility import sameness
from understudy.measures.utility.class_scores import Score, score
from understudy.measures.utility.classes import NAMED, absent, lump, testable
from understudy.measures.utility.sameness import SHUFFLED_ROWS, Opinion, worth
from understudy.measures.utility.teachers import (
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
class Contest:
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
    made, lumped = lump(
        features(comparison, ("synthetic", "train", "holdout"), target=target), classes
    )
    given: dict[Which, Rows] = {t: np.flatnonzero(made.targets[t] >= 0) for t in made.tables}
    known = {**given, "holdout": testable(made.targets["holdout"])}
    seen = {t: set(made.targets[t][known[t]].tolist()) for t in made.tables}
    for table in ("train", "holdout"):
        if len(seen[table]) < 2:
            how_many = "one class only" if seen[table] else "no class at all"
            enough = f" that {NAMED} rows or more have" if table == "holdout" else ""
            return CARD.not_applicable(
                f"The target '{target}' has {how_many}{enough} in {word(table)}: nothing to "
                "predict."
            )
    size = min(len(known["synthetic"]), len(known["train"]), rows)
    if too_few(known, size):
        return CARD.not_applicable(too_few(known, size))
    chosen = teachers(comparison, CARD.name, known, size)
    found = _contest(comparison, made, known["holdout"], chosen, iterations)
    heights = {t: len(made.targets[t]) for t in made.tables}
    naive = np.bincount(made.targets["train"][known["train"]])
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=found.value.auc,
        interval=around(found.value.auc, found.spread, 0.0, 1.0),
        reference=found.original.auc,
        baselines={"original": found.original.auc, "naive": 0.5},
        parts=_parts(found, made, made.targets["holdout"][known["holdout"]], naive),
        tables={"importance": sameness.table(found.whole)},
        note=" ".join(
            [*said_of_sizes(heights, given, size, rows), *absent(made.classes, seen), *lumped]
        ),
    )


def _contest(
    comparison: Comparison, made: Features, known: Rows, chosen: Teachers, iterations: int
) -> Contest:
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
    return Contest(
        value, original, math.sqrt(variance), (said[0], said[1]), (said[2], said[3], said[4])
    )


@dataclass(frozen=True)
class _Learnt:
    """A model, and the classes it has seen; a class never seen has no chance."""

    model: Any
    present: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, made: Features, table: Which, rows: Rows, iterations: int) -> "_Learnt":
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

    def chances(self, tests: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the chance of each class for the rows to test."""
        made = np.zeros((len(tests), len(self.shares)))
        if self.model is None:
            return np.broadcast_to(self.shares, made.shape)
        made[:, self.present] = self.model.predict_proba(tests)
        return made


def _parts(
    found: Contest, made: Features, truth: NDArray[np.int64], naive: NDArray[np.int64]
) -> tuple[Part, ...]:
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
        *sameness.parts(found.whole, found.halves),
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
