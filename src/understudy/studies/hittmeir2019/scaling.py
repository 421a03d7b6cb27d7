"""What both halves of the paper share: texts as numbers, scaling, and the three figures."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.studies.hittmeir2019.expected import FIGURES

Floats = NDArray[np.float64]


def places(column: pl.Series) -> Floats:
    """Number the levels of a text in alphabetical order; numbers stay as they are."""
    if column.dtype == pl.String:
        column = column.rank("dense") - 1
    return column.to_numpy().astype(float)


def standard(points: Floats, like: Floats | None = None) -> Floats:
    """Scale rows by themselves, as the paper does with both parts of a split, or like others."""
    by = points if like is None else like
    spread = by.std(axis=0)
    made: Floats = (points - by.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return made


def scores(truth: Floats, guess: Floats) -> dict[str, float]:
    """Give the three figures; MAPE is in per cent."""
    apart = np.abs(truth - guess)
    around = float(((truth - truth.mean()) ** 2).sum())
    return {
        "MAE": float(apart.mean()),
        "MAPE": 100 * float((apart / truth).mean()),
        "R2": 1 - float((apart**2).sum()) / around if around else math.nan,
    }


def mean_scores(found: Sequence[dict[str, float]], digits: int | None = None) -> dict[str, Any]:
    """Give mean and spread of figures, each rounded first where digits are given."""
    made = {}
    for figure in FIGURES:
        exact = np.array([one[figure] for one in found])
        values = exact if digits is None else np.array([round(x, digits) for x in exact.tolist()])
        made[figure] = {
            "mean": float(values.mean()),
            "spread": float(values.std()),
            "unrounded": float(exact.mean()),
        }
    return made
