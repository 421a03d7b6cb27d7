"""Guess what is sensitive about a person from what is known: nearest records, and a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, described
from understudy.measures.privacy.arms import FEW_PERSONS, drawn, found, listed, played
from understudy.measures.privacy.guesses import enough
from understudy.measures.privacy.places import Places, fixed_order
from understudy.measures.privacy.secret import Secret, by_model, by_nearest

CARD = Card(
    name="privacy.attribute_inference",
    title="Attribute inference",
    meaning="The share of training persons whose sensitive value is guessed right from the other "
    "columns (the keys, if given) with the synthetic table at hand.",
    formula="two attackers see the synthetic table: one takes the value of the nearest records "
    "(mixed distance; of several as near, the most frequent value or the middle number), one fits "
    "gradient boosting; a number is right within a relative tolerance, a date within as large a "
    "part of the dates' standard deviation. Mean over persons whose value is known; control: "
    "holdout persons; baseline: the one value that is right most often in the synthetic table. "
    "Interval and p by swapping labels, all columns and attackers corrected together",
    unit="fraction",
    better="lower",
    headline="share of training persons guessed right, by the worst look",
    source="Giomi et al. 2023, section 4.3; corrections as in disclosure.md",
    not_shown="A right guess is no leak by itself: whoever smokes is guessed right from what is "
    "true of people in general. Only the excess over holdout persons speaks of the training data. "
    "A stronger model may guess more.",
    threat="Someone knows the other columns (the keys) of a person and guesses the sensitive one "
    "by the synthetic table. Counted against holdout persons by the same synthetic table, and "
    "against always guessing the same value.",
    opening="This guessing attack reads",
    needs=("sensitive",),
)
MOST_CLASSES = 100
NOTHING = "There is nothing to guess, or nothing to guess it from."
ALIKE = (
    "The known columns are the same in all synthetic records: they tell nobody apart. Name other "
    "keys (--keys)."
)


@described(CARD)
def attribute_inference(
    comparison: Comparison,
    *,
    tolerance: float = 0.05,
    attacks: int = 20_000,
    iterations: int = 50,
    rows: int = 20_000,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of training persons whose sensitive value is guessed right, by the worst look.

    At most ``attacks`` persons of either side are attacked; the model is fitted to at most
    ``rows`` synthetic rows, by so many ``iterations``.
    """
    if not 0 <= tolerance < 1:
        raise OptionError(f"{CARD.name}: tolerance = {tolerance}", hint="give a part of the value")
    for option, value in (("rows", rows), ("iterations", iterations)):
        if value < 1:
            raise OptionError(f"{CARD.name}: {option} = {value}", hint="use at least 1")
    known = comparison.keys or tuple(n for n in comparison.names if n not in comparison.sensitive)
    game = _Game.of(comparison, sorted(known), tolerance, attacks, iterations, rows)
    if not game.secrets:
        return CARD.not_applicable(" ".join(filter(None, [*game.notes, NOTHING])))
    looks_at = [(s, attack) for s in game.secrets for attack in game.attackers(s)]
    plays = [game.play(secret, attack, "synthetic") for secret, attack in looks_at]
    kept = [place for place, scores in enumerate(plays) if enough(comparison, scores)]
    if not kept:
        return CARD.not_applicable(FEW_PERSONS)
    if len(kept) < len(plays):
        few = len(plays) - len(kept)
        game.notes.append(f"{few:,} of {len(plays):,} looks left out: {FEW_PERSONS}")
    looks_at, right = [looks_at[place] for place in kept], [plays[place] for place in kept]
    names = [f"{secret.name} by {attack}" for secret, attack in looks_at]
    scores = np.stack(right, axis=1)
    arms, looks = played(
        comparison, scores, names, [secret.naive for secret, _ in looks_at],
        name=CARD.name, permutations=permutations, strata=strata, group=group,
    )  # fmt: skip
    worst = (
        looks.worst if looks is not None else int(np.argmax([a.main.rate - a.naive for a in arms]))
    )
    secret, attack = looks_at[worst]
    ceiling = game.play(secret, attack, "train")[: comparison.height("train")]
    return found(
        CARD, arms, looks,
        original=float(np.nanmean(ceiling)), notes=game.notes,
        register=_register(comparison, game, secret, attack, right[worst]),
    )  # fmt: skip


@dataclass(frozen=True)
class _Game:
    """What attackers know and must guess, and who is attacked."""

    comparison: Comparison
    known: Sequence[str]
    places: Places
    secrets: tuple[Secret, ...]
    attacked: NDArray[np.bool_]
    notes: list[str]
    iterations: int
    rows: int

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        known: Sequence[str],
        tolerance: float,
        attacks: int,
        iterations: int,
        rows: int,
    ) -> "_Game":
        """Code what is known and what is sensitive, and draw who is attacked."""
        sources = [comparison.source(t) for t in _tables(comparison)]
        names = sorted([*known, *comparison.sensitive])
        places = Places.of(sources, names)
        orders = [fixed_order(codes)[0] for codes in places.tables[1:]]
        attacked, said = drawn(comparison, attacks, orders, CARD.name)
        notes = [said]
        secrets = []
        vary = any(len(np.unique(places.tables[0][names.index(name)])) > 1 for name in known)
        if not vary:
            notes.append(ALIKE)
        for name in comparison.sensitive if vary else ():
            secret = Secret.of(comparison, places, name, tolerance)
            if secret.is_open(attacked):
                secrets.append(secret)
            else:
                notes.append(f"'{name}' was left out: it is missing wherever it would be needed.")
        if secrets and comparison.height("synthetic") > rows:
            height = comparison.height("synthetic")
            notes.append(f"Models were fitted to {rows:,} of {height:,} synthetic rows.")
        return cls(comparison, known, places, tuple(secrets), attacked, notes, iterations, rows)

    def attackers(self, secret: Secret) -> list[str]:
        """Name the attackers that can be sent; a model learns only so many classes."""
        if secret.classes > MOST_CLASSES:
            self.notes.append(f"'{secret.name}' has too many levels for a model.")
            return ["nearest records"]
        return ["nearest records", "model"]

    def play(self, secret: Secret, attack: str, release: Which) -> NDArray[np.float64]:
        """Guess for everybody who is attacked from one table as if it were released."""
        guess: Callable[..., NDArray[np.float64]]
        guess = by_model if attack == "model" else by_nearest
        table = _tables(self.comparison).index(release)
        guesses = guess(
            self.comparison, self.places, self.known, secret, table, self.attacked,
            iterations=self.iterations, rows=self.rows,
        )  # fmt: skip
        scores = np.full(len(self.attacked), np.nan)
        scores[self.attacked] = secret.right(guesses, self.attacked)
        return scores


def _tables(comparison: Comparison) -> list[Which]:
    made: list[Which] = ["synthetic", "train"]
    return [*made, "holdout"] if comparison.has_holdout else made


def _register(
    comparison: Comparison,
    game: _Game,
    secret: Secret,
    attack: str,
    right: NDArray[np.float64],
) -> pl.DataFrame:
    """List the training persons guessed right, those with the rarest values first."""
    train = comparison.height("train")
    who = np.flatnonzero(right[:train] == 1)
    share = secret.commonness[who]
    order = np.lexsort((who, share))
    agree = ", ".join(game.known)
    return listed(
        CARD.name, who[order], f"{secret.name} by {attack}", [agree] * len(who),
        common=share[order],
    )  # fmt: skip
