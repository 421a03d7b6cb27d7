"""The models that learn a number, by name: four of the library's own, or any of scikit-learn."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.measures.boosting import boosted

Floats = NDArray[np.float64]
MOST_LEVELS = 50
HUGE = 1e60  # its fourth power is finite


@dataclass(frozen=True)
class Learner:
    """A model by the name it was asked for and the name it is shown by.

    ``slow`` ones need time that grows faster than the number of rows. ``scaled`` ones see the
    target with mean 0 and deviation 1, so that nothing depends on its unit. ``make`` is none for
    gradient boosting, which takes the features as they are.
    """

    short: str
    title: str
    make: Callable[[], Any] | None
    slow: bool = True
    scaled: bool = False


@dataclass(frozen=True)
class Sheet:
    """Rows to learn from or to guess about: features, and which of them are categories."""

    rows: Floats
    is_category: NDArray[np.bool_]


def learners(models: str | Sequence[str]) -> list[Learner]:
    """Find the models of a comma list, each once.

    Examples
    --------
    >>> [learner.title for learner in learners("linear, boosting")]
    ['linear regression', 'gradient boosting']
    """
    listed = models.split(",") if isinstance(models, str) else list(models)
    names = list(dict.fromkeys(str(name).strip() for name in listed))
    if not names or "" in names:
        raise OptionError(
            f"models = {models!r}", hint=f"name some of {', '.join(OWN)}, or scikit-learn's"
        )
    return [OWN[name] if name in OWN else _by_name(name) for name in names]


def headline(chosen: Sequence[Learner]) -> int:
    """Give the place of the model that stands in front: gradient boosting, or else the first."""
    return next((place for place, one in enumerate(chosen) if one.short == "boosting"), 0)


def learn(
    learner: Learner, sheet: Sheet, numbers: Floats, tests: Floats, *, iterations: int
) -> tuple[Floats, frozenset[str]]:
    """Train a model and let it guess; give also the kinds of warnings that it raised."""
    if not sheet.rows.shape[1]:
        return np.full(len(tests), numbers.mean()), frozenset()
    shift, spread = 0.0, 1.0
    if learner.scaled:
        shift, spread = float(numbers.mean()), float(numbers.std()) or 1.0
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        if learner.make is None:
            model = boosted(sheet.rows, numbers, sheet.is_category, iterations=iterations)
            guess = model.predict(tests)
        else:
            given, asked = design(sheet.rows, tests, sheet.is_category)
            model = learner.make().fit(given, (numbers - shift) / spread)
            guess = model.predict(asked)
    made = np.asarray(guess, float).reshape(len(tests), -1)[:, 0] * spread + shift
    return np.clip(made, -HUGE, HUGE), frozenset(w.category.__name__ for w in raised)


def design(rows: Floats, tests: Floats, is_category: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Turn features into columns for models that take numbers only.

    Everything is learnt from the rows alone. A number has mean 0 and deviation 1; where it is
    missing it is 0, with a column of its own that says so. A category has a column of 0 and 1 for
    each of its 50 most frequent levels, and one for missing.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 0.0]])
    >>> given, asked = design(rows, np.array([[2.0, 7.0]]), np.array([False, True]))
    >>> given.tolist(), asked.tolist()
    ([[-1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], [[0.0, 0.0, 0.0, 0.0]])
    """
    given: list[Floats] = []
    asked: list[Floats] = []
    for place, category in enumerate(is_category):
        mine, theirs = (np.clip(part[:, place], -HUGE, HUGE) for part in (rows, tests))
        missing = np.isnan(mine)
        if category:
            levels, times = np.unique(mine[~missing], return_counts=True)
            for level in levels[np.argsort(-times, kind="stable")[:MOST_LEVELS]]:
                given.append((mine == level).astype(float))
                asked.append((theirs == level).astype(float))
        elif not missing.all():
            mean, spread = mine[~missing].mean(), mine[~missing].std() or 1.0
            given.append(np.where(missing, 0.0, (mine - mean) / spread))
            asked.append(np.where(np.isnan(theirs), 0.0, (theirs - mean) / spread))
        if missing.any() and not missing.all():
            given.append(missing.astype(float))
            asked.append(np.isnan(theirs).astype(float))
    if not given:
        return np.zeros((len(rows), 1)), np.zeros((len(tests), 1))
    return np.column_stack(given), np.column_stack(asked)


def _linear() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _support_vector() -> Any:
    from sklearn.svm import SVR

    return SVR(kernel="rbf", C=100)


def _perceptron() -> Any:
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(solver="lbfgs", random_state=0)


OWN = {
    "linear": Learner("linear", "linear regression", _linear, slow=False),
    "svr": Learner("svr", "support vector regression", _support_vector, scaled=True),
    "mlp": Learner("mlp", "multilayer perceptron", _perceptron, scaled=True),
    "boosting": Learner("boosting", "gradient boosting", None, slow=False),
}


def _by_name(name: str) -> Learner:
    """Find a regressor of scikit-learn: ``Ridge``, or ``linear_model.Ridge``."""
    from sklearn.utils.discovery import all_estimators

    known = dict(all_estimators("regressor"))
    short = name.rpartition(".")[2]
    if short not in known:
        raise OptionError(
            f"models: there is no regressor '{name}'", hint=near(short, [*OWN, *sorted(known)])
        )
    try:
        made = known[short]()
    except TypeError as error:
        raise OptionError(
            f"models: '{name}' needs arguments of its own", hint="name one that needs none"
        ) from error
    seeded = {"random_state": 0} if "random_state" in made.get_params() else {}
    return Learner(short, short, lambda: known[short](**seeded))
