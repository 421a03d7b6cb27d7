"""Which rows train the models: as many of both tables, and groups of them to leave out."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison, Which

Rows = NDArray[np.intp]
GROUPS = 5
FEWEST = 20
FEW = 5
TEACHERS: tuple[Which, Which] = ("synthetic", "train")


@dataclass(frozen=True)
class Teachers:
    """Rows of the synthetic and of the training table, equally many.

    They are drawn from the same streams, so that a copy of training teaches exactly what training
    does. ``halves`` cuts both tables into two.
    """

    chosen: Mapping[Which, Rows]
    group: Mapping[Which, NDArray[np.int64]]
    halves: NDArray[np.int64]
    places: NDArray[np.int64]

    def rows(self, table: Which, most: int | None = None) -> Rows:
        """Give the rows of a table, or as many of them as asked, drawn at random."""
        rows: Rows = self.chosen[table][np.sort(self.places[:most])]
        return rows

    def without(self, table: Which, group: int, most: int | None = None) -> Rows:
        """Leave out one of the groups of rows."""
        kept = np.sort(self.places[:most])
        left: Rows = self.chosen[table][kept[self.group[table][kept] != group]]
        return left

    def half(self, table: Which, half: int) -> Rows:
        """Give one half of the rows."""
        rows: Rows = self.chosen[table][self.halves == half]
        return rows


def teachers(comparison: Comparison, name: str, known: Mapping[Which, Rows], size: int) -> Teachers:
    """Draw the rows that teach, from all whose target is known."""
    chosen, group = {}, {}
    for table in TEACHERS:
        rng = comparison.stream(name)
        mine = known[table]
        chosen[table] = mine[np.sort(rng.permutation(len(mine))[:size])]
        group[table] = rng.permutation(size) % GROUPS
    halves = comparison.stream(name, "halves").permutation(size) % 2
    return Teachers(chosen, group, halves, comparison.stream(name, "places").permutation(size))


def too_few(known: Mapping[Which, Rows], size: int) -> str:
    """Say that there are too few rows to train or to test; nothing where there are enough."""
    if size >= FEWEST and len(known["holdout"]) >= FEWEST:
        return ""
    return (
        f"{FEWEST} rows with a target are needed to train and to test; there are {_some(size)} "
        f"and {_some(len(known['holdout']))}."
    )


def said_of_sizes(
    heights: Mapping[Which, int], known: Mapping[Which, Rows], size: int, rows: int
) -> list[str]:
    """Say which rows were not used, and why."""
    notes = []
    for table in TEACHERS:
        if len(known[table]) > size:
            why = " and the option rows" if size == rows else ""
            notes.append(
                f"{size:,} of {len(known[table]):,} {word(table)} rows were used to train, for "
                f"equal numbers{why}."
            )
    for table, rows_known in known.items():
        missing = heights[table] - len(rows_known)
        if missing:
            one = missing == 1 and table == "synthetic"
            some = f"{missing:,}" if table == "synthetic" else _some(missing)
            notes.append(
                f"{word(table)}: {some} {'row' if one else 'rows'} without a target "
                f"{'is' if one else 'are'} left out."
            )
    return notes


def _some(count: int) -> str:
    """Say a number of real rows."""
    return f"{count:,}" if count >= FEW else f"fewer than {FEW}"


def word(table: str) -> str:
    """Name a table as a sentence does."""
    return {"train": "training", "holdout": "the holdout"}.get(table, table)
