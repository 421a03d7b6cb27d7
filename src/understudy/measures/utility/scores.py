"""How far guessed numbers are from the truth: R², mean absolute error, and that in per cent."""

import numpy as np
from numpy.typing import NDArray

from understudy.measures.pictures import few_dominate

Floats = NDArray[np.float64]
SCORES = ("R²", "MAE", "MAPE")
WORST = -1.0
DIGITS = 2


def score(name: str, truth: Floats, guess: Floats) -> tuple[float, Floats]:
    """Give a score and what each row contributes to its error.

    The sum of squared contributions is the variance of the score over fresh rows to test on; those
    of two models on the same rows are subtracted first. R² is 1 - Σ(y - guess)²/Σ(y - mean)², with
    the mean of the rows tested. MAPE is the mean of abs(y - guess)/abs(y) as a fraction, over rows
    whose y is not 0; nan where all are.

    Examples
    --------
    >>> truth, guess = np.array([1.0, 2.0, 3.0, 0.0]), np.array([1.0, 2.0, 5.0, 0.0])
    >>> [round(score(name, truth, guess)[0], 4) for name in SCORES]
    [0.2, 0.5, 0.2222]
    """
    wrong = truth - guess
    if name == "R²":
        around = (truth - truth.mean()) ** 2
        left = float((wrong**2).sum()) / float(around.sum())
        return 1 - left, (left * around - wrong**2) / float(around.sum())
    used = errors(name, truth, guess)
    here = np.ones(len(truth), bool) if name == "MAE" else truth != 0
    value = float(used.mean()) if len(used) else float("nan")
    contributions = np.zeros(len(truth))
    contributions[here] = (used - value) / len(used) if len(used) else 0.0
    return value, contributions


def errors(name: str, truth: Floats, guess: Floats) -> Floats:
    """Give what a mean error is the mean of, row by row."""
    wrong = np.abs(truth - guess)
    return wrong if name == "MAE" else wrong[truth != 0] / np.abs(truth[truth != 0])


def telling(name: str, truth: Floats, guess: Floats) -> bool:
    """Tell whether a mean error gives single rows away: few make most of it, or there are few."""
    return name != "R²" and few_dominate(errors(name, truth, guess))


def few_far_out(numbers: Floats) -> bool:
    """Tell whether few rows are so far out that any error in their unit would give them away."""
    return few_dominate((numbers - numbers.mean()) ** 2)


def coarse(value: float) -> float:
    """Give R² as it may be shown where few rows are far out: two digits, and no worse than -1.

    Examples
    --------
    >>> coarse(-5e8), coarse(0.123456)
    (-1.0, 0.12)
    """
    return round(max(WORST, value), DIGITS) + 0.0
