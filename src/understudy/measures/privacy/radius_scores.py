"""How good guesses are: errors beside those of a guess without keys, and the paper's scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.judging.findings import Part, TableOfNumbers
from understudy.measures.pictures import few_dominate
from understudy.measures.privacy.attackers import Guess
from understudy.measures.privacy.guesses import (
    Floats,
    Secret,
    mean,
    naive_number,
    naive_shares,
)


@dataclass(frozen=True)
class Attack:
    """One look: a set of keys and a sensitive column, scored for each person."""

    name: str
    secret: Secret
    guess: Guess
    scores: Floats
    naive: Floats
    original: float
    ceiling: Guess


def attack_of(
    keys: tuple[str, ...], secret: Secret, guess: Guess, ceiling: Guess, train: int, named: bool
) -> Attack:
    """Score each person: the error as a part of the mean error of a guess without keys."""
    errors = _errors(secret, guess.guess)
    if secret.is_number:
        naive = np.abs(secret.persons - naive_number(secret))
    else:
        naive = 1 - naive_shares(secret)
    unit = float(np.nanmean(naive)) or 1.0
    own = _errors(secret.from_training(train), ceiling.guess)
    name = f"{secret.name} from {', '.join(keys)}" if named else secret.name
    original = float(np.nanmean(own)) / unit if not np.isnan(own).all() else math.nan
    return Attack(name, secret, guess, errors / unit, naive / unit, original, ceiling)


def _errors(secret: Secret, guess: Floats) -> Floats:
    return np.abs(secret.persons - guess) if secret.is_number else 1 - guess


def both(scores: Floats, train: int) -> tuple[float | None, float | None]:
    """Give the means over training persons and over holdout persons."""
    return mean(scores[:train]), mean(scores[train:])


Scores = dict[str, float | None]


def scores_of(secret: Secret, guess: Guess, rows: slice) -> Scores:
    """Give MAE, MAPE (where the truth is not 0) and R²; for a category the vote and accuracy.

    A mean error of which fewer than five persons make half or more is withheld: n times it is
    how far the farthest person is out.
    """
    if not secret.is_number:
        right = guess.right if guess.right is not None else np.full(len(guess.guess), np.nan)
        return {"share on the true level": mean(guess.guess[rows]), "accuracy": mean(right[rows])}
    truth, guessed = secret.persons[rows].astype(float), guess.guess[rows]
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


def summaries(attacks: Sequence[Attack], train: int) -> list[Part]:
    """Give the mean and the spread over sets of keys, as the paper's tables do."""
    made = []
    for name in dict.fromkeys(attack.secret.name for attack in attacks):
        own = [attack for attack in attacks if attack.secret.name == name]
        secret = own[0].secret
        on_train, on_holdout, original = (
            [scores_of(s, g, rows) for s, g in ones]
            for ones, rows in (
                ([(a.secret, a.guess) for a in own], slice(0, train)),
                ([(a.secret, a.guess) for a in own], slice(train, None)),
                ([(a.secret.from_training(train), a.ceiling) for a in own], slice(0, train)),
            )
        )
        dummy = scores_of(secret, _dummy(secret), slice(0, train))
        for figure in on_train[0]:
            value, spread = _over_keys(on_train, figure)
            ceiling, ceiling_spread = _over_keys(original, figure)
            more = {
                "spread": spread,
                "original": ceiling,
                "original_spread": ceiling_spread,
                "naive": dummy[figure],
            }
            unit = "in the column's unit" if figure == "MAE" else "fraction"
            reference = _over_keys(on_holdout, figure)[0]
            made.append(Part(f"{name}: {figure}", value, reference, more, unit))
        reached = [np.where(np.isnan(a.guess.guess), 0.0, 1.0) for a in own]
        if min(float(r.mean()) for r in reached) < 1:
            value, reference = both(np.mean(reached, axis=0), train)
            title = f"{name}: persons with a record within the radius"
            made.append(Part(title, value, reference, unit="fraction"))
    return made


def _dummy(secret: Secret) -> Guess:
    if secret.is_number:
        return Guess(np.full(len(secret.persons), naive_number(secret)))
    codes = secret.synthetic.astype(np.int64)
    most = np.bincount(codes, minlength=secret.size).argmax()
    return Guess(naive_shares(secret), (secret.persons == most).astype(float))


def _over_keys(found: list[Scores], figure: str) -> tuple[float | None, float | None]:
    values = [scores[figure] for scores in found]
    present = np.array([value for value in values if value is not None])
    return (float(present.mean()), float(present.std())) if len(present) else (None, None)


def table(attacks: Sequence[Attack], train: int) -> TableOfNumbers:
    """Give all figures of each look."""
    rows = []
    for attack in attacks:
        own = attack.secret.from_training(train)
        on_train = scores_of(attack.secret, attack.guess, slice(0, train))
        on_holdout = scores_of(attack.secret, attack.guess, slice(train, None))
        original = scores_of(own, attack.ceiling, slice(0, train))
        for figure, value in on_train.items():
            rows.append((attack.name, figure, value, on_holdout[figure], original[figure]))
    return TableOfNumbers(("look", "figure", "training", "holdout", "original"), tuple(rows))
