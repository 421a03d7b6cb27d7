"""What the synthetic table tells about each real person, by exact matching on keys.

For a combination q of key values and a sensitive value t, d counts real persons and s synthetic
records. A key q is disclosive in a table if all its records there have one value t.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import Condition
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.measures.pictures.rule import K
from understudy.measures.privacy.disclosure.codes import Codes, check_bins, column, crossed
from understudy.measures.privacy.key_sets import KeySet, key_sets

Flags = NDArray[np.bool_]
NO_MATCH = (
    "No training person's keys stand in the synthetic table, so exact matching finds nothing: that "
    "is an attack too weak, not evidence that nothing is disclosed. Give fewer keys, or cut "
    "numbers into bins (key_bins)."
)


FEW_TRAINING = (
    f"Fewer than {K} training persons are targets: a number would tell about single ones."
)
FEW_HOLDOUT = (
    f"Fewer than {K} holdout persons are targets: numbers would tell about single ones, so none "
    "are given."
)


@dataclass(frozen=True)
class Setting:
    """The keys of all persons, and whom the options leave out.

    ``left_out`` says for training and holdout persons whether they never count as disclosed;
    ``said`` says in words what was left out or changed.
    """

    comparison: Comparison
    names: tuple[str, ...]
    columns: Mapping[str, Codes]
    keys: Codes
    left_out: Mapping[Which, Flags]
    said: tuple[str, ...]

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        known: KeySet | None = None,
        *,
        key_bins: int = 0,
        exclude: str = "",
        missing: bool = True,
    ) -> "Setting | str":
        """Number the keys, or those that are known; where they tell nothing, say why."""
        check_bins(key_bins=key_bins)
        columns = {name: column(comparison, name, key_bins) for name in known or comparison.keys}
        dull = [name for name, codes in columns.items() if np.ptp(codes.of["train"]) == 0]
        if len(dull) == len(columns):
            return (
                f"The keys ({', '.join(columns)}) have one value for all training persons: nobody "
                "can be told apart by them. Name keys that differ between persons."
            )
        said = [f"{_listed(dull)} the same for all training persons."] if dull else []
        if key_bins and any(comparison.schema[name].is_numeric for name in columns):
            said.append(f"Keys that are numbers were cut into {key_bins} bins.")
        left_out = {which: _excluded(comparison, which, exclude) for which in real(comparison)}
        if exclude:
            said.append(f"Left out by 'exclude': {exclude}.")
        if not missing:
            said.append("Persons with a missing key or sensitive value were left out (missing).")
            for which, flags in left_out.items():
                for codes in columns.values():
                    flags |= codes.of[which] == 0
        keys = crossed(list(columns.values()))
        return cls(comparison, tuple(columns), columns, keys, left_out, tuple(said))

    def persons(self, which: Which) -> int:
        """Count the persons of a table."""
        return len(self.keys.of[which])

    def enough(self, which: Which) -> bool:
        """Tell whether so many persons are targets that no number tells about a single one."""
        return bool((~self.left_out[which]).sum() >= K)


def settings(
    comparison: Comparison, *, name: str, length: int | None, subsets: int, **options: Any
) -> tuple[list[Setting], list[str]] | str:
    """Give a setting for each set of keys that tells persons apart, or why there is none.

    With the settings comes what is to be said. ``options`` are those of ``Setting.of``.
    """
    sets, remark = key_sets(comparison, length, subsets, name=name)
    made = {known: Setting.of(comparison, known, **options) for known in sets}
    kept = [setting for setting in made.values() if isinstance(setting, Setting)]
    dull = [", ".join(known) for known, setting in made.items() if isinstance(setting, str)]
    if not kept:
        return next(words for words in made.values() if isinstance(words, str))
    said = [remark, *(words for setting in kept for words in setting.said)]
    if dull:
        said.append(f"Left out, the same for all training persons: {'; '.join(dull)}.")
    return kept, list(dict.fromkeys(filter(None, said)))


def _listed(names: Sequence[str]) -> str:
    return f"Of the keys, {', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def real(comparison: Comparison) -> tuple[Which, ...]:
    """Name the tables of real persons that there are."""
    return ("train", "holdout") if comparison.has_holdout else ("train",)


def _excluded(comparison: Comparison, which: Which, exclude: str) -> Flags:
    if not isinstance(exclude, str):
        raise OptionError(f"exclude = {exclude!r}", hint="write a condition: depress == 0")
    if not exclude.strip():
        return np.zeros(comparison.height(which), bool)
    return comparison.source(which).meets(Condition.parse(exclude))


@dataclass(frozen=True)
class Look:
    """One sensitive column seen through the keys, and what it is called in findings."""

    setting: Setting
    name: str
    target: Codes
    pairs: Codes
    missing: bool
    title: str

    @classmethod
    def of(
        cls,
        setting: Setting,
        name: str,
        *,
        target_bins: int = 0,
        missing: bool = True,
        several: bool = False,
    ) -> "Look":
        """Number the sensitive values and their combinations with the keys.

        With ``several`` sets of keys, the look is called by its keys too.
        """
        target = column(setting.comparison, name, target_bins)
        title = f"{name} from {', '.join(setting.names)}" if several else name
        return cls(setting, name, target, crossed([setting.keys, target]), missing, title)

    def counts(self, which: Which) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give, for each person, how many synthetic records have the keys, and the value too."""
        return (
            self.setting.keys.counts("synthetic")[self.setting.keys.of[which]],
            self.pairs.counts("synthetic")[self.pairs.of[which]],
        )

    def left_out(self, which: Which) -> Flags:
        """Say who never counts as disclosed."""
        gone = self.setting.left_out[which]
        return gone if self.missing else gone | (self.target.of[which] == 0)

    def enough(self, which: Which) -> bool:
        """Tell whether so many persons are targets that no number tells about a single one."""
        return bool((~self.left_out(which)).sum() >= K)

    def disclosive(self, which: Which, least: int = 1) -> Flags:
        """Say for each key whether a table has it, at least so often, with one value only."""
        keys, pairs = self.setting.keys, self.pairs
        own, both = keys.of[which], pairs.of[which]
        alone = (keys.counts(which)[own] == pairs.counts(which)[both]) & (
            keys.counts(which)[own] >= least
        )
        made = np.zeros(keys.size, bool)
        made[own[alone]] = True
        return made

    def flags(self, which: Which, *, least: int = 1) -> dict[str, Flags]:
        """Say for each person what the release tells: keys found, disclosive, correct.

        ``least`` is the number of synthetic records from which on a key counts as disclosive.
        """
        own, kept = self.setting.keys.of[which], ~self.left_out(which)
        same_keys, same = self.counts(which)
        in_release = kept & self.disclosive("synthetic", least)[own]
        in_own = kept & self.disclosive(which)[own]
        correct = in_release & (same == same_keys)
        return {
            "Dorig": in_own,
            "iS": kept & (same_keys > 0),
            "DiS": in_release,
            "DiSCO": correct,
            "DiSDiO": correct & in_own,
        }
