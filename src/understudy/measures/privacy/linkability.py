"""Two halves of a person, joined by one synthetic record that is nearest to both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.comparison import Comparison, Which
from understudy.errors import OptionError
from understudy.findings import Card, Finding, described
from understudy.measures.privacy.arms import FEW_PERSONS, drawn, found, listed, played
from understudy.measures.privacy.guesses import enough
from understudy.measures.privacy.places import fixed_order
from understudy.schema import near

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
    neighbours: int = 1,
    attacks: int = 100_000,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of training persons whose two halves one synthetic record joins.

    ``second`` names the columns of the other table, with commas between; all columns that are no
    keys if not given. With more ``neighbours``, a record counts that is as near as the so-manieth.
    """
    if neighbours < 1:
        raise OptionError(f"{CARD.name}: neighbours = {neighbours}", hint="use at least 1")
    others = _second(comparison, second)
    if not others:
        return CARD.not_applicable(
            "All columns are keys: there is no second half. Name fewer keys (--keys)."
        )
    halves = _halves(comparison, others)
    if halves is None:
        return CARD.not_applicable(
            "The synthetic records are all alike in one of the two sets of columns, so every "
            "person is as near to each: nobody can be linked by them. Name other keys (--keys)."
        )
    attacked, said = drawn(comparison, attacks, halves.orders, CARD.name)
    near_by, link = _link(halves, attacked, neighbours)
    scores = np.full((len(attacked), 1), np.nan)
    scores[attacked, 0] = link >= 0
    if not enough(comparison, scores[:, 0]):
        return CARD.not_applicable(FEW_PERSONS)
    false = _false_links(comparison, halves, attacked, near_by)
    arms, looks = played(
        comparison, scores, [f"{len(comparison.keys)} keys and {len(others)} other columns"],
        [false], name=CARD.name, permutations=permutations, strata=strata, group=group,
    )  # fmt: skip
    who = np.flatnonzero(attacked)
    linked = (link >= 0) & (who < comparison.height("train"))
    far = near_by.sum(axis=0)[linked]
    order = np.argsort(far, kind="stable")
    register = listed(
        CARD.name, who[linked][order], "linked", [", ".join(others)] * len(order),
        distance=far[order].astype(float),
    )  # fmt: skip
    return found(CARD, arms, looks, original=1.0, notes=[said], register=register)


def _second(comparison: Comparison, second: str) -> tuple[str, ...]:
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
    orders: tuple[NDArray[np.int64], ...]


def _halves(comparison: Comparison, others: tuple[str, ...]) -> _Halves | None:
    """Give the points, or none where one half of the synthetic records does not vary."""
    codec = (
        comparison.pooled_codec(bins=100)
        if comparison.has_holdout
        else comparison.codec(bins=100, levels=None)
    )
    names = sorted([*comparison.keys, *others])
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
    real: list[Which] = ["train", "holdout"] if comparison.has_holdout else ["train"]
    orders = tuple(fixed_order(points[t].view(np.int32).T)[0] for t in real)
    persons = np.concatenate([points[t] for t in real])
    return _Halves(persons, records, is_category, in_second, orders)


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
    order = halves.orders[0][attacked[:train][halves.orders[0]]]
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
