"""Replicated uniques: persons who are unique by their keys, and unique in the release too."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, described
from understudy.judging.judge import Judgement, Scores, judge, judge_draws, share_interval
from understudy.judging.rates import alone
from understudy.judging.register import FEW_PERSONS, register
from understudy.judging.swaps import swap_labels
from understudy.measures.privacy.coding import Flags, Floats, Ints, real_tables
from understudy.measures.privacy.keys import (
    FEW_HOLDOUT,
    NO_MATCH,
    KnownKeys,
    known_keys,
    titles,
)

AT_ONCE = 64

CARD = Card(
    name="privacy.replicated_uniques",
    title="Replicated uniques (repU)",
    meaning="The share of training persons whose combination of key values is unique in training "
    "and stands exactly once in the synthetic table.",
    formula="repU = #{q: d_q = 1 and s_q = 1} / N_d, with d_q training persons and s_q synthetic "
    "records that have the keys q. The reference is the same number for holdout persons and the "
    "same synthetic table; p and interval by swapping the labels training and holdout, uniqueness "
    "counted anew each time. Uniqueness depends on the size of a table: with unequal sizes both "
    "numbers, and the original's, are the mean over all subsets of the smaller size. Several sets "
    "of keys (length) are several looks, corrected for each other",
    unit="fraction",
    better="lower",
    opening="This copying detector reads",
    headline="repU of training persons, by the worst set of keys",
    source="Raab, Nowok and Dibben 2024 (synthpop); Latner et al. 2025, equation 1",
    not_shown="That a unique key is met again by chance is no leak: read it beside the reference. "
    "It sees exact keys only, and nothing about who is in a crowd; keys that nobody named are not "
    "tried. A replicated unique does not say that the rest of the record is true.",
    threat="Someone knows the keys of a person, finds them once in the synthetic table and takes "
    "that record for the person's. Counted against holdout persons, who cannot have been learnt.",
    needs=("keys",),
)
MEANINGS = {
    "UiO": "unique by their keys among the real persons",
    "UiS": "synthetic records unique by their keys",
    "UiOiS": "unique persons whose keys are in the synthetic table",
    "repU": "unique persons whose keys stand there exactly once",
}


@described(CARD)
def replicated_uniques(
    comparison: Comparison,
    *,
    length: int | None = None,
    subsets: int = 50,
    key_bins: int = 0,
    exclude: str = "",
    missing: bool = True,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of training persons unique by their keys in training and in the release.

    ``length`` is the number of keys that the attacker knows: every set of so many keys is a look,
    or ``subsets`` of them drawn at random where there are more. By itself, all keys together.
    ``key_bins`` cuts keys that are numbers, ``exclude`` is a condition on persons who are not
    counted, and with ``missing = false`` a missing key leaves a person out.
    ``strata`` or ``group`` names the column that the split into training and holdout respected.
    """
    found = known_keys(
        comparison,
        name=CARD.name,
        length=length,
        subsets=subsets,
        key_bins=key_bins,
        exclude=exclude,
        missing=missing,
    )
    if isinstance(found, str):
        return CARD.not_applicable(found)
    sets, notes = found
    sets = [known for known in sets if known.enough("train")]
    if not sets:
        return CARD.not_applicable(FEW_PERSONS)
    told = [w for w in real_tables(comparison) if all(known.enough(w) for known in sets)]
    if "holdout" in told:
        judged, said = _judge(comparison, sets, permutations, strata=strata, group=group)
        notes += [judged.note, said]
    else:
        judged = _by_themselves(comparison, sets)
        notes += [FEW_HOLDOUT] * comparison.has_holdout + [judged.note]
    if not any(_met(known) for known in sets):
        notes.append(NO_MATCH)
    shown = sets[judged.headline]
    numbers = {which: identity(shown, which) for which in told}
    fresh = numbers.get("holdout", {})
    family = [
        Part(f"{name}: {meaning}", numbers["train"][name], fresh.get(name))
        for name, meaning in MEANINGS.items()
    ]
    return judged.finding(
        CARD,
        parts=(*family, *(judged.parts if len(sets) > 1 else ())),
        tables={"identity": _table(numbers)},
        notes=notes,
        register=_register(shown),
    )


def _by_themselves(comparison: Comparison, sets: Sequence[KnownKeys]) -> Judgement:
    """Give repU of training persons by each set of keys, without a control."""
    hits = np.zeros((comparison.height("train"), len(sets)))
    for column, known in zip(hits.T, sets, strict=True):
        column[_replicated(known)] = 1
    beside = [{"original": identity(known, "train")["UiO"]} for known in sets]
    scores = Scores(_names(sets), hits, len(hits), beside)
    return judge(comparison, scores, name=CARD.name, alone=share_interval)


def _names(sets: Sequence[KnownKeys]) -> list[str]:
    return [", ".join(known.names) for known in sets]


def _met(known: KnownKeys) -> bool:
    return bool((known.keys.counts("train") * known.keys.counts("synthetic")).any())


def identity(known: KnownKeys, which: Which) -> dict[str, float]:
    """Give the four numbers on identity of one table's persons: UiO, UiS, UiOiS, repU."""
    unique = _uniques(known, which)
    times = known.keys.counts("synthetic")
    found = times[known.keys.of[which][unique]]
    persons = known.persons(which)
    return {
        "UiO": len(found) / persons,
        "UiS": int((times == 1).sum()) / known.persons("synthetic"),
        "UiOiS": int((found > 0).sum()) / persons,
        "repU": int((found == 1).sum()) / persons,
    }


def _uniques(known: KnownKeys, which: Which) -> Ints:
    """Give the rows of persons who are unique by their keys and not left out."""
    own = known.keys.of[which]
    return np.flatnonzero((known.keys.counts(which)[own] == 1) & ~known.left_out[which])


def _replicated(known: KnownKeys) -> Ints:
    """Give the rows of training persons who are unique, and met once in the release."""
    rows = _uniques(known, "train")
    made: Ints = rows[known.keys.counts("synthetic")[known.keys.of["train"][rows]] == 1]
    return made


def _table(numbers: dict[Which, dict[str, float]]) -> TableOfNumbers:
    return TableOfNumbers(
        ("number", "meaning", *titles([*numbers])),
        tuple(
            (name, meaning, *(numbers[which][name] for which in numbers))
            for name, meaning in MEANINGS.items()
        ),
    )


def _register(known: KnownKeys) -> pl.DataFrame:
    """List the training persons who are replicated uniques, the rarest in each key first."""
    rows = _replicated(known)
    codes = known.columns.values()
    rarest = np.min([c.counts("train")[c.of["train"][rows]] for c in codes], axis=0)
    return register(
        CARD.name,
        rows[np.lexsort((rows, rarest))],
        f"keys {', '.join(known.names)}",
        "the keys are unique in training and stand once in the synthetic table",
    )


def _judge(
    comparison: Comparison,
    sets: Sequence[KnownKeys],
    permutations: int,
    *,
    strata: str | None,
    group: str | None,
) -> tuple[Judgement, str]:
    """Count uniques anew under swapped labels, which are the same for all sets of keys.

    Tables of different size are compared at the size of the smaller, which is said.
    """
    sizes = comparison.height("train"), comparison.height("holdout")
    is_train = np.arange(sum(sizes)) < sizes[0]
    labels = swap_labels(
        comparison, np.arange(len(is_train)), is_train, permutations,
        name=CARD.name, strata=strata, group=group,
    )  # fmt: skip
    observed, draws = [], []
    for number, known in enumerate(sets):
        comparison.progress("sets of keys", number, len(sets))
        counter = _Replicated(known)
        observed.append(counter.shares(is_train[None]))
        blocks = [
            counter.shares(labels[start : start + AT_ONCE])
            for start in range(0, permutations, AT_ONCE)
        ]
        draws.append(np.concatenate([train - holdout for train, holdout in blocks]))
    value, reference = np.array(observed)[:, :, 0].T
    beside = [{"original": _original(known, min(sizes))} for known in sets]
    judged = judge_draws(_names(sets), value, reference, np.column_stack(draws), beside=beside)
    if sizes[0] == sizes[1]:
        return judged, ""
    return judged, (
        f"Training and holdout differ in size, and a larger table has fewer uniques: both "
        f"numbers, and the original's, are the mean over all subsets of {min(sizes):,} "
        "persons. repU of all training persons stands in the table."
    )


class _Replicated:
    """repU under any labels: only persons whose keys stand once in the release matter."""

    def __init__(self, known: KnownKeys) -> None:
        codes = np.concatenate([known.keys.of[which] for which in ("train", "holdout")])
        kept = np.concatenate([~known.left_out[which] for which in ("train", "holdout")])
        rows = np.flatnonzero(known.keys.counts("synthetic")[codes] == 1)
        self.rows = rows[np.argsort(codes[rows], kind="stable")]
        sorted_codes = codes[self.rows]
        self.first = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
        self.counts = kept[self.rows]

    def shares(self, labels: Flags) -> tuple[Floats, Floats]:
        """Give repU of persons with and without the label, for each row of labels."""
        train, holdout = np.zeros((2, len(labels)))
        if not len(self.rows):
            return train, holdout
        # whole groups that swap labels change the sizes; else there is one size
        sizes = labels.sum(axis=1)
        for size in np.unique(sizes):
            here = np.flatnonzero(sizes == size)
            chosen = labels[here][:, self.rows]
            rest = labels.shape[1] - int(size)
            drawn = min(int(size), rest)
            train[here] = self._share(chosen, int(size), drawn)
            holdout[here] = self._share(~chosen, rest, drawn)
        return train, holdout

    def _share(self, labelled: Flags, persons: int, drawn: int) -> Floats:
        held = np.add.reduceat(labelled, self.first, axis=1, dtype=np.int32)
        counted = np.add.reduceat(labelled & self.counts, self.first, axis=1, dtype=np.int32)
        return _expected(held, counted, persons, drawn)


def _original(known: KnownKeys, drawn: int) -> float:
    """Give the share of training persons unique by their keys, in subsets of that size."""
    own, kept = known.keys.of["train"], ~known.left_out["train"]
    counted = np.bincount(own[kept], minlength=known.keys.size)
    return float(_expected(known.keys.counts("train"), counted, len(own), drawn))


def _expected(
    held: NDArray[np.integer], counted: NDArray[np.integer], persons: int, drawn: int
) -> Floats:
    """Give the expected share of uniques in a random subset of ``drawn`` of the persons.

    Of each key, ``held`` persons have it, of whom ``counted`` count if they are alone with it.
    """
    chance = alone(int(held.max(initial=0)), drawn, persons)
    # of the persons who share a key, each is as likely to be the one in the subset
    part = np.where(held > 0, counted / np.maximum(held, 1), 0.0)
    shares: Floats = (chance[held] * part).sum(axis=-1) / drawn
    return shares
