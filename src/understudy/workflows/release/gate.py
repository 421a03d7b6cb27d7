"""release(): from a real table to a folder that may be handed over, or to the reasons why not."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.data.schema import infer, loads
from understudy.data.tables import Taken, holdout_rows
from understudy.documents import loads_json
from understudy.errors import OptionError, UnderstudyError
from understudy.jobs.progress import Progress, reporter, shows_progress, silent
from understudy.measures import MEASURES
from understudy.measures.utility.estimates import as_formulas
from understudy.options import check_number
from understudy.synthesizers import DEFAULT
from understudy.synthesizers.base import warn
from understudy.synthesizers.claims import claimed, refuse_typed_by_rows
from understudy.synthesizers.generators import method_identity
from understudy.workflows import policy as policies
from understudy.workflows.advisor import as_names
from understudy.workflows.assessment import Assessment
from understudy.workflows.release import asked, folders, stages
from understudy.workflows.release import plan as plans
from understudy.workflows.release.record import Record
from understudy.workflows.release.stages import Work


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
    policy: str | Path,
    out: str | Path,
    *,
    method: str = DEFAULT,
    rows: int | None = None,
    replicates: int = 1,
    holdout_share: float = 0.5,
    group: str | None = None,
    target: str | None = None,
    formula: Sequence[str] | str = (),
    keys: Sequence[str] | str = (),
    sensitive: Sequence[str] | str = (),
    by: str | Sequence[str] | None = None,
    measures: Iterable[str] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    schema: Any = None,
    seed: int | None = None,
    ledger: str | Path | None = None,
    steward_out: str | Path | None = None,
    allow_inconclusive: bool = False,
    restart: bool = False,
    progress: Progress | bool = silent,
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
    out, progress = Path(out), reporter(progress)
    steward = folders.beside(out, steward_out)
    text = policies.text_of(Path(policy))
    rules = policies.loads(text, name=str(policy), measures=MEASURES)
    given = {name: dict(values) for name, values in (options or {}).items()}
    asked.check_method(method, given, rows, replicates)
    check_number("holdout_share", holdout_share, above=0)
    taken = asked.take_in_real(real, method, given, schema)
    formulas = as_formulas(formula)
    wanted = {
        "policy": text,
        "method": method,
        "method_code": method_identity(method, given.get(method, {})),
        "rows": rows,
        "replicates": replicates,
        "holdout_share": holdout_share,
        "group": group,
        "target": target,
        "keys": list(as_names(keys)),
        "sensitive": list(as_names(sensitive)),
        "by": policies.level_columns(by, rules),
        "measures": policies.chosen_measures(
            measures, rules, target=target, formula=formulas, keys=keys, sensitive=sensitive
        ),
        "options": given,
        "schema": asked.schema_text(schema),
        "extension": asked.extension_like(real),
        "steward": str(steward.absolute()),
        "seed": seed,
        **({"formula": list(formulas)} if formulas else {}),  # plans made before have none
    }
    with folders.alone(out, steward):
        unfinished = folders.unfinished(steward)
        done, begun = plans.read(steward), plans.read(unfinished)
        if restart and done is None and unfinished.exists():
            shutil.rmtree(unfinished)
            begun = None
        plan = plans.make(
            taken.frame, str(real) if asked.is_path(real) else None, wanted, done or begun
        )
        if done is not None:
            _check_same(plan, done, steward, "it is kept as a record: name another folder (--out)")
        elif begun is not None:
            _check_same(plan, begun, unfinished, "repeat the command that began it, or --restart")
        if done is None:
            with _nothing_in_vain(unfinished):
                work = _begin(unfinished, plan, taken, real)
                del taken  # from here on the halves are read from their files
                stages.synthesize(work, progress, ledger, tell)
                stages.judge(work, progress)
                folders.for_owner(unfinished)
            folders.put_in_place(unfinished, steward)
        return _hand_over(Record(steward, bytes.fromhex(plan["key"])), out, allow_inconclusive)


def _check_same(plan: Mapping[str, Any], there: Mapping[str, Any], folder: Path, hint: str) -> None:
    """Refuse to mix two plans: rules and methods are not changed after the holdout was seen."""
    others = plans.others(plan, there)
    if others:
        what = ", ".join(others).replace("_", " ")
        raise OptionError(f"{folder} is of a release that differs in: {what}", hint=hint)


def _begin(folder: Path, plan: Mapping[str, Any], taken: Taken, real: Any) -> Work:
    """Split the real table; write the plan and the two parts."""
    chosen = holdout_rows(
        taken, holdout=plan["holdout_share"], seed=plan["seed"], stratify=None, group=plan["group"]
    )
    train, holdout = taken.frame.filter(~chosen), taken.frame.filter(chosen)
    asked.check_sizes(train.height, holdout.height)
    work = Work(folder, plan, infer(train) if plan["schema"] is None else loads(plan["schema"]))
    if claimed(work.synthesizer().method) is not None:
        refuse_typed_by_rows(real, work.schema)
    asked.check_columns(plan, work.schema)
    asked.check_levels(plan, work.schema, train, holdout)
    folders.make(folder)
    folders.tidy(folder)
    if not work.record.holds(folder / plans.FILE):
        plans.write(plan, folder)
        work.record.add([folder / plans.FILE])
    stages.split(work, train, holdout)
    return work


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
