"""Which classes are told apart, and which a table lacks."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Which
from understudy.measures.features import Features

NAMED = 5
OTHERS = "(all others)"


def lump(made: Features, most: int) -> tuple[Features, list[str]]:
    """Keep the most frequent classes of training, and make one of all others.

    A class that few real rows have is never named.
    """
    labels = made.targets["train"]
    counts = np.bincount(labels[labels >= 0], minlength=len(made.classes))
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    kept = kept[counts[kept] >= NAMED]
    if len(kept) == len(made.classes):
        return made, []
    number = np.full(len(made.classes) + 1, len(kept))
    number[kept], number[-1] = np.arange(len(kept)), -1
    others = OTHERS
    while others in made.classes:  # a class may have this name
        others = f"({others})"
    names = (*(made.classes[c] for c in kept), others)
    targets = {table: number[labels] for table, labels in made.targets.items()}
    lumped = Features(made.columns, made.is_category, made.tables, targets, names)
    return lumped, [
        f"{len(kept)} of {len(made.classes)} classes are told apart, the others are one: those "
        f"beyond the {most} most frequent of training (option classes) or with fewer than {NAMED} "
        "rows there."
    ]


def testable(labels: NDArray[np.int64]) -> NDArray[np.intp]:
    """Give the rows that are tested: those of classes that few rows have would be given away."""
    counts = np.bincount(labels[labels >= 0], minlength=1)
    return np.flatnonzero((labels >= 0) & (counts[labels] >= NAMED))


def absent(classes: tuple[str, ...], seen: Mapping[Which, set[int]]) -> list[str]:
    """Name the classes that a table lacks; ``seen`` of the holdout are those that are tested."""
    notes = []
    if len(seen["synthetic"]) == 1:
        only = classes[min(seen["synthetic"])]
        return [
            f"The synthetic table has one class only ({only!r}): nothing can be learnt from it."
        ]
    lost = sorted(classes[c] for c in seen["holdout"] - seen["synthetic"])
    if lost:
        notes.append(f"Absent from synthetic, so never predicted: {_some(lost)}.")
    untested = sorted(classes[c] for c in (seen["synthetic"] | seen["train"]) - seen["holdout"])
    if untested:
        have = "have it" if len(untested) == 1 else "have each"
        notes.append(
            f"Fewer than {NAMED} rows of the holdout {have}, so not tested: {_some(untested)}."
        )
    return notes


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(repr(name[:40]) for name in names[:3]) + more
