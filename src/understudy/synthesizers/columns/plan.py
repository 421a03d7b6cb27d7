"""Plan: which column is drawn when, how and from what; options win over the schema."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.data.schema import Schema, near
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.synthesizers.columns import COLUMN_METHODS, KEEP
from understudy.synthesizers.columns.order import learnt
from understudy.synthesizers.columns.rules import Rule, refuse_contradictions

LEARNT = "learnt"
TABLE = "table"


@dataclass(frozen=True)
class Wishes:
    """What the caller asks for; nothing means: as the schema says."""

    visit: Sequence[str] | str | None = None
    method: str | None = None
    methods: Mapping[str, str] | None = None
    predictors: Mapping[str, Sequence[str]] | None = None
    rules: Sequence[str] | None = None
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Plan:
    """The columns in the order of their drawing, each with its method and predictors."""

    order: tuple[str, ...]
    methods: Mapping[str, str]
    predictors: Mapping[str, tuple[str, ...]]
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, wishes: Wishes, table: Table) -> "Plan":
        """Check what is asked for against a training table."""
        return _Planner(wishes, table.schema).plan(table)

    def rules_of(self, name: str) -> tuple[Rule, ...]:
        """The rules that fix values of a column."""
        return tuple(rule for rule in self.rules if rule.column == name)


@dataclass
class _Planner:
    wishes: Wishes
    schema: Schema
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.names = self.schema.modelled

    def plan(self, table: Table) -> Plan:
        methods = self._methods()
        kept = tuple(name for name in self.names if methods[name] == KEEP)
        if len(kept) == len(self.names):
            raise OptionError("every column is kept", hint="leave at least one to be drawn")
        texts = self.schema.rules if self.wishes.rules is None else self.wishes.rules
        rules = [rule for rule in map(Rule.parse, texts) if methods.get(rule.column) != KEEP]
        for rule in rules:
            rule.check(self.schema)
            self._known([rule.column, *rule.condition.names], f"the rule '{rule.text}'")
        refuse_contradictions(rules, table)
        chosen = self._chosen_predictors(kept)
        needs = {name: set(chosen.get(name, ())) for name in self.names}
        for rule in rules:
            needs[rule.column] |= set(rule.condition.names)
        order = self._order(table, kept, needs)
        place = {name: number for number, name in enumerate(order)}
        for rule in rules:
            for name in rule.condition.names:
                if place[name] >= place[rule.column]:
                    raise OptionError(
                        f"the rule '{rule.text}' looks at '{name}', which is not drawn before "
                        f"'{rule.column}'",
                        hint=f"put '{name}' earlier with visit, or use visit=learnt",
                    )
        for name, given in chosen.items():
            for predictor in given:
                if place[predictor] >= place[name]:
                    raise OptionError(
                        f"the predictor '{predictor}' of '{name}' is not drawn before it",
                        hint=f"put '{predictor}' earlier with visit, or use visit=learnt",
                    )
        predictors = {name: chosen.get(name, order[: place[name]]) for name in order}
        return Plan(order, methods, predictors, tuple(rules))

    def _methods(self) -> dict[str, str]:
        self._known(self.wishes.methods or {}, "methods")
        self._known(self.wishes.keep, "keep")
        made = methods_of(self.wishes, self.schema)
        for name, method in made.items():
            check_method(method, name)
        return made

    def _chosen_predictors(self, kept: Sequence[str]) -> dict[str, tuple[str, ...]]:
        declared = {n: self.schema[n].predictors for n in self.names}
        chosen = {**declared, **(self.wishes.predictors or {})}
        self._known(chosen, "predictors")
        made = {}
        for name, given in chosen.items():
            if given is None or name in kept:
                continue
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise OptionError(
                    f"the predictors of '{name}' are no list: {given!r}", hint="give a list"
                )
            self._known(given, f"the predictors of '{name}'")
            made[name] = tuple(dict.fromkeys(given))
        return made

    def _order(
        self, table: Table, kept: tuple[str, ...], needs: Mapping[str, set[str]]
    ) -> tuple[str, ...]:
        visit: Any = self.wishes.visit
        visit = (self.schema.visit or TABLE) if visit is None else visit
        if visit == LEARNT:
            return learnt(table, kept, needs)
        if visit == TABLE:
            visit = ()
        if isinstance(visit, str):
            raise OptionError(
                f"visit = '{visit}'", hint=f"give a list of columns, '{TABLE}' or '{LEARNT}'"
            )
        if not isinstance(visit, Sequence):
            raise OptionError(f"visit = {visit!r}", hint="give a list of columns")
        self._known(visit, "visit")
        for name in visit:
            if list(visit).count(name) > 1:
                raise OptionError(f"visit names the column '{name}' twice", hint="name it once")
        rest = dict.fromkeys([*visit, *self.names])
        return (*kept, *(name for name in rest if name not in kept))

    def _known(self, names: Any, what: str) -> None:
        for name in names:
            if not isinstance(name, str):
                raise OptionError(f"{what}: {name!r} is no name", hint="give names as text")
            if name not in self.schema:
                raise OptionError(
                    f"{what}: there is no column '{name}'", hint=near(name, self.names)
                )
            if name not in self.names:
                raise OptionError(
                    f"{what}: the column '{name}' is left out of synthesis",
                    hint=f"it is {self.schema[name].kind}; declare another kind in a schema file",
                )


def methods_of(wishes: Wishes, schema: Schema) -> dict[str, str]:
    """Give the column method of each column: what is asked for, or what the schema says."""
    given = wishes.methods or {}
    return {
        name: KEEP
        if name in wishes.keep
        else given.get(name) or wishes.method or schema[name].method or "cart"
        for name in schema.modelled
    }


def check_method(method: Any, column: str | None = None) -> None:
    """Refuse a column method that does not exist."""
    if method not in COLUMN_METHODS:
        where = f" for '{column}'" if column else ""
        raise OptionError(
            f"there is no column method '{method}'{where}", hint=near(str(method), COLUMN_METHODS)
        )
