"""A logistic model of which table a row is from: main effects, and products of two columns.

Which products enter is decided by how much they vary over the rows of both tables together, blind
to the label: only so does the number of terms give the null distribution.
"""

import math

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
FEWEST = 10
LEVELS = 10
ROWS_A_TERM = 20
RIDGE = 1e-4
STEPS = 30
AT_ONCE = 8192
DEPENDENT = 1e-6


def design(
    matrix: Matrix, is_category: NDArray[np.bool_], columns: tuple[str, ...], most: int
) -> Matrix:
    """Give the terms of the model, standardised and independent, a column of ones first.

    A number is its rank (0 where it is missing), a category an indicator for each of its ten most
    frequent levels but the first, and for the rest; what is missing has an indicator. Then come
    squares of ranks and products of two columns, those that vary most first. There are at
    most ``most`` terms, and one for every twenty rows.
    """
    most = min(most, len(matrix) // ROWS_A_TERM)
    main: list[Matrix] = []
    of: list[str] = []
    squares: list[int] = []
    for feature, category, name in zip(matrix.T, is_category, columns, strict=True):
        if not category:
            squares.append(len(main))
        for term in _levels(feature) if category else _ranks(feature):
            main.append(term)
            of.append(name)
    if not main:
        return np.ones((len(matrix), 1))
    terms = np.column_stack(main)
    spread = terms.std(axis=0)
    kept = np.sort(np.argsort(-spread, kind="stable")[:most])
    if len(kept) < most:
        pairs = _products(terms, of, squares)[: most - len(kept)]
        made = [terms[:, kept], *(terms[:, i : i + 1] * terms[:, j : j + 1] for i, j in pairs)]
        terms = np.concatenate(made, axis=1)
    else:
        terms = terms[:, kept]
    terms = terms - terms.mean(axis=0)
    spread = terms.std(axis=0)
    terms = terms[:, spread > DEPENDENT] / spread[spread > DEPENDENT]
    return np.concatenate([np.ones((len(matrix), 1)), terms[:, _independent(terms)]], axis=1)


def _ranks(feature: Matrix) -> list[Matrix]:
    """Give the ranks, and where the feature is missing."""
    from scipy.stats import rankdata

    gone = np.isnan(feature)
    rank = np.zeros(len(feature))
    there = rankdata(feature[~gone])
    deviation = there.std() if len(there) else 0.0
    rank[~gone] = (there - there.mean()) / deviation if deviation else 0.0
    return [rank, *_indicators([gone])]


def _levels(feature: Matrix) -> list[Matrix]:
    """Give the indicators of the levels, which are numbered by frequency."""
    named = [feature == level for level in range(1, LEVELS)]
    return _indicators([*named, feature >= LEVELS, np.isnan(feature)])


def _indicators(marks: list[NDArray[np.bool_]]) -> list[Matrix]:
    return [m.astype(float) for m in marks if FEWEST <= m.sum() <= len(m) - FEWEST]


def _products(terms: Matrix, of: list[str], squares: list[int]) -> list[tuple[int, int]]:
    """List squares of ranks and pairs of terms of two columns, those that vary most first."""
    many = len(terms)
    squared = terms * terms
    variance = squared.T @ squared / many - (terms.T @ terms / many) ** 2
    every = [
        (i, j)
        for i in range(len(of))
        for j in range(i, len(of))
        if of[i] != of[j] or (i == j and i in squares)
    ]
    # rounded, for sums in another order may differ in the last digit
    return sorted(every, key=lambda pair: (-round(float(variance[pair]), 9), pair))


def _independent(terms: Matrix) -> NDArray[np.intp]:
    """Choose terms none of which is a combination of the others."""
    from scipy.linalg.lapack import dpstrf

    _, order, rank, _ = dpstrf(terms.T @ terms / len(terms), tol=DEPENDENT, lower=1)
    chosen: NDArray[np.intp] = np.sort(order[:rank] - 1)
    return chosen


def propensities(terms: Matrix, label: NDArray[np.bool_]) -> Matrix:
    """Fit a logistic model by Newton's method; give each row's chance to have the label.

    A ridge of 0.0001 keeps coefficients finite where the tables can be told apart for certain.
    """
    target = label.astype(float)
    share = float(target.mean())
    beta = np.zeros(terms.shape[1])
    beta[0] = math.log(share / (1 - share))
    chance, loss = _loss(terms, target, beta)
    for _ in range(STEPS):
        slope = terms.T @ (chance - target) + RIDGE * beta
        step = np.linalg.solve(_curve(terms, chance), slope)
        length = 1.0
        while True:
            moved, less = _loss(terms, target, beta - length * step)
            if less <= loss or length < 1e-3:
                break
            length /= 2
        gained = loss - less
        if gained > 0:
            beta, chance, loss = beta - length * step, moved, less
        if gained <= 1e-8:
            break
    return chance


def _loss(terms: Matrix, target: Matrix, beta: Matrix) -> tuple[Matrix, float]:
    odds = terms @ beta
    loss = np.logaddexp(0, odds).sum() - target @ odds + RIDGE / 2 * beta @ beta
    return 1 / (1 + np.exp(-np.clip(odds, -700, 700))), float(loss)


def _curve(terms: Matrix, chance: Matrix) -> Matrix:
    """Give the second derivative of the loss, some rows at a time."""
    made = RIDGE * np.eye(terms.shape[1])
    for begin in range(0, len(terms), AT_ONCE):
        block = terms[begin : begin + AT_ONCE]
        p = chance[begin : begin + AT_ONCE]
        root = np.sqrt(np.maximum(p * (1 - p), 1e-10))
        block = block * root[:, None]
        made += block.T @ block
    return made
