"""The READMEs of the two folders."""

from collections.abc import Mapping, Sequence
from typing import Any

MEANS = {
    "PASS": "Every rule of the policy is kept, decided on the interval of each finding.",
    "FAIL": "At least one rule of the policy is broken. This table is not to be handed over.",
    "INCONCLUSIVE": "No rule is broken, but not every rule could be decided: this is not a pass. "
    "Whoever hands the table over does so by their own decision.",
}
FILES = """\
- `report.html`: what was measured, with pictures; opens in a browser.
- `assessment.json`: the same numbers for programs.
- `verdict.json`, `junit.xml`: what became of each rule.
"""
UNCOVERED = """\
The epsilon that is told below covers the synthetic files alone. The report, the assessment and the
verdict were computed from the real rows without noise, and tell how many there are: what they tell
comes on top. Where epsilon is all that may be told, hand on the synthetic files and no other.
"""
SPLIT = """\
The real table was split at random. The model learnt from one part; rows that it never saw are the
control that the report compares with. In the formulas below, n is the number of rows that it learnt
from, not that of the whole real table"""
STEWARD = """\
# For the steward alone

Real rows, a seed and a key are in this folder: it must not leave the house.

{verdict}

## What lies here

- `train.parquet`, `holdout.parquet`: the real table in two parts, {train:,} and {holdout:,} rows.
- `release.model`: the fitted model, which contains {model}.
- `candidate/`: the synthetic table that was judged, with its report and verdict{copied}.
- `register.parquet`: single records at risk; `report.html`: the report with them.
- `receipt.json`: `understudy verify receipt.json` repeats the assessment and says what differs.
- `plan.json`: what was asked for, with the seed; `files.json`: keyed digests of all files made.
"""
TRIES = """\
Trying methods and seeds until a gate opens makes its verdict worthless: each try is one more chance
to pass by luck. Keep this folder as the record of this one.
"""


def verdict_part(
    outcome: str, verdicts: Sequence[Mapping[str, Any]], *, steps: bool = False
) -> str:
    """Say what the policy decided, rule by rule; for the steward also what to do next."""
    lines = [f"## Verdict: {outcome}", "", MEANS[outcome], ""]
    for verdict in verdicts:
        lines.append(f"- {verdict['outcome']}: {verdict['rule']}; {verdict['why'].rstrip('.')}.")
        if steps:
            lines += [f"  - {step}" for step in verdict.get("next", ())]
    return "\n".join(
        [
            *lines,
            "",
            "A verdict is about what was measured, not about attacks that nobody measured.",
        ]
    )


def handover(
    readme: str,
    outcome: str,
    verdicts: Sequence[Mapping[str, Any]],
    *,
    train: int,
    holdout: int,
    epsilon: float | None = None,
) -> str:
    """Put the verdict, the files and the rows learnt from into the README of the files.

    Under epsilon the numbers of rows are no public facts, and are left to the report.
    """
    title, what, rest = readme.split("\n\n", 2)
    numbers = f": n = {train:,}, and the control has {holdout:,}."
    parts = [
        title,
        what,
        verdict_part(outcome, verdicts),
        "## Beside the data",
        FILES.strip(),
        *([] if epsilon is None else [UNCOVERED.strip()]),
        "## Which rows it learnt from",
        SPLIT + (numbers if epsilon is None else "."),
        rest,
    ]
    return "\n\n".join(parts)


def steward(
    outcome: str,
    verdicts: Sequence[Mapping[str, Any]],
    *,
    train: int,
    holdout: int,
    model: str,
) -> str:
    """Say what lies in the steward's folder, and what to do after a verdict that is no pass."""
    told = verdict_part(outcome, verdicts, steps=True)
    copied = "; the folder handed over is a copy of it" if outcome == "PASS" else ""
    text = STEWARD.format(
        verdict=told, train=train, holdout=holdout, model=model.rstrip("."), copied=copied
    )
    return text if outcome == "PASS" else f"{text}\n{TRIES}"
