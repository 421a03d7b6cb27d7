"""Gradient boosting over codes: of the odds of a two-valued target, or of a number."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

DEPTH = 3
NODES = 7
NEVER = 65535


@dataclass(frozen=True)
class Boosted:
    """Trees of ``DEPTH`` questions whose values add up to log-odds, or to a number.

    One line a tree: which predictor each of its nodes asks, the code above which a row goes right
    (the children of node i are 2 i + 1 and 2 i + 2), and what its ends add.
    """

    start: float
    feature: NDArray[np.int16]
    cut: NDArray[np.uint16]
    value: NDArray[np.float32]

    def log_odds(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Give the log-odds of each row."""
        return _log_odds(
            np.ascontiguousarray(codes), self.start, self.feature, self.cut, self.value
        )


def boost(
    codes: NDArray[np.uint16],
    sizes: NDArray[np.int64],
    target: NDArray[np.bool_],
    rows: NDArray[np.int64],
    watched: NDArray[np.int64],
    *,
    rounds: int,
    rate: float = 0.1,
    min_leaf: int = 10,
    ridge: float = 5.0,
    share: float = 0.7,
    looks: float = 0.5,
    patience: int = 40,
    seed: int = 0,
) -> Boosted:
    """Add trees on some rows; with rows to watch, keep those until they are predicted best.

    Parameters
    ----------
    codes : array, column by column
        The predictors: neighbouring codes are alike.
    sizes : array
        The number of codes of each predictor.
    share, looks : float
        The share of the rows and of the predictors that a tree sees.
    patience : int
        How many rounds without a better prediction end the search.
    """
    p = min(max(float(target[rows].mean()), 1e-6), 1 - 1e-6)
    start = float(np.log(p / (1 - p)))
    feature, cut, value, kept, _ = _boost(
        codes, sizes, target.astype(np.float64), np.sort(rows), watched, start, False, rounds, rate,
        min_leaf, ridge, share, looks, patience, np.uint64(seed),
    )  # fmt: skip
    return Boosted(start, feature[:kept], cut[:kept], value[:kept])


def boost_numbers(
    codes: NDArray[np.uint16],
    sizes: NDArray[np.int64],
    target: NDArray[np.float64],
    rows: NDArray[np.int64],
    watched: NDArray[np.int64],
    *,
    rounds: int,
    rate: float = 0.1,
    min_leaf: int = 10,
    ridge: float = 5.0,
    share: float = 0.7,
    looks: float = 0.5,
    seed: int = 0,
) -> tuple[Boosted, NDArray[np.float64]]:
    """Add trees by least squares, all rounds; gives also the watched rows' squares after each.

    The first of the sums of squares is that before any tree.
    """
    feature, cut, value, kept, losses = _boost(
        codes, sizes, target, np.sort(rows), watched, 0.0, True, rounds, rate, min_leaf, ridge,
        share, looks, rounds, np.uint64(seed),
    )  # fmt: skip
    many = rounds if len(watched) else kept
    return Boosted(0.0, feature[:many], cut[:many], value[:many]), losses


@njit(cache=True, nogil=True)
def _first(seed):
    """Start a generator of random words."""
    return seed * np.uint64(2685821657736338717) + np.uint64(88172645463325252)


@njit(cache=True, nogil=True)
def _next(state):
    """Step a generator of random words (xorshift64*)."""
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    return state


@njit(cache=True, nogil=True)
def _boost(
    codes, sizes, target, rows, watched, start, squared, rounds, rate, min_leaf, ridge, share,
    looks, patience, seed,
):  # fmt: skip
    height, width = codes.shape
    feature = np.zeros((rounds, NODES), np.int16)
    cut = np.full((rounds, NODES), NEVER, np.uint16)
    value = np.zeros((rounds, NODES + 1), np.float32)
    odds = np.full(height, start)
    gradient, curve = np.zeros(height), np.zeros(height)
    widest = 1
    for j in range(width):
        widest = max(widest, sizes[j])
    sums = np.zeros((widest, 3))
    begin, end = np.zeros(2 * NODES + 1, np.int64), np.zeros(2 * NODES + 1, np.int64)
    scratch, used = np.empty_like(rows), np.empty_like(rows)
    order = np.arange(width)
    tries = max(1, int(np.ceil(looks * width)))
    state = _first(seed)
    threshold = np.uint64(share * 4294967295.0)
    best, kept = np.inf, 0
    losses = np.zeros(rounds + 1)
    if len(watched):
        best = _loss(target, odds, watched, squared)
        losses[0] = best
    for step in range(rounds):
        take = 0
        for row in rows:
            state = _next(state)
            if (state >> np.uint64(32)) <= threshold:
                used[take] = row
                take += 1
        for place in range(tries):
            state = _next(state)
            other = place + int(state % np.uint64(width - place))
            order[place], order[other] = order[other], order[place]
        for i in range(take):
            row = used[i]
            if squared:
                gradient[row] = target[row] - odds[row]
                curve[row] = 1.0
            else:
                p = 1 / (1 + np.exp(-odds[row]))
                gradient[row] = target[row] - p
                curve[row] = p * (1 - p)
        begin[0], end[0] = 0, take
        for node in range(NODES):
            a, b = begin[node], end[node]
            j, c = _best_split(codes, sizes, used[a:b], gradient, curve, order[:tries], sums,
                               min_leaf, ridge)  # fmt: skip
            middle, moved = a, 0
            if j < 0:
                middle = b
            else:
                feature[step, node], cut[step, node] = j, c
                for i in range(a, b):
                    row = used[i]
                    if codes[row, j] <= c:
                        used[middle] = row
                        middle += 1
                    else:
                        scratch[moved] = row
                        moved += 1
                used[middle:b] = scratch[:moved]
            begin[2 * node + 1], end[2 * node + 1] = a, middle
            begin[2 * node + 2], end[2 * node + 2] = middle, b
        for leaf in range(NODES + 1):
            top, bottom = 0.0, ridge
            for i in range(begin[NODES + leaf], end[NODES + leaf]):
                top += gradient[used[i]]
                bottom += curve[used[i]]
            value[step, leaf] = rate * top / bottom
        for row in range(height):
            odds[row] += value[step, _leaf(codes[row], feature[step], cut[step])]
        if not len(watched):
            kept = step + 1
            continue
        loss = _loss(target, odds, watched, squared)
        losses[step + 1] = loss
        if loss < best:
            best, kept = loss, step + 1
        elif step + 1 - kept >= patience:
            break
    return feature, cut, value, kept, losses


@njit(cache=True, nogil=True)
def _leaf(codes, feature, cut):
    node = np.int64(0)
    for _ in range(DEPTH):
        node = 2 * node + 1 + np.int64(codes[feature[node]] > cut[node])
    return node - NODES


@njit(cache=True, nogil=True)
def _loss(target, odds, rows, squared):
    total = 0.0
    for row in rows:
        if squared:
            total += (target[row] - odds[row]) ** 2
            continue
        x = odds[row] if target[row] else -odds[row]
        total += np.log1p(np.exp(-x)) if x > -30 else -x
    return total


@njit(cache=True, nogil=True)
def _best_split(codes, sizes, used, gradient, curve, features, sums, min_leaf, ridge):
    """Find the predictor and the cut that gain most; -1 where none gains."""
    best, best_j, best_cut = 1e-9, -1, 0
    if len(used) < 2 * min_leaf:
        return best_j, best_cut
    top, bottom = 0.0, 0.0
    for row in used:
        top += gradient[row]
        bottom += curve[row]
    whole = top * top / (bottom + ridge)
    for j in features:
        size = sizes[j]
        sums[:size] = 0
        for row in used:
            code = codes[row, j]
            sums[code, 0] += gradient[row]
            sums[code, 1] += curve[row]
            sums[code, 2] += 1
        t, c, count = 0.0, 0.0, 0.0
        for code in range(size - 1):
            if sums[code, 2] == 0:
                continue
            t += sums[code, 0]
            c += sums[code, 1]
            count += sums[code, 2]
            if count < min_leaf:
                continue
            if len(used) - count < min_leaf:
                break
            gain = t * t / (c + ridge) + (top - t) ** 2 / (bottom - c + ridge) - whole
            if gain > best:
                best, best_j, best_cut = gain, j, code
    return best_j, best_cut


@njit(cache=True, nogil=True)
def _log_odds(codes, start, feature, cut, value):
    made = np.full(codes.shape[0], start)
    for row in range(codes.shape[0]):
        line = codes[row]
        for step in range(len(feature)):
            made[row] += value[step, _leaf(line, feature[step], cut[step])]
    return made
