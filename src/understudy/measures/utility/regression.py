"""Train on synthetic, test on fresh real rows: how well a number is predicted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from understudy.data.matrix import HUGE, Floats, Matrix
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, Z, described
from understudy.judging.replicates import average
from understudy.measures.boosting import one_by_one
from understudy.measures.pictures import few_dominate
from understudy.measures.utility.splits import corrected_half, refits
from understudy.measures.utility.training import (
    FEWEST_COUNTED,
    GROUPS,
    TEACHERS,
    Learner,
    Rows,
    Teachers,
    headline,
    learn,
    learners,
    said_of_sizes,
    teachers,
    too_few,
    word,
)
from understudy.options import AtLeast

TABLES: tuple[Which, ...] = ("synthetic", "train", "holdout")
REAL: tuple[Which, ...] = ("train", "holdout")
ALONE = "The target has one value only in synthetic: nothing can be learnt from it."
UNITS = {"R²": "R²", "MAE": "in the target's unit", "MAPE": "fraction"}
WIDEST = 2.0
HIDDEN = (
    "Few real rows have a target so far out that errors in its unit would give them away: MAE and "
    "MAPE are withheld, and R² has two digits and is no worse than -1."
)
WITHHELD = "Errors that few rows make most of are withheld."
SCORES = ("R²", "MAE", "MAPE")
WORST = -1.0
DIGITS = 2

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


@dataclass(frozen=True)
class Guesses:
    """What a model of synthetic and one of training guess about the holdout.

    ``without`` has for each of them the guesses of models trained without some of the rows.
    """

    made: Floats
    real: Floats
    without: tuple[Sequence[Floats], Sequence[Floats]]


@dataclass(frozen=True)
class Predictions:
    """The truth about the holdout, what the models guess, and the mean of training.

    ``far_out``: few real rows have a target far from all others. ``sizes`` say which rows were
    used, ``remarks`` what else is to be said.
    """

    truth: Floats
    pairs: Sequence[Guesses]
    mean: Floats
    far_out: bool
    sizes: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class ScoreLine:
    """A score of a model of synthetic, of training and of the mean, and half its interval."""

    made: float
    real: float
    naive: float
    half: float
    more: Mapping[str, float] = field(default_factory=dict)

    def coarse(self) -> "ScoreLine":
        """Give the line as it may be shown where few rows are far out."""
        more = {name: coarse(min(value, WIDEST)) for name, value in self.more.items()}
        half = coarse(min(self.half, WIDEST))
        return ScoreLine(coarse(self.made), coarse(self.real), coarse(self.naive), half, more)


@dataclass(frozen=True)
class Limits:
    """How long and on how many rows the models train."""

    iterations: int
    rows: int
    slow_rows: int


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
                found if isinstance(found, Finding) else _of_one(chosen, found)
                for found in (
                    _predict(comparison.replicate(i), chosen, limits)
                    for i in range(len(comparison.synthetic))
                )
            ]
        )
    several: list[Predictions] = []
    for found in refits(
        comparison, CARD.name, splits, lambda split: _predict(split, chosen, limits, groups=0)
    ):
        if isinstance(found, Finding):
            return CARD.not_applicable(f"Split {len(several) + 1}: {found.note}")
        several.append(found)
    return _over_splits(chosen, several)


def _predict(
    comparison: Comparison, chosen: Sequence[Learner], limits: Limits, groups: int = GROUPS
) -> Predictions | Finding:
    """Train on both tables and guess about the holdout, or say why that cannot be."""
    target = str(comparison.target)
    made = comparison.matrix(TABLES, target)
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
        some = f"{zeros:,}" if zeros >= FEWEST_COUNTED else f"fewer than {FEWEST_COUNTED}"
        sizes.append(f"MAPE leaves out {some} rows of the holdout whose target is 0.")
    alone = np.ptp(numbers["synthetic"]) == 0
    tests = made.tables["holdout"][known["holdout"]]
    taught = teachers(comparison, CARD.name, known, size)
    guesses, warned = _train(comparison, made, amounts, tests, taught, chosen, limits, groups)
    return Predictions(
        numbers["holdout"],
        guesses,
        np.full(len(tests), numbers["train"].mean()),
        few_far_out(numbers["train"]) or few_far_out(numbers["holdout"]),
        tuple(sizes),
        (*([ALONE] if alone else []), *warned),
    )


def _train(
    comparison: Comparison,
    made: Matrix[Which],
    amounts: Mapping[Which, Floats],
    tests: Floats,
    taught: Teachers,
    chosen: Sequence[Learner],
    limits: Limits,
    groups: int,
) -> tuple[list[Guesses], list[str]]:
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
        guess, kinds = learn(
            learner,
            made.tables[table][rows],
            amounts[table][rows],
            tests,
            made.is_category,
            iterations=limits.iterations,
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
        pairs.append(Guesses(first[0], second[0], (first[1:], second[1:])))
    said = [f"{title} warned ({', '.join(sorted(kinds))})." for title, kinds in warned.items()]
    return pairs, said


def _amounts(comparison: Comparison, made: Matrix[Which], target: str) -> dict[Which, Floats]:
    """Give the numbers of the target for the rows of the features, nan where there is none."""
    number: dict[str | None, float] = {}
    for table in TABLES:
        source = comparison.source(table)
        number.update(zip(comparison.rows(table)[target], source.numbers(target), strict=True))
    by_class = np.array([*(number[name] for name in made.classes), np.nan], np.float64)
    return {table: np.clip(by_class[made.targets[table]], -HUGE, HUGE) for table in TABLES}


def _one_value(target: str, table: str) -> str:
    return f"The target '{target}' has one value only in {word(table)}: nothing to predict."


def _of_one(chosen: Sequence[Learner], found: Predictions) -> Finding:
    """Make the finding of one split."""
    lines = {
        (place, name): _line(found, place, name) for place in range(len(chosen)) for name in SCORES
    }
    return _finding(chosen, lines, found.far_out, [*found.sizes, *found.remarks], {})


def _over_splits(chosen: Sequence[Learner], several: Sequence[Predictions]) -> Finding:
    """Make the finding of a generator: means over splits, intervals paired over them."""
    far_out = any(found.far_out for found in several)
    lines, head = {}, []
    for place in range(len(chosen)):
        for name in SCORES:
            single = [_line(found, place, name) for found in several]
            known = [line for line in single if line is not None]
            lines[place, name] = _mean(known) if len(known) == len(several) else None
            if (place, name) == (headline(chosen), "R²"):
                head = [line.coarse() if far_out else line for line in known]
    rows = tuple((i, one.made, one.real, one.real - one.made) for i, one in enumerate(head, 1))
    table = TableOfNumbers(("split", "synthetic", "training", "difference"), rows)
    notes = [
        f"Of the generator: it was fitted anew on {len(several)} splits of all real rows; the "
        "synthetic table given was not looked at. Rows are the unit of the splits: rows of one "
        "person or household may be on both sides.",
        *(f"Split 1: {note}" for note in several[0].sizes),
        *dict.fromkeys(note for found in several for note in found.remarks),
    ]
    return _finding(chosen, lines, far_out, notes, {"splits": table})


def _line(found: Predictions, place: int, name: str) -> ScoreLine | None:
    """Score the models of both tables; nothing where that would give single rows away."""
    pair = found.pairs[place]
    if any(telling(name, found.truth, guess) for guess in (pair.made, pair.real, found.mean)):
        return None
    made, of_made = score(name, found.truth, pair.made)
    real, of_real = score(name, found.truth, pair.real)
    apart = of_made - of_real
    variance = float(apart @ apart)
    for guesses in pair.without:
        again = [score(name, found.truth, guess)[0] for guess in guesses]
        variance += (len(again) - 1) * float(np.var(again)) if again else 0.0
    return ScoreLine(made, real, score(name, found.truth, found.mean)[0], Z * math.sqrt(variance))


def _mean(lines: Sequence[ScoreLine]) -> ScoreLine:
    made, real, naive = np.array([(line.made, line.real, line.naive) for line in lines]).T
    spreads = {"spread": float(made.std(ddof=1)), "real_spread": float(real.std(ddof=1))}
    half = corrected_half(real - made)
    return ScoreLine(float(made.mean()), float(real.mean()), float(naive.mean()), half, spreads)


def _finding(
    chosen: Sequence[Learner],
    lines: Mapping[tuple[int, str], ScoreLine | None],
    far_out: bool,
    notes: list[str],
    tables: Mapping[str, TableOfNumbers],
) -> Finding:
    """Put the headline in front; MAE and MAPE are withheld where few real rows are far out."""
    shown = {
        (place, name): None
        if line is None or (far_out and name != "R²")
        else (line.coarse() if far_out else line)
        for (place, name), line in lines.items()
    }
    head = shown[headline(chosen), "R²"]
    if head is None:
        raise ValueError("R² is never withheld")
    if None in shown.values():
        notes.append(HIDDEN if far_out else WITHHELD)
    return CARD.finding(
        value=head.made,
        interval=(head.made - head.half, max(head.made, min(1.0, head.made + head.half))),
        reference=head.real,
        baselines={"original": head.real, "naive": head.naive},
        parts=tuple(
            _part(f"{chosen[place].title}: {name}", UNITS[name], line)
            for (place, name), line in shown.items()
        ),
        tables=tables,
        note=" ".join(notes),
    )


def _part(title: str, unit: str, line: ScoreLine | None) -> Part:
    """Give value and reference, their difference (real − synthetic) and its interval."""
    if line is None:
        return Part(title, None, unit=unit)
    apart = line.real - line.made
    more = {"difference": apart, "low": apart - line.half, "high": apart + line.half}
    ends = (line.made - line.half, line.made + line.half)
    return Part(title, line.made, line.real, {**more, "naive": line.naive, **line.more}, unit, ends)


def score(name: str, truth: Floats, guess: Floats) -> tuple[float, Floats]:
    """Give a score and what each row contributes to its error.

    The sum of squared contributions is the variance of the score over fresh rows to test on; those
    of two models on the same rows are subtracted first. R² is 1 - Σ(y - guess)²/Σ(y - mean)², with
    the mean of the rows tested. MAPE is the mean of abs(y - guess)/abs(y) as a fraction, over rows
    whose y is not 0; nan where all are.

    Examples
    --------
    >>> truth, guess = np.array([1.0, 2.0, 3.0, 0.0]), np.array([1.0, 2.0, 5.0, 0.0])
    >>> [round(score(name, truth, guess)[0], 4) for name in SCORES]
    [0.2, 0.5, 0.2222]
    """
    wrong = truth - guess
    if name == "R²":
        around = (truth - truth.mean()) ** 2
        left = float((wrong**2).sum()) / float(around.sum())
        return 1 - left, (left * around - wrong**2) / float(around.sum())
    used = errors(name, truth, guess)
    here = np.ones(len(truth), bool) if name == "MAE" else truth != 0
    value = float(used.mean()) if len(used) else float("nan")
    contributions = np.zeros(len(truth))
    contributions[here] = (used - value) / len(used) if len(used) else 0.0
    return value, contributions


def errors(name: str, truth: Floats, guess: Floats) -> Floats:
    """Give what a mean error is the mean of, row by row."""
    wrong = np.abs(truth - guess)
    return wrong if name == "MAE" else wrong[truth != 0] / np.abs(truth[truth != 0])


def telling(name: str, truth: Floats, guess: Floats) -> bool:
    """Tell whether a mean error gives single rows away: few make most of it, or there are few."""
    return name != "R²" and few_dominate(errors(name, truth, guess))


def few_far_out(numbers: Floats) -> bool:
    """Tell whether few rows are so far out that any error in their unit would give them away."""
    return few_dominate((numbers - numbers.mean()) ** 2)


def coarse(value: float) -> float:
    """Give R² as it may be shown where few rows are far out: two digits, and no worse than -1.

    Examples
    --------
    >>> coarse(-5e8), coarse(0.123456)
    (-1.0, 0.12)
    """
    return round(max(WORST, value), DIGITS) + 0.0
