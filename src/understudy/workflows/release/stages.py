"""The stages of a release: each leaves whole files, and is skipped where they are there."""

import dataclasses
import json
from collections.abc import Callable, Mapping
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
from understudy.workflows.assess import answer
from understudy.workflows.assessment import Assessment
from understudy.workflows.release import folders, readmes
from understudy.workflows.release.record import Record
from understudy.workflows.request import Request

CANDIDATE = "candidate"
MODEL = "release.model"
VERDICT = "verdict.json"


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
    result = answer(work.request, train, work.synthetic, holdout, progress=progress)
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
    text = readmes.steward(outcome, result.verdicts, model=card.file, **_rows(result))
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
    text = readme(marker, made.method.card, proper=made.is_proper, spending=spending)
    text = readmes.handover(text, outcome, result.verdicts, epsilon=marker.epsilon, **_rows(result))
    write_text(text, work.candidate / "README.md")
    if work.note is not None:
        work.record.expect(work.note, text)
        write_text(text, work.note)


def _rows(result: Assessment) -> dict[str, int]:
    return {part: result.provenance[part]["rows"] for part in ("train", "holdout")}
