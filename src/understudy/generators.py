"""Whoever makes synthetic tables, run alike: a method of ours, or a function."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.schema import Schema
from understudy.synthesizers import Synthesizer, synthesizer
from understudy.synthesizers.base import options_given
from understudy.tables import Table


@dataclass(frozen=True)
class Ours:
    """A method by its name and options, fitted anew whenever it is called.

    Examples
    --------
    >>> real = Table.of(pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10}))
    >>> [made.shape for made in Ours("bootstrap")(real, 3, 2, seed=1)]
    [(3, 2), (3, 2)]
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        synthesizer(self.method, **self.options)  # says at once what is wrong with the options

    @property
    def name(self) -> str:
        """The method, or the program that it runs."""
        method = synthesizer(self.method, **self.options).method
        return str(getattr(method, "program", self.method))

    def __call__(self, train: Table, rows: int, copies: int, seed: int) -> list[pl.DataFrame]:
        """Fit and sample; a method that draws its model draws another for each copy."""
        made = synthesizer(self.method, seed=seed, **self.options).fit(train)
        samples = []
        for copy in range(copies):
            if copy and made.is_proper:
                made.fit(train, replicate=copy)
            samples.append(pl.concat(list(made.batches(rows, replicate=copy))))
        return samples

    def knows_chances(self, schema: Schema) -> bool:
        """Whether ``log_likelihood`` has an answer for tables of this schema."""
        method = synthesizer(self.method, **self.options).method
        knows = getattr(method, "knows_chances", None)
        return knows is not None and bool(knows(schema))

    def log_likelihood(self, train: Table, rows: Table) -> NDArray[np.float64] | None:
        """Give the log of each row's chance once the table is fitted; none if it is not known.

        It is known where rows are drawn independently of each other from one and the same model,
        whatever the seed: by trees, pools of values, or copies of rows.
        """
        if not self.knows_chances(train.schema):
            return None
        fitted: Any = synthesizer(self.method, **self.options).fit(train).method
        found: NDArray[np.float64] | None = fitted.log_likelihood(rows)
        return found


@dataclass(frozen=True)
class Called:
    """A function ``fit(table) -> sample(n)``, given tables of the caller's own kind.

    With a parameter ``seed``, ``fit`` is given one; otherwise runs cannot be repeated.
    """

    fit: Callable[..., Callable[[int], Any]]
    give: Callable[[pl.DataFrame], Any] | None = None

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.fit, "__qualname__", type(self.fit).__name__))

    @property
    def takes_seed(self) -> bool:
        """Whether the function can be told a seed."""
        return "seed" in inspect.signature(self.fit).parameters

    def __call__(self, train: Table, rows: int, copies: int, seed: int) -> list[Any]:
        """Fit and sample."""
        frame = train.frame if self.give is None else self.give(train.frame)
        sample = self.fit(frame, **({"seed": seed} if self.takes_seed else {}))
        return [sample(rows) for _ in range(copies)]


def generator(given: Any, *, like: Any = None) -> Ours | Called:
    """Make a generator of the name of a method, a synthesizer, or a function.

    ``like`` is a table as the caller has it: a function is given tables of the same kind.

    Examples
    --------
    >>> generator("cart").name
    'cart'
    """
    if isinstance(given, Ours | Called):
        return given
    if isinstance(given, str):
        return Ours(given)
    if isinstance(given, Synthesizer):
        return Ours(given.method.card.name, options_given(given.method))
    if callable(given):
        plain = like is None or isinstance(like, pl.DataFrame | pl.LazyFrame)
        return Called(given, None if plain else Table.of(like).give_back)
    raise OptionError(
        f"an object of type {type(given).__name__} is no generator",
        hint="give the name of a method, a synthesizer, or a function fit(table) -> sample(n)",
    )
