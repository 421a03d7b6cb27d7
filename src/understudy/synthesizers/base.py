"""Synthesizer: fits a table and samples tables like it, whatever the method inside."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl

from understudy._version import __version__
from understudy.comparison import Progress, silent, stream
from understudy.errors import DataError, OptionError, UnderstudyError
from understudy.schema import Column, Schema, dumps, loads
from understudy.synthesizers.given import given_condition
from understudy.synthesizers.model_file import State, read_model, write_model
from understudy.tables import Condition, Table, whole_file

BATCH = 100_000
FIRST_DRAW = 1_000
RAREST = 1_000


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


@dataclass
class Synthesizer:
    """A method with its seed, in the caller's own kind of frame.

    Examples
    --------
    >>> from understudy.synthesizers import synthesizer
    >>> real = pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10})
    >>> synthesizer("bootstrap", seed=1).fit(real).sample(3).shape
    (3, 2)
    """

    method: Method
    seed: int = 0
    progress: Progress = silent
    schema_: Schema | None = field(default=None, init=False)
    give_back_: Any = field(default=None, init=False, repr=False)
    rows_: int = field(default=0, init=False)

    def fit(self, train: Any, *, schema: Any = None, replicate: int = 0) -> Self:
        """Learn from a path or a frame.

        A method that draws its own model (proper synthesis) draws another for each replicate.
        """
        table = Table.of(train, schema, name="training table").with_rows()
        rng = self._stream("fit", *([str(replicate)] if replicate else []))
        self.method.fit(table, rng, self.progress)
        emitted = getattr(self.method, "emitted", None)
        self.schema_ = table.schema if emitted is None else emitted(table.schema)
        self.give_back_, self.rows_ = table.give_back, table.height
        return self

    def sample(
        self,
        rows: int | None = None,
        *,
        replicate: int = 0,
        given: Mapping[str, Any] | None = None,
    ) -> Any:
        """Make synthetic rows, as many as training has if no number is given.

        The same seed and replicate give the same rows; replicates differ. With ``given``, such
        as ``{"sex": "F"}``, only rows that have these values are kept.
        """
        made = pl.concat(list(self.batches(rows, replicate=replicate, given=given)))
        return self.give_back_(made)

    def batches(
        self,
        rows: int | None = None,
        *,
        replicate: int = 0,
        given: Mapping[str, Any] | None = None,
    ) -> Iterator[pl.DataFrame]:
        """Make synthetic rows in polars frames of at most 100,000, each from its own stream.

        Together they are what ``sample`` gives; no more than one is in memory.
        """
        schema = self.fitted
        rows = self.rows_ if rows is None else rows
        if rows < 0:
            raise OptionError(f"rows = {rows}", hint="ask for 0 rows or more")
        if given is None:
            return self._all(rows, replicate)
        return self._matching(rows, replicate, given_condition(given, schema))

    def _all(self, rows: int, replicate: int) -> Iterator[pl.DataFrame]:
        for number, start in enumerate(range(0, max(rows, 1), BATCH)):
            self.progress("sampling", start, rows)
            yield self._draw(min(BATCH, rows - start), replicate, number)

    def _matching(self, rows: int, replicate: int, condition: Condition) -> Iterator[pl.DataFrame]:
        """Draw, and keep the rows that match; give up where they are too rare."""
        found = drawn = number = 0
        size = min(max(rows, FIRST_DRAW), BATCH)
        while True:
            self.progress("sampling", found, rows)
            made = self._draw(size, replicate, number)
            match = made.filter(condition.mask(Table(made, self.fitted)))
            drawn, number = drawn + size, number + 1
            if match.height or number == 1:
                yield match.head(rows - found)
            found += match.height
            if found >= rows:
                return
            if drawn >= BATCH and found * RAREST < drawn:
                raise OptionError(
                    f"given {condition}: {found:,} of {drawn:,} rows drawn match, too few to go on",
                    hint=f"ask for no more than {found} rows, or give less"
                    if found
                    else "give less: a combination that rare is hardly ever made",
                )
            need = (rows - found) * drawn // found if found else BATCH
            size = min(max(need, FIRST_DRAW), BATCH)

    def _draw(self, rows: int, replicate: int, number: int) -> pl.DataFrame:
        rng = self._stream("sample", str(replicate), *([str(number)] if number else []))
        schema = self.fitted
        made = self.method.sample(rows, rng).select(schema.modelled)
        return made.with_columns(one_type(made[name], schema[name]) for name in made.columns)

    def _stream(self, *names: str) -> np.random.Generator:
        return stream(self.seed, self.method.card.name, *names)

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
            "seed": self.seed,
            "rows": self.rows_,
            "schema": dumps(self.fitted),
        }
        write_model(file, head, self.method.state())


def options_given(method: Method) -> dict[str, Any]:
    """Give the options of a method as they are set."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: getattr(method, f.name) for f in fields if f.init}


def one_type(series: pl.Series, column: Column) -> pl.Series:
    """Store a column in one way, whether or not words or huge numbers happen to be among it."""
    if not (column.is_numeric and series.dtype.is_numeric()):
        return series
    if set(column.levels) - {"inf", "-inf"}:
        return series.cast(pl.String)
    if series.dtype == pl.Int64 and column.bounds is not None:
        huge = max(-column.bounds[0], column.bounds[1]) >= 2**63
        return series.cast(pl.Int128) if huge else series
    return series


def restore(path: str | Path, methods: dict[str, type[Method]]) -> Synthesizer:
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
        method = methods[document["method"]](**options).restore(state, schema)
    except (UnderstudyError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{path}: the model ({document['method']}) is damaged or of another version",
            hint=writer,
        ) from error
    made = Synthesizer(method, seed=document["seed"])
    made.schema_, made.rows_ = schema, document["rows"]
    made.give_back_ = lambda out: out
    return made
