"""Column methods: ways to draw one column given others. ``COLUMN_METHODS`` names them all."""

from collections.abc import Callable
from dataclasses import dataclass

from understudy.synthesizers.columns import regressions, trees
from understudy.synthesizers.columns.samplers import ColumnOptions, Marginal, Sampler, Training

__all__ = ["COLUMN_METHODS", "KEEP", "SAMPLERS", "ColumnMethod", "ColumnOptions", "Sampler"]

KEEP = "keep"
Fit = Callable[[Training], Sampler]


@dataclass(frozen=True)
class ColumnMethod:
    """How a column is drawn: fitted on codes (categories), and on numbers.

    ``codes_are_numbers``: a small domain of numbers is drawn as numbers, not as a category.
    ``k_class``: numbers can be drawn as classes, one for each distinct value.
    ``posterior``: proper synthesis of numbers draws the coefficients, not the rows.
    ``exact``: the chance of each row is known, and the same for every fit to one table.
    """

    codes: Fit
    numbers: Fit
    codes_are_numbers: bool = False
    k_class: bool = False
    posterior: bool = False
    exact: bool = False


COLUMN_METHODS: dict[str, ColumnMethod] = {
    "sample": ColumnMethod(Marginal.fit, Marginal.fit, codes_are_numbers=True, exact=True),
    "cart": ColumnMethod(trees.fit_cart, trees.fit_cart, codes_are_numbers=True, exact=True),
    "linear": ColumnMethod(
        regressions.fit_logistic, regressions.fit_normal, k_class=True, posterior=True
    ),
    "tree": ColumnMethod(trees.fit_tree, trees.fit_tree, k_class=True, exact=True),
    "random_forest": ColumnMethod(trees.fit_forest, trees.fit_forest, k_class=True),
    "neural": ColumnMethod(
        regressions.fit_neural_classes, regressions.fit_neural_numbers, k_class=True
    ),
    "boost": ColumnMethod(trees.fit_boost_classes, trees.fit_boost_numbers),
    "pmm": ColumnMethod(
        regressions.fit_logistic, regressions.fit_matched, codes_are_numbers=True, posterior=True
    ),
    KEEP: ColumnMethod(Marginal.fit, Marginal.fit, codes_are_numbers=True),
}
SAMPLERS: dict[str, type[Sampler]] = {
    "pool": Marginal,
    "leaves": trees.Leaves,
    "normal": regressions.Normal,
    "logistic": regressions.Logistic,
    "matched": regressions.Matched,
    "neural classes": regressions.NeuralClasses,
    "neural numbers": regressions.NeuralNumbers,
    "boost classes": trees.BoostClasses,
    "boost numbers": trees.BoostNumbers,
}
