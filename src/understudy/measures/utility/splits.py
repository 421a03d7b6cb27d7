"""Repeated holdout: a generator fitted anew on each of several splits of the real rows."""

import inspect
import math
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import DataError, OptionError, UnderstudyError, interrupted
from understudy.judging.comparison import Comparison, compare_tables
from understudy.judging.findings import LEVEL

TEST_SHARE = 0.2
T = TypeVar("T")


def refits(
    comparison: Comparison, name: str, splits: int, work: Callable[[Comparison], T]
) -> Iterator[T]:
    """Split all real rows, fit the generator to four fifths, and compare what it makes.

    Each comparison has as many synthetic rows as training rows, and the other fifth as holdout. A
    generator that fails is an error that names the split. Rows are the unit of the splits.
    """
    if not callable(getattr(comparison.fit, "fit", comparison.fit)):
        raise OptionError(
            f"fit: a {type(comparison.fit).__name__} is no generator",
            hint="give an object with fit(table) and sample(rows), such as a synthesizer, or a "
            "function of the table that gives a function of the number of rows",
        )
    frame = _real_rows(comparison)
    label = f"{name}: splits"
    for number in range(splits):
        comparison.progress(label, number, splits)
        order = comparison.stream(name, "split", str(number)).permutation(frame.height)
        try:
            compared = _compared(comparison, frame, order)
        except Exception as error:
            if interrupted(error):
                raise
            # another library's message may quote a person's value, and findings are shared
            why = error.message if isinstance(error, UnderstudyError) else type(error).__name__
            raise DataError(
                f"the generator failed on split {number + 1} of {splits}: {why}",
                hint="nothing is averaged over a failure: it must make a table on every split",
            ) from error
        yield work(compared)
    comparison.progress(label, splits, splits)


def corrected_half(differences: NDArray[np.float64]) -> float:
    """Give half the width of the interval of a mean difference over overlapping splits.

    Splits share training rows, so that their differences are not independent: the variance of the
    mean is (1/J + tests/training) times that of one difference, with Student's t of J - 1 degrees
    of freedom (Nadeau and Bengio 2003).

    Examples
    --------
    >>> round(corrected_half(np.array([1.0, 2.0, 3.0])), 4)
    3.2862
    """
    from scipy.stats import t

    number = len(differences)
    factor = 1 / number + TEST_SHARE / (1 - TEST_SHARE)
    spread = float(np.std(differences, ddof=1)) * math.sqrt(factor)
    return float(t.ppf((1 + LEVEL) / 2, number - 1)) * spread


def _real_rows(comparison: Comparison) -> pl.DataFrame:
    """Pool training and holdout, in an order that depends on the values only."""
    frames, texts = [], []
    for which in ("train", "holdout"):
        source = comparison.source(which)
        frames.append(source.table.frame.select(comparison.names))
        texts.append(source.rows())
    first, second = frames
    differing = [n for n in comparison.names if first[n].dtype != second[n].dtype]
    pooled = pl.concat([f.with_columns(pl.col(differing).cast(pl.String)) for f in frames])
    order = pl.concat(texts).with_row_index("  row").sort(sorted(comparison.names))["  row"]
    return pooled[order.to_numpy()]


def _compared(comparison: Comparison, frame: pl.DataFrame, order: NDArray[np.int64]) -> Comparison:
    """Fit the generator to four fifths of the rows, and let it make as many."""
    tests = math.ceil(TEST_SHARE * len(order))
    train, test = frame[np.sort(order[tests:])], frame[np.sort(order[:tests])]
    generator, schema = comparison.fit, comparison.schema
    fit = getattr(generator, "fit", generator)
    takes_schema = "schema" in inspect.signature(fit).parameters
    fitted = fit(train, **({"schema": schema} if takes_schema else {}))
    model = generator if fitted is None else fitted
    made = getattr(model, "sample", model)(train.height)
    return compare_tables(
        train, made, test, schema=schema, target=comparison.target, seed=comparison.seed
    )
