"""One model on real and on synthetic rows: what may be shown of it, and what fresh rows would get.

What is shown of real rows must not give one away, as in ``fidelity.moments``:

- a coefficient is withheld if fewer than five training rows decide it (``fitting._swayed``): a mark
  that eight rows have is withheld by this, and what an outlier moves;
- a column that training cannot tell is named only if it is not a mark of fewer than five rows;
- real estimates are rounded to about error / √n, their errors to about error / n: who knows
  all rows but one learns that one no better than to half a deviation. All that is computed of
  real and synthetic intervals together is computed from the rounded ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison
from understudy.measures.pictures import few_dominate
from understudy.measures.utility.estimates.agreement import Floats, Intervals, overlaps
from understudy.measures.utility.estimates.design import Design, Impossible, Rows
from understudy.measures.utility.estimates.fitting import Fit, fit, together
from understudy.measures.utility.estimates.rules import RULES, Combined

FEWEST = 10
DIGITS = 3


@dataclass(frozen=True)
class Contrast:
    """Intervals of the coefficients that may be shown; ``fresh`` is the holdout in disguise.

    ``told`` says which coefficients the holdout has, ``spread`` is the standard deviation of the
    mean overlap less the reference over redraws of the coefficients.
    """

    names: tuple[str, ...]
    real: Intervals
    synthetic: Intervals
    fresh: Intervals | None
    told: NDArray[np.bool_]
    combined: Combined
    spread: float
    dropped: tuple[str, ...]
    withheld: int
    notes: tuple[str, ...]

    @property
    def overlap(self) -> Floats:
        """The overlap of each coefficient's intervals."""
        return overlaps(self.real, self.synthetic)

    @property
    def value(self) -> float:
        """The mean overlap."""
        return float(self.overlap.mean())

    @property
    def reference(self) -> float | None:
        """The mean overlap that fresh real rows get."""
        if self.fresh is None:
            return None
        return float(overlaps(self.real, self.fresh)[self.told].mean())


def contrast(
    comparison: Comparison, model: Design, rule: str, *, printed: bool, resamples: int, label: str
) -> Contrast:
    """Fit the model to all tables and combine those of the release."""
    tables = 1 + len(model.synthetic) + (model.holdout is not None)
    steps = iter(range(1, tables + 1))

    def fitted(rows: Rows, which: str) -> Fit:
        made = fit(rows, model.family, which)
        comparison.progress(label, next(steps), tables)
        return made

    train = fitted(model.train, "training")
    if train.rows < FEWEST * int(train.known.sum()):
        raise Impossible(
            f"{train.rows:,} whole training rows are too few for {int(train.known.sum())} "
            f"coefficients: {FEWEST} for each are needed."
        )
    kept = train.known & ~train.swayed
    if not kept.any():
        raise Impossible(
            "Few training rows make most of every coefficient: nothing can be shown of them."
        )
    made = [fitted(rows, "the synthetic table") for rows in model.synthetic]
    control, notes = None, []
    if model.holdout is not None:
        try:
            control = fitted(model.holdout, "the holdout")
        except Impossible as why:
            notes.append(f"No reference: {why.message}")
    q, v = together(made)
    q[:, model.lost] = v[:, model.lost] = np.nan
    k = float(np.mean([f.rows for f in made]))
    combined = RULES[rule](q[:, kept], v[:, kept], k, float(train.rows), printed=printed)
    real = shown(train, kept)
    error = np.sqrt(combined.variance)
    synthetic = Intervals.of(combined.estimate, error, combined.freedom)
    told = np.zeros(int(kept.sum()), bool)
    fresh, size = None, 0.0
    if control is not None:
        told = (control.known & ~control.swayed)[kept]
        size = _size(train.rows, k * len(made), control.rows)
        if told.any():
            wider = _wider(combined, v[:, kept], k, train.rows) * math.sqrt(control.rows / k)
            fresh = _disguised(real, shown(control, kept), combined, wider, size)
        else:
            notes.append("No reference: the holdout tells no coefficient that may be shown.")
    few = ~train.known & np.array([_few(column) for column in model.train.design.T])
    untold = ~train.known & ~few
    noise = _Noise(comparison, kept, resamples, str(model.formula))
    spread = _spread(noise, train, made, control, (real, synthetic, fresh), told, size)
    return Contrast(
        tuple(np.array(model.names)[kept]),
        real,
        synthetic,
        fresh,
        told,
        combined,
        spread,
        tuple(np.array(model.names)[untold]),
        int((train.known & train.swayed | few).sum()),
        tuple(notes),
    )


def _few(column: Floats) -> bool:
    """Whether fewer than five rows make a column, or all that varies in it."""
    apart = column - column.mean()
    return not column.any() or few_dominate(column**2) or few_dominate(apart**2)


def shown(made: Fit, kept: NDArray[np.bool_]) -> Intervals:
    """Give real intervals as they may be shown: rounded."""
    estimate, error = made.estimate[kept], made.error[kept]
    coarse = np.array([_step(e / math.sqrt(made.rows)) for e in error])
    fine = np.array([max(_step(e / made.rows), _step(e / 10**DIGITS)) for e in error])
    return Intervals.of(_rounded(estimate, coarse), _rounded(error, fine), made.freedom)


def _step(size: float) -> float:
    """Give the smallest of 1, 2, 5, 10, … that is not below.

    Examples
    --------
    >>> _step(0.03), _step(0.0), _step(700.0)
    (0.05, 0.0, 1000.0)
    """
    if not size > 0:
        return 0.0
    ten = 10.0 ** math.floor(math.log10(size))
    return next(float(f"{n * ten:.6g}") for n in (1, 2, 5, 10) if n * ten >= size * (1 - 1e-12))


def _rounded(numbers: Floats, steps: Floats) -> Floats:
    return np.array(
        [
            float(f"{round(x / step) * step:.12g}") if step > 0 and math.isfinite(x) else x
            for x, step in zip(numbers, steps, strict=True)
        ]
    )


def _size(train: float, synthetic: float, holdout: float) -> float:
    """Give the ratio of the noise of a difference to training, synthetic rows for holdout rows."""
    return (1 / train + 1 / synthetic) / (1 / train + 1 / holdout)


def _disguised(
    real: Intervals, fresh: Intervals, combined: Combined, wider: Floats, size: float
) -> Intervals:
    """Treat the holdout as if it were the synthetic tables: as many rows, the same widening."""
    estimate = real.estimate + (fresh.estimate - real.estimate) * math.sqrt(size)
    return Intervals.of(estimate, fresh.error * wider, combined.freedom)


def _wider(combined: Combined, v: Floats, k: float, n: float) -> Floats:
    """Say by how much the rule widens intervals; as the simple rule does where that is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = combined.variance / v.mean(axis=0)
    made: Floats = np.sqrt(np.where(np.isfinite(factor), factor, k / n + 1 / len(v)))
    return made


@dataclass(frozen=True)
class _Noise:
    """Redraws of the coefficients of a table, around zero, from the table's own stream."""

    comparison: Comparison
    kept: NDArray[np.bool_]
    resamples: int
    formula: str

    def of(self, fit: Fit, *who: str) -> Floats:
        values, vectors = np.linalg.eigh(fit.spread[np.ix_(self.kept, self.kept)])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        rng = self.comparison.stream("utility.estimates", self.formula, *who)
        drawn: Floats = rng.normal(size=(self.resamples, len(root))) @ root.T
        return drawn


def _spread(
    noise: _Noise,
    train: Fit,
    made: Sequence[Fit],
    control: Fit | None,
    intervals: tuple[Intervals, Intervals, Intervals | None],
    told: NDArray[np.bool_],
    size: float,
) -> float:
    """Give the deviation of value less reference, the coefficients of all tables drawn again."""
    real, synthetic, fresh = intervals
    here = noise.of(train, "train")
    there = np.mean([noise.of(f, "synthetic", str(i)) for i, f in enumerate(made)], axis=0)
    again = real.moved(here)
    apart = overlaps(again, synthetic.moved(there)).mean(axis=1)
    if control is not None and fresh is not None:
        moved = here + (noise.of(control, "holdout") - here) * math.sqrt(size)
        apart = apart - overlaps(again, fresh.moved(moved))[:, told].mean(axis=1)
    return float(np.std(apart, ddof=1))
