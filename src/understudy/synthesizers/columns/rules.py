"""Rules: what a column always is where a condition holds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.data.tables import Condition, Table
from understudy.data.tables.grammar import TOKEN, Test
from understudy.errors import OptionError

HINT = "write such as: spouse_age is missing where marital == 'single'"


@dataclass(frozen=True)
class Rule:
    """``COLUMN is missing``, ``COLUMN is VALUE`` or ``COLUMN = VALUE``, ``where CONDITION``.

    Examples
    --------
    >>> rule = Rule.parse("wage is 0 where age < 15")
    >>> rule.column, str(rule.outcome), rule.condition.names
    ('wage', 'wage == 0', ('age',))
    """

    text: str
    column: str
    outcome: Condition
    condition: Condition

    @classmethod
    def parse(cls, text: str) -> "Rule":
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
    def is_missing(self) -> bool:
        """Whether the rule says that the value is missing."""
        return isinstance(self.outcome.root, Test) and self.outcome.root.operator == "missing"

    def check(self, schema: Schema) -> None:
        """Refuse columns and values that do not exist."""
        self.outcome.check(schema)
        self.condition.check(schema)

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


def refuse_contradictions(rules: list[Rule], table: Table) -> None:
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
