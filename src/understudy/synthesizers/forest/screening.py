"""Which of many columns say most about another."""

import numpy as np
from numpy.typing import NDArray

MOST = 40
ROWS = 20_000
GROUPS = 16


def strongest(
    codes: NDArray[np.uint16], places: tuple[int, ...], groups: NDArray[np.int64]
) -> tuple[int, ...]:
    """Keep the columns that say most about a target, in their order; all where they are few."""
    if len(places) <= MOST:
        return places
    some = slice(None, None, len(codes) // ROWS + 1)
    told = [_information(codes[some, place], groups[some]) for place in places]
    best = np.argsort(-np.array(told), kind="stable")[:MOST]
    return tuple(places[i] for i in np.sort(best))


def _information(codes: NDArray[np.uint16], groups: NDArray[np.int64]) -> float:
    """Give the mutual information of two columns in nats, less what chance would give."""
    counts = np.bincount(codes)
    middle = np.cumsum(counts) - counts / 2
    coarse = np.minimum(middle * GROUPS / len(codes), GROUPS - 1).astype(np.int64)[codes]
    many = int(groups.max()) + 1
    table = np.bincount(coarse * many + groups, minlength=GROUPS * many).reshape(GROUPS, many)
    table = table[table.sum(axis=1) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    seen = table > 0
    told = float((table[seen] * np.log(table[seen] / expected[seen])).sum())
    free = (len(table) - 1) * ((table.sum(axis=0) > 0).sum() - 1)
    return float((told - free / 2) / len(codes))
