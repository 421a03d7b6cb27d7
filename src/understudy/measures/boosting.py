"""Gradient boosting on features, and how alike two orders of scores are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.jobs.progress import Progress
from understudy.jobs.workers import one_thread

Scores = NDArray[np.float64]
T = TypeVar("T")


def boosted(
    rows: NDArray[np.float64],
    target: NDArray[np.int64] | NDArray[np.float64],
    is_category: NDArray[np.bool_],
    *,
    iterations: int,
) -> Any:
    """Fit scikit-learn's histogram boosting: trees of 31 leaves, rate 0.1, ridge 1.

    Whole numbers are classes; to others boosting is fitted by least squares.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    classes = np.issubdtype(target.dtype, np.integer)
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(
        max_iter=iterations,
        early_stopping=False,
        l2_regularization=1.0,
        categorical_features=is_category if is_category.any() else None,
        random_state=0,
    )
    return model.fit(_without_empty(rows), target)


def _without_empty(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put 0 into features that are missing everywhere, which boosting does not take."""
    empty = np.isnan(rows).all(axis=0)
    return np.where(empty, 0.0, rows) if empty.any() else rows


def one_by_one(work: Callable[[int], T], times: int, progress: Progress, label: str) -> Iterator[T]:
    """Do pieces of work with boosting on one core: the quickest way if others work there too.

    Boosting in several threads of Python is out of the question: scikit-learn changes the filters
    of warnings, which all threads share.
    """
    import sklearn.ensemble  # loads OpenMP, which can only then be limited

    for number in range(times):
        with (
            one_thread("openmp"),
            sklearn.config_context(skip_parameter_validation=True),
        ):
            made = work(number)
        progress(label, number + 1, times)
        yield made


def rank_correlation(
    first: Sequence[float] | Scores, second: Sequence[float] | Scores
) -> float | None:
    """Give Spearman's correlation; 1 for the same order, none where one side has a single rank.

    Examples
    --------
    >>> rank_correlation([3.0, 2.0, 1.0], [9.0, 8.0, 7.0])
    1.0
    """
    from scipy.stats import rankdata

    ranks = rankdata(first), rankdata(second)
    if np.array_equal(*ranks):
        return 1.0
    if not (ranks[0].std() and ranks[1].std()):
        return None
    return float(np.corrcoef(*ranks)[0, 1])
