"""Two halves of a person, joined by one synthetic record that is nearest to both."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.errors import OptionError, near
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, described
from understudy.judging.judge import Scores, judge, share_interval
from understudy.judging.register import FEW_PERSONS, register
from understudy.measures.privacy.arms import arms_of, attack_finding, drawn
from understudy.measures.privacy.coding import (
    Flags,
    Ints,
    MixedPoints,
    fixed_order,
    mixed_points,
    real_tables,
)
from understudy.measures.privacy.keys import KeySet, key_sets

CARD = Card(
    name="privacy.linkability",
    title="Linkability",
    meaning="The share of training persons whose two halves, the key columns and the other "
    "columns, are joined by the synthetic table: one synthetic record is nearest to both.",
    formula="for each person: the synthetic records nearest by the first set of columns (with all "
    "that are as near) and those nearest by the second (mixed distance: numbers by rank, "
    "categories equal or not); a link where the two have a record in common, mean over persons. "
    "Control: holdout persons. Baseline: the first half of one training person and the second of "
    "another. Interval and p by swapping the labels training and holdout",
    unit="fraction",
    better="lower",
    headline="share of training persons linked",
    source="Giomi et al. 2023, section 4.2; ties and the baseline as in disclosure.md",
    not_shown="Persons are linked in part because columns depend on each other in any data: only "
    "the excess over holdout persons speaks of the training data. Other ways to divide the "
    "columns may link more. Distances do not see what a model could learn.",
    threat="Someone holds two tables about the same persons, one with the key columns and one with "
    "the others, and uses the synthetic table to tell which rows belong together. Counted against "
    "holdout persons by the same synthetic table, and against halves of different persons.",
    opening="This linking attack reads",
    needs=("keys",),
)


@described(CARD)
def linkability(
    comparison: Comparison,
    *,
    second: str = "",
    length: int | None = None,
    subsets: int = 50,
    neighbours: int = 1,
    attacks: int = 100_000,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of training persons whose two halves one synthetic record joins.

    ``second`` names the columns of the other table, with commas between; all columns that are no
    keys if not given. ``length`` is the number of keys in the first table: every set of so many
    keys is a look, or ``subsets`` of them drawn at random where there are more. By itself, all keys
    together. With more ``neighbours``, a record counts that is as near as the so-manieth.
    """
    others = _second(comparison, second)
    if not others:
        return CARD.not_applicable(
            "All columns are keys: there is no second half. Name fewer keys (--keys)."
        )
    sets, remark = key_sets(comparison, length, subsets, name=CARD.name)
    tried = {known: halves for known in sets if (halves := _halves(comparison, known, others))}
    if not tried:
        return CARD.not_applicable(
            "The synthetic records are all alike in one of the two sets of columns, so every "
            "person is as near to each: nobody can be linked by them. Name other keys (--keys)."
        )
    orders = _everybody(comparison)
    attacked, said = drawn(comparison, attacks, orders, CARD.name)
    games = []
    for number, (known, halves) in enumerate(tried.items()):
        comparison.progress("sets of keys", number, len(tried))
        games.append(_play(comparison, known, halves, attacked, orders[0], neighbours))
    values = np.full((len(attacked), len(games)), np.nan)
    values[attacked] = np.column_stack([game.linked for game in games])
    scores, _ = Scores(
        [_named(game.known, others, sets) for game in games],
        values,
        comparison.height("train"),
        [{"naive": game.false} for game in games],
    ).large_enough()
    if scores is None:
        return CARD.not_applicable(FEW_PERSONS)
    judged = judge(
        comparison, scores, name=CARD.name, permutations=permutations, strata=strata, group=group,
        alone=share_interval, beyond_naive=True,
    )  # fmt: skip
    alike = len(sets) - len(tried)
    notes = [remark, said, f"{alike:,} sets of keys left out, of one value." if alike else ""]
    listed = _register(comparison, games[judged.headline], attacked, others)
    return attack_finding(CARD, judged, arms_of(scores), original=1.0, notes=notes, register=listed)


def _named(known: KeySet, others: KeySet, sets: list[KeySet]) -> str:
    keys = f"{len(known)} keys" if len(sets) == 1 else ", ".join(known)
    return f"{keys} and {len(others)} other columns"


def _everybody(comparison: Comparison) -> list[Ints]:
    """Put real persons in an order that all their values decide."""
    points, _ = mixed_points(comparison)
    return [fixed_order(points[t].view(np.int32).T)[0] for t in real_tables(comparison)]


def _second(comparison: Comparison, second: str) -> KeySet:
    """Take the columns of the second half: those named, or all that are no keys."""
    if not second:
        return tuple(name for name in sorted(comparison.names) if name not in comparison.keys)
    parts = second.replace(",,", "\0").split(",")
    names = tuple(dict.fromkeys(p.strip().replace("\0", ",") for p in parts if p.strip()))
    for name in names:
        if name not in comparison.names:
            raise OptionError(
                f"{CARD.name}: second: there is no column '{name}'",
                hint=near(name, comparison.names),
            )
        if name in comparison.keys:
            raise OptionError(
                f"{CARD.name}: second: '{name}' is a key",
                hint="the two sets have no column in common",
            )
    return names


@dataclass(frozen=True)
class _Halves:
    """Real persons and distinct synthetic records as points, the second half marked."""

    persons: MixedPoints
    records: MixedPoints
    is_category: Flags
    in_second: Flags


def _halves(comparison: Comparison, known: KeySet, others: KeySet) -> _Halves | None:
    """Give the points, or none where one half of the synthetic records does not vary."""
    names = sorted([*known, *others])
    in_second = np.array([name in others for name in names])
    points, is_category = mixed_points(comparison, names)
    order, first = fixed_order(points["synthetic"].view(np.int32).T)
    records = points["synthetic"][order[first]]
    for half in (in_second, ~in_second):
        if len(records) > 1 and (records[:, half] == records[:1, half]).all():
            return None
    persons = np.concatenate([points[t] for t in real_tables(comparison)])
    return _Halves(persons, records, is_category, in_second)


@dataclass(frozen=True)
class _Links:
    """Who of the persons attacked was linked by a set of keys, how near, and who falsely.

    ``near_by`` is the distance of the nearest record by either half.
    """

    known: KeySet
    linked: Flags
    near_by: MixedPoints
    false: float


def _play(
    comparison: Comparison,
    known: KeySet,
    halves: _Halves,
    attacked: Flags,
    order: Ints,
    neighbours: int,
) -> _Links:
    """Look for a record nearest to both halves of each person, and of each mixed pair."""
    from understudy.kernels.neighbors import mixed_neighbors
    from understudy.kernels.neighbors.common import common_neighbors

    persons, k = halves.persons[attacked], min(neighbours, len(halves.records))

    def nearest(half: Flags) -> MixedPoints:
        found = mixed_neighbors(
            persons[:, half], halves.records[:, half], halves.is_category[half], k
        )
        made: MixedPoints = found[0][:, k - 1]
        return made

    def link(points: MixedPoints, first: MixedPoints, second: MixedPoints) -> Flags:
        records, in_second = halves.records, halves.in_second
        found = common_neighbors(points, records, halves.is_category, in_second, first, second)
        made: Flags = found >= 0
        return made

    first, second = nearest(~halves.in_second), nearest(halves.in_second)
    linked = link(persons, first, second)
    # halves of two different training persons
    order = order[attacked[: len(order)][order]]
    false = 0.0
    if len(order) > 1:
        turn = comparison.stream(CARD.name, "other halves").permutation(len(order))
        place = (np.cumsum(attacked)[order] - 1)[turn]
        other = np.roll(place, 1)
        mixed = np.where(halves.in_second, persons[other], persons[place])
        false = float(link(mixed, first[place], second[other]).mean())
    return _Links(known, linked, np.stack([first, second]), false)


def _register(
    comparison: Comparison, game: _Links, attacked: Flags, others: KeySet
) -> pl.DataFrame:
    """List the training persons linked, those with the nearest record first."""
    who = np.flatnonzero(attacked)
    linked = game.linked & (who < comparison.height("train"))
    far = game.near_by.sum(axis=0)[linked]
    order = np.argsort(far, kind="stable")
    return register(
        CARD.name, who[linked][order], "linked", ", ".join(others),
        distance=far[order].astype(float),
    )  # fmt: skip
