"""Synthesizer: fits a table and samples tables like it, whatever the method inside."""

import copy
import dataclasses
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from understudy._version import __version__
from understudy.data.relations import relations_of
from understudy.data.schema import Relation, Schema, dumps, loads
from understudy.data.tables import Table, warn_left_out, whole_file
from understudy.data.tables.frames import as_it_is
from understudy.errors import OptionError, UnderstudyError
from understudy.jobs.progress import Progress, reporting, silent
from understudy.judging.comparison import stream
from understudy.options import MOST_ROWS, check_number
from understudy.synthesizers import claims
from understudy.synthesizers.base import (
    Method,
    abilities_of,
    fewest_rows,
    options_given,
    with_options,
)
from understudy.synthesizers.budget import Step
from understudy.synthesizers.constraints import all_constraints, given_condition
from understudy.synthesizers.drawing import Drawing, Margins, complete
from understudy.synthesizers.holding import Held
from understudy.synthesizers.model_file import Origin, State, read_model, whole, write_model
from understudy.synthesizers.registry import restorable
from understudy.synthesizers.related import named_columns

MOST_TRAINING_ROWS = 1 << 32
LONGEST_REPR = 300

Streams = Callable[..., np.random.Generator]


def warn(text: str) -> None:
    """Tell a caller of ``Synthesizer.fit``."""
    warnings.warn(text, stacklevel=4)


@dataclass(repr=False)
class Synthesizer:
    """A method with its seed, in the caller's own kind of frame.

    No seed is 0, but under epsilon: noise then comes from a generator that nobody can make again.
    A seed that is given nevertheless draws the noise, with a warning (by ``tell``), and nothing
    that is saved or sampled depends on it otherwise.

    Relations between columns are held in every row: those of a schema that is given, or else those
    found in the rows; under epsilon those that a person declared. ``relations=False``: none is.

    Examples
    --------
    >>> from understudy.synthesizers import synthesizer
    >>> real = pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10})
    >>> synthesizer("bootstrap", seed=1).fit(real).sample(3).shape
    (3, 2)
    """

    method: Method
    seed: int | None = None
    progress: Progress | bool = silent
    constraints: Sequence[str] = ()
    relations: bool = True
    tell: Callable[[str], None] = field(default=warn)
    schema_: Schema | None = field(default=None, init=False)
    give_back_: Any = field(default=None, init=False)
    rows_: int = field(default=0, init=False)
    held_: Held = field(init=False)
    inner_: Schema = field(init=False)
    notes_: list[str] = field(default_factory=list, init=False)
    said_: list[str] = field(default_factory=list, init=False)
    spending_: tuple[Step, ...] | None = field(default=None, init=False)
    seeded_: bool = field(default=False, init=False)
    calls_: int = field(default=0, init=False)
    ledger_: str = field(default="", init=False)
    origin_: Origin | None = field(default=None, init=False)

    def __repr__(self) -> str:
        said = [textwrap.shorten(repr(self.method), LONGEST_REPR), f"seed={self.seed}"]
        said += [f"constraints={len(self.constraints)}"] if self.constraints else []
        if self.schema_ is not None:
            said.append(f"fitted to {self.rows_:,} rows of {len(self.schema_.modelled)} columns")
        return f"Synthesizer({', '.join(said)})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the caller listens with: it is no part of what was learnt."""
        return {**vars(self), "progress": silent, "tell": warn}

    def __sklearn_clone__(self) -> Self:
        """Give another one of the same settings that has learnt nothing."""
        method = type(self.method)(**copy.deepcopy(options_given(self.method)))
        return dataclasses.replace(self, method=method)

    def _can(self, ability: str) -> bool:
        return ability in abilities_of(self.method)

    def ready(self) -> Self:
        """Say that a tool is missing, before any work is done."""
        method: Any = self.method
        if self._can("ready"):
            method.ready()
        return self

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
        epsilon, self.origin_, self.calls_ = claims.claimed(self.method), None, 0
        table = Table.of(train, schema, name="training table", alone=epsilon is not None)
        table = table.with_rows()
        if epsilon is not None:
            claims.refuse_typed_by_rows(train, table.schema)
            table = claims.without_reasons(table)
        texts = all_constraints(table.schema, self.constraints)
        held, inner = Held.fit(
            table,
            texts,
            relations=self._relations(table, reads=epsilon is None),
            keep=self._kept,
            reserved=named_columns(options_given(self.method), table.schema),
            k=fewest_rows(self.method),
            reads=epsilon is None,
        )
        self.notes_ = held.notes(table) if epsilon is None else held.related.notes()
        self.held_, self.said_ = held, []
        if epsilon is not None:
            return self._fit_under(epsilon, table, inner, replicate, ledger)
        if ledger is not None:
            raise OptionError(
                f"a ledger, but {self.method.card.name} spends no epsilon", hint="leave it out"
            )
        rng = self._stream("fit", *([str(replicate)] if replicate else []))
        with reporting(self.progress) as progress:
            self.method.fit(inner, rng, progress)
        warn_left_out(table, train, schema, depth=3, columns=held.left_out)
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
        spending = claims.spending(table, name, epsilon, rng, ledger)
        with reporting(self.progress) as progress, spending as account:
            self.method.fit(inner, rng, progress)
            account.steps, rows = claims.learnt(self.method)
            emitted = self._emitted(inner)
            claims.check_declared(emitted)
            claims.check_declared(self.inner_)
        claims.spent_of(account.steps, epsilon)
        self.schema_ = emitted
        self.give_back_, self.rows_ = table.give_back, rows
        self.spending_, self.ledger_ = tuple(account.steps), account.said
        self.seeded_ = self.seed is not None
        return self

    def _relations(self, table: Table, *, reads: bool) -> tuple[Relation, ...]:
        """Give the relations to be held: those of the schema, or those found in the rows."""
        if not self.relations:
            return ()
        return relations_of(table) if reads else table.schema.relations

    def _emitted(self, table: Table) -> Schema:
        method: Any = self.method
        self.inner_ = method.emitted(table.schema) if self._can("emitted") else table.schema
        self.held_ = self.held_.narrowed(self.inner_)
        return self.held_.fitted

    @property
    def _kept(self) -> tuple[str, ...]:
        method: Any = self.method
        return tuple(method.keep) if self._can("complete") else ()

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
        seed: int | None = None,
        replicate: int | None = None,
        given: Mapping[str, Any] | None = None,
        margins: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> Any:
        """Make synthetic rows, as many as training has if no number is given.

        Every call draws fresh rows; after a fit with the same seed, the calls draw the same rows
        in the same order. A seed, or the number of a replicate, gives the same rows in any call;
        replicates differ. With ``given``, such as ``{"sex": "F"}``, only rows that have these
        values are kept. With ``margins``, such as ``{"sex": {"F": 0.5, "M": 0.5}}``, values have
        these shares of the rows.
        """
        made = self.batches(rows, seed=seed, replicate=replicate, given=given, margins=margins)
        return self.give_back_(pl.concat(list(made)))

    def batches(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        replicate: int | None = None,
        given: Mapping[str, Any] | None = None,
        margins: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> Iterator[pl.DataFrame]:
        """Make synthetic rows in polars frames of at most 100,000, each from its own stream.

        Together they are what ``sample`` gives; no more than one is in memory.
        """
        schema = self.fitted
        rows = self.rows_ if rows is None else rows
        check_number("rows", rows, 0, MOST_ROWS, whole=True)
        condition = None if given is None else given_condition(given, schema)
        shares = None if margins is None else Margins.of(margins, schema)
        streams = self._streams(seed, replicate)
        drawing = Drawing(
            lambda size, number: self._draw(size, streams, number),
            self.held_,
            silent,
            lambda batch: streams("margins", batch),
            lambda batch: streams("names", batch),
            condition,
        )
        return self._guarded(drawing, rows, shares)

    def _streams(self, seed: int | None, replicate: int | None) -> Streams:
        """Give the random streams of a call, by what they are for and the number of the batch."""
        if seed is not None:
            check_number("seed", seed, 0, whole=True)
        call = str(replicate or 0)
        if seed is None and replicate is None:
            call = f"call {self.calls_}" if self.calls_ else call
            self.calls_ += 1
        return lambda what, *batch: stream(
            self._sampling_seed if seed is None else seed,
            self.method.card.name,
            what,
            call,
            *map(str, batch),
        )

    def _guarded(
        self, drawing: Drawing, rows: int, margins: Margins | None
    ) -> Iterator[pl.DataFrame]:
        """Draw rows; a model that was read from a file is damaged if that fails."""
        guard = nullcontext() if self.origin_ is None else self.origin_.guarded()
        with guard, reporting(self.progress) as drawing.progress:
            yield from drawing.rows(rows, margins)
        self.said_ = drawing.notes()

    def names(self, replicate: int = 0) -> np.random.Generator:
        """Give the random stream of the pseudonyms of a replicate."""
        return self._streams(None, replicate)("names")

    def complete(self, kept: Table, replicate: int = 0) -> pl.DataFrame:
        """Draw the columns that the method does not keep for the rows of a table."""
        rng = self._streams(None, replicate)("complete")
        method: Any = self.method
        made, self.said_ = complete(
            lambda rows: method.complete(dataclasses.replace(kept, frame=rows), rng),
            kept.frame,
            self.held_,
        )
        return made

    def _draw(self, rows: int, streams: Streams, number: int) -> pl.DataFrame:
        rng = streams("sample", *([number] if number else []))
        return self.method.sample(rows, rng).select(self.inner_.modelled)

    def _stream(self, *names: str) -> np.random.Generator:
        return stream(self.seed or 0, self.method.card.name, *names)

    @property
    def _sampling_seed(self) -> int:
        """The seed of what is sampled, never that of noise."""
        return 0 if self.spending_ is not None and self.origin_ is None else self.seed or 0

    @property
    def is_proper(self) -> bool:
        """Whether the method draws its own model, another one for each replicate."""
        method: Any = self.method
        return self._can("proper") and bool(method.proper)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the fit, and of the rows made last."""
        return (*self.notes_, *self.said_, *getattr(self.method, "notes_", ()))

    @property
    def fitted(self) -> Schema:
        """The schema that was learnt; an error before ``fit``."""
        if self.schema_ is None:
            raise OptionError("the synthesizer has not been fitted", hint="call fit first")
        return self.schema_

    def check_saving(self) -> None:
        """Refuse, best before a fit, to save a method that has no model files."""
        if not self.method.card.holds:
            raise OptionError(
                f"{self.method.card.name} cannot be saved: its card does not say what a model file "
                "would hold",
                hint="save the rows",
            )

    def save(self, path: str | Path) -> None:
        """Write a model file; sampling from it needs no real data."""
        with whole_file(Path(path), for_owner=self.method.card.is_file_for_owner) as temporary:
            self.write(temporary)

    def write(self, file: Path) -> None:
        """Write the model to a file that is not yet in its place."""
        state = self.method.state()
        self.check_saving()
        head = {
            "understudy": __version__,
            "method": self.method.card.name,
            "contains": self.method.card.file,
            "options": options_given(self.method),
            "seed": self._sampling_seed,
            "rows": self.rows_,
            "schema": dumps(self.fitted),
        }
        if self.fitted.constraints or self.held_.related:
            head["inner"] = dumps(self.inner_)
        head["held"] = self.held_.to_dict()
        if self.spending_ is not None:
            head["spending"] = [step.to_dict() for step in self.spending_]
            head["seeded"] = self.seeded_
        frames = {**state.frames, **self.held_.frames()}
        write_model(file, head, dataclasses.replace(state, frames=frames))


def load_model(path: Path, methods: Mapping[str, type[Method]]) -> Synthesizer:
    """Read a model file; its samples are polars frames."""
    document, state = read_model(path)
    name = document["method"]
    writer = f"it was written by understudy {document['understudy'][:40]}, this is {__version__}"
    if name not in methods:
        raise OptionError(f"{path}: the method {name[:60]!r} is not known here", hint=writer)
    try:
        method = restorable(methods[name])
    except OptionError as error:
        raise OptionError(f"{path}: {error.message}", hint=error.hint) from error
    origin = Origin(path, name, writer)
    with origin.guarded(UnderstudyError):
        return _restored(document, state, method, origin)


def _restored(
    document: Mapping[str, Any], state: State, kind: type[Method], origin: Origin
) -> Synthesizer:
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in document["options"].items()}
    method = with_options(kind, options)
    schema = loads(document["schema"], name=str(origin.path))
    inner = loads(document["inner"], name=str(origin.path)) if "inner" in document else schema
    held = Held.restore(document.get("held", {}), state, schema, inner)
    spending = document.get("spending")
    made = Synthesizer(method.restore(held.without(state), inner), seed=document["seed"])
    made.schema_, made.rows_ = schema, whole(document["rows"], 0, MOST_TRAINING_ROWS)
    made.spending_ = None if spending is None else tuple(map(Step.from_dict, spending))
    made.held_, made.inner_, made.origin_ = held, inner, origin
    made.seeded_ = document.get("seeded") is True
    made.give_back_ = as_it_is
    _ = made.epsilon_spent  # what was spent is added up: it may be no number, or too much
    return made
