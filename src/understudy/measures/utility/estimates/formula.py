"""Formulas: ``income ~ age + sex``, read into a response and terms; nothing is evaluated as code.

A small part of what R and patsy read: names, ``+``, ``:``, ``*``, ``-1`` (no intercept), ``C(x)``
(its values as categories), ``log(x)`` and ``number(x)`` (a category whose levels are numbers, as a
number). A name with other characters than letters, digits, dots and underscores stands in
backticks.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NoReturn

from understudy.errors import OptionError, near

FUNCTIONS = ("C", "log", "number")
PLAIN = re.compile(r"[^\W\d][\w.]*")
TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\W\d][\w.]*)|([~+\-:*()]|[01](?![\w.])))")
EXAMPLE = "write it like income ~ age + sex, names with other characters as `capital-gain`"


@dataclass(frozen=True)
class Factor:
    """A column, as it is or through a function."""

    name: str
    function: str = ""

    def __str__(self) -> str:
        quoted = self.name if PLAIN.fullmatch(self.name) else f"`{self.name.replace('`', '``')}`"
        return f"{self.function}({quoted})" if self.function else quoted


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """A response, terms (products of factors), and whether there is an intercept.

    Examples
    --------
    >>> str(Formula.parse("pay~age*sex-1"))
    'pay ~ age + sex + age:sex - 1'
    """

    response: Factor
    terms: tuple[Term, ...]
    intercept: bool = True

    @classmethod
    def parse(cls, text: str) -> "Formula":
        """Read a formula; what cannot be read is an error that shows where."""
        return _FormulaReader(text).formula()

    def __str__(self) -> str:
        terms = [":".join(map(str, term)) for term in self.terms]
        right = " + ".join(terms or ["1" if self.intercept else "0"])
        return f"{self.response} ~ {right}" + (" - 1" if terms and not self.intercept else "")

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors on the right, each once."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, each once, the response first."""
        return tuple(dict.fromkeys(f.name for f in (self.response, *self.factors)))


def as_formulas(given: Iterable[str] | str) -> tuple[str, ...]:
    """Take one formula or several, each once.

    Examples
    --------
    >>> as_formulas("y ~ x"), as_formulas(["y ~ x", "y ~ x"])
    (('y ~ x',), ('y ~ x',))
    """
    return tuple(dict.fromkeys([given] if isinstance(given, str) else given))


def check_formulas(texts: Iterable[str], names: Sequence[str]) -> None:
    """Refuse formulas that cannot be read or that name columns that are not there."""
    for text in texts:
        for name in Formula.parse(text).names:
            if name not in names:
                raise OptionError(
                    f"formula: there is no column '{name}' for '{text.strip()}'",
                    hint=near(name, [str(Factor(other)) for other in names]),
                )


class _FormulaReader:
    """Reads the tokens of a formula from left to right."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise OptionError(f"formula: {text!r} is no text", hint=EXAMPLE)
        self.text = text.strip()
        self.tokens = list(self._tokens())
        self.place = 0

    def _tokens(self) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(self.text):
            found = TOKEN.match(self.text, at)
            if found is None:
                self._fail(f"'{self.text[at:].strip()[:20]}' cannot be read")
            quoted, name, sign = found.groups()
            if sign is not None:
                yield "sign", sign
            else:
                yield "name", name or quoted.replace("``", "`")
            at = found.end()

    def formula(self) -> Formula:
        response = self._factor()
        self._take("~")
        terms: dict[frozenset[Factor], Term] = {}
        intercept = True
        sign = "-" if self._next("-") else "+"
        while True:
            if self._next("1"):
                intercept = sign == "+"
            elif self._next("0"):
                intercept = sign == "-"
            elif sign == "-":
                self._fail("only '- 1' can be taken away")
            else:
                for term in self._product():
                    terms.setdefault(frozenset(term), term)
            if self.place == len(self.tokens):
                break
            if not (self._next("+") or self._next("-")):
                self._fail(f"'{self.tokens[self.place][1]}' is not expected")
            sign = self.tokens[self.place - 1][1]
        if any(response.name == f.name for term in terms.values() for f in term):
            self._fail(f"'{response.name}' stands on both sides")
        ordered = tuple(sorted(terms.values(), key=len))
        if not ordered and not intercept:
            self._fail("no term is left")
        return Formula(response, ordered, intercept)

    def _product(self) -> list[Term]:
        """Read factors joined by ``:`` and ``*``; ``a*b`` is ``a + b + a:b``."""
        groups: list[Term] = [(self._factor(),)]
        while True:
            if self._next(":"):
                groups[-1] = (*groups[-1], self._factor())
            elif self._next("*"):
                groups.append((self._factor(),))
            else:
                break
        sizes = range(1, len(groups) + 1)
        chosen = [some for size in sizes for some in combinations(groups, size)]
        return [tuple(dict.fromkeys(f for group in some for f in group)) for some in chosen]

    def _factor(self) -> Factor:
        if self.place == len(self.tokens):
            self._fail("a column is missing at its end")
        kind, word = self.tokens[self.place]
        if kind == "sign":
            self._fail(f"there is '{word}' in place of a column")
        self.place += 1
        if not self._next("("):
            return Factor(word)
        if word not in FUNCTIONS:
            self._fail(f"there is no function '{word}' ({', '.join(FUNCTIONS)})")
        inside = self._factor()
        if inside.function:
            self._fail("a function of a function")
        self._take(")")
        return Factor(inside.name, word)

    def _next(self, sign: str) -> bool:
        there = self.place < len(self.tokens) and self.tokens[self.place] == ("sign", sign)
        self.place += there
        return there

    def _take(self, sign: str) -> None:
        if not self._next(sign):
            self._fail(f"there is no '{sign}' where one is due")

    def _fail(self, why: str) -> NoReturn:
        raise OptionError(f"formula '{self.text}': {why}", hint=EXAMPLE)
