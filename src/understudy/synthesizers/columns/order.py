"""The learnt visit order: columns that tell most about the others first."""

from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.tables import Table
from understudy.errors import OptionError

BINS = 20
LEVELS = 50


def learnt(table: Table, kept: Sequence[str], needs: Mapping[str, Set[str]]) -> tuple[str, ...]:
    """Order columns greedily by mutual information.

    Numbers are coded in at most 20 quantile bins, categories by their 50 most frequent levels and
    one for the rest. The first column is the one whose mutual information with all others is
    largest in sum; the next is always the one with the largest sum over the columns chosen so
    far; ties go to the earlier column of the table. Kept columns come first. A column waits until
    those that it needs, by a rule or as predictors, have been chosen.
    """
    names = table.schema.modelled
    source = MemorySource(table)
    codes = source.coded(Codec.fit(source, names, bins=BINS, levels=LEVELS)).codes
    shared = _shared(codes)
    chosen = [names.index(name) for name in kept]
    while len(chosen) < len(names):
        free = [
            place
            for place, name in enumerate(names)
            if place not in chosen and needs.get(name, set()) <= {names[c] for c in chosen}
        ]
        if not free:
            waiting = ", ".join(n for p, n in enumerate(names) if p not in chosen)
            raise OptionError(
                f"no visit order is possible: {waiting} need each other first",
                hint="check the rules and the predictors",
            )
        seen = chosen or list(range(len(names)))
        chosen.append(max(free, key=lambda place: (shared[place, seen].sum(), -place)))
    return tuple(names[place] for place in chosen)


def _shared(codes: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
    """Give the mutual information of each two columns, less what chance gives (Miller 1955)."""
    height, width = codes.shape
    made = np.zeros((width, width))
    dense = [np.unique(codes[:, j], return_inverse=True)[1] for j in range(width)]
    sizes = [int(d.max()) + 1 for d in dense]
    for a in range(width):
        for b in range(a):
            pair = np.bincount(dense[a] * sizes[b] + dense[b], minlength=sizes[a] * sizes[b])
            joint = pair.reshape(sizes[a], sizes[b]) / height
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            full = joint > 0
            bits = float((joint[full] * np.log(joint[full] / apart[full])).sum())
            chance = (sizes[a] - 1) * (sizes[b] - 1) / (2 * height)
            made[a, b] = made[b, a] = max(0.0, bits - chance)
    return made
