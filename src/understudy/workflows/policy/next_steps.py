"""What to do next after a rule failed or could not be decided."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.synthesizers import SYNTHESIZERS

DRIVERS = 3
MANY = 100


@dataclass(frozen=True)
class RuleNumbers:
    """The numbers that a rule was decided on.

    ``side`` is 1 where the interval must lie at or below the bound, -1 where at or above.
    """

    value: float | None
    interval: tuple[float, float]
    bound: float
    side: int


def next_steps(
    finding: Mapping[str, Any] | None,
    provenance: Mapping[str, Any],
    *,
    measure: str,
    outcome: str,
    missed: RuleNumbers | None = None,
) -> tuple[str, ...]:
    """Say in sentences what could change a verdict, or help to understand it.

    Parameters
    ----------
    finding : mapping or None
        As in the JSON contract; None where it was not measured.
    provenance : mapping
        As in the JSON contract.
    measure, outcome : str
        What the rule is about, and FAIL or INCONCLUSIVE.
    missed : RuleNumbers, optional
        What the rule was decided on, where there was an interval.

    Examples
    --------
    >>> next_steps(None, {}, measure="privacy.closest_record", outcome="INCONCLUSIVE")
    ('Measure it: --measures privacy.closest_record.',)
    """
    if finding is None:
        return (f"Measure it: --measures {measure}.",)
    if finding["status"] == "not_applicable":
        return ("Give what it needs, as its note says, and assess again.",)
    if finding["status"] == "failed":
        return ("Its note says why it failed: mend the tables or the options and assess again.",)
    steps = []
    if missed is None:
        steps.append("There is no interval to decide on: see why, and measure what is missing.")
    elif outcome == "INCONCLUSIVE":
        steps.append(_rows_needed(missed, provenance))
    if finding.get("reference") is None and not provenance.get("holdout"):
        steps.append("Give a holdout: without one there is no reference (understudy split).")
    steps.append(_drivers(finding))
    if outcome == "FAIL":
        steps += _another_table(measure, provenance)
    return tuple(filter(None, steps))


def _rows_needed(missed: RuleNumbers, provenance: Mapping[str, Any]) -> str:
    """Say how many times the rows would narrow the interval enough, if the value stays."""
    value, (low, high) = missed.value, missed.interval
    if value is None:
        return ""
    room = missed.side * (missed.bound - value)
    below = room > 0 if missed.side > 0 else room <= 0
    reach = high - value if below else value - low
    start = (
        f"The value itself {'keeps to' if room >= 0 else 'breaks'} the bound, but its interval is "
        "too wide to tell: "
    )
    times = math.inf if room == 0 else (reach / room) ** 2
    if times > MANY:
        return f"{start}it lies so near the bound that no number of rows at hand will tell."
    held = (provenance.get("holdout") or {}).get("rows")
    rows = f" (about {_round(times * held):,} holdout rows)" if held else ""
    return f"{start}about {times:.1f} times as many rows in every table{rows} would decide it."


def _round(number: float) -> int:
    """Round up to two digits that matter.

    Examples
    --------
    >>> _round(12345.0)
    13000
    """
    unit = 10 ** max(int(math.log10(max(number, 1))) - 1, 0)
    return int(math.ceil(number / unit) * unit)


def _drivers(finding: Mapping[str, Any]) -> str:
    """Name the parts that are furthest on the worse side of their references."""
    sign = -1.0 if finding.get("better") == "higher" else 1.0
    apart = [
        (sign * (part["value"] - part["reference"]), part["name"])
        for part in finding.get("parts") or ()
        if part.get("value") is not None
        and part.get("reference") is not None
        and part.get("unit") in (None, "", finding.get("unit"))
    ]
    worst = [name for excess, name in sorted(apart, reverse=True)[:DRIVERS] if excess > 0]
    return f"What drives it most: {'; '.join(worst)}." if worst else ""


def _another_table(measure: str, provenance: Mapping[str, Any]) -> list[str]:
    """Say how another table could be made that does better."""
    method = SYNTHESIZERS.get(str(provenance.get("method") or ""))
    card = None if method is None else method.card
    steps = []
    if measure.split(".")[0] in ("privacy", "attack"):
        steps.append(
            "See which records drive it: --register FILE lists them, for the steward alone."
        )
        if card is not None and card.coarser:
            steps.append(f"Make {card.name} coarser: {card.coarser}.")
        else:
            steps.append("Make the generator coarser, with larger leaves or fewer relations.")
    elif card is not None and card.finer:
        steps.append(f"Make {card.name} finer: {card.finer}.")
    steps.append(
        "Try other methods side by side: understudy benchmark TRAIN --methods forest,cart."
    )
    return steps
