"""Ledger: what epsilon was spent on tables of the same people, over all fits.

Every fit is entered before its noise is drawn, so that nothing spent is ever missing: an entry
that stays ``begun`` is of a fit that was stopped, and counts. Tables are told apart by keyed
hashes; whoever has the key can confirm a guessed table, so a ledger is the steward's.
"""

import dataclasses
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from understudy.data.tables import Table, write_text
from understudy.documents import check_form, read_json
from understudy.errors import DataError, OptionError
from understudy.jobs.locks import locked, one_name
from understudy.synthesizers.budget import NEIGHBOURS, ROUNDING, Step, check_epsilon

VERSION = 1
KEEP = (
    "For the steward alone: the key below lets its holder confirm a guessed table. Do not share "
    "this file, and keep it: what is spent stays spent."
)
HINT = "give a ledger, or the name of a new file"
NOT_SPENT = "nothing was spent"
SPENT = "the fit stays in it as begun, and counts"
WAIT = 30.0
KEY_BYTES = 32
STEP = {"what": str, "mechanism": str, "epsilon": float, "sensitivity": float, "scale": float}
FORM = {
    "key": str,
    "limit": (float, None),
    "spent": float,
    "entries": [
        {
            **dict.fromkeys(("identity", "date", "table", "method", "state"), str),
            "epsilon": float,
            "steps": [STEP],
        }
    ],
}


@dataclass(frozen=True)
class Entry:
    """One fit: when, on which table, by which method, for what epsilon."""

    identity: str
    date: str
    table: str
    method: str
    epsilon: float
    state: str = "begun"
    steps: tuple[Step, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read plain values."""
        steps = tuple(Step.from_dict(step) for step in document["steps"])
        made = cls(**{**document, "steps": steps})
        return dataclasses.replace(made, epsilon=check_epsilon(made.epsilon))


@dataclass(frozen=True)
class Ledger:
    """The entries, in order, and the most that they may add up to, if there is a limit."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)
    limit: float | None = None
    entries: tuple[Entry, ...] = ()

    @property
    def spent(self) -> float:
        """What all fits spent together: different tables may be of the same people."""
        return math.fsum(entry.epsilon for entry in self.entries)

    def spent_on(self, table: str) -> float:
        """What the fits of one table spent together."""
        return math.fsum(entry.epsilon for entry in self.entries if entry.table == table)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables by their keyed hashes, in the order of their first fits."""
        return tuple(dict.fromkeys(entry.table for entry in self.entries))

    def said_of(self, entry: Entry) -> str:
        """Say in a sentence what a fit spent, and what all together did."""
        on_table = self.spent_on(entry.table)
        text = f"this fit spends {entry.epsilon:g}; this table has now spent {on_table:g} in all"
        if len(self.tables) > 1:
            text += f", the {len(self.tables)} tables of this ledger {self.spent:g}"
        return text + (f"; the limit is {self.limit:g}" if self.limit is not None else "")

    def identity_of(self, table: Table) -> str:
        """Give a keyed hash of a table's modelled values, whatever the order of rows and columns.

        A table from which one row is gone is another table.
        """
        rows = table.plain
        names = sorted(rows.columns)
        keyed = hmac.new(self.key, digestmod=hashlib.sha256)
        for chunk in rows.select(names).sort(names).iter_slices(100_000):
            keyed.update(chunk.write_csv().encode())
        return keyed.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "understudy_ledger": VERSION,
            "keep": KEEP,
            "neighbours": NEIGHBOURS,
            "key": self.key.hex(),
            "limit": self.limit,
            "spent": self.spent,
            "entries": [entry.to_dict() for entry in self.entries],
        }


def read(path: Path) -> Ledger:
    """Read a ledger; what is none, cut off or of another version is an error that says so."""
    data = read_json(path, "ledger", HINT)
    try:
        if not isinstance(data, dict) or "understudy_ledger" not in data:
            raise ValueError("it is of another kind")
        if data["understudy_ledger"] != VERSION:
            raise ValueError(f"version {data['understudy_ledger']}, not {VERSION}")
        check_form(data, FORM)
        limit = data["limit"]
        made = Ledger(
            bytes.fromhex(data["key"]),
            None if limit is None else check_epsilon(limit),
            tuple(Entry.from_dict(entry) for entry in data["entries"]),
        )
        if len(made.key) != KEY_BYTES:
            raise ValueError("its key is cut off")
        if not math.isclose(made.spent, data["spent"], rel_tol=ROUNDING):
            raise ValueError("its entries do not add up to what it says was spent")
        return made
    except (ValueError, TypeError, OverflowError, OptionError) as error:
        raise DataError(
            f"{path}: this is not a whole ledger ({error.args[0]})", hint=HINT
        ) from error


@contextmanager
def _changing(path: Path, otherwise: str = NOT_SPENT) -> Iterator[list[Ledger]]:
    """Hand out the ledger in a list of one, and write what is put in its place; alone.

    ``otherwise`` is what holds if it cannot be written.
    """
    try:
        with locked(path, hint="repeat the command", wait=WAIT):
            one_name(path)
            held = [read(path) if path.exists() else Ledger()]
            yield held
            text = json.dumps(held[0].to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
            write_text(text + "\n", path, for_owner=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}", hint=otherwise) from error


def begin(path: Path, table: Table, method: str, epsilon: float) -> Entry:
    """Enter a fit that is about to draw its noise; refuse it where it goes beyond the limit."""
    with _changing(path) as held:
        ledger = held[0]
        after = ledger.spent + epsilon
        if ledger.limit is not None and after > ledger.limit * (1 + ROUNDING):
            raise OptionError(
                f"{path}: this fit would spend epsilon {epsilon:g}, {after:g} in all, and the "
                f"limit is {ledger.limit:g}",
                hint=f"{max(ledger.limit - ledger.spent, 0):g} is left",
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        identity = ledger.identity_of(table)
        entry = Entry(secrets.token_hex(8), now, identity, method, epsilon)
        held[0] = dataclasses.replace(ledger, entries=(*ledger.entries, entry))
    return entry


def end(path: Path, entry: Entry, steps: Sequence[Step]) -> Ledger:
    """Say that a fit has ended, and what each step of it spent; give the ledger as it is then.

    If somebody has taken the file away meanwhile, the fit is entered into a new one.
    """
    with _changing(path, SPENT) as held:
        done = dataclasses.replace(entry, state="fitted", steps=tuple(steps))
        kept = [done if e.identity == entry.identity else e for e in held[0].entries]
        kept += [] if done in kept else [done]
        held[0] = dataclasses.replace(held[0], entries=tuple(kept))
    return held[0]


def withdraw(path: Path, entry: Entry) -> None:
    """Take out a fit that was refused before it drew any noise."""
    with _changing(path, SPENT) as held:
        kept = tuple(e for e in held[0].entries if e.identity != entry.identity)
        held[0] = dataclasses.replace(held[0], entries=kept)


def set_limit(path: Path, limit: float) -> Ledger:
    """Set the most that all fits together may spend; a ledger that is not there is begun."""
    if not (math.isfinite(limit) and limit > 0):
        raise OptionError(f"limit = {limit}", hint="give a finite number above 0")
    with _changing(path) as held:
        held[0] = dataclasses.replace(held[0], limit=check_epsilon(limit))
    return held[0]
