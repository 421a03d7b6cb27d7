"""Attackers: all records within a radius, or any regressor or classifier of scikit-learn.

Each sees a table and guesses the sensitive values of persons whose keys it knows.
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import OptionError
from understudy.measures.privacy.guesses import Floats, Ints, Known, Secret, distinct

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


@dataclass(frozen=True)
class Guess:
    """What an attacker guesses about each person: a number, or the share on the true level.

    ``right`` says for a category whether the level with most weight is the true one.
    """

    guess: Floats
    right: Floats | None = None


def radius_guess(
    known: Known, sensitive: Sequence[Secret], radius: float = math.inf, inverse: bool = True
) -> list[Guess]:
    """Guess by all records within the radius; nan where there are none with a value.

    Records with equal keys are one point, and persons with equal keys have one guess.
    """
    from understudy.kernels.weights import weighted_sums

    points, at = distinct(known.synthetic)
    queries, whose = distinct(known.persons)
    amounts, width = _amounts(sensitive, at, len(points))
    sums = weighted_sums(
        queries, points, known.is_category, amounts, width, radius=radius, inverse=inverse
    )
    made, start = [], 0
    for secret in sensitive:
        here = sums[:, start : start + secret.width]
        start += secret.width
        made.append(_number(here, whose) if secret.is_number else _vote(here, whose, secret))
    return made


def _number(sums: Floats, whose: Ints) -> Guess:
    count, total = sums.T
    return Guess(np.divide(total, count, out=np.full(len(sums), np.nan), where=count > 0)[whose])


def _vote(votes: Floats, whose: Ints, secret: Secret) -> Guess:
    total = votes.sum(axis=1)
    truth = secret.persons.astype(np.int64)
    alone = total[whose] == 0
    share = np.divide(votes[whose, truth], total[whose], out=np.zeros(len(whose)), where=~alone)
    right = (votes.argmax(axis=1)[whose] == truth).astype(float)
    return Guess(np.where(alone, np.nan, share), np.where(alone, np.nan, right))


def _amounts(
    sensitive: Sequence[Secret], at: Ints, points: int
) -> tuple[tuple[Ints, Ints, Floats], int]:
    """Give what stands at each point, as a sparse table: counts and sums, or votes."""
    rows: list[Ints] = []
    columns: list[Ints] = []
    amounts: list[Floats] = []
    start = 0
    for secret in sensitive:
        if secret.is_number:
            present = ~np.isnan(secret.synthetic)
            here, values = at[present], secret.synthetic[present].astype(float)
            found = np.unique(here)
            for place, weight in enumerate((np.ones(len(here)), values)):
                rows.append(found)
                columns.append(np.full(len(found), start + place))
                amounts.append(np.bincount(here, weight, minlength=points)[found].astype(float))
        else:
            cell = at * secret.size + secret.synthetic.astype(np.int64)
            found, times = np.unique(cell, return_counts=True)
            rows.append(found // secret.size)
            columns.append(start + found % secret.size)
            amounts.append(times.astype(float))
        start += secret.width
    row, column = np.concatenate(rows), np.concatenate(columns).astype(np.int64)
    order = np.argsort(row, kind="stable")
    begin = np.searchsorted(row[order], np.arange(points + 1)).astype(np.int64)
    return (begin, column[order], np.concatenate(amounts)[order]), start


def model_guess(attacker: Any, known: Known, secret: Secret, rng: np.random.Generator) -> Guess:
    """Fit an attacker to the table that it sees, and let it guess about each person.

    For a category, also whether the level that it holds most likely is the true one.
    """
    model = _estimator(attacker, secret.is_number, int(rng.integers(2**31)))
    persons, table = _features(known)
    values = secret.synthetic
    seen = ~np.isnan(values) if secret.is_number else np.ones(len(values), bool)
    order = np.lexsort([values[seen], *table[seen].T])
    rows, answers = table[seen][order], values[seen][order]
    if answers.min() == answers.max():
        return _constant(secret, answers[0])
    model.fit(rows, answers)
    if secret.is_number:
        return Guess(np.asarray(model.predict(persons), float))
    truth = secret.persons.astype(np.int64)
    right = (model.predict(persons) == truth).astype(float)
    if not hasattr(model, "predict_proba"):
        return Guess(right, right)
    place = np.searchsorted(model.classes_, truth).clip(0, len(model.classes_) - 1)
    share = model.predict_proba(persons)[np.arange(len(truth)), place]
    return Guess(np.where(model.classes_[place] == truth, share, 0.0), right)


def _constant(secret: Secret, value: Any) -> Guess:
    """Guess the only value that there is."""
    if secret.is_number:
        return Guess(np.full(len(secret.persons), float(value)))
    right = (secret.persons == value).astype(float)
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


def _features(known: Known) -> tuple[Floats, Floats]:
    """Give numbers as they are, and a column of 0 and 1 for each frequent level of a category."""
    persons, table = [], []
    for place, is_category in enumerate(known.is_category):
        mine, theirs = known.persons[:, place], known.synthetic[:, place]
        if not is_category:
            persons.append(mine)
            table.append(theirs)
            continue
        levels, times = np.unique(theirs, return_counts=True)
        for level in levels[np.argsort(-times, kind="stable")[:MOST_LEVELS]]:
            persons.append((mine == level).astype(float))
            table.append((theirs == level).astype(float))
    return np.column_stack(persons), np.column_stack(table)
