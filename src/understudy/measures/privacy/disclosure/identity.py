"""Replicated uniques: persons who are unique by their keys, and unique in the release too."""

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import gammaln

from understudy.comparison import Comparison, Which
from understudy.errors import OptionError
from understudy.findings import (
    LEVEL,
    Card,
    Finding,
    Part,
    TableOfNumbers,
    around,
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
)
from understudy.measures.privacy.pool import swap_labels

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
    "numbers, and the original's, are the mean over all subsets of the smaller size",
    unit="fraction",
    better="lower",
    opening="This copying detector reads",
    headline="repU of training persons",
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
    key_bins: int = 0,
    exclude: str = "",
    missing: bool = True,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of training persons unique by their keys in training and in the release.

    ``key_bins`` cuts keys that are numbers, ``exclude`` is a condition on persons who are not
    counted, and with ``missing = false`` a missing key leaves a person out.
    ``strata`` or ``group`` names the column that the split into training and holdout respected.
    """
    if permutations < 2:
        raise OptionError(f"permutations = {permutations}", hint="use at least 2")
    setting = Setting.of(comparison, key_bins=key_bins, exclude=exclude, missing=missing)
    if isinstance(setting, str):
        return CARD.not_applicable(setting)
    if not setting.enough("train"):
        return CARD.not_applicable(FEW_TRAINING)
    told = [which for which in real(comparison) if setting.enough(which)]
    numbers = {which: identity(setting, which) for which in told}
    own = numbers["train"]
    value, original, notes = own["repU"], own["UiO"], list(setting.said)
    reference = p_value = draws = None
    if "holdout" in told:
        swaps = _Swaps(setting)
        value, reference, draws = swaps.run(permutations, strata=strata, group=group)
        original = _original(setting, min(swaps.sizes))
        spread = float(draws.std(ddof=1))
        interval = around(value, spread, 0.0, 1.0)
        at_least = int((draws >= value - reference - 1e-12).sum())
        p_value = (1 + at_least) / (1 + permutations)
        notes += swaps.said
    else:
        persons = setting.persons("train")
        interval = wilson(round(value * persons), persons)
        notes += [FEW_HOLDOUT] * comparison.has_holdout + [WITHOUT_HOLDOUT]
    if not (setting.keys.counts("train") * setting.keys.counts("synthetic")).any():
        notes.append(NO_MATCH)
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=value,
        interval=interval,
        reference=reference,
        baselines={"original": original},
        p_value=p_value,
        flagged=p_value is not None and p_value < 1 - LEVEL,
        parts=tuple(
            Part(f"{name}: {MEANINGS[name]}", own[name], numbers.get("holdout", {}).get(name))
            for name in MEANINGS
        ),
        tables={"identity": _table(numbers)},
        note=" ".join(notes),
        register=_register(setting),
        draws=draws,
    )


MEANINGS = {
    "UiO": "unique by their keys among the real persons",
    "UiS": "synthetic records unique by their keys",
    "UiOiS": "unique persons whose keys are in the synthetic table",
    "repU": "unique persons whose keys stand there exactly once",
}


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


class _Swaps:
    """repU under swapped labels: only persons whose keys stand once in the release matter."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        codes = np.concatenate([setting.keys.of[which] for which in ("train", "holdout")])
        kept = np.concatenate([~setting.left_out[which] for which in ("train", "holdout")])
        once = setting.keys.counts("synthetic")[codes] == 1
        self.rows = np.flatnonzero(once)
        self.rows = self.rows[np.argsort(codes[self.rows], kind="stable")]
        sorted_codes = codes[self.rows]
        self.first = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
        self.counts = kept[self.rows]
        self.sizes = setting.persons("train"), setting.persons("holdout")

    @property
    def said(self) -> list[str]:
        if self.sizes[0] == self.sizes[1]:
            return []
        return [
            f"Training and holdout differ in size, and a larger table has fewer uniques: both "
            f"numbers, and the original's, are the mean over all subsets of {min(self.sizes):,} "
            "persons. repU of all training persons stands in the table."
        ]

    def run(
        self, permutations: int, *, strata: str | None = None, group: str | None = None
    ) -> tuple[float, float, NDArray[np.float64]]:
        """Give repU of training and of holdout, and their difference under swapped labels."""
        comparison = self.setting.comparison
        is_train = np.arange(sum(self.sizes)) < self.sizes[0]
        value, reference = self._both(is_train[None])
        labels = swap_labels(
            comparison,
            np.arange(len(is_train)),
            is_train,
            permutations,
            name=CARD.name,
            strata=strata,
            group=group,
        )
        blocks = [
            self._both(labels[start : start + AT_ONCE]) for start in range(0, permutations, AT_ONCE)
        ]
        draws = np.concatenate([train - holdout for train, holdout in blocks])
        return float(value[0]), float(reference[0]), draws

    def _both(self, labels: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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

    def _share(self, labelled: NDArray[np.bool_], persons: int, drawn: int) -> NDArray[np.float64]:
        held = np.add.reduceat(labelled, self.first, axis=1, dtype=np.int32)
        counted = np.add.reduceat(labelled & self.counts, self.first, axis=1, dtype=np.int32)
        return _expected(held, counted, persons, drawn)


def _expected(
    held: NDArray[np.integer], counted: NDArray[np.integer], persons: int, drawn: int
) -> NDArray[np.float64]:
    """Give the expected share of uniques in a random subset of ``drawn`` of the persons.

    Of each key, ``held`` persons have it, of whom ``counted`` count if they are alone with it.
    """
    chance = alone(int(held.max(initial=0)), drawn, persons)
    # of the persons who share a key, each is as likely to be the one in the subset
    part = np.where(held > 0, counted / np.maximum(held, 1), 0.0)
    shares: NDArray[np.float64] = (chance[held] * part).sum(axis=-1) / drawn
    return shares


def _original(setting: Setting, drawn: int) -> float:
    """Give the share of training persons unique by their keys, in subsets of that size."""
    own, kept = setting.keys.of["train"], ~setting.left_out["train"]
    counted = np.bincount(own[kept], minlength=setting.keys.size)
    held = setting.keys.counts("train")
    return float(_expected(held, counted, len(own), drawn))


def alone(most: int, drawn: int, persons: int) -> NDArray[np.float64]:
    """Give the chance that of 0, 1 … ``most`` persons exactly one is among those drawn.

    Examples
    --------
    >>> alone(2, 10, 10).tolist(), alone(2, 1, 2).round(6).tolist()
    ([0.0, 1.0, 0.0], [0.0, 0.5, 1.0])
    """
    many = np.arange(most + 1)

    def log_choose(n: NDArray[np.float64] | float, k: float) -> NDArray[np.float64]:
        made: NDArray[np.float64] = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        return made

    if drawn == persons:
        return np.where(many == 1, 1.0, 0.0)
    possible = (many > 0) & (persons - many >= drawn - 1)
    rest = np.where(possible, persons - many, drawn - 1).astype(float)
    chance = many * np.exp(log_choose(rest, drawn - 1) - log_choose(float(persons), drawn))
    return np.where(possible, chance, 0.0)


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
