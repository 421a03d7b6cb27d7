"""The chance of rows: the product over the columns of each value's chance given those before.

Known where every column is drawn from the training values of a leaf or of a pool; a smoothed
number, a regression or a network gives a density that is not worked out here.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import Table
from understudy.synthesizers.columns.given import Floats, Given
from understudy.synthesizers.columns.models import ColumnModel
from understudy.synthesizers.columns.samplers import Settings
from understudy.synthesizers.columns.variables import NUMBER

KNOWN = ("sample", "cart", "tree")


def log_chances(
    models: Sequence[ColumnModel],
    rows: Table,
    settings: Settings,
    given_of: Callable[[Any, tuple[int, ...]], Given],
) -> Floats | None:
    """Give the log of each row's chance, -inf where it cannot be drawn; none if not known."""
    matrix = np.empty((rows.height, len(models)), order="F")
    total = np.zeros(rows.height)
    for place, model in enumerate(models):
        codes, numbers = model.variable.read(rows.values(model.name))
        given = given_of(matrix, model.predictors)
        own = _chances(model, rows, given, codes, numbers, settings)
        if own is None:
            return None
        with np.errstate(divide="ignore"):
            total += np.log(own)
        matrix[:, place] = model.variable.predictor(codes, numbers)
    return total


def _chances(
    model: ColumnModel,
    rows: Table,
    given: Given,
    codes: NDArray[np.int64],
    numbers: Floats | None,
    settings: Settings,
) -> Floats | None:
    """Give the chances of one column; where a rule holds its value is certain."""
    chances = np.ones(len(given))
    free = np.ones(len(given), bool)
    for fixed in model.fixed:
        here = free & fixed.rule.condition.mask(rows)
        same = codes == fixed.code
        if numbers is not None:
            same &= np.isclose(numbers, fixed.number, rtol=0, atol=0, equal_nan=True)
        chances[here] = same[here]
        free &= ~here
    rest = np.flatnonzero(free)
    drawn = _drawn(model, given.take(rest), codes[rest], numbers, rest, settings)
    if drawn is None:
        return None
    chances[rest] = drawn
    return chances


def _drawn(
    model: ColumnModel,
    given: Given,
    codes: NDArray[np.int64],
    numbers: Floats | None,
    rows: NDArray[np.int64],
    settings: Settings,
) -> Floats | None:
    """Give the chance of the kind, times that of the number where the kind is a number."""
    chances = np.ones(len(given)) * (1.0 if model.kind is not None else codes == NUMBER)
    if model.kind is not None:
        share = getattr(model.kind, "share", None)
        if share is None:
            return None
        chances = share(given, codes.astype(float))
    if model.number is None or numbers is None:
        return chances
    share = getattr(model.number, "share", None)
    if share is None or settings.smooth:
        return None
    chosen = np.flatnonzero(codes == NUMBER)
    chances[chosen] *= share(given.take(chosen), numbers[rows[chosen]])
    return chances
