"""Whoever makes synthetic tables, run alike: a method of ours, or a function."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.data.tables import Table, take_in
from understudy.errors import OptionError
from understudy.jobs.fingerprint import fingerprint
from understudy.synthesizers import Synthesizer, synthesizer
from understudy.synthesizers.base import abilities_of, options_given
from understudy.synthesizers.claims import claimed

ROWS_LOOKED_AT = 50


@dataclass(frozen=True)
class NamedGenerator:
    """A method by its name and options, fitted anew whenever it is called.

    Examples
    --------
    >>> real = Table.of(pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10}))
    >>> [made.shape for made in NamedGenerator("bootstrap")(real, 3, 2, seed=1)]
    [(3, 2), (3, 2)]
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        synthesizer(self.method, **self.options).ready()  # says at once what is wrong

    @functools.cached_property
    def identity(self) -> str:
        """What tells it from other generators: the method, its options, its code or version."""
        own = self.version or method_identity(self.method, self.options)
        return fingerprint(self.method, sorted(self.options.items()), own)

    @property
    def name(self) -> str:
        """The method, or the program that it runs."""
        method = synthesizer(self.method, **self.options).ready().method
        return str(getattr(method, "program", self.method))

    def __call__(self, train: Table, rows: int, copies: int, seed: int) -> list[pl.DataFrame]:
        """Fit and sample; a method that draws its model draws another for each copy."""
        made = synthesizer(self.method, seed=seed, **self.options)
        made.tell = lambda text: None  # a refit is a test: its noise may be drawn again
        made.fit(train)
        samples = []
        for copy in range(copies):
            if copy and made.is_proper:
                made.fit(train, replicate=copy)
            samples.append(pl.concat(list(made.batches(rows, replicate=copy))))
        return samples

    def knows_chances(self, schema: Schema) -> bool:
        """Whether ``log_likelihood`` has an answer for tables of this schema."""
        method: Any = synthesizer(self.method, **self.options).method
        redrawn = schema.constraints or self.options.get("constraints")  # what breaks one is
        if redrawn or "likelihood" not in abilities_of(method):
            return False
        return claimed(method) is None and bool(method.knows_chances(schema))

    def log_likelihood(self, train: Table, rows: Table) -> NDArray[np.float64] | None:
        """Give the log of each row's chance once the table is fitted; none if it is not known.

        It is known where rows are drawn independently of each other from one and the same model,
        whatever the seed: by trees, pools of values, or copies of rows. Where relations are held,
        the chance is that of what a row is computed from; that a row whose computed values leave
        their range is drawn again is left aside.
        """
        if not self.knows_chances(train.schema):
            return None
        fitted = synthesizer(self.method, **self.options).fit(train)
        method: Any = fitted.method
        learnt = fitted.held_.related.inward(dataclasses.replace(rows, schema=train.schema))
        found: NDArray[np.float64] | None = method.log_likelihood(learnt)
        return found


@dataclass(frozen=True)
class FunctionGenerator:
    """A function ``fit(table) -> sample(n)``, given tables of the caller's own kind.

    With a parameter ``seed``, ``fit`` is given one; otherwise runs cannot be repeated.
    """

    fit: Callable[..., Callable[[int], Any]]
    like: Any = None
    version: str = ""

    @functools.cached_property
    def identity(self) -> str:
        """What tells it from other generators: its version, or else its code and state.

        It is looked at once: what it becomes as it is used makes no other generator of it.
        """
        own = (self.name, self.version) if self.version else self.fit
        return fingerprint(own, type(self.like))

    @property
    def name(self) -> str:
        """The name of the function."""
        inner = getattr(self.fit, "func", self.fit)
        return str(getattr(inner, "__qualname__", type(inner).__name__))

    @property
    def takes_seed(self) -> bool:
        """Whether the function can be told a seed."""
        return "seed" in inspect.signature(self.fit).parameters

    def __call__(self, train: Table, rows: int, copies: int, seed: int) -> list[Any]:
        """Fit and sample."""
        frame = train.frame if self.like is None else take_in(self.like).give_back(train.frame)
        sample = self.fit(frame, **({"seed": seed} if self.takes_seed else {}))
        return [sample(rows) for _ in range(copies)]


def _few(like: Any) -> Any:
    """Give a few rows of a frame: enough to tell what kind of frame it is."""
    return like.head(ROWS_LOOKED_AT) if hasattr(like, "head") else like.slice(0, ROWS_LOOKED_AT)


def method_identity(name: str, options: Mapping[str, Any]) -> str:
    """Give what tells a method from another of the same name: its code, or the tool that it runs.

    A method that runs somebody else's tool says by ``identity()`` which it is.
    """
    method: Any = synthesizer(name, **options).method
    own = method.identity() if "identity" in abilities_of(method) else None
    return fingerprint(type(method), own)


def generator(
    given: Any, *, like: Any = None, version: str = ""
) -> NamedGenerator | FunctionGenerator:
    """Make a generator of the name of a method, a synthesizer, or a function.

    ``like`` is a table as the caller has it: a function is given tables of the same kind.
    ``version`` tells it from other generators in place of its code and state.

    Examples
    --------
    >>> generator("cart").name
    'cart'
    """
    if isinstance(given, NamedGenerator | FunctionGenerator):
        return dataclasses.replace(given, version=version) if version else given
    if isinstance(given, str):
        return NamedGenerator(given, version=version)
    if isinstance(given, Synthesizer):
        options = options_given(given.method)
        if given.constraints:
            options["constraints"] = tuple(given.constraints)
        if not given.relations:
            options["relations"] = False
        return NamedGenerator(given.method.card.name, options, version)
    if callable(given):
        plain = like is None or isinstance(like, str | Path | pl.DataFrame | pl.LazyFrame)
        return FunctionGenerator(given, None if plain else _few(like), version)
    raise OptionError(
        f"an object of type {type(given).__name__} is no generator",
        hint="give the name of a method, a synthesizer, or a function fit(table) -> sample(n)",
    )
