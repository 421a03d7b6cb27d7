"""What models of both tables got, side by side: findings and parts of ``utility.regression``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, Z
from understudy.measures.utility.learners import Learner, headline
from understudy.measures.utility.scores import SCORES, coarse, score, telling
from understudy.measures.utility.splits import corrected_half

Floats = NDArray[np.float64]
UNITS = {"R²": "R²", "MAE": "in the target's unit", "MAPE": "fraction"}
WIDEST = 2.0
HIDDEN = (
    "Few real rows have a target so far out that errors in its unit would give them away: MAE and "
    "MAPE are withheld, and R² has two digits and is no worse than -1."
)
WITHHELD = "Errors that few rows make most of are withheld."


@dataclass(frozen=True)
class Pair:
    """What a model of synthetic and one of training guess about the holdout.

    ``without`` has for each of them the guesses of models trained without some of the rows.
    """

    made: Floats
    real: Floats
    without: tuple[Sequence[Floats], Sequence[Floats]]


@dataclass(frozen=True)
class Contest:
    """The truth about the holdout, what the models guess, and the mean of training.

    ``far_out``: few real rows have a target far from all others. ``sizes`` say which rows were
    used, ``remarks`` what else is to be said.
    """

    truth: Floats
    pairs: Sequence[Pair]
    mean: Floats
    far_out: bool
    sizes: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A score of a model of synthetic, of training and of the mean, and half its interval."""

    made: float
    real: float
    naive: float
    half: float
    more: Mapping[str, float] = field(default_factory=dict)

    def coarse(self) -> "Line":
        """Give the line as it may be shown where few rows are far out."""
        more = {name: coarse(min(value, WIDEST)) for name, value in self.more.items()}
        half = coarse(min(self.half, WIDEST))
        return Line(coarse(self.made), coarse(self.real), coarse(self.naive), half, more)


def once(card: Card, chosen: Sequence[Learner], found: Contest) -> Finding:
    """Make the finding of one split."""
    lines = {
        (place, name): _line(found, place, name) for place in range(len(chosen)) for name in SCORES
    }
    return _finding(card, chosen, lines, found.far_out, [*found.sizes, *found.remarks], {})


def over_splits(card: Card, chosen: Sequence[Learner], several: Sequence[Contest]) -> Finding:
    """Make the finding of a generator: means over splits, intervals paired over them."""
    far_out = any(found.far_out for found in several)
    lines, head = {}, []
    for place in range(len(chosen)):
        for name in SCORES:
            single = [_line(found, place, name) for found in several]
            known = [line for line in single if line is not None]
            lines[place, name] = _mean(known) if len(known) == len(several) else None
            if (place, name) == (headline(chosen), "R²"):
                head = [line.coarse() if far_out else line for line in known]
    rows = tuple((i, one.made, one.real, one.real - one.made) for i, one in enumerate(head, 1))
    table = TableOfNumbers(("split", "synthetic", "training", "difference"), rows)
    notes = [
        f"Of the generator: it was fitted anew on {len(several)} splits of all real rows; the "
        "synthetic table given was not looked at. Rows are the unit of the splits: rows of one "
        "person or household may be on both sides.",
        *(f"Split 1: {note}" for note in several[0].sizes),
        *dict.fromkeys(note for found in several for note in found.remarks),
    ]
    return _finding(card, chosen, lines, far_out, notes, {"splits": table})


def _line(found: Contest, place: int, name: str) -> Line | None:
    """Score the models of both tables; nothing where that would give single rows away."""
    pair = found.pairs[place]
    if any(telling(name, found.truth, guess) for guess in (pair.made, pair.real, found.mean)):
        return None
    made, of_made = score(name, found.truth, pair.made)
    real, of_real = score(name, found.truth, pair.real)
    apart = of_made - of_real
    variance = float(apart @ apart)
    for guesses in pair.without:
        again = [score(name, found.truth, guess)[0] for guess in guesses]
        variance += (len(again) - 1) * float(np.var(again)) if again else 0.0
    return Line(made, real, score(name, found.truth, found.mean)[0], Z * math.sqrt(variance))


def _mean(lines: Sequence[Line]) -> Line:
    made, real, naive = np.array([(line.made, line.real, line.naive) for line in lines]).T
    spreads = {"spread": float(made.std(ddof=1)), "real_spread": float(real.std(ddof=1))}
    half = corrected_half(real - made)
    return Line(float(made.mean()), float(real.mean()), float(naive.mean()), half, spreads)


def _finding(
    card: Card,
    chosen: Sequence[Learner],
    lines: Mapping[tuple[int, str], Line | None],
    far_out: bool,
    notes: list[str],
    tables: Mapping[str, TableOfNumbers],
) -> Finding:
    """Put the headline in front; MAE and MAPE are withheld where few real rows are far out."""
    shown = {
        (place, name): None
        if line is None or (far_out and name != "R²")
        else (line.coarse() if far_out else line)
        for (place, name), line in lines.items()
    }
    head = shown[headline(chosen), "R²"]
    if head is None:
        raise ValueError("R² is never withheld")
    if None in shown.values():
        notes.append(HIDDEN if far_out else WITHHELD)
    return Finding(
        card.name,
        unit=card.unit,
        better=card.better,
        value=head.made,
        interval=(head.made - head.half, max(head.made, min(1.0, head.made + head.half))),
        reference=head.real,
        baselines={"original": head.real, "naive": head.naive},
        parts=tuple(
            _part(f"{chosen[place].title}: {name}", UNITS[name], line)
            for (place, name), line in shown.items()
        ),
        tables=tables,
        note=" ".join(notes),
    )


def _part(title: str, unit: str, line: Line | None) -> Part:
    """Give value and reference, their difference (real − synthetic) and its interval."""
    if line is None:
        return Part(title, None, unit=unit)
    apart = line.real - line.made
    more = {"difference": apart, "low": apart - line.half, "high": apart + line.half}
    ends = (line.made - line.half, line.made + line.half)
    return Part(title, line.made, line.real, {**more, "naive": line.naive, **line.more}, unit, ends)
