"""The stages of a release: each leaves whole files, and is skipped where they are there."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.schema import Schema
from understudy.data.tables import (
    Table,
    WholeFiles,
    read_marker,
    write_batches,
    write_file,
    write_text,
)
from understudy.jobs.progress import Progress, silent
from understudy.measures import MEASURES
from understudy.synthesizers import SYNTHESIZERS, load, synthesizer
from understudy.synthesizers.claims import claimed
from understudy.synthesizers.handover import Release, note_for, readme
from understudy.synthesizers.synthesizer import Synthesizer, warn
from understudy.workflows import policy as policies
from understudy.workflows import verify as receipt
from understudy.workflows.assess import assess_tables
from understudy.workflows.assessment import Assessment
from understudy.workflows.release import folders
from understudy.workflows.release.record import Record
from understudy.workflows.request import Request

CANDIDATE = "candidate"
MODEL = "release.model"
VERDICT = "verdict.json"
OUTCOME_MEANS = {
    "PASS": "Every rule of the policy is kept, decided on the interval of each finding.",
    "FAIL": "At least one rule of the policy is broken. This table is not to be handed over.",
    "INCONCLUSIVE": "No rule is broken, but not every rule could be decided: this is not a pass. "
    "Whoever hands the table over does so by their own decision.",
}
FILES_BESIDE = """\
- `report.html`: what was measured, with pictures; opens in a browser.
- `assessment.json`: the same numbers for programs.
- `verdict.json`, `junit.xml`: what became of each rule.
"""
NOT_UNDER_EPSILON = """\
The epsilon that is told below covers the synthetic files alone. The report, the assessment and the
verdict were computed from the real rows without noise, and tell how many there are: what they tell
comes on top. Where epsilon is all that may be told, hand on the synthetic files and no other.
"""
WHICH_ROWS = """\
The real table was split at random. The model learnt from one part; rows that it never saw are the
control that the report compares with. In the formulas below, n is the number of rows that it learnt
from, not that of the whole real table"""
STEWARD_README = """\
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
MANY_TRIES = """\
Trying methods and seeds until a gate opens makes its verdict worthless: each try is one more chance
to pass by luck. Keep this folder as the record of this one.
"""


@dataclass(frozen=True)
class Work:
    """The folder in which a plan is carried out, and what the columns of training are."""

    folder: Path
    plan: Mapping[str, Any]
    schema: Schema

    @property
    def record(self) -> Record:
        """The digests of the files made."""
        return Record(self.folder, bytes.fromhex(self.plan["key"]))

    @property
    def train(self) -> Path:
        """The rows to learn from."""
        return self.folder / "train.parquet"

    @property
    def holdout(self) -> Path:
        """The control."""
        return self.folder / "holdout.parquet"

    @property
    def model(self) -> Path:
        """The fitted model."""
        return self.folder / MODEL

    @property
    def candidate(self) -> Path:
        """What will be handed over if it passes."""
        return self.folder / CANDIDATE

    @property
    def note(self) -> Path | None:
        """The README beside synthetic files that cannot carry a marker inside."""
        return note_for(self.candidate / f"synthetic{self.plan['extension']}")

    @property
    def synthetic(self) -> list[Path]:
        """The synthetic files, one for each replicate."""
        extension, several = self.plan["extension"], self.plan["replicates"]
        if several == 1:
            return [self.candidate / f"synthetic{extension}"]
        return [self.candidate / f"synthetic_{n}{extension}" for n in range(1, several + 1)]

    @property
    def request(self) -> Request:
        """What is asked of the assessment."""
        own = {name: given for name, given in self.plan["options"].items() if name in MEASURES}
        return Request.from_dict({**self.plan, "options": own})

    def synthesizer(self, progress: Progress = silent) -> Synthesizer:
        """Make the method, with the options of the plan."""
        method = self.plan["method"]
        return synthesizer(method, progress=progress, **self.plan["options"].get(method, {}))

    def tables(self) -> tuple[Table, Table]:
        """Read both parts of the real table; their names say no place."""
        train, holdout = (Table.of(path, self.schema) for path in (self.train, self.holdout))
        return (
            dataclasses.replace(train, name="training table"),
            dataclasses.replace(holdout, name="holdout"),
        )


def split(work: Work, train: pl.DataFrame, holdout: pl.DataFrame) -> None:
    """Write the two parts of the real table."""
    if work.record.holds(work.train, work.holdout):
        return
    with WholeFiles() as files:
        for frame, path in ((train, work.train), (holdout, work.holdout)):
            write_batches([frame], files.add(path), like=path)
    work.record.add([work.train, work.holdout])


def synthesize(
    work: Work,
    progress: Progress,
    ledger: str | Path | None = None,
    tell: Callable[[str], None] = warn,
) -> None:
    """Fit the method to the training part, and write the model and the synthetic files."""
    wanted = [path for path in (work.model, *work.synthetic, work.note) if path is not None]
    if work.record.holds(*wanted):
        return
    train, _ = work.tables()
    work.candidate.mkdir(exist_ok=True)
    made = work.synthesizer(progress)
    made.tell = tell
    if claimed(made.method) is None:  # noise is drawn anew: a plan's seed could draw it again
        made.seed = work.plan["seed"]
    made.fit(train, ledger=ledger)
    release = Release.of_rows(made, work.plan["rows"], train=train)
    release.write(work.synthetic, note=work.note, save=work.model)
    work.record.add(wanted)
    for text in made.notes:
        tell(text)


def judge(work: Work, progress: Progress) -> None:
    """Assess the candidate and decide every rule; the verdict is written last."""
    if work.record.holds(work.candidate / VERDICT):
        return
    train, holdout = work.tables()
    result = assess_tables(work.request, train, work.synthetic, holdout, progress=progress)
    rules = policies.loads(work.plan["policy"], measures=MEASURES)
    result = rules.apply(_without_places(result, work.folder))
    outcome = policies.worst(verdict["outcome"] for verdict in result.verdicts)
    _write_steward(work, result, outcome)
    _write_candidate(work, result, outcome)
    write_text(policies.to_junit(result.verdicts), work.candidate / "junit.xml")
    told = {"outcome": outcome, "verdicts": [dict(v) for v in result.verdicts]}
    write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", work.candidate / VERDICT)
    folders.tidy(work.folder)
    work.record.complete()


def _without_places(result: Assessment, folder: Path) -> Assessment:
    """Take the folder out of what findings say about a failure: notes are handed over."""
    here = f"{folder}/"
    findings = (
        dataclasses.replace(f, note=f.note.replace(here, "")) if here in f.note else f
        for f in result
    )
    return dataclasses.replace(result, findings=tuple(findings))


def _write_steward(work: Work, result: Assessment, outcome: str) -> None:
    write_file(result.register(), work.folder / "register.parquet")
    result.to_html(work.folder / "report.html", title="Release, for the steward", steward=True)
    made = receipt.of(
        result,
        work.train,
        work.synthetic,
        work.holdout,
        schema=work.schema,
        policy=work.plan["policy"],
    )
    made.write(work.folder / "receipt.json", home=Path(work.plan["steward"]))
    card = SYNTHESIZERS[work.plan["method"]].card
    text = _steward_readme(outcome, result.verdicts, model=card.file, **_rows(result))
    write_text(text, work.folder / "README.md")


def _write_candidate(work: Work, result: Assessment, outcome: str) -> None:
    """Write what goes with the synthetic files; the seed stays with the steward."""
    shared = dataclasses.replace(result, provenance={**result.provenance, "seed": None})
    shared.to_json(work.candidate / "assessment.json")
    shared.to_html(work.candidate / "report.html", title="Release of a synthetic table")
    told = [read_marker(path) for path in work.synthetic]  # the record knows their rows
    markers = [marker for marker in told if marker is not None]
    if len(markers) < len(told):
        raise RuntimeError("a synthetic file without a marker of its rows")
    names = tuple(path.name for path in work.synthetic)
    marker = dataclasses.replace(
        markers[0],
        files=names,
        digests=tuple(m.digest_of(path) for m, path in zip(markers, work.synthetic, strict=True)),
        replicate=1 if len(names) == 1 else None,
    )
    made = work.synthesizer()
    spending = () if marker.epsilon is None else load(work.model).spending_ or ()
    anew = [c.name for c in work.schema if c.kind in ("identifier", "name")]
    text = readme(marker, made.method.card, proper=made.is_proper, spending=spending, anew=anew)
    text = _candidate_readme(
        text, outcome, result.verdicts, epsilon=marker.epsilon, **_rows(result)
    )
    write_text(text, work.candidate / "README.md")
    if work.note is not None:
        work.record.expect(work.note, text)
        write_text(text, work.note)


def _rows(result: Assessment) -> dict[str, int]:
    return {part: result.provenance[part]["rows"] for part in ("train", "holdout")}


def _verdict_part(
    outcome: str, verdicts: Sequence[Mapping[str, Any]], *, steps: bool = False
) -> str:
    """Say what the policy decided, rule by rule; for the steward also what to do next."""
    lines = [f"## Verdict: {outcome}", "", OUTCOME_MEANS[outcome], ""]
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


def _candidate_readme(
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
        _verdict_part(outcome, verdicts),
        "## Beside the data",
        FILES_BESIDE.strip(),
        *([] if epsilon is None else [NOT_UNDER_EPSILON.strip()]),
        "## Which rows it learnt from",
        WHICH_ROWS + (numbers if epsilon is None else "."),
        rest,
    ]
    return "\n\n".join(parts)


def _steward_readme(
    outcome: str,
    verdicts: Sequence[Mapping[str, Any]],
    *,
    train: int,
    holdout: int,
    model: str,
) -> str:
    """Say what lies in the steward's folder, and what to do after a verdict that is no pass."""
    told = _verdict_part(outcome, verdicts, steps=True)
    copied = "; the folder handed over is a copy of it" if outcome == "PASS" else ""
    text = STEWARD_README.format(
        verdict=told, train=train, holdout=holdout, model=model.rstrip("."), copied=copied
    )
    return text if outcome == "PASS" else f"{text}\n{MANY_TRIES}"
