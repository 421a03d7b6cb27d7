"""Propensity scores: what a fitted model makes of which table a row is from."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.matrix import Floats, Marks, Matrix, mixed, ranks
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, around, described
from understudy.measures.boosting import one_by_one
from understudy.measures.fidelity.columns import NO_HOLDOUT

FEWEST = 20
LEAVES = 31
ROWS_A_LEAF = 20
DIGITS = 9
ROWS_A_TERM = 20
RIDGE = 1e-4
STEPS = 30
AT_ONCE = 8192
DEPENDENT = 1e-6

CARD = Card(
    name="fidelity.propensity",
    title="Propensity scores",
    meaning="How much more a logistic model tells synthetic rows from training rows than it would "
    "tell two samples of one population: 1 is chance, 10 is ten times the mean squared error "
    "that chance gives.",
    formula="pMSE = Σ (p̂ − c)²/N over the N rows of both tables, p̂ the fitted chance that a row is "
    "synthetic, c the share of synthetic rows; value = pMSE / ((k − 1) c (1 − c)/N), k the terms "
    "of the model. Terms: ranks of numbers, indicators of the 10 most frequent levels, and then "
    "squares and products of two columns, those that vary most first, up to 200 in all (option "
    "terms) and one for every 20 rows. Reference: the same of as many holdout rows against "
    "training; interval: ± 1.96 standard errors of the difference by the noncentral χ² of both. p: "
    "χ² with k − 1 degrees of freedom. Snoke's null, (k − 1) c (1 − c)²/N, holds for rows drawn "
    "from a correct model fitted to training, which lie nearer to it than fresh rows: such rows "
    "have a value of 1 − c. The tree (31 leaves) is set against labels permuted, and, for "
    "Snoke's null, against those times 1 − c. SPECKS: the largest difference of the two tables' "
    "distribution of p̂. PO50: the share of rows on the right side of c, both tables counting "
    "alike, less one half",
    unit="ratio",
    better="lower",
    headline="pMSE of the logistic model, as a multiple of what chance gives",
    source="Woo et al. 2009; Snoke et al. 2018, section 3; Raab et al. 2021 (SPECKS, PO50); Bowen "
    "and Snoke 2021",
    not_shown="Models are judged on the rows that they were fitted to, against training: a copy of "
    "training scores best of all. What this model has no term for does not show: see detection. "
    "With many rows the smallest difference is a large multiple of chance.",
)


@dataclass(frozen=True)
class Fitted:
    """What one model made of the rows: the error, what chance gives, and how far scores differ."""

    pmse: float
    expected: float
    specks: float
    over_half: float

    @property
    def ratio(self) -> float:
        """The error as a multiple of what chance gives."""
        return self.pmse / self.expected if self.expected else 0.0


@dataclass(frozen=True)
class PropensityFits:
    """Both models, the degrees of freedom of the first, and the share of rows of the player."""

    logistic: Fitted
    tree: Fitted
    freedom: int
    share: float

    @property
    def variance(self) -> float:
        """The variance of the logistic ratio, a noncentral χ² over its degrees of freedom."""
        beyond = max(0.0, self.logistic.ratio - 1) * self.freedom
        return (2 * self.freedom + 4 * beyond) / self.freedom**2


@described(CARD)
def propensity(
    comparison: Comparison, *, terms: int = 200, shuffles: int = 20, rows: int = 50_000
) -> Finding:
    """Propensity mean squared error of a logistic model as a multiple of what chance gives."""
    heights = {t: comparison.height(t) for t in comparison.tables}
    size = min([rows, *(n for t, n in heights.items() if t != "train")])
    known = min(rows, heights["train"])
    if min(size, known) < FEWEST:
        few = min(size, known)
        return CARD.not_applicable(f"This needs {FEWEST} rows of each table, and there are {few}.")
    told = judge(comparison, "synthetic", known, size, terms, shuffles)
    if told is None:
        return CARD.not_applicable("No column varies, so there is nothing to tell tables by.")
    fresh = None
    if comparison.has_holdout:
        fresh = judge(comparison, "holdout", known, size, terms, shuffles)
    value = told.logistic.ratio
    spread = math.sqrt(told.variance + (fresh.variance if fresh else 0.0))
    notes = ["" if comparison.has_holdout else NO_HOLDOUT]
    for table, height in heights.items():
        used = known if table == "train" else size
        if used < height:
            why = "by the option rows" if used == rows else "for equal numbers"
            notes.append(f"{used:,} of {height:,} {table} rows were drawn, {why}.")
    notes.append(f"{told.freedom} terms beside the constant.")
    return CARD.finding(
        value=value,
        interval=around(value, spread, 0.0, math.inf),
        reference=fresh.logistic.ratio if fresh else None,
        baselines={"correct_model": 1 - told.share},
        p_value=_p_value(told),
        parts=tuple(_parts(told, fresh)),
        note=" ".join(filter(None, notes)),
    )


def _p_value(told: PropensityFits) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(told.freedom * told.logistic.ratio, told.freedom))


def judge(
    comparison: Comparison,
    player: Which,
    known: int,
    size: int,
    terms: int,
    shuffles: int,
) -> PropensityFits | None:
    """Fit both models to training and a table together; none where there is nothing to fit."""
    made = comparison.matrix(("train", player))
    matrix, is_player = mixed(
        made.draw("train", known, _stream(comparison, "train")),
        made.draw(player, size, _stream(comparison, "player")),
    )
    share = float(is_player.mean())
    model = design(matrix, made.is_category, made.columns, terms)
    freedom = model.shape[1] - 1
    if freedom < 1:
        return None
    by_chance = freedom * share * (1 - share) / len(matrix)
    logistic = fitted(propensities(model, is_player), is_player, by_chance)

    def grow(number: int) -> tuple[Floats, float]:
        """Grow a tree for the labels as they are, and then for labels permuted."""
        again = _stream(comparison, "permute", str(number))
        labels = again.permutation(is_player) if number else is_player
        scores = tree_scores(matrix, labels, made)
        return scores, float(np.mean((scores - share) ** 2))

    trees = one_by_one(grow, shuffles + 1, comparison.progress, f"{CARD.name}: {player}")
    grown, _ = next(trees)
    null = [error for _, error in trees]
    tree = fitted(grown, is_player, float(np.mean(null)))
    return PropensityFits(logistic, tree, freedom, share)


def _stream(comparison: Comparison, *names: str) -> np.random.Generator:
    return comparison.stream(CARD.name, *names)


def fitted(scores: Floats, is_player: Marks, expected: float) -> Fitted:
    """Sum up what a model made of the rows.

    Examples
    --------
    >>> made = fitted(np.array([0.2, 0.4, 0.6, 0.8]), np.array([False, True, False, True]), 0.05)
    >>> round(made.pmse, 3), round(made.ratio, 3), made.specks, made.over_half
    (0.05, 1.0, 0.5, 0.0)
    """
    share = float(is_player.mean())
    apart = np.round(scores - share, DIGITS)
    values = np.unique(apart)
    heights = [
        np.searchsorted(np.sort(apart[side]), values, side="right") / side.sum()
        for side in (is_player, ~is_player)
    ]
    right = np.sign(apart) * np.where(is_player, 1, -1) / 2
    both = (right[is_player].mean() + right[~is_player].mean()) / 2
    return Fitted(
        float(np.mean((scores - share) ** 2)),
        expected,
        float(np.abs(heights[0] - heights[1]).max()),
        float(both),
    )


def tree_scores(matrix: Floats, is_player: Marks, made: Matrix[Which]) -> Floats:
    """Grow one classification tree; give each row its leaf's share of rows with the label.

    The first tree of gradient boosting splits as a classification tree by Gini's index does: all
    rows have the same curvature. Its step from the overall share, undone, is the share of the leaf.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=1,
        learning_rate=1.0,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=ROWS_A_LEAF,
        early_stopping=False,
        categorical_features=made.is_category if made.is_category.any() else None,
        random_state=0,
    )
    empty = np.isnan(matrix).all(axis=0)
    rows = np.where(empty, 0.0, matrix) if empty.any() else matrix
    step = model.fit(rows, is_player.astype(np.int64)).decision_function(rows)
    share = float(is_player.mean())
    scores: Floats = share + (step - math.log(share / (1 - share))) * share * (1 - share)
    return scores


def _parts(told: PropensityFits, fresh: PropensityFits | None) -> list[Part]:
    logistic, other = (fresh.logistic, fresh.tree) if fresh else (None, None)
    own = told.tree
    parts = _of_model("logistic model", told.logistic, logistic, 1 - told.share)
    ratio = Part("tree: ratio to labels permuted", own.ratio, other.ratio if other else None)
    return [*parts, ratio, *_of_model("tree", own, other, 1 - told.share)]


def _of_model(name: str, own: Fitted, other: Fitted | None, rest: float) -> list[Part]:
    def part(what: str, number: float, fresh: float | None, unit: str = "") -> Part:
        more = {"by_chance": own.expected} if unit == "pMSE" else {}
        return Part(f"{name}: {what}", number, fresh, more, unit)

    return [
        part("ratio to Snoke's null", own.ratio / rest, other.ratio / rest if other else None),
        part("pMSE", own.pmse, other.pmse if other else None, "pMSE"),
        part("SPECKS", own.specks, other.specks if other else None, "fraction"),
        part("PO50", own.over_half, other.over_half if other else None, "fraction"),
    ]


def design(matrix: Floats, is_category: Marks, columns: tuple[str, ...], most: int) -> Floats:
    """Give the terms of the model, standardised and independent, a column of ones first.

    The features of a ``data.matrix.Matrix`` become terms by ``data.matrix.ranks``; then come
    squares of ranks and products of two columns, those that vary most first. There are at most
    ``most`` terms, and one for every twenty rows.
    """
    most = min(most, len(matrix) // ROWS_A_TERM)
    main: list[Floats] = []
    of: list[str] = []
    squares: list[int] = []
    for feature, category, name in zip(matrix.T, is_category, columns, strict=True):
        if not category:
            squares.append(len(main))
        terms_of = ranks(feature, bool(category))
        main += terms_of
        of += [name] * len(terms_of)
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


def _products(terms: Floats, of: list[str], squares: list[int]) -> list[tuple[int, int]]:
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


def _independent(terms: Floats) -> NDArray[np.intp]:
    """Choose terms none of which is a combination of the others."""
    from scipy.linalg.lapack import dpstrf

    _, order, rank, _ = dpstrf(terms.T @ terms / len(terms), tol=DEPENDENT, lower=1)
    return np.sort(order[:rank] - 1)


def propensities(terms: Floats, label: Marks) -> Floats:
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


def _loss(terms: Floats, target: Floats, beta: Floats) -> tuple[Floats, float]:
    odds = terms @ beta
    loss = np.logaddexp(0, odds).sum() - target @ odds + RIDGE / 2 * beta @ beta
    return 1 / (1 + np.exp(-np.clip(odds, -700, 700))), float(loss)


def _curve(terms: Floats, chance: Floats) -> Floats:
    """Give the second derivative of the loss, some rows at a time."""
    made = RIDGE * np.eye(terms.shape[1])
    for begin in range(0, len(terms), AT_ONCE):
        block = terms[begin : begin + AT_ONCE]
        p = chance[begin : begin + AT_ONCE]
        root = np.sqrt(np.maximum(p * (1 - p), 1e-10))
        block = block * root[:, None]
        made += block.T @ block
    return made
