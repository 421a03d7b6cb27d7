"""How well models trained on real rows predict a number: tables II to V, row Real.

The authors scale the rows to test by themselves. That is not how a model is used: a single new row
has no mean of its own. Both are computed, with the authors' scaling and with that of training.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.jobs.workers import one_thread
from understudy.studies.hittmeir2019.expected import FIGURES
from understudy.studies.hittmeir2019.scaling import mean_scores, places, scores, standard

Floats = NDArray[np.float64]
TEST_SHARE = 0.2
SPLITS = 10
SEEDS = 5
MODELS = ("LR", "SVR", "MLP")


@dataclass(frozen=True)
class Task:
    """A data set, what is predicted, and the columns that are left out."""

    dataset: str
    table: str
    target: str
    left_out: tuple[str, ...] = ()


TASKS = (
    Task("boston_housing", "II", "medv"),
    Task("bike_sharing_day", "III", "cnt", ("instant", "dteday")),
    Task("social_network_ads", "IV", "EstimatedSalary", ("User ID",)),
    Task("insurance", "V", "charges"),
)


def predict(task: Task, frame: pl.DataFrame, *, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Compute the row Real of a table, one line a model.

    Each line has the figures of the authors' protocol and, under ``correct``, those with the
    scaler of training. The perceptron's seeds are not printed: it is trained with several, the
    first being the number of the split, and ``seeds`` has the figures of all. Without seeds it is
    left out.
    """
    target = frame[task.target].to_numpy().astype(float)
    used = [name for name in frame.columns if name not in (task.target, *task.left_out)]
    points = np.column_stack([places(frame[name]) for name in used])
    made = []
    for model in MODELS if seeds else MODELS[:-1]:
        several = [
            _over_splits(points, target, model, seed=10 * number, apart=True)
            for number in range(seeds if model == "MLP" else 1)
        ]
        line: dict[str, Any] = {
            "table": task.table,
            "dataset": task.dataset,
            "row": f"Real, {model}",
            "keys": 0,
            **several[0],
            "correct": _over_splits(points, target, model, seed=0, apart=False),
        }
        if model == "MLP":
            line["seeds"] = {
                figure: [[one[figure]["mean"], one[figure]["spread"]] for one in several]
                for figure in FIGURES
            }
        made.append(line)
    return made


def _over_splits(
    points: Floats, target: Floats, model: str, *, seed: int, apart: bool
) -> dict[str, Any]:
    """Train on ten splits and give mean and spread of the figures.

    ``apart``: both parts of a split are scaled by themselves.
    """
    from sklearn.model_selection import train_test_split

    found = []
    for split in range(SPLITS):
        train, test = train_test_split(
            np.arange(len(points)), test_size=TEST_SHARE, random_state=split
        )
        seen = standard(points[train])
        asked = standard(points[test]) if apart else standard(points[test], like=points[train])
        guess = _guess(model, seed + split, seen, target[train], asked)
        found.append(scores(target[test], guess))
    return mean_scores(found)


def _guess(model: str, seed: int, seen: Floats, numbers: Floats, asked: Floats) -> Floats:
    """Train a model with the settings of the paper; gamma is scikit-learn's of that time."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import SVR

    make: dict[str, Callable[[], Any]] = {
        "LR": LinearRegression,
        "SVR": lambda: SVR(kernel="rbf", C=100, gamma="auto"),
        "MLP": lambda: MLPRegressor(solver="lbfgs", random_state=seed),
    }
    with one_thread(), warnings.catch_warnings():
        # the paper keeps scikit-learn's limit of 200 iterations, which is met often
        warnings.simplefilter("ignore", ConvergenceWarning)
        made: Floats = make[model]().fit(seen, numbers).predict(asked)
    return made
