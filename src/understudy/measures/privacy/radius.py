"""Guessing a sensitive value from all records around a person's keys (Hittmeir et al. 2019).

Correct attribution asks for records with exactly the same keys. Here every record within a radius
counts, the nearer the more, so that numbers can be keys and can be guessed.
"""

import math
from typing import Annotated, Any

import numpy as np
import polars as pl

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL, Card, Finding, Part, described
from understudy.measures.privacy.attackers import Guess, model_guess, radius_guess
from understudy.measures.privacy.guesses import (
    MOST_LISTED,
    TOO_FEW,
    WITHOUT_HOLDOUT,
    advantage,
    dull_keys,
    enough,
    known_points,
    listed,
    mean,
    secrets,
)
from understudy.measures.privacy.key_sets import key_sets
from understudy.measures.privacy.looks import Looks, each_alone, take_looks
from understudy.measures.privacy.radius_scores import Attack, attack_of, both, summaries, table
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
    if weights not in ("inverse", "equal"):
        raise OptionError(f"weights = {weights!r}", hint="use inverse or equal")
    sets, remark = key_sets(comparison, length, subsets, name=CARD.name)
    sensitive, notes = secrets(comparison)
    hindered = dull_keys(comparison) or ("" if sensitive else " ".join(notes))
    if hindered:
        return CARD.not_applicable(hindered)
    points, train = known_points(comparison), comparison.height("train")
    own_secrets = [secret.from_training(train) for secret in sensitive]
    guesses: list[Guess] = []
    ceilings: list[Guess] = []
    for number, keys in enumerate(sets):
        comparison.progress("sets of keys", number, len(sets))
        known = points.only(keys)
        for seen, targets, made in (
            (known, sensitive, guesses),
            (known.from_training(train), own_secrets, ceilings),
        ):
            if isinstance(attacker, str) and attacker == "radius":
                made += radius_guess(seen, targets, reach, weights == "inverse")
            else:
                rng = comparison.stream(CARD.name, "attacker", ", ".join(keys))
                made += [model_guess(attacker, seen, target, rng) for target in targets]
    comparison.progress("sets of keys", len(sets), len(sets))
    looks = [(keys, secret) for keys in sets for secret in sensitive]
    attacks = [
        attack_of(keys, secret, guess, ceiling, train, len(sets) > 1)
        for (keys, secret), guess, ceiling in zip(looks, guesses, ceilings, strict=True)
    ]
    kept = [attack for attack in attacks if enough(comparison, attack.scores)]
    few = len(attacks) - len(kept)
    notes.append(f"{few:,} of {len(attacks):,} looks left out: {TOO_FEW}" if few else "")
    if not kept:
        alone = all(np.isnan(guess.guess).all() for guess in guesses)
        return CARD.not_applicable(NOBODY_NEAR if alone else TOO_FEW)
    return _finding(
        comparison, kept, [remark, *notes], permutations=permutations, strata=strata, group=group
    )


def _radius(radius: float | str | None) -> float:
    if radius is None or radius in ("inf", "infinite"):
        return math.inf
    if isinstance(radius, bool) or not isinstance(radius, int | float) or not radius >= 0:
        raise OptionError(f"radius = {radius!r}", hint="give a number from 0 up, or infinite")
    return float(radius)


def _finding(
    comparison: Comparison, attacks: list[Attack], notes: list[str], **swaps: Any
) -> Finding:
    train = comparison.height("train")
    names = [attack.name for attack in attacks]
    scores = np.column_stack([attack.scores for attack in attacks])
    found: Looks | None = None
    if comparison.has_holdout:
        found = take_looks(comparison, scores, names, name=CARD.name, leak=-1, **swaps)
        worst, notes = found.worst, [found.note, *notes]
    else:
        means = [mean(attack.scores[:train]) for attack in attacks]
        worst = int(np.nanargmin(np.array(means, float)))
        notes = [each_alone(names, worst, "the smallest"), WITHOUT_HOLDOUT, *notes]
    parts = []
    for place, attack in enumerate(attacks):
        more = {"original": attack.original, "naive": mean(attack.naive[:train])}
        ends = None
        if found is not None:
            ends = found.interval(place, 0.0, math.inf)
            more["p_value"] = float(found.p_value[place])
        parts.append(Part(attack.name, *both(attack.scores, train), more, interval=ends))
    shown = parts[worst]
    ahead = () if found is None else (advantage(found, worst),)
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=shown.value,
        interval=shown.interval,
        reference=shown.reference,
        baselines={"original": shown.more["original"], "naive": shown.more["naive"]},
        p_value=None if found is None else float(found.p_value[worst]),
        flagged=found is not None and bool(found.p_value[worst] < 1 - LEVEL),
        parts=(*ahead, *parts, *summaries(attacks, train)),
        tables={"by set of keys": table(attacks, train)},
        note=" ".join(filter(None, notes)),
        register=_register(attacks[worst], train),
        draws=None if found is None or len(attacks) > 1 else found.draws[:, 0],
    )


def _register(attack: Attack, train: int) -> pl.DataFrame:
    """List the training persons about whom the guess from the keys gains most."""
    gain = (attack.naive - attack.scores)[:train]
    order = np.argsort(np.where(np.isnan(gain), np.inf, -gain), kind="stable")[:MOST_LISTED]
    order = order[gain[order] > 0]
    return listed(CARD.name, attack.name, order, error=attack.scores, naive_error=attack.naive)
