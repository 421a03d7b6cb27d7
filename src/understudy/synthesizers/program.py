"""Foreign programs: run under a guard and a time limit, and their tables judged by the schema.

A program's table is refused, taken, or taken with a note. ``ForeignMethod`` is what methods share
that run one.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import polars as pl

from understudy.data.codec import write_values
from understudy.data.schema import Column, Schema, Values, read_values, same_level
from understudy.errors import DataError, OptionError, near
from understudy.jobs.processes import guarded, last_lines
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.model_file import State

LAST_LINES = 5
LARGEST_SEED = 2**31


class ForeignMethod:
    """A method that runs another program; it never comes from a model file."""

    foreign: ClassVar[bool] = True
    card: ClassVar[MethodCard]
    seconds: float

    @property
    def program(self) -> str:
        """What to call the program."""
        raise NotImplementedError

    def run_program(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str] | None
    ) -> None:
        """Run the program to its end, without a shell; a failure is an error.

        What it prints goes into the folder, which goes if this process is killed: it holds what the
        program was given. Without an environment it has the caller's own.
        """
        said = folder / "said"
        with said.open("wb") as heard:
            more = {"stdout": heard, "stderr": subprocess.STDOUT, "env": environment}
            with guarded(words, folder, **more) as guard:
                try:
                    status = guard.wait(self.seconds)
                except subprocess.TimeoutExpired:
                    raise DataError(
                        f"{self.program} did not finish within {self.seconds:g} seconds and was "
                        f"stopped{_last_words(said)}",
                        hint=f"allow more with {self.card.name}.seconds",
                    ) from None
        if status:
            raise DataError(
                f"{self.program} ended with exit status {status}{_last_words(said)}",
                hint="run it by hand on a small table",
            )

    def state(self) -> State:
        """Refuse: the model is the program's."""
        raise OptionError(
            f"{self.card.name}: the model of {self.program} cannot be saved here",
            hint="save the rows, or use the program itself",
        )

    def restore(self, state: State, schema: Schema) -> Self:
        """Refuse, as no such file is written."""
        raise OptionError(f"{self.card.name}: there are no model files", hint="fit it again")


def _last_words(said: Path) -> str:
    with said.open("rb") as file:
        told = "".join(f"\n  {line[:200]}" for line in last_lines(file, LAST_LINES))
    return f"; it said:{told}" if told else ""


def check_shape(frame: pl.DataFrame, columns: Sequence[str], rows: int, program: str) -> None:
    """Refuse a table that has other columns or another number of rows than were asked for."""
    for name in [*columns, *frame.columns]:
        if name not in frame.columns or name not in columns:
            lacks = name not in frame.columns
            what = "is missing in its table" if lacks else "of its table is not in training"
            known = frame.columns if lacks else columns
            raise DataError(f"{program}: the column '{name}' {what}", hint=near(name, known))
    if frame.height != rows:
        raise DataError(
            f"{program} gave {frame.height:,} rows, and {rows:,} were asked for",
            hint="{rows} in the command stands for their number",
        )


@dataclass(frozen=True)
class Oddity:
    """Values of a column that training does not have, and an example."""

    column: str
    what: str
    many: int
    example: str

    def __str__(self) -> str:
        return (
            f"the column '{self.column}' of its table holds {self.many:,} values {self.what} "
            f"({self.example})"
        )


def take_in(
    frame: pl.DataFrame, schema: Schema, rows: int, program: str
) -> tuple[pl.DataFrame, list[Oddity]]:
    """Store a program's table as the schema says, and tell what is strange about it.

    Refused are other columns, another number of rows, words where numbers stand, and whatever
    lies outside levels or bounds that a person declared. Values that merely do not occur in
    training are the program's to make: they are taken.
    """
    check_shape(frame, schema.modelled, rows, program)
    columns, odd = [], []
    for name in schema.modelled:
        column = schema[name]
        values = _as_in_training(read_values(frame[name], column), column)
        words = _unknown(values.labels, (*column.levels, "inf", "-inf"))
        if column.is_numeric and len(words):
            raise DataError(
                f"{program}: the column '{name}' of its table holds "
                f"{len(words):,} values that are no {column.kind} ('{words[0][:40]}')",
                hint="write the values as in the training file",
            )
        for found in _oddities(values, column):
            if "declared" in found.what:
                raise DataError(
                    f"{program}: {found}", hint="mend the program, or what the schema declares"
                )
            odd.append(found)
        columns.append(stored(values, column, program))
    return pl.DataFrame(columns), odd


def _as_in_training(values: Values, column: Column) -> Values:
    """Write levels as training does, whatever the program made of them: TRUE, 1.0."""
    if column.is_numeric or not column.levels:
        return values
    known = pl.Series(column.levels, dtype=pl.String)
    alias = dict(zip(same_level(known, column.levels), column.levels, strict=True))
    own = values.labels.is_in(list(column.levels))
    plain = same_level(values.labels, column.levels).replace(alias)
    return Values(None, pl.select(pl.when(own).then(values.labels).otherwise(plain)).to_series())


def _oddities(values: Values, column: Column) -> Iterator[Oddity]:
    numbers, empty = values.numbers, values.labels.is_null()
    if numbers is None and column.levels:
        new = _unknown(values.labels, column.levels)
        if len(new):
            yield Oddity(column.name, _outside(column, "levels"), len(new), f"'{new[0][:40]}'")
    if numbers is not None:
        low, high = column.bounds or (-np.inf, np.inf)
        far = numbers[(numbers < low) | (numbers > high)]
        if len(far):
            shown = far[:1].astype("M8[us]")[0] if column.kind == "date" else f"{far[0]:.15g}"
            yield Oddity(column.name, _outside(column, "bounds"), len(far), str(shown))
        broken = numbers[np.isfinite(numbers) & (numbers % 1 != 0)]
        if column.stored == "integer" and len(broken):
            yield Oddity(column.name, "that are not whole; rounded", len(broken), f"{broken[0]:g}")
        empty &= pl.Series(np.isnan(numbers))
    if not column.missing and empty.any():
        yield Oddity(column.name, "missing", int(empty.sum()), "in training none is")


def _outside(column: Column, fact: str) -> str:
    """Say whose levels or bounds are left: those that a person declared, or training's."""
    whose = "the declared" if column.source(fact) == "declared" else "training's"
    return f"outside {whose} {fact}"


def _unknown(labels: pl.Series, known: Sequence[str]) -> pl.Series:
    return labels.filter(~labels.is_in(list(known)).fill_null(True))


def stored(values: Values, column: Column, program: str) -> pl.Series:
    """Store a column as the schema says; what cannot be stored so is refused."""
    odd = pl.Series([], dtype=pl.String)
    if column.stored == "boolean" and values.numbers is None:
        odd = _unknown(values.labels, ("true", "false"))
    if not len(odd):
        try:
            return write_values(values, column).alias(column.name)
        except pl.exceptions.PolarsError:
            odd = _unknown(values.labels, column.levels)
    example = f" ('{odd[0][:40]}')" if len(odd) else ""
    raise DataError(
        f"{program}: the column '{column.name}' of its table holds values that cannot be stored "
        f"as {column.stored}{example}",
        hint="write the values as in the training file",
    )
