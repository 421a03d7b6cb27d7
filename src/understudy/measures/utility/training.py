"""What trains models of a target: as many rows of both tables, and regressors by name."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.matrix import HUGE, Floats, Labels, Marks, one_hot
from understudy.errors import OptionError, near
from understudy.judging.comparison import Comparison, Which
from understudy.measures.boosting import boosted

Rows = NDArray[np.intp]
GROUPS = 5
FEWEST_ROWS = 20
FEWEST_COUNTED = 5
TEACHERS: tuple[Which, Which] = ("synthetic", "train")


@dataclass(frozen=True)
class Teachers:
    """Rows of the synthetic and of the training table, equally many.

    They are drawn from the same streams, so that a copy of training teaches exactly what training
    does. ``halves`` cuts both tables into two.
    """

    chosen: Mapping[Which, Rows]
    group: Mapping[Which, Labels]
    halves: Labels
    places: Labels

    def rows(self, table: Which, most: int | None = None) -> Rows:
        """Give the rows of a table, or as many of them as asked, drawn at random."""
        return self.chosen[table][np.sort(self.places[:most])]

    def without(self, table: Which, group: int, most: int | None = None) -> Rows:
        """Leave out one of the groups of rows."""
        kept = np.sort(self.places[:most])
        left: Rows = self.chosen[table][kept[self.group[table][kept] != group]]
        return left

    def half(self, table: Which, half: int) -> Rows:
        """Give one half of the rows."""
        rows: Rows = self.chosen[table][self.halves == half]
        return rows


def teachers(comparison: Comparison, name: str, known: Mapping[Which, Rows], size: int) -> Teachers:
    """Draw the rows that teach, from all whose target is known."""
    chosen, group = {}, {}
    for table in TEACHERS:
        rng = comparison.stream(name)
        mine = known[table]
        chosen[table] = mine[np.sort(rng.permutation(len(mine))[:size])]
        group[table] = rng.permutation(size) % GROUPS
    halves = comparison.stream(name, "halves").permutation(size) % 2
    return Teachers(chosen, group, halves, comparison.stream(name, "places").permutation(size))


def too_few(known: Mapping[Which, Rows], size: int) -> str:
    """Say that there are too few rows to train or to test; nothing where there are enough."""
    if size >= FEWEST_ROWS and len(known["holdout"]) >= FEWEST_ROWS:
        return ""
    return (
        f"{FEWEST_ROWS} rows with a target are needed to train and to test; there are "
        f"{_some(size)} and {_some(len(known['holdout']))}."
    )


def said_of_sizes(
    heights: Mapping[Which, int], known: Mapping[Which, Rows], size: int, rows: int
) -> list[str]:
    """Say which rows were not used, and why."""
    notes = []
    for table in TEACHERS:
        if len(known[table]) > size:
            why = " and the option rows" if size == rows else ""
            notes.append(
                f"{size:,} of {len(known[table]):,} {word(table)} rows were used to train, for "
                f"equal numbers{why}."
            )
    for table, rows_known in known.items():
        missing = heights[table] - len(rows_known)
        if missing:
            one = missing == 1 and table == "synthetic"
            some = f"{missing:,}" if table == "synthetic" else _some(missing)
            notes.append(
                f"{word(table)}: {some} {'row' if one else 'rows'} without a target "
                f"{'is' if one else 'are'} left out."
            )
    return notes


def _some(count: int) -> str:
    """Say a number of real rows."""
    return f"{count:,}" if count >= FEWEST_COUNTED else f"fewer than {FEWEST_COUNTED}"


def word(table: str) -> str:
    """Name a table as a sentence does."""
    return {"train": "training", "holdout": "the holdout"}.get(table, table)


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
            f"models = {models!r}",
            hint=f"name some of {', '.join(LEARNERS)}, or scikit-learn's",
        )
    return [LEARNERS[name] if name in LEARNERS else _by_name(name) for name in names]


def headline(chosen: Sequence[Learner]) -> int:
    """Give the place of the model that stands in front: gradient boosting, or else the first."""
    return next((place for place, one in enumerate(chosen) if one.short == "boosting"), 0)


def learn(
    learner: Learner,
    rows: Floats,
    numbers: Floats,
    tests: Floats,
    is_category: Marks,
    *,
    iterations: int,
) -> tuple[Floats, frozenset[str]]:
    """Train a model and let it guess; give also the kinds of warnings that it raised."""
    if not rows.shape[1]:
        return np.full(len(tests), numbers.mean()), frozenset()
    shift, spread = 0.0, 1.0
    if learner.scaled:
        shift, spread = float(numbers.mean()), float(numbers.std()) or 1.0
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        if learner.make is None:
            model = boosted(rows, numbers, is_category, iterations=iterations)
            guess = model.predict(tests)
        else:
            given, asked = one_hot(rows, tests, is_category)
            model = learner.make().fit(given, (numbers - shift) / spread)
            guess = model.predict(asked)
    made = np.asarray(guess, float).reshape(len(tests), -1)[:, 0] * spread + shift
    return np.clip(made, -HUGE, HUGE), frozenset(w.category.__name__ for w in raised)


def _linear() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _support_vector() -> Any:
    from sklearn.svm import SVR

    return SVR(kernel="rbf", C=100)


def _perceptron() -> Any:
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(solver="lbfgs", random_state=0)


LEARNERS = {
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
            f"models: there is no regressor '{name}'",
            hint=near(short, [*LEARNERS, *sorted(known)]),
        )
    try:
        made = known[short]()
    except TypeError as error:
        raise OptionError(
            f"models: '{name}' needs arguments of its own", hint="name one that needs none"
        ) from error
    seeded = {"random_state": 0} if "random_state" in made.get_params() else {}
    return Learner(short, short, lambda: known[short](**seeded))
