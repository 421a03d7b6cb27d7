"""Train on synthetic, test on fresh real rows: how well a number is predicted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, average, described
from understudy.measures.boosting import one_by_one
from understudy.measures.features import Features, features
from understudy.measures.utility import beside
from understudy.measures.utility.beside import Contest, Pair
from understudy.measures.utility.learners import HUGE, Learner, Sheet, learn, learners
from understudy.measures.utility.scores import few_far_out
from understudy.measures.utility.splits import refits
from understudy.measures.utility.teachers import (
    FEW,
    GROUPS,
    TEACHERS,
    Rows,
    Teachers,
    said_of_sizes,
    teachers,
    too_few,
    word,
)
from understudy.options import AtLeast

Floats = NDArray[np.float64]
TABLES: tuple[Which, ...] = ("synthetic", "train", "holdout")
REAL: tuple[Which, ...] = ("train", "holdout")
ALONE = "The target has one value only in synthetic: nothing can be learnt from it."

CARD = Card(
    name="utility.regression",
    title="Prediction of a number",
    meaning="How well gradient boosting that was trained on the synthetic table predicts the "
    "target of fresh real rows: R² on the holdout. 1 is no error, 0 no better than the mean.",
    formula="train on synthetic, test on holdout; the reference is the same model trained on as "
    "many rows of training, the floor is the mean of training. R² = 1 − Σ(y − guess)²/Σ(y − mean)² "
    "over the holdout; MAE the mean of |y − guess|; MAPE the mean of |y − guess|/|y| over rows "
    "whose y is not 0. Models: linear regression, support vector regression (rbf, C = 100, target "
    "scaled), multilayer perceptron (lbfgs, target scaled), gradient boosting; all that is scaled "
    "or filled in is learnt from the rows trained on. Interval: of the difference to the "
    "reference, around the value: the variance over holdout rows of what both models got on the "
    "same rows and, for each model, the jackknife over five groups of the rows it was trained on. "
    "With a generator: ten splits of all "
    "real rows into 80 and 20 %, the generator fitted anew on each; means over splits, interval "
    "of the difference paired over splits, variance corrected for overlapping training rows",
    unit="R²",
    better="higher",
    headline="holdout R² of gradient boosting trained on synthetic (of the first model, where "
    "others are named)",
    source="Hittmeir et al. 2019, tables II to V; Nadeau and Bengio 2003",
    not_shown="One target: other questions may be answered worse. A copy of training is as useful "
    "as training, so a high value says nothing about copying.",
    needs=("target", "holdout"),
    together=True,
)


@described(CARD)
def regression(
    comparison: Comparison,
    *,
    models: str | Sequence[str] = "linear,svr,mlp,boosting",
    iterations: int = 100,
    rows: int = 50_000,
    slow_rows: int = 2_000,
    splits: Annotated[int, AtLeast(2)] = 10,
) -> Finding:
    """R² on the holdout of models trained on synthetic rows.

    ``models`` are short names (linear, svr, mlp, boosting) or regressors of scikit-learn
    (``RandomForestRegressor``), joined by commas. Models other than linear regression and boosting
    are trained on at most ``slow_rows`` rows, all on at most ``rows``. ``splits`` is the number of
    splits where a generator is given.
    """
    chosen = learners(models)
    target = str(comparison.target)
    kind = comparison.schema[target].kind
    if kind == "constant":
        return CARD.not_applicable(_one_value(target, "train"))
    if kind != "number":
        return CARD.not_applicable(
            f"The target '{target}' is a {kind}, not a number: "
            + (
                "see utility.classification, or declare it a number in a schema file."
                if kind == "category"
                else "make it one (days since a day)."
            )
        )
    limits = Limits(iterations, rows, slow_rows)
    if comparison.fit is None:
        return average(
            [
                _once(one, chosen, limits)
                for one in (comparison.replicate(i) for i in range(len(comparison.synthetic)))
            ]
        )
    several: list[Contest] = []
    for found in refits(
        comparison, CARD.name, splits, lambda split: _contest(split, chosen, limits, groups=0)
    ):
        if isinstance(found, Finding):
            return CARD.not_applicable(f"Split {len(several) + 1}: {found.note}")
        several.append(found)
    return beside.over_splits(CARD, chosen, several)


def _once(comparison: Comparison, chosen: Sequence[Learner], limits: "Limits") -> Finding:
    found = _contest(comparison, chosen, limits)
    return found if isinstance(found, Finding) else beside.once(CARD, chosen, found)


@dataclass(frozen=True)
class Limits:
    """How long and on how many rows the models train."""

    iterations: int
    rows: int
    slow_rows: int


def _contest(
    comparison: Comparison, chosen: Sequence[Learner], limits: Limits, groups: int = GROUPS
) -> Contest | Finding:
    """Train on both tables and guess about the holdout, or say why that cannot be."""
    target = str(comparison.target)
    made = features(comparison, TABLES, target=target)
    amounts = _amounts(comparison, made, target)
    known: dict[Which, Rows] = {t: np.flatnonzero(~np.isnan(amounts[t])) for t in TABLES}
    numbers = {t: amounts[t][known[t]] for t in TABLES}
    size = min(len(known["synthetic"]), len(known["train"]), limits.rows)
    if too_few(known, size):
        return CARD.not_applicable(too_few(known, size))
    for table in REAL:
        if np.ptp(numbers[table]) == 0:
            return CARD.not_applicable(_one_value(target, table))
    heights = {t: len(amounts[t]) for t in TABLES}
    sizes = said_of_sizes(heights, known, size, limits.rows)
    slow = [learner.title for learner in chosen if learner.slow]
    if slow and size > limits.slow_rows:
        sizes.append(
            f"{' and '.join(slow)}: {limits.slow_rows:,} rows were used to train (option "
            "slow_rows)."
        )
    zeros = int((numbers["holdout"] == 0).sum())
    if zeros:
        some = f"{zeros:,}" if zeros >= FEW else f"fewer than {FEW}"
        sizes.append(f"MAPE leaves out {some} rows of the holdout whose target is 0.")
    alone = np.ptp(numbers["synthetic"]) == 0
    tests = made.tables["holdout"][known["holdout"]]
    taught = teachers(comparison, CARD.name, known, size)
    guesses, warned = _train(comparison, made, amounts, tests, taught, chosen, limits, groups)
    return Contest(
        numbers["holdout"],
        guesses,
        np.full(len(tests), numbers["train"].mean()),
        few_far_out(numbers["train"]) or few_far_out(numbers["holdout"]),
        tuple(sizes),
        (*([ALONE] if alone else []), *warned),
    )


def _train(
    comparison: Comparison,
    made: Features,
    amounts: Mapping[Which, Floats],
    tests: Floats,
    taught: Teachers,
    chosen: Sequence[Learner],
    limits: Limits,
    groups: int,
) -> tuple[list[Pair], list[str]]:
    """Let all models guess, trained on all rows and without each of the groups."""
    jobs: list[tuple[Learner, Which, Rows]] = []
    for learner in chosen:
        most = limits.slow_rows if learner.slow else None
        for table in TEACHERS:
            jobs.append((learner, table, taught.rows(table, most)))
            jobs += [(learner, table, taught.without(table, g, most)) for g in range(groups)]
    warned: dict[str, set[str]] = {}

    def judge(number: int) -> Floats:
        learner, table, rows = jobs[number]
        sheet = Sheet(made.tables[table][rows], made.is_category)
        guess, kinds = learn(
            learner, sheet, amounts[table][rows], tests, iterations=limits.iterations
        )
        if kinds:
            warned.setdefault(learner.title, set()).update(kinds)
        return guess

    label = f"{CARD.name}: training"
    guesses = list(one_by_one(judge, len(jobs), comparison.progress, label))
    step = 1 + groups
    pairs = []
    for start in range(0, len(jobs), 2 * step):
        first, second = guesses[start : start + step], guesses[start + step : start + 2 * step]
        pairs.append(Pair(first[0], second[0], (first[1:], second[1:])))
    said = [f"{title} warned ({', '.join(sorted(kinds))})." for title, kinds in warned.items()]
    return pairs, said


def _amounts(comparison: Comparison, made: Features, target: str) -> dict[Which, Floats]:
    """Give the numbers of the target for the rows of the features, nan where there is none."""
    number: dict[str | None, float] = {}
    for table in TABLES:
        source = comparison.source(table)
        number.update(zip(comparison.rows(table)[target], source.numbers(target), strict=True))
    by_class = np.array([*(number[name] for name in made.classes), np.nan], np.float64)
    return {table: np.clip(by_class[made.targets[table]], -HUGE, HUGE) for table in TABLES}


def _one_value(target: str, table: str) -> str:
    return f"The target '{target}' has one value only in {word(table)}: nothing to predict."
