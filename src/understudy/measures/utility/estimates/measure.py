"""One model on real and on synthetic rows: how far its intervals agree, and what may be shown.

What is shown of real rows must not give one away, as in ``fidelity.moments``:

- a coefficient is withheld if fewer than five training rows decide it (``model._swayed``): a mark
  that eight rows have is withheld by this, and what an outlier moves;
- a column that training cannot tell is named only if it is not a mark of fewer than five rows;
- real estimates are rounded to about error / √n, their errors to about error / n: who knows
  all rows but one learns that one no better than to half a deviation. All that is computed of
  real and synthetic intervals together is computed from the rounded ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.matrix import Floats
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, around, described
from understudy.measures.overlap import (
    Intervals,
    overlaps,
    same_sign,
    same_significance,
    standardised,
    width_ratios,
)
from understudy.measures.pictures import K, few_dominate
from understudy.measures.utility.estimates.formula import Formula, check_formulas
from understudy.measures.utility.estimates.model import (
    FAMILIES,
    Design,
    Fit,
    Impossible,
    ModelRows,
    design,
    fit,
    together,
)
from understudy.measures.utility.estimates.rules import RULES, Combined, choose
from understudy.options import AtLeast, OneOf

AUTO = "auto"
ROWS_PER_COEFFICIENT = 10
DIGITS = 3
MOST_NAMED = 5
COLUMNS = (
    "model",
    "term",
    "real estimate",
    "real low",
    "real high",
    "synthetic estimate",
    "synthetic low",
    "synthetic high",
    "overlap",
    "width ratio",
    "standardised difference",
    "same sign",
    "same significance",
)
NO_HOLDOUT = "No holdout was given, so it is not known what fresh real rows would get."
WHY = "a value is missing, a level is not told apart, or a logarithm is of zero or less"
ROUNDED = (
    "Real estimates are rounded to about their error / √n, and what is computed with them too."
)

CARD = Card(
    name="utility.estimates",
    title="The analyst's own model",
    meaning="How far the 95 % intervals of a model's coefficients agree between the real table "
    "and the synthetic tables together: the mean overlap.",
    formula="overlap = ½ (|common part| / |real interval| + |common part| / |synthetic interval|), "
    "0 if they lie apart, mean over the coefficients. Synthetic tables are combined by the rule "
    "that fits how they were made, which the note names. The reference is the overlap of the "
    "holdout, put in the place of the synthetic tables: its distance to training rescaled to their "
    "number of rows, its intervals widened as theirs. Interval: of the difference to the "
    "reference, around the value: 1.96 standard deviations over redraws of all tables' "
    "coefficients from their normal distributions (sandwich covariance). Several models: the mean",
    unit="fraction",
    better="higher",
    headline="mean overlap of the coefficients' 95 % intervals",
    source="Karr et al. 2006; Dandekar et al. 2019, equations 1, 4 and 5; Reiter 2002, 2003; Raab, "
    "Nowok and Dibben 2016",
    not_shown="Only the models given: another question may be answered worse. An interval that is "
    "uselessly wide around the other still overlaps by a half, so read the width ratio and the "
    "standardised difference beside it. A copy of training agrees perfectly.",
    needs=("formula",),
    together=True,
)


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


@described(CARD)
def estimates(
    comparison: Comparison,
    *,
    family: Annotated[str, OneOf(AUTO, *FAMILIES)] = AUTO,
    rule: str = AUTO,
    printed: bool = False,
    levels: int = 30,
    resamples: Annotated[int, AtLeast(2)] = 1000,
) -> Finding:
    """Mean overlap of the intervals of a model's coefficients, real and synthetic."""
    check_formulas(comparison.formula, comparison.names)
    label = f"{CARD.name}: fitting"
    found: list[tuple[Design, Contrast]] = []
    for text in comparison.formula:
        try:
            chosen = choose(comparison, rule)
            model = design(comparison, Formula.parse(text), family, levels)
            made = contrast(
                comparison, model, chosen.rule, printed=printed, resamples=resamples, label=label
            )
        except Impossible as error:
            return CARD.not_applicable(f"{text.strip()}: {error}")
        found.append((model, made))
    several = len(found) > 1
    value = float(np.mean([made.value for _, made in found]))
    references = [made.reference for _, made in found if made.reference is not None]
    notes = [] if comparison.has_holdout else [NO_HOLDOUT]
    notes += chosen.words()
    if printed and chosen.rule != "partially":
        notes.append("The option printed changes the rule partially only: here it changes nothing.")
    for model, made in found:
        about = f"{model.formula}: " if several else ""
        notes += [f"{about}{note}" for note in _notes(comparison, model, made, chosen.rule)]
    return CARD.finding(
        value=value,
        interval=around(value, float(np.mean([made.spread for _, made in found])), 0.0, 1.0),
        reference=float(np.mean(references)) if len(references) == len(found) else None,
        parts=tuple(part for pair in found for part in _parts(*pair, several=several)),
        tables={"estimates": _table(found)},
        note=" ".join([*notes, ROUNDED]),
    )


def _parts(model: Design, made: Contrast, *, several: bool) -> list[Part]:
    about = f"{model.formula} · " if several else ""
    fresh: NDArray[Any] | list[None] = [None] * len(made.names)
    if made.fresh is not None:
        fresh = np.where(made.told, overlaps(made.real, made.fresh), np.nan)
    ratios, apart = width_ratios(made.real, made.synthetic), standardised(made.real, made.synthetic)
    parts = [
        Part(
            f"{about}{name}",
            float(made.overlap[i]),
            _finite(fresh[i]),
            {
                "train_estimate": _finite(made.real.estimate[i]),
                "train_error": _finite(made.real.error[i]),
                "synthetic_estimate": _finite(made.synthetic.estimate[i]),
                "synthetic_error": _finite(made.synthetic.error[i]),
                "width_ratio": _finite(ratios[i]),
                "standardised_difference": _finite(apart[i]),
            },
        )
        for i, name in enumerate(made.names)
    ]
    for name, agrees in (("same sign", same_sign), ("same significance", same_significance)):
        share = float(agrees(made.real, made.synthetic).mean())
        other = None
        if made.fresh is not None:
            other = float(agrees(made.real, made.fresh)[made.told].mean())
        parts.append(Part(f"{about}({name})", share, other))
    return parts


def _table(found: list[tuple[Design, Contrast]]) -> TableOfNumbers:
    rows: list[tuple[Any, ...]] = []
    for model, made in found:
        sides = [side for s in (made.real, made.synthetic) for side in (s.estimate, s.low, s.high)]
        numbers = np.column_stack(
            [
                *sides,
                made.overlap,
                width_ratios(made.real, made.synthetic),
                standardised(made.real, made.synthetic),
            ]
        )
        agreed = [
            [("no", "yes")[int(yes)] for yes in agrees(made.real, made.synthetic)]
            for agrees in (same_sign, same_significance)
        ]
        for name, values, *words in zip(made.names, numbers.tolist(), *agreed, strict=True):
            shown = [_finite(float(f"{x:.10g}")) for x in values]
            rows.append((str(model.formula), name, *shown, *words))
    return TableOfNumbers(COLUMNS, tuple(rows))


def _notes(comparison: Comparison, model: Design, made: Contrast, rule: str) -> list[str]:
    """Say which model it is, and everything that was left out."""
    said = [f"The model is {model.family}.", *model.notes, *_left_out(model)]
    if made.dropped:
        said.append(
            f"Left out, training cannot tell them (redundant or separated): {_some(made.dropped)}."
        )
    if made.withheld:
        said.append(
            f"{made.withheld} of {made.withheld + len(made.names)} coefficients are withheld and "
            f"not counted: fewer than {K} training rows make most of each."
        )
    lost = [
        n for n, there in zip(made.names, np.isfinite(made.synthetic.estimate), strict=True)
        if not there
    ]  # fmt: skip
    if lost:
        said.append(f"The synthetic table cannot tell, so overlap is 0: {_some(lost)}.")
    if made.combined.negative.any():
        said.append(
            f"T_f was not above zero for {int(made.combined.negative.sum())} of "
            f"{len(made.names)} coefficients; (k/n) v̄ takes its place (Reiter 2002)."
        )
    loose = int((made.combined.freedom < 1).sum())
    if loose:
        said.append(
            f"The t of the rule {rule} has less than one degree of freedom for {loose} of "
            f"{len(made.names)} coefficients: their intervals are too wide to be of use, so take "
            "another rule, or more tables."
        )
    if made.fresh is not None and not made.told.all():
        said.append(
            f"The reference is of {int(made.told.sum())} of these, the holdout tells no more."
        )
    return [*said, *made.notes]


def _left_out(model: Design) -> list[str]:
    said = []
    tables = [("training", [model.train]), ("synthetic", model.synthetic)]
    tables += [("the holdout", [model.holdout])] if model.holdout is not None else []
    for name, rows in tables:
        gone, whole = sum(r.left_out for r in rows), sum(len(r) for r in rows)
        if gone:
            count = f"{gone:,}" if gone >= K or name == "synthetic" else f"fewer than {K}"
            said.append(f"{name}: {count} of {gone + whole:,} rows are left out ({WHY}).")
    return said


def _some(names: Any) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _finite(number: Any) -> float | None:
    return None if number is None or not np.isfinite(number) else float(number)


def contrast(
    comparison: Comparison, model: Design, rule: str, *, printed: bool, resamples: int, label: str
) -> Contrast:
    """Fit the model to all tables and combine those of the release."""
    tables = 1 + len(model.synthetic) + (model.holdout is not None)
    steps = iter(range(1, tables + 1))

    def fitted(rows: ModelRows, which: str) -> Fit:
        made = fit(rows, model.family, which)
        comparison.progress(label, next(steps), tables)
        return made

    train = fitted(model.train, "training")
    if train.rows < ROWS_PER_COEFFICIENT * int(train.known.sum()):
        raise Impossible(
            f"{train.rows:,} whole training rows are too few for {int(train.known.sum())} "
            f"coefficients: {ROWS_PER_COEFFICIENT} for each are needed."
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
    real = rounded_intervals(train, kept)
    error = np.sqrt(combined.variance)
    synthetic = Intervals.of(combined.estimate, error, combined.freedom)
    told = np.zeros(int(kept.sum()), bool)
    fresh, size = None, 0.0
    if control is not None:
        told = (control.known & ~control.swayed)[kept]
        size = _size(train.rows, k * len(made), control.rows)
        if told.any():
            wider = _wider(combined, v[:, kept], k, train.rows) * math.sqrt(control.rows / k)
            fresh = _disguised(real, rounded_intervals(control, kept), combined, wider, size)
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


def rounded_intervals(made: Fit, kept: NDArray[np.bool_]) -> Intervals:
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
    return np.sqrt(np.where(np.isfinite(factor), factor, k / n + 1 / len(v)))


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
