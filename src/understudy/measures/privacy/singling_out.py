"""Predicates that hold for one synthetic record, and whom among real persons they single out."""

from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.source import Source
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, described
from understudy.measures.privacy.arms import FEW_PERSONS, Arm, Arms, found, listed
from understudy.measures.privacy.guesses import enough
from understudy.measures.privacy.looks import Looks, corrected
from understudy.measures.privacy.places import Ints, Places, fixed_order
from understudy.measures.privacy.pool import swap_labels
from understudy.measures.privacy.predicates import Predicates, multivariate, univariate
from understudy.options import AtLeast

CARD = Card(
    name="privacy.singling_out",
    title="Singling out",
    meaning="The share of predicates, such as age ≥ 89 and town = Ely, that hold for exactly one "
    "training person, of those that were made from the synthetic table to hold for exactly one of "
    "its records.",
    formula="predicates from the synthetic table alone: univariate (a value that one record holds, "
    "the smallest and the largest number) and multivariate (several columns of one record; numbers "
    "at least, or at most, as far from the median); main: share that hold for one training person, "
    "control: for one holdout person, at equal sizes (of more persons, the chance that one of a "
    "random part is left); baseline: the chance that predicates of their weights do so by "
    "themselves. Interval and p by swapping the labels of the persons that match, both kinds "
    "corrected together",
    unit="fraction",
    better="lower",
    headline="share of predicates that single out a training person",
    source="Cohen and Nissim 2020; Giomi et al. 2023, section 4.1; intervals and baseline as in "
    "disclosure.md",
    not_shown="A predicate that holds for one person in n isolates somebody in 37 % of tables "
    "without any leak: only the excess over the control is evidence. Singled out is not named: who "
    "the person is takes further knowledge. Other predicates may single out more.",
    threat="Someone sees the synthetic table alone, finds what is special about one of its records "
    "and claims that exactly one person in the training data is like that. Counted against holdout "
    "persons, for whom the claim can only be true by chance.",
    opening="This singling-out attack reads",
)
MOST_MATCHES = 64
ATTEMPTS = 2000


@described(CARD)
def singling_out(
    comparison: Comparison,
    *,
    attacks: int = 2000,
    columns: int = 3,
    permutations: Annotated[int, AtLeast(2)] = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of predicates from the synthetic table that hold for exactly one training person.

    ``attacks`` is how many predicates of each kind are wanted, ``columns`` how many columns a
    multivariate one has. Where fewer are found than wanted, rates are of those found.
    """
    from understudy.kernels.boxes import Index, box_members

    if permutations < 2:
        raise OptionError(f"{CARD.name}: permutations = {permutations}", hint="use at least 2")
    for option, value in (("attacks", attacks), ("columns", columns)):
        if value < 1:
            raise OptionError(f"{CARD.name}: {option} = {value}", hint="use at least 1")
    everybody = np.zeros(sum(source.height for source in _persons(comparison)))
    if not enough(comparison, everybody):
        return CARD.not_applicable(FEW_PERSONS)
    kinds, notes = _predicates(comparison, attacks, columns)
    if not kinds:
        return CARD.not_applicable(
            "No predicate holds for exactly one record of the synthetic table: its records are "
            "alike, or there is only one."
        )
    real = _real(comparison)
    index = Index.of(np.concatenate(real.tables[1:], axis=1), max(real.sizes))
    lists = [
        box_members(index, p.columns, p.low, p.high, most=MOST_MATCHES)[1] for p in kinds.values()
    ]
    # lists too long to be complete isolate nobody, whatever the labels
    lists = [np.where(m[:, -1:] >= 0, -1, m) for m in lists]
    arms, looks = _judge(comparison, list(kinds), lists, permutations, strata, group)
    register = pl.concat(
        _singled_out(comparison.height("train"), kind, predicates, members, real.names)
        for (kind, predicates), members in zip(kinds.items(), lists, strict=True)
    )
    register = register.sort("times", descending=True, maintain_order=True).head(1000)
    return found(CARD, arms, looks, original=1.0, notes=notes, register=register, persons=False)


def _persons(comparison: Comparison) -> list[Source]:
    """Give the tables of real persons."""
    holdout = comparison.holdout
    return [comparison.train] if holdout is None else [comparison.train, holdout]


def _real(comparison: Comparison) -> Places:
    """Give the codes of all tables, the synthetic first."""
    sources = [comparison.source("synthetic"), *_persons(comparison)]
    names = sorted(comparison.names)
    return comparison.once("places", lambda: Places.of(sources, names))


def _predicates(
    comparison: Comparison, attacks: int, columns: int
) -> tuple[dict[str, Predicates], list[str]]:
    """Make the predicates of both kinds, and say where there are fewer than wanted."""
    from understudy.kernels.boxes import Index

    places = _real(comparison)
    codes = places.tables[0]
    order, first = fixed_order(codes)
    distinct = np.ascontiguousarray(codes[:, order[first]])
    varied = np.flatnonzero((distinct != distinct[:, :1]).any(axis=1))
    if not len(varied):
        return {}, []
    index = Index.of(distinct, max(places.sizes))
    ends = [len(numbers) for numbers in places.numbers]
    width = min(columns, len(varied))
    made = {"univariate": univariate(index, varied, ends, attacks, _rng(comparison, "univariate"))}
    if width > 1:
        rng = _rng(comparison, "multivariate")
        most = ATTEMPTS * attacks
        made["multivariate"] = multivariate(index, varied, ends, width, attacks, most, rng)
    notes = [
        f"{kind.capitalize()}: {len(p.columns):,} predicates single out a synthetic record, of "
        f"{attacks:,} wanted ({p.how}); rates are of those."
        for kind, p in made.items()
        if len(p.columns) < attacks
    ]
    if 1 < width < columns:
        notes.append(f"Multivariate predicates have {width} columns: no more vary.")
    return {kind: p for kind, p in made.items() if len(p.columns)}, notes


def _rng(comparison: Comparison, kind: str) -> np.random.Generator:
    return comparison.stream(CARD.name, kind)


Members = NDArray[np.int32]
Floats = NDArray[np.float64]


def _judge(
    comparison: Comparison,
    names: list[str],
    lists: list[Members],
    permutations: int,
    strata: str | None,
    group: str | None,
) -> tuple[list[Arms], Looks | None]:
    """Count who is singled out, and again with the labels of all who match swapped."""
    train = comparison.height("train")
    if not comparison.has_holdout:
        weight = 1 / comparison.height("synthetic")
        chance = train * weight * (1 - weight) ** (train - 1)
        alone = [Arm(int(((m >= 0).sum(axis=1) == 1).sum()), len(m)) for m in lists]
        return [Arms(n, arm, None, chance) for n, arm in zip(names, alone, strict=True)], None
    holdout = comparison.height("holdout")
    size = min(train, holdout)
    one_of = [isolates(MOST_MATCHES, rows, size) for rows in (train, holdout)]
    is_train = np.arange(train + holdout) < train
    who = np.unique(np.concatenate([m[m >= 0] for m in lists]))
    if group:
        who = np.arange(train + holdout)
    labels = _labels(comparison, who, is_train, permutations, strata, group)
    arms, values, references, draws = [], [], [], []
    for name, members in zip(names, lists, strict=True):
        inside = members >= 0
        total = inside.sum(axis=1)
        places = np.searchsorted(who, members[inside])
        owner = np.repeat(np.arange(len(members)), total)
        mine = np.bincount(owner, is_train[members[inside]], len(members)).astype(np.int64)
        main, control = one_of[0][mine], one_of[1][total - mine]
        swapped = _swapped(labels, places, total, one_of)
        naive = float(chances(total, train, holdout, one_of[0]).mean())
        arms.append(
            Arms(
                name,
                Arm(float(main.sum()), len(members)),
                Arm(float(control.sum()), len(members)),
                naive,
            )
        )
        values.append(main.mean())
        references.append(control.mean())
        draws.append(swapped)
    looks = corrected(names, np.array(values), np.array(references), np.stack(draws, axis=1))
    return arms, looks


def isolates(most: int, rows: int, size: int) -> Floats:
    """Give the chance that a predicate holds for one of ``size`` persons drawn from ``rows``.

    Element m is for a predicate that holds for m of them; with all of them drawn it is 1 for
    m = 1 and 0 otherwise.

    Examples
    --------
    >>> isolates(2, 10, 10).tolist(), isolates(2, 10, 5).round(3).tolist()
    ([0.0, 1.0, 0.0], [0.0, 0.5, 0.556])
    """
    if size == rows:
        return np.where(np.arange(most + 1) == 1, 1.0, 0.0)
    return hypergeometric(np.ones(most + 1, np.int64), rows, np.arange(most + 1), size)


def chances(total: Ints, train: int, holdout: int, one_of: Floats) -> Floats:
    """Give the chance that predicates with so many matches isolate a training person.

    Labels are swapped at will: it is what predicates of their weights do without any knowledge.
    """
    many = np.arange(len(one_of))
    table = hypergeometric(many[None, :], train + holdout, many[:, None], train)
    made: Floats = (table @ one_of)[total]
    return made


def hypergeometric(
    hits: NDArray[np.integer], rows: int, marked: NDArray[np.integer], size: int
) -> Floats:
    """Give the chance of so many hits among ``size`` of ``rows`` persons, so many of them marked.

    Examples
    --------
    >>> float(hypergeometric(np.array(1), 4, np.array(2), 2).round(3))
    0.667
    """
    from scipy.special import gammaln

    def ways(many: Any, chosen: Any) -> Any:
        return gammaln(many + 1) - gammaln(chosen + 1) - gammaln(many - chosen + 1)

    possible = (hits <= marked) & (marked <= rows) & (hits <= size)
    possible &= size - hits <= rows - marked
    with np.errstate(invalid="ignore"):
        made = ways(marked, hits) + ways(rows - marked, size - hits) - ways(rows, size)
    return np.where(possible, np.exp(np.where(possible, made, 0.0)), 0.0)


def _labels(
    comparison: Comparison,
    who: Ints,
    is_train: NDArray[np.bool_],
    permutations: int,
    strata: str | None,
    group: str | None,
) -> NDArray[np.bool_]:
    """Swap the labels of all persons, and keep those of the persons that match a predicate.

    Without strata or groups, how many of them carry the label training is drawn first.
    """
    if strata or group:
        everyone = np.arange(len(is_train))
        swapped = swap_labels(
            comparison, everyone, is_train, permutations,
            name=CARD.name, strata=strata, group=group,
        )  # fmt: skip
        return swapped[:, who]
    rng = comparison.stream(CARD.name, "labels")
    train = int(is_train.sum())
    many = rng.hypergeometric(train, len(is_train) - train, len(who), permutations)
    made = np.zeros((permutations, len(who)), bool)
    for labels, count in zip(made, many, strict=True):
        labels[rng.permutation(len(who))[:count]] = True
    return made


def _swapped(labels: NDArray[np.bool_], places: Ints, total: Ints, one_of: list[Floats]) -> Floats:
    """Give main less control under swapped labels; members stand predicate by predicate."""
    used = total > 0
    if not used.any():
        return np.zeros(len(labels))
    starts = np.concatenate([[0], np.cumsum(total[used])[:-1]])
    made = np.empty(len(labels))
    for swap, row in enumerate(labels):
        mine = np.add.reduceat(row[places].astype(np.int64), starts)
        made[swap] = one_of[0][mine].sum() - one_of[1][total[used] - mine].sum()
    return made / len(total)


def _singled_out(
    train: int, kind: str, predicates: Predicates, members: Members, names: tuple[str, ...]
) -> pl.DataFrame:
    """List the training persons for whom alone, of all in training, a predicate holds."""
    mine = (members >= 0) & (members < train)
    isolating = np.flatnonzero(mine.sum(axis=1) == 1)
    who = members[isolating, mine[isolating].argmax(axis=1)].astype(np.int64)
    persons, first, times = np.unique(who, return_index=True, return_counts=True)
    order = np.lexsort((persons, -times))
    agree = [
        ", ".join(names[c] for c in sorted(predicates.columns[isolating[first[i]]])) for i in order
    ]
    return listed(CARD.name, persons[order], kind, agree, times=times[order])
