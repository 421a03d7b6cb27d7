"""Relation: a statement about the columns of a table, as a person writes it in a schema file.

==========================================================  =======================================
``bmi = weight / (height / 100) ** 2``                      formula: a column computed from others
``pay = wage where paid == 'hourly'``                       formula: in some rows only
``city determines country``                                 lookup: one value for each value
``age_class = classes of age``                              classes: a number or a date cut
``start <= end``                                            order of two columns
``one of north, south, west``                               one_hot: one column is 1, the others 0
``spouse_age is missing exactly where marital == 'single'`` missing
``-8, -9 are codes of income``                              code: values that are no quantities
``w is a weight``                                           weight of a row
``id is a subject ordered by year``                         subject: several rows belong to one
==========================================================  =======================================

They are read by our own grammar; nothing is evaluated as code.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from understudy.data.arithmetic import WORDS, ArithmeticParser, Expression, column_names
from understudy.data.grammar import (
    ORDER,
    TURNED,
    Node,
    PairTest,
    quoted_name,
    quoted_value,
    tests,
)
from understudy.errors import OptionError, near

if TYPE_CHECKING:
    from understudy.data.relations.judging import Judged, Learnt
    from understudy.data.tables import Table

RelationKind = Literal[
    "formula", "lookup", "classes", "order", "one_hot", "missing", "code", "weight", "subject"
]
KINDS = RelationKind.__args__  # type: ignore[attr-defined]
HINT = (
    "write such as: bmi = weight / (height / 100) ** 2; city determines country; "
    "age_class = classes of age; start <= end; one of a, b, c; "
    "a is missing exactly where b == 'x'; -8, -9 are codes of income; w is a weight; "
    "id is a subject ordered by year"
)
ONE_OF = frozenset({"one"})


@dataclass(frozen=True)
class Statement:
    """What the text of a relation says, taken apart."""

    kind: RelationKind
    target: str | None
    sources: tuple[str, ...]
    expression: Expression | None = None
    where: Node | None = None
    sign: str = ""
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        target = "" if self.target is None else _name(self.target)
        names = [_name(name) for name in self.sources]
        if self.kind == "formula":
            where = "" if self.where is None else f" where {self.where}"
            return f"{target} = {self.expression}{where}"
        if self.kind == "missing":
            return f"{target} is missing exactly where {self.where}"
        if self.kind == "code":
            values = ", ".join(map(quoted_value, self.values))
            return f"{values} {'are codes' if len(self.values) > 1 else 'is a code'} of {target}"
        if self.kind == "subject":
            return f"{target} is a subject" + "".join(f" ordered by {name}" for name in names)
        return {
            "lookup": f"{names[0] if names else ''} determines {target}",
            "classes": f"{target} = classes of {names[0] if names else ''}",
            "order": f" {self.sign} ".join(names),
            "one_hot": f"one of {', '.join(names)}",
            "weight": f"{target} is a weight",
        }[self.kind]


@dataclass(frozen=True)
class Relation:
    """A statement about the columns of a table.

    Parameters
    ----------
    text : str
        The statement, as ``Relation.parse`` writes it.
    kind : str
        ``formula``, ``lookup``, ``classes``, ``order``, ``one_hot``, ``missing``, ``code``,
        ``weight`` or ``subject``.
    target : str or None
        The column that is computed, looked up, missing, coded; none of an order and of ``one of``.
    sources : tuple of str
        The columns that it is computed from, those that are ordered, those of which one is 1.
    rows : int, optional
        The rows of training in which the relation says something and holds.
    broken : int, optional
        The rows of training that break it.
    inferred : bool
        Whether it was found in the data; otherwise a person declared it.

    Examples
    --------
    >>> made = Relation.parse("bmi = weight/(height/100)**2", ["bmi", "weight", "height"])
    >>> str(made), made.kind, made.target, made.sources
    ('bmi = weight / (height / 100) ** 2', 'formula', 'bmi', ('weight', 'height'))
    >>> Relation.parse("end >= start", ["start", "end"]).text
    'start <= end'
    """

    text: str
    kind: RelationKind
    target: str | None
    sources: tuple[str, ...]
    rows: int | None = None
    broken: int | None = None
    inferred: bool = False

    def __post_init__(self) -> None:
        said = _read(self.text, self.names)
        if (said.kind, said.target, said.sources) != (self.kind, self.target, self.sources):
            raise OptionError(
                f"relation {self.text}: it is no {self.kind} of '{self.target}'",
                hint="make relations by Relation.parse",
            )
        for what, many in (("rows", self.rows), ("broken", self.broken)):
            if many is not None and (type(many) is not int or many < 0):
                raise OptionError(
                    f"relation {self.text}: {what} = {many!r}", hint="give a number of rows"
                )

    @classmethod
    def parse(cls, text: str, names: Collection[str], **facts: Any) -> "Relation":
        """Read a relation between columns with these names; an error says what is wrong."""
        said = _read(text, names)
        return cls(str(said), said.kind, said.target, said.sources, **facts)

    def __str__(self) -> str:
        return self.text

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it speaks of."""
        own = () if self.target is None else (self.target,)
        return tuple(dict.fromkeys((*own, *self.sources)))

    @cached_property
    def said(self) -> Statement:
        """The text taken apart."""
        return _read(self.text, self.names)

    @property
    def is_near(self) -> bool:
        """Whether it was found in the data, where some rows break it."""
        return self.inferred and bool(self.broken)

    @property
    def is_judged(self) -> bool:
        """Whether a row can break it."""
        return self.kind not in ("weight", "subject", "code")

    def learn(self, table: "Table", *, k: int = 5) -> "Learnt":
        """Read off a table what a lookup or classes need; no value of fewer than k rows."""
        from understudy.data.relations.learning import learn

        return learn(self, table, k=k)

    def judge(self, table: "Table") -> "Judged":
        """Say in which rows it says something, and which break it.

        Lookups and classes are learnt before they can be judged: ``relation.learn(training)``.
        """
        from understudy.data.relations.judging import judge

        return judge(self, table)


def _name(name: str) -> str:
    return quoted_name(name, WORDS | ONE_OF)


def _read(text: str, names: Collection[str]) -> Statement:
    if not isinstance(text, str):
        raise OptionError(f"the relation {text!r} is no text", hint=HINT)
    return _RelationParser(text, names).statement()


class _RelationParser(ArithmeticParser):
    """Reads a relation: which kind it is shows in its first words."""

    what, hint = "relation", HINT

    def statement(self) -> Statement:
        """Read the whole text."""
        made = self.one_of() or self.codes() or self.about_column()
        if self.here is not None:
            raise self.error("the end is expected")
        if made.target is not None and made.target in made.sources:
            raise OptionError(
                f"relation {self.text}: '{made.target}' stands on both sides",
                hint="compute a column from others",
            )
        return made

    def phrase(self, *words: str) -> bool:
        """Go on if these words are next."""
        coming = self.tokens[self.position : self.position + len(words)]
        if [token[0].lower() for token in coming] != list(words):
            return False
        self.position += len(words)
        return True

    def one_of(self) -> Statement | None:
        """Read ``one of a, b, c``."""
        if not self.phrase("one", "of"):
            return None
        names = [self.known()]
        while self.take(","):
            names.append(self.known())
        if len(set(names)) < 2 or len(set(names)) < len(names):
            raise OptionError(
                f"relation {self.text}: names of two columns or more, each once, are expected",
                hint=self.hint,
            )
        return Statement("one_hot", None, tuple(names))

    def codes(self) -> Statement | None:
        """Read ``-8, -9 are codes of income``."""
        if self.here is None or self.here.lastgroup not in ("number", "text"):
            return None
        values = [self.value()]
        while self.take(","):
            values.append(self.value())
        if not (self.phrase("are", "codes", "of") or self.phrase("is", "a", "code", "of")):
            raise self.error("'are codes of' and a column are expected")
        if len(set(values)) < len(values):
            raise self.error("a code stands twice")
        return Statement("code", self.known(), (), values=tuple(values))

    def about_column(self) -> Statement:
        """Read a relation that begins with a column."""
        name = self.known()
        if self.phrase("determines"):
            return Statement("lookup", self.known(), (name,))
        if self.phrase("is", "a", "weight"):
            return Statement("weight", name, ())
        if self.phrase("is", "a", "subject"):
            by = (self.known(),) if self.phrase("ordered", "by") else ()
            return Statement("subject", name, by)
        if self.phrase("is", "missing", "exactly", "where"):
            where, sources = self.condition(name)
            return Statement("missing", name, sources, where=where)
        if sign := self.take(*ORDER):
            other = self.known()
            if other == name:
                raise self.error("another column is expected")
            pair = (name, other) if sign[0] == "<" else (other, name)
            return Statement("order", None, pair, sign=sign if sign[0] == "<" else TURNED[sign])
        if not self.take("=", "=="):
            raise self.error("'=', '<=', 'determines', 'is missing exactly where' … is expected")
        if self.phrase("classes", "of"):
            return Statement("classes", name, (self.known(),))
        made = self.expression()
        sources = column_names(made)
        only: Node | None = None
        if self.phrase("where"):
            only, others = self.condition(name)
            sources = tuple(dict.fromkeys((*sources, *others)))
        if not sources:
            raise OptionError(
                f"relation {self.text}: no column stands on the right",
                hint="compute a column from others",
            )
        return Statement("formula", name, sources, made, only)

    def condition(self, target: str) -> tuple[Node, tuple[str, ...]]:
        """Read a condition of the other columns."""
        node = self.either()
        found: list[str] = []
        for test in tests(node):
            found += [test.name, test.other] if isinstance(test, PairTest) else [test.name]
        for name in found:
            if name not in self.columns:
                raise OptionError(
                    f"relation {self.text}: there is no column '{name}'",
                    hint=near(name, self.columns),
                )
        if target in found:
            raise OptionError(
                f"relation {self.text}: '{target}' stands on both sides",
                hint="name other columns in the condition",
            )
        return node, tuple(dict.fromkeys(found))
