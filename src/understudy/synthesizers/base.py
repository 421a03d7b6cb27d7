"""Methods: their cards, what they can do, and the options that they take."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import polars as pl

from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.jobs.progress import Progress
from understudy.options import check
from understudy.synthesizers.model_file import State


@dataclass(frozen=True)
class MethodCard:
    """The words beside a method: what it keeps, what it loses, what its model file contains.

    ``coarser`` and ``finer`` say which options make it remember less, or follow training more.
    ``holds`` is the most that a model file has of training: rows or values that may be one
    person's, or only what many rows share (``model``). A method that does not say it has no model
    files; one that runs another program has none in any case. ``abilities`` are names of
    ``ABILITIES``, whose parts a method that claims them must have.
    """

    name: str
    title: str
    keeps: str
    loses: str
    claim: str
    file: str
    source: str
    coarser: str = ""
    finer: str = ""
    holds: Literal["", "model", "real values", "real rows"] = ""
    abilities: tuple[str, ...] = ()

    @property
    def is_file_for_owner(self) -> bool:
        """Whether nobody but its owner may read a model file: it holds what somebody's row does."""
        return self.holds in ("real values", "real rows")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


class Method(Protocol):
    """A way to make synthetic rows: its fields are its options, what it learns ends in _.

    What else it can do is among its card's ``abilities``. One that runs another program has
    ``foreign = True``: it never comes from a model file, and starts nothing when it is made.
    ``notes_`` are sentences for the user.
    """

    card: ClassVar[MethodCard]

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Learn from a table."""

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Make rows with the modelled columns, stored as the schema says."""

    def state(self) -> State:
        """Give what was learnt, to be saved."""

    def restore(self, state: State, schema: Schema) -> Self:
        """Take what was saved."""


@dataclass(frozen=True)
class Ability:
    """What not every method can do, in words; the options and parts of a method that can."""

    text: str
    options: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    def lacking(self, method: type[Any]) -> list[str]:
        """Name the options and parts that a method does not have."""
        options, parts = options_of(method), dir(method)
        lacking = [f"option {name}" for name in self.options if name not in options]
        return lacking + [name for name in self.parts if name not in parts]


ABILITIES = {
    "complete": Ability(
        "keeps columns as they are and draws the others (understudy synthesize --replace)",
        ("keep",),
        ("complete",),
    ),
    "proper": Ability("draws another model for each replicate", ("proper",)),
    "epsilon": Ability("keeps to an epsilon, whose steps it tells", ("epsilon",)),
    "likelihood": Ability(
        "knows the chance of a row, with most options", (), ("knows_chances", "log_likelihood")
    ),
    "emitted": Ability("tells no level and no bound that it never shows", (), ("emitted",)),
    "program": Ability("runs another program", (), ("foreign",)),
    "ready": Ability("looks for what it runs before a fit", (), ("ready",)),
    "identity": Ability("tells which version it runs", (), ("identity",)),
}


def abilities_of(method: Any) -> frozenset[str]:
    """Give what a method, or its class, can do: what its card says, and what it has the parts for.

    One that runs another program claims no epsilon here: the program may.
    """
    kind: Any = method if isinstance(method, type) else type(method)
    has_parts = {name for name, ability in ABILITIES.items() if not ability.lacking(kind)}
    made = frozenset([*kind.card.abilities, *has_parts])
    return made - {"epsilon" if "program" in has_parts and kind.foreign else "program"}


def fewest_rows(method: Any) -> int:
    """Give how many training rows hold any value that a method shows; 1 if it promises nothing."""
    if "emitted" not in abilities_of(method):
        return 1
    return int(getattr(method, "least", getattr(method, "k", 1)))


def ability_fault(method: type[Any]) -> str:
    """Say which ability a card claims that the method has no parts for; nothing if all is there."""
    for name in method.card.abilities:
        if name not in ABILITIES:
            return f"its card claims the ability '{name}', which is none"
        if lacking := ABILITIES[name].lacking(method):
            return f"its card claims the ability '{name}', and it has no {' and no '.join(lacking)}"
    return ""


def options_of(method: type[Method]) -> dict[str, Any]:
    """Give the options of a method with their defaults."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: f.default for f in fields if f.init}


def options_given(method: Method) -> dict[str, Any]:
    """Give the options of a method as they are set."""
    fields = dataclasses.fields(method)  # type: ignore[arg-type]
    return {f.name: getattr(method, f.name) for f in fields if f.init}


def check_options(method: Any) -> None:
    """Refuse options as they are set that are not as the fields of the method declare them."""
    check(method.card.name, type(method), options_given(method))


def with_options(method: type[Method], options: Mapping[str, Any]) -> Method:
    """Make a method; options that it does not declare, or that are out of bounds, are refused."""
    given = {k: v.item() if isinstance(v, np.generic) else v for k, v in options.items()}
    check(method.card.name, method, given)
    return method(**given)
