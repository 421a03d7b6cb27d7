"""The grammar of conditions: from text to comparisons joined by and, or, not; and back.

Its tokens are also those of arithmetic and of relations between columns.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from understudy.errors import OptionError

ORDER = ("<", "<=", ">", ">=")
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
KEYWORDS = {"and", "or", "not", "in", "is", "missing"}
DEEPEST = 50
WORD = re.compile(r"[^\W\d][\w.-]*")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
TOKEN = re.compile(
    rf"(?P<space>\s+)|(?P<number>{NUMBER.pattern}(?![\w.]))|(?P<word>{WORD.pattern})"
    r"|(?P<text>'(?:[^']|'')*')|(?P<name>`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\")"
    r"|(?P<sign>==|!=|<>|<=|>=|\*\*|[=<>(),*/+-])"
)
HINT = "write such as: income > 70000 or sex in ('F', 'M') or `birth place` is missing"


@dataclass(frozen=True)
class Test:
    """One column compared with values; ``in`` has several, ``missing`` none."""

    __test__ = False

    name: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        column = quoted_name(self.name)
        if self.operator == "missing":
            return f"{column} is missing"
        values = list(map(quoted_value, self.values))
        if self.operator == "in":
            return f"{column} in ({', '.join(values)})"
        return f"{column} {self.operator} {values[0]}"


@dataclass(frozen=True)
class PairTest:
    """One column compared with another."""

    name: str
    operator: str
    other: str

    def __str__(self) -> str:
        return f"{quoted_name(self.name)} {self.operator} {quoted_name(self.other)}"


@dataclass(frozen=True)
class Joined:
    """Several conditions, of which all (``and``) or any (``or``) must hold."""

    word: str
    parts: tuple["Node", ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(map(_enclosed, self.parts))


@dataclass(frozen=True)
class Not:
    """A condition turned around."""

    part: "Node"

    def __str__(self) -> str:
        return f"not {_enclosed(self.part)}"


Node = Test | PairTest | Joined | Not


def parse(text: str, columns: Collection[str] = ()) -> Node:
    """Read a condition; an error says where it stops making sense.

    With names of columns, one of them may also stand on the right, a value on the left, and
    comparisons in a row: ``18 <= age <= 99``.
    """
    parser = Parser(text, columns)
    node = parser.either()
    if parser.here is not None:
        raise parser.error("'and', 'or' or the end is expected")
    return node


def listed(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Read a word and the columns behind it, ``together city, country``; none of anything else."""
    parser = Parser(text)
    if len(parser.tokens) < 2 or parser.tokens[0].lastgroup != "word":
        return None
    first, second = parser.tokens[:2]
    if second.lastgroup not in ("word", "name") or {first[0].lower(), second[0].lower()} & KEYWORDS:
        return None
    parser.position = 1
    names = [parser.column()]
    while parser.take(","):
        names.append(parser.column())
    if parser.here is not None:
        raise parser.error("',' or the end is expected")
    return first[0].lower(), tuple(names)


def tests(node: Node) -> Iterator[Test | PairTest]:
    """Give the comparisons, from left to right."""
    if isinstance(node, Test | PairTest):
        yield node
    else:
        for part in node.parts if isinstance(node, Joined) else (node.part,):
            yield from tests(part)


def quoted_name(column: str, keywords: Collection[str] = ()) -> str:
    """Write the name of a column, in backticks where it is more than a word, or a keyword."""
    if WORD.fullmatch(column) and column.lower() not in KEYWORDS and column not in keywords:
        return column
    return "`" + column.replace("`", "``") + "`"


def quoted_value(text: str) -> str:
    """Write a value: a number as it is, all else in quotes."""
    return text if NUMBER.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def _enclosed(node: Node) -> str:
    return f"({node})" if isinstance(node, Joined) else str(node)


class Parser:
    """Reads a condition from left to right, one token ahead; others read other sentences."""

    what, hint = "condition", HINT

    def __init__(self, text: str, columns: Collection[str] = ()) -> None:
        self.text, self.columns = text, columns
        self.tokens: list[re.Match[str]] = []
        self.position = self.depth = 0
        place = 0
        while place < len(text):
            found = TOKEN.match(text, place)
            if found is None:
                quote = " (a quote is open)" if text[place] in "'`\"" else ""
                raise self.error(f"this cannot be read{quote}", place)
            if found.lastgroup != "space":
                self.tokens.append(found)
            place = found.end()

    @property
    def here(self) -> re.Match[str] | None:
        """The next token; none at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def error(self, what: str, place: int | None = None) -> OptionError:
        """Make an error that says where the text stops making sense."""
        if place is None:
            place = self.here.start() if self.here is not None else len(self.text)
        rest = self.text[place : place + 20]
        where = f"at '{rest}' (character {place + 1})" if rest else "at the end"
        return OptionError(
            f"{self.what} {self.text}: {what} {where}".replace("\n", " "), hint=self.hint
        )

    def take(self, *wanted: str) -> str | None:
        """Go on if one of these signs or words is next."""
        here = self.here
        if here is None or here.lastgroup not in ("sign", "word"):
            return None
        found = here[0].lower() if here.lastgroup == "word" else here[0]
        if found not in wanted:
            return None
        self.position += 1
        return found

    def either(self) -> Node:
        """Read conditions of which any must hold."""
        parts = [self.both()]
        while self.take("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else Joined("or", tuple(parts))

    def both(self) -> Node:
        """Read conditions of which all must hold."""
        parts = [self.one()]
        while self.take("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Joined("and", tuple(parts))

    def one(self) -> Node:
        """Read a condition, turned around or in parentheses."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("too many parentheses and negations")
        node: Node
        if self.take("not"):
            node = Not(self.one())
        elif self.take("("):
            node = self.either()
            if not self.take(")"):
                raise self.error("')' is expected")
        else:
            node = self.test()
        self.depth -= 1
        return node

    def test(self) -> Node:
        """Read a comparison."""
        if self.columns and self.here is not None and self.here.lastgroup in ("number", "text"):
            left, sign = self.value(), self.take(*ORDER)
            if sign is None:
                raise self.error("one of <, <=, >, >= is expected")
            right = self.column()
            return self.chain(Test(right, TURNED[sign], (left,)), right)
        name = self.column()
        if self.take("is"):
            negated = self.take("not")
            if not self.take("missing"):
                raise self.error("'missing' is expected")
            test = Test(name, "missing")
            return Not(test) if negated else test
        if self.take("not"):
            if not self.take("in"):
                raise self.error("'in' is expected")
            return Not(Test(name, "in", self.several()))
        if self.take("in"):
            return Test(name, "in", self.several())
        sign = self.take("==", "=", "!=", "<>", *ORDER)
        if sign is None:
            raise self.error("a comparison (==, !=, <, in, is missing) is expected")
        found = self.against(name, {"=": "==", "<>": "!="}.get(sign, sign))
        return self.chain(found, found.other) if isinstance(found, PairTest) else found

    def against(self, name: str, sign: str) -> Test | PairTest:
        """Read the right side: a column that is known, or a value."""
        here = self.here
        if here is not None and here.lastgroup in ("word", "name"):
            other = _unquoted(here)
            if other in self.columns and (
                here.lastgroup == "name" or other.lower() not in KEYWORDS
            ):
                self.position += 1
                return PairTest(name, sign, other)
        return Test(name, sign, (self.value(),))

    def chain(self, first: Node, name: str) -> Node:
        """Go on comparing from the column on the right: ``<= 99`` after ``18 <= age``."""
        parts = [first]
        while sign := self.take(*ORDER):
            test = self.against(name, sign)
            parts.append(test)
            if isinstance(test, Test):
                break
            name = test.other
        return parts[0] if len(parts) == 1 else Joined("and", tuple(parts))

    def column(self) -> str:
        """Read the name of a column."""
        here = self.here
        if here is not None and (
            here.lastgroup == "name"
            or (here.lastgroup == "word" and here[0].lower() not in KEYWORDS)
        ):
            self.position += 1
            return _unquoted(here)
        raise self.error("a column is expected")

    def value(self) -> str:
        """Read a value."""
        here = self.here
        if here is None or here.lastgroup == "sign" or here[0].lower() in KEYWORDS:
            raise self.error("a value is expected")
        self.position += 1
        return _unquoted(here)

    def several(self) -> tuple[str, ...]:
        """Read values in parentheses."""
        if not self.take("("):
            raise self.error("'(' is expected")
        values = [self.value()]
        while self.take(","):
            values.append(self.value())
        if not self.take(")"):
            raise self.error("',' or ')' is expected")
        return tuple(values)


def _unquoted(token: re.Match[str]) -> str:
    if token.lastgroup not in ("text", "name"):
        return token[0]
    quote = token[0][0]
    return token[0][1:-1].replace(quote * 2, quote)
