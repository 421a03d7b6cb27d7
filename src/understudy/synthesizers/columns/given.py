"""Given: the predictors of some rows, and how regressions see them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.model_file import Damaged, State

Floats = NDArray[np.float64]

NO_NUMBER = -1e300
MOST_MARKS = 50


@dataclass(frozen=True)
class Given:
    """The predictors of some rows.

    ``table`` holds categories as codes and numbers as they are; what is no number stands below
    all numbers, apart. ``levels`` is the number of codes of each category, 0 for a number;
    ``nominal`` marks the categories, also those whose codes are numbers.
    """

    table: Floats
    levels: NDArray[np.int64]
    nominal: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.table)

    def take(self, rows: NDArray[np.int64] | slice) -> "Given":
        """Give some of the rows."""
        return Given(self.table[rows], self.levels, self.nominal)

    def pick(self, columns: NDArray[np.int64]) -> "Given":
        """Give some of the predictors."""
        return Given(self.table[:, columns], self.levels[columns], self.nominal[columns])


def fit_design(given: Given) -> Floats:
    """Learn how predictors become columns of a regression.

    A category becomes one mark of 0 or 1 for each level, the ``MOST_MARKS`` most frequent ones if
    there are more; a number becomes its distance from the mean in standard deviations, with a
    mark for each way of being no number. One row of the result for each: the predictor, the
    value that is marked (nan for a number), what is taken off and what is divided by.
    """
    made: list[tuple[float, float, float, float]] = []
    for place in range(given.table.shape[1]):
        column = given.table[:, place]
        marked = column if given.nominal[place] else column[column <= NO_NUMBER]
        values, times = np.unique(marked, return_counts=True)
        if len(values) > MOST_MARKS:
            values = np.sort(values[np.argsort(-times, kind="stable")[:MOST_MARKS]])
        made += [(place, value, 0.0, 1.0) for value in values]
        numbers = column[column > NO_NUMBER]
        if not given.nominal[place] and len(numbers):
            made.append((place, np.nan, float(numbers.mean()), float(numbers.std()) or 1.0))
    return np.array(made).reshape(-1, 4)


def design_of(state: State, predictors: int) -> Floats:
    """Take what was learnt of so many predictors from a file."""
    made: Floats = state.array("design", float, (None, 4), nan=True)
    known = np.isin(made[:, 0], np.arange(predictors)).all()
    if not known or np.isnan(made[:, 2:]).any() or (made[:, 3] == 0).any():
        raise Damaged("a regression asks for predictors that there are not")
    return made


def apply_design(design: Floats, given: Given) -> Floats:
    """Give the columns of a regression, the first one all 1."""
    made = np.ones((len(given), 1 + len(design)))
    for place, (source, value, middle, width) in enumerate(design, start=1):
        column = given.table[:, int(source)]
        if np.isnan(value):
            made[:, place] = np.where(column <= NO_NUMBER, 0.0, (column - middle) / width)
        else:
            made[:, place] = column == value
    return made
