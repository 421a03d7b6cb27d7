"""Guessing a sensitive value from all records around a person's keys (Hittmeir et al. 2019).

Correct attribution asks for records with exactly the same keys. Here every record within a radius
counts, the nearer the more, so that numbers can be keys and can be guessed. Instead of the radius,
any regressor or classifier of scikit-learn may guess.
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from understudy.data.matrix import one_hot
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, described
from understudy.judging.register import FEW_PERSONS
from understudy.measures.pictures import few_dominate
from understudy.measures.privacy.coding import Floats, Ints, KeyPoints, distinct, known_points
from understudy.measures.privacy.guesses import (
    Amounts,
    GuessLook,
    SensitiveColumn,
    advantage,
    judge_guesses,
    mean,
    sensitive_columns,
)
from understudy.measures.privacy.keys import key_sets
from understudy.options import Between, OneOf

CARD = Card(
    name="privacy.radius_attribution",
    title="Attribution within a radius",
    meaning="How wrong an attacker is who guesses a sensitive value from all synthetic records "
    "around a person's keys, as a part of the error of a guess without keys: 1 is no help.",
    formula="guess = Σ w y / Σ w over synthetic records within the radius, w = 1/distance of the "
    "keys (numbers scaled to deviation 1, each differing category adds 2 to the squared "
    "distance); at distance 0 only these records count. Error: |y − guess|; for a category 1 − the "
    "share of the weights on the true level. Value: mean over training persons, divided by the "
    "mean error of the synthetic table's own mean (of its levels' shares) over all real persons; "
    "reference: the same for holdout persons. One look for each set of keys and each "
    "sensitive column",
    unit="ratio",
    better="higher",
    headline="the look with the strongest evidence of a leak",
    source="Hittmeir et al. 2019, sections III and VI, tables VII to X; radius 0 is correct "
    "attribution (Elliot 2014; Taub et al. 2018)",
    not_shown="A value below 1 is what the table teaches about people like the person, in the "
    "training data or not; only the distance to the reference speaks of training persons. A mean "
    "over persons: a few copied records move it little, and with an infinite radius less still. "
    "Other keys, or another attacker, may do better.",
    threat="Someone who knows the keys of a person and sees the synthetic table guesses the "
    "sensitive value. Counted against the same guess, from the same table, for holdout persons, "
    "who cannot have been learnt.",
    opening="This guessing attack reads",
    needs=("keys", "sensitive"),
)
NOBODY_NEAR = (
    "No synthetic record lies within the radius of any person: the attack is too weak, which is no "
    "evidence that nothing is disclosed. Give a larger radius, or fewer keys."
)
SHORT = {
    "linear": ("linear_model.LinearRegression", "linear_model.LogisticRegression"),
    "tree": ("tree.DecisionTreeRegressor", "tree.DecisionTreeClassifier"),
    "forest": ("ensemble.RandomForestRegressor", "ensemble.RandomForestClassifier"),
    "boosting": (
        "ensemble.HistGradientBoostingRegressor",
        "ensemble.HistGradientBoostingClassifier",
    ),
    "neighbors": ("neighbors.KNeighborsRegressor", "neighbors.KNeighborsClassifier"),
    "neural": ("neural_network.MLPRegressor", "neural_network.MLPClassifier"),
}
HINT = (
    f"use radius, {', '.join(SHORT)}, or a class of scikit-learn such as linear_model.Ridge; "
    "for numbers and categories at once join two by +"
)
MOST_LEVELS = 50


@described(CARD)
def radius_attribution(
    comparison: Comparison,
    *,
    length: int | None = None,
    radius: Annotated[float | str | None, Between(0, math.inf)] = None,
    weights: Annotated[str, OneOf("inverse", "equal")] = "inverse",
    attacker: Any = "radius",
    subsets: int = 50,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Guess sensitive values from all records around the keys.

    ``length`` is the number of keys that the attacker knows: every set of so many keys is tried,
    or ``subsets`` of them drawn at random where there are more. By itself, all keys together.
    ``radius`` is infinite unless given. ``weights`` are ``inverse`` (1/distance) or ``equal``.
    ``attacker`` is ``radius``, a short name (``linear``, ``tree``, ``forest``, ``boosting``,
    ``neighbors``, ``neural``), a class of scikit-learn (``linear_model.Ridge``; for numbers and
    categories at once ``svm.SVR+svm.SVC``) or such an estimator itself.
    """
    reach = _radius(radius)
    sets, remark = key_sets(comparison, length, subsets, name=CARD.name)
    found = sensitive_columns(comparison)
    if isinstance(found, str):
        return CARD.not_applicable(found)
    columns, notes = found
    points, train = known_points(comparison), comparison.height("train")

    def guesses(known: KeyPoints, columns: Sequence[SensitiveColumn]) -> list[Guess]:
        if isinstance(attacker, str) and attacker == "radius":
            return radius_guess(known, columns, reach, weights == "inverse")
        rng = comparison.stream(CARD.name, "attacker", ", ".join(dict.fromkeys(known.key)))
        return [model_guess(attacker, known, column, rng) for column in columns]

    made: list[KeyedGuess] = []
    for number, keys in enumerate(sets):
        comparison.progress("sets of keys", number, len(sets))
        known = points.only(keys)
        own = [column.from_training(train) for column in columns]
        for column, guess, ceiling in zip(
            columns, guesses(known, columns), guesses(known.from_training(train), own), strict=True
        ):
            name = f"{column.name} from {', '.join(keys)}" if len(sets) > 1 else column.name
            made.append(KeyedGuess.of(name, column, guess, ceiling, train))
    comparison.progress("sets of keys", len(sets), len(sets))
    found_looks = judge_guesses(
        comparison, [guess.look for guess in made], largest=math.inf,
        name=CARD.name, permutations=permutations, strata=strata, group=group,
    )  # fmt: skip
    if found_looks is None:
        alone = all(np.isnan(each.guess.guess).all() for each in made)
        return CARD.not_applicable(NOBODY_NEAR if alone else FEW_PERSONS)
    judged, looks, few = found_looks
    kept = {look.name for look in looks}
    made = [each for each in made if each.look.name in kept]
    return judged.finding(
        CARD,
        parts=(*advantage(judged), *judged.parts, *_summaries(made, train)),
        tables={"by set of keys": _table(made, train)},
        notes=[judged.note, remark, *notes, few],
        register=looks[judged.headline].register(CARD.name, train),
    )


def _radius(radius: float | str | None) -> float:
    if radius is None or radius in ("inf", "infinite"):
        return math.inf
    if isinstance(radius, bool) or not isinstance(radius, int | float) or not radius >= 0:
        raise OptionError(f"radius = {radius!r}", hint="give a number from 0 up, or infinite")
    return float(radius)


@dataclass(frozen=True)
class Guess:
    """What an attacker guesses about each person: a number, or the share on the true level.

    ``right`` says for a category whether the level with most weight is the true one.
    """

    guess: Floats
    right: Floats | None = None


def radius_guess(
    known: KeyPoints,
    sensitive: Sequence[SensitiveColumn],
    radius: float = math.inf,
    inverse: bool = True,
) -> list[Guess]:
    """Guess by all records within the radius; nan where there are none with a value.

    Records with equal keys are one point, and persons with equal keys have one guess.
    """
    from understudy.kernels.weights import weighted_sums

    points, at = distinct(known.table)
    queries, whose = distinct(known.persons)
    amounts = Amounts.of(sensitive, at, len(points))
    sums = weighted_sums(
        queries, points, known.is_category, amounts.rows, amounts.width,
        radius=radius, inverse=inverse,
    )  # fmt: skip
    made = []
    for column, first in zip(sensitive, amounts.first, strict=True):
        here = sums[:, first : first + column.width]
        made.append(_number(here, whose) if column.is_number else _vote(here, whose, column))
    return made


def _number(sums: Floats, whose: Ints) -> Guess:
    count, total = sums.T
    return Guess(np.divide(total, count, out=np.full(len(sums), np.nan), where=count > 0)[whose])


def _vote(votes: Floats, whose: Ints, column: SensitiveColumn) -> Guess:
    total = votes.sum(axis=1)
    truth = column.persons.astype(np.int64)
    alone = total[whose] == 0
    share = np.divide(votes[whose, truth], total[whose], out=np.zeros(len(whose)), where=~alone)
    right = (votes.argmax(axis=1)[whose] == truth).astype(float)
    return Guess(np.where(alone, np.nan, share), np.where(alone, np.nan, right))


def model_guess(
    attacker: Any, known: KeyPoints, column: SensitiveColumn, rng: np.random.Generator
) -> Guess:
    """Fit an attacker to the table that it sees, and let it guess about each person.

    For a category, also whether the level that it holds most likely is the true one.
    """
    model = _estimator(attacker, column.is_number, int(rng.integers(2**31)))
    table, persons = one_hot(
        known.table, known.persons, known.is_category, levels=MOST_LEVELS, scaled=False
    )
    values = column.table
    seen = ~np.isnan(values) if column.is_number else np.ones(len(values), bool)
    order = np.lexsort([values[seen], *table[seen].T])
    rows, answers = table[seen][order], values[seen][order]
    if answers.min() == answers.max():
        return _constant(column, answers[0])
    model.fit(rows, answers)
    if column.is_number:
        return Guess(np.asarray(model.predict(persons), float))
    truth = column.persons.astype(np.int64)
    right = (model.predict(persons) == truth).astype(float)
    if not hasattr(model, "predict_proba"):
        return Guess(right, right)
    place = np.searchsorted(model.classes_, truth).clip(0, len(model.classes_) - 1)
    share = model.predict_proba(persons)[np.arange(len(truth)), place]
    return Guess(np.where(model.classes_[place] == truth, share, 0.0), right)


def _constant(column: SensitiveColumn, value: Any) -> Guess:
    """Guess the only value that there is."""
    if column.is_number:
        return Guess(np.full(len(column.persons), float(value)))
    right = (column.persons == value).astype(float)
    return Guess(right, right)


def _estimator(attacker: Any, for_number: bool, seed: int) -> Any:
    """Make a fresh estimator that fits the sensitive column, with a seed if it takes one."""
    from sklearn.base import clone, is_classifier, is_regressor

    if isinstance(attacker, str):
        names = SHORT.get(attacker, tuple(attacker.split("+")))
        made = [_by_name(name) for name in names]
    else:
        made = [clone(attacker)]
    fits = is_regressor if for_number else is_classifier
    for model in made:
        if fits(model):
            wanted = {"random_state": seed} if "random_state" in model.get_params() else {}
            return model.set_params(**wanted)
    kind = "number" if for_number else "category"
    raise OptionError(f"attacker = {attacker!r} cannot guess a {kind}", hint=HINT)


def _by_name(name: str) -> Any:
    module, _, kind = name.strip().rpartition(".")
    parts = [*module.split("."), kind]
    if module and all(part.isidentifier() and not part.startswith("_") for part in parts):
        try:
            made = getattr(importlib.import_module(f"sklearn.{module}"), kind)()
        except (ImportError, AttributeError, TypeError):
            made = None
        if hasattr(made, "fit") and hasattr(made, "predict"):
            return made
    raise OptionError(f"attacker = {name!r} is no attacker", hint=HINT)


@dataclass(frozen=True)
class KeyedGuess:
    """A sensitive column guessed from a set of keys, and how wrong that is.

    ``ceiling`` is the guess about training persons from the training table itself.
    """

    look: GuessLook
    column: SensitiveColumn
    guess: Guess
    ceiling: Guess

    @classmethod
    def of(
        cls, name: str, column: SensitiveColumn, guess: Guess, ceiling: Guess, train: int
    ) -> "KeyedGuess":
        """Score each person: the error as a part of the mean error of a guess without keys."""
        naive = _errors(column, _without_keys(column).guess)
        unit = float(np.nanmean(naive)) or 1.0
        own = _errors(column.from_training(train), ceiling.guess)
        original = float(np.nanmean(own)) / unit if not np.isnan(own).all() else math.nan
        errors = _errors(column, guess.guess)
        return cls(GuessLook(name, errors / unit, naive / unit, original), column, guess, ceiling)

    def figures(self, train: int) -> tuple["Figures", "Figures", "Figures"]:
        """Give the paper's scores on training persons, on holdout persons, and of the ceiling."""
        own = self.column.from_training(train)
        return (
            _figures(self.column, self.guess, slice(0, train)),
            _figures(self.column, self.guess, slice(train, None)),
            _figures(own, self.ceiling, slice(0, train)),
        )


def _errors(column: SensitiveColumn, guess: Floats) -> Floats:
    return np.abs(column.persons - guess) if column.is_number else 1 - guess


Figures = dict[str, float | None]


def _figures(column: SensitiveColumn, guess: Guess, rows: slice) -> Figures:
    """Give MAE, MAPE (where the truth is not 0) and R²; for a category the vote and accuracy.

    A mean error of which fewer than five persons make half or more is withheld: n times it is
    how far the farthest person is out.
    """
    if not column.is_number:
        right = guess.right if guess.right is not None else np.full(len(guess.guess), np.nan)
        return {"share on the true level": mean(guess.guess[rows]), "accuracy": mean(right[rows])}
    truth, guessed = column.persons[rows].astype(float), guess.guess[rows]
    here = ~np.isnan(truth) & ~np.isnan(guessed)
    truth, apart = truth[here], np.abs(truth - guessed)[here]
    if not len(truth):
        return {"MAE": None, "MAPE": None, "R²": None}
    around = float(((truth - truth.mean()) ** 2).sum())
    part = apart[truth != 0] / np.abs(truth[truth != 0])
    return {
        "MAE": None if few_dominate(apart) else float(apart.mean()),
        "MAPE": None if few_dominate(part) else mean(part),
        "R²": 1 - float((apart**2).sum()) / around if around > 0 else None,
    }


def _summaries(made: Sequence[KeyedGuess], train: int) -> list[Part]:
    """Give the mean and the spread over sets of keys, as the paper's tables do."""
    parts = []
    for name in dict.fromkeys(each.column.name for each in made):
        own = [each for each in made if each.column.name == name]
        found = [each.figures(train) for each in own]
        without_keys = _figures(own[0].column, _without_keys(own[0].column), slice(0, train))
        for figure, naive in without_keys.items():
            (value, spread), (reference, _), (ceiling, ceiling_spread) = (
                _over_keys([figures[side][figure] for figures in found]) for side in range(3)
            )
            more = {
                "spread": spread,
                "original": ceiling,
                "original_spread": ceiling_spread,
                "naive": naive,
            }
            unit = "in the column's unit" if figure == "MAE" else "fraction"
            parts.append(Part(f"{name}: {figure}", value, reference, more, unit))
        reached = [np.where(np.isnan(each.guess.guess), 0.0, 1.0) for each in own]
        if min(float(r.mean()) for r in reached) < 1:
            within = np.mean(reached, axis=0)
            title = f"{name}: persons with a record within the radius"
            parts.append(Part(title, mean(within[:train]), mean(within[train:]), unit="fraction"))
    return parts


def _without_keys(column: SensitiveColumn) -> Guess:
    if column.is_number:
        return Guess(np.full(len(column.persons), column.naive_number()))
    most = np.bincount(column.table.astype(np.int64), minlength=column.size).argmax()
    return Guess(column.naive_shares(), (column.persons == most).astype(float))


def _over_keys(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    present = np.array([value for value in values if value is not None])
    return (float(present.mean()), float(present.std())) if len(present) else (None, None)


def _table(made: Sequence[KeyedGuess], train: int) -> TableOfNumbers:
    """Give all figures of each look."""
    rows = []
    for each in made:
        sides = each.figures(train)
        rows += [(each.look.name, figure, *(side[figure] for side in sides)) for figure in sides[0]]
    return TableOfNumbers(("look", "figure", "training", "holdout", "original"), tuple(rows))
