"""Fits of one model to one table: coefficients, standard errors, and how much each row sways them.

statsmodels fits; here it is seen to that a fit says which coefficients it could not tell.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy import optional
from understudy.measures.pictures import few_dominate
from understudy.measures.utility.estimates.design import Floats, Impossible, Rows

DEPENDENT = 1e-7
ROUNDING = 1e-12
SEPARATED = 10.0
STEPS = 100


@dataclass(frozen=True)
class Fit:
    """Coefficients of one table; nan where the table cannot tell.

    ``spread`` is the covariance that allows for a wrong model (sandwich), for redraws. ``swayed``
    marks the coefficients that fewer than five rows decide, see ``_swayed``.
    """

    estimate: Floats
    error: Floats
    spread: Floats
    swayed: NDArray[np.bool_]
    freedom: float
    rows: int

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which coefficients the table can tell."""
        return np.isfinite(self.estimate)


def independent(design: Floats) -> NDArray[np.bool_]:
    """Mark the columns that do not follow from those before them.

    Where the first is an intercept, the others are judged by what they vary, not by their means.

    Examples
    --------
    >>> independent(np.array([[1.0, 1, 2], [1, 2, 3], [1, 3, 4], [1, 7, 8]])).tolist()
    [True, True, False]
    """
    centred = design.shape[1] > 0 and np.ptp(design[:, 0]) == 0 and design[0, 0] != 0
    basis = np.empty((design.shape[0], 0))
    kept = np.zeros(design.shape[1], bool)
    for place, column in enumerate(design.T):
        own = column - column.mean() if centred and place else column
        rest = own - basis @ (basis.T @ own)
        rest -= basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        least = DEPENDENT * np.linalg.norm(own), ROUNDING * np.linalg.norm(column)
        if length > max(least):
            kept[place] = True
            basis = np.column_stack([basis, rest / length])
    return kept


def fit(rows: Rows, family: str, which: str) -> Fit:
    """Fit a model to the rows of a table; ``which`` names it in the message if that fails."""
    _check(rows, family, which)
    kept = independent(rows.design)
    table = rows.design[:, kept]
    if len(rows) <= table.shape[1]:
        raise Impossible(f"{which} has {len(rows)} whole rows, too few for the model.")
    scale = np.maximum(np.abs(table).max(axis=0), np.finfo(float).tiny)
    table = table / scale
    weights, bread, error, mean = _solve(table, rows.response, family, which)
    told = _told(table, error, family)
    if not told.any():
        raise Impossible(
            f"{which}: the terms separate the response perfectly, so no coefficient is finite."
        )
    lever, apart = table @ bread, rows.response - mean
    sway = lever * apart[:, None]
    swayed = _swayed(lever, apart, mean, family)
    places = np.flatnonzero(kept)[told]
    p = rows.design.shape[1]
    made = Fit(
        np.full(p, np.nan),
        np.full(p, np.nan),
        np.zeros((p, p)),
        np.ones(p, bool),
        float(len(rows) - table.shape[1]) if family == "linear" else float("inf"),
        len(rows),
    )
    made.estimate[places] = (weights / scale)[told]
    made.error[places] = (error / scale)[told]
    own = (sway / scale)[:, told]
    made.spread[np.ix_(places, places)] = own.T @ own
    made.swayed[places] = swayed[told]
    return made


def _told(table: Floats, error: Floats, family: str) -> NDArray[np.bool_]:
    """Mark the coefficients that are finite: where classes are separated, errors run away.

    The intercept makes up for large means of other columns, so its error is looked at only where
    another column's runs away.
    """
    spread = table.std(axis=0)
    told: NDArray[np.bool_] = np.isfinite(error)
    if family != "linear":
        told &= error * spread <= SEPARATED
        if not told.all():
            told &= (spread > 0) | (error <= SEPARATED)
    return told


def _swayed(lever: Floats, apart: Floats, mean: Floats, family: str) -> NDArray[np.bool_]:
    """Mark what would give a row away: fewer than five make half or more of a sum of squares.

    The sums are of the influences of the rows on a coefficient (a response far out), of their
    weights in it (a predictor far out), and in a linear model of the residuals, which are in all
    standard errors.
    """
    weight = {"linear": np.ones_like(mean), "logistic": mean * (1 - mean), "poisson": mean}[family]
    if family == "linear" and few_dominate(apart**2):
        return np.ones(lever.shape[1], bool)
    return np.array(
        [few_dominate(weight * a**2) or few_dominate((a * apart) ** 2) for a in lever.T]
    )


def _check(rows: Rows, family: str, which: str) -> None:
    if not len(rows):
        raise Impossible(
            f"{which} has no row in which all columns of the formula have a value that counts."
        )
    low, high = float(rows.response.min()), float(rows.response.max())
    if low == high:
        what = "one class only" if family == "logistic" else "one value only"
        raise Impossible(f"The response has {what} in {which}.")
    if family == "poisson" and low < 0:
        raise Impossible(f"A Poisson model needs counts, and {which} has negative ones.")


def _solve(
    table: Floats, response: Floats, family: str, which: str
) -> tuple[Floats, Floats, Floats, Floats]:
    """Give coefficients, the inverse of the information, standard errors and fitted means."""
    api: Any = optional.need("statsmodels.api", extra="stats")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of is checked: convergence, separation
        if family == "linear":
            found = api.OLS(response, table).fit()
            return found.params, found.normalized_cov_params, found.bse, found.fittedvalues
        own = api.families.Binomial() if family == "logistic" else api.families.Poisson()
        found = api.GLM(response, table, family=own).fit(maxiter=STEPS)
        finite = np.isfinite(found.params).all() and np.isfinite(found.deviance)
        if not found.converged or not finite:
            raise Impossible(f"{which}: the fit does not converge; is the response separated?")
        return found.params, found.normalized_cov_params, found.bse, found.fittedvalues


def together(fits: Sequence[Fit]) -> tuple[Floats, Floats]:
    """Give estimates and variances, one row a table."""
    return np.stack([f.estimate for f in fits]), np.stack([f.error**2 for f in fits])
