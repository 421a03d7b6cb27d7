"""The constraints of a fit, between the method and the rows that leave the synthesizer.

``Combination``: columns that belong together are one category to a method, and come apart again.
``Identifier``: fresh values in the column's own form, counted; none is a real one's copy. Whole
numbers count from 1. Texts count too, in the form that the real ones have: where all of the most
common length have one and the same character (``CUST-``), it stays; elsewhere a digit stands for a
digit and a letter for a letter. A form that fewer than five rows share is not followed. ``Held``:
all of them, the relations between columns (``related``), and the conditions to check.
"""

import dataclasses
import json
import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.grammar import quoted_name
from understudy.data.schema import Column, Relation, Schema, labels, read_values, same_level
from understudy.data.tables import Table, free_name
from understudy.errors import DataError, OptionError
from understudy.synthesizers.columns.plan import ColumnRule
from understudy.synthesizers.constraints import Constraint, read_constraints
from understudy.synthesizers.model_file import Damaged, State, texts
from understudy.synthesizers.related import Related

Masks = dict[str, NDArray[np.bool_]]
FRAME = "together_"
KEY = "key"
FEWEST_ALIKE = 5
LONGEST = 1_000  # characters of a form
MOST_ROWS = 100_000
ALPHABETS = (
    string.digits,
    string.ascii_lowercase,
    string.ascii_uppercase,
    string.digits + "abcdef",
    string.digits + "ABCDEF",
    string.digits + string.ascii_lowercase,
    string.digits + string.ascii_uppercase,
    string.ascii_letters,
    string.digits + string.ascii_letters,
)
PLAIN = (string.digits,)


@dataclass(frozen=True)
class Combination:
    """Columns whose combinations are those of training.

    Parameters
    ----------
    names : tuple of str
        The columns, in the order of the table.
    merged : str or None
        What the one category is called; none where a column is kept: combinations are checked then.
    pool : DataFrame
        A combination each row, with its key, as the one category shows it.
    """

    names: tuple[str, ...]
    merged: str | None
    pool: pl.DataFrame

    @classmethod
    def fit(cls, table: Table, names: Sequence[str], *, merge: bool) -> Self:
        """Find the combinations of a table."""
        ordered = tuple(name for name in table.schema.names if name in names)
        frame = table.frame.select(ordered)
        key = free_name(KEY, ordered)
        pool = frame.with_columns(_keys(frame).alias(key)).unique(key, keep="first").sort(key)
        merged = free_name(", ".join(ordered), table.schema.names) if merge else None
        return cls(ordered, merged, pool)

    @classmethod
    def restore(
        cls, plain: Mapping[str, Any], state: State, frame: str, schema: Schema, inner: Schema
    ) -> Self:
        """Take what was saved; refuse columns that there are not."""
        names, merged = texts(plain["names"]), plain["merged"]
        if not names or not set(names) <= set(schema.modelled):
            raise Damaged("columns that belong together are not there")
        shown = set(inner.modelled)
        if not (merged in shown if merged is not None else set(names) <= shown):
            raise Damaged("no column shows the columns that belong together")
        pool = state.frame(frame, [*names, free_name(KEY, names)])
        if pool.dtypes[-1] != pl.String or not pool[:, -1].is_unique().all():
            raise Damaged("combinations have no keys of their own")
        return cls(names, merged, pool)

    @property
    def keys(self) -> pl.Series:
        """The keys of the combinations."""
        return self.pool[self.pool.columns[-1]]

    @property
    def text(self) -> str:
        """The constraint."""
        return f"together {', '.join(map(quoted_name, self.names))}"

    def merge(self, table: Table) -> Table:
        """Put one category in the place of the columns."""
        if self.merged is None:
            return table
        schema = table.schema
        columns = tuple(
            self._column(schema)
            if column.name == self.names[0]
            else dataclasses.replace(column, predictors=self._named(column.predictors))
            for column in schema
            if column.name not in self.names[1:]
        )
        visit = schema.visit if isinstance(schema.visit, str) else self._named(schema.visit) or ()
        schema = dataclasses.replace(schema, columns=columns, visit=visit)
        keys = _keys(table.frame.select(self.names)).alias(self.merged)
        frame = table.frame.with_columns(keys).select(schema.names)
        return dataclasses.replace(table, frame=frame, schema=schema)

    def _column(self, schema: Schema) -> Column:
        """Describe the one category."""
        parts = [schema[name] for name in self.names]
        given = [part.predictors for part in parts if part.predictors is not None]
        others = dict.fromkeys(name for names in given for name in names if name not in self.names)
        return Column(
            str(self.merged),
            "category",
            levels=tuple(self.keys.to_list()),
            inferred=frozenset({"kind", "levels"}),
            method=next((part.method for part in parts if part.method is not None), None),
            predictors=tuple(others) if given else None,
        )

    def _named(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        return tuple(dict.fromkeys(str(self.merged) if n in self.names else n for n in names))

    def split(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
        """Take the category apart; says also which rows show no combination of training."""
        merged = self.merged
        keys = _keys(frame.select(self.names)) if merged is None else frame[merged].cast(pl.String)
        numbers = pl.Series(range(self.pool.height), dtype=pl.Int64)
        place = keys.replace_strict(self.keys, numbers, default=None, return_dtype=pl.Int64)
        if merged is not None:
            parts = [self.pool[name].gather(place) for name in self.names]
            frame = frame.drop(merged).with_columns(parts)
        return frame, place.is_null().to_numpy()

    def narrowed(self, schema: Schema, inner: Schema) -> tuple[Self, Schema]:
        """Forget the combinations that the method never shows, and what else tells of them."""
        if self.merged is None:
            return self, schema
        rows = self.pool.filter(self.keys.is_in(list(inner[self.merged].levels)))
        # made anew: a filtered frame still holds the texts of the rows that are gone
        kept = dataclasses.replace(self, pool=pl.DataFrame(rows.rows(), rows.schema, orient="row"))
        if not kept.pool.height:
            raise DataError(
                f"together {', '.join(self.names)}: no combination is frequent enough to be shown",
                hint="drop the constraint, or let the method show rarer values (a smaller k; "
                "in bayes, least)",
            )
        columns = {name: _narrowed_column(kept.pool[name], schema[name]) for name in self.names}
        columns_now = tuple(columns.get(column.name, column) for column in schema)
        return kept, dataclasses.replace(schema, columns=columns_now)


def _keys(frame: pl.DataFrame) -> pl.Series:
    """Write each combination in one text: a JSON list."""
    texts = frame.select(labels(series).alias(series.name) for series in frame)
    distinct = texts.unique(maintain_order=True)
    keys = [json.dumps(row, ensure_ascii=False) for row in distinct.iter_rows()]
    name, names = free_name(KEY, frame.columns), frame.columns
    known = distinct.with_columns(pl.Series(name, keys, dtype=pl.String))
    joined = texts.join(known, on=names, how="left", nulls_equal=True, maintain_order="left")
    return joined[name]


def _narrowed_column(series: pl.Series, column: Column) -> Column:
    """Describe a column by what it may show."""
    values = read_values(series, column)
    texts = values.labels.drop_nulls()
    bounds, known = None, values.labels.is_not_null().to_numpy()
    if values.numbers is not None:
        numbers = values.numbers[~np.isnan(values.numbers)]
        known = known | ~np.isnan(values.numbers)
        bounds = (float(numbers.min()), float(numbers.max())) if len(numbers) else None
    seen = set(same_level(texts, column.levels)) if column.levels else set(texts)
    same = same_level(pl.Series(column.levels, dtype=pl.String), column.levels).to_list()
    levels = tuple(level for level, text in zip(column.levels, same, strict=True) if text in seen)
    return dataclasses.replace(
        column, levels=levels, bounds=bounds, missing=not known.all(), why=""
    )


@dataclass(frozen=True)
class Identifier:
    """A column that counts.

    Parameters
    ----------
    name : str
    stored : {"integer", "float", "text"}
    form : tuple of str
        For a text, the characters that each place can have; one character alone stays as it is.

    Examples
    --------
    >>> made = Identifier("id", "text", ("A", "-", "0123456789", "0123456789"))
    >>> made.values(8, 11, 11).to_list()
    ['A-09', 'A-10', 'A-11']
    """

    name: str
    stored: str
    form: tuple[str, ...] = ()

    @classmethod
    def fit(cls, series: pl.Series | None, column: Column) -> Self:
        """Find the form of a column; where it is not read, plain numbers."""
        if column.stored != "text":
            return cls(column.name, column.stored)
        return cls(column.name, "text", PLAIN if series is None else _form(labels(series)))

    def values(self, start: int, stop: int, total: int) -> pl.Series:
        """Give the values after the first ``start``, up to ``stop``, of ``total`` in all."""
        numbers = np.arange(start + 1, stop + 1)
        if self.stored != "text":
            made = pl.Series(self.name, numbers, dtype=pl.Int64)
            return made.cast(pl.Float64) if self.stored == "float" else made
        return pl.Series(self.name, _written(numbers, self._wide(total)), dtype=pl.String)

    def _wide(self, total: int) -> tuple[str, ...]:
        """Lengthen the form until it has enough values."""
        form = self.form
        first = next(place for place, signs in enumerate(form) if len(signs) > 1)
        while math.prod(map(len, form)) <= total:
            form = (*form[:first], form[first], *form[first:])
        return form

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "stored": self.stored, "form": list(self.form)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], schema: Schema) -> Self:
        """Take plain values; refuse a column that is none, and a form that cannot count."""
        made = cls(plain["name"], plain["stored"], texts(plain["form"]))
        if made.name not in schema.names or not isinstance(made.stored, str):
            raise Damaged("an identifier is no column")
        counts = any(len(signs) > 1 for signs in made.form) and all(made.form)
        if made.stored == "text" and not (counts and len(made.form) <= LONGEST):
            raise Damaged("an identifier has a form that does not count")
        return made


def _written(numbers: Any, form: tuple[str, ...]) -> pl.Series:
    """Write numbers with the characters of a form, the last place counting fastest."""
    columns, rest = [], numbers
    for signs in reversed(form):
        columns.append(pl.Series(list(signs)).gather(rest % len(signs)))
        rest = rest // len(signs)
    frame = pl.DataFrame([column.alias(str(i)) for i, column in enumerate(columns[::-1])])
    return frame.select(pl.concat_str(pl.all())).to_series()


def _form(texts: pl.Series) -> tuple[str, ...]:
    """Give the characters of each place, among the texts of the most common length."""
    known = texts.drop_nulls().head(MOST_ROWS)
    lengths = known.str.len_chars()
    counted = lengths.alias("length").value_counts()
    commonest = counted.sort("count", "length", descending=[True, False]).head(1).rows()
    length, many = commonest[0] if commonest else (0, 0)
    if many < FEWEST_ALIKE or not 0 < length <= LONGEST:
        return PLAIN
    alike = known.filter(lengths == length).to_list()
    form = tuple(_signs(set(place)) for place in zip(*alike, strict=True))
    return form if any(len(signs) > 1 for signs in form) else PLAIN


def _signs(seen: set[str]) -> str:
    if len(seen) == 1 and not seen & set(string.digits):
        return next(iter(seen))
    fits = (alphabet for alphabet in ALPHABETS if seen <= set(alphabet))
    return next(fits, ALPHABETS[5])


@dataclass(frozen=True)
class Held:
    """Conditions to check, combinations to take apart, relations to hold, identifiers to count.

    ``fitted`` is the schema of the rows that leave.
    """

    fitted: Schema
    conditions: tuple[Constraint, ...] = ()
    combinations: tuple[Combination, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    related: Related = field(default_factory=Related)

    @classmethod
    def fit(
        cls,
        table: Table,
        texts: Sequence[str],
        *,
        relations: Sequence[Relation] = (),
        keep: Sequence[str] = (),
        reserved: Sequence[str] = (),
        k: int = 1,
        reads: bool = True,
    ) -> tuple[Self, Table]:
        """Take what the constraints need of a training table; gives also the table to learn from.

        Columns that belong together are one there, unless some of them are kept, and what follows
        from others by a relation is taken out, unless it is kept or reserved; nothing is looked up
        that fewer than k rows hold.
        With ``reads`` = False nothing is read off the rows, as a privacy budget demands.
        """
        table = with_identifiers(table, texts)
        constraints = read_constraints(texts, table.schema)
        together = [one for one in constraints if one.kind == "together"]
        if together and not reads:
            raise OptionError(
                f"constraint {together[0].text}: the combinations are read off the data, which "
                "epsilon does not pay for",
                hint="drop it, or declare one category with all combinations as its levels",
            )
        conditions = tuple(one for one in constraints if one.condition is not None)
        if reads:
            _refuse_impossible(conditions, table)
        _refuse_rules(together, table.schema)
        combinations = tuple(
            Combination.fit(table, one.names, merge=not set(one.names) & set(keep))
            for one in together
            if not set(one.names) <= set(keep)
        )
        unique = [one.names[0] for one in constraints if one.kind == "unique"]
        seen = {name: table.frame[name] for name in unique if reads and name in table.frame.columns}
        identifiers = tuple(Identifier.fit(seen.get(n), table.schema[n]) for n in unique)
        reserved = [*reserved, *(n for c in constraints if c.condition is None for n in c.names)]
        reserved += [name for text in table.schema.rules for name in ColumnRule.parse(text).names]
        related, inner = Related.fit(
            table, relations, keep=keep, reserved=reserved, k=k, reads=reads
        )
        schema = dataclasses.replace(table.schema, relations=related.relations)
        made = cls(schema, conditions, combinations, identifiers, related)
        inner = dataclasses.replace(inner, schema=dataclasses.replace(inner.schema, constraints=()))
        for combination in combinations:
            inner = combination.merge(inner)
        return made, inner

    def notes(self, table: Table) -> list[str]:
        """Say how many training rows break a constraint, and which relations are held."""
        made = [
            f"{broken:,} of {table.height:,} training rows break the constraint {one.text}; "
            "no synthetic row does"
            for one in self.conditions
            if (broken := int(one.fails(table).sum()))
        ]
        return made + self.related.notes()

    def narrowed(self, inner: Schema) -> Self:
        """Keep only the combinations that a method shows, and the schema that tells of no other."""
        schema, kept = self.fitted, []
        for combination in self.combinations:
            narrow, schema = combination.narrowed(schema, inner)
            kept.append(narrow)
        schema = self.related.emitted(schema, inner)
        return dataclasses.replace(self, fitted=schema, combinations=tuple(kept))

    @property
    def texts(self) -> tuple[str, ...]:
        """The constraints that are not about identifiers."""
        return (*(one.text for one in self.conditions), *(one.text for one in self.combinations))

    @property
    def left_out(self) -> tuple[Column, ...]:
        """The columns that no row has."""
        made = {one.name for one in self.identifiers}
        return tuple(column for column in self.fitted.left_out if column.name not in made)

    @property
    def rejects(self) -> bool:
        """Whether rows may have to be drawn again."""
        return bool(self.conditions or self.combinations or self.related)

    def outward(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Masks, NDArray[np.bool_]]:
        """Take combinations apart, and make what follows from others.

        Says also which rows show no combination of training, and of which relations are in doubt.
        """
        broken: Masks = {}
        for one in self.combinations:
            frame, unknown = one.split(frame)
            broken[one.text] = unknown
        frame, doubt = self.related.outward(frame, self.fitted)
        return frame, broken, doubt

    def broken(self, table: Table) -> Masks:
        """Say for each condition which rows break it."""
        return {one.text: one.fails(table) for one in self.conditions}

    def met(self, table: Table) -> NDArray[np.bool_]:
        """Say which rows meet all conditions."""
        made = np.ones(table.height, bool)
        for broken in self.broken(table).values():
            made &= ~broken
        return made

    def identified(self, frame: pl.DataFrame, start: int, total: int) -> pl.DataFrame:
        """Put fresh identifiers in their places."""
        if not self.identifiers:
            return frame
        stop = start + frame.height
        made = frame.with_columns(one.values(start, stop, total) for one in self.identifiers)
        return made.select(name for name in self.fitted.names if name in made.columns)

    def to_dict(self) -> dict[str, Any]:
        """Give what the head of a model file says."""
        return {
            "together": [{"names": one.names, "merged": one.merged} for one in self.combinations],
            "unique": [one.to_dict() for one in self.identifiers],
            "relations": self.related.to_dict(),
        }

    def frames(self) -> dict[str, pl.DataFrame]:
        """Give the frames of a model file."""
        pools = {f"{FRAME}{i}": one.pool for i, one in enumerate(self.combinations)}
        return pools | self.related.frames()

    def without(self, state: State) -> State:
        """Give what is the method's own of what was saved."""
        return state.without_frames(self.frames())

    @classmethod
    def restore(cls, plain: Mapping[str, Any], state: State, schema: Schema, inner: Schema) -> Self:
        """Take what was saved; ``inner`` is the schema of what the method makes."""
        # what was learnt is narrower than what was checked: a rare level is not in this schema
        constraints = [Constraint.parse(text, schema, check=False) for text in schema.constraints]
        combinations = tuple(
            Combination.restore(one, state, f"{FRAME}{i}", schema, inner)
            for i, one in enumerate(plain.get("together", ()))
        )
        identifiers = tuple(Identifier.from_dict(one, schema) for one in plain.get("unique", ()))
        conditions = tuple(one for one in constraints if one.condition is not None)
        split = [name for one in combinations if one.merged is not None for name in one.names]
        columns = tuple(schema[name] for name in split if name not in inner)
        shown = dataclasses.replace(inner, columns=(*inner.columns, *columns))
        related = Related.restore(plain.get("relations", []), state, schema, shown)
        return cls(schema, conditions, combinations, identifiers, related)


def with_identifiers(table: Table, texts: Sequence[str]) -> Table:
    """Give a table whose unique columns are identifiers, and which has these constraints."""
    schema = dataclasses.replace(table.schema, constraints=tuple(dict.fromkeys(texts)))
    for one in read_constraints(texts, schema):
        if one.kind == "unique":
            none: dict[str, Any] = {"levels": (), "bounds": None, "decimals": None}
            schema = schema.replace(one.names[0], kind="identifier", why=one.text, **none)
    return dataclasses.replace(table, schema=schema)


def _refuse_impossible(conditions: Sequence[Constraint], table: Table) -> None:
    """Refuse conditions that no training row meets, or only rows with missing values do."""
    every = np.ones(table.height, bool)
    for one in conditions:
        meets = ~one.fails(table)
        if not meets.any():
            raise DataError(
                f"{table.name}: no row meets the constraint {one.text}",
                hint="correct the constraint or the rows",
            )
        if not meets.all() and one.condition is not None and not one.condition.mask(table).any():
            raise DataError(
                f"{table.name}: no row meets the constraint {one.text} but by a missing value",
                hint="correct the constraint; write 'A is missing' if that is meant",
            )
        every &= meets
    if not every.any():
        raise DataError(
            f"{table.name}: no row meets all constraints at once",
            hint="drop one of them, or correct the rows",
        )


def _refuse_rules(together: Sequence[Constraint], schema: Schema) -> None:
    for text in schema.rules if together else ():
        rule = ColumnRule.parse(text)
        for one in together:
            both = set(rule.names) & set(one.names)
            if both:
                raise OptionError(
                    f"constraint {one.text}: the rule '{text}' is about '{min(both)}'",
                    hint="the method sees these columns as one; drop the rule or the constraint",
                )
