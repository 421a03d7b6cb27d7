"""Boosted shares of a target's classes over coded predictors, two predictors at a time.

Each tree asks one predictor and then, on each side, one more: the model is a sum of tables over
pairs of predictors, and is stored and evaluated as such.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from understudy.kernels.forest import _next


@dataclass(frozen=True)
class Stumps:
    """Trees of depth two, round by round and class by class; a feature of -1 does not split.

    ``feature`` and ``cut`` hold the first question and those on its left and right; ``value``
    what the four ends add.
    """

    start: NDArray[np.float64]
    feature: NDArray[np.int16]
    cut: NDArray[np.int16]
    value: NDArray[np.float64]
    watched: NDArray[np.float64]
    seen: NDArray[np.float64]


def boost(
    codes: NDArray[np.uint16],
    sizes: NDArray[np.int64],
    target: NDArray[np.uint16],
    classes: int,
    rows: NDArray[np.int64],
    watched: NDArray[np.int64],
    *,
    rounds: int,
    rate: float,
    min_leaf: int,
    ridge: float,
    share: float,
    looks: float,
    patience: int,
    caution: float,
    seed: int,
) -> Stumps:
    """Add trees on some rows; gives the loss on these and on the rows watched after each round.

    With rows to watch, it ends when they have not been predicted better for some rounds.
    A target of two classes has one score, the log-odds of class 1.
    """
    counts = np.bincount(target[rows], minlength=classes) + 0.5
    start = np.log(counts / counts.sum())
    scores = 1 if classes == 2 else classes
    start = start[1:] - start[0] if classes == 2 else start
    return Stumps(
        start,
        *_boost(
            codes, sizes, target, scores, np.sort(rows), np.sort(watched), start, rounds, rate,
            min_leaf, ridge, share, looks, patience, caution, np.uint64(seed),
        ),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _boost(
    codes, sizes, target, scores, rows, watched, start, rounds, rate, min_leaf, ridge, share,
    looks, patience, caution, seed,
):  # fmt: skip
    height, width = codes.shape
    feature = np.full((rounds, scores, 3), -1, np.int16)
    cut = np.zeros((rounds, scores, 3), np.int16)
    value = np.zeros((rounds, scores, 4))
    odds = np.empty((height, scores))
    odds[:] = start
    shares = np.empty((height, scores))
    widest = 1
    for j in range(width):
        widest = max(widest, sizes[j])
    whole, part = np.zeros((width, widest, 3)), np.zeros((width, widest, 3))
    used, one, two = np.empty_like(rows), np.empty_like(rows), np.empty_like(rows)
    gradient, curve = np.zeros(height), np.zeros(height)
    order = np.arange(width)
    tries = max(1, int(np.ceil(looks * width)))
    state = seed * np.uint64(2685821657736338717) + np.uint64(88172645463325252)
    threshold = np.uint64(share * 4294967296.0)
    off, on = np.zeros(rounds), np.zeros(rounds)
    best, best_round, last = np.inf, 0, 0
    for step in range(rounds):
        _to_shares(odds, shares)
        take = 0
        for row in rows:
            state = _next(state)
            if (state >> np.uint64(32)) <= threshold:
                used[take] = row
                take += 1
        for k in range(scores):
            for place in range(tries):
                state = _next(state)
                other = place + int(state % np.uint64(width - place))
                order[place], order[other] = order[other], order[place]
            for i in range(take):
                row = used[i]
                p = shares[row, k]
                gradient[row] = (target[row] == k + (scores == 1)) - p
                curve[row] = p * (1 - p)
            features = order[:tries]
            _fill(codes, sizes, used[:take], gradient, curve, features, whole)
            j, c = _split(sizes, features, whole, min_leaf, ridge)
            if j < 0:
                continue
            feature[step, k, 0], cut[step, k, 0] = j, c
            ones, twos = 0, 0
            for i in range(take):
                row = used[i]
                if codes[row, j] <= c:
                    one[ones] = row
                    ones += 1
                else:
                    two[twos] = row
                    twos += 1
            small = one[:ones] if ones <= twos else two[:twos]
            _fill(codes, sizes, small, gradient, curve, features, part)
            for jj in features:
                for code in range(sizes[jj]):
                    for place in range(3):
                        whole[jj, code, place] -= part[jj, code, place]
            for side in range(2):
                sums = part if (side == 0) == (ones <= twos) else whole
                jj, cc = _split(sizes, features, sums, min_leaf, ridge)
                feature[step, k, 1 + side], cut[step, k, 1 + side] = jj, cc
                jj = features[0] if jj < 0 else jj
                top, bottom = np.zeros(2), np.full(2, ridge)
                for code in range(sizes[jj]):
                    right = 0 if feature[step, k, 1 + side] < 0 or code <= cc else 1
                    top[right] += sums[jj, code, 0]
                    bottom[right] += sums[jj, code, 1]
                for right in range(2):
                    place = right if feature[step, k, 1 + side] >= 0 else 0
                    value[step, k, 2 * side + right] = rate * top[place] / bottom[place]
            _add(codes, feature[step, k], cut[step, k], value[step, k], odds, k)
        last = step + 1
        on[step] = _loss(target, odds, rows)
        if len(watched):
            off[step] = _loss(target, odds, watched)
            careful = off[step] + caution * (off[step] - on[step])
            if careful < best:
                best, best_round = careful, step
            elif step - best_round >= patience:
                break
    return feature[:last], cut[:last], value[:last], off[:last], on[:last]


@njit(cache=True, nogil=True)
def _to_shares(odds, shares):
    height, scores = odds.shape
    for row in range(height):
        if scores == 1:
            shares[row, 0] = 1 / (1 + np.exp(-odds[row, 0]))
            continue
        top = odds[row].max()
        total = 0.0
        for k in range(scores):
            shares[row, k] = np.exp(odds[row, k] - top)
            total += shares[row, k]
        for k in range(scores):
            shares[row, k] /= total


@njit(cache=True, nogil=True)
def _loss(target, odds, rows):
    total = 0.0
    for row in rows:
        if odds.shape[1] == 1:
            x = odds[row, 0] if target[row] else -odds[row, 0]
            total += np.log1p(np.exp(-x)) if x > -30 else -x
            continue
        top = odds[row].max()
        whole = 0.0
        for k in range(odds.shape[1]):
            whole += np.exp(odds[row, k] - top)
        total += np.log(whole) + top - odds[row, target[row]]
    return total / max(len(rows), 1)


@njit(cache=True, nogil=True)
def _fill(codes, sizes, rows, gradient, curve, features, sums):
    for j in features:
        of = sums[j]
        of[: sizes[j]] = 0
        for row in rows:
            code = codes[row, j]
            of[code, 0] += gradient[row]
            of[code, 1] += curve[row]
            of[code, 2] += 1


@njit(cache=True, nogil=True)
def _split(sizes, features, sums, min_leaf, ridge):
    """Find the cut that gains most; -1 where there is none."""
    best, best_j, best_cut = 1e-9, -1, 0
    for j in features:
        top, bottom, count = 0.0, 0.0, 0.0
        for code in range(sizes[j]):
            top += sums[j, code, 0]
            bottom += sums[j, code, 1]
            count += sums[j, code, 2]
        if count < 2 * min_leaf:
            return -1, 0
        whole = top * top / (bottom + ridge)
        t, b, n = 0.0, 0.0, 0.0
        for code in range(sizes[j] - 1):
            if sums[j, code, 2] == 0:
                continue
            t += sums[j, code, 0]
            b += sums[j, code, 1]
            n += sums[j, code, 2]
            if n < min_leaf:
                continue
            if count - n < min_leaf:
                break
            gain = t * t / (b + ridge) + (top - t) ** 2 / (bottom - b + ridge) - whole
            if gain > best:
                best, best_j, best_cut = gain, j, code
    return best_j, best_cut


@njit(cache=True, nogil=True)
def _add(codes, feature, cut, value, odds, k):
    j, jl, jr = feature
    for row in range(codes.shape[0]):
        if codes[row, j] <= cut[0]:
            end = 0 if jl < 0 or codes[row, jl] <= cut[1] else 1
        else:
            end = 2 if jr < 0 or codes[row, jr] <= cut[2] else 3
        odds[row, k] += value[end]


@dataclass(frozen=True)
class Pairs:
    """Tables over pairs of predictors whose values add up to the classes' scores.

    Parameters
    ----------
    start : array
        The scores before any table.
    columns : array of shape (tables, 2)
        The two predictors of each table.
    begin : array of shape (tables, 3)
        Where the map of each predictor's codes to rows and to columns of the table begins in
        ``place``, and where the table's values begin in ``value``.
    place : array
        For each code of a predictor, where it falls in the table.
    value : array
        The values of all tables, the scores of a cell one after the other.
    """

    start: NDArray[np.float64]
    columns: NDArray[np.int64]
    begin: NDArray[np.int64]
    place: NDArray[np.int32]
    value: NDArray[np.float32]

    @classmethod
    def of(cls, stumps: Stumps, rounds: int, sizes: NDArray[np.int64]) -> "Pairs":
        """Add up the trees of the first rounds."""
        scores = len(stumps.start)
        pieces: dict[tuple[int, int], list[tuple[int, int, int, int, float, float]]] = {}
        for step in range(rounds):
            for k in range(scores):
                j, *others = stumps.feature[step, k].tolist()
                if j < 0:
                    continue
                c, *cuts = stumps.cut[step, k].tolist()
                values = stumps.value[step, k].tolist()
                for side in range(2):
                    other = others[side] if others[side] >= 0 else j
                    at = cuts[side] if others[side] >= 0 else c
                    pieces.setdefault((j, other), []).append(
                        (k, side, c, at, values[2 * side], values[2 * side + 1])
                    )
        columns, begin, place, value = [], [], [], []
        places = values_so_far = 0
        for (a, b), listed in pieces.items():
            first = np.unique([piece[2] for piece in listed])
            second = np.unique([piece[3] for piece in listed])
            table = np.zeros((len(first) + 1, len(second) + 1, scores))
            for k, side, c, at, low, high in listed:
                i, m = np.searchsorted(first, c) + 1, np.searchsorted(second, at) + 1
                rows = table[:i] if side == 0 else table[i:]
                rows[:, :m, k] += low
                rows[:, m:, k] += high
            to_row = np.searchsorted(first, np.arange(sizes[a])) * (len(second) + 1)
            to_column = np.searchsorted(second, np.arange(sizes[b]))
            columns.append((a, b))
            begin.append((places, places + len(to_row), values_so_far))
            place += [to_row, to_column]
            value.append(table.ravel())
            places += len(to_row) + len(to_column)
            values_so_far += table.size
        return cls(
            stumps.start,
            np.array(columns, np.int64).reshape(-1, 2),
            np.array(begin, np.int64).reshape(-1, 3),
            np.concatenate([*place, np.zeros(0, np.int64)]).astype(np.int32),
            np.concatenate([*value, np.zeros(0)]).astype(np.float32),
        )

    def shares(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Give the share of each class for each row; of class 1 where there are two."""
        odds = np.empty((len(codes), len(self.start)))
        odds[:] = self.start
        _look_up(codes, self.columns, self.begin, self.place, self.value, odds)
        made = np.empty_like(odds)
        _to_shares(odds, made)
        return made


@njit(cache=True, nogil=True)
def _look_up(codes, columns, begin, place, value, odds):
    height, scores = odds.shape
    for table in range(len(columns)):
        a, b = columns[table]
        first, second, values = begin[table]
        for row in range(height):
            cell = place[first + codes[row, a]] + place[second + codes[row, b]]
            at = values + cell * scores
            for k in range(scores):
                odds[row, k] += value[at + k]
