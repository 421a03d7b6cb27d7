"""The measure: how far intervals from real and from synthetic rows agree."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, around, described
from understudy.measures.pictures import K
from understudy.measures.utility.estimates.agreement import (
    overlaps,
    same_sign,
    same_significance,
    standardised,
    width_ratios,
)
from understudy.measures.utility.estimates.choice import choose
from understudy.measures.utility.estimates.contrast import Contrast, contrast
from understudy.measures.utility.estimates.design import FAMILIES, Design, Impossible, design
from understudy.measures.utility.estimates.formula import Formula, check_formulas
from understudy.options import AtLeast, OneOf

AUTO = "auto"
NAMED = 5
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
    _check(comparison, family, printed, resamples)
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
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=value,
        interval=around(value, float(np.mean([made.spread for _, made in found])), 0.0, 1.0),
        reference=float(np.mean(references)) if len(references) == len(found) else None,
        parts=tuple(part for pair in found for part in _parts(*pair, several=several)),
        tables={"estimates": _table(found)},
        note=" ".join([*notes, ROUNDED]),
    )


def _check(comparison: Comparison, family: str, printed: bool, resamples: int) -> None:
    check_formulas(comparison.formula, comparison.names)
    if family not in (AUTO, *FAMILIES):
        raise OptionError(f"family = {family!r}", hint=near(str(family), [AUTO, *FAMILIES]))
    if not isinstance(printed, bool):
        raise OptionError(f"printed = {printed!r}", hint="use true or false")
    if resamples < 2:
        raise OptionError(f"resamples = {resamples}", hint="use at least 2")


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
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _finite(number: Any) -> float | None:
    return None if number is None or not np.isfinite(number) else float(number)
