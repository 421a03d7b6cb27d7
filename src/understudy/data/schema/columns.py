"""Column and Schema: what a table is made of, and where each fact about it comes from."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from understudy.data.schema.relations import Relation
from understudy.data.schema.writing import NumberFormat
from understudy.errors import ColumnNotFoundError, OptionError, SchemaError, near

Kind = Literal["number", "category", "date", "identifier", "name", "text", "constant"]
Stored = Literal[
    "integer", "float", "text", "boolean", "date", "datetime", "time", "duration", "other"
]
Unit = Literal["day", "minute", "second", "microsecond"]

FACTS = ("kind", "decimals", "bounds", "levels")
LEFT_OUT: tuple[Kind, ...] = ("identifier", "name", "text")
YEARS = (-62_135_596_800e6, 253_402_300_799_999_968.0)  # first and last float of 0001 to 9999
MICROSECONDS: dict[Unit, float] = {"day": 86_400e6, "minute": 60e6, "second": 1e6, "microsecond": 1}


@dataclass(frozen=True, repr=False)
class Column:
    """One column: its kind, and the facts that coding and decoding need.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "identifier", "name", "text", "constant"}
        Identifiers, names and free text are not modelled. Synthesis makes identifiers and names
        anew, in the place of the real ones, and leaves free text out; assessment leaves out all.
    stored : str
        How the values are kept in the table: ``integer``, ``float``, ``text``, ``boolean`` …
    decimals : int, optional
        Digits after the point that the numbers of this column have; none: as many as there are.
    bounds : tuple of float, optional
        Smallest and largest number; for a date, microseconds since 1970 in UTC.
    levels : tuple of str
        The values of a category; in a number or a date, the words that stand among the
        values, such as ``N`` for not applicable, and infinities.
    format : str, optional
        How values are written where they are stored as text: of a date ``%d.%m.%Y`` (several
        formats with `` | `` between them, the first for what is made), of a number the picture
        of 1234, such as ``$1,234.00``.
    time_zone : str, optional
        The zone of a datetime.
    unit : str, optional
        The step between dates, times of the day or durations, which are numbers of microseconds.
    rest : str, optional
        The level in the place of all that are too rare to be shown, for methods that show no rare
        ones; without it, such rows get another level.
    missing : bool
        Whether values are missing.
    inferred : frozenset of str
        The facts that were read off the data; all others were declared by a person.
    why : str
        The choice of the kind, explained.
    method : str, optional
        The column method by which ``sequential`` draws the column.
    predictors : tuple of str, optional
        The columns that it is drawn from; none given: all that are drawn before it.
    """

    name: str
    kind: Kind
    stored: Stored = "text"
    decimals: int | None = None
    bounds: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()
    format: str | None = None
    time_zone: str | None = None
    unit: Unit | None = None
    rest: str | None = None
    missing: bool = False
    inferred: frozenset[str] = frozenset()
    why: str = ""
    method: str | None = None
    predictors: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        place = f"schema: column '{self.name}'"
        if self.kind not in get_args(Kind):
            raise SchemaError(
                f"{place} has the unknown kind '{self.kind}'",
                hint=f"use one of {', '.join(get_args(Kind))}",
            )
        if self.stored not in get_args(Stored):
            raise SchemaError(
                f"{place}: stored = '{self.stored}' is unknown",
                hint=f"use one of {', '.join(get_args(Stored))}",
            )
        if self.unit is not None and self.unit not in get_args(Unit):
            raise SchemaError(
                f"{place}: unit = '{self.unit}' is unknown",
                hint=f"use one of {', '.join(get_args(Unit))}",
            )
        if self.bounds is not None and not self.bounds[0] <= self.bounds[1]:
            raise SchemaError(
                f"{place}: bounds {list(self.bounds)} are upside down",
                hint="write the smaller one first",
            )
        low, high = self.bounds or YEARS
        if self.kind == "date" and not (YEARS[0] <= low and high <= YEARS[1]):
            raise SchemaError(
                f"{place}: its bounds lie outside the years 1 to 9999",
                hint='write them as dates: bounds = ["1900-01-01", "2100-01-01"]',
            )
        if self.decimals is not None and not 0 <= self.decimals <= 15:
            raise SchemaError(
                f"{place}: decimals = {self.decimals}", hint="use a whole number from 0 to 15"
            )
        if len(set(self.levels)) != len(self.levels):
            twice = next(level for level in self.levels if self.levels.count(level) > 1)
            raise SchemaError(f"{place} names the level '{twice}' twice", hint="name it once")
        if self.kind == "number" and self.format is not None:
            try:
                NumberFormat.parse(self.format)
            except ValueError as error:
                found, _, hint = str(error).partition("; ")
                raise SchemaError(f"{place}: {found}", hint=hint) from error
        unknown = self.inferred - set(FACTS)
        if unknown:
            raise SchemaError(
                f"{place}: '{min(unknown)}' is not a fact that can be inferred",
                hint=f"use {', '.join(FACTS)}",
            )

    def __repr__(self) -> str:
        facts = [self.kind, f"{len(self.levels)} levels" if self.levels else ""]
        facts += ["{:.6g} to {:.6g}".format(*self.bounds) if self.bounds else ""]
        return f"Column('{shortened(self.name)}', {', '.join(filter(None, facts))})"

    @property
    def is_numeric(self) -> bool:
        """Whether values lie on a line: numbers and dates."""
        return self.kind in ("number", "date")

    @property
    def is_modelled(self) -> bool:
        """Whether the column is learnt from and assessed."""
        return self.kind not in LEFT_OUT

    @property
    def step(self) -> float | None:
        """The distance between neighbouring values of a number or a date, if there is one."""
        if self.kind == "date" or self.unit is not None:
            return MICROSECONDS[self.unit or "microsecond"]
        if self.kind == "number" and self.decimals is not None:
            return float(10.0**-self.decimals)
        return None

    @property
    def writing(self) -> NumberFormat | None:
        """How its numbers are written, where that is not the plain way."""
        if self.kind != "number" or self.format is None:
            return None
        return NumberFormat.parse(self.format)

    def source(self, fact: str) -> Literal["data", "declared"]:
        """Say who knows a fact: the data, or a person who declared it."""
        return "data" if fact in self.inferred else "declared"


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, in order, and how they depend on each other.

    Parameters
    ----------
    columns : tuple of Column
    visit : tuple of str, or "learnt"
        The order in which sequential methods draw the columns; empty: the order of the table.
    rules : tuple of str
        What a column always is, such as ``spouse_age is missing where marital == 'single'``.
    constraints : tuple of str
        What every synthetic row meets, whatever the method, such as ``start <= end``.
    relations : tuple of Relation
        What holds in the rows of the table, such as ``bmi = weight / (height / 100) ** 2``.

    Examples
    --------
    >>> schema = Schema((Column("age", "number"), Column("id", "identifier")))
    >>> schema.names, schema.modelled
    (('age', 'id'), ('age',))
    """

    columns: tuple[Column, ...]
    visit: tuple[str, ...] | Literal["learnt"] = ()
    rules: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise SchemaError(
                    f"schema: the column '{column.name}' stands twice", hint="rename one of them"
                )
            seen.add(column.name)

    def __repr__(self) -> str:
        said = [f"{len(self)} columns", few(f"{shortened(c.name)} {c.kind}" for c in self)]
        said += [f"{len(self.constraints)} constraints" if self.constraints else ""]
        said += [f"{len(self.relations)} relations" if self.relations else ""]
        return f"Schema({'; '.join(filter(None, said))})"

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Column:
        if name not in self._by_name:
            raise ColumnNotFoundError(f"there is no column '{name}'", hint=near(name, self.names))
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        """All column names."""
        return tuple(column.name for column in self.columns)

    @property
    def modelled(self) -> tuple[str, ...]:
        """The names of the columns that are learnt from and assessed."""
        return tuple(column.name for column in self.columns if column.is_modelled)

    def check_modelled(self, role: str, names: Iterable[str]) -> None:
        """Refuse names of columns that are not there, or that are left out."""
        for name in names:
            if name in self and name not in self.modelled:
                raise OptionError(
                    f"{role}: the column '{name}' is left out: it is taken for {self[name].kind}",
                    hint="declare another kind in a schema file, such as category",
                )
            if name not in self:
                raise OptionError(
                    f"{role}: there is no column '{name}'", hint=near(name, self.modelled)
                )

    @property
    def left_out(self) -> tuple[Column, ...]:
        """The columns that are neither learnt from nor assessed."""
        return tuple(column for column in self.columns if not column.is_modelled)

    def replace(self, name: str, **facts: object) -> "Schema":
        """Change facts of one column; a fact that a person changes is a declared one."""
        column = self[name]
        changed = dataclasses.replace(
            column,
            **facts,  # type: ignore[arg-type]
            inferred=column.inferred - set(facts),
        )
        columns = tuple(changed if c.name == name else c for c in self.columns)
        return dataclasses.replace(self, columns=columns)


def few(names: Iterable[str], most: int = 6) -> str:
    """Name the first few of many.

    Examples
    --------
    >>> few(["a", "b", "c"], 2)
    'a, b … (3)'
    """
    listed = [shortened(name, 30) for name in names]
    return ", ".join(listed[:most]) + (f" … ({len(listed)})" if len(listed) > most else "")


def shortened(text: str, most: int = 100) -> str:
    """Cut a text that is too long for a line."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
