"""What an attacker knows: sets of keys, and what the synthetic table tells by exact matching.

For a combination q of key values and a sensitive value t, d counts real persons and s synthetic
records. A key q is disclosive in a table if all its records there have one value t.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.data.tables import Condition
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.judge import Scores
from understudy.judging.register import FEW_PERSONS, K, enough
from understudy.measures.privacy.coding import (
    Flags,
    Floats,
    Ints,
    ValueCodes,
    check_bins,
    crossed,
    real_tables,
    value_codes,
)

KeySet = tuple[str, ...]
NO_MATCH = (
    "No training person's keys stand in the synthetic table, so exact matching finds nothing: that "
    "is an attack too weak, not evidence that nothing is disclosed. Give fewer keys, or cut "
    "numbers into bins (key_bins)."
)
FEW_HOLDOUT = (
    f"Fewer than {K} holdout persons are targets: numbers would tell about single ones, so none "
    "are given."
)


def key_sets(
    comparison: Comparison, length: int | None, most: int, *, name: str
) -> tuple[list[KeySet], str]:
    """Give the sets of keys that are tried, and say so where they are not all.

    ``length`` is the number of keys that the attacker knows, all if not given; ``most`` sets are
    drawn from the stream of the measure ``name`` where there are more.
    """
    keys = tuple(dict.fromkeys(comparison.keys))
    many = len(keys) if length is None else length
    if isinstance(many, bool) or not isinstance(many, int) or not 1 <= many <= len(keys):
        raise OptionError(
            f"length = {length!r} with {len(keys)} keys",
            hint=f"give a whole number from 1 to {len(keys)}",
        )
    count = math.comb(len(keys), many)
    if count <= most:
        return list(itertools.combinations(keys, many)), ""
    rng = comparison.stream(name, "keys")
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.permutation(len(keys))[:many].tolist())))
    sets = [tuple(keys[place] for place in places) for places in sorted(drawn)]
    return sets, f"{most:,} of {count:,} sets of {many} keys were drawn at random (subsets)."


def same_keys(names: Sequence[str]) -> str:
    """Say that no key differs between training persons."""
    return (
        f"The keys ({', '.join(names)}) have one value for all training persons: nobody can be "
        "told apart by them. Name keys that differ between persons."
    )


@dataclass(frozen=True)
class KnownKeys:
    """The keys of all persons as an attacker knows them, and whom the options leave out.

    ``left_out`` says for training and holdout persons whether they never count as disclosed;
    ``said`` says in words what was left out or changed.
    """

    comparison: Comparison
    names: KeySet
    columns: Mapping[str, ValueCodes]
    keys: ValueCodes
    left_out: Mapping[Which, Flags]
    said: tuple[str, ...]

    @classmethod
    def of(
        cls, comparison: Comparison, known: KeySet, *, key_bins: int, exclude: str, missing: bool
    ) -> "KnownKeys | None":
        """Number the keys that are known; none where they are the same for everybody."""
        check_bins(key_bins=key_bins)
        columns = {name: value_codes(comparison, name, key_bins) for name in known}
        dull = [name for name, codes in columns.items() if np.ptp(codes.of["train"]) == 0]
        if len(dull) == len(columns):
            return None
        said = []
        if dull:
            verb = "is" if len(dull) == 1 else "are"
            said.append(f"Of the keys, {', '.join(dull)} {verb} the same for all training persons.")
        if key_bins and any(comparison.schema[name].is_numeric for name in columns):
            said.append(f"Keys that are numbers were cut into {key_bins} bins.")
        left_out = {w: _excluded(comparison, w, exclude) for w in real_tables(comparison)}
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
        return enough(int((~self.left_out[which]).sum()))


def known_keys(
    comparison: Comparison, *, name: str, length: int | None, subsets: int, **options: Any
) -> tuple[list[KnownKeys], list[str]] | str:
    """Give each set of keys that tells persons apart, or why there is none.

    With them comes what is to be said. ``options`` are those of ``KnownKeys.of``.
    """
    sets, remark = key_sets(comparison, length, subsets, name=name)
    made = {known: KnownKeys.of(comparison, known, **options) for known in sets}
    kept = [keys for keys in made.values() if keys is not None]
    if not kept:
        return same_keys(sets[0])
    said = [remark, *(words for keys in kept for words in keys.said)]
    dull = [", ".join(known) for known, keys in made.items() if keys is None]
    if dull:
        said.append(f"Left out, the same for all training persons: {'; '.join(dull)}.")
    return kept, list(dict.fromkeys(filter(None, said)))


def _excluded(comparison: Comparison, which: Which, exclude: str) -> Flags:
    if not isinstance(exclude, str):
        raise OptionError(f"exclude = {exclude!r}", hint="write a condition: depress == 0")
    if not exclude.strip():
        return np.zeros(comparison.height(which), bool)
    return comparison.source(which).meets(Condition.parse(exclude))


@dataclass(frozen=True)
class Look:
    """One sensitive column seen through a set of keys, and what it is called in findings."""

    known: KnownKeys
    name: str
    target: ValueCodes
    pairs: ValueCodes
    missing: bool
    title: str

    @property
    def attack(self) -> str:
        """What the register calls it."""
        return f"{self.name} from {', '.join(self.known.names)}"

    def counts(self, which: Which) -> tuple[Ints, Ints]:
        """Give, for each person, how many synthetic records have the keys, and the value too."""
        return (
            self.known.keys.counts("synthetic")[self.known.keys.of[which]],
            self.pairs.counts("synthetic")[self.pairs.of[which]],
        )

    def left_out(self, which: Which) -> Flags:
        """Say who never counts as disclosed."""
        gone = self.known.left_out[which]
        return gone if self.missing else gone | (self.target.of[which] == 0)

    def enough(self, which: Which) -> bool:
        """Tell whether so many persons are targets that no number tells about a single one."""
        return enough(int((~self.left_out(which)).sum()))

    def disclosive(self, which: Which, least: int = 1) -> Flags:
        """Say for each key whether a table has it, at least so often, with one value only."""
        keys, pairs = self.known.keys, self.pairs
        own, both = keys.of[which], pairs.of[which]
        times = keys.counts(which)[own]
        made = np.zeros(keys.size, bool)
        made[own[(times == pairs.counts(which)[both]) & (times >= least)]] = True
        return made

    def flags(self, which: Which, *, least: int = 1) -> dict[str, Flags]:
        """Say for each person what the release tells: keys found, disclosive, correct.

        ``least`` is the number of synthetic records from which on a key counts as disclosive.
        """
        own, kept = self.known.keys.of[which], ~self.left_out(which)
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


def sensitive_looks(
    comparison: Comparison, *, name: str, target_bins: int, missing: bool, **options: Any
) -> tuple[list[Look], tuple[Which, ...], list[str]] | str:
    """Give a look for each set of keys and sensitive column worth learning, or why there is none.

    With the looks come the tables of real persons that may be told about, and what is to be said.
    ``name`` is the measure's; ``options`` are those of ``known_keys``.
    """
    check_bins(target_bins=target_bins)
    found = known_keys(comparison, name=name, missing=missing, **options)
    if isinstance(found, str):
        return found
    sets, said = found
    worth, dull = _worth_learning(comparison)
    if not worth:
        return " ".join(dull)
    said += dull
    if target_bins and any(comparison.schema[column].is_numeric for column in worth):
        said.append(f"Sensitive numbers were cut into {target_bins} bins.")
    looks = []
    for known in sets:
        for column in worth:
            target = value_codes(comparison, column, target_bins)
            title = f"{column} from {', '.join(known.names)}" if len(sets) > 1 else column
            pairs = crossed([known.keys, target])
            looks.append(Look(known, column, target, pairs, missing, title))
    told = [look for look in looks if look.enough("train")]
    if not told:
        return FEW_PERSONS
    tables = real_tables(comparison)
    compared = [look for look in told if all(look.enough(which) for which in tables)]
    if compared:
        told = compared
    else:
        tables = ("train",)
        said.append(FEW_HOLDOUT)
    kept = {look.title for look in told}
    few = [look.title for look in looks if look.title not in kept]
    if few:
        said.append(f"Left out, for fewer than {K} persons are targets: {', '.join(few)}.")
    return told, tables, said


def _worth_learning(comparison: Comparison) -> tuple[list[str], list[str]]:
    """Give the sensitive columns that differ between training persons, and words on the others."""
    kept, said = [], []
    for name in comparison.sensitive:
        values = value_codes(comparison, name).of["train"]
        if not values.any():
            said.append(f"'{name}' has no value in training: there is nothing to learn about it.")
        elif np.ptp(values) == 0:
            said.append(f"'{name}' is the same for all training persons: nothing to learn.")
        else:
            kept.append(name)
    return kept, said


def look_scores(
    looks: Sequence[Look],
    values: Mapping[Which, Sequence[Floats] | Sequence[Flags]],
    original: Sequence[float],
    naive: Sequence[float],
) -> Scores:
    """Put what each look gives the persons of each table into scores."""
    return Scores(
        [look.title for look in looks],
        np.vstack([np.column_stack(columns).astype(float) for columns in values.values()]),
        looks[0].known.persons("train"),
        [{"original": o, "naive": n} for o, n in zip(original, naive, strict=True)],
    )


def titles(tables: Sequence[Which]) -> tuple[str, ...]:
    """Name the tables of real persons as headings."""
    return tuple({"train": "training", "holdout": "holdout"}.get(w, w) for w in tables)
