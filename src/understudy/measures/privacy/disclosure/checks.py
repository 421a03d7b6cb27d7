"""What to look at before DiSCO is believed: levels that everybody has, relations everybody knows.

The thresholds are synthpop's. A level is told only if at least five training records hold it; of
a key and a value together, only the names of the columns are told.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.judging.findings import TableOfNumbers
from understudy.measures.pictures.rule import K, share
from understudy.measures.privacy.disclosure.codes import Ints
from understudy.measures.privacy.disclosure.persons import Flags, Look

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
PAIR_COLUMNS = (
    "sensitive",
    "key",
    "of the records of some key level, share with one value",
)


@dataclass(frozen=True)
class Checked:
    """The rows of the tables of one sensitive column, and the warnings."""

    levels: tuple[tuple[Any, ...], ...]
    one_way: tuple[tuple[Any, ...], ...]
    two_way: tuple[tuple[Any, ...], ...]
    warnings: tuple[str, ...]


def check(look: Look, hit: Flags) -> Checked:
    """Break the disclosed training persons down by level, and check them one and two ways."""
    persons = look.target.counts("train")
    disclosed = np.bincount(look.target.of["train"][hit], minlength=look.target.size)
    levels = _levels(look, persons, disclosed)
    warnings: list[str] = []
    one_way: tuple[tuple[Any, ...], ...] = ()
    worst, total = int(disclosed.argmax()), int(disclosed.sum())
    name, held = _name(look, worst), int(look.target.counts("synthetic")[worst])
    made = held / look.setting.persons("synthetic")
    most = disclosed[worst] > ONE_WAY_RECORDS and disclosed[worst] > ONE_WAY_SHARE * total
    if most or (made == 1 and total):
        one_way = (
            (
                look.title,
                name,
                share(persons[worst], look.setting.persons("train"), real=True),
                share(held, look.setting.persons("synthetic"), real=False),
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
    return Checked(levels, one_way, two_way, tuple(warnings))


def _name(look: Look, level: int) -> str:
    told = look.target.counts("train")[level] >= K
    return look.target.labels[level] if told else RARE


def _levels(look: Look, persons: Ints, disclosed: Ints) -> tuple[tuple[Any, ...], ...]:
    """Give the levels that at least five persons hold, most disclosures first."""
    told = np.flatnonzero(persons >= K)
    worst = told[np.lexsort((told, -persons[told], -disclosed[told]))][:MOST_LEVELS]
    rows, made = look.setting.persons("train"), look.target.counts("synthetic")
    total = int(disclosed.sum())
    return tuple(
        (
            look.title,
            look.target.labels[level],
            share(persons[level], rows, real=True),
            share(made[level], look.setting.persons("synthetic"), real=False),
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
    for key, codes in look.setting.columns.items():
        cell = codes.of["train"] * look.target.size + own
        all_cells, all_times = np.unique(cell, return_counts=True)
        cells = np.unique(cell[counted])
        together = all_times[np.searchsorted(all_cells, cells)]
        of_key = together / codes.counts("train")[cells // look.target.size]
        if ((of_key > TWO_WAY_SHARE) & (together >= K)).any():
            found.append(key)
    return found


ONE_WAY_COLUMNS = (
    "sensitive",
    "level",
    "training records",
    "synthetic records",
    "share of all disclosures",
)


def tables(found: list[Checked]) -> dict[str, TableOfNumbers]:
    """Put the rows of all sensitive columns into one table each."""
    made = {"levels": TableOfNumbers(LEVEL_COLUMNS, sum((c.levels for c in found), ()))}
    for name, columns, rows in (
        ("one-way check", ONE_WAY_COLUMNS, sum((c.one_way for c in found), ())),
        ("two-way check", PAIR_COLUMNS, sum((c.two_way for c in found), ())),
    ):
        if rows:
            made[name] = TableOfNumbers(columns, rows)
    return made
