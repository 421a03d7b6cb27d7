"""release(): from a real table to a folder that may be handed over, or to the reasons why not."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from understudy.data.relations import with_relations
from understudy.data.schema import Schema, as_schema, dumps, infer, loads
from understudy.data.tables import (
    FORMATS,
    PART,
    IncomingFrame,
    Table,
    check_writable,
    holdout_rows,
    take_in,
    warn_left_out,
)
from understudy.documents import loads_json
from understudy.errors import OptionError, UnderstudyError
from understudy.jobs.progress import ProgressOrBar, reporter, shows_progress, silent
from understudy.judging.comparison import compare_tables
from understudy.options import (
    REPLICATES,
    OptionsByName,
    Rows,
    Seed,
    Texts,
    by_name,
    check_arguments,
)
from understudy.synthesizers import DEFAULT, SYNTHESIZERS, synthesizer
from understudy.synthesizers.claims import claimed, refuse_typed_by_rows
from understudy.synthesizers.generators import method_identity
from understudy.synthesizers.synthesizer import warn
from understudy.workflows import policy as policies
from understudy.workflows.assessment import Assessment
from understudy.workflows.measuring import FEWEST_OF_LEVEL, subgroups
from understudy.workflows.release import folders, record, stages
from understudy.workflows.release.record import Record
from understudy.workflows.release.stages import Work
from understudy.workflows.request import Request

__all__ = ["Decision", "release"]

FEWEST_ROWS = 30  # on either side of the split
EXTENSIONS = {".txt": ".csv", ".xls": ".xlsx"}


@dataclass(frozen=True)
class Decision:
    """What became of a release: the verdict, and the folders.

    ``folder`` is the one to hand over; None if there is none. ``steward`` is there in any case.
    """

    outcome: policies.Outcome
    assessment: Assessment
    folder: Path | None
    steward: Path

    @property
    def status(self) -> int:
        """The exit status: 0 passed, 1 failed, 3 inconclusive."""
        return policies.EXIT[self.outcome]


@shows_progress
def release(
    real: Any,
    policy: Annotated[policies.Policy | str | Path, "give the path of a policy"],
    out: str | Path,
    *,
    method: str = DEFAULT,
    rows: Rows = None,
    replicates: Annotated[int, REPLICATES] = 1,
    holdout_share: Annotated[float, PART] = 0.5,
    group: str | None = None,
    target: str | None = None,
    formula: Texts = (),
    keys: Texts = (),
    sensitive: Texts = (),
    by: Texts | None = None,
    measures: Iterable[str] | str | None = None,
    options: OptionsByName = None,
    schema: Schema | str | Path | None = None,
    seed: Seed | None = None,
    ledger: str | Path | None = None,
    steward_out: str | Path | None = None,
    allow_inconclusive: bool = False,
    restart: bool = False,
    progress: ProgressOrBar = silent,
    tell: Callable[[str], None] = warn,
) -> Decision:
    """Split, synthesize, assess and judge; make the folder to hand over if every rule is kept.

    Parameters
    ----------
    real : path or frame
    policy : path
        The rules; what they name is measured, whatever ``measures`` says.
    out : path
        The folder to hand over. It must not be there yet.
    method, rows, replicates : optional
        How the table is made; as many rows as the model learns from if no number is given.
    holdout_share : float
        The share of real rows that the model never sees: the control. Either side has 30 at least.
    group : name of a column, optional
        Rows with one value of it (a person, a household) stay in one part.
    target, keys, sensitive, by : names of columns
    formula : str, or several
        As in ``assess``; to ``by`` come the columns that rules of the policy name.
    measures : names, prefixes or "all", optional
        All that need no more than what is given, if not given.
    options : mapping, optional
        Options by name of the method or measure.
    schema : Schema or path, optional
    seed : int, optional
        Drawn, and kept in the steward's folder, if not given: with a known seed, anybody could
        confirm a guessed table by making the release again. It never draws noise under epsilon.
    ledger : path, optional
        Where what the method spends under epsilon is added up, before any noise is drawn.
    steward_out : path, optional
        The steward's folder; ``out`` with ``-steward`` behind its name if not given.
    allow_inconclusive : bool
        Hand over too where not every rule could be decided; the verdict stays what it is.
    restart : bool
        Give up what an earlier run left unfinished.
    progress : True or callable, optional
        True shows a bar; a function is called with (label, done, total).
    tell : callable, optional
        Is given what weakens a claim of epsilon, and what is strange about the tables made; they
        are Python warnings if not given.

    Returns
    -------
    Decision
        A run that was stopped goes on where it was when the same is asked for again.
    """
    check_arguments(release, locals())
    out, progress = Path(out), reporter(progress)
    steward = folders.beside(out, steward_out)
    given = by_name(options)
    check_method(method, given)
    request = Request.of(
        keys=keys,
        sensitive=sensitive,
        target=target,
        formula=formula,
        by=by,
        measures=measures,
        options={name: values for name, values in given.items() if name != method},
        policy=policy,
        seed=seed or 0,
    )
    known = as_schema(schema)
    declared = None if known is None else dumps(known)
    taken = _take_in(real, method, given.get(method, {}), declared)
    wanted = {
        **request.to_dict(),
        "policy": request.policy and request.policy.text,
        "method": method,
        "method_code": method_identity(method, given.get(method, {})),
        "rows": rows,
        "replicates": replicates,
        "holdout_share": holdout_share,
        "group": group,
        "options": given,
        "schema": declared,
        "extension": _extension_like(real),
        "steward": str(steward.absolute()),
        "seed": seed,
    }
    with folders.alone(out, steward):
        unfinished = folders.unfinished(steward)
        done, begun = record.read_plan(steward), record.read_plan(unfinished)
        if restart and done is None and unfinished.exists():
            shutil.rmtree(unfinished)
            begun = None
        place = str(real) if _is_path(real) else None
        plan = record.make_plan(taken.frame, place, wanted, done or begun)
        if done is not None:
            _check_same(plan, done, steward, "it is kept as a record: name another folder (--out)")
        elif begun is not None:
            _check_same(plan, begun, unfinished, "repeat the command that began it, or --restart")
        if done is None:
            with _nothing_in_vain(unfinished):
                work = _begin(unfinished, plan, taken, real)
                warn_left_out(Table(taken.frame.clear(), work.schema, taken.name), real, schema)
                del taken  # from here on the halves are read from their files
                stages.synthesize(work, progress, ledger, tell)
                stages.judge(work, progress)
                folders.for_owner(unfinished)
            folders.put_in_place(unfinished, steward)
        return _hand_over(Record(steward, bytes.fromhex(plan["key"])), out, allow_inconclusive)


def check_method(method: str, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a method and options that are not to be had."""
    synthesizer(method, **options.get(method, {})).ready()
    for name in options:
        if name in SYNTHESIZERS and name != method:
            raise OptionError(f"{name} has options, but the method is {method}", hint="drop them")


def _is_path(real: Any) -> bool:
    return isinstance(real, str | Path)


def _take_in(
    real: Any, method: str, options: Mapping[str, Any], schema: str | None
) -> IncomingFrame:
    """Take in the real table; where the method claims an epsilon, each line by itself."""
    alone = None
    if claimed(synthesizer(method, **options).method) is not None:
        alone = Schema(()) if schema is None else loads(schema)
    return take_in(real, "real table", alone)


def _extension_like(real: Any) -> str:
    """Choose the format of the synthetic files: that of the real one where it can be written."""
    name = Path(real).name.lower() if _is_path(real) else ".parquet"
    known = max((e for e in FORMATS if name.endswith(e)), key=len)
    extension = EXTENSIONS.get(known, known)
    check_writable(Path(f"synthetic{extension}"))
    return extension


def _check_same(plan: Mapping[str, Any], there: Mapping[str, Any], folder: Path, hint: str) -> None:
    """Refuse to mix two plans: rules and methods are not changed after the holdout was seen."""
    others = record.others(plan, there)
    if others:
        what = ", ".join(others).replace("_", " ")
        raise OptionError(f"{folder} is of a release that differs in: {what}", hint=hint)


def _begin(folder: Path, plan: Mapping[str, Any], taken: IncomingFrame, real: Any) -> Work:
    """Split the real table; write the plan and the two parts."""
    chosen = holdout_rows(
        taken, holdout=plan["holdout_share"], seed=plan["seed"], stratify=None, group=plan["group"]
    )
    train, holdout = taken.frame.filter(~chosen), taken.frame.filter(chosen)
    _check_sizes(train.height, holdout.height)
    if plan["schema"] is None:
        known = with_relations(Table(train, infer(train), is_inferred=True)).schema
    else:
        known = loads(plan["schema"])
    work = Work(folder, plan, known)
    if claimed(work.synthesizer().method) is not None:
        refuse_typed_by_rows(real, work.schema)
    work.request.check_columns(work.schema)
    _check_levels(work, train, holdout)
    folders.make(folder)
    folders.tidy(folder)
    if not work.record.holds(folder / record.PLAN):
        record.write_plan(plan, folder)
        work.record.add([folder / record.PLAN])
    stages.split(work, train, holdout)
    return work


def _check_sizes(learn: int, control: int) -> None:
    """Refuse a split that leaves too few rows to learn from, or to judge by."""
    for rows, words in (
        (learn, "{} to learn from: too few"),
        (control, "a control of {}: too few to judge by"),
    ):
        if rows < FEWEST_ROWS:
            some = words.format("1 row" if rows == 1 else f"{rows:,} rows")
            raise OptionError(
                f"{some}, {FEWEST_ROWS} at least",
                hint="set --holdout-share nearer to 0.5, or give more rows or smaller groups",
            )


def _check_levels(work: Work, train: pl.DataFrame, holdout: pl.DataFrame) -> None:
    """Refuse columns without levels that can be measured alone, as if training were the release."""
    rows, columns = work.plan["rows"], work.request.by
    release = train.head(rows) if rows is not None and rows < FEWEST_OF_LEVEL else train
    if columns:
        comparison = compare_tables(train, release, holdout, schema=work.schema)
        for column in columns:
            subgroups(comparison, column)


@contextmanager
def _nothing_in_vain(folder: Path) -> Iterator[None]:
    """After an error, keep the folder only if there is a model: all else is quickly made again."""
    try:
        yield
    except UnderstudyError:
        if folder.is_dir() and not (folder / stages.MODEL).is_file():
            shutil.rmtree(folder)
        raise


def _hand_over(record: Record, out: Path, allow_inconclusive: bool) -> Decision:
    """Copy the candidate to the folder to hand over, if it may be and is as it was judged."""
    candidate = record.folder / stages.CANDIDATE
    names = record.check(candidate)
    outcome = loads_json((candidate / stages.VERDICT).read_bytes())["outcome"]
    data = loads_json((candidate / "assessment.json").read_bytes())
    passes = outcome == "PASS" or (outcome == "INCONCLUSIVE" and allow_inconclusive)
    if passes:
        folders.copy_whole(candidate, out, names, lambda copy: record.check(candidate, copy))
    return Decision(outcome, Assessment.from_dict(data), out if passes else None, record.folder)
