"""Which classes are told apart, and which a table lacks."""

from collections.abc import Mapping

import numpy as np

from understudy.comparison import Which
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
    names = (*(made.classes[c] for c in kept), OTHERS)
    targets = {table: number[labels] for table, labels in made.targets.items()}
    lumped = Features(made.columns, made.is_category, made.tables, targets, names)
    return lumped, [
        f"{len(kept)} of {len(made.classes)} classes are told apart, the others are one: those "
        f"beyond the {most} most frequent of training (option classes) or with fewer than {NAMED} "
        "rows there."
    ]


def absent(classes: tuple[str, ...], seen: Mapping[Which, set[int]]) -> list[str]:
    """Name the classes that a table lacks."""
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
        notes.append(f"Absent from the holdout, so not tested: {_some(untested)}.")
    return notes


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(repr(name[:40]) for name in names[:3]) + more
