"""Synthesizer: fits a table and samples tables like it, whatever the method inside."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl

from understudy._version import __version__
from understudy.comparison import Progress, silent, stream
from understudy.errors import OptionError
from understudy.schema import Schema, dumps, loads
from understudy.synthesizers.model_file import State, read_model, write_model
from understudy.tables import Table


@dataclass(frozen=True)
class MethodCard:
    """The words beside a method: what it keeps, what it loses, what its model file contains."""

    name: str
    title: str
    keeps: str
    loses: str
    claim: str
    file: str
    source: str

    def to_dict(self) -> dict[str, str]:
        """Plain values."""
        return dataclasses.asdict(self)


class Method(Protocol):
    """A way to make synthetic rows: its fields are its options, what it learns ends in _."""

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

    def fit(self, train: Any, *, schema: Any = None) -> Self:
        """Learn from a path or a frame."""
        table = Table.of(train, schema, name="training table").with_rows()
        self.method.fit(table, stream(self.seed, self.method.card.name, "fit"), self.progress)
        self.schema_, self.give_back_, self.rows_ = table.schema, table.give_back, table.height
        return self

    def sample(self, rows: int | None = None, *, replicate: int = 0) -> Any:
        """Make synthetic rows, as many as training has if no number is given.

        The same seed and replicate give the same rows; replicates differ.
        """
        schema = self._fitted()
        rows = self.rows_ if rows is None else rows
        if rows < 0:
            raise OptionError(f"rows = {rows}", hint="ask for 0 rows or more")
        rng = stream(self.seed, self.method.card.name, "sample", str(replicate))
        made = self.method.sample(rows, rng)
        return self.give_back_(made.select(schema.modelled))

    def _fitted(self) -> Schema:
        if self.schema_ is None:
            raise OptionError("the synthesizer has not been fitted", hint="call fit first")
        return self.schema_

    def save(self, path: str | Path) -> None:
        """Write a model file; sampling from it needs no real data."""
        head = {
            "understudy": __version__,
            "method": self.method.card.name,
            "contains": self.method.card.file,
            "options": {
                f.name: getattr(self.method, f.name)
                for f in dataclasses.fields(self.method)  # type: ignore[arg-type]
                if f.init
            },
            "seed": self.seed,
            "rows": self.rows_,
            "schema": dumps(self._fitted()),
        }
        write_model(Path(path), head, self.method.state())


def restore(path: str | Path, methods: dict[str, type[Method]]) -> Synthesizer:
    """Read a model file; its samples are polars frames."""
    document, state = read_model(Path(path))
    if document["method"] not in methods:
        raise OptionError(
            f"{path}: the method '{document['method']}' is not known here",
            hint=f"it was written by understudy {document['understudy']}",
        )
    schema = loads(document["schema"], name=str(path))
    method = methods[document["method"]](**document["options"])
    made = Synthesizer(method.restore(state, schema), seed=document["seed"])
    made.schema_, made.rows_ = schema, document["rows"]
    made.give_back_ = lambda out: out
    return made
