"""Synthesizer: fits a table and samples tables like it, whatever the method inside."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl

from understudy._version import __version__
from understudy.comparison import Progress, silent, stream
from understudy.errors import DataError, OptionError, UnderstudyError
from understudy.schema import Schema, dumps, loads
from understudy.synthesizers import claims
from understudy.synthesizers.budget import Step
from understudy.synthesizers.constraints import all_constraints
from understudy.synthesizers.drawing import Drawing, complete
from understudy.synthesizers.given import given_condition
from understudy.synthesizers.holding import Held
from understudy.synthesizers.margins import Margins
from understudy.synthesizers.model_file import State, read_model, write_model
from understudy.tables import Table, whole_file


@dataclass(frozen=True)
class MethodCard:
    """The words beside a method: what it keeps, what it loses, what its model file contains.

    ``coarser`` and ``finer`` say which options make it remember less, or follow training more.
    """

    name: str
    title: str
    keeps: str
    loses: str
    claim: str
    file: str
    source: str
    coarser: str = ""
    finer: str = ""

    def to_dict(self) -> dict[str, str]:
        """Plain values."""
        return dataclasses.asdict(self)


class Method(Protocol):
    """A way to make synthetic rows: its fields are its options, what it learns ends in _.

    A method that has an option ``keep`` and a ``complete`` (see ``partial.Completes``) can also
    replace single columns; one with an option ``proper`` is fitted anew for each replicate. One
    with ``emitted(schema)`` gives the schema of what it makes, without the bounds and levels that
    it never emits; that one goes into the model file. ``notes_`` are sentences for the user.

    One that can claim an epsilon has an option ``epsilon``; a fit under it leaves ``spending_``,
    the steps of its budget, and ``rows_``, a noisy number of rows (see ``claims.Claims``).
    """

    card: ClassVar[MethodCard]

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Learn from a table."""

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Make rows with the modelled columns, stored as the schema says."""

    def state(self) -> State:
        """Give what was learnt, to be saved."""

    def restore(self, state: State, schema: Schema) -> Self:
        """Take what was saved."""


def warn(text: str) -> None:
    """Tell a caller of ``Synthesizer.fit``."""
    warnings.warn(text, stacklevel=4)


@dataclass
class Synthesizer:
    """A method with its seed, in the caller's own kind of frame.

    No seed is 0, but under epsilon: noise then comes from a generator that nobody can make again.
    A seed that is given nevertheless draws the noise, with a warning (by ``tell``), and nothing
    that is saved or sampled depends on it otherwise.

    Examples
    --------
    >>> from understudy.synthesizers import synthesizer
    >>> real = pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10})
    >>> synthesizer("bootstrap", seed=1).fit(real).sample(3).shape
    (3, 2)
    """

    method: Method
    seed: int | None = None
    progress: Progress = silent
    constraints: Sequence[str] = ()
    tell: Callable[[str], None] = field(default=warn, repr=False)
    schema_: Schema | None = field(default=None, init=False)
    give_back_: Any = field(default=None, init=False, repr=False)
    rows_: int = field(default=0, init=False)
    held_: Held = field(init=False, repr=False)
    inner_: Schema = field(init=False, repr=False)
    notes_: list[str] = field(default_factory=list, init=False, repr=False)
    spending_: tuple[Step, ...] | None = field(default=None, init=False, repr=False)
    seeded_: bool = field(default=False, init=False, repr=False)
    ledger_: str = field(default="", init=False, repr=False)
    is_loaded_: bool = field(default=False, init=False, repr=False)

    def fit(
        self,
        train: Any,
        *,
        schema: Any = None,
        replicate: int = 0,
        ledger: str | Path | None = None,
    ) -> Self:
        """Learn from a path or a frame.

        A method that draws its own model (proper synthesis) draws another for each replicate. Under
        epsilon, a ledger is a file in which the fit is entered before any noise is drawn.
        """
        epsilon, self.is_loaded_ = claims.claimed(self.method), False
        table = Table.of(train, schema, name="training table", alone=epsilon is not None)
        table = table.with_rows()
        if epsilon is not None:
            claims.refuse_typed_by_rows(train, table.schema)
            table = claims.without_reasons(table)
        texts = all_constraints(table.schema, self.constraints)
        held, inner = Held.fit(table, texts, keep=self._kept, reads=epsilon is None)
        self.notes_ = held.notes(table) if epsilon is None else []
        self.held_ = held
        if epsilon is not None:
            return self._fit_under(epsilon, table, inner, replicate, ledger)
        if ledger is not None:
            raise OptionError(
                f"a ledger, but {self.method.card.name} spends no epsilon", hint="leave it out"
            )
        rng = self._stream("fit", *([str(replicate)] if replicate else []))
        self.method.fit(inner, rng, self.progress)
        self.schema_, self.spending_ = self._emitted(inner), None
        self.give_back_, self.rows_ = table.give_back, table.height
        return self

    def _fit_under(
        self,
        epsilon: float,
        table: Table,
        inner: Table,
        replicate: int,
        ledger: str | Path | None,
    ) -> Self:
        """Fit under epsilon: what is learnt outside the budget is nothing but declared facts."""
        if replicate:
            raise OptionError(
                f"another fit would spend epsilon {epsilon:g} again",
                hint="draw all replicates from one model, which costs nothing more",
            )
        for text in claims.cautions(epsilon, seeded=self.seed is not None):
            self.tell(text)
        rng = claims.hidden_generator() if self.seed is None else self._stream("fit")
        name = self.method.card.name
        with claims.spending(table, name, epsilon, rng, ledger) as account:
            self.method.fit(inner, rng, self.progress)
            learnt = claims.learnt(self.method)
            account.steps = tuple(learnt.spending_)
            emitted = self._emitted(inner)
            claims.check_declared(emitted)
            claims.check_declared(self.inner_)
        claims.spent_of(account.steps, epsilon)
        self.schema_ = emitted
        self.give_back_, self.rows_ = table.give_back, max(int(learnt.rows_), 0)
        self.spending_, self.ledger_ = tuple(account.steps), account.said
        self.seeded_ = self.seed is not None
        return self

    def _emitted(self, table: Table) -> Schema:
        emitted = getattr(self.method, "emitted", None)
        self.inner_ = table.schema if emitted is None else emitted(table.schema)
        self.held_ = self.held_.shown(self.inner_)
        return self.held_.fitted

    @property
    def _kept(self) -> tuple[str, ...]:
        return tuple(getattr(self.method, "keep", ()))

    @property
    def epsilon_spent(self) -> float | None:
        """What the fit spent, one row added or removed; none if the method claims no epsilon."""
        epsilon = claims.claimed(self.method)
        if self.spending_ is None or epsilon is None:
            return None
        return claims.spent_of(self.spending_, epsilon)

    def sample(
        self,
        rows: int | None = None,
        *,
        replicate: int = 0,
        given: Mapping[str, Any] | None = None,
        margins: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> Any:
        """Make synthetic rows, as many as training has if no number is given.

        The same seed and replicate give the same rows; replicates differ. With ``given``, such
        as ``{"sex": "F"}``, only rows that have these values are kept. With ``margins``, such as
        ``{"sex": {"F": 0.5, "M": 0.5}}``, values have these shares of the rows.
        """
        made = self.batches(rows, replicate=replicate, given=given, margins=margins)
        return self.give_back_(pl.concat(list(made)))

    def batches(
        self,
        rows: int | None = None,
        *,
        replicate: int = 0,
        given: Mapping[str, Any] | None = None,
        margins: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> Iterator[pl.DataFrame]:
        """Make synthetic rows in polars frames of at most 100,000, each from its own stream.

        Together they are what ``sample`` gives; no more than one is in memory.
        """
        schema = self.fitted
        rows = self.rows_ if rows is None else rows
        if rows < 0:
            raise OptionError(f"rows = {rows}", hint="ask for 0 rows or more")
        drawing = Drawing(
            lambda size, number: self._draw(size, replicate, number),
            self.held_,
            self.progress,
            lambda batch: self._sampling("margins", str(replicate), str(batch)),
            None if given is None else given_condition(given, schema),
        )
        return drawing.rows(rows, None if margins is None else Margins.of(margins, schema))

    def complete(self, kept: Table, replicate: int = 0) -> pl.DataFrame:
        """Draw the columns that the method does not keep for the rows of a table."""
        rng = self._sampling("complete", str(replicate))
        method: Any = self.method
        return complete(
            lambda rows: method.complete(dataclasses.replace(kept, frame=rows), rng),
            kept.frame,
            self.held_,
        )

    def _draw(self, rows: int, replicate: int, number: int) -> pl.DataFrame:
        rng = self._sampling("sample", str(replicate), *([str(number)] if number else []))
        return self.method.sample(rows, rng).select(self.inner_.modelled)

    def _sampling(self, *names: str) -> np.random.Generator:
        return stream(self._sampling_seed, self.method.card.name, *names)

    def _stream(self, *names: str) -> np.random.Generator:
        return stream(self.seed or 0, self.method.card.name, *names)

    @property
    def _sampling_seed(self) -> int:
        """The seed of what is sampled, never that of noise."""
        return 0 if self.spending_ is not None and not self.is_loaded_ else self.seed or 0

    @property
    def is_proper(self) -> bool:
        """Whether the method draws its own model, another one for each replicate."""
        return bool(getattr(self.method, "proper", False))

    @property
    def fitted(self) -> Schema:
        """The schema that was learnt; an error before ``fit``."""
        if self.schema_ is None:
            raise OptionError("the synthesizer has not been fitted", hint="call fit first")
        return self.schema_

    def save(self, path: str | Path) -> None:
        """Write a model file; sampling from it needs no real data."""
        with whole_file(Path(path)) as temporary:
            self.write(temporary)

    def write(self, file: Path) -> None:
        """Write the model to a file that is not yet in its place."""
        head = {
            "understudy": __version__,
            "method": self.method.card.name,
            "contains": self.method.card.file,
            "options": options_given(self.method),
            "seed": self._sampling_seed,
            "rows": self.rows_,
            "schema": dumps(self.fitted),
        }
        if self.fitted.constraints:
            head |= {"inner": dumps(self.inner_), "held": self.held_.to_dict()}
        if self.spending_ is not None:
            head["spending"] = [step.to_dict() for step in self.spending_]
            head["seeded"] = self.seeded_
        state = self.method.state()
        frames = {**state.frames, **self.held_.frames()}
        write_model(file, head, dataclasses.replace(state, frames=frames))


def options_given(method: Method) -> dict[str, Any]:
    """Give the options of a method as they are set."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: getattr(method, f.name) for f in fields if f.init}


def restore(path: str | Path, methods: Mapping[str, type[Method]]) -> Synthesizer:
    """Read a model file; its samples are polars frames."""
    document, state = read_model(Path(path))
    writer = f"it was written by understudy {document['understudy']}, this is {__version__}"
    if document["method"] not in methods:
        raise OptionError(
            f"{path}: the method '{document['method']}' is not known here", hint=writer
        )
    try:
        schema = loads(document["schema"], name=str(path))
        options = {
            k: tuple(v) if isinstance(v, list) else v for k, v in document["options"].items()
        }
        inner = loads(document["inner"], name=str(path)) if "inner" in document else schema
        held = Held.restore(document.get("held", {}), state.frames, schema)
        method = methods[document["method"]](**options).restore(held.without(state), inner)
        spending = document.get("spending")
        steps = None if spending is None else tuple(Step.from_dict(step) for step in spending)
    except (UnderstudyError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{path}: the model ({document['method']}) is damaged or of another version",
            hint=writer,
        ) from error
    made = Synthesizer(method, seed=document["seed"])
    made.schema_, made.rows_, made.spending_ = schema, document["rows"], steps
    made.held_, made.inner_, made.is_loaded_ = held, inner, True
    made.seeded_ = document.get("seeded") is True
    made.give_back_ = lambda out: out
    return made
