"""Plan: which column is drawn when, how, from what and by which rules.

Options win over the schema. A rule says what a column always is where a condition holds. The
learnt visit order takes columns that tell most about the others first.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import Codec
from understudy.data.grammar import TOKEN, Test
from understudy.data.schema import Schema
from understudy.data.source import source_of
from understudy.data.tables import Condition, Table
from understudy.errors import OptionError, near
from understudy.synthesizers.columns import COLUMN_METHODS, KEEP
from understudy.synthesizers.constraints import check_names

LEARNT = "learnt"
TABLE = "table"
BINS = 20
LEVELS = 50
HINT = "write such as: spouse_age is missing where marital == 'single'"


@dataclass(frozen=True)
class ColumnRule:
    """``COLUMN is missing``, ``COLUMN is VALUE`` or ``COLUMN = VALUE``, ``where CONDITION``.

    Examples
    --------
    >>> rule = ColumnRule.parse("wage is 0 where age < 15")
    >>> rule.column, str(rule.outcome), rule.condition.names
    ('wage', 'wage == 0', ('age',))
    """

    text: str
    column: str
    outcome: Condition
    condition: Condition

    @classmethod
    def parse(cls, text: str) -> "ColumnRule":
        """Read a rule."""
        if not isinstance(text, str):
            raise OptionError(f"the rule {text!r} is no text", hint=HINT)
        tokens = [t for t in TOKEN.finditer(text) if t.lastgroup != "space"]
        words = [t[0].lower() if t.lastgroup == "word" else "" for t in tokens]
        if "where" not in words:
            raise OptionError(f"the rule '{text}' has no 'where'", hint=HINT)
        where = tokens[words.index("where")]
        head = text[: where.start()]
        if words[1:2] == ["is"] and words[2:3] != ["missing"]:
            head = f"{head[: tokens[1].start()]}={head[tokens[1].end() :]}"
        outcome, condition = Condition.parse(head), Condition.parse(text[where.end() :])
        test = outcome.root
        if not isinstance(test, Test) or test.operator not in ("missing", "=="):
            raise OptionError(f"the rule '{text}' fixes no value", hint=HINT)
        return cls(text, test.name, outcome, condition)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is about: its own, then those of the condition."""
        return (self.column, *self.condition.names)

    @property
    def is_missing(self) -> bool:
        """Whether the rule says that the value is missing."""
        return isinstance(self.outcome.root, Test) and self.outcome.root.operator == "missing"

    def check(self, schema: Schema) -> None:
        """Refuse columns and values that do not exist."""
        self.outcome.check(schema)
        self.condition.check(schema)
        check_names(self.names, f"the rule '{self.text}'", schema)

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """Say for which training rows the condition holds; refuse rows that break the rule."""
        mask = self.condition.mask(table)
        broken = int((mask & ~self.outcome.mask(table)).sum())
        if broken:
            raise OptionError(
                f"the rule '{self.text}' is broken by {broken:,} of the {int(mask.sum()):,} "
                "training rows that it is about",
                hint="correct the rule or the rows",
            )
        return mask


def _refuse_contradictions(rules: list[ColumnRule], table: Table) -> None:
    """Refuse two rules that fix different values of one column for the same training row."""
    for place, rule in enumerate(rules):
        for other in rules[:place]:
            if rule.column != other.column or rule.outcome == other.outcome:
                continue
            both = int((rule.condition.mask(table) & other.condition.mask(table)).sum())
            if both:
                raise OptionError(
                    f"rules that contradict: '{other.text}' and '{rule.text}' both hold for "
                    f"{both:,} training rows",
                    hint="make one condition exclude the other",
                )


@dataclass(frozen=True)
class PlanRequest:
    """What the caller asks for; nothing means: as the schema says."""

    visit: Sequence[str] | str | None = None
    method: str | None = None
    methods: Mapping[str, str] | None = None
    predictors: Mapping[str, Sequence[str]] | None = None
    rules: Sequence[str] | None = None
    keep: Sequence[str] = ()

    def methods_of(self, schema: Schema) -> dict[str, str]:
        """Give the column method of each column: what is asked for, or what the schema says."""
        given = self.methods or {}
        return {
            name: KEEP
            if name in self.keep
            else given.get(name) or self.method or schema[name].method or "cart"
            for name in schema.modelled
        }

    def predictors_of(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Give the predictors of the columns that are drawn and for which they are named."""
        methods = self.methods_of(schema)
        chosen = {n: schema[n].predictors for n in schema.modelled} | dict(self.predictors or {})
        check_names(chosen, "predictors", schema)
        made = {}
        for name, given in chosen.items():
            if given is None or methods[name] == KEEP:
                continue
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise OptionError(
                    f"the predictors of '{name}' are no list: {given!r}", hint="give a list"
                )
            check_names(given, f"the predictors of '{name}'", schema)
            made[name] = tuple(dict.fromkeys(given))
        return made


@dataclass(frozen=True)
class Plan:
    """The columns in the order of their drawing, each with its method and predictors."""

    order: tuple[str, ...]
    methods: Mapping[str, str]
    predictors: Mapping[str, tuple[str, ...]]
    rules: tuple[ColumnRule, ...]

    @classmethod
    def of(cls, wishes: PlanRequest, table: Table) -> "Plan":
        """Check what is asked for against a training table."""
        schema = table.schema
        check_names(wishes.methods or {}, "methods", schema)
        check_names(wishes.keep, "keep", schema)
        methods = wishes.methods_of(schema)
        for name, method in methods.items():
            check_method(method, name)
        kept = tuple(name for name in schema.modelled if methods[name] == KEEP)
        if len(kept) == len(schema.modelled):
            raise OptionError("every column is kept", hint="leave at least one to be drawn")
        texts = schema.rules if wishes.rules is None else wishes.rules
        rules = [rule for rule in map(ColumnRule.parse, texts) if methods.get(rule.column) != KEEP]
        for rule in rules:
            rule.check(schema)
        _refuse_contradictions(rules, table)
        chosen = wishes.predictors_of(schema)
        needs = {name: set(chosen.get(name, ())) for name in schema.modelled}
        for rule in rules:
            needs[rule.column] |= set(rule.condition.names)
        order = _order(wishes.visit, table, kept, needs)
        place = {name: number for number, name in enumerate(order)}

        def check_place(other: str, name: str, what: str) -> None:
            if place[other] >= place[name]:
                hint = f"put '{other}' earlier with visit, or use visit=learnt"
                raise OptionError(f"the {what}", hint=hint)

        for rule in rules:
            about = f"rule '{rule.text}' looks at"
            for name in rule.condition.names:
                what = f"{about} '{name}', which is not drawn before '{rule.column}'"
                check_place(name, rule.column, what)
        for name, given in chosen.items():
            for other in given:
                check_place(other, name, f"predictor '{other}' of '{name}' is not drawn before it")
        predictors = {name: chosen.get(name, order[: place[name]]) for name in order}
        return cls(order, methods, predictors, tuple(rules))

    def rules_of(self, name: str) -> tuple[ColumnRule, ...]:
        """The rules that fix values of a column."""
        return tuple(rule for rule in self.rules if rule.column == name)


def check_method(method: Any, column: str | None = None) -> None:
    """Refuse a column method that does not exist."""
    if not isinstance(method, str) or method not in COLUMN_METHODS:
        where = f" for '{column}'" if column else ""
        raise OptionError(
            f"there is no column method '{method}'{where}", hint=near(str(method), COLUMN_METHODS)
        )


def _order(
    asked: Any, table: Table, kept: tuple[str, ...], needs: Mapping[str, Set[str]]
) -> tuple[str, ...]:
    visit = (table.schema.visit or TABLE) if asked is None else asked
    if visit == LEARNT:
        return _learnt(table, kept, needs)
    if visit == TABLE:
        visit = ()
    if isinstance(visit, str):
        raise OptionError(
            f"visit = '{visit}'", hint=f"give a list of columns, '{TABLE}' or '{LEARNT}'"
        )
    if not isinstance(visit, Sequence):
        raise OptionError(f"visit = {visit!r}", hint="give a list of columns")
    check_names(visit, "visit", table.schema)
    for name in visit:
        if list(visit).count(name) > 1:
            raise OptionError(f"visit names the column '{name}' twice", hint="name it once")
    rest = dict.fromkeys([*visit, *table.schema.modelled])
    return (*kept, *(name for name in rest if name not in kept))


def _learnt(table: Table, kept: Sequence[str], needs: Mapping[str, Set[str]]) -> tuple[str, ...]:
    """Order columns greedily by mutual information.

    Numbers are coded in at most 20 quantile bins, categories by their 50 most frequent levels and
    one for the rest. The first column is the one whose mutual information with all others is
    largest in sum; the next is always the one with the largest sum over the columns chosen so
    far; ties go to the earlier column of the table. Kept columns come first. A column waits until
    those that it needs, by a rule or as predictors, have been chosen.
    """
    names, source = table.schema.modelled, source_of(table)
    shared = _shared(source.coded(Codec.fit(source, names, bins=BINS, levels=LEVELS)).codes)
    chosen = [names.index(name) for name in kept]
    while len(chosen) < len(names):
        free = [
            place
            for place, name in enumerate(names)
            if place not in chosen and needs.get(name, set()) <= {names[c] for c in chosen}
        ]
        if not free:
            waiting = ", ".join(n for p, n in enumerate(names) if p not in chosen)
            raise OptionError(
                f"no visit order is possible: {waiting} need each other first",
                hint="check the rules and the predictors",
            )
        seen = chosen or list(range(len(names)))
        chosen.append(max(free, key=lambda place: (shared[place, seen].sum(), -place)))
    return tuple(names[place] for place in chosen)


def _shared(codes: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
    """Give the mutual information of each two columns, less what chance gives (Miller 1955)."""
    height, width = codes.shape
    made = np.zeros((width, width))
    dense = [np.unique(codes[:, j], return_inverse=True)[1] for j in range(width)]
    sizes = [int(d.max()) + 1 for d in dense]
    for a in range(width):
        for b in range(a):
            pair = np.bincount(dense[a] * sizes[b] + dense[b], minlength=sizes[a] * sizes[b])
            joint = pair.reshape(sizes[a], sizes[b]) / height
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            full = joint > 0
            bits = float((joint[full] * np.log(joint[full] / apart[full])).sum())
            chance = (sizes[a] - 1) * (sizes[b] - 1) / (2 * height)
            made[a, b] = made[b, a] = max(0.0, bits - chance)
    return made
