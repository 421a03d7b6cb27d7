"""What is to be guessed, when a guess is right, and two ways to guess it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.matrix import MOST_LEVELS
from understudy.judging.comparison import Comparison
from understudy.measures.privacy.places import MISSING, Codes, Places, fixed_order

Floats = NDArray[np.float64]
TIES = 10
CANDIDATES = 2000


@dataclass(frozen=True)
class Secret:
    """A sensitive column: its codes, its numbers, and how near a guess must come.

    Parameters
    ----------
    name : str
    is_number : bool
    truth : array
        The code of each real person, or the number (nan where it is missing).
    tables : tuple of array
        The same for the synthetic, training and holdout tables.
    tolerance : float
        The part of the value (relative), or so much (absolute) for a date.
    relative : bool
    naive : float
        How often the best single guess is right in training.
    commonness : array
        The share of synthetic rows that have each real person's value, within the tolerance.
    """

    name: str
    is_number: bool
    truth: Floats
    tables: tuple[Floats, ...]
    tolerance: float
    relative: bool
    naive: float
    commonness: Floats

    @classmethod
    def of(cls, comparison: Comparison, places: Places, name: str, tolerance: float) -> "Secret":
        """Read a sensitive column of all tables."""
        column = places.names.index(name)
        numbers = places.numbers[column]
        is_number = comparison.schema[name].is_numeric and len(numbers) > 0
        tables = tuple(_values(table[column], numbers, is_number) for table in places.tables)
        truth = np.concatenate(tables[1:])
        relative = comparison.schema[name].kind != "date"
        if not relative:
            tolerance *= float(np.nanstd(truth)) if np.isfinite(truth).any() else 0.0
        made = cls(name, is_number, truth, tables, tolerance, relative, 0.0, np.empty(0))
        return made._with_baseline(comparison.height("train"))

    def _with_baseline(self, train: int) -> "Secret":
        """Find the single guess that is right most often in the synthetic table."""
        seen = np.sort(self.tables[0][~np.isnan(self.tables[0])])
        if not len(seen):
            return self
        common = self._share(self.truth, seen)
        candidates = np.unique(seen)
        if len(candidates) > CANDIDATES:
            candidates = candidates[np.linspace(0, len(candidates) - 1, CANDIDATES).astype(int)]
        low, high = self._caught_by(candidates)
        caught = np.searchsorted(seen, high, "right") - np.searchsorted(seen, low, "left")
        best = candidates[np.argmax(caught)]
        known = self.truth[:train][~np.isnan(self.truth[:train])]
        right = self._hits(np.full(len(known), best), known)
        naive = float(right.mean()) if len(known) else 0.0
        return Secret(
            self.name, self.is_number, self.truth, self.tables, self.tolerance, self.relative,
            naive, common,
        )  # fmt: skip

    def _share(self, truth: Floats, seen: Floats) -> Floats:
        """Give the share of sorted values that would be a right guess of each true value."""
        reach = self._reach(truth)
        near = np.searchsorted(seen, truth + reach, "right")
        made: Floats = (near - np.searchsorted(seen, truth - reach, "left")) / len(seen)
        return made

    def _reach(self, truth: Floats) -> Floats:
        if not self.is_number:
            return np.zeros(len(truth))
        reach = (
            self.tolerance * np.abs(truth) if self.relative else np.full(len(truth), self.tolerance)
        )
        return reach * (1 + 1e-12)

    def _caught_by(self, guess: Floats) -> tuple[Floats, Floats]:
        """Give the smallest and largest true value for which a guess is right."""
        if not self.is_number:
            return guess, guess
        if not self.relative:
            return guess - self.tolerance, guess + self.tolerance
        ends = guess / (1 + self.tolerance), guess / (1 - self.tolerance)
        return np.minimum(*ends), np.maximum(*ends)

    def _hits(self, guesses: Floats, truth: Floats) -> NDArray[np.bool_]:
        made: NDArray[np.bool_] = np.abs(guesses - truth) <= self._reach(truth)
        return made

    @property
    def classes(self) -> int:
        """How many levels there are to tell apart; 1 for a number."""
        return 1 if self.is_number else len(np.unique(self.tables[0]))

    def is_open(self, attacked: NDArray[np.bool_]) -> bool:
        """Whether there is something to learn from and somebody to guess for."""
        some = ~np.isnan(self.truth) & attacked
        train = len(self.tables[1])
        sides = [some[:train], some[train:]] if len(self.tables) > 2 else [some]
        return bool(~np.isnan(self.tables[0]).all() and all(side.any() for side in sides))

    def right(self, guesses: Floats, attacked: NDArray[np.bool_]) -> Floats:
        """Give 1 for a right guess, 0 for a wrong one, nan where there is nothing to guess."""
        truth = self.truth[attacked]
        return np.where(np.isnan(truth), np.nan, self._hits(guesses, truth))


def _values(codes: Codes, numbers: Floats, is_number: bool) -> Floats:
    """Give numbers, or the codes of levels; what is missing (or a word among numbers) is nan."""
    if not is_number:
        return np.where(codes == MISSING, np.nan, codes)
    is_digit = (codes > MISSING) & (codes <= len(numbers))
    return np.where(is_digit, numbers[np.clip(codes - 1, 0, len(numbers) - 1)], np.nan)


def _learnt(places: Places, secret: Secret, table: int) -> NDArray[np.int64]:
    """Give the rows whose value is known, in an order that values alone decide."""
    order, _ = fixed_order(places.tables[table])
    return order[~np.isnan(secret.tables[table][order])]


def by_nearest(
    comparison: Comparison,
    places: Places,
    known: Sequence[str],
    secret: Secret,
    table: int,
    attacked: NDArray[np.bool_],
    **more: Any,
) -> Floats:
    """Guess by the nearest records; of several as near, by the most frequent value or the middle.

    Up to ten records as near are asked.
    """
    from understudy.kernels.neighbors import mixed_neighbors

    points, is_category = _points(comparison, known)
    rows = _learnt(places, secret, table)
    persons = np.concatenate(points[1:])[attacked]
    k = min(TIES, len(rows))

    def guess(some: NDArray[np.int64]) -> Floats:
        distance, index = mixed_neighbors(persons[some], points[table][rows], is_category, k)
        values = secret.tables[table][rows][index]
        values[distance > distance[:, :1] * (1 + 1e-6)] = np.nan
        return _middle(values) if secret.is_number else _most_frequent(values)

    return _once_each(places, known, attacked, guess)


def _once_each(
    places: Places,
    known: Sequence[str],
    attacked: NDArray[np.bool_],
    guess: Callable[[NDArray[np.int64]], Floats],
) -> Floats:
    """Guess once for all persons of whom the same is known."""
    columns = [places.names.index(name) for name in known]
    order, first = fixed_order(np.hstack(places.tables[1:])[columns][:, attacked])
    guesses = np.empty(len(order))
    guesses[order] = guess(order[first])[np.cumsum(first) - 1]
    return guesses


def _points(
    comparison: Comparison, known: Sequence[str]
) -> tuple[list[NDArray[np.float32]], NDArray[np.bool_]]:
    codec = (
        comparison.pooled_codec(bins=100)
        if comparison.has_holdout
        else comparison.codec(bins=100, levels=None)
    )
    columns = [codec.names.index(name) for name in known]
    tables = ["synthetic", "train", "holdout"][: len(comparison.tables)]
    made = [comparison.points(t, codec) for t in tables]  # type: ignore[arg-type]
    return [points[:, columns] for points, _ in made], made[0][1][columns]


def _middle(values: Floats) -> Floats:
    """Give the lower median of the values in each row."""
    ordered = np.sort(values, axis=1)
    many = (~np.isnan(ordered)).sum(axis=1)
    made: Floats = ordered[np.arange(len(ordered)), (many - 1) // 2]
    return made


def _most_frequent(values: Floats) -> Floats:
    """Give the most frequent value of each row; of equals, the one that stands first."""
    votes = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    made: Floats = values[np.arange(len(values)), votes.argmax(axis=1)]
    return made


def by_model(
    comparison: Comparison,
    places: Places,
    known: Sequence[str],
    secret: Secret,
    table: int,
    attacked: NDArray[np.bool_],
    *,
    iterations: int,
    rows: int,
) -> Floats:
    """Guess by gradient boosting, fitted to at most so many rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    taken = _learnt(places, secret, table)[:rows]
    features, is_category = _features(places, known)
    target = secret.tables[table][taken]
    persons = np.concatenate(features[1:])[attacked]
    if len(np.unique(target)) == 1:
        return np.full(len(persons), target[0])
    learn = features[table][taken]
    varied = np.array([len(np.unique(column[~np.isnan(column)])) > 0 for column in learn.T])
    settings = {
        "max_iter": iterations,
        "early_stopping": False,
        "l2_regularization": 1.0,
        "categorical_features": is_category[varied] if is_category[varied].any() else None,
        "random_state": 0,
    }
    model = (
        HistGradientBoostingRegressor(loss="absolute_error", **settings)
        if secret.is_number
        else HistGradientBoostingClassifier(**settings)
    )
    with threadpool_limits(1, user_api="openmp"):
        model.fit(learn[:, varied], target)
        return _once_each(
            places, known, attacked,
            lambda some: np.asarray(model.predict(persons[some][:, varied]), float),
        )  # fmt: skip


def _features(places: Places, known: Sequence[str]) -> tuple[list[Floats], NDArray[np.bool_]]:
    """Give numbers as they are and levels by their codes; what is missing is nan.

    A category of many levels is an ordered number; a word among numbers is missing.
    """
    made: list[list[Floats]] = [[] for _ in places.tables]
    is_category = []
    for name in known:
        column = places.names.index(name)
        numbers, size = places.numbers[column], places.sizes[column]
        for matrix, codes in zip(made, places.tables, strict=True):
            matrix.append(_values(codes[column], numbers, len(numbers) > 0))
        is_category.append(len(numbers) == 0 and size <= MOST_LEVELS)
    return [np.stack(matrix, axis=1) for matrix in made], np.array(is_category, bool)
