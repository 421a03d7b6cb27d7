"""What a method that claims an epsilon owes: declared facts, hidden noise, an account of it."""

import dataclasses
import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.data.schema import Schema
from understudy.data.tables import Table, typed_by_rows
from understudy.errors import DataError, OptionError, SchemaError
from understudy.synthesizers.base import abilities_of
from understudy.synthesizers.budget import HIGH, ROUNDING, Step, check_epsilon, spent_in

SEEDED = (
    "A seed is given: whoever knows it can draw the noise again, and epsilon {epsilon:g} holds "
    "against nobody who does. Use a seed only for tests."
)
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 1e6
ABOVE = (
    "Epsilon {epsilon:g} is above {high:g}: with as little noise, generators have given away who "
    "was in their training table (Golob et al. 2024). understudy attack measures it."
)


def claimed(method: Any) -> float | None:
    """Give the epsilon that a method claims; none if it claims none, or a foreign program does."""
    if not can_claim(method) or method.epsilon is None:
        return None
    if not SMALLEST_EPSILON <= (number := check_epsilon(method.epsilon)) <= LARGEST_EPSILON:
        raise OptionError(
            f"epsilon = {number:g}",
            hint=f"give {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}: less is noise alone, "
            "even the number of rows; more is no noise at all",
        )
    return number


def learnt(method: Any) -> tuple[tuple[Step, ...], int]:
    """Give the steps and the noisy number of rows that a method has after a fit under epsilon."""
    spending, rows = (getattr(method, name, None) for name in ("spending_", "rows_"))
    if spending is None or rows is None:
        raise OptionError(
            f"{method.card.name} claims an epsilon, and has no spending_ or rows_ to show for it",
            hint="a method with an option epsilon buys what it learns from a Budget",
        )
    return tuple(spending), max(int(rows), 0)


def can_claim(method: Any) -> bool:
    """Whether a method has an epsilon of its own."""
    return "epsilon" in abilities_of(method)


def cautions(epsilon: float, *, seeded: bool) -> Iterator[str]:
    """Say what weakens a claim."""
    if seeded:
        yield SEEDED.format(epsilon=epsilon)
    if epsilon > HIGH:
        yield ABOVE.format(epsilon=epsilon, high=HIGH)


def hidden_generator() -> np.random.Generator:
    """Make a generator that nobody can make again, seeded by the operating system."""
    return np.random.default_rng(secrets.randbits(256))


def without_reasons(table: Table) -> Table:
    """Drop what tells of the data: the reasons in the schema, and the types of the caller's frame.

    The categories of a pandas or polars column are the values that it holds.
    """
    columns = tuple(dataclasses.replace(column, why="") for column in table.schema)
    schema = dataclasses.replace(table.schema, columns=columns)
    return dataclasses.replace(table, schema=schema, give_back=table.give_plain)


def refuse_typed_by_rows(data: Any, schema: Schema) -> None:
    """Refuse a table whose types tell of its rows, before any noise is drawn."""
    if what := typed_by_rows(data, schema.modelled):
        raise DataError(
            f"under epsilon: {what} has its type by the values of all rows, which no budget pays "
            "for",
            hint="give a CSV or Parquet file, or a frame whose columns have types of their own "
            "(frame.astype)",
        )


def check_declared(schema: Schema) -> None:
    """Refuse to show facts that were read off the data."""
    for column in schema:
        if column.inferred:
            fact = min(column.inferred)
            raise SchemaError(
                f"under epsilon, {fact} of the column '{column.name}' must be declared; it was "
                "read off the data",
                hint='in the schema file, write down what you know without this table and take "'
                f'{fact}" off the list inferred (understudy schema FILE writes one to start with)',
            )


def spent_of(spending: Sequence[Step], epsilon: float) -> float:
    """Add up what was spent, which is the claim itself up to rounding; refuse what exceeds it."""
    spent = spent_in(spending)
    if math.isclose(spent, epsilon, rel_tol=ROUNDING):
        return epsilon
    if spent > epsilon:
        raise OptionError(
            f"the method spent epsilon {spent:g} and claims {epsilon:g}", hint="report it: a defect"
        )
    return spent


@dataclass
class Account:
    """What a fit spends, and what the ledger, if there is one, then says."""

    steps: Sequence[Step] = ()
    said: str = ""


@contextmanager
def spending(
    table: Table,
    method: str,
    epsilon: float,
    rng: np.random.Generator,
    ledger: str | Path | None,
) -> Iterator[Account]:
    """Enter a fit into a ledger before it begins, and its steps when it has ended.

    What is refused for the sake of an option or the schema, before the generator has drawn
    anything, has spent nothing, and its entry is taken out again; whatever else ends a fit
    leaves the entry there.
    """
    account = Account()
    if ledger is None:
        yield account
        return
    from understudy.synthesizers import ledger as ledgers

    entry, before = ledgers.begin(Path(ledger), table, method, epsilon), _drawn(rng)
    try:
        yield account
    except (OptionError, SchemaError):
        if _drawn(rng) == before:
            ledgers.withdraw(Path(ledger), entry)
        raise
    account.said = ledgers.end(Path(ledger), entry, account.steps).said_of(entry)


def _drawn(rng: np.random.Generator) -> tuple[str, int]:
    """Tell a generator that has drawn something, itself or by others that it made, from before."""
    made: Any = rng.bit_generator.seed_seq
    return repr(rng.bit_generator.state), made.n_children_spawned
