"""Synthesizer: fits a table and samples tables like it, whatever the method inside."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import polars as pl

from understudy._version import __version__
from understudy.data.schema import Schema, dumps
from understudy.data.tables import Table, whole_file
from understudy.errors import OptionError
from understudy.judging.comparison import Progress, silent, stream
from understudy.options import MOST_ROWS, check_number
from understudy.synthesizers import claims
from understudy.synthesizers.budget import Step
from understudy.synthesizers.constraints import all_constraints, given_condition
from understudy.synthesizers.drawing import Drawing, Margins, complete
from understudy.synthesizers.holding import Held
from understudy.synthesizers.model_file import Origin, State, write_model
from understudy.synthesizers.options import options_given


@dataclass(frozen=True)
class MethodCard:
    """The words beside a method: what it keeps, what it loses, what its model file contains.

    ``coarser`` and ``finer`` say which options make it remember less, or follow training more.
    ``holds`` is the most that a model file has of training: rows or values that may be one
    person's, or only what many rows share (``model``). A method that does not say it has no model
    files; one that runs another program has none in any case.
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
    holds: Literal["", "model", "real values", "real rows"] = ""

    @property
    def is_file_for_owner(self) -> bool:
        """Whether nobody but its owner may read a model file: it holds what somebody's row does."""
        return self.holds in ("real values", "real rows")

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

    One that runs another program has ``foreign = True``: it never comes from a model file. It
    starts nothing when it is made; ``ready()`` looks for the program, before a fit.
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
    origin_: Origin | None = field(default=None, init=False, repr=False)

    def ready(self) -> Self:
        """Say that a tool is missing, before any work is done."""
        look = getattr(self.method, "ready", None)
        if look is not None:
            look()
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
        epsilon, self.origin_ = claims.claimed(self.method), None
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
        check_number("rows", rows, 0, MOST_ROWS, whole=True)
        drawing = Drawing(
            lambda size, number: self._draw(size, replicate, number),
            self.held_,
            self.progress,
            lambda batch: self._sampling("margins", str(replicate), str(batch)),
            None if given is None else given_condition(given, schema),
        )
        shares = None if margins is None else Margins.of(margins, schema)
        return self._guarded(drawing.rows(rows, shares))

    def _guarded(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Hand rows on; a model that was read from a file is damaged if that fails."""
        with nullcontext() if self.origin_ is None else self.origin_.guarded():
            yield from frames

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
        return 0 if self.spending_ is not None and self.origin_ is None else self.seed or 0

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
        if self.fitted.constraints:
            head |= {"inner": dumps(self.inner_), "held": self.held_.to_dict()}
        if self.spending_ is not None:
            head["spending"] = [step.to_dict() for step in self.spending_]
            head["seeded"] = self.seeded_
        frames = {**state.frames, **self.held_.frames()}
        write_model(file, head, dataclasses.replace(state, frames=frames))
