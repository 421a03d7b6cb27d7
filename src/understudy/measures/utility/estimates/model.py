"""Design: the same columns of numbers for the real tables and the synthetic ones.

Levels are those that five or more training rows have; treatment coding against the most frequent
one. If five or more training rows have another level, all others are one level, those that only a
synthetic table has among them; if not, rows with another level are left out. A factor for which
more than 5 % of the synthetic rows are left out has no coefficient that they can tell.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy import optional
from understudy.data.codec import ColumnCodec
from understudy.data.matrix import Floats, level_counts
from understudy.data.schema import Column, Values
from understudy.data.schema.columns import MICROSECONDS
from understudy.data.source import Source
from understudy.errors import DataError
from understudy.judging.comparison import Comparison
from understudy.measures.pictures import K, few_dominate
from understudy.measures.utility.estimates.formula import Factor, Formula

OTHERS = "(all others)"
INTERCEPT = "(intercept)"
YEAR = 365.25 * MICROSECONDS["day"]
MOST_LOST = 0.05
FAMILIES = ("linear", "logistic", "poisson")


class Impossible(DataError):
    """A model that cannot be fitted; the message says why."""


@dataclass(frozen=True)
class ModelRows:
    """The rows of one table that can be used: response, design, and how many cannot."""

    response: Floats
    design: Floats
    left_out: int

    def __len__(self) -> int:
        return len(self.response)


@dataclass(frozen=True)
class Design:
    """The model of a formula for every table: training, replicates, holdout.

    ``lost`` marks the columns that the synthetic rows are not asked for: too many had to be left
    out for a level.
    """

    formula: Formula
    family: str
    names: tuple[str, ...]
    train: ModelRows
    synthetic: tuple[ModelRows, ...]
    holdout: ModelRows | None
    lost: NDArray[np.bool_]
    notes: tuple[str, ...]


def _level_names(codec: ColumnCodec) -> tuple[str, ...]:
    """Name the levels that are told apart, the one compared with first, the lumped one last."""
    return codec.levels if codec.closed else (*codec.levels, OTHERS)


def _level_numbers(codec: ColumnCodec, texts: pl.Series) -> NDArray[np.int64]:
    """Number the levels by their names; -1 is missing, or a level that is left out."""
    numbers = codec.encode(Values(None, texts)).astype(np.int64) - codec.first
    last = len(codec.levels)
    return np.where(numbers < last, numbers, -1 if codec.closed else last)


def design(comparison: Comparison, formula: Formula, family: str, levels: int) -> Design:
    """Turn all tables into numbers, as the formula says.

    A formula asks for products of columns, for logarithms and for levels against a base, of whole
    rows only, in the order of training: ``data.matrix.Matrix`` has features of single columns.

    Parameters
    ----------
    family : {"auto", "linear", "logistic", "poisson"}
    levels : int
        At most so many levels of a factor are told apart.
    """
    tables = [comparison.train, *comparison.synthetic]
    tables += [comparison.holdout] if comparison.holdout is not None else []
    factors = formula.factors
    categories = [f for f in factors if is_category(comparison, f)]
    read = (formula.response, *categories)
    texts = [source.rows().select({f.name for f in read}) for source in tables]
    family, event, said = _response(comparison, formula.response, family, texts[0])
    notes = [said]
    codecs: dict[Factor, ColumnCodec] = {}
    for factor in categories:
        column = comparison.schema[factor.name]
        codecs[factor], said = _factor_codec(factor, column, texts[0][factor.name], levels)
        notes.append(said)
    columns = _columns(formula, codecs)
    made = []
    for source, frame in zip(tables, texts, strict=True):
        codes = {f: _level_numbers(codec, frame[f.name]) for f, codec in codecs.items()}
        numbers = {f: _numbers(comparison, source, f) for f in factors if f not in codecs}
        response = (
            _numbers(comparison, source, formula.response)
            if event is None
            else _event(event, frame[formula.response.name])
        )
        made.append(_rows(response, columns, codes, numbers))
    fresh = made.pop() if comparison.holdout is not None else None
    train, *synthetic = made
    names = tuple(_name(column, codecs) for column in columns)
    lost, said_of_levels = _lost(
        formula, columns, codecs, event, texts[1 : 1 + len(comparison.synthetic)]
    )
    notes += said_of_levels
    return Design(
        formula, family, names, train, tuple(synthetic), fresh, lost, tuple(filter(None, notes))
    )


def is_category(comparison: Comparison, factor: Factor) -> bool:
    """Whether a factor stands for levels."""
    if factor.function:
        return factor.function == "C"
    return not comparison.schema[factor.name].is_numeric


def _response(
    comparison: Comparison, factor: Factor, family: str, texts: pl.DataFrame
) -> tuple[str, ColumnCodec | None, str]:
    """Choose the family; for a logistic one give the two levels, the event second."""
    category = is_category(comparison, factor)
    counts = level_counts(texts[factor.name])
    if not counts.height:
        raise Impossible(f"The response {factor} is missing from every training row.")
    shown = sorted(counts.filter(pl.col("times") >= K)["level"])
    numeric = not np.isnan(_numbers(comparison, comparison.train, factor)).all()
    if family == "auto":
        family = "logistic" if category and (len(shown) <= 2 or not numeric) else "linear"
    if family != "logistic":
        if not numeric:
            raise Impossible(
                f"The response {factor} has no numbers in training: {family} needs them."
            )
        return family, None, ""
    if factor.function in ("log", "number"):
        raise Impossible(
            f"A logistic model needs two levels: name {factor.name} without a function."
        )
    if len(shown) != 2:
        many = {0: "no level", 1: "one class only"}.get(len(shown), f"{len(shown)} levels")
        what = f"that {K} training rows or more have"
        raise Impossible(
            f"The response {factor} has {many} {what}: a logistic model needs two, another model "
            "numbers (number(x))."
        )
    rest = len(counts) - 2
    more = (
        f" Rows with a level that fewer than {K} training rows have are left out." if rest else ""
    )
    codec = _codec(comparison.schema[factor.name], shown, counts, left_out=True)
    return family, codec, f"The event is {factor} = {shown[1]!r}.{more}"


def _codec(
    column: Column, levels: Sequence[str], counts: pl.DataFrame, *, left_out: bool
) -> ColumnCodec:
    """Tell some levels of training apart; all others are one level, or left out."""
    rest = {level: times for level, times in counts.iter_rows() if level not in levels}
    return ColumnCodec(column, labels=tuple(levels), rest=rest, first=1, closed=left_out)


def _event(codec: ColumnCodec, texts: pl.Series) -> Floats:
    codes = _level_numbers(codec, texts).astype(float)
    return np.where(codes < 0, np.nan, codes)


def _numbers(comparison: Comparison, source: Source, factor: Factor) -> Floats:
    """Give a factor as numbers: dates in years since 1970, logarithms above zero only."""
    numbers = source.numbers(factor.name)
    if comparison.schema[factor.name].kind == "date":
        numbers = numbers / YEAR
    if factor.function == "log":
        numbers = np.where(numbers > 0, numbers, np.nan)
        numbers = np.log(numbers)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _factor_codec(
    factor: Factor, column: Column, texts: pl.Series, most: int
) -> tuple[ColumnCodec, str]:
    """Choose the levels that are told apart: frequent enough in training, the first the base."""
    counts = level_counts(texts)
    kept = counts.filter(pl.col("times") >= K).head(most)
    lumped = int(counts["times"].sum()) - int(kept["times"].sum())
    codec = _codec(column, kept["level"].to_list(), counts, left_out=lumped < K)
    if not codec.levels:
        raise Impossible(f"The factor {factor} has no level that {K} training rows have.")
    if counts.height == kept.height == 1:
        return codec, f"{factor} has one level only in training, so it has no coefficient."
    if counts.height == kept.height:
        return codec, ""
    became = "are left out with their rows" if codec.closed else "are one level"
    why = f"fewer than {K} training rows have" + (
        f", or beyond the {most} most frequent (option levels)," if kept.height == most else ""
    )
    return codec, f"{factor}: levels that {why} {became}."


ModelColumn = tuple[tuple[Factor, int], ...]


def _lost(
    formula: Formula,
    columns: Sequence[ModelColumn],
    codecs: Mapping[Factor, ColumnCodec],
    response: ColumnCodec | None,
    synthetic: Sequence[pl.DataFrame],
) -> tuple[NDArray[np.bool_], list[str]]:
    """Mark the columns of factors, or all, for whose levels too many synthetic rows are left out.

    Say how many rows have a level that training lacks.
    """
    lost, said = np.zeros(len(columns), bool), []
    rows = sum(frame.height for frame in synthetic)
    coded = {**codecs, **({} if response is None else {formula.response: response})}
    for factor, codec in coded.items():
        texts = [frame[factor.name] for frame in synthetic]
        known = [*codec.levels, *codec.rest]
        foreign = sum(int((~text.drop_nulls().is_in(known)).sum()) for text in texts)
        if foreign:
            share = f"{foreign:,} of {rows:,} rows ({100 * foreign / rows:.3g} %)"
            became = "they are left out" if codec.closed else "they are in (all others)"
            said.append(
                f"synthetic: {share} have a level of {factor} that training lacks; {became}."
            )
        lacking = sum(int((_level_numbers(codec, text) < 0).sum()) for text in texts)
        if lacking - sum(text.null_count() for text in texts) > MOST_LOST * rows:
            mine = factor == formula.response
            lost |= np.array([mine or factor in dict(column) for column in columns])
            whose = "every coefficient" if mine else f"the coefficients of {factor}"
            said.append(
                f"More than {100 * MOST_LOST:.0f} % of the synthetic rows are left out for their "
                f"level of {factor}, so {whose} count as not told."
            )
    return lost, said


def _columns(formula: Formula, codecs: Mapping[Factor, ColumnCodec]) -> list[ModelColumn]:
    """List the columns, each a product of numbers and marks of levels.

    A factor of levels leaves out its base where the term without the factor is in the model, as in
    R; without an intercept, the first factor of levels takes its place.
    """
    columns: list[ModelColumn] = [()] if formula.intercept else []
    present: set[frozenset[Factor]] = {frozenset(term) for term in formula.terms}
    if formula.intercept:
        present.add(frozenset())
    for term in formula.terms:
        choices: list[Sequence[tuple[Factor, int]]] = []
        for factor in term:
            if factor not in codecs:
                choices.append([(factor, -1)])
                continue
            rest = frozenset(term) - {factor}
            first = 1 if rest in present else 0
            if not rest:
                present.add(rest)
            choices.append([(factor, c) for c in range(first, len(_level_names(codecs[factor])))])
        columns += [tuple(some) for some in product(*choices)]
    return columns


def _name(column: ModelColumn, codecs: Mapping[Factor, ColumnCodec]) -> str:
    if not column:
        return INTERCEPT
    return ":".join(str(f) if c < 0 else f"{f}[{_level_names(codecs[f])[c]}]" for f, c in column)


def _rows(
    response: Floats,
    columns: Sequence[ModelColumn],
    codes: Mapping[Factor, NDArray[np.int64]],
    numbers: Mapping[Factor, Floats],
) -> ModelRows:
    whole = ~np.isnan(response)
    for code in codes.values():
        whole &= code >= 0
    for number in numbers.values():
        whole &= ~np.isnan(number)
    made = np.ones((int(whole.sum()), len(columns)), order="F")
    for place, column in enumerate(columns):
        for factor, level in column:
            made[:, place] *= numbers[factor][whole] if level < 0 else codes[factor][whole] == level
    return ModelRows(response[whole], made, int((~whole).sum()))


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


def fit(rows: ModelRows, family: str, which: str) -> Fit:
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


def _check(rows: ModelRows, family: str, which: str) -> None:
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
