"""How wrong an adversary is who takes the synthetic records nearest to a person's keys.

The thesis calls a table in danger where that error is below 20 %. Here the line is drawn by people
who were never in the data: the same adversary, with the same table, guesses about them too.

Records with equal keys are one point. Where more records are equally near than are wanted, each
counts its part: no guess depends on the order of the rows, nor on the names of levels. Where
equally near points are more than are listed, they are a crowd: added up, and not listed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, described
from understudy.judging.judge import Judgement
from understudy.judging.register import FEW_PERSONS
from understudy.measures.privacy.coding import (
    Flags,
    Floats,
    Ints,
    MixedPoints,
    distinct,
    mixed_points,
    real_tables,
)
from understudy.measures.privacy.guesses import (
    Amounts,
    GuessLook,
    SensitiveColumn,
    advantage,
    judge_guesses,
    mean,
    sensitive_columns,
)
from understudy.options import Between

BLOCK = 65_536
CELLS = 20_000_000
SPARE = 11
ALIKE = 1 + 1e-6
FEWEST_PERSONS = 20
BY_DISTANCE = "the most unique {share} by distance"
BY_CLASS = "the most unique {share} by class"
SUREST = "the surest {share}"

CARD = Card(
    name="privacy.adversary_error",
    title="Adversary's error",
    meaning="How wrong an adversary is who guesses a sensitive value by the synthetic records "
    "nearest to a person's keys; what counts is how much less wrong about training persons.",
    formula="guess = mean over the k synthetic records with the nearest keys (k = 1, 3, 7, 13, 21; "
    "mixed distance; equally near records count alike). Error: |y − guess| / ½(|y| + |guess|), "
    "0/0 = 0; for a category 1 − the share of the k records with the true level. Value: mean over "
    "training persons; reference: the same for holdout persons. Looks: each sensitive column and "
    "all together, each k; with k = 1 also over the most unique 1 % of all real persons (keys "
    "farthest from anybody else's, or held by fewest) and over those of whom the adversary is "
    "surest (the nearest record far nearer than the second)",
    unit="fraction",
    better="higher",
    headline="the look with the strongest evidence of a leak; where none is significant, of those "
    "over everybody",
    source="Sosnovchyk 2021, sections 4.2.1 and 4.2.2, tables 4.2.1 to 4.2.4; the control is ours",
    not_shown="A small error alone is no leak: keys that explain the sensitive value give it for "
    "everybody. Means over persons: a few copied records move those over everybody little. "
    "Relative change weighs small numbers heavily and depends on where a scale has its zero.",
    threat="Someone who knows the keys of a person and sees the synthetic table takes the nearest "
    "records for the person's own. Counted against the same guess, from the same table, for "
    "holdout persons, who cannot have been learnt.",
    opening="This guessing attack reads",
    needs=("keys", "sensitive"),
)


@described(CARD)
def adversary_error(
    comparison: Comparison,
    *,
    neighbours: str | int | Sequence[int] = "1,3,7,13,21",
    share: Annotated[float, Between(most=1, above=0)] = 0.01,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Error of an adversary who takes the records with the nearest keys.

    ``neighbours`` are the numbers of records averaged, and ``share`` the part of all real persons
    that counts as most unique (at least 20 persons; who is as unique as the last is in too).
    """
    counts = _counts(neighbours)
    sensitive = sensitive_columns(comparison)
    if isinstance(sensitive, str):
        return CARD.not_applicable(sensitive)
    columns, notes = sensitive
    train = comparison.height("train")
    points, is_category = mixed_points(comparison, list(dict.fromkeys(comparison.keys)))
    persons = np.concatenate([points[which] for which in real_tables(comparison)])
    near = nearest_keys(persons, points["synthetic"], is_category, max(counts))
    own = nearest_keys(persons[:train], persons[:train], is_category, max(counts))
    errors = nearest_errors(columns, near, counts)
    ceilings = nearest_errors([c.from_training(train) for c in columns], own, counts)
    groups = _unusual(persons, near, is_category, share)
    found = judge_guesses(
        comparison, list(_looks(columns, errors, ceilings, counts, groups)), largest=2.0,
        name=CARD.name, permutations=permutations, strata=strata, group=group,
    )  # fmt: skip
    if found is None:
        return CARD.not_applicable(FEW_PERSONS)
    judged, looks, few = found
    judged = _everybody_in_front(judged, looks)
    return judged.finding(
        CARD,
        parts=(*advantage(judged), *judged.parts),
        tables=_lines(judged.parts, comparison.has_holdout),
        notes=[judged.note, *notes, few],
        register=looks[judged.headline].register(CARD.name, train, near.first()),
    )


def _counts(neighbours: str | int | Sequence[int]) -> list[int]:
    try:
        counts = sorted({int(part) for part in str(neighbours).strip("[]").split(",")})
    except ValueError:
        counts = []
    if not counts or counts[0] < 1 or counts[-1] > 1000:
        raise OptionError(
            f"neighbours = {neighbours!r}", hint="give whole numbers from 1 to 1000, such as 1,3,7"
        )
    return counts


def _unusual(
    persons: MixedPoints, near: "NearestKeys", is_category: Flags, share: float
) -> dict[str, Flags]:
    """Choose the most unique persons, and those of whom the adversary is surest.

    All are chosen among training and holdout together, blind to who is which.
    """
    from understudy.kernels.neighbors import mixed_neighbors

    every, which = distinct(persons)
    times = np.bincount(which)
    far = mixed_neighbors(every, every, is_category, 1, exclude_self=True)[0][:, 0]
    apart = np.where(times > 1, 0.0, np.where(np.isfinite(far), far, 0.0))[which]
    size = max(math.ceil(share * len(persons)), FEWEST_PERSONS)
    word = {"share": f"{share:.3g}" if share < 1e-4 else f"{100 * share:.4g} %"}
    return {
        BY_DISTANCE.format(**word): _first(size, -apart),
        BY_CLASS.format(**word): _first(size, times[which]),
        SUREST.format(**word): _first(size, *near.doubt()),
    }


def _first(size: int, *by: NDArray[Any]) -> Flags:
    """Choose the first persons in this order, and all who are equal to the last of them."""
    order = np.lexsort(by[::-1])
    last = order[min(size, len(order)) - 1]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    alike = np.logical_and.reduce([values == values[last] for values in by])
    chosen: Flags = (rank < size) | alike
    return chosen


def _looks(
    columns: list[SensitiveColumn],
    errors: list[Floats],
    ceilings: list[Floats],
    counts: list[int],
    groups: dict[str, Flags],
) -> Iterator[GuessLook]:
    """Take every look: for each column and for all together."""
    naive = [_naive(column) for column in columns]
    names = [column.name for column in columns]
    if len(columns) > 1:
        names = [*names, "all sensitive columns"]
        errors, ceilings = [*errors, _over(errors)], [*ceilings, _over(ceilings)]
        naive = [*naive, _over(naive)]
    for name, found, own, guess in zip(names, errors, ceilings, naive, strict=True):
        for place, k in enumerate(counts):
            yield GuessLook(f"{name}, k = {k}", found[:, place], guess, mean(own[:, place]))
        for group, who in groups.items():
            yield GuessLook(
                f"{name}, k = {counts[0]}, {group}",
                np.where(who, found[:, 0], np.nan),
                np.where(who, guess, np.nan),
                mean(own[who[: len(own)], 0]),
                some=True,
            )


def _over(errors: list[Floats]) -> Floats:
    """Average over columns, as far as a person has values."""
    stacked = np.stack(errors)
    here = ~np.isnan(stacked)
    total = np.where(here, stacked, 0.0).sum(axis=0)
    many = here.sum(axis=0)
    made: Floats = np.divide(total, many, out=np.full(total.shape, np.nan), where=many > 0)
    return made


def _naive(column: SensitiveColumn) -> Floats:
    if column.is_number:
        return relative_change(column.persons.astype(float), np.array(column.naive_number()))
    return 1 - column.naive_shares()


def relative_change(truth: Floats, guess: Floats) -> Floats:
    """Give |truth − guess| as a part of the mean of their sizes; 0/0 is 0.

    Examples
    --------
    >>> relative_change(np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.0, 3.0])).tolist()
    [0.666..., 0.0, 2.0]
    """
    apart, size = np.abs(truth - guess), (np.abs(truth) + np.abs(guess)) / 2
    return np.divide(apart, size, out=np.where(np.isnan(apart), np.nan, 0.0), where=size > 0)


def _everybody_in_front(judged: Judgement, looks: Sequence[GuessLook]) -> Judgement:
    """Unless there is evidence of a leak, show a look over everybody.

    A mean over few persons has a wide interval, and tells nothing where there is nothing.
    """
    if judged.flagged or judged.reference is None or judged.spread is None:
        return judged
    over_all = [place for place, look in enumerate(looks) if not look.some]
    ahead = (judged.reference - judged.value) / np.where(judged.spread > 0, judged.spread, 1.0)
    shown = max(over_all or range(len(looks)), key=lambda place: float(ahead[place]))
    return replace(judged, headline=shown)


def _lines(parts: tuple[Part, ...], with_holdout: bool) -> dict[str, TableOfNumbers]:
    """Draw the error over everybody against the number of neighbours, a picture a column."""
    found: dict[str, list[tuple[float | None, ...]]] = {}
    for part in parts:
        name, _, k = part.name.rpartition(", k = ")
        if not k.isdigit():
            continue
        control = (part.reference,) if with_holdout else ()
        found.setdefault(name, []).append((int(k), part.value, *control, part.more["original"]))
    columns = ("k", "training", *(["holdout"] if with_holdout else []), "original")
    return {f"line:{name}": TableOfNumbers(columns, tuple(rows)) for name, rows in found.items()}


@dataclass(frozen=True)
class NearestKeys:
    """The nearest points of each distinct person, nearest first, and who has which.

    Parameters
    ----------
    distance, point : array of shape (distinct persons, points)
    times : array
        How many records each point stands for.
    at : array
        The point of each record.
    whose : array
        The distinct person that each person is.
    queries, points, is_category : array
        The keys of distinct persons and of points, and which of them are categories.
    cut : array of bool
        Whether the last of a distinct person's points are part of a crowd that is not listed.
    """

    distance: Floats
    point: Ints
    times: Ints
    at: Ints
    whose: Ints
    queries: MixedPoints
    points: MixedPoints
    is_category: Flags
    cut: Flags

    def first(self) -> Floats:
        """Give each person's distance to the nearest record."""
        made: Floats = self.distance[self.whose, 0]
        return made

    def doubt(self) -> tuple[Floats, Floats]:
        """Give what the adversary is sure by, surest lowest.

        First how near the nearest record is as a part of the second (1 where two are equally
        near), then how far the second is, as a negative number.
        """
        near = self.distance[:, 0]
        alone = self.times[self.point[:, 0]] == 1
        next_ = self.distance[:, min(1, self.distance.shape[1] - 1)]
        second = np.where(alone & np.isfinite(next_), next_, near)
        ratio = np.divide(near, second, out=np.ones(len(near)), where=second > 0)
        return ratio[self.whose], -second[self.whose]


def nearest_keys(
    persons: MixedPoints,
    table: MixedPoints,
    is_category: Flags,
    wanted: int,
) -> NearestKeys:
    """Find the nearest points of a table, a few more than wanted for those equally near."""
    from understudy.kernels.neighbors import mixed_neighbors

    points, at = distinct(table)
    queries, whose = distinct(persons)
    listed = min(wanted + SPARE, len(points))
    near, point = mixed_neighbors(queries, points, is_category, listed)
    distance, times = near.astype(float), np.bincount(at)
    cut = np.zeros(len(queries), bool)
    if listed < len(points):
        group = _groups(distance)
        reached = (np.cumsum(times[point], axis=1) >= wanted).argmax(axis=1)
        cut = group[np.arange(len(group)), reached] == group[:, -1]
    return NearestKeys(distance, point, times, at, whose, queries, points, is_category, cut)


def nearest_errors(
    columns: list[SensitiveColumn], found: NearestKeys, counts: list[int]
) -> list[Floats]:
    """Give each person's error for each column and number of records.

    It is nan where nothing can be guessed.
    """
    made = [np.full((len(found.whose), len(counts)), np.nan) for _ in columns]
    amounts = Amounts.of(columns, found.at, len(found.times), records=True)
    for who, crowd in _blocks(found, amounts):
        mine, rows = found.whose[who], np.arange(len(who))
        point = found.point[mine]
        weights = [
            record_weights(found.distance[mine], found.times[point], crowd[:, 0], k) for k in counts
        ]
        for errors, column, first in zip(made, columns, amounts.first, strict=True):
            truth = column.persons[who]
            # of listed points and of the crowd: how many, and their sum or who has the true level
            if column.is_number:
                many, total = amounts.find(point, first)
                others, their_total = crowd[:, first], crowd[:, first + 1]
            else:
                level = first + truth.astype(np.int64)
                many, total = (
                    found.times[point].astype(float),
                    amounts.find(point, level[:, None])[0],
                )
                others, their_total = crowd[:, 0], crowd[rows, level]
            for place, (each, of_crowd) in enumerate(weights):
                weight_of_all = (each * many).sum(axis=1) + of_crowd * others
                weight_of_sum = (each * total).sum(axis=1) + of_crowd * their_total
                guess = np.full(len(who), np.nan)
                np.divide(weight_of_sum, weight_of_all, out=guess, where=weight_of_all > 0)
                errors[who, place] = (
                    relative_change(truth.astype(float), guess) if column.is_number else 1 - guess
                )
    return made


def record_weights(
    distance: Floats, times: NDArray[np.number], crowd: Floats, k: int
) -> tuple[Floats, Floats]:
    """Give the part of each listed point's records that is among the k nearest, and of a crowd's.

    Points that are equally near share what is left of k. ``crowd`` is how many records are in the
    crowd to which the last points belong, 0 where there is none.
    """
    times, cut = times.astype(float), crowd > 0
    group = _groups(distance)
    rows = np.arange(len(times))
    flat = (rows[:, None] * times.shape[1] + group).ravel()
    size = np.bincount(flat, times.ravel(), minlength=times.size).reshape(times.shape)
    last = group[:, -1]
    size[rows[cut], last[cut]] = crowd[cut]
    before = np.cumsum(size, axis=1) - size
    part = np.clip(np.divide(k - before, size, out=np.zeros_like(size), where=size > 0), 0, 1)
    of_crowd = np.where(cut, part[rows, last], 0.0)
    part[rows[cut], last[cut]] = 0
    return np.take_along_axis(part, group, axis=1), of_crowd


def _groups(distance: Floats) -> Ints:
    """Number the groups of points that are equally near, from the nearest."""
    fresh = np.zeros(distance.shape, np.int64)
    fresh[:, 1:] = distance[:, 1:] > distance[:, :-1] * ALIKE
    return np.cumsum(fresh, axis=1)


def _blocks(found: NearestKeys, amounts: Amounts) -> Iterator[tuple[Ints, Floats]]:
    """Give persons, some at a time, with what stands in their crowds."""
    from understudy.kernels.neighbors.crowd import crowd_sums

    order = np.argsort(found.whose, kind="stable")
    size = max(1, min(BLOCK, CELLS // amounts.width))
    rows = amounts.rows
    for begin in range(0, len(order), size):
        who = order[begin : begin + size]
        each, back = np.unique(found.whose[who], return_inverse=True)
        sums = np.zeros((len(each), amounts.width))
        cut = np.flatnonzero(found.cut[each])
        if len(cut):
            crowded = each[cut]
            distance = found.distance[crowded]
            group = _groups(distance)
            nearest = distance[np.arange(len(group)), (group == group[:, -1:]).argmax(axis=1)]
            sums[cut] = crowd_sums(
                found.queries[crowded], found.points, found.is_category,
                nearest.astype(np.float32), (distance[:, -1] * ALIKE).astype(np.float32),
                *rows, amounts.width,
            )  # fmt: skip
        yield who, sums[back.reshape(-1)]
