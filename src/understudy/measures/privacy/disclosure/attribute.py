"""DiSCO: what keys that are disclosive in the release tell correctly about real persons."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, TableOfNumbers, described, wilson
from understudy.measures.privacy.disclosure import checks
from understudy.measures.privacy.disclosure.looking import (
    MOST_LISTED,
    REGISTER,
    Judged,
    prepare,
    titles,
)
from understudy.measures.privacy.disclosure.persons import NO_MATCH, Flags, Look

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
WITHOUT_HOLDOUT = (
    "Without holdout persons, how much is told correctly about people who were never in the data "
    "is not known. The interval is for persons drawn like these."
)
MEANINGS = {
    "Dorig": "their keys have one value in their own table",
    "iS": "their keys are in the synthetic table",
    "DiS": "their keys have one value there",
    "DiSCO": "and it is their own",
    "DiSDiO": "and their keys have one value in their own table too",
}


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
    if minimum < 1:
        raise OptionError(f"minimum = {minimum}", hint="give a whole number from 1 up")
    prepared = prepare(
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
    scores = {w: np.column_stack([f["DiSCO"] for f in flags[w]]).astype(float) for w in flags}
    judged = Judged.of(
        CARD,
        looks,
        scores,
        permutations=permutations,
        alone=lambda score: wilson(int(score.sum()), len(score)),
        without=WITHOUT_HOLDOUT,
        strata=strata,
        group=group,
    )
    notes.append(judged.note)
    if not any(f["iS"].any() for f in flags["train"]):
        notes.append(NO_MATCH)
    hits = [f["DiSCO"] for f in flags["train"]]
    found = [checks.check(look, hit) for look, hit in zip(looks, hits, strict=True)]
    notes += found[judged.worst].warnings
    warned = [n for n, c in zip(judged.names, found, strict=True) if c.warnings]
    others = [name for name in warned if name != judged.names[judged.worst]]
    if others:
        notes.append(f"The checks warn of {', '.join(others)} too: see their tables.")
    return judged.finding(
        CARD,
        original=[float(f["Dorig"].mean()) for f in flags["train"]],
        naive=[_best_guess(look) for look in looks],
        tables={"disclosure": _table(looks, flags), **checks.tables(found)},
        notes=notes,
        register=_register(looks, hits),
    )


def _best_guess(look: Look) -> float:
    """Give the share of training persons whom the one best guess for all is right about."""
    kept = look.target.of["train"][~look.left_out("train")]
    return int(np.bincount(kept).max()) / look.setting.persons("train")


def _table(looks: Sequence[Look], flags: dict[Which, list[dict[str, Flags]]]) -> TableOfNumbers:
    """Give the whole family, with the sizes of the groups behind DiSCO."""
    rows: list[tuple[object, ...]] = []
    for place, look in enumerate(looks):
        made = float(look.disclosive("synthetic")[look.setting.keys.of["synthetic"]].mean())
        rows.append((look.title, "Dsyn", SYNTHETIC, *(made for _ in flags)))
        for name, meaning in MEANINGS.items():
            shares = (float(flags[which][place][name].mean()) for which in flags)
            rows.append((look.title, name, meaning, *shares))
        sizes = {which: _denominators(look, which, flags[which][place]["DiSCO"]) for which in flags}
        for size, meaning in DENOMINATORS.items():
            rows.append((look.title, size, meaning, *(sizes[which][size] for which in flags)))
    return TableOfNumbers(("sensitive", "number", "meaning", *titles([*flags])), tuple(rows))


SYNTHETIC = "synthetic records whose keys have one value in the synthetic table"
DENOMINATORS = {
    "smallest group": "persons with the same keys and value behind a disclosure, fewest",
    "mean group": "the same, mean over the groups",
    "largest group": "the same, most",
}


def _denominators(look: Look, which: Which, hit: Flags) -> dict[str, float | None]:
    sizes = np.bincount(look.pairs.of[which][hit])
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return dict.fromkeys(DENOMINATORS)
    numbers = float(sizes.min()), float(sizes.mean()), float(sizes.max())
    return dict(zip(DENOMINATORS, numbers, strict=True))


def _register(looks: Sequence[Look], hits: Sequence[Flags]) -> pl.DataFrame:
    """List the training persons disclosed: unique keys first, then the rarest values."""
    rows, order = [], []
    for look, hit in zip(looks, hits, strict=True):
        keys = look.setting.keys
        alike = keys.counts("train")[keys.of["train"]]
        held = look.target.counts("train")[look.target.of["train"]]
        told = keys.counts("synthetic")[keys.of["train"]]
        chosen = np.flatnonzero(hit)
        chosen = chosen[np.lexsort((chosen, held[chosen], alike[chosen]))][:MOST_LISTED]
        attack = f"{look.name} from {', '.join(look.setting.names)}"
        order += [(int(alike[row]), int(held[row])) for row in chosen]
        rows += [
            (CARD.name, int(row), attack, _why(int(told[row]), int(alike[row]))) for row in chosen
        ]
    worst = sorted(range(len(rows)), key=order.__getitem__)[:MOST_LISTED]
    return pl.DataFrame([rows[place] for place in worst], REGISTER, orient="row")


def _why(told: int, alike: int) -> str:
    records = "the 1 synthetic record" if told == 1 else f"all {told:,} synthetic records"
    persons = "unique in training" if alike == 1 else f"shared by {alike:,} training persons"
    return f"{records} with these keys give the person's own value; the keys are {persons}"
