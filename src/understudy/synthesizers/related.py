"""The relations of a fit, between the method and the rows that leave the synthesizer.

What follows from other columns is taken out before a method learns and made of its rows afterwards,
so that every method holds it without knowing of it: a table to learn from goes in, rows come out.
Each column is made in one way, from columns that are made before it. Relations that rows of
training break are held only where a person declared them.

What is computed follows from values that the method shows and from nothing else. So a lookup or a
class shows no value that fewer than k training rows hold, where the method promises that of its
own. A number that is computed may happen to be one that fewer rows hold, since the values that it
is computed from may be theirs together; its range is that of averages of k rows at either end.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.grammar import NUMBER
from understudy.data.relations import Relation, check
from understudy.data.schema import Column, Schema, shortened
from understudy.data.shown import shown_codec
from understudy.data.tables import Table
from understudy.errors import OptionError, near
from understudy.synthesizers.columns.plan import ColumnRule
from understudy.synthesizers.derived import DerivedColumn, RelationStep
from understudy.synthesizers.model_file import Damaged, State
from understudy.synthesizers.ordered import OrderedPair
from understudy.synthesizers.reshaped import CodeWords, MissingWhere, OneHotGroup

Mask = NDArray[np.bool_]
FRAME = "relation_"
MOST_NAMED = 8
HIDDEN = 0.1  # of the rows: values that are not shown, so that nothing can be looked up for them
ORDER_OF_KINDS = ("formula", "classes", "lookup", "one_hot", "order", "code", "missing")
STEPS: dict[str, Any] = {
    kind.kind: kind for kind in (DerivedColumn, OrderedPair, OneHotGroup, CodeWords, MissingWhere)
}


@dataclass(frozen=True)
class Related:
    """The steps that hold relations, in the order in which rows that were drawn go through them."""

    steps: tuple[RelationStep, ...] = ()
    said: tuple[Relation, ...] = ()  # what no step holds: weights, subjects
    refused: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @classmethod
    def fit(
        cls,
        table: Table,
        relations: Sequence[Relation],
        *,
        keep: Collection[str] = (),
        reserved: Collection[str] = (),
        k: int = 1,
        reads: bool = True,
    ) -> tuple[Self, Table]:
        """Take what relations need of a training table; gives also the table to learn from.

        Columns that are kept or reserved stay as they are. With ``reads`` = False nothing is read
        off the rows, as a privacy budget demands, and relations that were are left out.
        """
        chosen = _Choice(table, keep, frozenset(reserved), k, reads)
        for relation in _in_order(relations):
            chosen.take(relation)
        made = cls(chosen.in_order(), tuple(chosen.said), tuple(chosen.refused))
        return made, made.inward(table)

    def __bool__(self) -> bool:
        return bool(self.steps)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What is held, without counts of training rows."""
        held = [one for step in self.steps for one in step.relations]
        every = (*held, *self.said)
        return tuple(dataclasses.replace(one, rows=None, broken=None) for one in every)

    def notes(self) -> list[str]:
        """Say what is held, and what not and why."""
        made = []
        held = [one.text for step in self.steps for one in step.relations]
        if held:
            more = f" and {len(held) - MOST_NAMED} more" if len(held) > MOST_NAMED else ""
            listed = "; ".join(shortened(text, 80) for text in held[:MOST_NAMED])
            made.append(f"relations held: {listed}{more}")
        made += [f"the relation {text} is not held: {why}" for text, why in self.refused]
        return made

    def inward(self, table: Table) -> Table:
        """Give what a method learns from."""
        replaced: dict[str, tuple[Column, pl.Series] | None] = {}
        instead: dict[str, tuple[str, ...]] = {}
        for step in self.steps:
            for name, told in step.inward(table).items():
                replaced[name] = told
                if told is None:
                    first = step.makes[:1] if isinstance(step, OneHotGroup) else step.needs
                    instead[name] = first
        schema = table.schema
        if not replaced:
            return dataclasses.replace(table, schema=dataclasses.replace(schema, relations=()))
        columns = []
        for column in schema:
            told = replaced.get(column.name)
            if told is not None or column.name not in replaced:
                shown = column if told is None else told[0]
                named = _instead(shown.predictors, instead, column.name)
                columns.append(dataclasses.replace(shown, predictors=named))
        visit = schema.visit
        if not isinstance(visit, str):
            visit = tuple(name for name in visit if name not in instead)
        made = dataclasses.replace(schema, columns=tuple(columns), visit=visit, relations=())
        series = [told[1] for told in replaced.values() if told is not None]
        frame = table.frame.with_columns(series)
        return dataclasses.replace(
            table, frame=frame.select(n for n in made.names if n in frame.columns), schema=made
        )

    def outward(self, frame: pl.DataFrame, schema: Schema) -> tuple[pl.DataFrame, Mask]:
        """Make what was taken out; says also which rows are in doubt and better drawn again."""
        doubt = np.zeros(frame.height, bool)
        for step in self.steps:
            needed = [n for n in dict.fromkeys((*step.makes, *step.needs)) if n in frame.columns]
            columns = tuple(schema[name] for name in dict.fromkeys((*step.makes, *step.needs)))
            made, unsure = step.outward(Table(frame.select(needed), Schema(columns)))
            frame, doubt = frame.with_columns(made), doubt | unsure
        for step in self.steps if len(self.steps) > 1 else ():  # later steps may undo an order
            if isinstance(step, OrderedPair):
                names = step.relation.sources
                pair = Table(frame.select(names), Schema(tuple(schema[name] for name in names)))
                doubt = doubt | step.relation.judge(pair).breaks
        return frame, doubt

    def emitted(self, schema: Schema, inner: Schema) -> Schema:
        """Describe the rows that leave, by what a method tells that it shows."""
        told = {column.name: column for column in inner}
        columns = {column.name: told.get(column.name, column) for column in schema}
        for step in self.steps:
            for name in step.makes:
                own = told.get(name)
                if isinstance(step, MissingWhere | OrderedPair) and step.makes:
                    touched = any(name in o.makes for o in self.steps if o is not step)
                    own = columns[name] if touched else own
                columns[name] = step.emitted(schema[name], own)
        return dataclasses.replace(
            schema, columns=tuple(columns[name] for name in schema.names), relations=self.relations
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """Give what the head of a model file says."""
        return [step.to_dict() for step in self.steps]

    def frames(self) -> dict[str, pl.DataFrame]:
        """Give the frames of a model file."""
        made = {f"{FRAME}{i}": step.frame() for i, step in enumerate(self.steps)}
        return {name: frame for name, frame in made.items() if frame is not None}

    @classmethod
    def restore(cls, plain: Any, state: State, schema: Schema, inner: Schema) -> Self:
        """Take what was saved; refuse columns that there are not, or that nothing makes."""
        if not isinstance(plain, list):
            raise Damaged("relations are no list")
        steps: list[RelationStep] = []
        ready = set(inner.names)
        for number, one in enumerate(plain):
            if one["kind"] not in STEPS:
                raise Damaged("a relation is of no kind")
            kind = STEPS[one["kind"]]
            step: RelationStep = kind.restore(one, state, f"{FRAME}{number}", schema.modelled)
            if not set(step.needs) <= ready:
                raise Damaged("a column is computed from one that is not there")
            ready |= set(step.makes)
            steps.append(step)
        if not set(schema.modelled) <= ready:
            raise Damaged("a column is made by nothing")
        held = {one.text for step in steps for one in step.relations}
        said = tuple(one for one in schema.relations if one.text not in held)
        return cls(tuple(steps), said)


def _instead(
    names: Sequence[str] | None, instead: Mapping[str, tuple[str, ...]], own: str
) -> tuple[str, ...] | None:
    """Name, for columns that are gone, what they are made of."""
    if names is None:
        return None
    found = list(names)
    while any(name in instead for name in found):
        found = [other for name in found for other in instead.get(name, (name,))]
    return tuple(dict.fromkeys(name for name in found if name != own))


def _in_order(relations: Sequence[Relation]) -> list[Relation]:
    """Declared relations come first, then by kind."""
    known = [one for one in relations if one.kind in ORDER_OF_KINDS]
    others = [one for one in relations if one.kind not in ORDER_OF_KINDS]
    return sorted(known, key=lambda one: (one.inferred, ORDER_OF_KINDS.index(one.kind))) + others


@dataclass
class _Choice:
    """Which relations are held, and how: each column made in one way, and none of itself."""

    table: Table
    keep: Collection[str]
    reserved: frozenset[str]
    k: int
    reads: bool
    steps: list[RelationStep] = field(default_factory=list)
    parts: dict[str, list[Relation]] = field(default_factory=dict)  # formulas of some rows
    said: list[Relation] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def take(self, relation: Relation) -> None:
        """Add a step for a relation, or say why there is none."""
        schema = self.table.schema
        gone = next((name for name in relation.names if name not in schema), None)
        if gone is not None:
            raise OptionError(
                f"relation {relation}: there is no column '{gone}'", hint=near(gone, schema.names)
            )
        if not self.reads and relation.inferred:
            return self._refuse(relation, "it was read off the data, for which no epsilon pays")
        if relation.kind in ("weight", "subject"):
            self.said.append(relation)
            return None
        if relation.is_near:
            return None
        if not set(relation.names) <= set(schema.modelled):
            gone = next(name for name in relation.names if name not in schema.modelled)
            return self._refuse(relation, f"'{gone}' is left out of synthesis")
        if not relation.inferred:
            check(relation, schema)
        if not self.reads and relation.kind in ("lookup", "classes"):
            raise OptionError(
                f"relation {relation}: its values are read off the data, which epsilon does not "
                "pay for",
                hint="write a formula, drop the relation, or declare one category in the place of "
                "both columns",
            )
        if not set(relation.names) - set(self.keep):
            return None  # nothing of it is drawn
        getattr(self, f"_{relation.kind}")(relation)
        return None

    def _refuse(self, relation: Relation, why: str) -> None:
        self.refused.append((relation.text, why))

    def _free(self, name: str) -> bool:
        """Whether a column may be made of others."""
        return name not in self.keep and name not in self.reserved and not self._made(name)

    def _made(self, name: str) -> bool:
        return any(name in step.makes for step in self.steps)

    def _why_not_free(self, name: str) -> str:
        if name in self.keep:
            return f"'{name}' is kept"
        if name in self.reserved:
            return f"a constraint, a rule or an option is about '{name}'"
        return f"'{name}' follows from another relation"

    def _below(self, names: Collection[str]) -> set[str]:
        """Give columns and all that they are made of."""
        found: set[str] = set()
        queue = list(names)
        while queue:
            name = queue.pop()
            if name not in found:
                found.add(name)
                for step in self.steps:
                    if name in step.makes:
                        queue += step.needs
        return found

    def _circles(self, target: str, sources: Collection[str]) -> bool:
        return target in self._below(sources)

    def _formula(self, relation: Relation) -> None:
        target = str(relation.target)
        parts = [*self.parts.get(target, ()), relation]
        before = None
        if relation.said.where is not None and target in self.parts:
            before = next(step for step in self.steps if step.makes == (target,))
        elif not self._free(target):
            return self._refuse(relation, self._why_not_free(target))
        sources = tuple(name for one in parts for name in one.sources)
        if self._circles(target, sources):
            if relation.kind == "lookup":
                return None  # codes and labels: the other way round says the same
            return self._refuse(relation, f"'{target}' is what others are computed from")
        if self.keep and not self._below(sources) - set(self.keep):
            return self._refuse(
                relation, f"'{target}' would be as it was, since what it follows from is kept"
            )
        hidden = [name for name in dict.fromkeys(sources) if self._is_hidden(name)]
        if hidden:
            return self._refuse(relation, f"too few values of '{hidden[0]}' may be shown")
        made = DerivedColumn.fit(self.table, parts, k=self.k, reads=self.reads)
        if made is None:
            return self._refuse(relation, f"no value of it is held by {self.k} rows")
        if before is not None:
            self.steps.remove(before)
        self.steps.append(made)
        if relation.said.where is not None:
            self.parts[target] = parts
        return None

    _lookup = _classes = _formula

    def _is_hidden(self, name: str) -> bool:
        """Whether a method that promises k cannot show most values that others follow from."""
        if self.k < 2 or not self.reads or name in self.keep or self._made(name):
            return False
        values, column = self.table.values(name), self.table.schema[name]
        codec, codes = shown_codec(values, column, self.k)
        return codec.shows_nothing or float((codes == codec.unseen).mean()) > HIDDEN

    def _one_hot(self, relation: Relation) -> None:
        blocked = [name for name in relation.sources if not self._free(name)]
        if blocked:
            return self._refuse(relation, self._why_not_free(blocked[0]))
        self.steps.append(OneHotGroup(relation))
        return None

    def _order(self, relation: Relation) -> None:
        coded = {
            one.target
            for one in self.table.schema.relations
            if one.kind == "code" and not one.is_near
        }
        free = [n for n in relation.sources if self._free(n) and n not in coded]
        low, high = relation.sources
        if self._circles(high, [low]):
            free = [name for name in free if name != high]
        if self._circles(low, [high]):
            free = [name for name in free if name != low]
        if self.reads:
            made = OrderedPair.fit(self.table, relation, free, self.k)
        else:
            made = OrderedPair(relation, "redraw" if high in free else "check")
        if made.mode == "check" and high not in self.keep and high not in self.reserved:
            derived = any(high in s.makes for s in self.steps if not isinstance(s, OrderedPair))
            if not derived and not self._circles(high, [low]):
                made = dataclasses.replace(made, mode="redraw")
        self.steps.append(made)
        return None

    def _code(self, relation: Relation) -> None:
        name = str(relation.target)
        column = self.table.schema[name]
        numbers = column.kind == "number" and column.stored in ("integer", "float")
        numbers = numbers and all(map(NUMBER.fullmatch, relation.said.values))
        if not numbers or name in self.keep or name in self.reserved:
            return None  # a category has them as levels; what is kept is not drawn
        if any(name in s.makes and not isinstance(s, MissingWhere) for s in self.steps):
            touched = next(s for s in self.steps if name in s.makes)
            if not (isinstance(touched, DerivedColumn) and touched.mode == "own"):
                if isinstance(touched, OrderedPair) and touched.mode in ("redraw", "check"):
                    self.steps.insert(0, CodeWords(relation))
                return None
        self.steps.insert(0, CodeWords(relation))
        return None

    def _missing(self, relation: Relation) -> None:
        target = str(relation.target)
        if target in self.keep or target in self.reserved:
            return self._refuse(relation, self._why_not_free(target))
        if not self._circles(target, relation.sources):
            made = any(isinstance(s, DerivedColumn) and target in s.makes for s in self.steps)
            self.steps.append(MissingWhere(relation, fills=not made))
        return None

    def in_order(self) -> tuple[RelationStep, ...]:
        """Give the steps so that each comes after what it needs."""
        rank = {"code": 0, "one_hot": 1, "derived": 2, "order": 3, "missing": 4}
        left = sorted(self.steps, key=lambda step: rank[step.kind])
        made: list[RelationStep] = []
        while left:
            for step in left:
                others = [one for one in left if one is not step]
                waits = any(set(one.makes) & set(step.needs) for one in others)
                mine = set(step.makes)
                earlier = any(
                    set(one.makes) & mine and rank[one.kind] < rank[step.kind] for one in others
                )
                if not waits and not earlier:
                    break
            else:
                step = left[-1]  # a circle through several steps of one column: checked at the end
                self._refuse(step.relations[0], "it goes round in a circle with others")
                left.remove(step)
                continue
            made.append(step)
            left.remove(step)
        return tuple(made)


def named_columns(options: Mapping[str, Any], schema: Schema) -> tuple[str, ...]:
    """Give the columns that options of a method speak of, but those that are kept."""
    queue = [value for name, value in options.items() if name not in ("keep", "rules")]
    found = []
    for value in queue:
        if isinstance(value, Mapping):
            queue += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            queue += value
        elif isinstance(value, str) and value in schema:
            found.append(value)
    rules = options.get("rules")
    for text in rules if isinstance(rules, list | tuple) else ():
        found += ColumnRule.parse(text).names
    return tuple(dict.fromkeys(found))
