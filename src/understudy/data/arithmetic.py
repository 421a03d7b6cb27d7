"""Arithmetic over columns, ``weight / (height / 100) ** 2``: read, written, computed; never run.

Numbers, columns, ``+ - * / **``, parentheses, and the functions ``log``, ``log1p``, ``sqrt``,
``exp``, ``abs``, ``min``, ``max``. Signs bind as in Python. A hyphen is part of a name, so a minus
stands between spaces: ``a - b``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.grammar import KEYWORDS, Parser, quoted_name
from understudy.errors import OptionError, near

Floats = NDArray[np.float64]
FUNCTIONS: dict[str, tuple[Callable[..., Any], bool]] = {  # and whether it takes several values
    "log": (np.log, False),
    "log1p": (np.log1p, False),
    "sqrt": (np.sqrt, False),
    "exp": (np.exp, False),
    "abs": (np.abs, False),
    "min": (np.minimum, True),
    "max": (np.maximum, True),
}
SIGNS: dict[str, tuple[Callable[..., Any], int]] = {  # and how tightly it binds
    "+": (np.add, 1),
    "-": (np.subtract, 1),
    "*": (np.multiply, 2),
    "/": (np.divide, 2),
    "**": (np.power, 4),
}
MINUS, ATOM = 3, 5
WORDS = frozenset({"where", "classes", *FUNCTIONS})  # written in backticks where they are columns
MOST_PARTS = 200


@dataclass(frozen=True)
class Constant:
    """A number that is not negative."""

    value: float

    def __str__(self) -> str:
        text = repr(float(self.value))
        return text.removesuffix(".0")


@dataclass(frozen=True)
class ColumnName:
    """The value of a column."""

    name: str

    def __str__(self) -> str:
        return quoted_name(self.name, WORDS)


@dataclass(frozen=True)
class Negative:
    """A value with the other sign."""

    part: "Expression"

    def __str__(self) -> str:
        return f"-{_enclosed(self.part, MINUS)}"


@dataclass(frozen=True)
class Operation:
    """Two values joined by a sign."""

    sign: str
    left: "Expression"
    right: "Expression"

    def __str__(self) -> str:
        binds = SIGNS[self.sign][1]
        power = self.sign == "**"
        left = _enclosed(self.left, binds + power)
        right = _enclosed(self.right, MINUS if power else binds + 1)
        return f"{left} {self.sign} {right}"


@dataclass(frozen=True)
class Call:
    """A function of one value, or of several."""

    function: str
    parts: tuple["Expression", ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.parts))})"


Expression = Constant | ColumnName | Negative | Operation | Call


def _binds(node: Expression) -> int:
    if isinstance(node, Operation):
        return SIGNS[node.sign][1]
    return MINUS if isinstance(node, Negative) else ATOM


def _enclosed(node: Expression, least: int) -> str:
    return f"({node})" if _binds(node) < least else str(node)


def column_names(node: Expression) -> tuple[str, ...]:
    """Give the columns, each once, from left to right.

    Examples
    --------
    >>> column_names(parse("weight / (height / 100) ** 2", ["weight", "height"]))
    ('weight', 'height')
    """
    return tuple(dict.fromkeys(_names(node)))


def _names(node: Expression) -> Iterator[str]:
    if isinstance(node, ColumnName):
        yield node.name
    elif isinstance(node, Negative):
        yield from _names(node.part)
    elif isinstance(node, Operation):
        yield from _names(node.left)
        yield from _names(node.right)
    elif isinstance(node, Call):
        for part in node.parts:
            yield from _names(part)


def evaluate(node: Expression, columns: Mapping[str, Floats]) -> Any:
    """Compute an expression; nan where a value is missing or the result is no finite number.

    Examples
    --------
    >>> made = evaluate(parse("1 / x", ["x"]), {"x": np.array([2.0, 0.0, np.nan])})
    >>> made.tolist()
    [0.5, nan, nan]
    """
    with np.errstate(all="ignore"):
        made = np.asarray(_computed(node, columns), float)
    return np.where(np.isfinite(made), made, np.nan)


def _computed(node: Expression, columns: Mapping[str, Floats]) -> Any:
    if isinstance(node, Constant):
        return np.float64(node.value)
    if isinstance(node, ColumnName):
        return columns[node.name]
    if isinstance(node, Negative):
        return -_computed(node.part, columns)
    if isinstance(node, Operation):
        left, right = _computed(node.left, columns), _computed(node.right, columns)
        return SIGNS[node.sign][0](left, right)
    function, several = FUNCTIONS[node.function]
    parts = [_computed(part, columns) for part in node.parts]
    if not several:
        return function(parts[0])
    made = parts[0]
    for part in parts[1:]:
        made = function(made, part)
    return made


def parse(text: str, columns: Collection[str]) -> Expression:
    """Read an expression over columns; an error says where it stops making sense.

    Examples
    --------
    >>> str(parse("(a + b)*-2", ["a", "b"]))
    '(a + b) * -2'
    """
    parser = ArithmeticParser(text, columns)
    made = parser.expression()
    if parser.here is not None:
        raise parser.error("a sign (+ - * / **) or the end is expected")
    return made


class ArithmeticParser(Parser):
    """Reads arithmetic beside conditions."""

    what = "formula"
    hint = "write such as: weight / (height / 100) ** 2; a minus stands between spaces"
    parts = 0

    def expression(self) -> Expression:
        """Read a sum."""
        made = self.term()
        while sign := self.joined("+", "-"):
            made = Operation(sign, made, self.term())
        return made

    def joined(self, *signs: str) -> str | None:
        """Take a sign between two values; in ``a -5`` it is the beginning of the number."""
        here = self.here
        if here is not None and here.lastgroup == "number" and here[0][0] in signs:
            return here[0][0]
        return self.take(*signs)

    def term(self) -> Expression:
        """Read a product."""
        made = self.factor()
        while sign := self.take("*", "/"):
            made = Operation(sign, made, self.factor())
        return made

    def factor(self) -> Expression:
        """Read a value with its sign: ``-x ** 2`` is that of ``x ** 2``."""
        self.depth += 1
        self.parts += 1
        if self.depth > 50 or self.parts > MOST_PARTS:
            raise self.error("too many parts, parentheses and signs")
        here = self.here
        made: Expression
        if self.take("-"):
            made = Negative(self.factor())
        elif self.take("+"):
            made = self.factor()
        elif here is not None and here.lastgroup == "number" and here[0][0] == "-":
            after = self.position and self._follows_value()
            made = self.power() if after else Negative(self.power())
        else:
            made = self.power()
        self.depth -= 1
        return made

    def _follows_value(self) -> bool:
        """Whether the sign of a number here was taken for one between two values."""
        before = self.tokens[self.position - 1]
        return before.lastgroup in ("number", "word", "name") or before[0] == ")"

    def power(self) -> Expression:
        """Read a value and what it is raised to."""
        made = self.atom()
        return Operation("**", made, self.factor()) if self.take("**") else made

    def atom(self) -> Expression:
        """Read a number, a column, a function or parentheses."""
        here = self.here
        if self.take("("):
            made = self.expression()
            if not self.take(")"):
                raise self.error("')' is expected")
            return made
        if here is not None and here.lastgroup == "number":
            self.position += 1
            value = float(here[0].lstrip("+-"))
            if not np.isfinite(value):
                raise self.error("a number that is too large stands")
            return Constant(value)
        if here is not None and here.lastgroup == "word":
            following = self.tokens[self.position + 1 : self.position + 2]
            if following and following[0][0] == "(":
                return self.call(here[0])
        if (
            here is not None
            and here.lastgroup == "word"
            and here[0].lower() in {"where", *KEYWORDS}
        ):
            raise self.error("a number or a column is expected")
        if here is None or here.lastgroup not in ("word", "name"):
            raise self.error("a number or a column is expected")
        return ColumnName(self.known())

    def known(self) -> str:
        """Read a column that there is."""
        name = self.column()
        if name not in self.columns:
            hint = near(name, self.columns)
            if any(part in self.columns for part in name.split("-")):
                hint = "a hyphen is part of a name: a minus stands between spaces, a - b"
            raise OptionError(f"{self.what} {self.text}: there is no column '{name}'", hint=hint)
        return name

    def call(self, function: str) -> Expression:
        """Read a function and its values."""
        if function not in FUNCTIONS:
            raise self.error(f"'{function}' is no function (there are {', '.join(FUNCTIONS)})")
        self.position += 2
        parts = [self.expression()]
        while self.take(","):
            parts.append(self.expression())
        if not self.take(")"):
            raise self.error("',' or ')' is expected")
        if len(parts) > 1 and not FUNCTIONS[function][1]:
            raise self.error(f"{function} takes one value, which stands")
        return Call(function, tuple(parts))
