"""Correct attribution probability: how likely a value drawn from matching records is the true one.

For each real person, the synthetic records with the same keys are looked up. CAP is the share of
them that have the person's own sensitive value: what an attacker scores who draws one of them.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, TableOfNumbers, described
from understudy.judging.judge import judge, mean_interval
from understudy.judging.register import MOST_LISTED, register
from understudy.measures.privacy.coding import Flags, Floats, Ints
from understudy.measures.privacy.keys import (
    NO_MATCH,
    KnownKeys,
    Look,
    look_scores,
    sensitive_looks,
    titles,
)

MOST_NEAREST = 256
AT_ONCE = 4096

CARD = Card(
    name="privacy.correct_attribution",
    title="Correct attribution (CAP)",
    meaning="The mean chance that a synthetic record drawn from those with a training person's "
    "keys has the person's own sensitive value; without such a record the chance is 0.",
    formula="DCAP = Σ d_tq s_tq / s_q / N_d, with d_tq training persons and s_tq synthetic records "
    "that have the keys q and the value t. The reference is the same number for holdout persons "
    "and the same synthetic table; the original's own value is Σ d_tq² / d_q / N_d, the naive one "
    "the mean of p_t, which is Σ p_t² if nobody is left out. Several sensitive columns, or sets of "
    "keys, are several looks: p-values and intervals by swapping the labels hold for all of them "
    "at once; the headline is the look with the strongest evidence",
    unit="fraction",
    better="lower",
    opening="The risk under this attack is",
    headline="DCAP of training persons (CAP with no match as 0), of the worst sensitive column",
    source="Elliot 2014 (CAP); Taub and Elliot 2019 (TCAP); Raab, Nowok and Dibben 2024 (synthpop)",
    not_shown="A chance above the naive one is what a faithful table gives about anybody of that "
    "kind, in the data or not; only what goes beyond the reference comes from having been in the "
    "data. It counts exact values: numbers that are nearly right do not count unless cut.",
    threat="Someone knows the keys of a person, looks up the synthetic records with the same keys "
    "and draws one. Counted against holdout persons, who cannot have been learnt.",
    needs=("keys", "sensitive"),
)
MEANINGS = {
    "CAP 0 (DCAP)": "mean chance, no match counts 0",
    "CAP undefined": "mean chance over persons with a match",
    "GCAP": "mean chance, without a match from the records with the most keys in common",
    "TCAP (Taub–Elliot)": "mean over synthetic records with keys of one value that a real person "
    "has: share of those persons with that value",
    "TCAP (synthpop)": "DiSCO / iS: disclosed persons among those with a match",
    "CAP original": "mean chance from the real persons' own table",
    "baseline": "mean share p_t of the person's own value: chance without keys",
}


@described(CARD)
def correct_attribution(
    comparison: Comparison,
    *,
    length: int | None = None,
    subsets: int = 50,
    key_bins: int = 0,
    target_bins: int = 0,
    exclude: str = "",
    missing: bool = True,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Mean chance that a synthetic record with a person's keys has the person's own value.

    ``length`` is the number of keys that the attacker knows: every set of so many keys is a look,
    or ``subsets`` of them drawn at random where there are more. By itself, all keys together.
    ``key_bins`` and ``target_bins`` cut numbers; ``exclude`` is a condition on persons who are no
    targets; with ``missing = false`` nor are persons with a missing key or value. ``strata``
    or ``group`` names the column that the split into training and holdout respected.
    """
    prepared = sensitive_looks(
        comparison,
        name=CARD.name,
        length=length,
        subsets=subsets,
        key_bins=key_bins,
        target_bins=target_bins,
        exclude=exclude,
        missing=missing,
    )
    if isinstance(prepared, str):
        return CARD.not_applicable(prepared)
    looks, tables, notes = prepared
    sets = {look.known.names: look.known for look in looks}
    nearest = {w: {names: MostInCommon(sets[names], w) for names in sets} for w in tables}
    if any(near.cut for found in nearest.values() for near in found.values()):
        notes.append(
            f"Of more than {MOST_NEAREST} nearest combinations of keys, GCAP takes that many."
        )
    numbers = {
        w: [_attributed(look, w, found[look.known.names]) for look in looks]
        for w, found in nearest.items()
    }
    scores = look_scores(
        looks,
        {w: [_scores(look, w) for look in looks] for w in tables},
        original=[own["CAP original"] for own in numbers["train"]],
        naive=[own["baseline"] for own in numbers["train"]],
    )
    judged = judge(
        comparison, scores, name=CARD.name, permutations=permutations, strata=strata, group=group,
        alone=mean_interval, beyond_naive=True,
    )  # fmt: skip
    notes.append(judged.note)
    if not any(near.matched.any() for near in nearest["train"].values()):
        notes.append(NO_MATCH)
    return judged.finding(
        CARD,
        tables={"attribution": _table(judged.names, numbers)},
        notes=notes,
        register=_register(looks, scores.sides[0]),
    )


def chances(look: Look, which: Which) -> Floats:
    """Give the CAP of each person; nan where no synthetic record has the keys."""
    same_keys, same = look.counts(which)
    return _divided(same, same_keys)


def _scores(look: Look, which: Which) -> Floats:
    """Give the CAP of each person, 0 without a match; nan for those who are left out."""
    return np.where(look.left_out(which), np.nan, np.nan_to_num(chances(look, which)))


def _divided(part: Ints, whole: Ints) -> Floats:
    made = np.full(len(whole), np.nan)
    np.divide(part, whole, out=made, where=whole > 0)
    return made


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _attributed(look: Look, which: Which, nearest: "MostInCommon") -> dict[str, float]:
    """Give the whole family of numbers for the persons of one table."""
    kept = ~look.left_out(which)
    cap = chances(look, which)
    told = look.flags(which)
    found = int(told["iS"].sum())
    levels = look.target.counts(which) / look.known.persons(which)
    own_keys = look.known.keys.counts(which)[look.known.keys.of[which]]
    own = _divided(look.pairs.counts(which)[look.pairs.of[which]], own_keys)
    return {
        "CAP 0 (DCAP)": _mean(np.nan_to_num(cap)[kept]),
        "CAP undefined": _mean(cap[kept & ~np.isnan(cap)]),
        "GCAP": _mean(nearest.chances(look)[kept]),
        "TCAP (Taub–Elliot)": _targeted(look, which),
        "TCAP (synthpop)": int(told["DiSCO"].sum()) / found if found else float("nan"),
        "CAP original": _mean(own[kept]),
        "baseline": _mean(levels[look.target.of[which]][kept]),
    }


def _targeted(look: Look, which: Which) -> float:
    """Give Taub and Elliot's TCAP, a mean over synthetic records.

    Taken are those whose within-class probability (WEAP) is 1, all records with their keys
    having their value, and whose keys some real person has who is not left out.
    """
    keys, pairs = look.known.keys, look.pairs
    own, both = keys.of["synthetic"], pairs.of["synthetic"]
    certain = keys.counts("synthetic")[own] == pairs.counts("synthetic")[both]
    kept = ~look.left_out(which)
    persons = np.bincount(keys.of[which][kept], minlength=keys.size)[own]
    right = np.bincount(pairs.of[which][kept], minlength=pairs.size)[both]
    taken = certain & (persons > 0)
    return _mean(right[taken] / persons[taken])


class MostInCommon:
    """The synthetic records that share the most keys with each person who has no match."""

    def __init__(self, known: KnownKeys, which: Which) -> None:
        from understudy.kernels.neighbors import hamming_neighbors

        self.which = which
        own = known.keys.of[which]
        self.matched: Flags = known.keys.counts("synthetic")[own] > 0
        self.alone = alone = np.flatnonzero(~self.matched)
        self.cut = False
        if not len(alone):
            return
        _, first, self.back = np.unique(own[alone], return_index=True, return_inverse=True)
        made, where = np.unique(known.keys.of["synthetic"], return_index=True)
        # in random order, so that of many nearest combinations a random part is kept
        order = known.comparison.stream(CARD.name, "order").permutation(len(made))
        made, where = made[order], where[order]
        found = hamming_neighbors(
            _combinations(known, which, alone[first]),
            _combinations(known, "synthetic", where),
            cap=MOST_NEAREST,
        )
        self.cut = bool((found.count > MOST_NEAREST).any())
        # one row for each combination without a match; -1 where there are no more
        self.near = np.where(found.indices >= 0, made[found.indices], -1)

    def chances(self, look: Look) -> Floats:
        """Give each person's chance: from exact matches, else from the nearest records."""
        made = np.nan_to_num(chances(look, self.which))
        times, size = look.known.keys.counts("synthetic"), look.target.size
        cells, counts = np.unique(
            look.known.keys.of["synthetic"] * size + look.target.of["synthetic"],
            return_counts=True,
        )
        for start in range(0, len(self.alone), AT_ONCE):
            person = self.alone[start : start + AT_ONCE]
            near = self.near[self.back[start : start + AT_ONCE]]
            wanted = near * size + look.target.of[self.which][person][:, None]
            place = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
            there = near >= 0
            same = np.where(there & (cells[place] == wanted), counts[place], 0).sum(axis=1)
            made[person] = same / np.where(there, times[near], 0).sum(axis=1)
        return made


def _combinations(known: KnownKeys, which: Which, rows: Ints) -> NDArray[np.uint32]:
    columns = [codes.of[which][rows] for codes in known.columns.values()]
    return np.column_stack(columns).astype(np.uint32)


def _table(names: Sequence[str], numbers: dict[Which, list[dict[str, float]]]) -> TableOfNumbers:
    return TableOfNumbers(
        ("sensitive", "number", "meaning", *titles([*numbers])),
        tuple(
            (name, number, meaning, *(numbers[which][place][number] for which in numbers))
            for place, name in enumerate(names)
            for number, meaning in MEANINGS.items()
        ),
    )


def _register(looks: Sequence[Look], scores: Floats) -> pl.DataFrame:
    """List the training persons whose chance is farthest above that of their value at large."""
    rows = []
    for look, chance in zip(looks, scores.T, strict=True):
        at_large = look.target.counts("train")[look.target.of["train"]] / len(chance)
        ahead = np.nan_to_num(chance - at_large, nan=-1.0)
        for row in np.argsort(-ahead, kind="stable")[:MOST_LISTED]:
            if ahead[row] > 0:
                why = f"chance {chance[row]:.2f}, {at_large[row]:.4f} of all training persons"
                rows.append((float(ahead[row]), int(row), look.attack, why))
    rows.sort(key=lambda row: -row[0])
    who = np.array([row[1] for row in rows], np.int64)
    return register(CARD.name, who, [row[2] for row in rows], [row[3] for row in rows])
