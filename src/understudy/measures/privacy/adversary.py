"""How wrong an adversary is who takes the synthetic records nearest to a person's keys.

The thesis calls a table in danger where that error is below 20 %. Here the line is drawn by people
who were never in the data: the same adversary, with the same table, guesses about them too.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL, Card, Finding, Part, TableOfNumbers, described
from understudy.measures.privacy.guesses import (
    MOST_LISTED,
    TOO_FEW,
    WITHOUT_HOLDOUT,
    Floats,
    Ints,
    Secret,
    advantage,
    distinct,
    dull_keys,
    enough,
    listed,
    mean,
    naive_number,
    naive_shares,
    people,
    real_codec,
    relative_change,
    secrets,
)
from understudy.measures.privacy.looks import Looks, at_once, each_alone, take_looks
from understudy.measures.privacy.nearest import (
    Nearest,
    nearest_errors,
    nearest_keys,
)
from understudy.options import Between

FEWEST = 20
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
    if not 0 < share <= 1:
        raise OptionError(f"share = {share}", hint="give a share above 0 and up to 1")
    sensitive, notes = secrets(comparison)
    hindered = dull_keys(comparison) or ("" if sensitive else " ".join(notes))
    if hindered:
        return CARD.not_applicable(hindered)
    train = comparison.height("train")
    persons, table, is_category = _points(comparison)
    found = nearest_keys(persons, table, is_category, max(counts))
    own = nearest_keys(persons[:train], persons[:train], is_category, max(counts))
    errors = nearest_errors(sensitive, found, counts)
    ceilings = nearest_errors([s.from_training(train) for s in sensitive], own, counts)
    groups = _groups(persons, found, is_category, share)
    every = list(_looks(sensitive, errors, ceilings, counts, groups))
    looks = [look for look in every if enough(comparison, look.scores)]
    if not looks:
        return CARD.not_applicable(TOO_FEW)
    if len(looks) < len(every):
        few = len(every) - len(looks)
        notes.append(f"{few:,} of {len(every):,} looks left out: {TOO_FEW}")
    return _finding(
        comparison, looks, found, notes, permutations=permutations, strata=strata, group=group
    )


Points = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]


def _points(comparison: Comparison) -> Points:
    """Give the keys of persons and of synthetic records, and which of them are categories."""
    codec = real_codec(comparison)
    here = [codec.names.index(name) for name in dict.fromkeys(comparison.keys)]
    table, is_category = comparison.points("synthetic", codec)
    persons = [comparison.points(which, codec)[0][:, here] for which in people(comparison)]
    return np.concatenate(persons), table[:, here], is_category[here]


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


def _groups(
    persons: NDArray[np.float32], found: Nearest, is_category: NDArray[np.bool_], share: float
) -> dict[str, NDArray[np.bool_]]:
    """Choose the most unique persons, and those of whom the adversary is surest.

    All are chosen among training and holdout together, blind to who is which.
    """
    from understudy.kernels.neighbors import mixed_neighbors

    every, which = distinct(persons)
    times = np.bincount(which)
    far = mixed_neighbors(every, every, is_category, 1, exclude_self=True)[0][:, 0]
    apart = np.where(times > 1, 0.0, np.where(np.isfinite(far), far, 0.0))[which]
    size = max(math.ceil(share * len(persons)), FEWEST)
    word = {"share": f"{share:.3g}" if share < 1e-4 else f"{100 * share:.4g} %"}
    return {
        BY_DISTANCE.format(**word): _first(size, -apart),
        BY_CLASS.format(**word): _first(size, times[which]),
        SUREST.format(**word): _first(size, *found.doubt()),
    }


def _first(size: int, *by: NDArray[Any]) -> NDArray[np.bool_]:
    """Choose the first persons in this order, and all who are equal to the last of them."""
    order = np.lexsort(by[::-1])
    last = order[min(size, len(order)) - 1]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    alike = np.logical_and.reduce([values == values[last] for values in by])
    chosen: NDArray[np.bool_] = (rank < size) | alike
    return chosen


@dataclass(frozen=True)
class Look:
    """A sensitive column (or all), a number of neighbours, and some persons (or everybody)."""

    name: str
    scores: Floats
    naive: Floats
    ceiling: Floats
    group: str = ""


def _looks(
    sensitive: list[Secret],
    errors: list[Floats],
    ceilings: list[Floats],
    counts: list[int],
    groups: dict[str, NDArray[np.bool_]],
) -> Iterator[Look]:
    """Take every look: for each column and for all together."""
    naive = [_naive(secret) for secret in sensitive]
    names = [secret.name for secret in sensitive]
    if len(sensitive) > 1:
        names = [*names, "all sensitive columns"]
        errors, ceilings = [*errors, _over(errors)], [*ceilings, _over(ceilings)]
        naive = [*naive, _over(naive)]
    for name, found, own, guess in zip(names, errors, ceilings, naive, strict=True):
        for place, k in enumerate(counts):
            yield Look(f"{name}, k = {k}", found[:, place], guess, own[:, place])
        for group, who in groups.items():
            yield Look(
                f"{name}, k = {counts[0]}, {group}",
                np.where(who, found[:, 0], np.nan),
                np.where(who, guess, np.nan),
                np.where(who[: len(own)], own[:, 0], np.nan),
                group,
            )


def _over(errors: list[Floats]) -> Floats:
    """Average over columns, as far as a person has values."""
    stacked = np.stack(errors)
    here = ~np.isnan(stacked)
    total = np.where(here, stacked, 0.0).sum(axis=0)
    many = here.sum(axis=0)
    made: Floats = np.divide(total, many, out=np.full(total.shape, np.nan), where=many > 0)
    return made


def _naive(secret: Secret) -> Floats:
    if secret.is_number:
        return relative_change(secret.persons.astype(float), np.array(naive_number(secret)))
    return 1 - naive_shares(secret)


def _finding(
    comparison: Comparison, looks: list[Look], near: Nearest, notes: list[str], **swaps: Any
) -> Finding:
    train = comparison.height("train")
    names = [look.name for look in looks]
    found: Looks | None = None
    if comparison.has_holdout:
        scores = np.column_stack([look.scores for look in looks])
        found = take_looks(comparison, scores, names, name=CARD.name, leak=-1, **swaps)
        worst = _shown(looks, found)
        notes = [at_once(names, worst), *notes]
    else:
        means = [mean(look.scores[:train]) for look in looks]
        worst = int(np.nanargmin(np.array(means, float)))
        notes = [each_alone(names, worst, "the smallest"), WITHOUT_HOLDOUT, *notes]
    parts = []
    for place, look in enumerate(looks):
        more = {"original": mean(look.ceiling), "naive": mean(look.naive[:train])}
        if look.group:
            more["persons"] = float((~np.isnan(look.scores[:train])).sum())
        ends = None
        if found is not None:
            ends = found.interval(place, 0.0, 2.0)
            more["p_value"] = float(found.p_value[place])
        value, reference = mean(look.scores[:train]), mean(look.scores[train:])
        parts.append(Part(look.name, value, reference, more, interval=ends))
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
        parts=(*ahead, *parts),
        tables=_lines(parts, comparison.has_holdout),
        note=" ".join(filter(None, notes)),
        register=_register(looks[worst], near, train),
    )


def _shown(looks: list[Look], found: Looks) -> int:
    """Show the look with the strongest evidence if it is significant, else one over everybody.

    A mean over few persons has a wide interval, and tells nothing where there is nothing.
    """
    if found.p_value[found.worst] < 1 - LEVEL:
        return found.worst
    over_all = [place for place, look in enumerate(looks) if not look.group]
    ahead = (found.reference - found.value) / np.where(found.spread > 0, found.spread, 1.0)
    return max(over_all or range(len(looks)), key=lambda place: float(ahead[place]))


def _lines(parts: list[Part], with_holdout: bool) -> dict[str, TableOfNumbers]:
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


def _register(look: Look, near: Nearest, train: int) -> pl.DataFrame:
    """List the training persons about whom the adversary is least wrong, nearest record first."""
    error, distance = look.scores[:train], near.first()[:train]
    gain = np.where(np.isnan(error), -np.inf, look.naive[:train] - error)
    order: Ints = np.lexsort((distance, -gain))[:MOST_LISTED]
    order = order[gain[order] > 0]
    return listed(
        CARD.name, look.name, order, error=error, naive_error=look.naive, distance=distance
    )
