"""Two halves of a person, joined by one synthetic record that is nearest to both."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import Codec
from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, described
from understudy.measures.privacy.arms import (
    FEW_PERSONS,
    drawn,
    found,
    listed,
    played,
    shown_look,
)
from understudy.measures.privacy.guesses import enough
from understudy.measures.privacy.key_sets import KeySet, key_sets
from understudy.measures.privacy.places import fixed_order

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
    if neighbours < 1:
        raise OptionError(f"{CARD.name}: neighbours = {neighbours}", hint="use at least 1")
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
    attacked, said = drawn(comparison, attacks, _everybody(comparison), CARD.name)
    games = []
    for number, (known, halves) in enumerate(tried.items()):
        comparison.progress("sets of keys", number, len(tried))
        games.append(_game(comparison, known, halves, attacked, neighbours))
    scores = np.full((len(attacked), len(games)), np.nan)
    scores[attacked] = np.column_stack([game.linked for game in games])
    if not enough(comparison, scores[:, 0]):
        return CARD.not_applicable(FEW_PERSONS)
    arms, looks = played(
        comparison, scores, [_named(game.known, others, sets) for game in games],
        [game.false for game in games],
        name=CARD.name, permutations=permutations, strata=strata, group=group,
    )  # fmt: skip
    alike = len(sets) - len(tried)
    notes = [remark, said, f"{alike:,} sets of keys left out, of one value." if alike else ""]
    shown = games[shown_look(arms, looks)]
    register = _register(comparison, shown, attacked, others)
    return found(CARD, arms, looks, original=1.0, notes=notes, register=register)


def _named(known: KeySet, others: KeySet, sets: list[KeySet]) -> str:
    keys = f"{len(known)} keys" if len(sets) == 1 else ", ".join(known)
    return f"{keys} and {len(others)} other columns"


def _everybody(comparison: Comparison) -> tuple[NDArray[np.int64], ...]:
    """Put real persons in an order that all their values decide."""
    codec = _codec(comparison)
    real: list[Which] = ["train", "holdout"] if comparison.has_holdout else ["train"]
    return tuple(fixed_order(comparison.points(t, codec)[0].view(np.int32).T)[0] for t in real)


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

    persons: NDArray[np.float32]
    records: NDArray[np.float32]
    is_category: NDArray[np.bool_]
    in_second: NDArray[np.bool_]


def _codec(comparison: Comparison) -> Codec:
    if comparison.has_holdout:
        return comparison.pooled_codec(bins=100)
    return comparison.codec(bins=100, levels=None)


def _halves(comparison: Comparison, known: KeySet, others: KeySet) -> _Halves | None:
    """Give the points, or none where one half of the synthetic records does not vary."""
    codec = _codec(comparison)
    names = sorted([*known, *others])
    columns = [codec.names.index(name) for name in names]
    in_second = np.array([name in others for name in names])
    made = {t: comparison.points(t, codec) for t in comparison.tables}
    points = {t: p[:, columns] for t, (p, _) in made.items()}
    is_category = made["train"][1][columns]
    order, first = fixed_order(points["synthetic"].view(np.int32).T)
    records = points["synthetic"][order[first]]
    for half in (in_second, ~in_second):
        if len(records) > 1 and (records[:, half] == records[:1, half]).all():
            return None
    persons = np.concatenate([points[t] for t in comparison.tables if t != "synthetic"])
    return _Halves(persons, records, is_category, in_second)


@dataclass(frozen=True)
class _Game:
    """Who of the persons attacked was linked by a set of keys, how near, and who falsely."""

    known: KeySet
    linked: NDArray[np.bool_]
    near_by: NDArray[np.float32]
    false: float


def _game(
    comparison: Comparison,
    known: KeySet,
    halves: _Halves,
    attacked: NDArray[np.bool_],
    neighbours: int,
) -> _Game:
    near_by, link = _link(halves, attacked, neighbours)
    false = _false_links(comparison, halves, attacked, near_by)
    return _Game(known, link >= 0, near_by, false)


def _register(
    comparison: Comparison, game: _Game, attacked: NDArray[np.bool_], others: KeySet
) -> pl.DataFrame:
    """List the training persons linked, those with the nearest record first."""
    who = np.flatnonzero(attacked)
    linked = game.linked & (who < comparison.height("train"))
    far = game.near_by.sum(axis=0)[linked]
    order = np.argsort(far, kind="stable")
    return listed(
        CARD.name, who[linked][order], "linked", [", ".join(others)] * len(order),
        distance=far[order].astype(float),
    )  # fmt: skip


Near = NDArray[np.float32]


def _link(
    halves: _Halves, attacked: NDArray[np.bool_], neighbours: int
) -> tuple[Near, NDArray[np.int64]]:
    """Give how near the nearest records are by either half, and a record nearest to both."""
    from understudy.kernels.neighbors import mixed_neighbors
    from understudy.kernels.neighbors.common import common_neighbors

    persons = halves.persons[attacked]
    k = min(neighbours, len(halves.records))
    near_by = np.stack(
        [
            mixed_neighbors(persons[:, half], halves.records[:, half], halves.is_category[half], k)[
                0
            ][:, k - 1]
            for half in (~halves.in_second, halves.in_second)
        ]
    )
    link = common_neighbors(
        persons, halves.records, halves.is_category, halves.in_second, near_by[0], near_by[1]
    )
    return near_by, link


def _false_links(
    comparison: Comparison, halves: _Halves, attacked: NDArray[np.bool_], near_by: Near
) -> float:
    """Give how often halves of two different training persons are linked alike."""
    from understudy.kernels.neighbors.common import common_neighbors

    train = comparison.height("train")
    order = _everybody(comparison)[0]
    order = order[attacked[:train][order]]
    if len(order) < 2:
        return 0.0
    place = np.cumsum(attacked)[order] - 1
    turn = comparison.stream(CARD.name, "other halves").permutation(len(order))
    place = place[turn]
    other = np.roll(place, 1)
    persons = halves.persons[attacked]
    mixed = np.where(halves.in_second, persons[other], persons[place])
    link = common_neighbors(
        mixed, halves.records, halves.is_category, halves.in_second,
        near_by[0, place], near_by[1, other],
    )  # fmt: skip
    return float((link >= 0).mean())
