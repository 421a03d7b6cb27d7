"""Areas under the ROC curve, rates at a few false positives, exact chances and intervals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
AT_ONCE = 32
RATES = (0.001, 0.01, 0.1)  # of false positives, at which true ones are given
EXPECTED = 3  # false positives that a rate needs


def area(scores: Floats, positive: Flags) -> float:
    """Give the chance that a positive has the larger score, ties counting half.

    Examples
    --------
    >>> area(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    return float(areas(scores[:, None], positive[None])[0, 0])


def areas(scores: Floats, positive: Flags, asked: Flags | None = None) -> Floats:
    """Give the area of each column of scores under each row of labels; ½ where a side is empty.

    ``asked`` has a row for each row of labels too: who is not asked is on neither side.
    """
    from scipy.stats import rankdata

    many = positive.sum(axis=1, dtype=np.float64)[:, None]
    if asked is None:
        ranks = rankdata(scores, axis=0)
        blocks = np.split(positive, range(AT_ONCE, len(positive), AT_ONCE))
        sums = np.concatenate([block.astype(np.float64) @ ranks for block in blocks])
        others = len(scores) - many
    else:
        # above everybody, who is not asked does not change the ranks of the others
        among = [rankdata(np.where(asked, column, np.inf), axis=1) for column in scores.T]
        sums = np.column_stack([(ranks * positive).sum(axis=1) for ranks in among])
        others = asked.sum(axis=1, dtype=np.float64)[:, None] - many
    pairs = many * others
    won = sums - many * (many + 1) / 2
    made: Floats = np.divide(won, pairs, out=np.full(sums.shape, 0.5), where=pairs > 0)
    return made


def area_contributions(scores: Floats, positive: Flags) -> tuple[float, Floats]:
    """Give the area under the ROC curve and what each row contributes to its error.

    The sum of the squared contributions is DeLong's variance; rows that belong together are
    summed before squaring (Obuchowski 1997).

    Examples
    --------
    >>> value, contributions = area_contributions(np.array([0.1, 0.4, 0.35, 0.8]),
    ...                                           np.array([False, False, True, True]))
    >>> value, float((contributions**2).sum())
    (0.75, 0.0625)
    """
    from scipy.stats import rankdata

    above, below = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(scores)
    won = (ranks[positive] - rankdata(scores[positive])) / below
    lost = 1 - (ranks[~positive] - rankdata(scores[~positive])) / above
    value = float(won.mean())
    contributions = np.empty(len(scores))
    contributions[positive] = (won - value) / above
    contributions[~positive] = (lost - value) / below
    return value, contributions


def threshold(negatives: Floats, rate: float) -> float:
    """Give the smallest threshold that at most this share of the negatives lies above.

    Examples
    --------
    >>> threshold(np.arange(10.0), 0.2), threshold(np.array([1.0, 2.0, 2.0, 2.0]), 0.5)
    (7.0, 2.0)
    """
    ordered = np.sort(negatives)[::-1]
    allowed = min(int(rate * len(ordered) + 1e-9), len(ordered) - 1)
    return float(ordered[allowed])


def clopper_pearson(
    hits: float | Ints, trials: float | Ints, alpha: float = 0.05
) -> tuple[Floats, Floats]:
    """Give the exact interval of a share: either end is wrong with a chance of at most alpha / 2.

    Examples
    --------
    >>> [round(float(end), 4) for end in clopper_pearson(100, 100)]
    [0.9638, 1.0]
    """
    from scipy.special import betaincinv

    won, lost = np.asarray(hits, np.float64), np.asarray(trials, np.float64) - hits
    low = betaincinv(np.maximum(won, 1), lost + 1, alpha / 2)
    high = betaincinv(won + 1, np.maximum(lost, 1), 1 - alpha / 2)
    return np.where(won > 0, low, 0.0), np.where(lost > 0, high, 1.0)


def alone(most: int, drawn: int, persons: int) -> Floats:
    """Give the chance that of 0, 1 … ``most`` persons exactly one is among those drawn.

    Examples
    --------
    >>> alone(2, 10, 10).tolist(), alone(2, 5, 10).round(3).tolist()
    ([0.0, 1.0, 0.0], [0.0, 0.5, 0.556])
    """
    many = np.arange(most + 1)
    if drawn == persons:
        return np.where(many == 1, 1.0, 0.0)
    return hypergeometric(np.ones_like(many), persons, many, drawn)


def hypergeometric(
    hits: NDArray[np.integer], rows: int, marked: NDArray[np.integer], size: int
) -> Floats:
    """Give the chance of so many hits among ``size`` of ``rows`` persons, so many of them marked.

    Examples
    --------
    >>> float(hypergeometric(np.array(1), 4, np.array(2), 2).round(3))
    0.667
    """
    from scipy.special import gammaln

    def ways(many: Any, chosen: Any) -> Any:
        return gammaln(many + 1) - gammaln(chosen + 1) - gammaln(many - chosen + 1)

    possible = (hits <= marked) & (marked <= rows) & (hits <= size)
    possible &= size - hits <= rows - marked
    with np.errstate(invalid="ignore"):
        made = ways(marked, hits) + ways(rows - marked, size - hits) - ways(rows, size)
    return np.where(possible, np.exp(np.where(possible, made, 0.0)), 0.0)
