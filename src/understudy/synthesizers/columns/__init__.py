"""Column methods: ways to draw one column given others. ``COLUMN_METHODS`` names them all."""

from functools import partial

from understudy.synthesizers.columns.boosting import (
    BoostClasses,
    BoostNumbers,
    fit_boost_classes,
    fit_boost_numbers,
)
from understudy.synthesizers.columns.forest import fit_forest
from understudy.synthesizers.columns.linear import (
    Logistic,
    Matched,
    Normal,
    fit_logistic,
    fit_matched,
    fit_normal,
)
from understudy.synthesizers.columns.neural import (
    NeuralClasses,
    NeuralNumbers,
    fit_neural_classes,
    fit_neural_numbers,
)
from understudy.synthesizers.columns.samplers import (
    ColumnMethod,
    Pool,
    Sampler,
    Settings,
    arrays_of,
    fit_pool,
)
from understudy.synthesizers.columns.trees import Leaves, fit_cart, fit_tree

__all__ = [
    "COLUMN_METHODS",
    "KEEP",
    "SAMPLERS",
    "ColumnMethod",
    "Sampler",
    "Settings",
    "arrays_of",
]

KEEP = "keep"
COLUMN_METHODS: dict[str, ColumnMethod] = {
    "sample": ColumnMethod(fit_pool, fit_pool, codes_are_numbers=True),
    "cart": ColumnMethod(
        partial(fit_cart, classes=True), partial(fit_cart, classes=False), codes_are_numbers=True
    ),
    "linear": ColumnMethod(fit_logistic, fit_normal, k_class=True, posterior=True),
    "tree": ColumnMethod(
        partial(fit_tree, classes=True), partial(fit_tree, classes=False), k_class=True
    ),
    "random_forest": ColumnMethod(
        partial(fit_forest, classes=True), partial(fit_forest, classes=False), k_class=True
    ),
    "neural": ColumnMethod(fit_neural_classes, fit_neural_numbers, k_class=True),
    "boost": ColumnMethod(fit_boost_classes, fit_boost_numbers),
    "pmm": ColumnMethod(fit_logistic, fit_matched, codes_are_numbers=True, posterior=True),
    KEEP: ColumnMethod(fit_pool, fit_pool, codes_are_numbers=True),
}
SAMPLERS: dict[str, type[Sampler]] = {
    "pool": Pool,
    "leaves": Leaves,
    "normal": Normal,
    "logistic": Logistic,
    "matched": Matched,
    "neural classes": NeuralClasses,
    "neural numbers": NeuralNumbers,
    "boost classes": BoostClasses,
    "boost numbers": BoostNumbers,
}
