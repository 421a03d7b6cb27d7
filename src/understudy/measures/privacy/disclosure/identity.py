"""Replicated uniques: persons who are unique by their keys, and unique in the release too."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import (
    LEVEL,
    Card,
    Finding,
    Part,
    TableOfNumbers,
    described,
    wilson,
)
from understudy.measures.privacy.disclosure.looking import MOST_LISTED, REGISTER, titles
from understudy.measures.privacy.disclosure.persons import (
    FEW_HOLDOUT,
    FEW_TRAINING,
    NO_MATCH,
    Setting,
    real,
    settings,
)
from understudy.measures.privacy.disclosure.swaps import Swaps, expected, swapped
from understudy.measures.privacy.looks import Looks, each_alone

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
WITHOUT_HOLDOUT = (
    "Without holdout persons, how many uniques are met again by chance is not known. The interval "
    "is for persons drawn like these."
)


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
    if permutations < 2:
        raise OptionError(f"permutations = {permutations}", hint="use at least 2")
    known = settings(
        comparison,
        name=CARD.name,
        length=length,
        subsets=subsets,
        key_bins=key_bins,
        exclude=exclude,
        missing=missing,
    )
    if isinstance(known, str):
        return CARD.not_applicable(known)
    tried, notes = known
    tried = [setting for setting in tried if setting.enough("train")]
    if not tried:
        return CARD.not_applicable(FEW_TRAINING)
    told = [which for which in real(comparison) if all(s.enough(which) for s in tried)]
    names = [", ".join(setting.names) for setting in tried]
    found: Looks | None = None
    if "holdout" in told:
        swaps = [Swaps(setting) for setting in tried]
        found = swapped(
            comparison, swaps, names, permutations, name=CARD.name, strata=strata, group=group
        )
        value, worst = found.value.tolist(), found.worst
        original = [_original(setting, min(swaps[0].sizes)) for setting in tried]
        notes += [found.note, *swaps[0].said]
    else:
        own = [identity(setting, "train") for setting in tried]
        value, original = [n["repU"] for n in own], [n["UiO"] for n in own]
        worst = int(np.argmax(value))
        notes += [each_alone(names, worst, "the largest")]
        notes += [FEW_HOLDOUT] * comparison.has_holdout + [WITHOUT_HOLDOUT]
    if not any(_met(setting) for setting in tried):
        notes.append(NO_MATCH)
    parts = [
        Part(
            name,
            value[place],
            None if found is None else float(found.reference[place]),
            {
                "original": original[place],
                "p_value": None if found is None else float(found.p_value[place]),
            },
            interval=_interval(found, place, value[place], tried[place]),
        )
        for place, name in enumerate(names)
    ]
    shown, p_value = parts[worst], parts[worst].more["p_value"]
    numbers = {which: identity(tried[worst], which) for which in told}
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=shown.value,
        interval=shown.interval,
        reference=shown.reference,
        baselines={"original": original[worst]},
        p_value=p_value,
        flagged=p_value is not None and p_value < 1 - LEVEL,
        parts=(*_family(numbers), *(parts if len(parts) > 1 else ())),
        tables={"identity": _table(numbers)},
        note=" ".join(filter(None, notes)),
        register=_register(tried[worst]),
        draws=None if found is None or len(parts) > 1 else found.draws[:, 0],
    )


def _met(setting: Setting) -> bool:
    return bool((setting.keys.counts("train") * setting.keys.counts("synthetic")).any())


def _interval(
    found: Looks | None, place: int, value: float, setting: Setting
) -> tuple[float, float]:
    if found is not None:
        return found.interval(place, 0.0, 1.0)
    persons = setting.persons("train")
    return wilson(round(value * persons), persons)


MEANINGS = {
    "UiO": "unique by their keys among the real persons",
    "UiS": "synthetic records unique by their keys",
    "UiOiS": "unique persons whose keys are in the synthetic table",
    "repU": "unique persons whose keys stand there exactly once",
}


def _family(numbers: dict[Which, dict[str, float]]) -> tuple[Part, ...]:
    fresh = numbers.get("holdout", {})
    return tuple(
        Part(f"{name}: {meaning}", numbers["train"][name], fresh.get(name))
        for name, meaning in MEANINGS.items()
    )


def identity(setting: Setting, which: Which) -> dict[str, float]:
    """Give the four numbers on identity of one table's persons: UiO, UiS, UiOiS, repU."""
    unique = _uniques(setting, which)
    times = setting.keys.counts("synthetic")
    found = times[setting.keys.of[which][unique]]
    persons = setting.persons(which)
    return {
        "UiO": len(found) / persons,
        "UiS": int((times == 1).sum()) / setting.persons("synthetic"),
        "UiOiS": int((found > 0).sum()) / persons,
        "repU": int((found == 1).sum()) / persons,
    }


def _uniques(setting: Setting, which: Which) -> NDArray[np.int64]:
    """Give the rows of persons who are unique by their keys and not left out."""
    own = setting.keys.of[which]
    alone = (setting.keys.counts(which)[own] == 1) & ~setting.left_out[which]
    return np.flatnonzero(alone)


def _original(setting: Setting, drawn: int) -> float:
    """Give the share of training persons unique by their keys, in subsets of that size."""
    own, kept = setting.keys.of["train"], ~setting.left_out["train"]
    counted = np.bincount(own[kept], minlength=setting.keys.size)
    held = setting.keys.counts("train")
    return float(expected(held, counted, len(own), drawn))


def _table(numbers: dict[Which, dict[str, float]]) -> TableOfNumbers:
    return TableOfNumbers(
        ("number", "meaning", *titles([*numbers])),
        tuple(
            (name, meaning, *(numbers[which][name] for which in numbers))
            for name, meaning in MEANINGS.items()
        ),
    )


def _register(setting: Setting) -> pl.DataFrame:
    """List the training persons who are replicated uniques, the rarest in each key first."""
    rows = _uniques(setting, "train")
    rows = rows[setting.keys.counts("synthetic")[setting.keys.of["train"][rows]] == 1]
    rarest = np.min(
        [codes.counts("train")[codes.of["train"][rows]] for codes in setting.columns.values()],
        axis=0,
    )
    worst = rows[np.lexsort((rows, rarest))][:MOST_LISTED]
    return pl.DataFrame(
        {
            "measure": CARD.name,
            "training_row": worst,
            "attack": f"keys {', '.join(setting.names)}",
            "why": "the keys are unique in training and stand once in the synthetic table",
        },
        schema=REGISTER,
    )
