"""Train on synthetic, test on fresh real rows: how well a class is predicted."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.comparison import Comparison, Which
from understudy.findings import Card, Finding, Part, around, described
from understudy.measures.boosting import auc, boosted, one_by_one
from understudy.measures.features import Features, features

GROUPS = 5
FEWEST = 20
FEWEST_ROUNDS = 20
NAMED = 5
SMALLEST = 1e-6
OTHERS = "(all others)"
TEACHERS: tuple[Which, Which] = ("synthetic", "train")

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
    "rows it was trained on",
    unit="AUC",
    better="higher",
    headline="holdout area under the ROC curve of gradient boosting trained on synthetic",
    source="Hittmeir et al. 2019 (train on synthetic, test on real); DeLong et al. 1988",
    not_shown="One target and one kind of model: other questions may be answered worse. A copy of "
    "training is as useful as training, so a high value says nothing about copying.",
    needs=("target", "holdout"),
)


@dataclass(frozen=True)
class Score:
    """How well a model predicts the holdout: area, errors by row, and the plain scores."""

    auc: float
    contributions: NDArray[np.float64]
    by_class: dict[str, float]
    accuracy: float
    log_loss: float


@described(CARD)
def classification(
    comparison: Comparison, *, iterations: int = 100, rows: int = 50_000, classes: int = 10
) -> Finding:
    """Area under the ROC curve on the holdout of boosting trained on synthetic rows."""
    target = str(comparison.target)
    kind = comparison.schema[target].kind
    if kind in ("number", "date"):
        return CARD.not_applicable(
            f"The target '{target}' is a {kind}, not a category: see utility.regression (planned), "
            "or declare it a category in a schema file."
        )
    made = features(comparison, ("synthetic", "train", "holdout"), target=target)
    made, lumped = _lump(made, classes)
    known = {t: np.flatnonzero(made.targets[t] >= 0) for t in made.tables}
    seen = {t: set(made.targets[t][known[t]].tolist()) for t in made.tables}
    for table in ("train", "holdout"):
        if len(seen[table]) < 2:
            how_many = "one class only" if seen[table] else "no class at all"
            return CARD.not_applicable(
                f"The target '{target}' has {how_many} in {_word(table)}: nothing to predict."
            )
    size = min(len(known["synthetic"]), len(known["train"]), rows)
    if size < FEWEST or len(known["holdout"]) < FEWEST:
        return CARD.not_applicable(
            f"{FEWEST} rows with a target are needed to train and to test; there are {size} and "
            f"{len(known['holdout'])}."
        )
    value, original, spread = _contest(comparison, made, known, size, iterations)
    naive = np.bincount(made.targets["train"][known["train"]]).argmax()
    guess = float((made.targets["holdout"][known["holdout"]] == naive).mean())
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=value.auc,
        interval=around(value.auc, spread, 0.0, 1.0),
        reference=original.auc,
        baselines={"original": original.auc, "naive": 0.5},
        parts=_parts(value, original, guess),
        note=" ".join([*_sizes(made, known, size, rows), *_absent(made, seen), *lumped]),
    )


def _contest(
    comparison: Comparison,
    made: Features,
    known: dict[Which, NDArray[np.intp]],
    size: int,
    iterations: int,
) -> tuple[Score, Score, float]:
    """Train on both tables, whole and without a fifth, and test on the holdout."""
    chosen, group = {}, {}
    for table in TEACHERS:
        rng = comparison.stream(CARD.name)
        mine = known[table]
        chosen[table] = mine[np.sort(rng.permutation(len(mine))[:size])]
        group[table] = rng.permutation(size) % GROUPS
    tests = made.tables["holdout"][known["holdout"]]
    truth = made.targets["holdout"][known["holdout"]]

    def train(number: int) -> Score:
        table, left_out = TEACHERS[number % 2], number // 2 - 1
        rows = chosen[table][group[table] != left_out]
        chances = _learn(made, table, rows, tests, iterations)
        return _score(chances, truth, made.classes)

    scores = list(
        one_by_one(train, 2 * (1 + GROUPS), comparison.progress, f"{CARD.name}: training")
    )
    value, original = scores[:2]
    apart = value.contributions - original.contributions
    variance = float(apart @ apart)
    for start in (2, 3):
        without = np.array([score.auc for score in scores[start::2]])
        variance += (GROUPS - 1) * float(without.var())
    return value, original, math.sqrt(variance)


def _learn(
    made: Features,
    table: Which,
    rows: NDArray[np.intp],
    tests: NDArray[np.float64],
    iterations: int,
) -> NDArray[np.float64]:
    """Give the chance of each class for the rows to test; a class never seen has none."""
    labels = made.targets[table][rows]
    chances = np.zeros((len(tests), len(made.classes)))
    present = np.unique(labels)
    if len(present) == 1 or not made.tables[table].shape[1]:
        shares = np.bincount(labels, minlength=len(made.classes)) / len(labels)
        return np.broadcast_to(shares, chances.shape)
    if len(present) > 2:
        iterations = max(FEWEST_ROUNDS, 3 * iterations // len(present))
    model: Any = boosted(made.tables[table][rows], labels, made.is_category, iterations=iterations)
    chances[:, present] = model.predict_proba(tests)
    return chances


def _score(
    chances: NDArray[np.float64], truth: NDArray[np.int64], classes: tuple[str, ...]
) -> Score:
    """Compare chances with the truth; two classes have one area, several one each."""
    tested = np.unique(truth)
    looked = tested[-1:] if len(tested) == 2 and len(classes) == 2 else tested
    found = {classes[c]: auc(chances[:, c], truth == c) for c in looked}
    own = np.clip(chances[np.arange(len(truth)), truth], SMALLEST, 1.0)
    return Score(
        float(np.mean([value for value, _ in found.values()])),
        np.mean([contributions for _, contributions in found.values()], axis=0),
        {name: value for name, (value, _) in found.items()},
        float((chances.argmax(axis=1) == truth).mean()),
        float(-np.log(own).mean()),
    )


def _parts(value: Score, original: Score, guess: float) -> tuple[Part, ...]:
    parts = [
        Part("accuracy", value.accuracy, original.accuracy, {"naive": guess}, "fraction"),
        Part("log loss", value.log_loss, original.log_loss, unit="nats"),
    ]
    if len(value.by_class) > 1:
        worst = sorted(value.by_class, key=lambda c: (value.by_class[c] - original.by_class[c], c))
        parts += [Part(f"class {c}", value.by_class[c], original.by_class[c]) for c in worst]
    return tuple(parts)


def _lump(made: Features, most: int) -> tuple[Features, list[str]]:
    """Keep the most frequent classes of training, and make one of all others.

    A class that few real rows have is never named.
    """
    labels = made.targets["train"]
    counts = np.bincount(labels[labels >= 0], minlength=len(made.classes))
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    kept = kept[counts[kept] >= NAMED]
    if len(kept) == len(made.classes):
        return made, []
    number = np.full(len(made.classes) + 1, len(kept))
    number[kept], number[-1] = np.arange(len(kept)), -1
    names = (*(made.classes[c] for c in kept), OTHERS)
    targets = {table: number[labels] for table, labels in made.targets.items()}
    lumped = Features(made.columns, made.is_category, made.tables, targets, names)
    return lumped, [
        f"{len(kept)} of {len(made.classes)} classes are told apart, the others are one: those "
        f"beyond the {most} most frequent of training (option classes) or with fewer than {NAMED} "
        "rows there."
    ]


def _sizes(made: Features, known: dict[Which, NDArray[np.intp]], size: int, rows: int) -> list[str]:
    notes = []
    for table in TEACHERS:
        if len(known[table]) > size:
            why = " and the option rows" if size == rows else ""
            notes.append(
                f"{size:,} of {len(known[table]):,} {_word(table)} rows were used to train, for "
                f"equal numbers{why}."
            )
    for table, rows_known in known.items():
        missing = len(made.targets[table]) - len(rows_known)
        if missing:
            notes.append(f"{_word(table)}: {missing:,} rows without a target are left out.")
    return notes


def _absent(made: Features, seen: dict[Which, set[int]]) -> list[str]:
    """Name the classes that a table lacks."""
    notes = []
    if len(seen["synthetic"]) == 1:
        only = made.classes[min(seen["synthetic"])]
        return [
            f"The synthetic table has one class only ({only!r}): nothing can be learnt from it."
        ]
    lost = sorted(made.classes[c] for c in seen["holdout"] - seen["synthetic"])
    if lost:
        notes.append(f"Absent from synthetic, so never predicted: {_some(lost)}.")
    untested = sorted(
        made.classes[c] for c in (seen["synthetic"] | seen["train"]) - seen["holdout"]
    )
    if untested:
        notes.append(f"Absent from the holdout, so not tested: {_some(untested)}.")
    return notes


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(repr(name[:40]) for name in names[:3]) + more


def _word(table: str) -> str:
    return {"train": "training", "holdout": "the holdout"}.get(table, table)
