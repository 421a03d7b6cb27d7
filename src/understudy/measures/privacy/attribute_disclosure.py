"""DiSCO: what keys that are disclosive in the release tell correctly about real persons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, TableOfNumbers, described
from understudy.judging.judge import judge, share_interval
from understudy.judging.register import MOST_LISTED, K, register
from understudy.measures.pictures.rule import share
from understudy.measures.privacy.coding import Flags, Ints
from understudy.measures.privacy.keys import NO_MATCH, Look, look_scores, sensitive_looks, titles

CARD = Card(
    name="privacy.attribute_disclosure",
    title="Attribute disclosure (DiSCO)",
    meaning="The share of training persons about whom the synthetic table tells a sensitive value "
    "correctly: all its records with the person's keys have one value, and it is the person's own.",
    formula="DiSCO = Σ d_tq [s_tq = s_q > 0] / N_d, with d_tq training persons and s_tq synthetic "
    "records that have the keys q and the value t. The reference is the same number for holdout "
    "persons and the same synthetic table. Several sensitive columns, or sets of keys, are several "
    "looks: p-values and intervals by swapping the labels training and holdout hold for all of "
    "them at once; the headline is the look with the strongest evidence",
    unit="fraction",
    better="lower",
    headline="DiSCO of training persons, of the worst sensitive column",
    source="Raab, Nowok and Dibben 2024 (synthpop); Latner et al. 2025, equation 2",
    not_shown="The number has a known flaw: it rises when the sensitive column of the release is "
    "constant, which discloses nothing, and it is zero when a unique record is copied beside "
    "others with its keys (Latner et al. 2025). The one-way check warns of the first; read DiSCO "
    "beside its reference, which rises with it. What is told about holdout persons as often is "
    "what the population is like, not a leak.",
    threat="Someone knows the keys of a person and looks them up in the synthetic table; where all "
    "records agree on the sensitive value, it is believed. Counted against holdout persons, who "
    "cannot have been learnt.",
    needs=("keys", "sensitive"),
)
MEANINGS = {
    "Dorig": "their keys have one value in their own table",
    "iS": "their keys are in the synthetic table",
    "DiS": "their keys have one value there",
    "DiSCO": "and it is their own",
    "DiSDiO": "and their keys have one value in their own table too",
}
SYNTHETIC = "synthetic records whose keys have one value in the synthetic table"
DENOMINATORS = {
    "smallest group": "persons with the same keys and value behind a disclosure, fewest",
    "mean group": "the same, mean over the groups",
    "largest group": "the same, most",
}

# What to look at before DiSCO is believed: levels that everybody has, relations everybody knows.
# The thresholds are synthpop's. A level is told only if at least five training records hold it; of
# a key and a value together, only the names of the columns are told.
ONE_WAY_RECORDS, ONE_WAY_SHARE = 50, 0.9
TWO_WAY_RECORDS, TWO_WAY_SHARE = 4, 0.8
MOST_LEVELS = 10
ABOVE, ALL = "above {:.0%}", "100%"
RARE = "(a level of fewer than 5 records)"
LEVEL_COLUMNS = (
    "sensitive",
    "level",
    "training records",
    "synthetic records",
    "disclosed of the level (DiSCO)",
    "share of all disclosures",
)
ONE_WAY_COLUMNS = (*LEVEL_COLUMNS[:4], LEVEL_COLUMNS[5])
PAIR_COLUMNS = ("sensitive", "key", "of the records of some key level, share with one value")


@described(CARD)
def attribute_disclosure(
    comparison: Comparison,
    *,
    length: int | None = None,
    subsets: int = 50,
    key_bins: int = 0,
    target_bins: int = 0,
    exclude: str = "",
    missing: bool = True,
    minimum: int = 1,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of training persons whose sensitive value the release tells correctly.

    ``length`` is the number of keys that the attacker knows: every set of so many keys is a look,
    or ``subsets`` of them drawn at random where there are more. By itself, all keys together.
    ``key_bins`` and ``target_bins`` cut numbers; ``exclude`` is a condition on persons who never
    count as disclosed (``depress == 0 and sex == 'female'``); with ``missing = false`` nor do
    persons with a missing key or value. A key is disclosive if at least ``minimum`` synthetic
    records have it, all with one value. ``strata`` or ``group`` names the column that the split
    into training and holdout respected.
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
    if minimum > 1:
        notes.append(f"A key counts as disclosive from {minimum} synthetic records on.")
    flags = {w: [look.flags(w, least=minimum) for look in looks] for w in tables}
    hits = [f["DiSCO"] for f in flags["train"]]
    scores = look_scores(
        looks,
        {w: [f["DiSCO"] for f in flags[w]] for w in tables},
        original=[float(f["Dorig"].mean()) for f in flags["train"]],
        naive=[_best_guess(look) for look in looks],
    )
    judged = judge(
        comparison, scores, name=CARD.name, permutations=permutations, strata=strata, group=group,
        alone=share_interval,
    )  # fmt: skip
    notes.append(judged.note)
    if not any(f["iS"].any() for f in flags["train"]):
        notes.append(NO_MATCH)
    checks = [_check(look, hit) for look, hit in zip(looks, hits, strict=True)]
    notes += checks[judged.headline].warnings
    others = [
        name
        for i, (name, checked) in enumerate(zip(judged.names, checks, strict=True))
        if checked.warnings and i != judged.headline
    ]
    if others:
        notes.append(f"The checks warn of {', '.join(others)} too: see their tables.")
    return judged.finding(
        CARD,
        tables={"disclosure": _table(looks, flags), **_check_tables(checks)},
        notes=notes,
        register=_register(looks, hits),
    )


def _best_guess(look: Look) -> float:
    """Give the share of training persons whom the one best guess for all is right about."""
    kept = look.target.of["train"][~look.left_out("train")]
    return int(np.bincount(kept).max()) / look.known.persons("train")


def _table(looks: Sequence[Look], flags: dict[Which, list[dict[str, Flags]]]) -> TableOfNumbers:
    """Give the whole family, with the sizes of the groups behind DiSCO."""
    rows: list[tuple[object, ...]] = []
    for place, look in enumerate(looks):
        made = float(look.disclosive("synthetic")[look.known.keys.of["synthetic"]].mean())
        rows.append((look.title, "Dsyn", SYNTHETIC, *(made for _ in flags)))
        for name, meaning in MEANINGS.items():
            shares = (float(flags[which][place][name].mean()) for which in flags)
            rows.append((look.title, name, meaning, *shares))
        sizes = {which: _denominators(look, which, flags[which][place]["DiSCO"]) for which in flags}
        for size, meaning in DENOMINATORS.items():
            rows.append((look.title, size, meaning, *(sizes[which][size] for which in flags)))
    return TableOfNumbers(("sensitive", "number", "meaning", *titles([*flags])), tuple(rows))


def _denominators(look: Look, which: Which, hit: Flags) -> dict[str, float | None]:
    sizes = np.bincount(look.pairs.of[which][hit])
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return dict.fromkeys(DENOMINATORS)
    numbers = float(sizes.min()), float(sizes.mean()), float(sizes.max())
    return dict(zip(DENOMINATORS, numbers, strict=True))


def _register(looks: Sequence[Look], hits: Sequence[Flags]) -> pl.DataFrame:
    """List the training persons disclosed: unique keys first, then the rarest values."""
    rows: list[tuple[int, int, int, str, str]] = []
    for look, hit in zip(looks, hits, strict=True):
        keys = look.known.keys
        alike = keys.counts("train")[keys.of["train"]]
        held = look.target.counts("train")[look.target.of["train"]]
        told = keys.counts("synthetic")[keys.of["train"]]
        chosen = np.flatnonzero(hit)
        for row in chosen[np.lexsort((chosen, held[chosen], alike[chosen]))][:MOST_LISTED]:
            why = _why(int(told[row]), int(alike[row]))
            rows.append((int(alike[row]), int(held[row]), int(row), look.attack, why))
    rows.sort(key=lambda row: row[:2])
    who = np.array([row[2] for row in rows], np.int64)
    return register(CARD.name, who, [row[3] for row in rows], [row[4] for row in rows])


def _why(told: int, alike: int) -> str:
    records = "the 1 synthetic record" if told == 1 else f"all {told:,} synthetic records"
    persons = "unique in training" if alike == 1 else f"shared by {alike:,} training persons"
    return f"{records} with these keys give the person's own value; the keys are {persons}"


@dataclass(frozen=True)
class _Checks:
    """The rows of the tables of one sensitive column, and the warnings."""

    levels: tuple[tuple[Any, ...], ...]
    one_way: tuple[tuple[Any, ...], ...]
    two_way: tuple[tuple[Any, ...], ...]
    warnings: tuple[str, ...]


def _check(look: Look, hit: Flags) -> _Checks:
    """Break the disclosed training persons down by level, and check them one and two ways."""
    persons = look.target.counts("train")
    disclosed = np.bincount(look.target.of["train"][hit], minlength=look.target.size)
    levels = _levels(look, persons, disclosed)
    warnings: list[str] = []
    one_way: tuple[tuple[Any, ...], ...] = ()
    worst, total = int(disclosed.argmax()), int(disclosed.sum())
    name, held = _name(look, worst), int(look.target.counts("synthetic")[worst])
    made = held / look.known.persons("synthetic")
    most = disclosed[worst] > ONE_WAY_RECORDS and disclosed[worst] > ONE_WAY_SHARE * total
    if most or (made == 1 and total):
        one_way = (
            (
                look.title,
                name,
                share(persons[worst], look.known.persons("train"), real=True),
                share(held, look.known.persons("synthetic"), real=False),
                ALL if made == 1 else ABOVE.format(ONE_WAY_SHARE),
            ),
        )
        warnings.append(
            f"One-way check: {one_way[0][-1]} of the disclosures of '{look.title}' are of one "
            f"level, {name}, which {made:.0%} of synthetic records have"
            + (
                ". A constant column tells nothing about anybody, and yet it raises DiSCO: this "
                "number is no disclosure."
                if made == 1
                else ". A level that most records share is guessed without the release; DiSCO "
                "rises with it. See the levels, or leave the level out (exclude)."
            )
        )
    deciding = _deciding(look, hit)
    two_way = tuple((look.title, key, ABOVE.format(TWO_WAY_SHARE)) for key in deciding)
    if deciding:
        warnings.append(
            f"Two-way check of '{look.title}': one key alone all but decides the value of persons "
            f"disclosed ({', '.join(deciding)}). If everybody knows the relation, leave it out "
            "(exclude)."
        )
    return _Checks(levels, one_way, two_way, tuple(warnings))


def _name(look: Look, level: int) -> str:
    told = look.target.counts("train")[level] >= K
    return look.target.labels[level] if told else RARE


def _levels(look: Look, persons: Ints, disclosed: Ints) -> tuple[tuple[Any, ...], ...]:
    """Give the levels that at least five persons hold, most disclosures first."""
    told = np.flatnonzero(persons >= K)
    worst = told[np.lexsort((told, -persons[told], -disclosed[told]))][:MOST_LEVELS]
    rows, made = look.known.persons("train"), look.target.counts("synthetic")
    total = int(disclosed.sum())
    return tuple(
        (
            look.title,
            look.target.labels[level],
            share(persons[level], rows, real=True),
            share(made[level], look.known.persons("synthetic"), real=False),
            share(disclosed[level], _rounded(persons[level]), real=True),
            share(disclosed[level], _rounded(total), real=True),
        )
        for level in worst
    )


def _rounded(count: int) -> int:
    """Round a real count that a share is taken of, as the counts themselves are."""
    return K * int(count / K + 0.5)


def _deciding(look: Look, hit: Flags) -> list[str]:
    """Name the keys of which a level all but decides the value of a larger group of disclosed."""
    own, both = look.target.of["train"], look.pairs.of["train"]
    group = np.bincount(both[hit], minlength=look.pairs.size)
    counted = hit & (group[both] > TWO_WAY_RECORDS)
    if not counted.any():
        return []
    found = []
    for key, codes in look.known.columns.items():
        cell = codes.of["train"] * look.target.size + own
        all_cells, all_times = np.unique(cell, return_counts=True)
        cells = np.unique(cell[counted])
        together = all_times[np.searchsorted(all_cells, cells)]
        of_key = together / codes.counts("train")[cells // look.target.size]
        if ((of_key > TWO_WAY_SHARE) & (together >= K)).any():
            found.append(key)
    return found


def _check_tables(found: Sequence[_Checks]) -> dict[str, TableOfNumbers]:
    """Put the rows of all sensitive columns into one table each."""
    made = {"levels": TableOfNumbers(LEVEL_COLUMNS, sum((c.levels for c in found), ()))}
    for name, columns, rows in (
        ("one-way check", ONE_WAY_COLUMNS, sum((c.one_way for c in found), ())),
        ("two-way check", PAIR_COLUMNS, sum((c.two_way for c in found), ())),
    ):
        if rows:
            made[name] = TableOfNumbers(columns, rows)
    return made
